"""The engine's event stream in batches for the window: at most ten a second."""

from __future__ import annotations

import collections
import math
import operator
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from mcp_progress_monitor.protocol.facts import NotificationReceived
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.messages import LOG_MESSAGE
from mcp_progress_monitor.tracker.snapshot import ChangeSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.tracker.snapshot import JobId

INTERVAL_MS: Final = 100
"""Time between two batches of a kind: at most ten updates a second for each token."""
FORGIVEN_MS: Final = 10
"""How late or long a batch may be without delaying the next one.

If every millisecond of a timer were added up, updates that come ten times a second would fall
behind their batches more each time: then they would wait half an interval on average, although they
could be published at once, and be painted just when the next ones arrive.
"""
APART_MS: Final = 33
"""Least time between batches of two kinds, so that Qt paints the effect of one before the next."""

GUI_SHARE: Final = 1 / 8
"""The most of a saturated thread's time that the window takes, where it can choose."""
LONGEST_MS: Final = 300  # between two batches of a kind, however saturated the thread is
CHECKED_MS: Final = 20
"""How often a postponed batch is considered again: it is published once the load is gone."""
SATURATED: Final = 0.85
"""A thread that runs so much of the time that it could run has none left (measured: 0.87 to 1)."""

_BUSY: Final = 1 / 3
"""With less to do for callbacks, the window is what keeps the thread busy: nothing waits for it."""

_LOGGED: Final = 10_000  # newest log messages of a batch: as many as are shown
_LIFE: Final = (b'{"event":"opened"', b'{"event":"closed"')


def is_lifecycle(frame: Frame) -> bool:
    """Return whether a frame is the event that a connection was opened or closed."""
    return frame.raw.startswith(_LIFE)


class Publisher(Protocol):
    """The source of updates: an engine or a playback."""

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        """Call `listener` for every update until the returned function is called."""


class JobChanges:
    """Changes of jobs, gathered; a job that was added and removed meanwhile is left out."""

    def __init__(self) -> None:
        self._added: dict[JobId, None] = {}
        self._removed: dict[JobId, None] = {}
        self._progressed: set[JobId] = set()
        self._moved: set[JobId] = set()

    def gather(self, changes: ChangeSet) -> None:
        self._added |= dict.fromkeys(changes.added)
        self._progressed |= changes.progressed
        self._moved |= changes.moved
        for job in changes.removed:
            self._progressed.discard(job)
            self._moved.discard(job)
            if job in self._added:
                del self._added[job]
            else:
                self._removed[job] = None

    def freeze(self) -> ChangeSet:
        progressed, moved = frozenset(self._progressed), frozenset(self._moved)
        return ChangeSet(tuple(self._added), tuple(self._removed), progressed, moved)


def _now_ms() -> float:
    return time.perf_counter() * 1000


class Load(NamedTuple):
    """Work of the main thread over some time, in milliseconds."""

    wall: float
    ran: float  # of its own processor time, as are `tasks_ran`
    tasks: float
    """How long callbacks of the event loop took: reading, tracking, recording."""
    tasks_ran: float

    @classmethod
    def until_now(cls) -> Load:
        """Since the thread began."""
        from mcp_progress_monitor.gui.aio import time_taken_by_tasks  # late: no start waits

        tasks = time_taken_by_tasks()
        ran = time.thread_time() * 1000
        return cls(_now_ms(), ran, tasks.wall * 1000, tasks.thread * 1000)

    def since(self, earlier: Load) -> Load:
        return Load(*map(operator.sub, self, earlier))

    @property
    def is_saturated(self) -> bool:
        """True if callbacks took much of the time, and the thread had no pause.

        Where others have the processor as well, callbacks show how much of it the thread gets.
        """
        has_no_pause = self.ran * self.tasks >= SATURATED * self.wall * self.tasks_ran
        return has_no_pause and self.tasks >= _BUSY * self.wall

    @property
    def gui_share(self) -> float:
        """The share of all work that no callback did: publishing, layouts, painting."""
        return 1.0 - self.tasks_ran / self.ran


