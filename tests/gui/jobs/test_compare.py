"""Two jobs beside each other: their figures, and their courses from the same start."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.tables import PlainTable
from mcp_progress_monitor.gui.jobs.compare import (
    CompareDialog,
    ComparisonSection,
    RunsChart,
    StatisticsDialog,
)
from mcp_progress_monitor.gui.theme import Appearance, Tone
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.exposure import expose
from tests.job_stand_ins import FakeJobs, answer, course, detail, job


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance) -> CompareDialog:
    first = detail(job(id=1), **course(52))
    second = detail(job(id=2, elapsed_s=26.0), **course(52, step_s=0.5))
    made = CompareDialog(first, second, appearance)
    return expose(qtbot, made)


def rows(dialog: CompareDialog) -> dict[str, list[str]]:
    model = dialog.model
    every = range(model.rowCount())
    texts = [[model.index(row, column).data() for column in range(4)] for row in every]
    return {name: rest for name, *rest in texts}


def ink(chart: RunsChart, colour: int) -> list[int]:
    image: QImage = chart.grab().toImage()
    return [
        x
        for x in range(image.width())
        for y in range(40, image.height() - 24)
        if image.pixel(x, y) == colour
    ]


def test_arguments_and_results_are_compared(qtbot: QtBot, appearance: Appearance) -> None:
    first = detail(job(id=1), params={"name": "export", "arguments": {"rows": 10}})
    second = detail(job(id=2), params={"name": "export", "arguments": {"rows": 20}})
    dialog = CompareDialog(first, second, appearance)
    qtbot.addWidget(dialog)
    shown = dialog.text.toPlainText().splitlines()
    assert [line for line in shown if line[0] in "-+"] == ['-      "rows": 10', '+      "rows": 20']


def test_the_table_has_the_figures_of_both(dialog: CompareDialog) -> None:
    shown = rows(dialog)
    assert shown["Duration"] == ["52 s", "26 s", "\N{MINUS SIGN}26 s (-50 %)"]
    assert shown["Mean rate"] == ["10/s", "20/s", "+100 %"]
    assert shown["Batch group 1"][:2] == ["20 s", "10 s"]


def test_both_courses_begin_at_the_left_and_the_shorter_ends_first(
    dialog: CompareDialog, appearance: Appearance
) -> None:
    first, second = (
        ink(dialog.progress, appearance.colour(tone).rgb()) for tone in (Tone.ACCENT, Tone.WARNING)
    )
    assert first
    assert second
    assert abs(min(first) - min(second)) < 40
    assert max(second) < max(first) - 50


def test_jobs_without_progress_say_so(qtbot: QtBot, appearance: Appearance) -> None:
    made = CompareDialog(detail(job()), detail(job(id=2)), appearance)
    qtbot.addWidget(made)
    made.progress.grab()
    made.rates.grab()
    assert rows(made)["Ticks"] == ["632", "632", "same"]


def test_a_row_of_the_statistics_leads_to_its_calls(qtbot: QtBot) -> None:
    source = FakeJobs(job(id=1, name="export", state=JobState.DONE))
    dialog = StatisticsDialog(source)
    expose(qtbot, dialog)
    table = dialog.findChild(PlainTable)
    assert isinstance(table, PlainTable)
    assert dialog.model.index(0, 2).data() == "1"
    source.put(job(id=2, name="export", state=JobState.DONE))

    button = next(b for b in dialog.findChildren(QPushButton) if "Refresh" in b.text())
    assert button.toolTip().endswith("(F5)")
    dialog.activateWindow()
    qtbot.waitUntil(table.hasFocus)
    QTest.keyClick(table, Qt.Key.Key_F5)
    assert dialog.model.index(0, 2).data() == "2"
    table.setCurrentIndex(dialog.model.index(0, 0))
    with qtbot.waitSignal(dialog.calls_wanted) as wanted:
        QTest.keyClick(table, Qt.Key.Key_Return)
    assert wanted.args == ["export local-db"]


def test_a_run_is_compared_with_the_one_before(qtbot: QtBot, appearance: Appearance) -> None:
    before = detail(job(id=1, tick_count=3), answer=answer({"rows": 1}))
    now = detail(job(id=2, tick_count=5), answer=answer({"rows": 2}))
    section = expose(qtbot, ComparisonSection(appearance), 700, 200)
    section.show_runs(before, now, ({"Went back": 2}, {"Stood still": 1}))
    model = section.model
    shown = [[model.index(row, column).data() for column in range(4)] for row in range(3)]
    assert shown == [
        ["Went back", "2", "", "gone"],
        ["Stood still", "", "1", "new"],
        ["Ticks", "3", "5", "+2 (+67 %)"],
    ]
    assert '-    "rows": 1' in section.text.toPlainText()
    assert section.heading.text().startswith("Compared with the run before, at ")
