"""Marks and notes tell the views of every change, and of what keeps them from being saved."""

from pathlib import Path

from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.traffic.model import TrafficNotes


def test_marks_are_put_on_and_taken_away_together(qtbot: QtBot) -> None:
    notes = TrafficNotes()
    with qtbot.waitSignal(notes.changed):
        notes.toggle([1])
    notes.toggle([1, 2])
    assert notes.is_marked(1)
    assert notes.is_marked(2)
    notes.toggle([1, 2])
    assert not notes.is_marked(1)
    assert notes.after(0) is None


def test_a_note_is_reported_once(qtbot: QtBot) -> None:
    notes = TrafficNotes()
    with qtbot.waitSignal(notes.changed):
        notes.set_note(5, "slow")
    with qtbot.assertNotEmitted(notes.changed):
        notes.set_note(5, "slow")
    assert (notes.after(0), notes.before(9)) == (5, 5)


def test_notes_made_before_the_recording_was_known_come_along(qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "r.notes.json"
    TrafficNotes(path).set_note(9, "from before")
    notes = TrafficNotes()
    notes.toggle([1])
    notes.set_note(2, "kept")
    with qtbot.waitSignal(notes.changed):
        notes.open(path)
    with qtbot.assertNotEmitted(notes.changed):
        notes.open(path)
    again = TrafficNotes(path)
    assert again.is_marked(1)
    assert (again.note(2), again.note(9)) == ("kept", "from before")


def test_what_keeps_notes_from_being_saved_is_reported_once(qtbot: QtBot, tmp_path: Path) -> None:
    notes = TrafficNotes(tmp_path / "gone" / "r.notes.json")
    with qtbot.waitSignal(notes.error_found) as signal:
        notes.toggle([1])
    assert signal.args == [notes.error]
    with qtbot.assertNotEmitted(notes.error_found):
        notes.toggle([2])
