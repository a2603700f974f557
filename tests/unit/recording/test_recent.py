"""The recordings opened last: in order, each once, and nothing breaks where they cannot be kept."""

from pathlib import Path

import pytest

from mcp_progress_monitor.recording.recent import forget_opened, note_opened, recent_recordings


def test_the_last_opened_is_first_and_each_is_there_once(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.mcprec" for number in range(20)]
    for path in (*paths, paths[10]):
        note_opened(tmp_path, path)
    found = recent_recordings(tmp_path)
    assert found[:3] == [paths[10], paths[19], paths[18]]
    assert len(found) == 12
    forget_opened(tmp_path)
    assert recent_recordings(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, null]", b"\xff"])
def test_a_damaged_file_lists_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "recent-recordings.json").write_bytes(content)
    assert recent_recordings(tmp_path) == []


def test_a_folder_that_is_gone_is_no_error(tmp_path: Path) -> None:
    note_opened(tmp_path / "gone", tmp_path / "a.mcprec")
    assert recent_recordings(tmp_path / "gone") == []
