"""The only module that knows qasync: asyncio on Qt's event loop, and the owners of tasks.

Qt runs all timers that are due in one go, and qasync uses a timer for each callback: three hundred
callbacks of half a millisecond blocked the window for all of their 160 ms, and a step of one of a
hundred tasks cost 15 µs beside its work. With `ReadyQueue` the window waits for 16 ms, and such a
step costs 3 to 5 µs (measured, 2 cores).
"""

from __future__ import annotations

import asyncio
import collections
import logging
import math
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVarTuple

import anyio
from anyio.lowlevel import checkpoint
from PySide6.QtCore import QObject, Qt
from qasync import QEventLoop

from mcp_progress_monitor.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
    from contextvars import Context
    from types import TracebackType

    from anyio.abc import TaskGroup
    from PySide6.QtCore import QTimerEvent
    from PySide6.QtWidgets import QApplication

    from mcp_progress_monitor.errors import ErrorDetails

SLICE_S: Final = 0.008
"""So much work at most, then Qt has its turn; a single longer callback is not interrupted.

The window's work since the last slice counts, so that both together do not take longer: a slice
after a long one of the window's is only `LEAST_SLICE_S`.

Measured in our own processor time: on a busy machine, a slice by the clock would be one callback
for each round of Qt's work.
"""
LEAST_SLICE_S: Final = 0.002


class TimeTaken(NamedTuple):
    """Seconds by the clock, and those that this thread ran."""

    wall: float
    thread: float


class ReadyQueue(QObject):
    """Runs handles in order, as asyncio does: none within the turn that added it.

    `taken` is the time that they took; all other work of the thread is the window's.
    """

    def __init__(self) -> None:
        super().__init__()
        self._handles: collections.deque[asyncio.Handle] = collections.deque()
        self._later: dict[int, asyncio.Handle] = {}  # by timer
        self._timer = 0
        self._is_closed = False
        self.taken = TimeTaken(0.0, 0.0)
        self._ended = 0.0  # the last slice, in processor time

    def add(self, handle: asyncio.Handle) -> None:
        """Run `handle` in the next turn of the loop; after `close`, never."""
        if not self._is_closed:
            self._handles.append(handle)
            if not self._timer:
                self._timer = self.startTimer(0)

    def add_later(self, handle: asyncio.Handle, delay_s: float) -> None:
        """Add `handle` once `delay_s` have passed, never before: who waits would wait again."""
        # Whole milliseconds; Qt's coarse timers may fire 5 % early.
        milliseconds, precise = math.ceil(delay_s * 1000), Qt.TimerType.PreciseTimer
        self._later[self.startTimer(milliseconds, precise)] = handle

    def close(self) -> None:
        self._is_closed = True
        self._handles.clear()
        for timer in self._later:
            self.killTimer(timer)
        self._later.clear()
        self._stop_timer()

    def timerEvent(self, event: QTimerEvent) -> None:
        if event.timerId() != self._timer:
            if (handle := self._later.pop(event.timerId(), None)) is not None:
                self.killTimer(event.timerId())
                self.add(handle)
            return
        # A timer does not fire within its own event. A callback may run a nested Qt loop (a drag
        # does): a new timer serves the rest there.
        self._stop_timer()
        began_at, began = time.perf_counter(), time.thread_time()
        ends_at = max(self._ended + SLICE_S, began + LEAST_SLICE_S)
        left, now = len(self._handles), began
        if left > 1:
            self._timer = self.startTimer(0)
        while left and self._handles:
            left -= 1
            handle = self._handles.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001  # what each of asyncio's loops calls
            before, now = now, time.thread_time()
            if 2 * now - before >= ends_at:  # as if the next took as long as this one
                break
        wall, thread = self.taken
        self.taken = TimeTaken(wall + time.perf_counter() - began_at, thread + now - began)
        self._ended = now
        if not self._handles:
            self._stop_timer()
        elif not self._timer and not self._is_closed:
            self._timer = self.startTimer(0)

    def _stop_timer(self) -> None:
        if self._timer:
            self.killTimer(self._timer)
            self._timer = 0


_Args = TypeVarTuple("_Args")

_log = logging.getLogger(__name__)

_WATCHERS: Final = "asyncio-waitpid-"
"""asyncio's name for the threads that wait for the end of child processes."""
_WATCHER_S: Final = 1.0
"""How long such a thread may take; it has nothing left to do once its process has ended."""
_WORKERS: Final = "AnyIO worker thread"
"""anyio's name for the threads of `to_thread`: idle now, unless one was abandoned."""
_WORKER_S: Final = 0.2
_STARTED_AT_ONCE: Final = 32


