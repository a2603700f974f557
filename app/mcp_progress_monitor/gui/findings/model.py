"""The findings as rows, the judge behind them, and the state of each rule by server."""

from __future__ import annotations

import itertools
import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer, Signal, Slot

from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.formatting import number, one_line
from mcp_progress_monitor.gui.common.labels import Badge, ServerTitles
from mcp_progress_monitor.gui.common.tables import TitledTable
from mcp_progress_monitor.gui.feed import CHECKED_MS, Load, Throttle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_progress_monitor.checking.judge import SessionChecker
    from mcp_progress_monitor.checking.report import ReportedResult
    from mcp_progress_monitor.checking.results import Result, RuleState
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.tracker.snapshot import JobId

FINDING: Final = int(Qt.ItemDataRole.UserRole) + 1  # role of a row's `Checked`
IGNORED: Final = FINDING + 1  # role of whether the user ignores the rule for the server
SORTED: Final = FINDING + 2  # role of what a cell is sorted by
RULES: Final = FINDING + 3  # role of a server's `ServerRules`
GRAVITY: Final = FINDING + 4  # role of a row's `Level`
LEVEL, RULE, TEXT, SERVER, JOB, COUNT, FIRST = range(7)
TITLES: Final = ("Level", "Rule", "Finding", "Server", "Job", "Count", "First")
_RANKS: Final = {level: rank for rank, level in enumerate(Level)}
_LONGEST: Final = 300
_MORE_THAN_ROWS: Final = 1_000_000
_APART: Final = 64  # stretches of changed rows that are announced one by one
_DIGITS: Final = re.compile(r"\d+")
_Index = QModelIndex | QPersistentModelIndex
Ignored = tuple[str, str]  # a rule's id and a server's name


