"""Opening a connection with a server of unknown era, as a conversation."""

import itertools
from typing import Any

import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.eras import Agreement, ClientIdentity, Era
from mcp_progress_monitor.protocol.facts import RequestAnswered, RequestStanding, Side
from mcp_progress_monitor.protocol.opening import Ask, Await, ConnectionOpening, Reopen, Step

CLIENT = ClientIdentity({"name": "monitor", "version": "1"}, {})
MODERN = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
NOT_FOUND = {"code": -32601, "message": "Method not found"}


def _reply(result: dict[str, Any] | None, error: dict[str, Any] | None) -> RequestAnswered:
    return RequestAnswered(
        2, "s#1", 0, 0, Side.SERVER, 1, 1, RequestStanding.ACTIVE, result, error, None, 9, ()
    )


def _result(**members: Any) -> RequestAnswered:
    return _reply(members, None)


def _error(code: int, message: str = "no", **members: Any) -> RequestAnswered:
    return _reply(None, {"code": code, "message": message, **members})


def _unsupported(*supported: str) -> RequestAnswered:
    return _error(-32022, data={"supported": list(supported), "requested": "x"})


def _asks(step: Step, method: str, revision: str) -> bool:
    return isinstance(step, Ask) and (step.method, step.revision) == (method, revision)


def _initialized(revision: str = "2025-11-25") -> RequestAnswered:
    return _result(protocolVersion=revision, serverInfo={}, capabilities={})


def test_discover_is_asked_first_and_with_a_short_limit() -> None:
    ask = ConnectionOpening(CLIENT).first()
    assert _asks(ask, "server/discover", "2026-07-28")
    assert ask.limit_s == 2.0
    assert ask.params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


def test_a_server_of_the_per_request_era_is_agreed_with_at_once() -> None:
    opening = ConnectionOpening(CLIENT)
    opening.first()
    agreed = opening.after(_result(**MODERN))
    assert isinstance(agreed, Agreement)
    assert (agreed.revision, agreed.era) == ("2026-07-28", Era.PER_REQUEST)


@pytest.mark.parametrize("reply", [None, _error(-32601), _error(-32602), _error(-32000)])
def test_silence_and_any_other_error_lead_to_the_handshake(reply: RequestAnswered | None) -> None:
    opening = ConnectionOpening(CLIENT)
    opening.first()
    ask = opening.after(reply)
    assert _asks(ask, "initialize", "2025-11-25")
    assert isinstance(ask, Ask)
    assert ask.limit_s is None
    agreed = opening.after(_initialized("2024-11-05"))
    assert isinstance(agreed, Agreement)
    assert agreed.revision == "2024-11-05"


def test_a_refused_revision_leads_to_one_that_both_speak() -> None:
    opening = ConnectionOpening(CLIENT)
    opening.first()
    step = opening.after(_unsupported("2025-03-26", "2025-06-18", "2099-01-01"))
    assert _asks(step, "initialize", "2025-06-18")


def test_a_discover_result_without_our_revision_leads_to_one_it_lists() -> None:
    opening = ConnectionOpening(CLIENT)
    opening.first()
    step = opening.after(_result(supportedVersions=["2025-11-25"], capabilities={}))
    assert _asks(step, "initialize", "2025-11-25")


def test_initialize_refused_with_a_list_is_repeated_at_one_it_lists() -> None:
    opening = ConnectionOpening(CLIENT, Era.HANDSHAKE)
    assert _asks(opening.first(), "initialize", "2025-11-25")
    step = opening.after(_error(-32602, data={"supported": ["2024-11-05"]}))
    assert _asks(step, "initialize", "2024-11-05")


def test_a_slow_server_of_the_per_request_era_is_asked_again_with_patience() -> None:
    opening = ConnectionOpening(CLIENT)
    opening.first()
    opening.after(None)
    step = opening.after(_error(-32601))
    assert _asks(step, "server/discover", "2026-07-28")
    assert isinstance(step, Ask)
    assert step.limit_s is None
    assert isinstance(opening.after(_result(**MODERN)), Agreement)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (_unsupported("2099-01-01"), "It supports only 2099-01-01"),
        (_unsupported("1999-01-01", "x"), "It supports only 1999-01-01, x"),
    ],
)
def test_no_common_revision_is_an_error(reply: RequestAnswered, text: str) -> None:
    opening = ConnectionOpening(CLIENT)
    opening.first()
    error = opening.after(reply)
    assert isinstance(error, ErrorDetails)
    assert text in error.detail
    assert error.hint


