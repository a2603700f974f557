"""What the window remembers survives a restart and a damaged file."""

import os
import stat
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray

from mcp_progress_monitor.audit.settings import asks_before_actions
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.user_settings import ConfirmationSettings


def test_what_was_kept_is_there_after_a_restart(data_dir: Path) -> None:
    first = Preferences(data_dir)
    first.keep_bytes("window/geometry", QByteArray(b"\x00\x01geometry"))
    first.keep_json("calls", {"demo": {"tool": "worker", "amount": 1.5}})
    assert first.save()
    again = Preferences(data_dir)
    assert again.bytes_of("window/geometry") == QByteArray(b"\x00\x01geometry")
    assert again.json_of("calls") == {"demo": {"tool": "worker", "amount": 1.5}}


def test_nothing_kept_reads_as_empty(data_dir: Path) -> None:
    preferences = Preferences(data_dir)
    assert preferences.bytes_of("window/geometry").isEmpty()
    assert preferences.json_of("calls") == {}


def test_a_damaged_file_reads_as_empty(data_dir: Path) -> None:
    (data_dir / "window.ini").write_bytes(b"[v1]\ncalls=@Invalid\xff{[\n")
    assert Preferences(data_dir).json_of("calls") == {}


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX's")
def test_the_file_is_private_to_the_user(data_dir: Path) -> None:
    preferences = Preferences(data_dir)
    preferences.keep_json("calls", {"a": 1})
    preferences.save()
    assert stat.S_IMODE((data_dir / "window.ini").stat().st_mode) == 0o600


def test_a_folder_that_may_not_be_written_costs_only_what_is_kept(unprivileged_dir: Path) -> None:
    unprivileged_dir.chmod(0o500)
    preferences = Preferences(unprivileged_dir)
    preferences.keep_json("calls", {"demo": {"tool": "worker"}})
    assert not preferences.save()
    assert not (unprivileged_dir / "window.ini").exists()


def test_a_reset_forgets_the_layout_and_keeps_the_settings(data_dir: Path) -> None:
    kept = filled(data_dir)
    kept.reset_layout()
    assert kept.save()
    again = Preferences(data_dir)
    assert again.bytes_of("window/docks").isEmpty()
    assert again.bytes_of("jobs/columns-9").isEmpty()
    assert again.json_of("log/look") == {}
    assert again.json_of("mini/open") == {}
    assert again.json_of("calls") == {"demo": {}}


def test_without_layout_that_of_before_is_neither_read_nor_written_over(data_dir: Path) -> None:
    assert filled(data_dir).save()
    safe = Preferences(data_dir, keeps_layout=False)
    assert safe.bytes_of("window/docks").isEmpty()
    assert safe.json_of("log/look") == {}
    assert safe.json_of("calls") == {"demo": {}}
    safe.keep_bytes("window/docks", QByteArray(b"other"))
    safe.keep_json("log/look", {"other": True})
    safe.keep_json("calls", {"now": {}})
    assert safe.save()
    again = Preferences(data_dir)
    assert again.bytes_of("window/docks") == QByteArray(b"docks")
    assert again.json_of("log/look") == {"hidden": ["a"]}
    assert again.json_of("calls") == {"now": {}}


def filled(data_dir: Path) -> Preferences:
    made = Preferences(data_dir)
    made.keep_bytes("window/docks", QByteArray(b"docks"))
    made.keep_bytes("jobs/columns-9", QByteArray(b"columns"))
    made.keep_json("log/look", {"hidden": ["a"]})
    made.keep_json("mini/open", {"is_open": True})
    made.keep_json("calls", {"demo": {}})
    return made


def test_a_key_that_is_a_file_is_read_by_programs_without_the_window(data_dir: Path) -> None:
    preferences = Preferences(data_dir)
    setting = ConfirmationSettings.settings()["agents"]
    assert preferences.value(setting) is True
    preferences.keep_setting(setting, value=False)
    assert not asks_before_actions(data_dir)
    assert Preferences(data_dir).value(setting) is False
    preferences.keep_setting(setting, value=True)
    assert asks_before_actions(data_dir)
    (data_dir / "agents.json").write_bytes(b"\xff{")
    assert preferences.value(setting) is True


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX's")
def test_such_a_file_is_private_as_well(data_dir: Path) -> None:
    Preferences(data_dir).keep_setting(ConfirmationSettings.settings()["agents"], value=False)
    assert stat.S_IMODE((data_dir / "agents.json").stat().st_mode) == 0o600
