"""The judge behind the window: fed from the same updates as all panes, and never in their way."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, Protocol

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from mcp_progress_monitor.gui.deferred_startup import loading_schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_progress_monitor.checking.results import Result, RuleState
    from mcp_progress_monitor.checking.session import SessionChecker
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.tracker.snapshot import JobId

INTERVAL_MS: Final = 100  # between two publications, at least
_SHARE: Final = 10
"""After a publication that took long there is a pause of so many times its length."""
_MOST_AT_ONCE: Final = 250  # findings of one publication: some 30 ms of work for the list
_PASSING_MS: Final = 5_000  # between two looks at what time alone shows, at most
_LATER_MS: Final = 500
"""So long after something was due: a tap's recording is read a little later than it is written."""
_WORK_S: Final = 0.004
_WORK_MS: Final = 100
_IDLE_WORK_MS: Final = 1
"""Between two slices of comparing messages with their schemas: while they come, and afterwards."""


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
    """Judges what a source publishes.

    Chunks of plain ticks cost the few steps that the judge needs for them. What silence shows is
    judged while it lasts, by a timer that runs as long as the judge waits for something. Messages
    are compared with the official schemas a little at a time; in a flood some are left out and
    counted.
    """

    changed = Signal(object)  # `list[Result]`: those that are new or were seen again; never empty
    rested = Signal()  # no message waits for the official schemas any more
    restarted = Signal()  # all that was found is gone

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: JudgedSource | None = None
        self._check: SessionChecker | None = None
        self._leave: Callable[[], None] | None = None
        self._is_finished = False
        self._publishing = QTimer(self)
        self._publishing.setSingleShot(True)
        self._publishing.timeout.connect(self.publish)
        self._working = QTimer(self)
        self._working.timeout.connect(self._work)
        self._passing = QTimer(self)
        self._passing.setSingleShot(True)
        self._passing.timeout.connect(self._pass_time)
        self._pause_ms = INTERVAL_MS
        self._pending: list[Result] = []
        self._loading = list(loading_schemas())

    def follow(self, source: JudgedSource) -> None:
        self.detach()
        self._source = source
        self._begin()
        self._leave = source.subscribe(self._take)

    def detach(self) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None
        self._publishing.stop()
        self._working.stop()
        self._passing.stop()

    @Slot()
    def restart(self) -> None:
        """Forget everything: the source starts again."""
        if self._source is not None:
            self._begin()
        self.restarted.emit()

    @Slot()
    def finish(self) -> None:
        """Judge what only the end of a session shows; for a recording that was read to its end."""
        if self._check is not None and not self._is_finished:
            self._is_finished = True
            self._passing.stop()
            self._check.judge.finish()
            self._working.setInterval(_IDLE_WORK_MS)
            self.publish()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be published, and no message waits: no timer runs."""
        return not (self._publishing.isActive() or self._working.isActive())

    @property
    def results(self) -> Sequence[Result]:
        return () if self._check is None else tuple(self._check.judge.results)

    @property
    def dropped(self) -> int:
        return 0 if self._check is None else self._check.judge.results.dropped

    @property
    def waiting(self) -> int:
        return 0 if self._check is None else self._check.waiting

    @property
    def unchecked(self) -> int:
        """Messages that were not compared with the official schemas: too large, or too many."""
        return 0 if self._check is None else self._check.schemas.unchecked

    def rules(self) -> Mapping[str, RuleState]:
        return {} if self._check is None else self._check.judge.results.servers()

    def revisions(self, server: str) -> tuple[str, ...]:
        return () if self._check is None else self._check.judge.results.revisions(server)

    @Slot()
    def publish(self) -> None:
        self._publishing.stop()
        if self._check is not None:
            self._check.judge.results.fresh()  # not asked for here
            self._pending += self._check.judge.results.changed()
        changed, self._pending = self._pending[:_MOST_AT_ONCE], self._pending[_MOST_AT_ONCE:]
        if not changed:
            return
        began = time.perf_counter()
        self.changed.emit(changed)
        took_ms = (time.perf_counter() - began) * 1000
        self._pause_ms = max(INTERVAL_MS, round(took_ms * _SHARE))
        if self._pending:
            self._publishing.start(self._pause_ms)

    def _begin(self) -> None:
        from mcp_progress_monitor.checking.schemas import SchemaChecks  # late: no start waits
        from mcp_progress_monitor.checking.session import SessionChecker
        from mcp_progress_monitor.json_schema import QUICK_S

        source = self._source
        if source is not None:
            schemas = SchemaChecks(math.inf, QUICK_S)
            self._check = SessionChecker(source.jobs.job_of, schemas=schemas)
        self._is_finished = False
        self._pending.clear()
        self._working.stop()
        self._working.setInterval(_WORK_MS)
        self._passing.stop()

    def _take(self, update: Update) -> None:
        check = self._check
        if check is None or not update.frames:
            return
        check.take(update.frames, update.facts, update.changes.marked)
        if check.waiting and not self._working.isActive():
            self._working.start()
        if not self._passing.isActive():
            self._passing.start(_PASSING_MS)
        self._expect(check)

    @Slot()
    def _pass_time(self) -> None:
        """Judge what time alone has shown, and look again when more may have shown."""
        check, source = self._check, self._source
        if check is None or source is None:
            return
        now = source.now()
        due = check.judge.pass_time(now)
        if due is not None:
            left_ms = round((due - now) * 1000) + _LATER_MS
            self._passing.start(max(_LATER_MS, min(left_ms, _PASSING_MS)))
        self._expect(check)

    def _expect(self, check: SessionChecker) -> None:
        if check.judge.results.has_changed and not self._publishing.isActive():
            self._publishing.start(self._pause_ms)

    @Slot()
    def _work(self) -> None:
        check = self._check
        if self._loading:  # all of it at once would take 60 ms
            self._loading.pop(0)()
            return
        if check is None or not check.work(_WORK_S):
            self._working.stop()
            self.rested.emit()
        if check is not None:
            self._expect(check)
