"""Marks are found by number, and the oldest go first."""

from mcp_progress_monitor.findings.finding import joined
from mcp_progress_monitor.gui.traffic.model import TrafficFindings
from tests.findings import finding


def test_a_mark_is_found_by_its_number() -> None:
    marks = TrafficFindings()
    marks.add({5: (finding("not increasing"),)})
    assert joined(marks.of(5)) == "not increasing"
    assert marks.of(6) == ()


def test_the_oldest_go_beyond_the_capacity() -> None:
    marks = TrafficFindings(capacity=3)
    marks.add({1: (finding("a"),), 2: (finding("b"),)})
    marks.add({2: (finding("again"),), 3: (finding("c"),), 4: (finding("d"),)})
    assert [joined(marks.of(number)) for number in range(1, 5)] == ["", "again", "c", "d"]
    assert len(marks) == 3


def test_marks_go_with_their_frames() -> None:
    marks = TrafficFindings()
    marks.add(dict.fromkeys(range(10), (finding("x"),)))
    marks.forget_before(7)
    assert [number for number in range(10) if marks.of(number)] == [7, 8, 9]
