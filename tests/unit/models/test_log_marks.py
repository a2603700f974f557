"""Marks are found by number, and the oldest go first."""

from __future__ import annotations

from mcp_progress_monitor.models.log_marks import LogMarks


def test_a_mark_is_found_by_its_number() -> None:
    marks = LogMarks()
    marks.add({5: "not increasing"})
    assert marks.of(5) == "not increasing"
    assert marks.of(6) == ""


def test_the_oldest_go_beyond_the_capacity() -> None:
    marks = LogMarks(capacity=3)
    marks.add({1: "a", 2: "b"})
    marks.add({2: "again", 3: "c", 4: "d"})
    assert [marks.of(number) for number in range(1, 5)] == ["", "again", "c", "d"]
    assert len(marks) == 3


def test_marks_go_with_their_frames() -> None:
    marks = LogMarks()
    marks.add(dict.fromkeys(range(10), "x"))
    marks.forget_before(7)
    assert [number for number in range(10) if marks.of(number)] == [7, 8, 9]
