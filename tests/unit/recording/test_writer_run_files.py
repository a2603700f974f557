"""The files of a run: claimed, written part by part, let go of."""

from pathlib import Path

import pytest

from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.settings import RecordingSettings
from mcp_progress_monitor.recording.writer import RunFiles

SETTINGS = RecordingSettings()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_parts_are_files_beside_each_other(tmp_path: Path) -> None:
    files = RunFiles(tmp_path / "a.mcprec", None, SETTINGS)
    files.write(1, [b"one"], 0)
    files.write(1, [b"more"], 0)
    files.write(2, [b"two"], 0)
    assert files.written == 3
    assert files.current == tmp_path / "a.2.mcprec"
    files.end(discards=False)
    assert (tmp_path / "a.mcprec").read_bytes() == b"onemore"
    assert (tmp_path / "a.2.mcprec").read_bytes() == b"two"


def test_a_name_that_somebody_has_taken_meanwhile_is_left_to_them(tmp_path: Path) -> None:
    folder, other = RecordingsFolder(tmp_path), RecordingsFolder(tmp_path)
    path = folder.new_path(0)
    other.begin(path)
    files = RunFiles(path, folder, SETTINGS)
    files.write(1, [b"mine"], 0)
    assert files.path != path
    assert files.path.read_bytes() == b"mine"
    files.end(discards=False)
    other.end()
    assert names(tmp_path) == [files.path.name]


def test_a_file_that_is_there_is_left_as_well(tmp_path: Path) -> None:
    folder = RecordingsFolder(tmp_path)
    path = folder.new_path(0)
    path.write_bytes(b"theirs")
    files = RunFiles(path, folder, SETTINGS)
    files.write(1, [b"mine"], 0)
    files.end(discards=False)
    assert path.read_bytes() == b"theirs"
    assert files.path.read_bytes() == b"mine"


def test_a_file_that_the_user_named_is_never_exchanged_for_another(tmp_path: Path) -> None:
    path = tmp_path / "a.mcprec"
    path.write_bytes(b"theirs")
    files = RunFiles(path, None, SETTINGS)
    with pytest.raises(FileExistsError):
        files.write(1, [b"mine"], 0)
    files.end(discards=True)
    assert path.read_bytes() == b"theirs"


def test_what_is_discarded_leaves_no_trace(tmp_path: Path) -> None:
    folder = RecordingsFolder(tmp_path)
    files = RunFiles(folder.new_path(0), folder, SETTINGS)
    files.write(1, [b"header"], 0)
    files.end(discards=True)
    assert names(tmp_path) == []


def test_the_part_that_is_written_is_never_pruned(tmp_path: Path) -> None:
    folder = RecordingsFolder(tmp_path)
    files = RunFiles(folder.new_path(0), folder, RecordingSettings(keep_bytes=1))
    files.write(1, [b"one"], 0)
    assert files.prune(0) == []
    files.write(2, [b"two"], 0)
    assert files.prune(0) == [files.path]
    files.end(discards=False)
    assert names(tmp_path) == [files.current.name]


def test_without_a_folder_nothing_is_pruned(tmp_path: Path) -> None:
    files = RunFiles(tmp_path / "a.mcprec", None, RecordingSettings(keep_bytes=1))
    assert files.prune(0) == []
