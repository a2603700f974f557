"""Every page edits the settings of its section, and shows what it is given."""

import datetime

import pytest
from PySide6.QtCore import QTime
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.settings_form import SettingsForm
from mcp_progress_monitor.gui.setting_rows import Button, Section
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.user_settings import (
    SECTIONS,
    ConfirmationSettings,
    LimitSettings,
    NotificationSettings,
    PrivacySettings,
)
from tests.gui.jobs.job_lists import heard


def box(page: SettingsForm, text: str) -> QCheckBox:
    found = page.findChildren(QCheckBox)
    return next(each for each in found if text in each.text().replace("&", ""))


@pytest.fixture
def page(qtbot: QtBot, appearance: Appearance) -> SettingsForm:
    values = NotificationSettings(servers={"gone": "none"})
    made = SettingsForm(values, appearance, servers=["db", "nightly"])
    qtbot.addWidget(made)
    return made


def test_every_control_changes_its_setting(page: SettingsForm) -> None:
    announced = heard(page.chosen)
    for text in ("is done", "Quiet hours", "Play a sound", "watched clients"):
        box(page, text).click()
    page.controls["least_s"].widget.setValue(90)
    page.controls["quiet_from"].widget.setTime(QTime(23, 15))
    lists = {each.accessibleName(): each for each in page.findChildren(QComboBox)}
    lists["Notifications of db"].setCurrentIndex(1)
    chosen = NotificationSettings(
        on_done=False,
        least_s=90,
        includes_watched=False,
        has_quiet_hours=True,
        quiet_from=datetime.time(23, 15),
        has_sound=True,
        servers={"db": "attention", "gone": "none"},
    )
    assert page.values == chosen == announced[-1]


def test_values_are_shown_without_announcing_an_edit(qtbot: QtBot, page: SettingsForm) -> None:
    box(page, "is done").click()
    with qtbot.assertNotEmitted(page.chosen):
        page.show_values(NotificationSettings())
        page.show_values(LimitSettings(attempts=1))
    assert page.values == NotificationSettings()
    assert box(page, "is done").isChecked()


def test_what_has_no_effect_cannot_be_edited(page: SettingsForm) -> None:
    begin = page.controls["quiet_from"].widget
    assert not begin.isEnabled()
    box(page, "Quiet hours").click()
    assert begin.isEnabled()
    box(page, "Notify while").click()
    assert not begin.isEnabled()
    assert not box(page, "fails").isEnabled()


def test_one_button_asks_about_everything_again(qtbot: QtBot, appearance: Appearance) -> None:
    page = SettingsForm(ConfirmationSettings(quit=False, reissue=False), appearance)
    qtbot.addWidget(page)
    announced = heard(page.chosen)
    page.buttons["ask_all"].click()
    assert page.values == ConfirmationSettings()
    assert announced == [ConfirmationSettings()]
    assert not page.buttons["ask_all"].isEnabled()
    assert box(page, "Quit").isChecked()


def test_what_is_forgotten_once_cannot_be_forgotten_again(
    qtbot: QtBot, appearance: Appearance
) -> None:
    page = SettingsForm(PrivacySettings(), appearance, facts={"folder": "/data\u202e"})
    qtbot.addWidget(page)
    pressed = heard(page.pressed)
    page.buttons["forget_palette"].click()
    assert pressed == ["forget_palette"]
    assert not page.buttons["forget_palette"].isEnabled()
    assert r"/data\u202e" in [label.text() for label in page.findChildren(QLabel)]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_page_has_a_named_control_with_a_tip_for_every_row(
    qtbot: QtBot, appearance: Appearance, section: type[Section]
) -> None:
    page = SettingsForm(section(), appearance, servers=["db"], facts={"folder": "/data"})
    qtbot.addWidget(page)
    assert page.controls.keys() == section.settings().keys()
    for name, control in page.controls.items():
        assert control.widget.accessibleName(), name
        assert control.widget.toolTip() or control.widget.findChildren(QComboBox), name
    buttons = [row for row in section.rows() if isinstance(row, Button)]
    assert [page.buttons[row.name].text() for row in buttons] == [row.label for row in buttons]
