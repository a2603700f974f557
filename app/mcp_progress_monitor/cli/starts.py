"""Reports every few seconds what a server that is slow to start is waiting for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.connect_limit import waiting_words

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.monitor import Monitor, Update
    from mcp_progress_monitor.sessions.connect_limit import Waiting

_EVERY_S: Final = 5.0


class StartTeller:
    """Listens to a monitor and warns through a front while a server is slow to connect."""

    def __init__(self, monitor: Monitor, front: Front) -> None:
        self._monitor = monitor
        self._front = front
        self._told_at: dict[str, float] = {}

    def on_update(self, update: Update) -> None:
        """Warn about servers that have been connecting for long."""
        for name in update.servers:
            waiting = self._waiting(name)
            if waiting is None:
                self._told_at.pop(name, None)
                continue
            now = self._monitor.now()
            if now - self._told_at.setdefault(name, waiting.began_at) >= _EVERY_S:
                self._told_at[name] = now
                words = waiting_words(waiting, now)
                self._front.warn(Problem(f"Still connecting, {words}", name))

    def _waiting(self, name: str) -> Waiting | None:
        try:
            return self._monitor.server(name).waiting
        except ProblemError:  # it was removed
            return None
