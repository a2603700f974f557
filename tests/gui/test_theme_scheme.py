"""Colours that the user chose are there at once, and everything can be seen in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QCheckBox, QTreeView, QTreeWidget

from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.theme import ThemeChoice, is_dark

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot


@pytest.fixture
def choice(qapp: QApplication, tmp_path: Path) -> Iterator[ThemeChoice]:
    parent = QObject(qapp)
    made = ThemeChoice(Preferences(tmp_path), parent)
    yield made
    made.choose("system")
    parent.deleteLater()


def test_an_empty_box_can_be_seen_in_both_schemes(qtbot: QtBot, choice: ThemeChoice) -> None:
    for name in ("dark", "light", "dark"):
        choice.choose(name)
        assert is_dark(QGuiApplication.palette()) is (name == "dark")
        box = QCheckBox()
        qtbot.addWidget(box)
        box.resize(box.sizeHint())
        picture = box.grab().toImage()
        row = [picture.pixelColor(x, box.height() // 2).lightnessF() for x in range(box.width())]
        ground = QGuiApplication.palette().color(QPalette.ColorRole.Base).lightnessF()
        assert max(abs(each - ground) for each in row) > 0.2


def test_headers_and_corners_of_tables_are_dark_as_the_window_is(
    qtbot: QtBot, choice: ThemeChoice
) -> None:
    choice.choose("dark")
    ground = QGuiApplication.palette().color(QPalette.ColorRole.Window)
    with_boxes, table = QTreeWidget(), QTreeView()
    for tree in (with_boxes, table):
        qtbot.addWidget(tree)
        tree.show()  # colours of a class are taken then
        header = tree.header()
        assert header.viewport().palette().color(QPalette.ColorRole.Window) == ground
    # The corner is drawn by the table itself.
    assert table.palette().color(QPalette.ColorRole.Window) == ground
