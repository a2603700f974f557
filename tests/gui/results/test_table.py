"""Arrays of objects as tables: sorted, and copied in full."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.results.table import COLUMNS, ROWS, RowsModel, RowsTable, table_rows

UP, DOWN = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder
MIXED: list[dict[str, Any]] = [
    {"n": 10, "s": "b"},
    {"n": 9.5, "s": "A"},
    {"n": None, "s": "c", "more": [1, {"x": 2}]},
    {"n": "7", "s": "a\u202eb\nc"},
    {"n": True},
]


def column(model: RowsModel, place: int) -> list[str]:
    return [str(model.index(row, place).data()) for row in range(model.rowCount())]


@pytest.fixture
def table(qtbot: QtBot) -> RowsTable:
    made = RowsTable()
    qtbot.addWidget(made)
    made.show_rows(MIXED)
    return made


def test_numbers_are_sorted_as_numbers_before_texts(
    table: RowsTable, qtmodeltester: ModelTester
) -> None:
    model = table.rows
    qtmodeltester.check(model)  # type: ignore[no-untyped-call]
    assert [model.headerData(n, Qt.Orientation.Horizontal) for n in range(3)] == ["n", "s", "more"]
    assert column(model, 0) == ["10", "9.5", "", "7", "true"]
    table.sortByColumn(0, UP)
    assert column(model, 0) == ["true", "9.5", "10", "7", ""]
    table.sortByColumn(0, DOWN)
    assert column(model, 0) == ["", "7", "10", "9.5", "true"]
    table.sortByColumn(-1, UP)
    assert column(model, 0) == ["10", "9.5", "", "7", "true"]


def test_cells_show_what_cannot_be_seen(table: RowsTable) -> None:
    assert column(table.rows, 1)[3] == "a\\u202eb\\nc"
    assert column(table.rows, 2)[2] == '[1, {"x": 2}]'


def test_new_rows_come_in_their_order(table: RowsTable) -> None:
    table.sortByColumn(0, DOWN)
    table.show_rows([{"a": 1}, {"a": 2}])
    assert column(table.rows, 0) == ["1", "2"]


def test_a_selected_row_is_copied(table: RowsTable) -> None:
    table.selectRow(1)
    table.actions()[0].trigger()
    assert QGuiApplication.clipboard().text() == "9.5\tA\t"


def test_what_is_shown_is_bounded_and_what_is_saved_is_not() -> None:
    rows = [{f"c{n % 500}": n} for n in range(ROWS + 5)]
    model = RowsModel()
    model.show_rows(rows)
    assert (model.rowCount(), model.columnCount()) == (ROWS, COLUMNS)
    saved = table_rows(rows[:600])
    assert len(next(saved)) == 500
    assert len(list(saved)) == 600


def test_hostile_values_make_short_cells() -> None:
    model = RowsModel()
    model.show_rows([{"a": "x" * 10_000_000, "b": 10**5_000, "c": float("inf"), "d" * 9_999: {}}])
    texts = [str(model.index(0, each).data()) for each in range(4)]
    assert all(len(text) <= 1_000 for text in texts)
    assert len(str(model.headerData(3, Qt.Orientation.Horizontal))) <= 1_000
    model.sort(1, UP)
