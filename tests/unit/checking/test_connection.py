"""What the judge remembers of a connection: calls made again while the first is open."""

from mcp_progress_monitor.checking.connection import ALIKE_KEPT, JudgedCall, JudgedConnection
from mcp_progress_monitor.checking.judge import SessionJudge
from mcp_progress_monitor.protocol.facts import RequestMade, Side


def _call(
    connection: JudgedConnection, number: int, city: str, token: int | None = None
) -> JudgedCall:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    params = {"name": "export", "arguments": {"city": city}, **meta}
    at = float(number)
    return connection.begin(
        RequestMade(
            number, "s#1", at, at, Side.CLIENT, number, "tools/call", params, token, None, ()
        )
    )


def _connection() -> JudgedConnection:
    return SessionJudge(lambda _number: None).connection("s#1")


def test_open_calls_that_ask_for_the_same_are_found_whatever_their_tokens() -> None:
    connection = _connection()
    first, other = _call(connection, 1, "Oslo", 7), _call(connection, 2, "Rome", 7)
    again = _call(connection, 3, "Oslo", 8)

    assert connection.repeats_of(first) == ()
    assert connection.repeats_of(other) == ()
    assert connection.repeats_of(again) == (first,)


def test_calls_that_have_ended_are_forgotten() -> None:
    connection = _connection()
    first, second = _call(connection, 1, "Oslo"), _call(connection, 2, "Oslo")
    connection.repeats_of(first)
    connection.repeats_of(second)
    connection.end(first)
    third = _call(connection, 3, "Oslo")
    assert connection.repeats_of(third) == (second,)

    connection.close()
    assert connection.repeats_of(_call(connection, 4, "Oslo")) == ()
    assert [*connection.calls] == [4]


def test_a_flood_of_equal_calls_is_compared_with_the_newest_alone() -> None:
    connection = _connection()
    calls = [_call(connection, number, "Oslo") for number in range(1, 1_001)]
    found = [connection.repeats_of(call) for call in calls]
    assert max(map(len, found)) == ALIKE_KEPT
    assert found[-1][-1] is calls[-2]
