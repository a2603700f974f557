"""Findings below their rules: counted, filtered, sorted, opened and closed."""

from typing import Any

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.checking.connection import Evidence
from mcp_progress_monitor.checking.report import ReportedResult
from mcp_progress_monitor.filtering.findings import finding_filter
from mcp_progress_monitor.findings.finding import Finding, Level
from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.findings.commands import OPEN
from mcp_progress_monitor.gui.findings.groups import GROUP, FindingsFilter
from mcp_progress_monitor.gui.findings.model import (
    COUNT,
    FINDING,
    FIRST,
    GRAVITY,
    JOB,
    LEVEL,
    RULE,
    SERVER,
    TEXT,
    FindingsModel,
)
from mcp_progress_monitor.gui.findings.pane import FindingsPane
from mcp_progress_monitor.gui.findings.view import JobFindings
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.facts import Side
from tests.gui.exposure import expose
from tests.gui.findings.test_model import BLANK, FLOOD, LEFT, result


@pytest.fixture
def model(qapp: object) -> FindingsModel:
    return FindingsModel()


@pytest.fixture
def grouped(model: FindingsModel) -> FindingsFilter:
    """Two rules on two servers: three findings of one, one of the other."""
    shown = FindingsFilter(model, model)
    shown.set_grouped(True)
    shown.tester = QAbstractItemModelTester(shown)  # type: ignore[attr-defined]
    shown.of_source = QAbstractItemModelTester(shown.sourceModel())  # type: ignore[attr-defined]
    found = [result(FLOOD, 5, "db", job=7), result(BLANK, 3, "db"), result(BLANK, 4, "a b", job=8)]
    model.watch.changed.emit(found)
    model.watch.changed.emit([result(BLANK, 9, "db", job=9)])
    return shown


def tree(shown: Any, column: int = RULE) -> dict[str, list[str]]:
    """What a column says of each group, and of the findings below it."""
    tops = [shown.index(row, 0) for row in range(shown.rowCount())]
    return {
        top.siblingAtColumn(RULE).data(): [
            shown.index(row, column, top).data() for row in range(shown.rowCount(top))
        ]
        for top in tops
    }


def group(shown: Any, row: int) -> list[str]:
    return [shown.index(row, column).data() for column in range(FIRST + 1)]


def test_findings_are_below_their_rules_the_gravest_first(grouped: FindingsFilter) -> None:
    assert tree(grouped, FIRST) == {"JR-2": ["3", "4", "9"], "PROG-9": ["5"]}
    assert grouped.count == 4


def test_a_group_says_how_many_there_are_where_and_how_grave(grouped: FindingsFilter) -> None:
    assert group(grouped, 0) == [
        "Error",
        "JR-2",
        "Output that is not a message (3)",
        "2 servers",
        "2 jobs",
        "3",
        "3",
    ]
    assert group(grouped, 1)[SERVER:] == ["db", "1 job", "1", "5"]
    top = grouped.index(0, LEVEL)
    assert (top.data(GROUP), top.data(FINDING), top.data(GRAVITY)) == ("JR-2", None, Level.ERROR)
    assert top.data(Qt.ItemDataRole.AccessibleTextRole) == "JR-2, 3 findings"


def test_a_filter_counts_what_it_lets_through_and_hides_empty_groups(
    grouped: FindingsFilter,
) -> None:
    grouped.set_test(finding_filter("server == db and level == error"))
    assert tree(grouped, FIRST) == {"JR-2": ["3", "9"]}
    assert group(grouped, 0)[TEXT] == "Output that is not a message (2)"
    assert group(grouped, 0)[SERVER] == "db"
    grouped.set_test(None)
    assert grouped.count == 4


