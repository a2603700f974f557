"""Requests of servers in the handshake era: each is answered once, exactly, or not at all."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Dismiss, Refused, Sampled
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules, Root
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
    async with questioned() as broker:
        broker.server.say(request(identity, ELICIT, FORM))
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, Accept({"name": "Ada"}))
        reply = await broker.reply_to(identity)
    result = {"action": "accept", "content": {"name": "Ada"}}
    assert reply == {"jsonrpc": "2.0", "id": identity, "result": result}


async def test_a_question_says_where_it_comes_from() -> None:
    async with questioned() as broker:
        broker.server.say(request("q", ELICIT, FORM))
        [asked] = await broker.asked()
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
async def test_every_phase_is_reported_and_none_after_the_reply(
    method: str, params: dict[str, Any], answer: Any, phases: list[tuple[Any, Any, Any]]
) -> None:
    async with questioned() as broker:
        broker.server.say(request("q", method, params, token=0))
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, answer)
        await broker.reply_to("q")
    assert broker.phases() == phases
    assert "result" in broker.server.sent[-1]


async def test_nothing_is_reported_without_a_token() -> None:
    async with questioned() as broker:
        broker.server.say(request("q", ELICIT, FORM))
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, Decline())
        await broker.reply_to("q")
    assert broker.phases() == []


async def test_a_refused_sampling_is_an_error_of_the_user_and_not_done() -> None:
    async with questioned() as broker:
        broker.server.say(request("q", CREATE, SAMPLING, token="t"))
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, Refused())
        reply = await broker.reply_to("q")
    assert reply["error"] == {"code": -1, "message": "User rejected sampling request"}
    assert broker.phases() == SAMPLING_PHASES[:2]


async def test_an_answer_that_does_not_fit_leaves_the_question_open() -> None:
    async with questioned() as broker:
        broker.server.say(request("q", ELICIT, FORM, token="t"))
        [asked] = await broker.asked()
        with pytest.raises(UserError) as caught:
            broker.questions.answer(asked.id, Accept({"name": 3}))
        assert caught.value.details.detail == 'name: 3 is not of type "string"'
        assert broker.questions.open() == (asked,)
        broker.questions.answer(asked.id, Accept({"name": "Ada"}))
        await broker.reply_to("q")
    values = [value for value, _, _ in broker.phases()]
    assert values == sorted(set(values))
    assert broker.phases()[-1] == (4, 4, "Done")


async def test_several_questions_are_open_side_by_side_and_answered_in_any_order() -> None:
    async with questioned() as broker:
        for identity in range(5):
            broker.server.say(request(identity, ELICIT, FORM))
        for asked in reversed(await broker.asked(5)):
            broker.questions.answer(asked.id, Accept({"name": f"n{asked.id}"}))
        replies = [await broker.reply_to(identity) for identity in range(5)]
    assert [reply["result"]["content"]["name"] for reply in replies] == [
        "n1",
        "n2",
        "n3",
        "n4",
        "n5",
    ]


async def test_the_clocks_stand_still_while_a_question_is_open() -> None:
    async with questioned() as broker:
        broker.server.say(request("q", ELICIT, FORM))
        [asked] = await broker.asked()
        assert broker.clock.is_suspended
        broker.questions.answer(asked.id, Decline())
        assert not broker.clock.is_suspended


async def test_a_question_that_the_server_cancels_is_closed_and_never_answered() -> None:
    async with questioned() as broker:
        broker.server.say(request("q", ELICIT, FORM))
        [asked] = await broker.asked()
        params = {"requestId": "q", "reason": "no time"}
        broker.server.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        ended = await broker.ended(asked.id)
        with pytest.raises(UserError, match="no longer open: the server cancelled it: no time"):
            broker.questions.answer(asked.id, Decline())
        broker.server.say(request("p", "ping"))
        await broker.reply_to("p")
    assert ended.ended == "the server cancelled it: no time"
    assert not broker.clock.is_suspended
    assert [message["id"] for message in broker.server.sent] == ["p"]


async def test_a_question_cancelled_at_once_is_never_asked() -> None:
    async with questioned() as broker:
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        broker.server.say(json.dumps(request(1, ELICIT, FORM)).encode())
        broker.server.say(cancel)
        broker.server.say(request(2, "ping"))
        await broker.reply_to(2)
    assert broker.questions.open() == ()
    assert [message["id"] for message in broker.server.sent] == [2]


async def test_the_end_of_the_connection_closes_what_is_open() -> None:
    async with questioned() as broker:
        broker.server.say(request("q", ELICIT, FORM))
        [asked] = await broker.asked()
        broker.server.end()
        ended = await broker.ended(asked.id)
    assert ended.ended == "the connection ended"
    assert not broker.clock.is_suspended


async def test_what_is_asked_while_the_connection_ends_is_left_unanswered_and_harms_nothing() -> (
    None
):
    async with questioned() as broker:
        broker.server.last_output = [request("late", ELICIT, FORM), request("l2", "roots/list")]
        broker.connection.end("enough")
        await broker.connection.over()
    assert broker.connection.error is None
    assert broker.connection.reason == "enough"
    assert broker.questions.open() == ()
    assert broker.server.sent == []


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
    async with questioned() as broker:
        broker.server.say(request("q", method, params, token="t"))
        reply = await broker.reply_to("q")
    assert reply["error"]["code"] == code
    assert broker.phases() == []
    assert broker.reported == []


async def test_a_kind_that_was_not_declared_is_no_method() -> None:
    none = QuestionRule(mode="undeclared")
    rules = QuestionRules(sampling=none, form=none, url=none, roots=none)
    async with questioned(rules=rules) as broker:
        for method in (CREATE, ELICIT, "roots/list"):
            broker.server.say(request(method, method, FORM))
        replies = [await broker.reply_to(m) for m in (CREATE, ELICIT, "roots/list")]
    assert broker.identity.capabilities == {}
    assert [reply["error"]["code"] for reply in replies] == [-32601] * 3


async def test_servers_of_2026_send_no_requests() -> None:
    async with questioned(era=Era.PER_REQUEST) as broker:
        broker.server.say(request("q", ELICIT, FORM, token="t"))
        reply = await broker.reply_to("q")
    assert reply["error"]["code"] == -32601
    assert broker.phases() == []


async def test_the_roots_are_reported_without_asking() -> None:
    async with questioned(roots=[Root(uri="file:///a", name="A"), Root(uri="file:///b")]) as broker:
        broker.server.say(request("q", "roots/list"))
        reply = await broker.reply_to("q")
    assert reply["result"] == {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}


async def test_an_oversized_question_is_read_whole() -> None:
    image = {"type": "image", "data": "aGVsbG8h" * 200_000, "mimeType": "image/png"}
    params = {**SAMPLING, "messages": [{"role": "user", "content": image}]}
    async with questioned() as broker:
        broker.server.say(request("q", CREATE, params))
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, Sampled(SAMPLED))
        await broker.reply_to("q")
    assert asked.params["messages"][0]["content"] == image
    assert asked.error == ""


async def test_an_oversized_request_for_what_is_unknown_is_refused_as_well() -> None:
    async with questioned() as broker:
        broker.server.say(request("q", "demo/unknown", {"x": "y" * 2_000_000}))
        reply = await broker.reply_to("q")
    assert reply["error"]["code"] == -32601


async def test_a_flood_of_questions_is_refused_beyond_what_a_person_answers() -> None:
    async with questioned() as broker:
        for identity in range(101):
            broker.server.say(request(identity, ELICIT, FORM))
        reply = await broker.reply_to(100)
        await broker.asked(100)
    assert reply["error"]["code"] == -32000


@pytest.mark.parametrize(
    ("method", "params", "rules", "result"),
    [
        (ELICIT, FORM, {"form": QuestionRule(mode="decline")}, {"action": "decline"}),
        (
            ELICIT,
            FORM,
            {"form": QuestionRule(mode="answer", answer={"name": "Bot"})},
            {"action": "accept", "content": {"name": "Bot"}},
        ),
        (CREATE, SAMPLING, {"sampling": QuestionRule(mode="answer", answer=SAMPLED)}, SAMPLED),
        (
            "roots/list",
            None,
            {"roots": QuestionRule(mode="answer", answer={"roots": []})},
            {"roots": []},
        ),
    ],
)
async def test_a_rule_answers_automatically(
    method: str, params: Any, rules: dict[str, QuestionRule], result: dict[str, Any]
) -> None:
    async with questioned(rules=QuestionRules(**rules)) as broker:
        broker.server.say(request("q", method, params))
        reply = await broker.reply_to("q")
    assert reply["result"] == result
    assert broker.questions.open() == ()


async def test_a_rule_that_declines_sampling_says_so_as_the_user_does() -> None:
    async with questioned(rules=QuestionRules(sampling=QuestionRule(mode="decline"))) as broker:
        broker.server.say(request("q", CREATE, SAMPLING))
        reply = await broker.reply_to("q")
    assert reply["error"]["code"] == -1


async def test_a_delayed_rule_leaves_the_user_the_time_to_answer() -> None:
    async with questioned(
        rules=QuestionRules(form=QuestionRule(mode="decline", delay_s=60))
    ) as broker:
        broker.server.say(request("q", ELICIT, FORM))
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, Accept({"name": "Ada"}))
        reply = await broker.reply_to("q")
    assert reply["result"]["action"] == "accept"


async def test_a_delayed_rule_answers_when_the_user_does_not() -> None:
    async with questioned(
        rules=QuestionRules(form=QuestionRule(mode="decline", delay_s=0.01))
    ) as broker:
        broker.server.say(request("q", ELICIT, FORM))
        reply = await broker.reply_to("q")
    assert reply["result"]["action"] == "decline"
    assert len(broker.reported) == 2
    assert not broker.clock.is_suspended


async def test_a_rule_whose_answer_does_not_fit_leaves_the_question_to_the_user() -> None:
    rules = QuestionRules(form=QuestionRule(mode="answer", answer={"name": 3}))
    async with questioned(rules=rules) as broker:
        broker.server.say(request("q", ELICIT, FORM))
        [asked] = await broker.asked()
    assert "The rule's answer is not valid" in asked.error
    assert 'name: 3 is not of type "string"' in asked.error


async def test_a_page_that_was_visited_is_marked_also_after_the_answer() -> None:
    params = {"mode": "url", "message": "m", "url": "https://example.com/", "elicitationId": "e"}
    async with questioned() as broker:
        broker.server.say(request("q", ELICIT, params))
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, Accept())
        method = "notifications/elicitation/complete"
        for identity in ("other", "e"):
            body = {"elicitationId": identity}
            broker.server.say({"jsonrpc": "2.0", "method": method, "params": body})
        broker.server.say(request("p", "ping"))
        await broker.reply_to("p")
        found = broker.questions.find(asked.id)
    assert found is not None
    assert (found.is_complete, found.ended) == (True, "answered")