class FindingsModel(TitledTable):
    """One row for each rule and job or connection, in the order found; texts are made when shown.

    Also counts the badges of jobs and servers, without ignored findings.
    """

    badges_changed = Signal()  # `job_badges`, `server_badges` or `total` may have changed
    seen_again = Signal()  # known findings occurred in more messages
    ignored_changed = Signal()

    def __init__(self, titles: ServerTitles | None = None, parent: QObject | None = None) -> None:
        super().__init__(TITLES, parent, numbers=(COUNT, FIRST))
        self.titles: Final = titles or ServerTitles(self)
        self.titles.changed.connect(self._on_titles_changed)
        self.watch: Final = FindingsWatch(self)
        self._rows: list[Result] = []
        self._places: dict[int, int] = {}
        self._levels: list[Level] = []
        self._shown: dict[int, ReportedResult] = {}
        self._ignored: dict[Ignored, None] = {}
        self.job_badges: Mapping[JobId, Badge] = {}
        self.server_badges: Mapping[str, Badge] = {}
        self.total: Badge | None = None
        self.ignored_count = 0
        self.watch.changed.connect(self._on_changed)
        self.watch.restarted.connect(self._on_restarted)

    @property
    def ignored(self) -> Sequence[Ignored]:
        return tuple(self._ignored)

    def set_ignored(self, ignored: Iterable[Ignored]) -> None:
        """Ignore these rules for these servers, and no others."""
        wanted = dict.fromkeys(ignored)
        if wanted == self._ignored:
            return
        self._ignored = wanted
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, FIRST))
        self._count()
        self.ignored_changed.emit()

    def is_ignored(self, row: int) -> bool:
        result = self._rows[row]
        return (result.rule, result.server) in self._ignored

    def result(self, row: int) -> Result:
        return self._rows[row]

    def finding(self, row: int) -> ReportedResult:
        made = self._shown.get(row)
        if made is None:
            from mcp_progress_monitor.checking.report import checked  # late: not needed at startup

            made = self._shown[row] = checked(self._rows[row])
        return made

    def counts_of(self, job: JobId) -> Mapping[str, int]:
        """In how many messages of a job there is each finding that is not ignored, by text."""
        rows = (row for row, each in enumerate(self._rows) if each.job == job)
        shown = (row for row in rows if not self.is_ignored(row))
        return {self._rows[row].finding.rule.text: self._rows[row].count for row in shown}

    def find(self, finding: ReportedResult) -> ReportedResult | None:
        for row, each in enumerate(self._rows):
            is_same = (each.rule, each.first) == (finding.rule, finding.frames[0])
            if is_same and each.connection == finding.connection:
                return self.finding(row)
        return None

    def seen(self) -> Mapping[str, Iterable[str | int]]:
        names = ("rule", "server", "method", "connection")
        found: dict[str, Iterable[str | int]] = {
            name: dict.fromkeys(value for each in self._rows if (value := getattr(each, name)))
            for name in names
        }
        found["name"] = dict.fromkeys(each.title for each in self._rows if each.title)
        found["job"] = dict.fromkeys(each.job for each in self._rows if each.job is not None)
        return found

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.AccessibleTextRole and column == LEVEL and self.is_ignored(row):
            return f"{self._text(row, column)}, ignored"
        if role == FINDING:
            return self.finding(row)
        if role == IGNORED:
            return self.is_ignored(row)
        if role == GRAVITY:
            return self._rows[row].level
        return self._sort_key(row, column) if role == SORTED else None

    def _sort_key(self, row: int, column: int) -> Any:
        """The sort key of a cell; equal ones stay in the order found."""
        result = self._rows[row]
        if column == LEVEL:
            return level_key(result.level, row)
        if column in (RULE, SERVER, TEXT):
            text = result.server.casefold() if column == SERVER else result.rule
            return text_key(result.finding.rule.text if column == TEXT else text, row)
        if column == JOB:
            return -1 if result.job is None else result.job
        return result.count if column == COUNT else result.first

    def _text(self, row: int, column: int) -> str:
        result = self._rows[row]
        if column == LEVEL:
            return result.level.value.capitalize()
        if column == RULE:
            return result.rule
        if column == TEXT:
            return one_line(self.finding(row).text, _LONGEST)
        if column == SERVER:
            return self.titles.text(result.server)
        if column == JOB:
            return _job_text(result)
        return number(result.count if column == COUNT else result.first)

    @Slot()
    def _on_titles_changed(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, SERVER), self.index(len(self._rows) - 1, SERVER))

    @Slot(object)
    def _on_changed(self, changed: Sequence[Result]) -> None:
        added = [each for each in changed if id(each) not in self._places]
        known = sorted(self._places[id(each)] for each in changed if id(each) in self._places)
        if added:
            first = len(self._rows)
            self.beginInsertRows(QModelIndex(), first, first + len(added) - 1)
            for place, each in enumerate(added, first):
                self._places[id(each)] = place
            self._rows += added
            self.endInsertRows()
        is_graver = any(self._rows[row].level is not self._levels[row] for row in known)
        for row in known:
            self._shown.pop(row, None)
            self._levels[row] = self._rows[row].level
        self._levels += [each.level for each in added]
        stretches = _stretches(known)
        if len(stretches) > _APART:
            stretches = [range(known[0], known[-1] + 1)]
        # Of what is only seen again, text and count: by the others views would sort again.
        left, right = (LEVEL, FIRST) if is_graver else (TEXT, COUNT)
        for rows in stretches:
            self.dataChanged.emit(self.index(rows[0], left), self.index(rows[-1], right))
        if is_graver:
            self._count()
        elif added:
            self._count_added(added)
        else:
            self.seen_again.emit()

    @Slot()
    def _on_restarted(self) -> None:
        self.beginResetModel()
        self._rows, self._places, self._shown, self._levels = [], {}, {}, []
        self.endResetModel()
        self._count()

    def _count(self) -> None:
        self.job_badges, self.server_badges, self.total, self.ignored_count = {}, {}, None, 0
        self._count_added(self._rows)

    def _count_added(self, added: Sequence[Result]) -> None:
        jobs, servers = dict(self.job_badges), dict(self.server_badges)
        for each in added:
            if (each.rule, each.server) in self._ignored:
                self.ignored_count += 1
                continue
            level = each.level
            self.total = (self.total or Badge(0, level)).plus(level)
            servers[each.server] = servers.get(each.server, Badge(0, level)).plus(level)
            if each.job is not None:
                jobs[each.job] = jobs.get(each.job, Badge(0, level)).plus(level)
        self.job_badges, self.server_badges = jobs, servers
        self.badges_changed.emit()