class Throttle:
    """Schedule of batches of one kind, in milliseconds of a monotonic clock.

    Between two batches there is an interval. While the thread is saturated there is more: until the
    window's work since the last batch, for whatever kind and pane, is at most `GUI_SHARE` of all
    that the thread did, or `LONGEST_MS` are over. So a flood is read at seven eighths of the speed
    that it would have without a window, however costly painting is on this machine.
    """

    def __init__(self) -> None:
        self.due_at = -math.inf
        self._begun_at = -math.inf
        self._loaded = Load(-math.inf, 0.0, 0.0, 0.0)

    def postpone(self, now: Load) -> bool:
        """True if the batch that is due has to wait for a moment; if so, `due_at` is later."""
        load = now.since(self._loaded)
        if load.wall < LONGEST_MS and load.is_saturated and load.gui_share > GUI_SHARE:
            self.due_at = now.wall + CHECKED_MS
            return True
        self._loaded = now
        return False

    def note_published(self, begun_at: float, ended_at: float, *, has_ticks: bool = True) -> None:
        """Set when the next batch is due. A late or long one delays those after it.

        After a pause, a batch without ticks does not delay the next one: it publishes the start of
        a job, whose first tick need not wait.
        """
        pause, self._begun_at = begun_at - self._begun_at, begun_at
        if not has_ticks and pause >= 2 * INTERVAL_MS:
            self.due_at = ended_at
            return
        on_time = self.due_at if begun_at - self.due_at <= FORGIVEN_MS else begun_at
        self.due_at = max(on_time, ended_at - FORGIVEN_MS) + INTERVAL_MS


class _FeedBatch(Throttle):
    """Pending updates of one kind, which are published together."""

    def __init__(self, publish: Callable[[], None]) -> None:
        super().__init__()
        self.publish = publish  # publishes what waits
        self.is_waiting = False
        self.is_urgent = False
        """Whether it contains more than the passing of time."""


_due_at = operator.attrgetter("due_at")


