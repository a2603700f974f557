"""Saving the lines of standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFileDialog, QWidget

from app.paths import resource
from app.protocol.frame import Channel, Frame
from app.shell.stderr_saving import StderrSaving
from app.widgets.appearance import Appearance
from app.widgets.stderr_pane import StderrPane
from tests.gui.shell.panes import Panes

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from app.problem import Problem
    from app.shell.main_window import MainWindow


class Window(QWidget):
    """A window with the one pane that is asked for."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.stderr_pane = StderrPane(appearance, self)
        self.late = Panes()


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    window = Window(Appearance(QPalette(), resource("icons")))
    qtbot.addWidget(window)
    window.stderr_pane.times.setChecked(False)
    window.stderr_pane.add_frames(
        [Frame(1, "a#1", Channel.STDERR, 1.7e9, 0.0, "\x1b[31mrot \u202e".encode())]
    )
    return window


def test_what_is_shown_is_saved_without_colours_and_for_the_user_alone(
    window: Window, tmp_path: Path
) -> None:
    told: list[Problem] = []
    saving = StderrSaving(cast("MainWindow", window), told.append)
    path = tmp_path / "out.txt"
    saving.save(str(path))
    assert path.read_text(encoding="utf-8") == "a  rot \\u202e\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert told == []


def test_a_disk_that_refuses_is_told_of(window: Window, tmp_path: Path) -> None:
    told: list[Problem] = []
    saving = StderrSaving(cast("MainWindow", window), told.append)
    saving.save(str(tmp_path / "no such folder" / "out.txt"))
    (problem,) = told
    assert "no such folder" in problem.as_text()


def test_the_button_asks_for_a_name(qtbot: QtBot, window: Window) -> None:
    saving = StderrSaving(cast("MainWindow", window), print)
    window.stderr_pane.save.click()
    dialog = window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    assert dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave
    dialog.close()
    assert saving.parent() is window