def _stretches(rows: Sequence[int]) -> list[range]:
    """Consecutive rows as ranges: each signal costs a view 3 ms."""
    found: list[range] = []
    for row in rows:
        if found and found[-1].stop == row:
            found[-1] = range(found[-1].start, row + 1)
        else:
            found.append(range(row, row + 1))
    return found


def level_key(level: Level, row: int) -> int:
    """The sort key of a level; equal ones stay in the order found."""
    return _RANKS[level] * _MORE_THAN_ROWS + row


def text_key(text: str, row: int) -> str:
    """The sort key of a text: natural order, equal ones in the order found."""
    return f"{_DIGITS.sub(lambda found: found[0].zfill(4), text)}\0{row:06d}"


def _job_text(result: Result) -> str:
    name = one_line(result.title or result.method)
    return name if result.job is None else f"{result.job}  {name}"


class ServerRules(NamedTuple):
    """A server, its revisions, and the state of its rules."""

    name: str
    revisions: tuple[str, ...]
    state: RuleState


RULE_TITLES: Final = ("Server", "Revisions", "Tested", "Passed", "Violated", "Not applicable")


class RulesModel(TitledTable):
    """One row for each server: rules tested, passed, violated, not applicable."""

    def __init__(self, titles: ServerTitles | None = None, parent: QObject | None = None) -> None:
        super().__init__(RULE_TITLES, parent, numbers=range(2, len(RULE_TITLES)))
        self.titles: Final = titles or ServerTitles(self)
        self._rows: list[ServerRules] = []

    def show_rules(self, rows: Sequence[ServerRules]) -> None:
        if [each.name for each in rows] != [each.name for each in self._rows]:
            self.beginResetModel()
            self._rows = list(rows)
            self.endResetModel()
        elif list(rows) != self._rows:
            self._rows = list(rows)
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(RULE_TITLES) - 1))

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == RULES:
            return row
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(index.column())
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        state = row.state
        counts = (state.tried, len(state.passed), len(state.broken), len(state.not_applicable))
        texts = (self.titles.text(row.name), ", ".join(row.revisions) or "not negotiated")
        return (*texts, *map(number, counts))[index.column()]


INTERVAL_MS: Final = 100  # between two publications, at least
_SHARE: Final = 10
"""After a slow publication, the pause is so many times its length."""
_MOST_AT_ONCE: Final = 10  # findings published at once: some 2 ms of work for the list
_PASSING_MS: Final = 5_000  # interval between checks for silence, at most
_LATER_MS: Final = 500
"""Delay of the check after a deadline: a tap's recording is read a little later than written."""


class JobsOfRequests(Protocol):
    """Which job a request belongs to; `Jobs` fits."""

    def job_of(self, request: int) -> JobId | None:
        """The job of a request's frame."""


class JudgedSource(Protocol):
    """Where updates come from; `Engine` and `Playback` fit."""

    def now(self) -> float:
        """Monotonic seconds, on the clock of frames."""

    @property
    def jobs(self) -> JobsOfRequests:
        """Its jobs."""

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        """Call `listener` for every update until the returned function is called."""


