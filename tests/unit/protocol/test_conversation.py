"""Conversations: frames in, facts out."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.findings.finding import texts
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.facts import (
    CallEnded,
    CallTimedOut,
    CancelRequested,
    ConnectionClosed,
    ConnectionNegotiated,
    ConnectionOpened,
    Fact,
    NotificationReceived,
    OutputChecked,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    StderrReceived,
    StreamBroken,
    StreamResumed,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, Elided, Kind, encode
from mcp_progress_monitor.protocol.ledger import MOST_REMEMBERED
from mcp_progress_monitor.protocol.outline import finish
from tests.unit.protocol.wire import (
    JSON,
    Wire,
    as_bytes,
    call,
    error,
    notification,
    progress,
    request,
    result,
)

LINES = st.one_of(
    st.binary(max_size=20),
    JSON.map(as_bytes),
    st.builds(call, st.integers(0, 3), st.sampled_from(["a", 7, None, 7.0])).map(as_bytes),
    st.builds(result, st.integers(0, 3)).map(as_bytes),
    st.builds(error, st.integers(0, 3)).map(as_bytes),
    st.builds(progress, st.sampled_from(["a", 7, "7"]), st.integers()).map(as_bytes),
    st.builds(lambda n: notification("notifications/cancelled", requestId=n), JSON).map(as_bytes),
    st.builds(lambda n: request(n, "initialize", protocolVersion="2025-11-25"), JSON).map(as_bytes),
    st.builds(lambda n: result(n, protocolVersion="2025-11-25"), st.integers(0, 3)).map(as_bytes),
)


@given(st.lists(st.tuples(st.booleans(), LINES), max_size=25))
def test_every_frame_states_one_fact_in_wire_order(lines: list[tuple[bool, bytes]]) -> None:
    framer, conversation = Framer("s#1", FrameNumbers()), Conversation("s#1")
    frames = []
    for is_ours, line in lines:
        frames += [framer.sent(line, 1, 2)] if is_ours else framer.received([line], 1, 2)
    facts = conversation.read(frames)
    assert [fact.number for fact in facts] == sorted(fact.number for fact in facts)
    counts = Counter(f.number for f in facts if not isinstance(f, ConnectionNegotiated))
    assert set(counts.values()) <= {1}
    silent = [frame for frame in frames if frame.number not in counts]
    assert all(frame.part is None and frame.raw.lstrip()[:1] == b"[" for frame in silent)
    assert all(fact.connection == "s#1" and fact.when == 1 and fact.at == 2 for fact in facts)


@given(st.lists(st.tuples(st.booleans(), LINES), max_size=25), st.integers(1, 25))
def test_how_frames_are_grouped_makes_no_difference(
    lines: list[tuple[bool, bytes]], cut: int
) -> None:
    framer = Framer("s#1", FrameNumbers())
    frames = [
        frame
        for is_ours, line in lines
        for frame in ([framer.sent(line, 1, 2)] if is_ours else framer.received([line], 1, 2))
    ]
    at_once, in_parts, in_slices = (Conversation("s#1") for _ in range(3))
    parts = [frames[begin : begin + cut] for begin in range(0, len(frames), cut)]
    whole = repr(at_once.read(frames))  # by repr: NaN is not equal to itself
    assert repr([fact for part in parts for fact in in_parts.read(part)]) == whole
    assert repr(finish(in_slices.read_in_slices(frames))) == whole


@pytest.mark.requirement("FR-5")
@given(
    st.lists(
        st.tuples(
            st.integers(0, 9) | st.sampled_from(["0", "1"]),
            st.sampled_from(["a", 7, "7", 7.0, True, None]),
            st.sampled_from(["result", "error", "cancel"]),
        ),
        unique_by=lambda entry: repr(entry[0]),
    ),
    st.booleans(),
)
def test_tables_are_empty_after_all_is_answered(
    calls: list[tuple[Any, Any, str]], is_asked_by_server: bool
) -> None:
    wire = Wire()

    def play(message: dict[str, Any], *, is_reply: bool) -> Fact:
        if is_reply is is_asked_by_server:
            return wire.send(message)
        (fact,) = wire.receive(message)
        return fact

    for identity, token, _ in calls:
        play(call(identity, token), is_reply=False)
    assert wire.conversation.open_requests == len(calls)
    for identity, _, end in calls:
        if end == "cancel":
            cancelling = notification("notifications/cancelled", requestId=identity)
            play(cancelling, is_reply=False)
        else:
            play(result(identity) if end == "result" else error(identity), is_reply=True)
    assert wire.conversation.open_requests == 0
    assert wire.conversation.open_tokens == 0


@pytest.mark.requirement("FR-5")
def test_ten_thousand_calls_leave_nothing_behind() -> None:
    wire = Wire()
    for begin in range(0, 10_000, 500):
        identities = range(begin, begin + 500)
        framer = wire.framer
        sent = [framer.sent(encode(call(n, f"t{n}")), 0, 0) for n in identities]
        ticks = framer.received([encode(progress(f"t{n}", 1)) for n in identities], 0, 0)
        ends = framer.received([encode(result(n) if n % 2 else error(n)) for n in identities], 0, 0)
        facts = wire.conversation.read([*sent, *ticks, *ends])
        assert len(facts) == 1500
        assert wire.conversation.open_requests == 0
        assert wire.conversation.open_tokens == 0
        assert wire.conversation.remembered <= 2 * MOST_REMEMBERED


@pytest.mark.requirement("IT-3")
def test_an_error_ends_request_and_token() -> None:
    wire = Wire()
    made = wire.send(call(1, "a"))
    (answer,) = wire.receive(error(1, -32602, data={"why": 1}))
    assert isinstance(answer, RequestAnswered)
    assert answer.request == made.number
    assert answer.standing is RequestStanding.ACTIVE
    assert answer.result is None
    assert answer.error == {"code": -32602, "message": "no", "data": {"why": 1}}
    assert (wire.conversation.open_requests, wire.conversation.open_tokens) == (0, 0)


def test_a_request_and_its_answer_are_stated_whole() -> None:
    wire = Wire()
    made = wire.send(call(7, "abc"))
    assert made == RequestMade(
        1,
        "server#1",
        1.0,
        1000.0,
        Side.CLIENT,
        7,
        "tools/call",
        {"name": "tool", "_meta": {"progressToken": "abc"}},
        "abc",
        None,
        (),
    )
    raw = as_bytes(result(7, content=[]))
    assert wire.receive(raw) == [
        RequestAnswered(
            2,
            "server#1",
            1.0,
            1000.0,
            Side.SERVER,
            7,
            1,
            RequestStanding.ACTIVE,
            {"content": []},
            None,
            None,
            len(raw),
            (),
        )
    ]


def test_the_elements_of_a_batch_state_the_facts() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    facts = wire.receive([result(1), progress("a", 5), 7, [result(2)]])
    assert [type(fact) for fact in facts] == [
        RequestAnswered,
        ProgressReceived,
        UnreadableReceived,
        UnreadableReceived,
    ]
    late = facts[1]
    assert isinstance(late, ProgressReceived)
    assert (late.request, late.standing) == (1, RequestStanding.IN_BATCH)
    assert isinstance(facts[3], UnreadableReceived)
    assert facts[3].violation == "nested batch"


@pytest.mark.parametrize(
    ("line", "kind", "violation"),
    [
        (b"Server ready", Kind.GARBAGE, "not JSON"),
        (b"[INFO] ready", Kind.GARBAGE, "not JSON"),
        (b"", Kind.BLANK, "blank line"),
        (b"[]", Kind.INVALID, "empty batch"),
        (b'{"jsonrpc":"2.0"}', Kind.INVALID, "has no method"),
    ],
)
def test_lines_that_are_no_messages_are_stated_as_unreadable(
    line: bytes, kind: Kind, violation: str
) -> None:
    (fact,) = Wire().receive(line)
    assert isinstance(fact, UnreadableReceived)
    assert (fact.kind, fact.sender) == (kind.value, Side.SERVER)
    assert violation in fact.violation


def test_a_last_line_without_its_end_is_unreadable_unless_it_is_whole() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    partial = wire.framer.received([b'{"jsonrpc'], 0, 0, is_complete=False)
    (fact,) = wire.conversation.read(partial)
    assert isinstance(fact, UnreadableReceived)
    assert fact.kind == "partial"
    whole = wire.framer.received([as_bytes(progress("a", 1))], 0, 0, is_complete=False)
    (fact,) = wire.conversation.read(whole)
    assert isinstance(fact, ProgressReceived)
    assert "without a line feed" in texts(fact.findings)[0]


def test_stderr_is_text_with_replacements() -> None:
    wire = Wire()
    (fact,) = wire.conversation.read([wire.framer.stderr(b"caf\xe9 \xe2\x98\x83\r", 5.0, 6.0)])
    assert fact == StderrReceived(1, "server#1", 6.0, 5.0, "caf\N{REPLACEMENT CHARACTER} \u2603")


def test_opened_and_closed_are_stated_from_events() -> None:
    wire = Wire()
    assert wire.event("opened", command="demo", pid=5) == [
        ConnectionOpened(1, "server#1", 1.0, 1000.0, {"command": "demo", "pid": 5})
    ]
    wire.send(call(1, "a"))
    assert wire.event("closed", reason="exited", exit_code=3) == [
        ConnectionClosed(3, "server#1", 1.0, 1000.0, "exited", 3)
    ]
    assert wire.event("closed", reason="enough", exit_code=0, wanted=True) == [
        ConnectionClosed(4, "server#1", 1.0, 1000.0, "enough", 0, is_wanted=True)
    ]
    assert wire.event("closed", reason="exited", outlook="again soon") == [
        ConnectionClosed(5, "server#1", 1.0, 1000.0, "exited", None, outlook="again soon")
    ]
    assert (wire.conversation.open_requests, wire.conversation.open_tokens) == (0, 0)
    assert wire.conversation.remembered == 0


def test_a_failed_connection_is_closed_with_the_violation_as_its_reason() -> None:
    (fact,) = Wire().event("failed", what="Command not found.", where="demo")
    assert isinstance(fact, ConnectionClosed)
    assert (fact.reason, fact.exit_code) == ("Command not found.", None)


def test_what_only_this_side_knows_of_a_request_is_stated_from_events() -> None:
    wire = Wire()
    assert wire.event("timed_out", request=7, text="No reply.") == [
        CallTimedOut(1, "server#1", 1.0, 1000.0, 7, "No reply.")
    ]
    assert wire.event("cancel_requested", request=7, reason="Enough", grace_s=1) == [
        CancelRequested(2, "server#1", 1.0, 1000.0, 7, "Enough", 1.0)
    ]
    assert wire.event("call_ended", request=7, outcome="lost", text="Its time is over") == [
        CallEnded(3, "server#1", 1.0, 1000.0, 7, "lost", "Its time is over")
    ]
    assert wire.event("output_checked", request=7, problems=["a: wrong", 7], unchecked="x") == [
        OutputChecked(4, "server#1", 1.0, 1000.0, 7, ("a: wrong",), ())
    ]


@pytest.mark.parametrize("request_is", [None, "7", 7.0, True, [7]])
def test_an_event_of_no_request_states_nothing(request_is: object) -> None:
    assert Wire().event("timed_out", request=request_is, text="x") == []
    assert Wire().event("cancel_requested", request=request_is) == []
    assert Wire().event("call_ended", request=request_is, outcome="lost") == []


@pytest.mark.parametrize("grace_s", [None, "1", True, -1, 1e9, [1]])
def test_a_grace_time_that_cannot_be_is_not_reported(grace_s: object) -> None:
    (fact,) = Wire().event("cancel_requested", request=7, reason=3, grace_s=grace_s)
    assert isinstance(fact, CancelRequested)
    assert (fact.reason, fact.grace_s) == (None, None)


def test_other_events_state_nothing() -> None:
    assert Wire().event("paused") == []
    assert Wire().event("http_request", exchange=1, method="POST", url="http://x/mcp") == []


def test_what_became_of_a_stream_is_stated() -> None:
    wire = Wire()
    reported = {"reason": "reset", "last_event_id": "41", "attempt": 2, "retry_s": 3}
    assert wire.event("stream_broken", request=7, **reported) == [
        StreamBroken(1, "server#1", 1.0, 1000.0, 7, "reset", "41", 2, 3.0)
    ]
    assert wire.event("stream_resumed", request=7, last_event_id="41", attempt=2) == [
        StreamResumed(2, "server#1", 1.0, 1000.0, 7, "41", 2)
    ]


@given(JSON, JSON, JSON, JSON, JSON)
def test_nothing_that_a_recording_tells_of_a_stream_is_trusted(
    request_is: object, reason: object, last: object, attempt: object, retry_s: object
) -> None:
    reported = {"reason": reason, "last_event_id": last, "attempt": attempt, "retry_s": retry_s}
    for name in ("stream_broken", "stream_resumed", "stream_closed"):
        facts = Wire().event(name, request=request_is, **reported)
        assert len(facts) <= (type(request_is) is int)
        for fact in facts:
            assert isinstance(fact, StreamBroken | StreamResumed)
            assert fact.last_event_id is None or fact.last_event_id == last
            assert fact.attempt is None or fact.attempt == attempt


def test_a_closed_stream_cancels_its_request_as_a_notice_would() -> None:
    wire = Wire()
    made = wire.send(call(7, "a")).number
    assert wire.event("stream_closed", request=made, reason="Enough") == [
        RequestCancelled(
            2, "server#1", 1.0, 1000.0, Side.CLIENT, 7, made, RequestStanding.ACTIVE, "Enough", ()
        )
    ]
    assert not wire.conversation.is_token_active("a")
    (late,) = wire.receive(result(7))
    assert isinstance(late, RequestAnswered)
    assert (late.request, late.standing) == (made, RequestStanding.CANCELLED)


def test_closing_what_is_not_open_cancels_nothing() -> None:
    wire = Wire()
    made = wire.send(call(7, "a")).number
    wire.receive(result(7))
    assert wire.event("stream_closed", request=made) == []
    assert wire.event("stream_closed", request=999) == []


def test_a_call_that_was_ended_is_given_up_and_its_token_is_free() -> None:
    wire = Wire()
    made = wire.send(call(7, "a")).number
    wire.event("call_ended", request=made, outcome="lost", text="broke")
    assert (wire.conversation.open_requests, wire.conversation.open_tokens) == (0, 0)
    tick, reply = wire.receive(progress("a", 1), result(7))
    assert isinstance(tick, ProgressReceived)
    assert isinstance(reply, RequestAnswered)
    assert (tick.request, tick.standing) == (made, RequestStanding.GIVEN_UP)
    assert (reply.request, reply.standing) == (made, RequestStanding.GIVEN_UP)


def test_an_oversized_frame_is_read_in_slices() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    big = result(1, blocks=["y" * 1000] * 4000, _meta={"nextResumeToken": "t"})
    frames = wire.frames(progress("a", 1), big, progress("a", 2))
    assert len(frames[1].raw) > 3 * OVERSIZED
    reading = wire.conversation.read_in_slices(frames)
    for _ in range(8):
        next(reading)
    facts = finish(reading)
    assert [type(f) for f in facts] == [ProgressReceived, RequestAnswered, ProgressReceived]
    answer = facts[1]
    assert isinstance(answer, RequestAnswered)
    assert answer.result is not None
    assert isinstance(answer.result["blocks"], Elided)
    assert answer.next_resume_token == "t"
    assert isinstance(facts[2], ProgressReceived)
    assert facts[2].standing is RequestStanding.ANSWERED


def test_a_token_is_known_to_be_active_by_side_and_type() -> None:
    wire = Wire()
    wire.send(call(1, 7))
    assert wire.conversation.is_token_active(7)
    assert not wire.conversation.is_token_active("7")
    assert not wire.conversation.is_token_active(7.0)
    assert not wire.conversation.is_token_active(7, Side.SERVER)


def test_other_notifications_are_passed_on() -> None:
    wire = Wire()
    (fact,) = wire.receive(notification("notifications/message", level="info", data="x: y"))
    assert isinstance(fact, NotificationReceived)
    assert (fact.sender, fact.method) == (Side.SERVER, "notifications/message")
    assert fact.params == {"level": "info", "data": "x: y"}
    assert texts(fact.findings) == ()
