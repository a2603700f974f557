"""A search may run ahead of what the view knows; what it found there is kept until then."""

import pytest

from mcp_progress_monitor.filtering.filter import FilterError, TrafficFilter
from mcp_progress_monitor.gui.traffic.filtering import TrafficSearch
from tests.gui.traffic.frames import frame, ticks
from tests.gui.traffic.tape import Tape


def _finding(tape: Tape, text: str = "needle", place: int = 0) -> TrafficSearch:
    return TrafficSearch(TrafficFilter(text), tape.timeline, _no_requests, place)


def _no_requests(_job: int) -> tuple[int, ...]:
    return ()


@pytest.fixture
def tape() -> Tape:
    made = Tape()
    made.append([frame(0, b"needle"), *ticks(1, 3), frame(4, b"needle"), frame(5, b"needle")])
    return made


def test_what_was_found_is_handed_over_once(tape: Tape) -> None:
    finding = _finding(tape)
    assert finding.left(0, 6) == 6
    finding.run(6, 1.0)
    assert finding.left(0, 6) == 0
    assert finding.take(0, 6).tolist() == [0, 4, 5]
    assert finding.take(0, 6).tolist() == []


def test_what_was_found_behind_the_end_waits_for_it(tape: Tape) -> None:
    finding = _finding(tape)
    finding.run(5, 1.0)
    assert finding.take(0, 5).tolist() == [0, 4]
    assert finding.take(0, 6).tolist() == [5]


def test_a_paused_view_is_not_searched_beyond_its_end(tape: Tape) -> None:
    finding = _finding(tape)
    finding.run(6, 1.0)
    tape.append([frame(6, b"needle")])
    finding.run(6, 1.0)
    assert finding.left(0, 7) == 1


def test_places_that_are_gone_are_not_handed_over_nor_counted(tape: Tape) -> None:
    tape.append(ticks(6, 2))
    finding = _finding(tape, place=1)
    finding.run(8, 1.0)
    assert finding.take(5, 8).tolist() == [5]
    waiting = _finding(tape)
    tape.drop()
    assert waiting.left(tape.timeline.first, 8) == 2


def test_a_mistake_is_reported_before_anything_is_searched(tape: Tape) -> None:
    with pytest.raises(FilterError):
        _finding(tape, "size > ")
