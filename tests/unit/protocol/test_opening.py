"""Opening a connection with a server of unknown era, as a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from app.problem import Problem
from app.protocol.eras import Agreement, ClientIdentity, Era
from app.protocol.facts import RequestAnswered, Side, Standing
from app.protocol.opening import Ask, Opening, Step

CLIENT = ClientIdentity({"name": "monitor", "version": "1"}, {})
MODERN = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
NOT_FOUND = {"code": -32601, "message": "Method not found"}


def _reply(result: dict[str, Any] | None, error: dict[str, Any] | None) -> RequestAnswered:
    return RequestAnswered(
        2, "s#1", 0, 0, Side.SERVER, 1, 1, Standing.ACTIVE, result, error, None, 9, ()
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
    ask = Opening(CLIENT).first()
    assert _asks(ask, "server/discover", "2026-07-28")
    assert ask.limit_s == 2.0
    assert ask.params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


def test_a_server_of_the_per_request_era_is_agreed_with_at_once() -> None:
    opening = Opening(CLIENT)
    opening.first()
    agreed = opening.after(_result(**MODERN))
    assert isinstance(agreed, Agreement)
    assert (agreed.revision, agreed.era) == ("2026-07-28", Era.PER_REQUEST)


@pytest.mark.parametrize("reply", [None, _error(-32601), _error(-32602), _error(-32000)])
def test_silence_and_any_other_error_lead_to_the_handshake(reply: RequestAnswered | None) -> None:
    opening = Opening(CLIENT)
    opening.first()
    ask = opening.after(reply)
    assert _asks(ask, "initialize", "2025-11-25")
    assert isinstance(ask, Ask)
    assert ask.limit_s is None
    agreed = opening.after(_initialized("2024-11-05"))
    assert isinstance(agreed, Agreement)
    assert agreed.revision == "2024-11-05"


def test_a_refused_revision_leads_to_one_that_both_speak() -> None:
    opening = Opening(CLIENT)
    opening.first()
    step = opening.after(_unsupported("2025-03-26", "2025-06-18", "2099-01-01"))
    assert _asks(step, "initialize", "2025-06-18")


def test_a_discover_result_without_our_revision_leads_to_one_it_lists() -> None:
    opening = Opening(CLIENT)
    opening.first()
    step = opening.after(_result(supportedVersions=["2025-11-25"], capabilities={}))
    assert _asks(step, "initialize", "2025-11-25")


def test_initialize_refused_with_a_list_is_repeated_at_one_it_lists() -> None:
    opening = Opening(CLIENT, Era.HANDSHAKE)
    assert _asks(opening.first(), "initialize", "2025-11-25")
    step = opening.after(_error(-32602, data={"supported": ["2024-11-05"]}))
    assert _asks(step, "initialize", "2024-11-05")


def test_a_slow_server_of_the_per_request_era_is_asked_again_with_patience() -> None:
    opening = Opening(CLIENT)
    opening.first()
    opening.after(None)
    step = opening.after(_error(-32601))
    assert _asks(step, "server/discover", "2026-07-28")
    assert isinstance(step, Ask)
    assert step.limit_s is None
    assert isinstance(opening.after(_result(**MODERN)), Agreement)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (_unsupported("2099-01-01"), "The server speaks only 2099-01-01"),
        (_unsupported(), "only revisions it does not name"),
        (_unsupported("2026-07-28"), "refuses 2026-07-28, which it says it speaks"),
    ],
)
def test_no_common_revision_is_a_problem(reply: RequestAnswered, words: str) -> None:
    opening = Opening(CLIENT)
    opening.first()
    problem = opening.after(reply)
    assert isinstance(problem, Problem)
    assert words in problem.what
    assert problem.hint


def test_a_refused_handshake_is_a_problem_with_the_servers_words() -> None:
    opening = Opening(CLIENT, Era.HANDSHAKE)
    opening.first()
    problem = opening.after(_error(-32000, "Licence expired"))
    assert isinstance(problem, Problem)
    assert problem.what == "The server refused initialize (-32000): Licence expired"


def test_a_silent_handshake_is_a_problem() -> None:
    opening = Opening(CLIENT, Era.HANDSHAKE)
    opening.first()
    problem = opening.after(None)
    assert isinstance(problem, Problem)
    assert problem.what == "The server did not answer initialize."


def test_an_unknown_counter_offer_is_a_problem_that_names_it() -> None:
    opening = Opening(CLIENT, Era.HANDSHAKE)
    opening.first()
    problem = opening.after(_initialized("1999-01-01"))
    assert isinstance(problem, Problem)
    assert '"1999-01-01"' in problem.what
    assert "2025-11-25" in problem.hint


@pytest.mark.parametrize("reply", [None, _error(-32601)])
def test_a_fixed_per_request_era_never_falls_back(reply: RequestAnswered | None) -> None:
    opening = Opening(CLIENT, Era.PER_REQUEST)
    assert opening.first().limit_s is None
    assert isinstance(opening.after(reply), Problem)


def test_a_fixed_era_leaves_the_other_eras_revisions_alone() -> None:
    opening = Opening(CLIENT, Era.HANDSHAKE)
    opening.first()
    assert isinstance(opening.after(_unsupported("2026-07-28")), Problem)


def test_every_server_that_only_refuses_is_given_up() -> None:
    for reply in (_unsupported("2025-11-25", "2026-07-28"), _error(-32601), None, _error(-32022)):
        opening = Opening(CLIENT)
        step: Step = opening.first()
        for _ in range(8):
            if not isinstance(step, Ask):
                break
            step = opening.after(reply)
        assert isinstance(step, Problem)
