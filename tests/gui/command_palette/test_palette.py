"""The palette alone: the best first, the latest used before others, all of it by keyboard."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.command_palette.palette import Palette, PaletteEntry
from mcp_progress_monitor.gui.theme import ACTIVE, SELECTED, Appearance
from tests.gui.jobs.job_lists import heard


def entry(kind: str, title: str, detail: str = "", key: str = "") -> PaletteEntry:
    return PaletteEntry(f"{kind}/{title}", kind, title, detail, "next", str, key)


ENTRIES = [
    entry("Jobs", "Cancel", key="Ctrl+."),
    entry("Window", "Command palette"),
    entry("Tool", "scan_all", "local"),
    entry("Server", "<h1>candle", "Connected"),
    entry("Job", "export_orders", "Running, local"),
]


@pytest.fixture
def palette(qtbot: QtBot, appearance: Appearance) -> Iterator[Palette]:
    window = QWidget()
    window.resize(900, 600)
    qtbot.addWidget(window)
    window.show()
    made = Palette(appearance, window)
    made.model.set_entries(ENTRIES, ["Job/export_orders", "Tool/scan_all"])
    made.open_over(window)
    qtbot.waitExposed(made)
    yield made
    made.close()


def shown(palette: Palette) -> list[str]:
    model = palette.model
    return [str(model.index(row).data()) for row in range(model.rowCount())]


def titled(chosen: object) -> str:
    assert isinstance(chosen, PaletteEntry)
    return chosen.title


def test_without_a_word_the_latest_used_are_first(palette: Palette) -> None:
    assert shown(palette)[:3] == ["export_orders", "scan_all", "Cancel"]
    assert palette.status.text() == "5 matches"


def test_typing_finds_and_the_best_is_chosen(palette: Palette) -> None:
    QTest.keyClicks(palette.edit, "cance")
    assert shown(palette)[0] == "Cancel"
    assert "export_orders" not in shown(palette)
    palette.edit.setText("can")
    assert shown(palette)[0] == "Cancel"
    palette.edit.setText("zzz")
    assert shown(palette) == []
    assert palette.status.text() == "No match"


def test_arrows_go_round_and_enter_chooses_and_closes(palette: Palette) -> None:
    chosen = heard(palette.chosen)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down):
        QTest.keyClick(palette.edit, key)
    QTest.keyClick(palette.edit, Qt.Key.Key_PageDown)
    assert palette.list.currentIndex().row() == 4
    QTest.keyClick(palette.edit, Qt.Key.Key_Down)
    QTest.keyClick(palette.edit, Qt.Key.Key_Return)
    assert [titled(each) for each in chosen] == ["export_orders"]
    assert not palette.isVisible()


def test_escape_closes_and_chooses_nothing(palette: Palette) -> None:
    chosen = heard(palette.chosen)
    QTest.keyClick(palette.edit, Qt.Key.Key_Escape)
    assert not palette.isVisible()
    assert chosen == []


def test_a_click_chooses(palette: Palette) -> None:
    chosen = heard(palette.chosen)
    place = palette.list.visualRect(palette.model.index(1)).center()
    QTest.mouseClick(
        palette.list.viewport(),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        QPoint(place),
    )
    assert [titled(each) for each in chosen] == ["scan_all"]


def test_rows_are_painted_within_the_palette_and_spoken_whole(palette: Palette) -> None:
    palette.edit.setText("can")
    assert not palette.grab().isNull()
    role = Qt.ItemDataRole.AccessibleTextRole
    assert palette.model.index(0).data(role) == "Jobs, Cancel, Ctrl+."
    assert palette.width() <= 900


def test_of_very_many_the_first_are_shown(palette: Palette) -> None:
    palette.model.set_entries([entry("Job", f"job {number}") for number in range(1_000)], [])
    assert palette.model.rowCount() == 200
    assert palette.status.text() == "1,000 matches, the first 200 are shown"
    palette.model.add([entry("Recording", "a.mcprec")])
    palette.edit.setText("a.mc")
    assert shown(palette) == ["a.mcprec"]


def test_the_chosen_entry_stands_out_as_where_the_focus_is(
    palette: Palette, appearance: Appearance
) -> None:
    place = palette.list.visualRect(palette.list.currentIndex())
    image = palette.list.viewport().grab().toImage()
    ground = image.pixelColor(place.right() - 12, place.top() + 4).name()
    assert ground == appearance.row_ground(SELECTED | ACTIVE).name()
