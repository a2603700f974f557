"""The table of ticks: what is said of each, and that shown rows stay."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from mcp_progress_monitor.gui.jobs.ticks import FRAME, MARK, TickColumn, TicksModel
from tests.findings import finding
from tests.job_stand_ins import tick


@pytest.fixture
def model() -> Iterator[TicksModel]:
    made = TicksModel()
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    yield made
    made.deleteLater()


def row(model: TicksModel, number: int) -> list[str]:
    return [model.index(number, column).data() for column in TickColumn if column != 1]


def test_a_tick_says_how_much_later_and_how_much_more(model: TicksModel) -> None:
    model.show_ticks([tick(5, 10, 1.0, "one"), tick(6, 14.5, 1.25, "two")], 2, {})
    assert row(model, 0) == ["1", "", "10", "", "1,000", "", "one"]
    assert row(model, 1) == ["2", "+0.250", "14.5", "+4.5", "1,000", "", "two"]


def test_ticks_count_from_the_first_one_of_the_job(model: TicksModel) -> None:
    model.show_ticks([tick(5, 10, 1.0), tick(6, 11, 2.0)], 1_204, {})
    assert [row(model, number)[0] for number in (0, 1)] == ["1,203", "1,204"]


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        (0.2, 0.3, "+0.1"),
        (5, 3, "-2"),
        (5, 5, "+0"),
        (10**400, 10**400 + 1, "+1"),
        (10**400, 0.5, ""),
        (1e308, -1e308, "-inf"),
    ],
)
def test_steps_are_exact_or_unsaid(model: TicksModel, before: float, now: float, text: str) -> None:
    model.show_ticks([tick(1, before, 0.0), tick(2, now, 1.0)], 2, {})
    assert row(model, 1)[3] == text


def test_what_breaks_a_rule_is_reported_where_it_happened(model: TicksModel) -> None:
    ticks = [tick(7, 5, 0.0, "up"), tick(8, 3, 1.0, "down"), tick(9, 4, 2.0)]
    model.show_ticks(ticks, 3, {8: (finding("Progress did not increase: 3 after 5"),)})
    marks = [model.index(number, TickColumn.MARK).data() for number in range(3)]
    assert marks == ["", "Progress did not increase: 3 after 5", ""]
    assert [model.index(number, TickColumn.STEP).data(MARK) for number in range(3)] == marks
    assert row(model, 1)[-1] == "down"


def test_new_ticks_leave_the_rows_that_are_shown(model: TicksModel) -> None:
    ticks = [tick(number, number, float(number)) for number in range(10)]
    model.show_ticks(ticks[:5], 5, {})
    remembered = QPersistentModelIndex(model.index(3, 0))
    resets: list[None] = []
    model.modelReset.connect(lambda: resets.append(None))
    model.show_ticks(ticks[2:8], 8, {})
    assert (remembered.row(), model.rowCount(), resets) == (1, 6, [])
    assert [model.index(number, 0).data(FRAME) for number in range(6)] == [2, 3, 4, 5, 6, 7]
    assert row(model, 0)[0] == "3"


@pytest.mark.parametrize("second", [[], [tick(90, 1, 1.0)], [tick(3, 1, 1.0)]])
def test_ticks_of_another_job_replace_all(model: TicksModel, second: list[object]) -> None:
    model.show_ticks([tick(number, number, float(number)) for number in range(5)], 5, {})
    model.show_ticks(second, len(second), {})  # type: ignore[arg-type]
    assert model.rowCount() == len(second)


def test_headers_are_aligned_as_their_columns(model: TicksModel) -> None:
    model.show_ticks([tick(1, 1, 1.0)], 1, {})
    role = Qt.ItemDataRole.TextAlignmentRole
    for column in TickColumn:
        header = model.headerData(column, Qt.Orientation.Horizontal, role)
        assert header == model.index(0, column).data(role)
    assert model.columnCount(QModelIndex()) == len(TickColumn)
