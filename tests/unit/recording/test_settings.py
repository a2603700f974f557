"""The user's settings of recordings: kept whole, private, and never in the way."""

import os
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.recording.settings import (
    FOLDER,
    RecordingSettings,
    load_settings,
    save_settings,
)

MB = 1024 * 1024


def test_without_a_file_everything_is_recorded_for_thirty_days_and_two_gigabytes(
    tmp_path: Path,
) -> None:
    settings, error = load_settings(tmp_path)
    assert error is None
    assert settings == RecordingSettings(
        is_on=True, keep_days=30, keep_bytes=2_000_000_000, part_bytes=256 * MB
    )


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    settings = RecordingSettings(is_on=False, keep_days=7, keep_bytes=5, part_bytes=9)
    save_settings(tmp_path / "new", settings)
    save_settings(tmp_path / "new", settings)
    assert load_settings(tmp_path / "new") == (settings, None)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_settings_and_their_folder_are_private(tmp_path: Path) -> None:
    save_settings(tmp_path, RecordingSettings())
    folder = tmp_path / "recordings"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"keep_days": "7"}', b'{"keep_days": 0}', b"\xff"]
)
def test_a_file_that_makes_no_sense_is_reported_and_changes_nothing(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "recordings" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(content)
    settings, error = load_settings(tmp_path)
    assert settings == RecordingSettings()
    assert error is not None
    assert error.where == str(path)
    assert path.read_bytes() == content


def test_members_of_other_versions_are_passed_over_and_missing_ones_usual(tmp_path: Path) -> None:
    path = tmp_path / "recordings" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"keep_days": 3, "colour": "red"}')
    assert load_settings(tmp_path) == (RecordingSettings(keep_days=3), None)


def test_settings_that_cannot_be_saved_are_an_error_and_leave_nothing_behind(
    tmp_path: Path,
) -> None:
    (tmp_path / "recordings" / "settings.json").mkdir(parents=True)
    with pytest.raises(UserError, match=r"settings\.json"):
        save_settings(tmp_path, RecordingSettings())
    assert [path.name for path in (tmp_path / "recordings").iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    ("keep", "part", "limit"),
    [
        (2_000_000_000, 256 * MB, 250_000_000),
        (100 * MB, 256 * MB, 100 * MB // 8),
        (1, 256 * MB, MB),
        (2_000_000_000, 5 * MB, 5 * MB),
    ],
)
def test_several_parts_fit_into_what_is_kept(keep: int, part: int, limit: int) -> None:
    assert RecordingSettings(keep_bytes=keep, part_bytes=part).part_limit == limit


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_in_the_place_of_the_settings_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    os.mkfifo(tmp_path / FOLDER / "settings.json")
    settings, error = load_settings(tmp_path)
    assert settings == RecordingSettings()
    assert error is not None
    assert "device or a pipe" in error.detail