class QtLoop(QEventLoop):  # type: ignore[misc]  # it has no types
    """qasync's loop, except that ready callbacks run in slices (see `ReadyQueue`)."""

    def __init__(self, application: QApplication) -> None:
        self._ready_queue = ReadyQueue()
        super().__init__(application)

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready_queue.add(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if delay > 0:
            self._ready_queue.add_later(handle, delay)
        else:
            self._ready_queue.add(handle)
        return handle

    @property
    def taken(self) -> TimeTaken:
        """The time that callbacks took."""
        return self._ready_queue.taken

    def close(self) -> None:
        """Release everything; remaining callbacks are never run."""
        super().close()
        self._ready_queue.close()


def time_taken_by_tasks() -> TimeTaken:
    """The time that callbacks of the running loop took; none without a loop."""
    loop = asyncio._get_running_loop()  # noqa: SLF001  # its public form raises an error
    return loop.taken if isinstance(loop, QtLoop) else TimeTaken(0.0, 0.0)


def run_on_qt(application: QApplication, main: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run `main` to its end on an event loop that serves both Qt and asyncio.

    `main` awaits its own end: closing the last window must not stop the loop under it, so the
    application's automatic quit is switched off.
    """
    application.setQuitOnLastWindowClosed(False)
    loop = QtLoop(application)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            return runner.run(main())
        finally:
            _join_watchers()


def _join_watchers() -> None:
    """Wait for the threads that reported ended processes to the loop.

    They are daemons, and report by a Qt signal. If one is still within it when the interpreter
    ends, the process aborts ("terminate called without an active exception"), which was seen at the
    end of every twentieth short run.
    """
    for thread in threading.enumerate():
        if thread.name.startswith(_WATCHERS):
            thread.join(_WATCHER_S)
        elif thread.name == _WORKERS:
            thread.join(_WORKER_S)  # it keeps its last work and result until it ends


class BackgroundTasks:
    """Owns every coroutine that a button starts; an async context manager.

    An error in a task is reported once, and never ends the others: to `on_error` if users,
    servers or disks cause it, to `on_bug` if it is our own. Leaving the context cancels the
    remaining tasks and waits for them. Tasks started before it is entered wait for that.
    """

    def __init__(
        self, on_error: Callable[[ErrorDetails], None], on_bug: Callable[[BaseException], None]
    ) -> None:
        self._on_error = on_error
        self._on_bug = on_bug
        self._group: TaskGroup | None = None
        self._early: list[tuple[str, Callable[..., Awaitable[object]], tuple[Any, ...]]] | None = []

    async def __aenter__(self) -> Self:
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        early, self._early = self._early or [], None
        for name, function, args in early:
            self.start(name, function, *args)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._group is not None:
            group, self._group = self._group, None
            group.cancel_scope.cancel()
            await group.__aexit__(kind, error, trace)

    def start(
        self, name: str, function: Callable[[*_Args], Awaitable[object]], *args: *_Args
    ) -> None:
        """Start `function(*args)` under `name`. After the end of the context it does nothing."""
        if self._early is not None:
            self._early.append((name, function, args))
            return
        if self._group is None:
            _log.info("not started, the window is closing: %s", name)
            return
        self._group.start_soon(self._guarded, function, args, name=name)

    def start_each(
        self, name: str, function: Callable[[Any], Awaitable[object]], items: Iterable[object]
    ) -> None:
        """Start `function(item)` for each item, a few in a turn: a thousand at once took 31 ms."""
        waiting = [*items]
        for item in waiting[:_STARTED_AT_ONCE]:
            self.start(f"{name} {item}", function, item)
        if rest := waiting[_STARTED_AT_ONCE:]:
            self.start(name, self._start_later, name, function, rest)

    async def _start_later(
        self, name: str, function: Callable[[Any], Awaitable[object]], items: Sequence[object]
    ) -> None:
        await checkpoint()
        self.start_each(name, function, items)

    async def _guarded(
        self, function: Callable[..., Awaitable[object]], args: tuple[Any, ...]
    ) -> None:
        try:
            await function(*args)
        except UserError as error:
            self._on_error(error.details)
        except Exception as error:  # noqa: BLE001  # the one place for our own errors in tasks
            self._on_bug(error)
