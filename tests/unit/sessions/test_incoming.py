"""Requests of servers in the handshake era: each is answered once, exactly, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.sessions.questions import Accept, Decline, Dismiss, Refused, Sampled
from mcp_progress_monitor.sessions.rules import QuestionRules, Root, Rule
from tests.unit.sessions.questioned import FORM, SAMPLED, SAMPLING, questioned, request

CREATE = "sampling/createMessage"
ELICIT = "elicitation/create"
ELICITATION_PHASES = [
    (1, 4, "Displaying form"),
    (2, 4, "Awaiting input"),
    (3, 4, "Validating"),
    (4, 4, "Done"),
]
SAMPLING_PHASES = [(1, 3, "Awaiting approval"), (2, 3, "Processing"), (3, 3, "Done")]


@pytest.mark.parametrize("identity", [1, "one", 0, ""])
async def test_an_answer_goes_out_under_the_id_that_asked(identity: int | str) -> None:
    async with questioned() as desk:
        desk.server.say(request(identity, ELICIT, FORM))
        [asked] = await desk.asked()
        desk.questions.answer(asked.id, Accept({"name": "Ada"}))
        reply = await desk.reply_to(identity)
    result = {"action": "accept", "content": {"name": "Ada"}}
    assert reply == {"jsonrpc": "2.0", "id": identity, "result": result}


async def test_a_question_says_where_it_comes_from() -> None:
    async with questioned() as desk:
        desk.server.say(request("q", ELICIT, FORM))
        [asked] = await desk.asked()
    assert (asked.server, asked.connection, asked.key) == ("s", "played#1", None)
    assert asked.job == asked.request + 1000
    assert asked.params == FORM


@pytest.mark.requirement("SC-3")
@pytest.mark.parametrize(
    ("method", "params", "answer", "phases"),
    [
        (ELICIT, FORM, Accept({"name": "Ada"}), ELICITATION_PHASES),
        (ELICIT, FORM, Decline(), ELICITATION_PHASES),
        (
            ELICIT,
            {"mode": "url", "message": "m", "url": "https://example.com/"},
            Dismiss(),
            ELICITATION_PHASES,
        ),
        (CREATE, SAMPLING, Sampled(SAMPLED), SAMPLING_PHASES),
    ],
)
async def test_every_phase_is_told_and_none_after_the_reply(
    method: str, params: dict[str, Any], answer: Any, phases: list[tuple[Any, Any, Any]]
) -> None:
    async with questioned() as desk:
        desk.server.say(request("q", method, params, token=0))
        [asked] = await desk.asked()
        desk.questions.answer(asked.id, answer)
        await desk.reply_to("q")
    assert desk.phases() == phases
    assert "result" in desk.server.sent[-1]


async def test_nothing_is_told_without_a_token() -> None:
    async with questioned() as desk:
        desk.server.say(request("q", ELICIT, FORM))
        [asked] = await desk.asked()
        desk.questions.answer(asked.id, Decline())
        await desk.reply_to("q")
    assert desk.phases() == []


async def test_a_refused_sampling_is_an_error_of_the_user_and_not_done() -> None:
    async with questioned() as desk:
        desk.server.say(request("q", CREATE, SAMPLING, token="t"))
        [asked] = await desk.asked()
        desk.questions.answer(asked.id, Refused())
        reply = await desk.reply_to("q")
    assert reply["error"] == {"code": -1, "message": "User rejected sampling request"}
    assert desk.phases() == SAMPLING_PHASES[:2]


async def test_an_answer_that_does_not_fit_leaves_the_question_open() -> None:
    async with questioned() as desk:
        desk.server.say(request("q", ELICIT, FORM, token="t"))
        [asked] = await desk.asked()
        with pytest.raises(ProblemError) as caught:
            desk.questions.answer(asked.id, Accept({"name": 3}))
        assert caught.value.problem.detail == "name: 3 is not of type 'string'"
        assert desk.questions.open() == (asked,)
        desk.questions.answer(asked.id, Accept({"name": "Ada"}))
        await desk.reply_to("q")
    values = [value for value, _, _ in desk.phases()]
    assert values == sorted(set(values))
    assert desk.phases()[-1] == (4, 4, "Done")


async def test_several_questions_are_open_side_by_side_and_answered_in_any_order() -> None:
    async with questioned() as desk:
        for identity in range(5):
            desk.server.say(request(identity, ELICIT, FORM))
        for asked in reversed(await desk.asked(5)):
            desk.questions.answer(asked.id, Accept({"name": f"n{asked.id}"}))
        replies = [await desk.reply_to(identity) for identity in range(5)]
    assert [reply["result"]["content"]["name"] for reply in replies] == [
        "n1",
        "n2",
        "n3",
        "n4",
        "n5",
    ]


async def test_the_clocks_stand_still_while_a_question_is_open() -> None:
    async with questioned() as desk:
        desk.server.say(request("q", ELICIT, FORM))
        [asked] = await desk.asked()
        assert desk.clock.is_suspended
        desk.questions.answer(asked.id, Decline())
        assert not desk.clock.is_suspended


async def test_a_question_that_the_server_cancels_is_closed_and_never_answered() -> None:
    async with questioned() as desk:
        desk.server.say(request("q", ELICIT, FORM))
        [asked] = await desk.asked()
        params = {"requestId": "q", "reason": "no time"}
        desk.server.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        ended = await desk.ended(asked.id)
        with pytest.raises(
            ProblemError, match="not open any more: the server cancelled it: no time"
        ):
            desk.questions.answer(asked.id, Decline())
        desk.server.say(request("p", "ping"))
        await desk.reply_to("p")
    assert ended.ended == "the server cancelled it: no time"
    assert not desk.clock.is_suspended
    assert [message["id"] for message in desk.server.sent] == ["p"]


async def test_a_question_cancelled_at_once_is_never_asked() -> None:
    async with questioned() as desk:
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        desk.server.say(json.dumps(request(1, ELICIT, FORM)).encode())
        desk.server.say(cancel)
        desk.server.say(request(2, "ping"))
        await desk.reply_to(2)
    assert desk.questions.open() == ()
    assert [message["id"] for message in desk.server.sent] == [2]


async def test_the_end_of_the_connection_closes_what_is_open() -> None:
    async with questioned() as desk:
        desk.server.say(request("q", ELICIT, FORM))
        [asked] = await desk.asked()
        desk.server.end()
        ended = await desk.ended(asked.id)
    assert ended.ended == "the connection ended"
    assert not desk.clock.is_suspended


async def test_what_is_asked_while_the_connection_ends_is_left_unanswered_and_harms_nothing() -> (
    None
):
    async with questioned() as desk:
        desk.server.last_words = [request("late", ELICIT, FORM), request("l2", "roots/list")]
        desk.connection.end("enough")
        await desk.connection.over()
    assert desk.connection.problem is None
    assert desk.connection.reason == "enough"
    assert desk.questions.open() == ()
    assert desk.server.sent == []


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("demo/unknown", {}, -32601),
        (ELICIT, None, -32602),
        (ELICIT, {**FORM, "mode": "dance"}, -32602),
        (CREATE, {"maxTokens": 1}, -32602),
        (CREATE, [1], -32602),
    ],
)
async def test_what_cannot_be_asked_is_refused_at_once(method: str, params: Any, code: int) -> None:
    async with questioned() as desk:
        desk.server.say(request("q", method, params, token="t"))
        reply = await desk.reply_to("q")
    assert reply["error"]["code"] == code
    assert desk.phases() == []
    assert desk.told == []


async def test_a_kind_that_was_not_declared_is_no_method() -> None:
    none = Rule(mode="undeclared")
    rules = QuestionRules(sampling=none, form=none, url=none, roots=none)
    async with questioned(rules=rules) as desk:
        for method in (CREATE, ELICIT, "roots/list"):
            desk.server.say(request(method, method, FORM))
        replies = [await desk.reply_to(m) for m in (CREATE, ELICIT, "roots/list")]
    assert desk.identity.capabilities == {}
    assert [reply["error"]["code"] for reply in replies] == [-32601] * 3


async def test_servers_of_2026_send_no_requests() -> None:
    async with questioned(era=Era.PER_REQUEST) as desk:
        desk.server.say(request("q", ELICIT, FORM, token="t"))
        reply = await desk.reply_to("q")
    assert reply["error"]["code"] == -32601
    assert desk.phases() == []


async def test_the_roots_are_told_without_asking() -> None:
    async with questioned(roots=[Root(uri="file:///a", name="A"), Root(uri="file:///b")]) as desk:
        desk.server.say(request("q", "roots/list"))
        reply = await desk.reply_to("q")
    assert reply["result"] == {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}


async def test_an_oversized_question_is_read_whole() -> None:
    picture = {"type": "image", "data": "aGVsbG8h" * 200_000, "mimeType": "image/png"}
    params = {**SAMPLING, "messages": [{"role": "user", "content": picture}]}
    async with questioned() as desk:
        desk.server.say(request("q", CREATE, params))
        [asked] = await desk.asked()
        desk.questions.answer(asked.id, Sampled(SAMPLED))
        await desk.reply_to("q")
    assert asked.params["messages"][0]["content"] == picture
    assert asked.problem == ""


async def test_an_oversized_request_for_what_is_unknown_is_refused_as_well() -> None:
    async with questioned() as desk:
        desk.server.say(request("q", "demo/unknown", {"x": "y" * 2_000_000}))
        reply = await desk.reply_to("q")
    assert reply["error"]["code"] == -32601


async def test_a_flood_of_questions_is_refused_beyond_what_a_person_answers() -> None:
    async with questioned() as desk:
        for identity in range(101):
            desk.server.say(request(identity, ELICIT, FORM))
        reply = await desk.reply_to(100)
        await desk.asked(100)
    assert reply["error"]["code"] == -32000


@pytest.mark.parametrize(
    ("method", "params", "rules", "result"),
    [
        (ELICIT, FORM, {"form": Rule(mode="decline")}, {"action": "decline"}),
        (
            ELICIT,
            FORM,
            {"form": Rule(mode="answer", answer={"name": "Bot"})},
            {"action": "accept", "content": {"name": "Bot"}},
        ),
        (CREATE, SAMPLING, {"sampling": Rule(mode="answer", answer=SAMPLED)}, SAMPLED),
        (
            "roots/list",
            None,
            {"roots": Rule(mode="answer", answer={"roots": []})},
            {"roots": []},
        ),
    ],
)
async def test_a_rule_answers_by_itself(
    method: str, params: Any, rules: dict[str, Rule], result: dict[str, Any]
) -> None:
    async with questioned(rules=QuestionRules(**rules)) as desk:
        desk.server.say(request("q", method, params))
        reply = await desk.reply_to("q")
    assert reply["result"] == result
    assert desk.questions.open() == ()


async def test_a_rule_that_declines_sampling_says_so_as_the_user_does() -> None:
    async with questioned(rules=QuestionRules(sampling=Rule(mode="decline"))) as desk:
        desk.server.say(request("q", CREATE, SAMPLING))
        reply = await desk.reply_to("q")
    assert reply["error"]["code"] == -1


async def test_a_delayed_rule_leaves_the_user_the_time_to_answer() -> None:
    async with questioned(rules=QuestionRules(form=Rule(mode="decline", delay_s=60))) as desk:
        desk.server.say(request("q", ELICIT, FORM))
        [asked] = await desk.asked()
        desk.questions.answer(asked.id, Accept({"name": "Ada"}))
        reply = await desk.reply_to("q")
    assert reply["result"]["action"] == "accept"


async def test_a_delayed_rule_answers_when_the_user_does_not() -> None:
    async with questioned(rules=QuestionRules(form=Rule(mode="decline", delay_s=0.01))) as desk:
        desk.server.say(request("q", ELICIT, FORM))
        reply = await desk.reply_to("q")
    assert reply["result"]["action"] == "decline"
    assert len(desk.told) == 2
    assert not desk.clock.is_suspended


async def test_a_rule_whose_answer_does_not_fit_leaves_the_question_to_the_user() -> None:
    rules = QuestionRules(form=Rule(mode="answer", answer={"name": 3}))
    async with questioned(rules=rules) as desk:
        desk.server.say(request("q", ELICIT, FORM))
        [asked] = await desk.asked()
    assert "The answer of the rule does not fit" in asked.problem
    assert "name: 3 is not of type 'string'" in asked.problem


async def test_a_page_that_was_visited_is_marked_also_after_the_answer() -> None:
    params = {"mode": "url", "message": "m", "url": "https://example.com/", "elicitationId": "e"}
    async with questioned() as desk:
        desk.server.say(request("q", ELICIT, params))
        [asked] = await desk.asked()
        desk.questions.answer(asked.id, Accept())
        method = "notifications/elicitation/complete"
        for identity in ("other", "e"):
            body = {"elicitationId": identity}
            desk.server.say({"jsonrpc": "2.0", "method": method, "params": body})
        desk.server.say(request("p", "ping"))
        await desk.reply_to("p")
        found = desk.questions.find(asked.id)
    assert found is not None
    assert (found.is_complete, found.ended) == (True, "answered")
