"""Where a session is recorded: as the user says, else unasked in the data folder."""

import os
from pathlib import Path

import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.recording.recorder import check_new, recorder_for
from mcp_progress_monitor.recording.settings import RecordingSettings, save_settings

CLOCK = Clock()


def test_unasked_a_session_is_recorded_in_the_data_folder_and_nothing_is_made_yet(
    tmp_path: Path,
) -> None:
    recorder, error = recorder_for(tmp_path, None, CLOCK)
    assert recorder.is_recording
    assert error is None
    assert list(tmp_path.iterdir()) == []


def test_who_switched_recordings_off_gets_none_unless_a_file_is_named(tmp_path: Path) -> None:
    save_settings(tmp_path, RecordingSettings(is_on=False))
    assert not recorder_for(tmp_path, None, CLOCK)[0].is_recording
    assert recorder_for(tmp_path, tmp_path / "a", CLOCK)[0].is_recording


def test_without_a_data_folder_memory_is_all_there_is() -> None:
    assert not recorder_for(None, None, CLOCK)[0].is_recording


def test_settings_that_make_no_sense_are_reported(tmp_path: Path) -> None:
    save_settings(tmp_path, RecordingSettings())
    (tmp_path / "recordings" / "settings.json").write_bytes(b"x")
    recorder, error = recorder_for(tmp_path, None, CLOCK)
    assert recorder.is_recording
    assert error is not None


class TestNewFiles:
    def test_a_path_where_nothing_is_can_be_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert check_new(Path("a.mcprec")) == tmp_path / "a.mcprec"

    def test_nothing_is_written_over_not_even_a_broken_link(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "nowhere")
        for path in (tmp_path, tmp_path / "link"):
            with pytest.raises(UserError, match="already exists"):
                check_new(path)

    def test_the_folder_must_be_there(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="does not exist"):
            check_new(tmp_path / "no" / "a.mcprec")

    def test_the_folder_must_be_writable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(UserError, match="No permission to write"):
            check_new(tmp_path / "a.mcprec")


def test_a_file_to_record_into_behind_a_closed_folder_is_refused(closed_dir: Path) -> None:
    for path, why in (
        (closed_dir / "x", "No permission to write"),
        (closed_dir / "a" / "x", "accessed"),
    ):
        with pytest.raises(UserError, match=why):
            check_new(path)
