"""Requests that are no jobs, for as long as something may come of them."""

from mcp_progress_monitor.protocol.facts import RequestMade, Side
from mcp_progress_monitor.tracker.requests import PLAIN_KEPT, PlainRequests


def _request(number: int, connection: str = "s#1") -> RequestMade:
    return RequestMade(
        number, connection, 0.0, 0.0, Side.CLIENT, number, "tasks/get", {}, None, None, ()
    )


def test_a_request_is_given_out_once_with_its_reply() -> None:
    plain = PlainRequests()
    plain.add(_request(1))
    assert plain.answer(1) == plain.answered == _request(1)
    assert plain.answer(1) is None
    assert plain.answered is None


def test_what_is_given_up_or_lost_is_forgotten() -> None:
    plain = PlainRequests()
    for number in range(1, 4):
        plain.add(_request(number, f"s#{number}"))
    plain.drop(1)
    plain.drop(None)
    plain.drop_connection("s#2")
    assert [plain.answer(number) is None for number in (1, 2, 3)] == [True, True, False]


def test_the_oldest_go_beyond_the_bound() -> None:
    plain = PlainRequests()
    for number in range(1, PLAIN_KEPT + 2):
        plain.add(_request(number))
    assert len(plain) == PLAIN_KEPT
    assert plain.answer(1) is None