def test_what_is_ignored_leaves_its_group(model: FindingsModel, grouped: FindingsFilter) -> None:
    model.set_ignored([("JR-2", "db"), ("PROG-9", "db")])
    assert tree(grouped, FIRST) == {"JR-2": ["4"]}
    assert group(grouped, 0)[COUNT] == "1"
    grouped.set_shows_ignored(True)
    assert grouped.count == 4


def test_a_finding_that_is_seen_again_is_counted_in_its_group(
    model: FindingsModel, grouped: FindingsFilter
) -> None:
    again = model.result(0)
    again.add(Evidence(Finding(*FLOOD), 50, None, Side.SERVER))
    model.watch.changed.emit([again])
    assert group(grouped, 1)[COUNT] == "2"
    assert grouped.index(0, COUNT, grouped.index(1, 0)).data() == "2"


def test_the_level_of_a_group_is_that_of_its_gravest(model: FindingsModel) -> None:
    shown = FindingsFilter(model, model)
    model.watch.changed.emit([result(LEFT, 1), result(FLOOD, 2)])
    shown.set_grouped(True)
    assert tree(shown, LEVEL) == {"PROG-9": ["Warning"], "JR-2": ["Note"]}
    model.watch.changed.emit([result(BLANK, 3)])
    assert tree(shown, LEVEL) == {"JR-2": ["Error", "Note"], "PROG-9": ["Warning"]}
    assert group(shown, 0)[LEVEL] == "Error"


def test_groups_are_sorted_as_their_findings_are(grouped: FindingsFilter) -> None:
    grouped.sort(COUNT, Qt.SortOrder.DescendingOrder)
    assert list(tree(grouped)) == ["JR-2", "PROG-9"]
    grouped.sort(RULE, Qt.SortOrder.DescendingOrder)
    assert list(tree(grouped)) == ["PROG-9", "JR-2"]
    grouped.sort(JOB)
    assert tree(grouped, JOB)["JR-2"][-1].startswith("9")


def test_a_restart_empties_all_groups(model: FindingsModel, grouped: FindingsFilter) -> None:
    model.watch.restarted.emit()
    assert (grouped.rowCount(), grouped.count) == (0, 0)
    model.watch.changed.emit([result(BLANK, 3)])
    assert tree(grouped, FIRST) == {"JR-2": ["3"]}


def test_side_by_side_there_are_no_groups(grouped: FindingsFilter) -> None:
    grouped.set_grouped(False)
    assert (grouped.rowCount(), grouped.count) == (4, 4)
    assert grouped.index(0, LEVEL).data(GROUP) is None


# The list of the pane


@pytest.fixture
def pane(qtbot: QtBot, appearance: Appearance) -> FindingsPane:
    found = FindingsModel()
    made = FindingsPane(found, appearance, Commands())
    found.setParent(made)
    made.restore({})
    expose(qtbot, made, 1000, 260)
    found.watch.changed.emit([result(FLOOD, 5, job=7), result(BLANK, 3), result(BLANK, 4)])
    return made


def test_groups_are_open_and_the_gravest_finding_is_chosen(pane: FindingsPane) -> None:
    assert pane.shown.is_grouped
    assert all(pane.tree.isExpanded(pane.shown.index(row, 0)) for row in range(2))
    finding = pane.current()
    assert finding is not None
    assert (finding.rule, finding.frames[0]) == ("JR-2", 3)
    assert pane.counts.text() == "3 findings"


def test_enter_closes_and_opens_a_rule_and_what_is_closed_stays_so(pane: FindingsPane) -> None:
    wanted: list[ReportedResult] = []
    pane.commands.commands.carry_out(OPEN, wanted.append)
    top = pane.shown.index(0, 0)
    pane.tree.setCurrentIndex(top)
    pane.tree.setFocus()
    QTest.keyClick(pane.tree, Qt.Key.Key_Return)
    assert not pane.tree.isExpanded(pane.shown.index(0, 0))
    pane.set_filter("rule == PROG-9")
    pane.set_filter("")
    assert not pane.tree.isExpanded(pane.shown.index(0, 0))
    pane.tree.setCurrentIndex(pane.shown.index(0, 0))
    QTest.keyClick(pane.tree, Qt.Key.Key_Return)
    assert pane.tree.isExpanded(pane.shown.index(0, 0))
    assert wanted == []


