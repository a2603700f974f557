"""Colours that the user chose are there at once, and everything can be seen in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QCheckBox, QTreeView, QTreeWidget

from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.theme import (
    SELECTED,
    SELECTED_BEHIND,
    Appearance,
    ThemeChoice,
    Tone,
    contrast,
    is_dark,
)
from mcp_progress_monitor.paths import resource

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


_TEXTS = (
    (QPalette.ColorRole.Text, QPalette.ColorRole.Base),
    (QPalette.ColorRole.WindowText, QPalette.ColorRole.Window),
    (QPalette.ColorRole.ButtonText, QPalette.ColorRole.Button),
    (QPalette.ColorRole.HighlightedText, QPalette.ColorRole.Highlight),
    (QPalette.ColorRole.ToolTipText, QPalette.ColorRole.ToolTipBase),
)


@pytest.mark.parametrize(("name", "least"), [("light", 4.5), ("dark", 4.5), ("contrast", 7.0)])
@pytest.mark.usefixtures("qapp")
def test_every_text_of_every_theme_can_be_read(
    choice: ThemeChoice, name: str, least: float
) -> None:
    choice.choose(name)
    palette = QGuiApplication.palette()
    for text, ground in _TEXTS:
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            inks = palette.color(group, text), palette.color(group, ground)
            assert contrast(*inks) >= least, (text, group)
    appearance = Appearance(palette, resource("icons"))
    for tone in Tone:
        # Also on the grounds of a selected row and one under the mouse.
        assert contrast(appearance.colour(tone), palette.color(QPalette.ColorRole.Base)) >= least
        for strength in (SELECTED, SELECTED_BEHIND):
            tinted = appearance.ground(Tone.ACCENT, strength)
            assert contrast(appearance.colour(Tone.TEXT), tinted) >= least


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
