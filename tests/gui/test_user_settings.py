"""What is chosen in Settings survives a restart, an older version and a damaged file."""

import datetime
import math
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.setting_rows import Setting
from mcp_progress_monitor.gui.user_settings import (
    AppearanceSettings,
    ConfirmationSettings,
    GeneralSettings,
    LimitSettings,
    NotificationSettings,
    PrivacySettings,
    UserSettings,
)
from mcp_progress_monitor.snapshots.limits import LONGEST_LIMIT_S, DefaultLimits


def test_what_was_chosen_is_there_after_a_restart(qtbot: QtBot, data_dir: Path) -> None:
    chosen = NotificationSettings(
        on_done=False,
        servers={"nightly": "none", "db": "attention"},
        has_quiet_hours=True,
        quiet_from=datetime.time(23, 30),
    )
    first = UserSettings(Preferences(data_dir))
    with qtbot.waitSignal(first.changed) as announced:
        first.replace(chosen)
    assert announced.args == [chosen]
    with qtbot.waitSignal(first.changed):
        first.stop_asking("quit")
    again = UserSettings(Preferences(data_dir))
    assert again.notifications == chosen
    assert not again.is_asked("quit")
    assert again.is_asked("restart")


def test_a_choice_that_changes_nothing_is_not_announced(qtbot: QtBot, data_dir: Path) -> None:
    settings = UserSettings(Preferences(data_dir))
    with qtbot.assertNotEmitted(settings.changed):
        settings.replace(NotificationSettings())
        settings.set(AppearanceSettings.scheme, "system")


def test_a_setting_that_cannot_be_read_has_its_default_and_the_others_stay(data_dir: Path) -> None:
    preferences = Preferences(data_dir)
    kept = {"least_s": -5, "on_done": False, "servers": {"db": "sometimes"}, "from_the_future": 1}
    preferences.keep_json("settings/notifications", kept)
    settings = UserSettings(preferences)
    assert settings.notifications == NotificationSettings(on_done=False)
    settings.set(NotificationSettings.least_s, 20)
    assert preferences.json_of("settings/notifications") == {**kept, "least_s": 20}


@pytest.mark.parametrize("bad", [-1, "90", None, True, math.nan, math.inf, LONGEST_LIMIT_S + 1])
def test_kept_limits_that_are_none_are_the_usual_ones(data_dir: Path, bad: object) -> None:
    preferences = Preferences(data_dir)
    preferences.keep_json("settings/limits", {"tool_idle_s": bad, "total_s": 9, "other": 1})
    found = UserSettings(preferences).of(LimitSettings)
    assert found.of_calls == DefaultLimits(total_s=9)


@pytest.mark.parametrize(
    ("setting", "bad"),
    [
        (AppearanceSettings.scheme, ["dark"]),
        (AppearanceSettings.scheme, "pink"),
        (AppearanceSettings.percent, 101),
        (LimitSettings.attempts, 10**20),
        (LimitSettings.attempts, True),
        (NotificationSettings.is_on, 1),
        (NotificationSettings.quiet_from, "25:00"),
        (NotificationSettings.quiet_from, 7),
        (NotificationSettings.servers, {"db": 1}),
    ],
)
def test_what_is_no_value_is_not_read(data_dir: Path, setting: Setting[Any], bad: object) -> None:
    preferences = Preferences(data_dir)
    key, name = setting.place
    preferences.keep_json(key, {name: bad})
    assert preferences.value(setting) == setting.default


def test_the_file_of_an_earlier_version_is_read(data_dir: Path) -> None:
    (data_dir / "window.ini").write_text(_EARLIER)
    settings = UserSettings(Preferences(data_dir))
    assert settings.of(GeneralSettings) == GeneralSettings(opens_page=False, shows_tray=False)
    assert settings.of(AppearanceSettings) == AppearanceSettings(scheme="dark", percent=125)
    assert settings.of(LimitSettings) == LimitSettings(
        tool_idle_s=90, other_idle_s=60, total_s=0, attempts=9
    )
    assert settings.notifications == NotificationSettings(
        on_done=False,
        least_s=30,
        servers={"db": "attention"},
        has_quiet_hours=True,
        quiet_from=datetime.time(23, 15),
    )
    assert settings.of(ConfirmationSettings) == ConfirmationSettings(quit=False)
    assert settings.of(PrivacySettings) == PrivacySettings(arguments=False, palette=False)


_EARLIER = r"""
[v1]
appearance="{\"scheme\": \"dark\"}"
jobs\automatic="{\"limit\": 9}"
settings\confirmations="{\"quit\": false, \"disconnect\": true, \"restart\": true}"
settings\general="{\"opens_page\": false}"
settings\limits="{\"tool_idle_s\": 90.0, \"other_idle_s\": 60.0, \"total_s\": 0.0}"
settings\notifications="{\"is_on\": true, \"on_done\": false, \"least_s\": 30, \"servers\": {\"db\": \"attention\"}, \"has_quiet_hours\": true, \"quiet_from\": \"23:15:00\", \"quiet_until\": \"07:00:00\", \"shows_tray\": false}"
settings\privacy="{\"arguments\": false, \"palette\": false}"
text-size="{\"percent\": 125}"
"""  # noqa: E501  # as QSettings writes it


def test_what_an_earlier_version_kept_about_asking_still_counts(data_dir: Path) -> None:
    preferences = Preferences(data_dir)
    preferences.keep_json("questions/reissue", {"is_asked": False})
    settings = UserSettings(preferences)
    assert settings.of(ConfirmationSettings) == ConfirmationSettings(reissue=False)
    settings.replace(ConfirmationSettings())
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
    assert not settings.changed(has_quiet_hours=False).is_quiet(read(now))
