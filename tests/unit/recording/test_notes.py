"""Marks and notes stay beside the recording, whatever happens to their file."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.recording.notes import Notes, notes_path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the notes on a recording would be."""
    return notes_path(tmp_path / "one.mcprec")


def _reported(notes: Notes) -> str:
    return "" if notes.error is None else notes.error.what


@pytest.mark.parametrize(
    ("recording", "notes"),
    [
        ("a.mcprec", "a.mcprec.notes.json"),
        ("a.3.mcprec", "a.mcprec.notes.json"),
        ("a.b.mcprec", "a.b.mcprec.notes.json"),
        ("log.txt", "log.txt.notes.json"),
    ],
)
def test_notes_are_named_after_their_recordings_first_part(
    tmp_path: Path, recording: str, notes: str
) -> None:
    assert notes_path(tmp_path / recording) == tmp_path / notes


def test_marks_and_notes_are_there_again_after_opening(path: Path) -> None:
    notes = Notes(path)
    notes.set_marked([7, 3], is_marked=True)
    notes.set_note(12, "slow \u202e here\n<b>")
    again = Notes(path)
    assert list(again.numbers) == [3, 7, 12]
    assert (again.is_marked(3), again.is_marked(12)) == (True, False)
    assert again.note(12) == "slow \u202e here\n<b>"
    assert again.note(3) == ""
    assert again.error is None


def test_nothing_is_written_until_there_is_a_mark_and_nothing_stays_after_the_last(
    path: Path,
) -> None:
    notes = Notes(path)
    assert not path.exists()
    notes.set_marked([1], is_marked=True)
    assert path.exists()
    notes.set_marked([1], is_marked=False)
    assert not path.exists()
    assert not list(notes.numbers)


def test_a_note_outlives_its_mark_and_a_mark_its_note(path: Path) -> None:
    notes = Notes(path)
    notes.set_marked([1, 2], is_marked=True)
    notes.set_note(1, "here")
    notes.set_marked([1], is_marked=False)
    notes.set_note(2, "")
    assert notes.note(1) == "here"
    assert notes.is_marked(2)


def test_the_next_and_the_previous_mark_are_found() -> None:
    notes = Notes(None)
    notes.set_marked([10, 20], is_marked=True)
    assert [notes.after(number) for number in (0, 10, 20)] == [10, 20, None]
    assert [notes.before(number) for number in (10, 15, 99)] == [None, 10, 20]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such rights on Windows")
def test_only_the_user_can_read_the_file(path: Path) -> None:
    Notes(path).set_marked([1], is_marked=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_two_windows_on_one_recording_keep_each_others_notes(path: Path) -> None:
    one, other = Notes(path), Notes(path)
    one.set_note(1, "from one")
    other.set_note(2, "from the other")
    one.set_marked([3], is_marked=True)
    assert list(Notes(path).numbers) == [1, 2, 3]
    assert one.note(2) == "from the other"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff{", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", 'no "frames" object'),
        (json.dumps({"version": 2, "frames": {}}).encode(), "version 2"),
        (json.dumps({"version": 1, "frames": {"x": {}}}).encode(), "entry 'x'"),
        (json.dumps({"version": 1, "frames": {"9" * 5_000: {}}}).encode(), "entry '9"),
        (json.dumps({"version": 1, "frames": {"1": {"note": 7}}}).encode(), "message 1"),
    ],
)
def test_a_file_that_is_not_understood_is_reported_and_never_written_over(
    path: Path, content: bytes, why: str
) -> None:
    path.write_bytes(content)
    notes = Notes(path)
    assert notes.error is not None
    assert why in notes.error.detail
    assert notes.error.where == str(path)
    notes.set_note(1, "in memory")
    assert notes.note(1) == "in memory"
    assert path.read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders on Windows")
def test_a_pipe_in_place_of_notes_is_reported_without_waiting(path: Path) -> None:
    os.mkfifo(path)
    error = Notes(path).error
    assert error is not None
    assert "not a regular file" in error.detail


def test_notes_that_cannot_be_saved_are_kept_and_saved_with_the_next(tmp_path: Path) -> None:
    path = notes_path(tmp_path / "folder" / "one.mcprec")
    notes = Notes(path)
    notes.set_marked([1], is_marked=True)
    assert _reported(notes) == "Cannot save marks and notes"
    assert notes.is_marked(1)
    path.parent.mkdir()
    notes.set_marked([2], is_marked=True)
    assert _reported(notes) == ""
    assert list(Notes(path).numbers) == [1, 2]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Notes(path)
    notes.set_marked([1], is_marked=True)
    before = path.read_bytes()

    def _full(*_arguments: object, **_named: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", _full)
        notes.set_marked([2], is_marked=True)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert notes.error is not None
    assert "No space left" in notes.error.detail
