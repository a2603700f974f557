"""Events of a stream and partial results: which request they belong to."""

from typing import Any

import pytest

from mcp_progress_monitor.protocol.facts import NotificationReceived, PartReceived, ProgressReceived
from mcp_progress_monitor.protocol.frames import Channel, FrameKind, kind_of
from tests.unit.protocol.wire import Wire, as_bytes


def _request(identity: object, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def _reported(what: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{what}", "params": params}


def _of(identity: object) -> dict[str, Any]:
    return {"_meta": {"io.modelcontextprotocol/subscriptionId": identity}}


@pytest.mark.parametrize(("named", "is_known"), [(7, True), ("7", True), (8, False), (None, False)])
def test_an_event_belongs_to_the_stream_that_it_names(named: object, is_known: bool) -> None:
    wire = Wire()
    stream = wire.send(_request(7, "events/stream", name="build.finished"))
    part, received = wire.receive(_reported("events/event", eventId="e", data={}, **_of(named)))
    assert isinstance(part, PartReceived)
    assert part.request == (stream.number if is_known else None)
    assert isinstance(received, NotificationReceived)
    assert received.findings == ()
    assert kind_of(Channel.RECEIVED, part) is FrameKind.OCCURRENCE


def test_a_heartbeat_is_no_event() -> None:
    wire = Wire()
    wire.send(_request(7, "events/stream", name="build.finished"))
    part, _ = wire.receive(_reported("events/heartbeat", cursor="c", **_of(7)))
    assert kind_of(Channel.RECEIVED, part) is FrameKind.NOTIFICATION


@pytest.mark.parametrize("member", ["partialResultToken", "progressToken"])
def test_a_partial_result_belongs_to_the_call_whose_token_it_has(member: str) -> None:
    wire = Wire()
    call = wire.send(_request(1, "tools/call", name="report", _meta={member: "p"}))
    reported = _reported("tools/partial_result", seq=0, content=[], **{member: "p"})
    part, received = wire.receive(reported)
    assert isinstance(part, PartReceived)
    assert part.request == call.number
    assert isinstance(received, NotificationReceived)
    assert received.findings == ()


def test_events_among_many_other_notifications_belong_to_their_stream() -> None:
    wire = Wire()
    stream = wire.send(_request(7, "events/stream", name="b", _meta={"progressToken": "t"}))
    log = _reported("message", level="info", data="x")
    reported = [*[log] * 20, _reported("events/event", eventId="e", data={}, **_of(7)), *[log] * 20]
    run = wire.framer.received([as_bytes(each) for each in reported], 1.0, 1.0)
    parts = [each for each in wire.conversation.read(run) if isinstance(each, PartReceived)]
    assert [part.request for part in parts] == [stream.number]


_TICK = {"progressToken": "t", "progress": 1, "content": [{"type": "text", "text": "half: 50%"}]}


@pytest.mark.parametrize("content", [[{"type": "text", "text": "a"}], {"type": "image"}, "text"])
def test_progress_with_content_is_progress_and_a_part_of_its_request(content: object) -> None:
    wire = Wire()
    call = wire.send(_request(1, "tools/call", name="report", _meta={"progressToken": "t"}))
    tick, part = wire.receive(_reported("progress", **{**_TICK, "content": content}))
    assert isinstance(tick, ProgressReceived)
    assert tick.findings == ()
    assert isinstance(part, PartReceived)
    assert part.request == call.number
    assert part.params["content"] == content
    assert kind_of(Channel.RECEIVED, tick) is FrameKind.PROGRESS


@pytest.mark.parametrize("before", [0, 3])
def test_content_is_found_among_many_ticks_however_often_it_comes(before: int) -> None:
    wire = Wire()
    wire.send(_request(1, "tools/call", name="report", _meta={"progressToken": "t"}))
    known = {"progressToken": "t", "note": {"a": 1}}
    ticks = [_reported("progress", progress=each, **known) for each in range(40)]
    for _ in range(before):
        wire.conversation.read(wire.framer.received([as_bytes(e) for e in ticks], 1.0, 1.0))
    for place in (0, 7, 39):
        ticks[place]["params"]["content"] = _TICK["content"]
    run = wire.framer.received([as_bytes(each) for each in ticks], 1.0, 1.0)
    facts = wire.conversation.read(run)
    assert len([each for each in facts if isinstance(each, ProgressReceived)]) == 40
    parts = [each for each in facts if isinstance(each, PartReceived)]
    assert [each.number - run[0].number for each in parts] == [0, 7, 39]
