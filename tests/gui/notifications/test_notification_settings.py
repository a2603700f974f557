"""The page edits every notification setting, and shows what it is given."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QTime
from PySide6.QtWidgets import QCheckBox, QComboBox, QSpinBox, QTimeEdit

from mcp_progress_monitor.gui.notifications.notification_settings import NotificationPage
from mcp_progress_monitor.gui.user_settings import NotificationSettings

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def box(page: NotificationPage, words: str) -> QCheckBox:
    found = page.findChildren(QCheckBox)
    return next(each for each in found if words in each.text().replace("&", ""))


@pytest.fixture
def page(qtbot: QtBot) -> NotificationPage:
    made = NotificationPage(NotificationSettings(servers={"gone": "none"}), ["db", "nightly"])
    qtbot.addWidget(made)
    return made


def test_every_control_changes_its_field(qtbot: QtBot, page: NotificationPage) -> None:
    with qtbot.waitSignal(page.changed):
        box(page, "is done").click()
    for words in ("Quiet hours", "Play a sound", "Tray icon", "watched clients", "awake"):
        box(page, words).click()
    page.findChildren(QSpinBox)[0].setValue(90)
    page.findChildren(QTimeEdit)[0].setTime(QTime(23, 15))
    combos = {each.accessibleName(): each for each in page.findChildren(QComboBox)}
    combos["Notifications of db"].setCurrentIndex(1)
    assert page.settings == NotificationSettings(
        on_done=False,
        least_s=90,
        includes_watched=False,
        has_quiet_hours=True,
        quiet_from=datetime.time(23, 15),
        has_sound=True,
        shows_tray=False,
        keeps_awake=False,
        servers={"db": "attention", "gone": "none"},
    )


def test_showing_the_defaults_announces_no_edit(qtbot: QtBot, page: NotificationPage) -> None:
    box(page, "is done").click()
    with qtbot.assertNotEmitted(page.changed):
        page.show_settings(NotificationSettings())
    assert page.settings == NotificationSettings()
    assert box(page, "is done").isChecked()


def test_what_has_no_effect_cannot_be_edited(page: NotificationPage) -> None:
    begin = page.findChildren(QTimeEdit)[0]
    assert not begin.isEnabled()
    box(page, "Quiet hours").click()
    assert begin.isEnabled()
    box(page, "Notify while").click()
    assert not begin.isEnabled()
    assert not box(page, "fails").isEnabled()
    assert box(page, "Tray icon").isEnabled()
