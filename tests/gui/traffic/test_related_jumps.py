"""Every message of an exchange leads to the others."""

import pytest

from mcp_progress_monitor.gui.traffic.related import Jump, target
from tests.gui.traffic.session import TrafficSession


@pytest.fixture
def session() -> TrafficSession:
    """Two calls at once: places 0, 2, 4, 6 are of the first, 1, 3, 5 of the second."""
    session = TrafficSession()
    session.called(1, "a")
    session.called(2, "b")
    session.ticked("a")
    session.ticked("b")
    session.ticked("a", 2)
    session.answered(2)
    session.answered(1)
    session.logged("done")
    return session


@pytest.mark.parametrize(
    ("place", "request_", "reply", "previous", "after"),
    [
        (0, None, 6, None, 2),
        (2, 0, 6, 0, 4),
        (4, 0, 6, 2, 6),
        (6, 0, None, 4, None),
        (5, 1, None, 3, None),
        (7, None, None, None, None),
    ],
)
def test_jumps_stay_within_the_exchange(
    session: TrafficSession,
    place: int,
    request_: int | None,
    reply: int | None,
    previous: int | None,
    after: int | None,
) -> None:
    jumps = (Jump.REQUEST, Jump.REPLY, Jump.PREVIOUS, Jump.NEXT)
    found = [target(session.timeline, place, jump) for jump in jumps]
    assert found == [request_, reply, previous, after]


def test_an_open_request_has_no_reply_yet(session: TrafficSession) -> None:
    place = session.called(3, "c")
    assert target(session.timeline, place, Jump.REPLY) is None
    session.ticked("c")
    reply = session.answered(3)
    assert target(session.timeline, place, Jump.REPLY) == reply


def test_a_missing_message_has_no_related_messages(session: TrafficSession) -> None:
    assert [target(session.timeline, 99, jump) for jump in Jump] == [None] * 4
