"""Progress notifications: plain ones fast, all others as exactly."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.findings.finding import texts
from mcp_progress_monitor.protocol.conversation import Conversation, Exchanges
from mcp_progress_monitor.protocol.facts import (
    MESSAGE_LIMIT,
    Fact,
    ProgressReceived,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.jsonrpc import decode, encode
from tests.unit.protocol.wire import TEXT, Wire, as_bytes, call, notification, progress

TOKENS = ("a", "a:b", "\N{SNOWMAN}", "7", 7, 0, -1)

NUMBERS = st.integers() | st.floats(allow_nan=False)
MESSAGES = TEXT | st.sampled_from(['C:\\x "', ":", "\n", "\N{SNOWMAN}", "m" * (MESSAGE_LIMIT + 1)])


def _mostly(plain: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 5).flatmap(lambda n: odd if n == 0 else plain)


# What is done to the text of a message whose values are plain: (what, with what, how often).
SPOILS = [
    ('"progress":', '"progress":1,"progress":'),
    ('"params"', '"params":{},"params"'),
    ('"message":"', '"progress":0,"message":"\\u003a'),
    ("notifications/", "notifications\\/"),
    ("}}", '},"params":{"progressToken":"a","progress":1}}'),
    ("}}", "}"),
    ('"2.0"', '"2.1"'),
    ('"2.0"', "2.0"),
    ('"jsonrpc"', '"json"'),
    ("}}", '},"id":1}'),
]


@st.composite
def progress_lines(draw: st.DrawFn) -> bytes:
    """A progress notification, well-formed or nearly so, written in one of many ways."""
    odd: st.SearchStrategy[Any] = st.sampled_from([7.0, True, None, "other", "5", [], {"a": 1}])
    params: dict[str, Any] = {
        "progressToken": draw(_mostly(st.sampled_from(TOKENS), odd)),
        "progress": draw(_mostly(NUMBERS, odd)),
        "total": draw(_mostly(NUMBERS, odd)),
        "message": draw(_mostly(MESSAGES, odd)),
        "_meta": {},
    }
    kept = draw(_mostly(st.integers(2, 4), st.integers(0, 5)))
    order = draw(st.permutations(list(params)[:kept]))
    text = json.dumps(
        notification("notifications/progress", **{key: params[key] for key in order}),
        ensure_ascii=draw(st.booleans()),
        separators=(",", ":"),
    )
    old, new = draw(_mostly(st.just(("", "")), st.sampled_from(SPOILS)))
    return text.replace(old, new, 1).encode()


def _general(lines: list[bytes]) -> list[Fact]:
    """The facts as stated by the general reader alone."""
    framer, exchanges = Framer("server#1", FrameNumbers()), Exchanges()
    frames = [framer.sent(encode(call(n, token)), 1000.0, 1.0) for n, token in enumerate(TOKENS)]
    frames += framer.received(lines, 1000.0, 1.0)
    stated = [exchanges.state(frame, decode(frame.raw)) for frame in frames]
    return [fact for facts in stated[len(TOKENS) :] for fact in facts]


def _connected() -> Wire:
    wire = Wire()
    for number, token in enumerate(TOKENS):
        wire.send(call(number, token))
    return wire


@given(st.lists(progress_lines(), max_size=5))
def test_the_fast_reader_states_what_the_general_one_states(lines: list[bytes]) -> None:
    assert _connected().receive(*lines) == _general(lines)


@pytest.mark.requirement("FR-9")
@given(st.sampled_from(TOKENS), NUMBERS.filter(lambda n: abs(n) < 1e308), st.none() | NUMBERS)
def test_numbers_are_stated_exactly_as_received(token: object, value: Any, total: Any) -> None:
    finite = total is not None and abs(total) < 1e308
    extra = {"total": total} if finite else {}
    (fact,) = _connected().receive(progress(token, value, **extra))
    assert isinstance(fact, ProgressReceived)
    assert (fact.progress, type(fact.progress)) == (value, type(value))
    assert fact.total == extra.get("total")
    assert type(fact.total) is type(extra.get("total"))
    assert texts(fact.findings) == ()


@pytest.mark.requirement("FR-3")
def test_a_notification_states_progress_total_and_message_of_its_request() -> None:
    wire = Wire()
    request = wire.send(call(1, "abc"))
    (fact,) = wire.receive(progress("abc", 50, total=100, message="Half: done"))
    assert fact == ProgressReceived(
        number=2,
        connection="server#1",
        at=1.0,
        when=1000.0,
        sender=Side.SERVER,
        token="abc",
        request=request.number,
        standing=RequestStanding.ACTIVE,
        progress=50,
        total=100,
        message="Half: done",
        findings=(),
    )


@pytest.mark.parametrize(
    ("params", "violation"),
    [
        ({"progressToken": "a"}, '"progress" is missing'),
        ({"progressToken": "a", "progress": "5"}, '"progress" is "5", not a finite number'),
        ({"progressToken": "a", "progress": True}, '"progress" is true, not a finite number'),
        ({"progressToken": "a", "progress": None}, '"progress" is null, not a finite number'),
        ({"progressToken": "a", "progress": 1, "total": []}, '"total" is [], not a finite number'),
        ({"progressToken": "a", "progress": 1, "total": None}, '"total" is null, not'),
        ({"progressToken": "a", "progress": 1, "message": 5}, '"message" is 5, not a string'),
        ({"progressToken": "a", "progress": 1, "message": None}, '"message" is null, not a'),
        ({"progress": 1}, '"progressToken" is missing'),
        ({"progressToken": None, "progress": 1}, '"progressToken" is null, not a string or an'),
        ({"progressToken": 7.0, "progress": 1}, '"progressToken" is 7.0, not a string or an'),
    ],
)
def test_wrong_types_are_described_and_the_fact_is_stated(
    params: dict[str, Any], violation: str
) -> None:
    (fact,) = _connected().receive(notification("notifications/progress", **params))
    assert isinstance(fact, ProgressReceived)
    assert len(texts(fact.findings)) == 1
    assert violation in texts(fact.findings)[0]


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"1e999", b"-1e999"])
def test_numbers_that_are_not_finite_are_not_progress(text: bytes) -> None:
    raw = as_bytes(progress("a", 12345)).replace(b"12345", text)
    (fact,) = _connected().receive(raw)
    assert isinstance(fact, ProgressReceived)
    assert fact.progress is None
    assert "not a finite number" in texts(fact.findings)[-1]


def test_a_very_long_message_is_cut_in_the_fact() -> None:
    (fact,) = _connected().receive(progress("a", 1, message="m" * 10_000))
    assert isinstance(fact, ProgressReceived)
    assert fact.message == "m" * MESSAGE_LIMIT
    assert texts(fact.findings) == ()


def test_a_repeated_key_in_a_progress_notification_is_reported() -> None:
    raw = as_bytes(progress("a", 1)).replace(b'"progress": 1', b'"progress": 1, "progress": 2')
    (fact,) = _connected().receive(raw)
    assert isinstance(fact, ProgressReceived)
    assert fact.progress == 2
    assert 'duplicate key "progress"' in texts(fact.findings)[0]


def test_a_repeated_key_does_not_hide_behind_an_escaped_colon() -> None:
    raw = as_bytes(progress("a", 1, message="::")).replace(b'::"', b'\\u003a\\u003a"')
    raw = raw.replace(b'"progress": 1', b'"progress": 1, "progress": 2, "progress": 3')
    (fact,) = _connected().receive(raw)
    assert isinstance(fact, ProgressReceived)
    assert (fact.progress, fact.message) == (3, "::")
    assert 'duplicate key "progress"' in texts(fact.findings)[0]


def test_a_wrong_version_of_json_rpc_is_reported() -> None:
    (fact,) = _connected().receive(progress("a", 1) | {"jsonrpc": "2.1"})
    assert isinstance(fact, ProgressReceived)
    assert texts(fact.findings) == ('"jsonrpc" is "2.1" instead of "2.0"',)


@pytest.mark.requirement("UT-2")
def test_progress_for_an_unknown_token_is_stated_as_unknown() -> None:
    (fact,) = Conversation("server#1").read(
        Framer("server#1", FrameNumbers()).received([as_bytes(progress("never", 1))], 0, 0)
    )
    assert isinstance(fact, ProgressReceived)
    assert (fact.request, fact.standing, fact.progress) == (None, RequestStanding.UNKNOWN, 1)


def test_progress_that_we_send_is_about_the_servers_request() -> None:
    wire = Wire()
    (asked,) = wire.receive(call("s1", "a"))
    wire.send(call(1, "a"))
    fact = wire.send(progress("a", 1))
    assert isinstance(fact, ProgressReceived)
    assert (fact.sender, fact.request, fact.standing) == (
        Side.CLIENT,
        asked.number,
        RequestStanding.ACTIVE,
    )