class FindingsWatch(QObject):
    """Checks what a source publishes against the rules.

    Chunks of plain ticks cost only a few steps. Silence is judged while it lasts, by a timer that
    runs while the judge waits for something.
    """

    changed = Signal(object)  # `list[Result]`: new ones and those that occurred again; never empty
    restarted = Signal()  # all findings are gone

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: JudgedSource | None = None
        self._check: SessionChecker | None = None
        self._leave: Callable[[], None] | None = None
        self._is_finished = False
        self._publishing = QTimer(self, singleShot=True)
        self._publishing.timeout.connect(self._on_due)
        self._throttle = Throttle()
        self._passing = QTimer(self, singleShot=True)
        self._passing.timeout.connect(self._pass_time)
        self._pause_ms = INTERVAL_MS
        self._pending: dict[int, Result] = {}
        """The results that views do not show yet, each once."""

    def follow(self, source: JudgedSource) -> None:
        self.detach()
        self._source = source
        self._begin()
        self._leave = source.subscribe(self._on_update)

    def detach(self) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None
        self._publishing.stop()
        self._passing.stop()

    @Slot()
    def restart(self) -> None:
        """Forget everything: the source starts again."""
        if self._source is not None:
            self._begin()
        self.restarted.emit()

    @Slot()
    def finish(self) -> None:
        """Judge what only the end of a session shows, for a recording that was read completely."""
        if self._check is not None and not self._is_finished:
            self._is_finished = True
            self._passing.stop()
            self._check.judge.finish()
            self.publish()

    @property
    def is_idle(self) -> bool:
        """True if nothing is pending: no timer runs."""
        return not self._publishing.isActive()

    @property
    def results(self) -> Sequence[Result]:
        return () if self._check is None else tuple(self._check.judge.results)

    @property
    def dropped(self) -> int:
        return 0 if self._check is None else self._check.judge.results.dropped

    @property
    def unchecked(self) -> int:
        """Messages that were not compared with the official schemas: too large, or too deep."""
        return 0 if self._check is None else self._check.schemas.unchecked

    def rules(self) -> Mapping[str, RuleState]:
        return {} if self._check is None else self._check.judge.results.servers()

    def revisions(self, server: str) -> tuple[str, ...]:
        return () if self._check is None else self._check.judge.results.revisions(server)

    @Slot()
    def publish(self) -> None:
        self._publishing.stop()
        if self._check is not None:
            self._check.judge.results.fresh()  # not used here
            self._pending |= {id(each): each for each in self._check.judge.results.changed()}
        changed = list(itertools.islice(self._pending.values(), _MOST_AT_ONCE))
        if not changed:
            return
        for each in changed:
            del self._pending[id(each)]
        began = time.perf_counter()
        self.changed.emit(changed)
        took_ms = (time.perf_counter() - began) * 1000
        self._pause_ms = max(INTERVAL_MS, round(took_ms * _SHARE))
        if self._pending:
            self._publishing.start(self._pause_ms)

    @Slot()
    def _on_due(self) -> None:
        if self._throttle.postpone(Load.until_now()):
            self._publishing.start(CHECKED_MS)
        else:
            self.publish()

    def _begin(self) -> None:
        from mcp_progress_monitor.checking.judge import SessionChecker  # late: no start waits

        source = self._source
        if source is not None:
            self._check = SessionChecker(source.jobs.job_of)
        self._is_finished = False
        self._pending.clear()
        self._passing.stop()

    def _on_update(self, update: Update) -> None:
        check = self._check
        if check is None or not update.frames:
            return
        check.take(update.frames, update.facts, update.changes.marked)
        if not self._passing.isActive():
            self._passing.start(_PASSING_MS)
        self._publish_soon(check)

    @Slot()
    def _pass_time(self) -> None:
        """Judge what silence has shown, and schedule the next look."""
        check, source = self._check, self._source
        if check is None or source is None:
            return
        now = source.now()
        due = check.judge.pass_time(now)
        if due is not None:
            left_ms = round((due - now) * 1000) + _LATER_MS
            self._passing.start(max(_LATER_MS, min(left_ms, _PASSING_MS)))
        self._publish_soon(check)

    def _publish_soon(self, check: SessionChecker) -> None:
        if check.judge.results.has_changed and not self._publishing.isActive():
            self._publishing.start(self._pause_ms)
