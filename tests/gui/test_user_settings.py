"""What is chosen in Settings survives a restart, an older version and a damaged file."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.user_settings import (
    ConfirmationSettings,
    NotificationSettings,
    UserSettings,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot


def test_what_was_chosen_is_there_after_a_restart(qtbot: QtBot, data_dir: Path) -> None:
    chosen = NotificationSettings(
        on_done=False,
        servers={"nightly": "none", "db": "attention"},
        has_quiet_hours=True,
        quiet_from=datetime.time(23, 30),
    )
    first = UserSettings(Preferences(data_dir))
    with qtbot.waitSignal(first.notifications_changed):
        first.set_notifications(chosen)
    with qtbot.waitSignal(first.confirmations_changed):
        first.stop_asking("quit")
    again = UserSettings(Preferences(data_dir))
    assert again.notifications == chosen
    assert not again.is_asked("quit")
    assert again.is_asked("restart")


def test_a_choice_that_changes_nothing_is_not_announced(qtbot: QtBot, data_dir: Path) -> None:
    settings = UserSettings(Preferences(data_dir))
    with qtbot.assertNotEmitted(settings.notifications_changed):
        settings.set_notifications(NotificationSettings())


def test_a_field_that_cannot_be_read_has_its_default_and_the_others_stay(data_dir: Path) -> None:
    preferences = Preferences(data_dir)
    kept = {"least_s": -5, "on_done": False, "servers": {"db": "sometimes"}, "from_the_future": 1}
    preferences.keep_json("settings/notifications", kept)
    found = UserSettings(preferences).notifications
    assert found == NotificationSettings(on_done=False)


def test_what_an_earlier_version_kept_about_asking_still_counts(data_dir: Path) -> None:
    preferences = Preferences(data_dir)
    preferences.keep_json("questions/reissue", {"is_asked": False})
    settings = UserSettings(preferences)
    assert settings.confirmations == ConfirmationSettings(reissue=False)
    settings.set_confirmations(ConfirmationSettings())
    assert UserSettings(preferences).is_asked("reissue")


@pytest.mark.parametrize(
    ("begin", "end", "now", "is_quiet"),
    [
        ("22:00", "07:00", "21:59", False),
        ("22:00", "07:00", "22:00", True),
        ("22:00", "07:00", "03:00", True),
        ("22:00", "07:00", "07:00", False),
        ("12:00", "13:30", "13:29", True),
        ("12:00", "13:30", "11:00", False),
        ("12:00", "12:00", "12:00", False),
    ],
)
def test_quiet_hours_may_span_midnight(begin: str, end: str, now: str, is_quiet: bool) -> None:
    read = datetime.time.fromisoformat
    settings = NotificationSettings(
        has_quiet_hours=True, quiet_from=read(begin), quiet_until=read(end)
    )
    assert settings.is_quiet(read(now)) is is_quiet
    assert not settings.model_copy(update={"has_quiet_hours": False}).is_quiet(read(now))
