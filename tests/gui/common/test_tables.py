"""The row under the mouse is tinted, and no other row is painted for that."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QStringListModel, Qt
from PySide6.QtGui import QPaintEvent, QRegion, QStandardItem, QStandardItemModel, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QHeaderView, QListView, QTreeView
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.tables import (
    _PADDING,
    EmptyText,
    FlatHeader,
    PlainTable,
    RowHover,
    dress_rows,
)
from mcp_progress_monitor.gui.theme import UNDER_MOUSE, row_grounds
from tests.gui.exposure import expose

_ROWS = 100


class Painted(PlainTable):
    """Keeps what was painted."""

    def __init__(self, model: QStringListModel) -> None:
        super().__init__(model, "Letters")
        self.painted = QRegion()

    def paintEvent(self, event: QPaintEvent) -> None:
        """As ever."""
        self.painted += event.region()
        super().paintEvent(event)


def shown(qtbot: QtBot, view: QAbstractItemView) -> None:
    expose(qtbot, view, 300, 200)
    QApplication.processEvents()


def ground(view: QAbstractItemView, row: int) -> str:
    """The ground at the right end of a row."""
    y = view.visualRect(view.model().index(row, 0)).center().y()
    viewport = view.viewport()
    return viewport.grab().toImage().pixelColor(viewport.width() - 3, y).name()


def move_to(view: QAbstractItemView, row: int) -> None:
    place = view.visualRect(view.model().index(row, 0)).center()
    QTest.mouseMove(view.viewport(), place)
    QApplication.processEvents()


def letters() -> QStringListModel:
    return QStringListModel([str(number) for number in range(_ROWS)])


@pytest.fixture
def table(qtbot: QtBot) -> Painted:
    made = Painted(letters())
    made.horizontalHeader().setStretchLastSection(True)
    shown(qtbot, made)
    return made


def test_a_table_tints_the_row_under_the_mouse_and_no_other(table: Painted) -> None:
    grounds = row_grounds(table.palette())
    for row in (2, 5):
        move_to(table, row)
        tinted = [
            each for each in range(8) if ground(table, each) == grounds.of(UNDER_MOUSE).name()
        ]
        assert tinted == [row]
    QApplication.sendEvent(table.viewport(), QEvent(QEvent.Type.Leave))
    assert ground(table, 5) == grounds.plain.name()


def test_no_more_than_two_rows_are_painted_for_the_mouse(table: Painted) -> None:
    move_to(table, 1)
    table.painted = QRegion()
    move_to(table, 7)
    height = table.rowHeight(0)
    band = QRect(0, 0, table.viewport().width(), height)
    rows = [row for row in range(20) if table.painted.intersects(band.translated(0, row * height))]
    assert rows == [1, 7]
    table.painted = QRegion()
    QTest.mouseMove(table.viewport(), table.visualRect(table.model().index(7, 0)).topLeft())
    QApplication.processEvents()
    assert table.painted.isEmpty()


def test_while_rows_scroll_the_tint_stays_with_its_row(table: Painted) -> None:
    move_to(table, 4)
    table.verticalScrollBar().setValue(table.verticalScrollBar().value() + 2 * table.rowHeight(0))
    QApplication.processEvents()
    assert ground(table, 4) == row_grounds(table.palette()).hovered.name()


def test_after_a_wheel_the_row_that_came_under_the_mouse_is_tinted(
    qtbot: QtBot, table: Painted, monkeypatch: pytest.MonkeyPatch
) -> None:
    hover = next(each for each in table.children() if isinstance(each, RowHover))
    move_to(table, 4)
    place = table.viewport().mapToGlobal(table.visualRect(table.model().index(4, 0)).center())
    monkeypatch.setattr("mcp_progress_monitor.gui.common.tables.QCursor.pos", lambda: place)
    QApplication.sendEvent(table.viewport(), _wheel(table))
    table.verticalScrollBar().setValue(table.verticalScrollBar().value() + 3 * table.rowHeight(0))
    qtbot.waitUntil(lambda: hover.row == 7)


def test_what_cannot_be_chosen_is_not_tinted(qtbot: QtBot) -> None:
    model = QStandardItemModel()
    for flags in (
        Qt.ItemFlag.ItemIsEnabled,
        Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable,
    ):
        item = QStandardItem("a heading, or what is below it")
        item.setFlags(flags)
        model.appendRow(item)
    tree = QTreeView()
    tree.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # else the first row is framed
    tree.setModel(model)
    dress_rows(tree)
    shown(qtbot, tree)
    grounds = row_grounds(tree.palette())
    for row, wanted in ((0, grounds.plain), (1, grounds.hovered)):
        move_to(tree, row)
        assert ground(tree, row) == wanted.name()


def test_plain_lists_have_rows_as_high_as_tables(qtbot: QtBot, table: Painted) -> None:
    view = QListView()
    view.setModel(table.model())
    dress_rows(view)
    shown(qtbot, view)
    assert abs(view.visualRect(view.model().index(0, 0)).height() - table.rowHeight(0)) <= 2


def test_beside_the_last_title_is_the_ground_of_the_rows(qtbot: QtBot, table: Painted) -> None:
    header = table.horizontalHeader()
    header.setStretchLastSection(False)
    table.setColumnWidth(0, 40)
    QApplication.processEvents()
    image = header.viewport().grab().toImage()
    wanted = header.palette().base().color().name()
    assert image.pixelColor(header.viewport().width() - 3, 4).name() == wanted


def test_a_title_wider_than_its_cells_fits_the_column(qtbot: QtBot) -> None:
    model = QStandardItemModel(1, 2)
    model.setHorizontalHeaderLabels(["Calls", "95 %"])
    made = PlainTable(model, "Calls")
    titles = made.horizontalHeader()
    titles.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    shown(qtbot, made)
    for column, title in enumerate(("Calls", "95 %")):
        room = titles.sectionSize(column) - 2 * _PADDING - 1  # as it is painted
        assert titles.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, room) == title


def test_a_list_of_another_painter_says_why_it_is_empty(qtbot: QtBot) -> None:
    model = QStringListModel()
    view = QListView()
    view.setModel(model)
    EmptyText(view, "No servers")
    shown(qtbot, view)

    def inks() -> set[str]:
        image = view.viewport().grab().toImage()
        y = image.height() // 2
        return {
            image.pixelColor(x, each).name()
            for x in range(image.width())
            for each in range(y - 6, y + 6)
        }

    assert len(inks()) > 1
    model.setStringList(["a"])
    QApplication.processEvents()
    assert len(inks()) == 1


def test_titles_have_a_size_while_the_model_is_deleted(qtbot: QtBot) -> None:
    view = QTreeView()
    qtbot.addWidget(view)
    header = FlatHeader(view)
    view.setHeader(header)
    assert header.sectionSizeFromContents(0).height() > 0


def _wheel(view: QAbstractItemView) -> QEvent:
    middle = QPointF(view.viewport().rect().center())
    return QWheelEvent(
        middle,
        view.viewport().mapToGlobal(middle),
        QPoint(),
        QPoint(),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
