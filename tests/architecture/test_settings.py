"""One row declares a setting: it is then in the dialog, in the reference and in the saved file."""

from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import reference
from mcp_progress_monitor.gui.common.settings_form import SettingsForm
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.setting_rows import Number
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.user_settings import SECTIONS, GeneralSettings, UserSettings
from mcp_progress_monitor.paths import resource


def test_a_declared_setting_is_everywhere(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = Number("&Bells", "Ring so many bells", 3, least=1, most=9, suffix=" bells")
    added.__set_name__(GeneralSettings, "bells")
    monkeypatch.setattr(GeneralSettings, "bells", added, raising=False)

    assert "| Files: Bells | Ring so many bells | 3 bells | 1 to 9 bells |" in reference.settings()

    settings = UserSettings(Preferences(tmp_path))
    holder = QObject()
    appearance = Appearance(QWidget().palette(), resource("icons"), holder)
    page = SettingsForm(settings.of(GeneralSettings), appearance)
    qtbot.addWidget(page)
    page.chosen.connect(settings.replace)
    assert page.controls["bells"].widget.toolTip() == "Ring so many bells"
    page.controls["bells"].widget.setValue(7)

    assert Preferences(tmp_path).json_of("settings/general") == {"bells": 7}
    assert UserSettings(Preferences(tmp_path)).of(GeneralSettings).as_dict()["bells"] == 7
    holder.deleteLater()


def test_no_two_settings_are_saved_in_one_place() -> None:
    places = [each.place for section in SECTIONS for each in section.settings().values()]
    assert len(set(places)) == len(places)
