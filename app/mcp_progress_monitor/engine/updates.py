"""The engine's event stream: one synchronous update for each chunk, to all listeners."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.protocol.frames import NO_FACTS, FactRun
from mcp_progress_monitor.tracker.snapshot import ChangeSet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.tracker.tracker import Tracker

_log = logging.getLogger(__name__)

_NOTHING = ChangeSet()


class Update(NamedTuple):
    """The content of one chunk: frames, the facts read from them, and the changes they made.

    `servers` names the servers whose snapshot changed; `questions` are the ids of questions that
    opened, closed or changed (see `sessions.questions`). Delivered immediately and in order; a
    listener must return quickly.
    """

    frames: Sequence[Frame] = ()
    facts: FactRun = NO_FACTS
    changes: ChangeSet = _NOTHING
    servers: frozenset[str] = frozenset()
    questions: frozenset[int] = frozenset()


class LiveTracker(NamedTuple):
    """The tracker with its clock and its publisher."""

    tracker: Tracker
    clock: Clock
    publish: Callable[[ChangeSet], None]


class Listeners:
    """Calls every listener. One that fails does not affect the others, and is called again."""

    def __init__(self) -> None:
        self._listeners: dict[int, Callable[[Update], None]] = {}
        self._count = 0
        self._complained: set[tuple[int, type[BaseException]]] = set()

    def add(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        """Call `listener` for every update until the returned function is called."""
        self._count += 1
        key = self._count
        self._listeners[key] = listener

        def leave() -> None:
            self._listeners.pop(key, None)

        return leave

    def publish(self, update: Update) -> None:
        """Call every listener; the one place where a listener's own error is caught and logged."""
        for key, listener in list(self._listeners.items()):
            try:
                listener(update)
            except Exception as error:  # noqa: BLE001  # this is the place that logs it
                self._complain(key, error)

    def _complain(self, key: int, error: Exception) -> None:
        """Log the first error of each kind from each listener: a flood would hide it."""
        if (key, type(error)) not in self._complained:
            self._complained.add((key, type(error)))
            _log.error("a listener failed; it stays subscribed", exc_info=error)
