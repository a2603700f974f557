"""The settings dialog over a program: what is changed applies at once and is kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QRadioButton

from mcp_progress_monitor.gui.common.settings_form import SettingsForm
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.recording_program import RecordingProgram
from mcp_progress_monitor.gui.settings.dialog import SettingsDialog
from mcp_progress_monitor.gui.settings.keys import KeysPage
from mcp_progress_monitor.gui.user_settings import GeneralSettings, NotificationSettings
from mcp_progress_monitor.gui.window_commands import KEYS, SETTINGS
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.recording.settings import load_settings
from mcp_progress_monitor.snapshots.limits import DEFAULT_LIMITS, DefaultLimits
from tests.gui.programs import application, until, until_quit
from tests.gui.saved import running
from tests.unit.recording.written import Written

pytestmark = pytest.mark.anyio


async def opened(program: Program | RecordingProgram) -> SettingsDialog:
    program.window.do[SETTINGS].trigger()
    await until(lambda: bool(program.window.findChildren(SettingsDialog)))
    (dialog,) = program.window.findChildren(SettingsDialog)
    return dialog


def page_of(dialog: SettingsDialog, key: str) -> SettingsForm:
    page = dialog.page(key)
    assert isinstance(page, SettingsForm)
    return page


@pytest.fixture
def font() -> Iterator[float]:
    """The usual size of text, which is given back."""
    before = QApplication.font()
    yield before.pointSizeF()
    QApplication.setFont(before)
    QGuiApplication.styleHints().unsetColorScheme()


async def test_there_is_one_dialog_with_all_pages_and_the_keys_open_theirs(data_dir: Path) -> None:
    async with running(data_dir) as program:
        dialog = await opened(program)
        titles = [dialog.list.item(row).text() for row in range(dialog.list.count())]
        assert titles == [
            "General",
            "Appearance",
            "Limits",
            "Notifications",
            "Confirmations",
            "Recordings",
            "Telemetry",
            "Privacy",
            "Keys",
        ]
        program.window.do[KEYS].trigger()
        assert program.window.findChildren(SettingsDialog) == [dialog]
        assert dialog.list.currentItem().text() == "Keys"
        assert isinstance(dialog.page("keys"), KeysPage)
        assert isinstance(page_of(dialog, "general").values, GeneralSettings)


async def test_what_is_chosen_applies_at_once(data_dir: Path) -> None:
    async with running(data_dir) as program:
        dialog = await opened(program)
        page_of(dialog, "notifications").controls["is_on"].widget.click()
        page_of(dialog, "confirmations").controls["quit"].widget.click()
        assert not program.settings.notifications.is_on
        assert not program.settings.is_asked("quit")
        program.settings.set(NotificationSettings.is_on, value=True)
        assert page_of(dialog, "notifications").controls["is_on"].widget.isChecked()


async def test_theme_and_text_size_apply_at_once_and_are_kept(data_dir: Path, font: float) -> None:
    async with running(data_dir) as program:
        page = page_of(await opened(program), "appearance")
        themes, sizes = page.findChildren(QRadioButton), page.controls["percent"].widget
        themes[2].click()
        assert program.window.theme.chosen == "dark"
        themes[3].click()
        assert program.window.theme.chosen == "contrast"
        themes[2].click()
        sizes.setCurrentText("150 %")
        assert QApplication.font().pointSizeF() == pytest.approx(font * 1.5)
        sizes.setCurrentText("100 %")
        assert QApplication.font().pointSizeF() == pytest.approx(font)
        sizes.setCurrentText("125 %")
        themes[0].click()
    assert Preferences(data_dir).json_of("text-size") == {"percent": 125}


async def test_limits_count_for_the_next_calls_and_the_next_start(data_dir: Path) -> None:
    async with running(data_dir) as program:
        page = page_of(await opened(program), "limits")
        assert page.controls["tool_idle_s"].widget.text() == "30 min"
        page.controls["tool_idle_s"].widget.setText("soon")
        page.controls["tool_idle_s"].widget.editingFinished.emit()
        assert page.mistake.isVisible()
        assert program.engine.calls.default_limits == DEFAULT_LIMITS
        page.controls["tool_idle_s"].widget.setText("90")
        page.controls["total_s"].widget.setText("off")
        page.controls["other_idle_s"].widget.setText("")
        page.controls["other_idle_s"].widget.editingFinished.emit()
        assert not page.mistake.isVisible()
        assert program.engine.calls.default_limits == DefaultLimits(90, 60, 0)
        page.controls["attempts"].widget.setValue(9)
        assert program.window.job_pane.attempts.limit.value() == 9
        program.window.job_pane.attempts.limit.setValue(8)
        assert page.controls["attempts"].widget.value() == 8
    async with running(data_dir) as program:
        assert program.engine.calls.default_limits == DefaultLimits(90, 60, 0)
        assert program.window.job_pane.attempts.limit.value() == 8


async def test_recordings_are_kept_as_long_as_is_chosen(data_dir: Path) -> None:
    async with running(data_dir) as program:
        page_of(await opened(program), "recordings").controls["keep_days"].widget.setValue(11)
        assert load_settings(data_dir)[0].keep_days == 11


async def test_what_is_not_to_be_remembered_is_not(data_dir: Path) -> None:
    keep_a_call(data_dir)
    async with running(data_dir) as program:
        page = page_of(await opened(program), "privacy")
        page.controls["arguments"].widget.click()
        assert Preferences(data_dir).json_of("settings/privacy") == {"arguments": False}
        page.buttons["forget_arguments"].click()
        assert not page.buttons["forget_arguments"].isEnabled()
    kept = Preferences(data_dir)
    assert kept.json_of("settings/privacy") == {"arguments": False}
    assert kept.json_of("calls") == {"arguments": [], "names": ["a"]}


async def test_the_window_of_a_recording_has_fewer_pages_and_forgets_as_well(
    data_dir: Path, tmp_path: Path
) -> None:
    keep_a_call(data_dir)
    file = Written().save(tmp_path / "night.mcprec")
    options = RecordingOptions(Playback(file), data_dir)
    async with until_quit(RecordingProgram(application(), options)) as program:
        dialog = await opened(program)
        titles = [dialog.list.item(row).text() for row in range(dialog.list.count())]
        assert titles == ["Appearance", "Recordings", "Privacy", "Keys"]
        page_of(dialog, "privacy").buttons["forget_arguments"].click()
    assert Preferences(data_dir).json_of("calls") == {"arguments": [], "names": ["a"]}


def keep_a_call(data_dir: Path) -> None:
    kept = Preferences(data_dir)
    kept.keep_json("calls", {"arguments": [["a", {}]], "names": ["a"]})
    kept.save()