def test_a_refused_handshake_is_an_error_with_the_servers_text() -> None:
    opening = ConnectionOpening(CLIENT, Era.HANDSHAKE)
    opening.first()
    error = opening.after(_error(-32000, "Licence expired"))
    assert isinstance(error, ErrorDetails)
    assert error.what == "The server refused initialize (-32000)"
    assert error.detail == "Licence expired"


def test_a_silent_handshake_is_an_error() -> None:
    opening = ConnectionOpening(CLIENT, Era.HANDSHAKE)
    opening.first()
    error = opening.after(None)
    assert isinstance(error, ErrorDetails)
    assert error.what == "The server did not answer initialize."


def test_an_unknown_counter_offer_is_an_error_that_names_it() -> None:
    opening = ConnectionOpening(CLIENT, Era.HANDSHAKE)
    opening.first()
    error = opening.after(_initialized("1999-01-01"))
    assert isinstance(error, ErrorDetails)
    assert '"1999-01-01"' in error.detail
    assert "2025-11-25" in error.hint


@pytest.mark.parametrize("reply", [None, _error(-32601)])
def test_a_fixed_per_request_era_never_falls_back(reply: RequestAnswered | None) -> None:
    opening = ConnectionOpening(CLIENT, Era.PER_REQUEST)
    assert opening.first().limit_s is None
    assert isinstance(opening.after(reply), ErrorDetails)


def test_a_fixed_era_leaves_the_other_eras_revisions_alone() -> None:
    opening = ConnectionOpening(CLIENT, Era.HANDSHAKE)
    opening.first()
    assert isinstance(opening.after(_unsupported("2026-07-28")), ErrorDetails)


def _course(opening: ConnectionOpening, *replies: RequestAnswered | None) -> Step:
    """The step after all of these came, one after the other."""
    step: Step = opening.first()
    for reply in replies:
        assert isinstance(step, Ask)
        step = opening.after(reply)
    return step


_REFUSALS = (
    None,
    _error(-32601),
    _error(-32022),
    _error(0),
    _unsupported("2025-11-25", "2026-07-28"),
    _unsupported("2026-07-28"),
    _unsupported("2024-11-05"),
    _result(),
)


@pytest.mark.parametrize("remembered", [None, *Era])
@pytest.mark.parametrize("replies", list(itertools.product(_REFUSALS, repeat=2)))
def test_every_server_that_only_refuses_is_given_up(
    replies: tuple[RequestAnswered | None, ...], remembered: Era | None
) -> None:
    opening = ConnectionOpening(CLIENT, remembered=remembered)
    step: Step = opening.first()
    starts, answers = 1, itertools.cycle(replies)
    for _ in range(16):
        match step:
            case Ask():
                step = opening.after(next(answers))
            case Await():
                step = opening.after_wait(next(answers))
            case Reopen():
                starts += 1
                step = opening.first()
            case _:
                break
    assert isinstance(step, ErrorDetails)
    assert starts <= 2


@pytest.mark.parametrize("remembered", [None, *Era])
def test_a_server_that_ends_at_every_question_is_started_twice_at_most(
    remembered: Era | None,
) -> None:
    opening = ConnectionOpening(CLIENT, remembered=remembered)
    starts = 1
    opening.first()
    while opening.after_end() is not None:
        starts += 1
        opening.first()
    assert starts == 2


# While server/discover has no answer, nothing else is a verdict


def test_an_end_over_the_first_question_leads_to_a_plain_handshake() -> None:
    opening = ConnectionOpening(CLIENT)
    opening.first()
    assert isinstance(opening.after_end(), Reopen)
    assert _asks(opening.first(), "initialize", "2025-11-25")
    assert opening.after_end() is None


def test_an_end_over_the_handshake_after_silence_leads_to_a_plain_one() -> None:
    opening = ConnectionOpening(CLIENT)
    assert _asks(_course(opening, None), "initialize", "2025-11-25")
    again = opening.after_end()
    assert isinstance(again, Reopen)
    assert "the server exited after server/discover and initialize" in again.why
    assert _asks(opening.first(), "initialize", "2025-11-25")


def test_an_end_over_the_handshake_after_a_refusal_leads_to_a_plain_one() -> None:
    opening = ConnectionOpening(CLIENT)
    assert _asks(_course(opening, _error(-32600)), "initialize", "2025-11-25")
    assert isinstance(opening.after_end(), Reopen)


