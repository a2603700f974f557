"""The settings dialog over a program: what is changed applies at once and is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QCheckBox

from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.settings.keys import KeysPage
from mcp_progress_monitor.gui.settings.pages import (
    AppearancePage,
    GeneralPage,
    LimitsPage,
    PrivacyPage,
    RecordingsPage,
    SettingsDialog,
)
from mcp_progress_monitor.recording.settings import load_settings
from mcp_progress_monitor.snapshots.limits import DEFAULT_LIMITS, DefaultLimits
from tests.gui.programs import until, until_quit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

pytestmark = pytest.mark.anyio


def running(qapp: QApplication, folder: Path) -> AbstractAsyncContextManager[Program]:
    return until_quit(Program(qapp, WindowOptions(data_dir=folder)))


async def opened(program: Program) -> SettingsDialog:
    program.window.actions_.settings.trigger()
    await until(lambda: bool(program.window.findChildren(SettingsDialog)))
    (dialog,) = program.window.findChildren(SettingsDialog)
    return dialog


@pytest.fixture
def font(qapp: QApplication) -> Iterator[float]:
    """The usual size of text, which is given back."""
    before = QApplication.font()
    yield before.pointSizeF()
    QApplication.setFont(before)
    QGuiApplication.styleHints().unsetColorScheme()


async def test_there_is_one_dialog_with_all_pages_and_the_keys_open_theirs(
    qapp: QApplication, data_dir: Path
) -> None:
    async with running(qapp, data_dir) as program:
        dialog = await opened(program)
        titles = [dialog.list.item(row).text() for row in range(dialog.list.count())]
        assert titles == [
            "General",
            "Appearance",
            "Limits",
            "Notifications",
            "Confirmations",
            "Recordings",
            "Privacy",
            "Keys",
        ]
        program.window.actions_.keys.trigger()
        assert program.window.findChildren(SettingsDialog) == [dialog]
        assert dialog.list.currentItem().text() == "Keys"
        assert isinstance(dialog.page("keys"), KeysPage)
        assert isinstance(dialog.page("general"), GeneralPage)


async def test_pages_of_other_rooms_apply_what_is_chosen(
    qapp: QApplication, data_dir: Path
) -> None:
    async with running(qapp, data_dir) as program:
        dialog = await opened(program)
        for key, words in (("notifications", "&Notify"), ("confirmations", "&Quit")):
            boxes = dialog.page(key).findChildren(QCheckBox)
            next(box for box in boxes if box.text().startswith(words)).click()
        assert not program.settings.notifications.is_on
        assert not program.settings.is_asked("quit")


async def test_theme_and_text_size_apply_at_once_and_are_kept(
    qapp: QApplication, data_dir: Path, font: float
) -> None:
    async with running(qapp, data_dir) as program:
        dialog = await opened(program)
        page = dialog.page("appearance")
        assert isinstance(page, AppearancePage)
        page.themes.button(2).click()
        assert program.window.theme.chosen == "dark"
        page.themes.button(3).click()
        assert program.window.theme.chosen == "contrast"
        page.themes.button(2).click()
        page.sizes.setCurrentText("150 %")
        assert QApplication.font().pointSizeF() == pytest.approx(font * 1.5)
        page.sizes.setCurrentText("100 %")
        assert QApplication.font().pointSizeF() == pytest.approx(font)
        page.sizes.setCurrentText("125 %")
        page.themes.button(0).click()
    assert Preferences(data_dir).json_of("text-size") == {"percent": 125}


async def test_limits_count_for_the_next_calls_and_the_next_start(
    qapp: QApplication, data_dir: Path
) -> None:
    async with running(qapp, data_dir) as program:
        page = (await opened(program)).page("limits")
        assert isinstance(page, LimitsPage)
        assert page.fields["tool_idle_s"].text() == "1800"
        page.fields["tool_idle_s"].setText("soon")
        page.fields["tool_idle_s"].editingFinished.emit()
        assert page.mistake.isVisible()
        assert program.engine.calls.default_limits == DEFAULT_LIMITS
        page.fields["tool_idle_s"].setText("90")
        page.fields["total_s"].setText("off")
        page.fields["other_idle_s"].setText("")
        page.fields["other_idle_s"].editingFinished.emit()
        assert not page.mistake.isVisible()
        assert program.engine.calls.default_limits == DefaultLimits(90, 60, 0)
        page.attempts.setValue(9)
        assert program.window.job_pane.attempts.limit.value() == 9
    async with running(qapp, data_dir) as program:
        assert program.engine.calls.default_limits == DefaultLimits(90, 60, 0)


async def test_recordings_are_kept_as_long_as_is_chosen(qapp: QApplication, data_dir: Path) -> None:
    async with running(qapp, data_dir) as program:
        page = (await opened(program)).page("recordings")
        assert isinstance(page, RecordingsPage)
        page.limits.days.setValue(11)
        assert load_settings(data_dir)[0].keep_days == 11


async def test_what_is_not_to_be_remembered_is_not(qapp: QApplication, data_dir: Path) -> None:
    async with running(qapp, data_dir) as program:
        page = (await opened(program)).page("privacy")
        assert isinstance(page, PrivacyPage)
        page.boxes["arguments"].click()
        assert Preferences(data_dir).json_of("settings/privacy") in ({}, {"arguments": False})
        asked: list[str] = []
        program.settings_dialog.forget_requested.connect(asked.append)
        page.forget["arguments"].click()
        assert asked == ["arguments"]
        assert not page.forget["arguments"].isEnabled()
    assert Preferences(data_dir).json_of("settings/privacy") == {"arguments": False}