def test_a_rule_says_what_is_due_and_offers_what_is_about_findings_to_none(
    pane: FindingsPane,
) -> None:
    pane.tree.selectionModel().setCurrentIndex(
        pane.shown.index(0, 0), QItemSelectionModel.SelectionFlag.ClearAndSelect
    )
    text = pane.details.toPlainText()
    assert "JR-2: Output that is not a message" in text
    assert "How to fix it" in text
    assert "Observed" not in text
    assert not pane.commands[OPEN].isEnabled()
    assert pane.current() is None


def test_the_choice_survives_grouping_and_the_way_is_kept(pane: FindingsPane) -> None:
    last = list(pane.shown.indexes())[-1]
    pane.tree.setCurrentIndex(last)
    chosen = pane.current()
    pane.group_button.click()
    assert pane.current() == chosen
    assert pane.state() == {"grouped": False}
    assert pane.shown.rowCount() == 3
    pane.restore({"grouped": "damaged"})
    assert pane.state() == {"grouped": True}


def test_a_row_is_copied(pane: FindingsPane) -> None:
    pane.tree.setFocus()
    QTest.keyClick(pane.tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().split("\t")[:2] == ["Error", "JR-2"]


def test_a_narrow_list_leaves_room_for_the_text(pane: FindingsPane) -> None:
    assert not pane.tree.isColumnHidden(RULE)
    pane.resize(500, 260)
    assert pane.tree.isColumnHidden(SERVER)
    assert not pane.tree.isColumnHidden(TEXT)
    assert pane.tree.horizontalScrollBar().maximum() == 0


def test_in_a_wide_list_servers_are_wider_as_well(pane: FindingsPane) -> None:
    pane.resize(1_300, 260)
    before = pane.tree.columnWidth(SERVER)
    pane.resize(2_600, 260)
    assert 0 < before < pane.tree.columnWidth(SERVER) <= 2 * before


# The section of a job


@pytest.fixture
def of_job(qtbot: QtBot, appearance: Appearance) -> JobFindings:
    found = FindingsModel()
    made = JobFindings(found, appearance)
    found.setParent(made)
    qtbot.addWidget(made)
    made.model = found  # type: ignore[attr-defined]
    of_seven = [result(FLOOD, 5, job=7), result(BLANK, 6, job=7)]
    found.watch.changed.emit([*of_seven, result(BLANK, 3, job=8), result(BLANK, 4)])
    return made


def test_a_job_lists_its_own_findings_and_counts_them(of_job: JobFindings) -> None:
    counts: list[int] = []
    of_job.counted.connect(counts.append)
    of_job.show_job(7)
    assert [index.siblingAtColumn(RULE).data() for index in of_job.shown.indexes()] == [
        "JR-2",
        "PROG-9",
    ]
    of_job.show_job(8)
    of_job.model.watch.changed.emit([result(FLOOD, 9, job=8)])  # type: ignore[attr-defined]
    of_job.show_job(99)
    of_job.show_job(None)
    assert counts == [2, 1, 2, 0, 0]


def test_a_finding_of_a_job_asks_for_its_message(of_job: JobFindings) -> None:
    wanted: list[ReportedResult] = []
    of_job.jump_requested.connect(wanted.append)
    of_job.show_job(7)
    of_job.tree.activated.emit(of_job.shown.index(1, TEXT))
    assert [each.frames[0] for each in wanted] == [5]


def test_a_job_without_findings_says_so(of_job: JobFindings) -> None:
    of_job.show_job(1)
    assert not of_job.empty.isHidden()
    of_job.show_job(7)
    assert of_job.empty.isHidden()