@pytest.mark.parametrize("code", [0, -32600, -32602, -32603])
def test_an_error_to_the_handshake_after_silence_leads_to_a_plain_one(code: int) -> None:
    opening = ConnectionOpening(CLIENT)
    step = _course(opening, None, _error(code))
    assert isinstance(step, Await)
    assert isinstance(opening.after_wait(None), Reopen)
    assert _asks(opening.first(), "initialize", "2025-11-25")


def test_silence_to_all_of_it_leads_to_a_plain_handshake_once() -> None:
    opening = ConnectionOpening(CLIENT)
    _course(opening, None)
    assert isinstance(opening.out_of_time(), Reopen)
    opening.first()
    assert opening.out_of_time() is None


def test_a_bridge_that_initialized_at_the_first_request_is_opened_again_with_initialize() -> None:
    opening = ConnectionOpening(CLIENT)
    step = _course(opening, _error(-32601), _error(-32000, "Server already initialized"))
    assert isinstance(step, Reopen)
    assert _asks(opening.first(), "initialize", "2025-11-25")
    assert isinstance(opening.after(_initialized()), Agreement)


def test_a_bridge_that_refuses_both_requests_that_crossed_is_opened_again_too() -> None:
    opening = ConnectionOpening(CLIENT)
    step = _course(opening, None, _error(-32000, "Transport already started"))
    assert isinstance(step, Await)
    assert isinstance(opening.after_wait(_error(-32601)), Reopen)
    assert _asks(opening.first(), "initialize", "2025-11-25")


def test_an_error_to_initialize_without_another_request_is_the_servers_word() -> None:
    opening = ConnectionOpening(CLIENT)
    refused = _error(-32000, "Licence expired")
    assert isinstance(_course(opening, _error(-32601), refused), Reopen)
    step = _course(opening, refused)
    assert isinstance(step, ErrorDetails)
    assert "Licence expired" in step.detail


def test_over_http_another_connection_proves_nothing() -> None:
    opening = ConnectionOpening(CLIENT, can_reopen=False)
    assert isinstance(_course(opening, None, _error(0)), Await)
    assert isinstance(opening.after_wait(None), ErrorDetails)
    assert opening.after_end() is None
    assert opening.out_of_time() is None


def test_in_a_fixed_era_every_end_is_final() -> None:
    for era in Era:
        opening = ConnectionOpening(CLIENT, era)
        opening.first()
        assert opening.after_end() is None
        assert opening.out_of_time() is None


# A late answer


def test_a_good_answer_that_comes_late_counts_when_the_handshake_is_refused() -> None:
    opening = ConnectionOpening(CLIENT)
    _course(opening, None)
    agreed = opening.after(_error(0, 'duplicate "initialize" received'), _result(**MODERN))
    assert isinstance(agreed, Agreement)
    assert agreed.era is Era.PER_REQUEST


def test_a_good_answer_counts_that_comes_after_the_refusal() -> None:
    opening = ConnectionOpening(CLIENT)
    assert isinstance(_course(opening, None, _error(0)), Await)
    agreed = opening.after_wait(_result(**MODERN))
    assert isinstance(agreed, Agreement)
    assert agreed.era is Era.PER_REQUEST


def test_the_handshake_stands_when_both_were_answered_well() -> None:
    opening = ConnectionOpening(CLIENT)
    _course(opening, None)
    agreed = opening.after(_initialized(), _result(**MODERN))
    assert isinstance(agreed, Agreement)
    assert agreed.era is Era.HANDSHAKE


def test_a_late_refusal_leaves_the_refused_handshake_final_on_another_connection() -> None:
    opening, refused = ConnectionOpening(CLIENT), _error(-32000, "Licence expired")
    _course(opening, None)
    assert isinstance(opening.after(refused, _error(-32601)), Reopen)
    step = _course(opening, refused)
    assert isinstance(step, ErrorDetails)
    assert "Licence expired" in step.detail


# Answers that are no evidence


@pytest.mark.parametrize("found", [{}, {"capabilities": {}}, {"result": "ok"}])
def test_a_result_that_is_no_discover_result_leads_to_the_handshake(found: dict[str, Any]) -> None:
    opening = ConnectionOpening(CLIENT)
    assert _asks(_course(opening, _result(**found)), "initialize", "2025-11-25")
    agreed = opening.after(_initialized("2024-11-05"))
    assert isinstance(agreed, Agreement)
    assert agreed.revision == "2024-11-05"


