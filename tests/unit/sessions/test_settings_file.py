"""Settings of servers: kept in a private file, and never lost to one that cannot be read."""

import os
import stat
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.snapshots.settings import (
    QuestionRule,
    QuestionRules,
    Root,
    ServerSettings,
)

RULES = QuestionRules(form=QuestionRule(mode="answer", answer={"pin": "1234"}, delay_s=2.5))
SETTINGS = ServerSettings(rules=RULES, roots=(Root(uri="file:///a"),), log_level="info")


def test_settings_are_found_again_in_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    SettingsFile(path).put("python server.py", SETTINGS)
    again = SettingsFile(path)
    assert again.of("python server.py") == SETTINGS
    assert again.of("another") == ServerSettings()
    assert again.error is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_the_file_is_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    SettingsFile(path).put("s", SETTINGS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_server_was_started_with_is_not_written_down(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    SettingsFile(path).put("run --token secret", SETTINGS)
    assert "secret" not in path.read_text()


def test_settings_like_those_of_a_new_server_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    file = SettingsFile(path)
    file.put("s", SETTINGS)
    file.put("s", ServerSettings())
    assert '"s' not in path.read_text().replace('"servers"', "")
    assert SettingsFile(path).of("s") == ServerSettings()


def test_without_a_path_settings_last_as_long_as_the_program() -> None:
    file = SettingsFile()
    file.put("s", SETTINGS)
    assert file.of("s") == SETTINGS


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2}', '{"servers": {"x": {"rules": {"form": 7}}}}', "\x00"]
)
def test_a_file_that_cannot_be_read_is_reported_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    file = SettingsFile(path)
    assert file.error is not None
    assert file.error.where == str(path)
    file.put("s", SETTINGS)
    assert file.of("s") == SETTINGS
    assert path.read_text() == text


def test_settings_that_cannot_be_written_hold_all_the_same(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "missing" / "settings.json")
    with pytest.raises(UserError, match="Cannot save"):
        file.put("s", SETTINGS)
    assert file.of("s") == SETTINGS


def test_the_oldest_settings_make_room_for_new_ones() -> None:
    file = SettingsFile()
    for number in range(1001):
        file.put(f"s{number}", SETTINGS)
    assert file.of("s0") == ServerSettings()
    assert file.of("s1") == file.of("s1000") == SETTINGS


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    os.mkfifo(path)
    error = SettingsFile(path).error
    assert error is not None
    assert "device or a pipe" in error.detail
