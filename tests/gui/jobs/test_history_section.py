"""Phases and marks as small tables."""

from collections.abc import Iterator

import pytest
from PySide6.QtTest import QAbstractItemModelTester

from mcp_progress_monitor.gui.jobs.history import FIRST_FRAME, PlainTableModel
from mcp_progress_monitor.tracker.snapshot import Phase
from tests.findings import mark
from tests.job_stand_ins import detail, job


@pytest.fixture
def model() -> Iterator[PlainTableModel]:
    made = PlainTableModel(("Phase", "Duration", "Ticks"))
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    yield made
    made.deleteLater()


def rows(model: PlainTableModel) -> list[list[str]]:
    columns = range(model.columnCount())
    return [
        [model.index(row, column).data() for column in columns] for row in range(model.rowCount())
    ]


def test_a_phase_that_goes_on_is_counted_to_now(model: PlainTableModel) -> None:
    phases = [Phase("Reading", 100.0, 120.0, 7), Phase("", 120.0, None, 1_204)]
    model.show_phases(detail(job(started_at=100.0, elapsed_s=80.0), phases=phases))
    assert rows(model) == [["Reading", "20 s", "7"], ["(no message)", "1 min 0 s", "1,204"]]


def test_a_phase_does_not_count_the_pause_between_attempts(model: PlainTableModel) -> None:
    phases = [Phase("Reading", 100.0, 320.0, 7), Phase("", 320.0, None, 3)]
    resumed = job(started_at=100.0, elapsed_s=30.0)
    model.show_phases(detail(resumed, phases=phases, pauses=((110.0, 310.0),)))
    assert rows(model) == [["Reading", "20 s", "7"], ["(no message)", "10 s", "3"]]


def test_growing_announces_what_is_new_alone(model: PlainTableModel) -> None:
    resets: list[None] = []
    model.modelReset.connect(lambda: resets.append(None))
    running = job(started_at=0.0, elapsed_s=12.0)
    model.show_phases(detail(running, phases=[Phase("a", 0.0, None, 1)]))
    phases = [Phase("a", 0.0, 11.0, 2), Phase("b", 11.0, None, 1)]
    model.show_phases(detail(running, phases=phases))
    assert rows(model) == [["a", "11 s", "2"], ["b", "1.0 s", "1"]]
    assert resets == []


def test_other_phases_replace_all(model: PlainTableModel) -> None:
    running = job(started_at=0.0, elapsed_s=2.0)
    phases = [Phase("a", 0.0, 1.0, 1), Phase("b", 1.0, 2.0, 1)]
    model.show_phases(detail(running, phases=phases))
    model.show_phases(detail(running, phases=[Phase("c", 0.0, 1.0, 1)]))
    assert rows(model) == [["c", "1.0 s", "1"]]


def test_a_mark_says_how_often_and_where_first() -> None:
    model = PlainTableModel(("Mark", "Times"))
    model.show_marks([mark("not-increasing", "went back\u202e", 3, 812)])
    assert rows(model) == [[r"went back\u202e", "3"]]
    assert model.index(0, 0).data(FIRST_FRAME) == 812
