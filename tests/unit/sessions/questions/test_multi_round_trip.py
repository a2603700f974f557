"""Calls whose results require input: the same request again, with the state byte for byte."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.peer import AUTO
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, Limits, PendingRequest
from mcp_progress_monitor.sessions.questions.multi_round_trip import (
    InputRequiredError,
    Required,
    read_pages,
    read_required,
)
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Refused, Sampled
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules
from tests.unit.sessions.playbook import Message
from tests.unit.sessions.questioned import FORM, SAMPLED, SAMPLING, Questioned, questioned

ELICIT = {"method": "elicitation/create", "params": FORM}
SAMPLE = {"method": "sampling/createMessage", "params": SAMPLING}
ROOTS = {"method": "roots/list"}
CALL = {"name": "t", "arguments": {"a": [1, "é"]}}
BY_RULE = QuestionRules(form=QuestionRule(mode="decline"))


class Requiring:
    """Answers calls with what each round requires, in order, then with a result."""

    def __init__(self, *rounds: bytes) -> None:
        self._rounds: Iterator[bytes] = iter(rounds)
        self.raw: list[Message] = []

    def __call__(self, message: Message) -> list[Message | bytes]:
        if "id" not in message:
            return []
        self.raw.append(message)
        inner = next(self._rounds, b'"resultType":"complete","content":[]')
        return [b'{"jsonrpc":"2.0","id":%d,"result":{%b}}' % (message["id"], inner)]


def required(requests: Any = None, state: bytes | None = b'"s"') -> bytes:
    """The inside of a result that requires input."""
    parts = [b'"resultType":"input_required"']
    if requests is not None:
        parts.append(b'"inputRequests":' + json.dumps(requests).encode())
    if state is not None:
        parts.append(b'"requestState":' + state)
    return b",".join(parts)


def call(broker: Questioned, token: Any = 77, method: str = "tools/call") -> PendingRequest:
    """Make a call as requests of 2026-07-28 are made."""
    outbox = broker.connection.outbox
    outbox.peer.stamps = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    return outbox.ask(method, CALL, token=token)


async def over(exchange: PendingRequest) -> ExchangeEnd | None:
    """How it ended."""
    return await exchange.over(5)


async def test_the_same_request_is_made_again_with_the_answers() -> None:
    server = Requiring(required({"k": ELICIT}))
    async with questioned(server, era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        [asked] = await broker.asked()
        assert asked.key == "k"
        assert broker.clock.is_suspended
        broker.questions.answer(asked.id, Accept({"name": "Ada"}))
        assert await over(exchange) is ExchangeEnd.ANSWERED
    first, second = server.raw
    assert second["id"] != first["id"]
    assert second["method"] == first["method"]
    assert second["params"] == {
        **first["params"],
        "inputResponses": {"k": {"action": "accept", "content": {"name": "Ada"}}},
        "requestState": "s",
    }
    assert second["params"]["_meta"]["progressToken"] == 77
    assert exchange.reply is not None
    assert exchange.reply.result == {"resultType": "complete", "content": []}


@pytest.mark.parametrize(
    "state",
    [
        b'"\\u00e9\\/\\ud83d\\ude00 \\u0001"',
        '"é≠ \u2028 😀"'.encode(),
        b'""',
        b'"' + b"x" * 2_000_000 + b'"',
        b"7.50",
        b'{"b": 1 , "a":[ ]}',
    ],
)
async def test_the_state_goes_back_byte_for_byte(state: bytes) -> None:
    written: list[bytes] = []
    server = Requiring(required({"k": ELICIT}, state))
    async with questioned(server, rules=BY_RULE, era=Era.PER_REQUEST) as broker:
        send = broker.server.send

        async def spy(raw: bytes, frame: int) -> None:
            written.append(raw)
            await send(raw, frame)

        broker.server.send = spy  # type: ignore[method-assign]  # to see the bytes
        exchange = call(broker)
        assert await over(exchange) is ExchangeEnd.ANSWERED
    assert written[-1].endswith(b'"requestState":' + state + b"}}")
    assert json.loads(written[-1])["params"]["requestState"] == json.loads(state)


async def test_rounds_follow_each_other_with_the_answers_of_the_last_alone() -> None:
    server = Requiring(
        required({"a": ELICIT}, b'"1"'),
        required({"b": ELICIT}, b'"2"'),
        required({"c": ELICIT}, None),
    )
    async with questioned(server, rules=BY_RULE, era=Era.PER_REQUEST) as broker:
        assert await over(call(broker)) is ExchangeEnd.ANSWERED
    params = [message["params"] for message in server.raw]
    assert [list(each.get("inputResponses", [])) for each in params] == [[], ["a"], ["b"], ["c"]]
    assert [each.get("requestState") for each in params] == [None, "1", "2", None]
    assert len({message["id"] for message in server.raw}) == 4


async def test_all_of_a_round_is_asked_side_by_side() -> None:
    server = Requiring(required({"a": ELICIT, "b": SAMPLE, "c": ROOTS}))
    async with questioned(server, era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        form, sampling = await broker.asked(2)
        assert (form.key, sampling.key) == ("a", "b")
        assert form.request == sampling.request
        broker.questions.answer(sampling.id, Sampled(SAMPLED))
        broker.questions.answer(form.id, Decline())
        assert await over(exchange) is ExchangeEnd.ANSWERED
    assert server.raw[1]["params"]["inputResponses"] == {
        "a": {"action": "decline"},
        "b": SAMPLED,
        "c": {"roots": []},
    }


async def test_a_state_alone_is_given_back_without_answers() -> None:
    server = Requiring(required(None, b'"1"'), required({}, b'"2"'))
    async with questioned(server, era=Era.PER_REQUEST) as broker:
        assert await over(call(broker)) is ExchangeEnd.ANSWERED
    assert all("inputResponses" not in message["params"] for message in server.raw)
    assert [message["params"].get("requestState") for message in server.raw] == [None, "1", "2"]


async def test_after_ten_rounds_the_call_is_given_up_with_a_message() -> None:
    server = Requiring(*itertools.repeat(required({"k": ELICIT}), 20))
    async with questioned(server, rules=BY_RULE, era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        assert await over(exchange) is ExchangeEnd.GIVEN_UP
        assert broker.connection.outbox.waiting_count == 0
    assert len(server.raw) == 11
    assert exchange.reason.startswith("The server required input 11 times")


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (required(None, None), "neither input requests nor a state"),
        (required({}, None), "neither input requests nor a state"),
        (required({}, b"null"), "neither input requests nor a state"),
        (required([ELICIT]), '"inputRequests" is'),
        (required({"k": "who?"}), '"k" is "who?", not an object'),
        (required({"k": {"method": "demo/unknown"}}), "does not support demo/unknown"),
        (required({"k": {"method": ["x"], "params": {}}}), '"k" cannot be answered'),
        (required({"k": {"method": "elicitation/create"}}), "needs params, an object"),
    ],
)
async def test_what_cannot_be_asked_ends_the_call_with_a_message(inner: bytes, text: str) -> None:
    async with questioned(Requiring(inner), era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        assert await over(exchange) is ExchangeEnd.GIVEN_UP
    assert text in exchange.reason
    assert broker.reported == []


async def test_a_kind_that_was_not_declared_ends_the_call() -> None:
    rules = QuestionRules(sampling=QuestionRule(mode="undeclared"))
    server = Requiring(required({"k": SAMPLE}))
    async with questioned(server, rules=rules, era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        assert await over(exchange) is ExchangeEnd.GIVEN_UP
    assert "does not support sampling/createMessage" in exchange.reason


async def test_refused_sampling_ends_the_call_and_closes_its_other_questions() -> None:
    server = Requiring(required({"a": SAMPLE, "b": ELICIT}))
    async with questioned(server, era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        sampling, _form = await broker.asked(2)
        broker.questions.answer(sampling.id, Refused("No models here"))
        assert await over(exchange) is ExchangeEnd.CANCELLED
    assert exchange.reason == "Refused: No models here"
    assert broker.questions.open() == ()
    assert len(server.raw) == 1
    assert not broker.clock.is_suspended


async def test_a_call_cancelled_between_two_requests_closes_its_questions() -> None:
    server = Requiring(required({"k": ELICIT}))
    async with questioned(server, era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        [asked] = await broker.asked()
        assert broker.connection.outbox.exchange_of(exchange.request or 0) is exchange
        broker.connection.outbox.send_cancel(exchange, "enough")
        ended = await broker.ended(asked.id)
        assert await over(exchange) is ExchangeEnd.CANCELLED
        assert broker.connection.outbox.waiting_count == 0
    assert ended.ended == "the request that asked it has ended"
    assert broker.server.methods == ["tools/call"]


async def test_a_call_cancelled_in_its_second_round_is_cancelled_by_the_newest_id() -> None:
    async with questioned(
        lambda message: (
            Requiring(required({"k": ELICIT}))(message)
            if "inputResponses" not in message.get("params", {})
            else []
        ),
        rules=BY_RULE,
        era=Era.PER_REQUEST,
    ) as broker:
        exchange = call(broker)
        await broker.server.until_count(2)
        broker.connection.outbox.send_cancel(exchange, "enough")
        cancel = await broker.server.until_sent("notifications/cancelled")
    assert cancel["params"]["requestId"] == broker.server.sent[1]["id"]
    assert exchange.end is ExchangeEnd.LOST


async def test_the_end_of_the_connection_loses_a_call_that_asks() -> None:
    async with questioned(Requiring(required({"k": ELICIT})), era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        [asked] = await broker.asked()
        broker.server.end()
        assert await over(exchange) is ExchangeEnd.LOST
        assert (await broker.ended(asked.id)).ended == "the connection ended"


@pytest.mark.parametrize(
    ("era", "method"), [(Era.HANDSHAKE, "tools/call"), (Era.PER_REQUEST, "tools/list")]
)
async def test_elsewhere_such_a_result_is_a_result(era: Era, method: str) -> None:
    async with questioned(Requiring(required({"k": ELICIT})), era=era) as broker:
        exchange = call(broker, method=method)
        assert await over(exchange) is ExchangeEnd.ANSWERED
    assert broker.reported == []


async def test_the_token_may_be_of_our_own_making_and_stays_the_same() -> None:
    server = Requiring(required({"k": ELICIT}))
    async with questioned(server, rules=BY_RULE, era=Era.PER_REQUEST) as broker:
        exchange = call(broker, AUTO)
        assert await over(exchange) is ExchangeEnd.ANSWERED
    tokens = [message["params"]["_meta"]["progressToken"] for message in server.raw]
    assert tokens == [exchange.first.token] * 2


async def test_an_oversized_question_of_a_result_is_asked_whole() -> None:
    image = {"type": "image", "data": "aGVsbG8h" * 200_000, "mimeType": "image/png"}
    params = {**SAMPLING, "messages": [{"role": "user", "content": image}]}
    server = Requiring(required({"k": {**SAMPLE, "params": params}}))
    async with questioned(server, era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, Sampled(SAMPLED))
        assert await over(exchange) is ExchangeEnd.ANSWERED
    assert asked.params["messages"][0]["content"] == image


async def test_the_clock_of_a_call_goes_on_over_all_its_rounds() -> None:
    server = Requiring(required({"k": ELICIT}))
    async with questioned(server, era=Era.PER_REQUEST) as broker:
        exchange = call(broker)
        exchange.clock.set_limits(Limits(total_s=60))
        clock = exchange.clock
        [asked] = await broker.asked()
        assert broker.connection.outbox.clocks() == [clock]
        broker.questions.answer(asked.id, Decline())
        assert await over(exchange) is ExchangeEnd.ANSWERED
    assert exchange.clock is clock
    assert clock.limits == Limits(total_s=60)


async def test_pages_that_an_error_names_are_asked_for_after_the_call() -> None:
    pages = [
        {"url": "https://example.com/", "message": "Sign in", "elicitationId": "e"},
        "no page",
        {"message": "no url"},
    ]
    error = {"code": -32042, "message": "first", "data": {"elicitations": pages}}

    def refuse(message: Message) -> list[Message]:
        return [{"jsonrpc": "2.0", "id": message["id"], "error": error}]

    async with questioned(refuse) as broker:
        exchange = call(broker)
        assert await over(exchange) is ExchangeEnd.ANSWERED
        [asked] = await broker.asked()
        broker.questions.answer(asked.id, Accept())
    assert (asked.kind, asked.url, asked.key) == ("url", "https://example.com/", "e")
    assert "call again" in asked.error
    assert len(broker.server.sent) == 1


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"error":{"data":{"elicitations":7}}}', b"{"])
def test_an_error_without_pages_names_none(raw: bytes) -> None:
    assert read_pages(raw) == []


def test_of_repeated_members_the_last_counts() -> None:
    raw = b'{"result":{"requestState":"a","inputRequests":{},"requestState":"b"}}'
    assert read_required(raw) == Required({}, b'"b"')


def test_a_state_that_is_no_utf_8_is_sent_as_what_was_read_of_it() -> None:
    assert read_required(b'{"result":{"requestState":"\xff"}}').state == b'"\\ufffd"'


@given(st.text(), st.booleans())
def test_any_state_is_echoed_as_it_was_written(state: str, is_ascii: bool) -> None:
    try:
        raw = json.dumps(state, ensure_ascii=is_ascii).encode()
    except UnicodeEncodeError:
        return
    whole = b'{"jsonrpc":"2.0","id":1,"result":{"requestState": ' + raw + b' ,"x":{"y":"}"}}}'
    found = read_required(whole).state
    assert found is not None
    assert found == raw or json.loads(found) != state  # half of a surrogate pair is no character


@given(st.binary(max_size=60))
def test_nothing_that_a_server_writes_breaks_the_reading(inner: bytes) -> None:
    try:
        read_required(b'{"result":{' + inner + b"}}")
    except InputRequiredError as error:
        assert error.text  # noqa: PT017  # either is right