def test_a_result_that_only_names_the_revision_is_believed_when_nothing_else_is_spoken() -> None:
    opening = ConnectionOpening(CLIENT)
    half = _result(supportedVersions=["2026-07-28"])
    assert _asks(_course(opening, half), "initialize", "2025-11-25")
    agreed = opening.after(_error(-32601))
    assert isinstance(agreed, Agreement)
    assert agreed.era is Era.PER_REQUEST
    assert agreed.errors == ('"capabilities" is missing or not an object',)


def test_who_fixes_the_newer_era_gets_it_whatever_the_result_lacks() -> None:
    agreed = _course(ConnectionOpening(CLIENT, Era.PER_REQUEST), _result())
    assert isinstance(agreed, Agreement)
    assert agreed.errors


def test_the_revision_that_was_asked_for_is_asked_for_once_more_when_it_is_named() -> None:
    for only in (None, Era.PER_REQUEST):
        opening = ConnectionOpening(CLIENT, only)
        step = _course(opening, _unsupported("2026-07-28"))
        assert _asks(step, "server/discover", "2026-07-28")
        assert isinstance(opening.after(_result(**MODERN)), Agreement)


def test_refused_again_it_leads_to_the_handshake_and_then_to_this_text() -> None:
    opening, insisting = ConnectionOpening(CLIENT), _unsupported("2026-07-28")
    step = _course(opening, insisting, insisting)
    assert _asks(step, "initialize", "2025-11-25")
    error = opening.after(_error(-32601))
    assert isinstance(error, ErrorDetails)
    assert "refuses 2026-07-28, although it claims to support it" in error.what


def test_an_unsupported_version_without_a_list_leads_to_the_handshake() -> None:
    assert _asks(_course(ConnectionOpening(CLIENT), _error(-32022)), "initialize", "2025-11-25")


# What was found out earlier


def test_a_remembered_handshake_asks_nothing_else() -> None:
    opening = ConnectionOpening(CLIENT, remembered=Era.HANDSHAKE)
    assert _asks(opening.first(), "initialize", "2025-11-25")
    assert isinstance(opening.after(_initialized()), Agreement)
    assert not opening.was_discover_asked


@pytest.mark.parametrize("refusal", [_error(-32601), _error(-32022), _error(-32603)])
def test_a_remembered_handshake_that_fails_is_asked_about(refusal: RequestAnswered) -> None:
    opening = ConnectionOpening(CLIENT, remembered=Era.HANDSHAKE)
    step = _course(opening, refusal)
    assert _asks(step, "server/discover", "2026-07-28")
    agreed = opening.after(_result(**MODERN))
    assert isinstance(agreed, Agreement)
    assert agreed.era is Era.PER_REQUEST


def test_a_remembered_handshake_over_which_the_server_ends_is_asked_about() -> None:
    opening = ConnectionOpening(CLIENT, remembered=Era.HANDSHAKE)
    opening.first()
    assert isinstance(opening.after_end(), Reopen)
    assert _asks(opening.first(), "server/discover", "2026-07-28")


def test_a_remembered_newer_era_is_waited_for_longer_and_falls_back() -> None:
    opening = ConnectionOpening(CLIENT, remembered=Era.PER_REQUEST)
    ask = opening.first()
    assert _asks(ask, "server/discover", "2026-07-28")
    assert ask.limit_s == 10.0
    assert _asks(opening.after(_error(-32601)), "initialize", "2025-11-25")


def test_a_fixed_era_is_not_overruled_by_memory() -> None:
    assert _asks(
        ConnectionOpening(CLIENT, Era.HANDSHAKE, Era.PER_REQUEST).first(),
        "initialize",
        "2025-11-25",
    )


def test_every_question_says_why_it_is_asked() -> None:
    opening = ConnectionOpening(CLIENT)
    first = opening.first()
    assert first.why == "era unknown: trying the newest revision first"
    second = opening.after(_error(-32601))
    assert isinstance(second, Ask)
    assert second.why == "server/discover was refused (-32601)"
    assert (
        ConnectionOpening(CLIENT, Era.HANDSHAKE).first().why
        == "the era is set in the server's definition"
    )
    remembered = ConnectionOpening(CLIENT, remembered=Era.HANDSHAKE).first()
    assert remembered.why == "this method worked last time"
