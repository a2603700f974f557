"""Colours that the user chose are there at once, and everything can be seen in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QListWidget,
    QTableView,
    QTreeView,
    QTreeWidget,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.theme import (
    ACTIVE,
    SELECTED,
    UNDER_MOUSE,
    Appearance,
    ThemeChoice,
    Tone,
    contrast,
    is_dark,
    mixed,
)
from mcp_progress_monitor.gui.user_settings import UserSettings
from mcp_progress_monitor.paths import resource


@pytest.fixture
def choice(qapp: QApplication, tmp_path: Path) -> Iterator[ThemeChoice]:
    parent = QObject(qapp)
    made = ThemeChoice(UserSettings(Preferences(tmp_path)), parent)
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
        image = box.grab().toImage()
        row = [image.pixelColor(x, box.height() // 2).lightnessF() for x in range(box.width())]
        ground = QGuiApplication.palette().color(QPalette.ColorRole.Base).lightnessF()
        assert max(abs(each - ground) for each in row) > 0.2


_TEXTS = (
    (QPalette.ColorRole.Text, QPalette.ColorRole.Base),
    (QPalette.ColorRole.WindowText, QPalette.ColorRole.Window),
    (QPalette.ColorRole.ButtonText, QPalette.ColorRole.Button),
    (QPalette.ColorRole.HighlightedText, QPalette.ColorRole.Highlight),
    (QPalette.ColorRole.ToolTipText, QPalette.ColorRole.ToolTipBase),
    (QPalette.ColorRole.Link, QPalette.ColorRole.Base),
)


@pytest.mark.parametrize(("name", "least"), [("light", 4.5), ("dark", 4.5), ("contrast", 7.0)])
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
        assert contrast(appearance.colour(tone), palette.color(QPalette.ColorRole.Base)) >= least
        for state in (SELECTED, SELECTED | ACTIVE, UNDER_MOUSE):
            assert contrast(appearance.colour(tone), appearance.row_ground(state)) >= 4.5


@pytest.mark.parametrize("name", ["light", "dark", "contrast"])
def test_the_hint_in_an_empty_field_is_not_taken_for_a_value(
    choice: ThemeChoice, name: str
) -> None:
    choice.choose(name)
    palette = QGuiApplication.palette()
    roles = QPalette.ColorRole
    base, text, faint = (palette.color(r) for r in (roles.Base, roles.Text, roles.PlaceholderText))
    hint = mixed(base, QColor(faint.name()), faint.alphaF())
    assert contrast(hint, text) >= 2.0
    assert contrast(hint, base) >= (7.0 if name == "contrast" else 3.0)


@pytest.mark.parametrize("name", ["light", "dark", "contrast"])
@pytest.mark.parametrize("view", [QListWidget, QTreeWidget, QTableView, QTreeView])
def test_every_view_selects_rows_in_the_one_shade(
    qtbot: QtBot, choice: ThemeChoice, name: str, view: type[QWidget]
) -> None:
    choice.choose(name)
    appearance = Appearance(QGuiApplication.palette(), resource("icons"))
    made = view()
    qtbot.addWidget(made)
    made.show()  # colours of a class are taken then
    groups = {QPalette.ColorGroup.Active: ACTIVE, QPalette.ColorGroup.Inactive: 0}
    for group, state in groups.items():
        ground = made.palette().color(group, QPalette.ColorRole.Highlight)
        assert ground == appearance.row_ground(SELECTED | state)
        assert contrast(made.palette().color(group, QPalette.ColorRole.HighlightedText), ground) > 7
        # A row under the mouse does not look like a selected one, nor either like any other.
        others = appearance.row_ground(UNDER_MOUSE), appearance.row_ground(0)
        assert len({ground.name(), *(other.name() for other in others)}) == 3


@pytest.mark.usefixtures("choice")
def test_another_palette_of_the_desktop_leaves_the_one_shade(
    qtbot: QtBot, choice: ThemeChoice
) -> None:
    choice.choose("dark")
    QGuiApplication.setPalette(QPalette(QGuiApplication.palette()))  # as Qt does then
    choice.follow()
    appearance = Appearance(QGuiApplication.palette(), resource("icons"))
    made = QListWidget()
    qtbot.addWidget(made)
    made.show()
    ground = made.palette().color(QPalette.ColorGroup.Active, QPalette.ColorRole.Highlight)
    assert ground == appearance.row_ground(SELECTED | ACTIVE)


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
