"""A changed message begins a phase; a changed number within it does not."""

import pytest

from mcp_progress_monitor.tracker.history import PHASES_KEPT, PhaseLog


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("Processing item 12 of 500", "Processing item 13 of 500", "Processing item … of 500"),
        ("9.5 MB of 1,000 MB", "10.25 MB of 1,000 MB", "… MB of 1,000 MB"),
        ("Compiling (1/20)", "Compiling (7/20)", "Compiling"),
        ("Compiling (file 1/20)", "Compiling (file 7/20)", "Compiling (file …/20)"),
        ("Pass 2: 10 %", "Pass 2: 70 %", "Pass 2"),
        ("item  9", "item 10", "item"),
        ("item 9", "item 9 10", "item 9"),
        ("7", "8", "…"),
        ("5 %", "6 %", "… %"),
        ("1 " + "x" * 300, "2 " + "x" * 300, "… " + "x" * 198 + "…"),
        ("x" * 300 + " 1", "x" * 300 + " 2", "x" * 200 + "…"),
    ],
)
def test_messages_that_differ_in_numbers_are_one_phase_named_by_what_stays(
    first: str, second: str, name: str
) -> None:
    phases = PhaseLog()
    phases.turn(first, 0.0, 1)
    phases.turn(second, 1.0, 2)
    assert phases.read(2, None) == [(name, 0.0, None, 2)]
    phases.turn("another", 2.0, 3)
    assert phases.read(3, None)[0] == (name, 0.0, 2.0, 2)


@pytest.mark.parametrize(
    ("first", "second"), [("Step 1: load", "Step 2: sort"), ("done", "Done"), ("", "x"), ("5", "x")]
)
def test_another_message_begins_a_phase(first: str, second: str) -> None:
    phases = PhaseLog()
    phases.turn(first, 0.0, 1)
    phases.turn(second, 2.0, 4)
    assert phases.read(5, 9.0) == [(first, 0.0, 2.0, 3), (second, 2.0, 9.0, 2)]


def test_before_a_message_there_is_no_phase() -> None:
    assert PhaseLog().read(3, None) == []


def test_a_message_that_comes_again_is_a_phase_again() -> None:
    phases = PhaseLog()
    for place, message in enumerate(("a", "b", "a")):
        phases.turn(message, float(place), place + 1)
    assert [phase.message for phase in phases.read(3, None)] == ["a", "b", "a"]


def test_the_newest_phases_are_kept_and_the_dropped_counted() -> None:
    phases = PhaseLog()
    for place in range(PHASES_KEPT + 100):
        phases.turn("x" * (place % 7 + 1), float(place), place + 1)
    kept = phases.read(PHASES_KEPT + 100, None)
    assert (len(kept), phases.dropped) == (PHASES_KEPT, 100)
    assert (kept[0].began_at, kept[-1].began_at) == (100.0, PHASES_KEPT + 99.0)


def test_shrinking_keeps_the_newest() -> None:
    phases = PhaseLog()
    for place, message in enumerate("abcde"):
        phases.turn(message, float(place), place + 1)
    phases.shrink(2)
    assert [phase.message for phase in phases.read(5, None)] == ["d", "e"]
    assert phases.dropped == 3
    phases.shrink(0)
    assert [phase.message for phase in phases.read(5, None)] == ["e"]
