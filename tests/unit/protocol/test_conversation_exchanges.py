"""What messages mean, given what is open."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Level, texts
from mcp_progress_monitor.protocol.facts import (
    ConnectionNegotiated,
    Fact,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.frames import FrameRun
from tests.unit.protocol.wire import (
    Wire,
    as_bytes,
    call,
    error,
    notification,
    progress,
    request,
    result,
)

HUGE = "t" * 1_100_000
STAMPED = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def _answer(facts: list[Fact]) -> RequestAnswered:
    (fact,) = facts
    assert isinstance(fact, RequestAnswered)
    return fact


def _made(fact: Fact) -> RequestMade:
    assert isinstance(fact, RequestMade)
    return fact


def _standing(facts: list[Fact]) -> RequestStanding:
    (fact,) = facts
    standing = getattr(fact, "standing", None)
    assert isinstance(standing, RequestStanding)
    return standing


def _cancelling(identity: object, **params: Any) -> dict[str, Any]:
    return notification("notifications/cancelled", requestId=identity, **params)


def test_an_id_and_a_token_in_use_are_violations_of_the_request() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    assert texts(_made(wire.send(call(1, "a"))).findings) == (
        "the id 1 is in use by the request of frame 1",
        'the progress token "a" is in use by the request of frame 1',
    )


def test_ids_and_tokens_of_the_two_sides_do_not_meet() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    (asked,) = wire.receive(call(1, "a"))
    assert texts(_made(asked).findings) == ()
    assert _answer(wire.receive(result(1))).request == 1
    assert getattr(wire.send(result(1)), "request", None) == asked.number


@pytest.mark.parametrize(
    ("meta", "token", "violation"),
    [
        ({"progressToken": 0}, 0, None),
        ({"progressToken": ""}, "", None),
        ({}, None, None),
        ({"progressToken": None}, None, "the progress token null is neither"),
        ({"progressToken": 1.0}, 1.0, "the progress token 1.0 is written with a fraction"),
        ({"progressToken": 1.5}, 1.5, "the progress token 1.5 is neither"),
        ({"progressToken": True}, True, "the progress token true is neither"),
        ({"progressToken": ["a"]}, ["a"], 'the progress token ["a"] is neither'),
        ("x", None, '"_meta" is "x", not an object'),
    ],
)
def test_tokens_are_stated_as_received(meta: object, token: object, violation: str | None) -> None:
    made = _made(Wire().send(request(1, _meta=meta)))
    assert (made.token, type(made.token)) == (token, type(token))
    assert [p for p in texts(made.findings) if violation and violation in p] == list(
        texts(made.findings)
    )
    assert bool(texts(made.findings)) is bool(violation)


def test_progress_for_a_token_of_a_wrong_type_still_finds_its_request() -> None:
    wire = Wire()
    wire.send(call(1, 1.0))
    assert _standing(wire.receive(progress(1.0, 5))) is RequestStanding.ACTIVE
    assert _standing(wire.receive(progress(1, 5))) is RequestStanding.UNKNOWN


def test_a_resume_token_is_stated_and_marked_when_beside_meta() -> None:
    wire = Wire()
    assert _made(wire.send(request(1, _meta={"resumeToken": "r"}))).resume_token == "r"
    made = _made(wire.send(request(2, resumeToken="r")))
    assert made.resume_token == "r"
    assert texts(made.findings) == ('"resumeToken" is next to "_meta" instead of inside it',)


@pytest.mark.parametrize(
    ("members", "token", "violations"),
    [
        ({"_meta": {"nextResumeToken": "t"}}, "t", 0),
        ({}, None, 0),
        ({"nextResumeToken": "t"}, "t", 1),
        ({"_meta": {"nextResumeToken": HUGE}}, HUGE, 1),
        ({"nextResumeToken": HUGE}, HUGE, 2),
        ({"_meta": {"nextResumeToken": ""}}, "", 1),
        ({"_meta": {"nextResumeToken": 5}}, 5, 1),
        ({"_meta": {"nextResumeToken": None}}, None, 1),
    ],
)
def test_the_next_resume_token_is_stated_as_received(
    members: dict[str, Any], token: object, violations: int
) -> None:
    wire = Wire()
    wire.send(request(1))
    answer = _answer(wire.receive(result(1, **members)))
    assert answer.next_resume_token == token
    assert len(texts(answer.findings)) == violations


@pytest.mark.parametrize(
    "members",
    [
        {"_meta": {"nextResumeToken": "t"}},
        {"data": {"nextResumeToken": "t"}},
        {"data": {"_meta": {"nextResumeToken": "t"}}},
        {"nextResumeToken": "t"},
    ],
)
def test_a_resume_token_on_an_error_is_stated_wherever_it_is(members: dict[str, Any]) -> None:
    wire = Wire()
    wire.send(request(1))
    assert _answer(wire.receive(error(1, **members))).next_resume_token == "t"
    wire.send(request(2))
    assert _answer(wire.receive(error(2, data=[1]))).next_resume_token is None


def test_late_and_duplicate_replies_name_their_request() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    wire.receive(result(1))
    answer = _answer(wire.receive(result(1)))
    assert (answer.request, answer.standing) == (1, RequestStanding.ANSWERED)
    wire.send(call(2, "b"))
    wire.send(_cancelling(2))
    answer = _answer(wire.receive(result(2)))
    assert (answer.request, answer.standing) == (4, RequestStanding.CANCELLED)
    assert _standing(wire.receive(progress("b", 1))) is RequestStanding.CANCELLED


@pytest.mark.parametrize(
    ("identity", "reply", "hint"),
    [
        (7, "7", '"7"; 7, a number, is pending'),
        ("7", 7, '7; "7", a string, is pending'),
        (7, 7.0, "7.0; 7, an integer, is pending"),
        (7, 8, "8"),
    ],
)
def test_a_reply_to_an_unknown_id_says_what_is_like_it(
    identity: object, reply: object, hint: str
) -> None:
    wire = Wire()
    wire.send(request(identity))
    answer = _answer(wire.receive(result(reply)))
    assert (answer.request, answer.standing) == (None, RequestStanding.UNKNOWN)
    assert texts(answer.findings)[-1] == f"no pending request has the id {hint}"
    assert wire.conversation.open_requests == 1


def test_a_payload_that_is_no_object_is_stated_as_empty_with_its_text() -> None:
    wire = Wire()
    wire.send(request(1))
    answer = _answer(wire.receive(error(1) | {"error": "boom"}))
    assert (answer.result, answer.error) == (None, {})
    assert texts(answer.findings) == ('the error is "boom", not an object',)
    wire.send(request(2))
    answer = _answer(wire.receive(result(2) | {"result": [1]}))
    assert (answer.result, answer.error) == ({}, None)


def test_cancelling_names_the_senders_own_request() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    fact = wire.send(_cancelling(1, reason="too slow"))
    assert fact == RequestCancelled(
        2, "server#1", 1.0, 1000.0, Side.CLIENT, 1, 1, RequestStanding.ACTIVE, "too slow", ()
    )
    assert (wire.conversation.open_requests, wire.conversation.open_tokens) == (0, 0)
    assert getattr(wire.send(_cancelling(1)), "standing", None) is RequestStanding.CANCELLED


def test_a_server_cannot_cancel_our_request_but_for_a_subscription() -> None:
    wire = Wire()
    wire.send(request(1))
    wire.send(request(2, "subscriptions/listen", **STAMPED))
    assert _standing(wire.receive(_cancelling(1))) is RequestStanding.UNKNOWN
    (fact,) = wire.receive(_cancelling(2))
    assert isinstance(fact, RequestCancelled)
    assert (fact.request, fact.standing) == (2, RequestStanding.ACTIVE)
    assert wire.conversation.open_requests == 1


def test_a_server_that_cancels_its_own_request_twice_ends_no_subscription() -> None:
    wire = Wire()
    wire.send(request(2, "subscriptions/listen", **STAMPED))
    wire.receive(request(2, "roots/list"))
    assert _standing(wire.receive(_cancelling(2))) is RequestStanding.ACTIVE
    assert _standing(wire.receive(_cancelling(2))) is RequestStanding.CANCELLED
    assert wire.conversation.open_requests == 1


@pytest.mark.parametrize(
    ("params", "violation"),
    [
        ({}, '"requestId" is missing, not a string or an integer'),
        ({"requestId": None}, '"requestId" is null, not a string or an integer'),
        ({"requestId": {}}, '"requestId" is {}, not a string or an integer'),
        ({"requestId": 1, "reason": 5}, '"reason" is 5, not a string'),
    ],
)
def test_malformed_cancellings_are_stated(params: dict[str, Any], violation: str) -> None:
    (fact,) = Wire().receive(notification("notifications/cancelled", **params))
    assert isinstance(fact, RequestCancelled)
    assert texts(fact.findings) == (violation,)
    assert fact.standing is RequestStanding.UNKNOWN


def test_initialize_negotiates() -> None:
    wire = Wire()
    wire.send(request(1, "initialize", protocolVersion="2025-11-25"))
    answered, negotiated = wire.receive(
        result(
            1,
            protocolVersion="2025-03-26",
            serverInfo={"name": "s"},
            capabilities={"tools": {}},
            instructions="Be kind.",
        )
    )
    assert isinstance(answered, RequestAnswered)
    assert negotiated == ConnectionNegotiated(
        2, "server#1", 1.0, 1000.0, "2025-03-26", {"name": "s"}, {"tools": {}}, "Be kind."
    )


def test_discover_negotiates_the_revision_of_its_stamp() -> None:
    wire = Wire()
    wire.send(request(1, "server/discover", **STAMPED))
    _, negotiated = wire.receive(
        result(
            1,
            supportedVersions=["2025-11-25", "2026-07-28"],
            capabilities={},
            _meta={"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
        )
    )
    assert isinstance(negotiated, ConnectionNegotiated)
    assert negotiated.revision == "2026-07-28"
    assert negotiated.server_info == {"name": "s", "version": "1"}


@pytest.mark.parametrize(
    ("method", "reply"),
    [
        ("initialize", result(1, protocolVersion="1999-01-01")),
        ("initialize", error(1)),
        ("server/discover", result(1, supportedVersions=["2025-11-25"])),
        ("tools/list", error(1)),
    ],
)
def test_other_replies_negotiate_nothing(method: str, reply: dict[str, Any]) -> None:
    wire = Wire()
    wire.send(request(1, method, protocolVersion="2025-11-25", **STAMPED))
    assert _answer(wire.receive(reply)).request == 1


def test_a_result_of_a_request_that_names_2026_07_28_negotiates_it_once() -> None:
    wire = Wire()
    wire.send(request(1, "tools/list", **STAMPED))
    _, negotiated = wire.receive(result(1, tools=[]))
    assert isinstance(negotiated, ConnectionNegotiated)
    assert (negotiated.revision, negotiated.capabilities) == ("2026-07-28", {})
    wire.send(request(2, "tools/list", **STAMPED))
    assert _answer(wire.receive(result(2, tools=[]))).request is not None


def test_after_a_handshake_no_request_changes_the_revision() -> None:
    wire = Wire()
    wire.send(request(1, "initialize", protocolVersion="2025-11-25"))
    wire.receive(result(1, protocolVersion="2025-11-25", capabilities={}, serverInfo={}))
    wire.send(request(2, "tools/list", **STAMPED))
    assert _answer(wire.receive(result(2, tools=[]))).request is not None


def _with_running_task() -> Wire:
    wire = Wire()
    wire.send(call(1, "a"))
    wire.receive(result(1, task={"taskId": "T", "status": "working"}))
    assert wire.conversation.open_requests == 0
    assert _standing(wire.receive(progress("a", 1))) is RequestStanding.ACTIVE
    return wire


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_status_notification_ends_a_tasks_token(status: str) -> None:
    wire = _with_running_task()
    wire.receive(notification("notifications/tasks/status", taskId="T", status="working"))
    assert _standing(wire.receive(progress("a", 2))) is RequestStanding.ACTIVE
    wire.receive(notification("notifications/tasks/status", taskId="T", status=status))
    assert _standing(wire.receive(progress("a", 3))) is RequestStanding.ANSWERED
    assert wire.conversation.open_tokens == 0


def test_polling_ends_a_tasks_token() -> None:
    wire = _with_running_task()
    wire.send(request(2, "tasks/get", taskId="T"))
    wire.receive(result(2, taskId="T", status="input_required"))
    assert wire.conversation.open_tokens == 1
    wire.send(request(3, "tasks/get", taskId="T"))
    wire.receive(result(3, taskId="T", status="completed"))
    assert wire.conversation.open_tokens == 0


def test_the_result_of_a_task_ends_its_token() -> None:
    wire = _with_running_task()
    wire.send(request(2, "tasks/result", taskId="T"))
    wire.receive(result(2, content=[]))
    assert wire.conversation.open_tokens == 0


def test_a_task_that_is_over_at_once_holds_no_token() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    wire.receive(result(1, task={"taskId": "T", "status": "completed"}))
    assert wire.conversation.open_tokens == 0


def test_a_flat_task_of_2026_holds_no_token() -> None:
    wire = Wire()
    wire.send(call(1, "a"))
    wire.receive(result(1, resultType="task", taskId="T", status="working"))
    assert wire.conversation.open_tokens == 0


def test_a_reply_with_a_null_id_is_stated() -> None:
    answer = _answer(Wire().receive(as_bytes(error(None, -32700))))
    assert (answer.id, answer.request, answer.standing) == (None, None, RequestStanding.UNKNOWN)
    (finding,) = answer.findings
    assert (finding.rule.level, finding.rule.source.document) == (Level.WARNING, "2025-11-25")
    result_of_none = _answer(Wire().receive(as_bytes(result(None))))
    assert texts(result_of_none.findings) == ("reply with a null id",)


def _on_two_streams(revision: str) -> Wire:
    """Two calls over HTTP, `a` in exchange 2 and `b` in exchange 3, in a session of `revision`."""
    wire = Wire()
    if revision == "2026-07-28":
        wire.send(request(1, "server/discover", **STAMPED))
        wire.receive(result(1, supportedVersions=[revision], capabilities={}))
    else:
        wire.send(request(1, "initialize", protocolVersion=revision))
        wire.receive(result(1, protocolVersion=revision, capabilities={}))
    for exchange, token in ((2, "a"), (3, "b")):
        sent = wire.send(call(exchange, token))
        wire.event("http_request", exchange=exchange, method="POST", message=sent.number)
    return wire


OTHER_STREAM = rules.OTHER_STREAM.text


def _violations(facts: Sequence[Fact]) -> list[tuple[str, ...]]:
    return [texts(fact.findings) for fact in facts if isinstance(fact, ProgressReceived)]


@pytest.mark.parametrize(
    ("revision", "strays"), [("2026-07-28", (OTHER_STREAM,)), ("2025-11-25", ())]
)
def test_progress_in_the_response_to_another_request_is_said_to_be(
    revision: str, strays: tuple[str, ...]
) -> None:
    """PROG-15: in 2026-07-28 a response brings what is about its own request alone."""
    wire = _on_two_streams(revision)
    wire.event("http_events", exchange=2)
    assert _violations(wire.receive(progress("a", 1), progress("b", 1))) == [(), strays]
    wire.event("http_events", exchange=3)
    assert _violations(wire.receive(progress("a", 2), progress("b", 2))) == [strays, ()]
    (odd,) = _violations(wire.receive(progress("a", "x")))
    assert odd[1:] == strays
    wire.event("http_events", exchange=9)  # of a request that nobody mentioned
    assert _violations(wire.receive(progress("a", 4))) == [()]


def test_progress_of_a_run_is_judged_by_its_place_as_well() -> None:
    wire = _on_two_streams("2026-07-28")
    lines = [json.dumps(progress("a", number)).encode() for number in range(20)]
    for exchange, violations in ((2, ()), (3, (OTHER_STREAM,))):
        wire.event("http_events", exchange=exchange)
        run = wire.framer.run(lines, 1000.0, 1.0)
        assert isinstance(run, FrameRun)
        assert _violations(wire.conversation.read(run)) == [violations] * 20


def test_a_late_tick_on_another_stream_is_late_and_no_more() -> None:
    wire = _on_two_streams("2026-07-28")
    wire.event("http_events", exchange=2)
    wire.receive(result(2))
    wire.event("http_events", exchange=3)
    (late,) = wire.receive(progress("a", 1))
    assert isinstance(late, ProgressReceived)
    assert (late.standing, texts(late.findings)) == (RequestStanding.ELSEWHERE, ())
