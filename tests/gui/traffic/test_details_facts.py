"""The line of facts over a message says what its bytes do not."""

from mcp_progress_monitor.gui.common.labels import ServerTitles
from mcp_progress_monitor.gui.traffic.details import facts_of
from mcp_progress_monitor.protocol.frames import Channel
from tests.gui.traffic.session import TrafficSession


def _facts(session: TrafficSession, place: int, delta: str = "") -> str:
    frame = session.timeline.frame(place, 10)
    assert frame is not None
    return facts_of(session.timeline, ServerTitles(), place, frame, delta)


def test_a_reply_says_how_long_it_took() -> None:
    session = TrafficSession()
    session.called(1)
    place = session.answered(1, text="x" * 2_000)
    facts = _facts(session, place, "+0.100")
    assert facts.startswith("no. 2, ")
    assert "(+0.100\u00a0s), received from demo, 2,0" in facts
    assert facts.endswith(" bytes, took 100 ms")


def test_a_request_and_a_line_of_stderr_take_no_time() -> None:
    session = TrafficSession()
    assert "sent to demo" in _facts(session, session.called(1))
    assert _facts(session, session.logged("x")).endswith("standard error of demo, 3 bytes")


def test_a_servers_name_is_made_visible() -> None:
    session = TrafficSession()
    place = session.said(b"{}", Channel.EVENT, "a\u202eb#1")
    assert r"connection of a\u202eb" in _facts(session, place)
