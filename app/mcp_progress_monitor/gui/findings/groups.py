"""The findings grouped by rule, and the filter over groups and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Slot,
)

from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.formatting import count, number
from mcp_progress_monitor.gui.findings.model import (
    COUNT,
    FINDING,
    FIRST,
    GRAVITY,
    IGNORED,
    JOB,
    LEVEL,
    RULE,
    SERVER,
    SORTED,
    TEXT,
    level_key,
    text_key,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.checking.report import ReportedResult
    from mcp_progress_monitor.gui.common.labels import ServerTitles
    from mcp_progress_monitor.gui.findings.model import FindingsModel
    from mcp_progress_monitor.tracker.snapshot import JobId

GROUP: Final = FINDING + 5  # role of the rule whose group a row is; None for a finding
_NONE: Final = ()
_Index = QModelIndex | QPersistentModelIndex


class _Group(NamedTuple):
    """A rule, and the rows of its findings."""

    rule: str
    rows: list[int]


class Summary(NamedTuple):
    """The summary of a group, made of the findings that pass the filter."""

    level: Level
    rows: int
    jobs: int
    servers: tuple[str, ...]
    messages: int
    first: int
    row: int  # the row of the first finding


class RuleGroups(QAbstractItemModel):
    """Findings as children of their rules; rules are in the order found."""

    def __init__(
        self, findings: FindingsModel, is_shown: Callable[[int], bool], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._findings = findings
        self._is_shown = is_shown
        self._groups: list[_Group] = []
        self._by_rule: dict[str, int] = {}
        self._summaries: dict[int, Summary] = {}
        self._add(range(findings.rowCount()))
        findings.rowsInserted.connect(self._on_inserted)
        findings.dataChanged.connect(self._on_changed)
        findings.modelAboutToBeReset.connect(self.beginResetModel)
        findings.modelReset.connect(self._on_reset)

    def row_of(self, group: int, place: int) -> int:
        return self._groups[group].rows[place]

    def count_again(self) -> None:
        self._summaries.clear()
        if self._groups:
            last = self.index(len(self._groups) - 1, FIRST)
            self.dataChanged.emit(self.index(0, LEVEL), last)

    def index(self, row: int, column: int, parent: _Index = QModelIndex()) -> QModelIndex:
        """A finding's internal id is the number of its group from 1; a group's is 0."""
        # Not by `hasIndex`: sorting asks for thousands, and it calls two of these methods.
        if not (0 <= row < self.rowCount(parent) and 0 <= column <= FIRST):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, index: _Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]
        group = index.internalId() if index.isValid() else 0
        return self.createIndex(group - 1, 0, 0) if group else QModelIndex()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        if not parent.isValid():
            return len(self._groups)
        is_group = not parent.internalId() and parent.column() == 0
        return len(self._groups[parent.row()].rows) if is_group else 0

    def columnCount(self, _parent: _Index = QModelIndex()) -> int:
        return FIRST + 1

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        return self._findings.headerData(section, orientation, role)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column, group = index.column(), index.internalId()
        if group:
            row = self._groups[group - 1].rows[index.row()]
            return self._findings.data(self._findings.index(row, column), role)
        if role == GROUP:
            return self._groups[index.row()].rule
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._findings.alignment(column)
        return self._of_group(index.row(), column, role)

    def _of_group(self, place: int, column: int, role: int) -> Any:
        rule, summary = self._groups[place].rule, self.summary(place)
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(rule, summary, column, self._findings.titles)
        if role == Qt.ItemDataRole.AccessibleTextRole and column == LEVEL:
            return f"{rule}, {count(summary.rows, 'finding')}"
        if role == GRAVITY:
            return summary.level
        if role == SORTED:
            return _sort_key(rule, summary, column)
        return False if role == IGNORED else None

    def summary(self, place: int) -> Summary:
        made = self._summaries.get(place)
        if made is None:
            made = self._summaries[place] = self._summarised(self._groups[place].rows)
        return made

    def _summarised(self, rows: list[int]) -> Summary:
        shown = [row for row in rows if self._is_shown(row)] or rows[:1]
        results = [self._findings.result(row) for row in shown]
        level = min((each.level for each in results), key=list(Level).index)
        return Summary(
            level,
            len(results),
            len({each.job for each in results} - {None}),
            tuple(dict.fromkeys(each.server for each in results)),
            sum(each.count for each in results),
            min(each.first for each in results),
            shown[0],
        )

    @Slot(QModelIndex, int, int)
    def _on_inserted(self, _parent: _Index, first: int, last: int) -> None:
        self._add(range(first, last + 1))

    def _add(self, rows: Iterable[int]) -> None:
        added: dict[str, list[int]] = {}
        for row in rows:
            added.setdefault(self._findings.result(row).rule, []).append(row)
        for rule, of_rule in added.items():
            place = self._by_rule.get(rule)
            if place is None:
                place = len(self._groups)
                self.beginInsertRows(QModelIndex(), place, place)
                self._by_rule[rule] = place
                self._groups.append(_Group(rule, of_rule))
                self.endInsertRows()
                continue
            known = self._groups[place].rows
            self.beginInsertRows(self.index(place, 0), len(known), len(known) + len(of_rule) - 1)
            known.extend(of_rule)
            self.endInsertRows()
            self._announce(place)

    def _announce(self, place: int, left: int = LEVEL, right: int = FIRST) -> None:
        self._summaries.pop(place, None)
        self.dataChanged.emit(self.index(place, left), self.index(place, right))

    @Slot(QModelIndex, QModelIndex)
    def _on_changed(self, first: QModelIndex, last: QModelIndex) -> None:
        rows = range(first.row(), last.row() + 1)
        left, right = first.column(), last.column()
        for place in {self._by_rule[self._findings.result(row).rule] for row in rows}:
            group = self.index(place, 0)
            changed = [at for at, row in enumerate(self._groups[place].rows) if row in rows]
            self.dataChanged.emit(
                self.index(changed[0], left, group), self.index(changed[-1], right, group)
            )
            self._announce(place, left, right)

    @Slot()
    def _on_reset(self) -> None:
        self._groups, self._by_rule, self._summaries = [], {}, {}
        self.endResetModel()
        self._add(range(self._findings.rowCount()))


def _text(rule: str, summary: Summary, column: int, titles: ServerTitles) -> str:
    from mcp_progress_monitor.findings.advice import ADVICE  # late: not needed at startup

    if column == LEVEL:
        return summary.level.value.capitalize()
    if column == RULE:
        return rule
    if column == TEXT:
        return f"{ADVICE[rule].title} ({number(summary.rows)})"
    if column == SERVER:
        servers = summary.servers
        return titles.text(servers[0]) if len(servers) == 1 else count(len(servers), "server")
    if column == JOB:
        return count(summary.jobs, "job") if summary.jobs else ""
    return number(summary.messages if column == COUNT else summary.first)


def _sort_key(rule: str, summary: Summary, column: int) -> Any:
    if column == LEVEL:
        return level_key(summary.level, summary.row)
    if column in (RULE, SERVER, TEXT):
        text = "\0".join(summary.servers).casefold() if column == SERVER else rule
        return text_key(text, summary.row)
    if column == JOB:
        return summary.jobs
    return summary.messages if column == COUNT else summary.first


class FindingsFilter(QSortFilterProxyModel):
    """Shows the findings that pass a test, ignored ones only on request.

    They may be grouped by rule; groups without any are hidden.
    """

    def __init__(self, findings: FindingsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._findings = findings
        self._passes: Callable[[ReportedResult], bool] | None = None
        self._job: JobId | None = None
        self.shows_ignored = False
        self._groups: RuleGroups | None = None
        self.setRecursiveFilteringEnabled(True)
        self.titles: Final = findings.titles
        self.setSourceModel(findings)
        self.setSortRole(SORTED)
        self.sort(LEVEL)
        findings.ignored_changed.connect(self._filter_again)

    @property
    def is_grouped(self) -> bool:
        return self._groups is not None

    @property
    def has_test(self) -> bool:
        return self._passes is not None

    @property
    def count(self) -> int:
        if self._groups is None:
            return self.rowCount()
        return sum(self.rowCount(self.index(row, 0)) for row in range(self.rowCount()))

    def indexes(self) -> Iterable[QModelIndex]:
        """The first cells of all shown findings, in order."""
        for row in range(self.rowCount()):
            index = self.index(row, LEVEL)
            if self._groups is None:
                yield index
            else:
                yield from (self.index(n, LEVEL, index) for n in range(self.rowCount(index)))

    def set_grouped(self, is_wanted: bool) -> None:  # a slot's
        if is_wanted == self.is_grouped:
            return
        old = self._groups
        self._groups = RuleGroups(self._findings, self._accepts, self) if is_wanted else None
        self.setSourceModel(self._groups or self._findings)
        if old is not None:
            old.deleteLater()

    def set_test(self, passes: Callable[[ReportedResult], bool] | None) -> None:
        self.beginFilterChange()
        self._passes = passes
        self._end_change()

    def set_job(self, job: JobId | None) -> None:
        if job != self._job:
            self.beginFilterChange()
            self._job = job
            self._end_change()

    @Slot(bool)
    def set_shows_ignored(self, is_wanted: bool) -> None:
        self.beginFilterChange()
        self.shows_ignored = is_wanted
        self._end_change()

    @Slot()
    def _filter_again(self) -> None:
        self.beginFilterChange()
        self._end_change()

    def _end_change(self) -> None:
        if self._groups is not None:
            self._groups.count_again()
        self.endFilterChange(self.Direction.Rows)

    def filterAcceptsRow(self, source_row: int, source_parent: _Index) -> bool:
        """Return whether a source row passes the filter; a group does with any of its findings."""
        if self._groups is None:
            return self._accepts(source_row)
        if not source_parent.isValid():
            return False
        return self._accepts(self._groups.row_of(source_parent.row(), source_row))

    def _accepts(self, row: int) -> bool:
        if self._job is not None and self._findings.result(row).job != self._job:
            return False
        if not self.shows_ignored and self._findings.is_ignored(row):
            return False
        return self._passes is None or self._passes(self._findings.finding(row))