class Feed(QObject):
    """Publishes the engine's updates: the first change at once, then ten times a second at most.

    Between batches changes are merged, so nothing is lost and nothing is published twice; after a
    long batch the views get time to recover. Frames are only counted: the timeline has them, and
    pending data must not grow with a flood.

    There are three kinds of batches, each with its own schedule: servers, then jobs with their
    questions, then findings with their frames. A window that repaints all of its panes at once
    blocks three times as long (35 ms of one core with twenty busy servers, measured). A pending
    batch is published an interval after the last of its kind, or `APART_MS` after one of another
    kind that delayed it.
    """

    frames_marked = Signal(object)
    """The findings of frames, by their numbers, in order; never empty."""
    frames_added = Signal(object)
    """The number of new frames; never 0."""
    stderr_added = Signal(object)
    """`list[Frame]`: those of them that are lines of standard error, or tell of a connection's
    begin or end, in order; never empty."""
    jobs_changed = Signal(object)
    """`ChangeSet` of jobs only: frames, findings and snapshots have their own signals."""
    servers_changed = Signal(object)
    """`frozenset[str]`, never empty."""
    messages_logged = Signal(object)
    """`list[NotificationReceived]`: the newest log messages of servers, in order; never empty."""
    questions_changed = Signal(object)
    """`frozenset[int]`: questions that opened, closed or changed; never empty."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._frame_count = 0
        self._stderr: list[Frame] = []
        self._logged: collections.deque[NotificationReceived] = collections.deque(maxlen=_LOGGED)
        self._changes = JobChanges()
        self._has_ticks = False
        self._marked: dict[int, tuple[Finding, ...]] = {}
        self._servers: frozenset[str] = frozenset()
        self._questions: frozenset[int] = frozenset()
        self._unsubscribe: Callable[[], None] | None = None
        self._before: Callable[[], object] | None = None
        self._of_servers = _FeedBatch(self._publish_servers)
        self._of_jobs = _FeedBatch(self._publish_jobs)
        self._of_frames = _FeedBatch(self._publish_frames)
        self._kinds = (self._of_servers, self._of_jobs, self._of_frames)
        self._newest: tuple[_FeedBatch | None, float] = (None, -math.inf)
        """The kind that was published last, and when that ended."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        # A coarse timer may fire five per cent early, which is more than ten a second.
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_timeout)

    @property
    def pending(self) -> int:
        """The number of frames that wait for the next batch."""
        return self._frame_count

    def attach(self, publisher: Publisher, before: Callable[[], object] | None = None) -> None:
        """Listen to `publisher` instead of the previous one.

        `before` is called each time before views are updated, to save what they are about to show.
        """
        self.detach()
        self._before = before
        self._unsubscribe = publisher.subscribe(self._gather)

    def detach(self) -> None:
        """Stop listening; pending updates are published first."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self.flush()

    def flush(self) -> None:
        """Publish pending updates now, at the end of a session; views are fed by the timer."""
        self._timer.stop()
        for kind in self._kinds:
            if kind.is_waiting:
                self._publish(kind)

    def _publish(self, kind: _FeedBatch) -> None:
        has_ticks = kind is not self._of_jobs or self._has_ticks
        kind.is_waiting = kind.is_urgent = False
        if self._before is not None:
            self._before()
        begun_at = _now_ms()
        kind.publish()
        ended_at = _now_ms()
        kind.note_published(begun_at, ended_at, has_ticks=has_ticks)
        self._newest = (kind, ended_at)

    def _publish_servers(self) -> None:
        servers, self._servers = self._servers, frozenset()
        self.servers_changed.emit(servers)

    def _publish_jobs(self) -> None:
        changes, self._changes = self._changes.freeze(), JobChanges()
        self._has_ticks = False
        questions, self._questions = self._questions, frozenset()
        if changes != ChangeSet():
            self.jobs_changed.emit(changes)
        if questions:
            self.questions_changed.emit(questions)

    def _publish_frames(self) -> None:
        marked, self._marked = self._marked, {}
        if marked:
            self.frames_marked.emit(marked)
        if not self._frame_count:
            return
        frame_count, self._frame_count = self._frame_count, 0
        stderr, self._stderr = self._stderr, []
        logged = list(self._logged)
        self._logged.clear()
        self.frames_added.emit(frame_count)
        if stderr:
            self.stderr_added.emit(stderr)
        if logged:
            self.messages_logged.emit(logged)

    def _gather(self, update: Update) -> None:
        """Store an update; must be quick, since it runs between reading and tracking."""
        frames = update.frames
        self._frame_count += len(frames)
        # A chunk has one channel: its first frame tells.
        if frames and frames[0].channel is Channel.STDERR:
            self._stderr.extend(frames)
        elif frames and frames[0].channel is Channel.EVENT:
            self._stderr.extend(filter(is_lifecycle, frames))
        self._logged += [
            fact
            for fact in update.facts.others
            if type(fact) is NotificationReceived and fact.method == LOG_MESSAGE
        ]
        if update.changes.marked:
            self._marked.update(update.changes.marked)
        if frames or update.changes.marked:
            self._expect(self._of_frames)
        if update.servers:
            self._servers |= update.servers
            self._expect(self._of_servers)
        self._questions |= update.questions
        self._take_jobs(update.changes)

    def _take_jobs(self, changes: ChangeSet) -> None:
        has_moved = bool(changes.added or changes.removed or changes.moved)
        self._changes.gather(changes)
        if changes.ticks:
            self._has_ticks = True
        if has_moved or changes.ticks or self._questions:
            self._expect(self._of_jobs)
        elif changes.progressed:
            self._expect(self._of_jobs, is_urgent=False)

    def _expect(self, kind: _FeedBatch, *, is_urgent: bool = True) -> None:
        """Schedule a kind to be published when it is next due."""
        if kind.is_waiting and (kind.is_urgent or not is_urgent):
            return
        kind.is_waiting = True
        kind.is_urgent = is_urgent
        self._schedule()

    def _schedule(self) -> None:
        """Start the timer for the kind that is due first."""
        due = [self._due_at(kind) for kind in self._kinds if kind.is_waiting]
        if due:
            self._timer.start(math.ceil(max(0.0, min(due) - _now_ms())))

    def _due_at(self, kind: _FeedBatch) -> float:
        # The age of a job is published with its next tick, if that comes at once.
        due_at = kind.due_at if kind.is_urgent else kind.due_at + INTERVAL_MS
        newest, ended_at = self._newest
        return due_at if newest is kind else max(due_at, ended_at + APART_MS)

    @Slot()
    def _on_timeout(self) -> None:
        """Publish only one kind: its effect is painted before the next."""
        now = Load.until_now()
        due = [kind for kind in self._kinds if kind.is_waiting and self._due_at(kind) <= now.wall]
        for kind in sorted(due, key=_due_at):  # the most overdue first
            if not kind.postpone(now):
                self._publish(kind)
                break
        self._schedule()
