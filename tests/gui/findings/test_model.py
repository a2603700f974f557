"""Findings as rows: counted, sorted, filtered, ignored, and never more than are kept."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from mcp_progress_monitor.checking import report
from mcp_progress_monitor.checking.connection import Evidence, JudgedConnection, ServerMemory
from mcp_progress_monitor.checking.results import Result, RuleState
from mcp_progress_monitor.filtering.findings import finding_filter
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding, Level, Rule
from mcp_progress_monitor.gui.common.labels import Badge
from mcp_progress_monitor.gui.findings.groups import FindingsFilter
from mcp_progress_monitor.gui.findings.model import (
    COUNT,
    FINDING,
    FIRST,
    LEVEL,
    RULE,
    TEXT,
    FindingsModel,
    RulesModel,
    ServerRules,
)
from mcp_progress_monitor.protocol.facts import Side

FLOOD = (rules.TICK_FLOOD, (50,))
BLANK = (rules.BLANK_LINE, ())
LEFT = (rules.MORE_OF_THE_KIND, ())


def result(
    what: tuple[Rule, tuple[Any, ...]], frame: int, server: str = "db", job: int | None = None
) -> Result:
    evidence = Evidence(Finding(*what), frame, None, Side.SERVER)
    made = Result(JudgedConnection(f"{server}#1", ServerMemory(server)), None, evidence, job)
    made.add(evidence)
    return made


@pytest.fixture
def model(qapp: object) -> FindingsModel:
    made = FindingsModel()
    made.tester = QAbstractItemModelTester(made)  # type: ignore[attr-defined]
    return made


def texts(rows: Any, column: int) -> list[str]:
    return [rows.index(row, column).data() for row in range(rows.rowCount())]


def test_rows_come_in_the_order_found_and_are_counted(model: FindingsModel) -> None:
    one, two = result(BLANK, 3), result(FLOOD, 5, job=7)
    model.watch.changed.emit([one])
    model.watch.changed.emit([two])
    assert texts(model, RULE) == ["JR-2", "PROG-9"]
    assert model.total == Badge(2, Level.ERROR)
    assert model.server_badges == {"db": Badge(2, Level.ERROR)}
    assert model.job_badges == {7: Badge(1, Level.WARNING)}


def test_what_is_seen_again_changes_its_row_alone(model: FindingsModel) -> None:
    one, two = result(BLANK, 3), result(FLOOD, 5)
    model.watch.changed.emit([one, two])
    changed: list[int] = []
    model.dataChanged.connect(lambda first, _last: changed.append(first.row()))
    assert model.finding(1).times == 1
    two.add(Evidence(two.finding, 9, None, Side.SERVER))
    model.watch.changed.emit([two])
    assert changed == [1]
    assert model.finding(1).times == 2


def test_what_is_only_seen_again_changes_no_column_that_is_sorted_by_default(
    model: FindingsModel,
) -> None:
    one = result(FLOOD, 3)
    shown = FindingsFilter(model)
    shown.set_grouped(is_wanted=True)
    model.watch.changed.emit([one])
    columns: list[tuple[int, int]] = []
    for each in (model, shown.sourceModel()):
        each.dataChanged.connect(lambda a, b: columns.append((a.column(), b.column())))
    one.add(Evidence(one.finding, 4, None, Side.SERVER))
    model.watch.changed.emit([one])
    assert set(columns) == {(TEXT, COUNT)}


def test_what_is_graver_than_before_changes_all_columns(model: FindingsModel) -> None:
    one = result(FLOOD, 3)
    model.watch.changed.emit([one])
    columns: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda a, b: columns.append((a.column(), b.column())))
    one.add(Evidence(Finding(*BLANK), 5, None, Side.SERVER))
    model.watch.changed.emit([one])
    assert columns == [(LEVEL, FIRST)]


def test_badges_are_counted_again_only_when_they_may_differ(model: FindingsModel) -> None:
    one = result(FLOOD, 3)
    model.watch.changed.emit([one])
    counted: list[None] = []
    model.badges_changed.connect(lambda: counted.append(None))
    one.add(Evidence(one.finding, 4, None, Side.SERVER))
    model.watch.changed.emit([one])
    assert counted == []
    one.add(Evidence(Finding(*BLANK), 5, None, Side.SERVER))
    model.watch.changed.emit([one])
    assert (len(counted), model.total) == (1, Badge(1, Level.ERROR))


def test_many_changes_are_announced_as_one(model: FindingsModel) -> None:
    many = [result(BLANK, number, f"s{number}") for number in range(1, 101)]
    model.watch.changed.emit(many)
    spans: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last: spans.append((first.row(), last.row())))
    model.watch.changed.emit(many)
    assert spans == [(0, 99)]


def test_rows_that_follow_each_other_are_announced_together(model: FindingsModel) -> None:
    some = [result(BLANK, number, f"s{number}") for number in range(1, 9)]
    model.watch.changed.emit(some)
    spans: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last: spans.append((first.row(), last.row())))
    model.watch.changed.emit([some[n] for n in (4, 1, 2, 5, 7)])
    assert spans == [(1, 2), (4, 5), (7, 7)]


def test_the_gravest_stand_first_and_rules_sort_by_number(model: FindingsModel) -> None:
    shown = FindingsFilter(model)
    model.watch.changed.emit([result(LEFT, 1), result(FLOOD, 2), result(BLANK, 3)])
    assert texts(shown, LEVEL) == ["Error", "Warning", "Note"]
    shown.sort(RULE, Qt.SortOrder.DescendingOrder)
    assert texts(shown, RULE)[0] == "PROG-9"


def test_what_is_ignored_is_hidden_counted_and_comes_back(model: FindingsModel) -> None:
    shown = FindingsFilter(model)
    model.watch.changed.emit([result(BLANK, 3, "a"), result(BLANK, 4, "b"), result(FLOOD, 5, "a")])
    model.set_ignored([("JR-2", "a")])
    assert [each.data(FINDING).server for each in (shown.index(r, 0) for r in range(2))] == [
        "b",
        "a",
    ]
    assert model.ignored_count == 1
    assert model.server_badges == {"b": Badge(1, Level.ERROR), "a": Badge(1, Level.WARNING)}
    shown.set_shows_ignored(True)
    assert shown.rowCount() == 3
    text = model.index(0, LEVEL).data(Qt.ItemDataRole.AccessibleTextRole)
    assert text == "Error, ignored"
    model.set_ignored([])
    shown.set_shows_ignored(False)
    assert (shown.rowCount(), model.ignored_count) == (3, 0)


def test_a_filter_follows_what_changes(model: FindingsModel) -> None:
    shown = FindingsFilter(model)
    shown.set_test(finding_filter("count >= 2"))
    one = result(BLANK, 3)
    model.watch.changed.emit([one])
    assert shown.rowCount() == 0
    one.add(Evidence(one.finding, 4, None, Side.SERVER))
    model.watch.changed.emit([one])
    assert shown.rowCount() == 1
    shown.set_test(None)
    assert not shown.has_test


def test_texts_are_made_only_for_rows_that_are_looked_at(
    model: FindingsModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    checked = report.checked

    def counted(each: Result) -> report.ReportedResult:
        made.append(each.first)
        return checked(each)

    monkeypatch.setattr(report, "checked", counted)
    FindingsFilter(model)
    model.watch.changed.emit([result(BLANK, number, f"s{number}") for number in range(1, 501)])
    assert made == []
    model.index(3, 2).data()
    assert made == [4]


def test_servers_keep_their_rows_while_rules_are_tried(qapp: object) -> None:
    model = RulesModel()
    resets: list[None] = []
    model.modelReset.connect(lambda: resets.append(None))
    model.show_rules([ServerRules("db", ("2025-11-25",), RuleState(("A",), (), ("B",)))])
    model.show_rules([ServerRules("db", ("2025-11-25",), RuleState((), ("A",), ("B",)))])
    assert len(resets) == 1
    row = [model.index(0, column).data() for column in range(model.columnCount())]
    assert row == ["db", "2025-11-25", "1", "0", "1", "1"]


def test_badges_say_how_grave_it_is() -> None:
    badge = Badge(1, Level.NOTE).plus(Level.WARNING)
    assert badge == Badge(2, Level.WARNING)
    assert badge.spoken == "2 findings, highest severity: warning"
    assert Badge(1, Level.NOTE).spoken == "1 finding: note"
