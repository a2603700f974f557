"""The monitor of the window: whoever wants to connect a server, nothing runs without consent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from mcp_progress_monitor.monitor import Monitor
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.resuming.servers import was_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot


class GatedMonitor(Monitor):
    """Refuses to connect what its gate refuses, whoever connects: a saved job, a server's mending.

    The window asks before it comes to that; this is the last place, which no wish passes by. What
    is resumable was run before, by the very definition that it is resumed with.
    """

    gate: Callable[[ServerDefinition], Problem | None] | None = None
    """Tells why a definition must not be connected; None when it may be."""

    async def __aenter__(self) -> Self:
        """Open as `Monitor` does; from now on nothing is begun that the gate refuses."""
        self._connector.gate = self._pass
        return await super().__aenter__()

    def newest(self, name: str) -> ServerDefinition:
        """What a server will be when it is connected next; `ProblemError` if there is none."""
        return self._manager.newest(name)

    async def connect(self, name: str) -> ServerSnapshot:
        """Connect as `Monitor` does; `ProblemError` when that was not agreed to."""
        self._pass(self.newest(name))
        return await super().connect(name)

    async def restart(self, name: str) -> None:
        """Restart as `Monitor` does; `ProblemError` when that was not agreed to."""
        self._pass(self.newest(name))  # before what is up is ended for it
        await super().restart(name)

    def _pass(self, definition: ServerDefinition) -> None:
        problem = self._refusal(definition)
        if problem is not None:
            raise ProblemError(problem)

    def _refusal(self, definition: ServerDefinition) -> Problem | None:
        problem = self.gate(definition) if self.gate is not None else None
        return None if problem is None or self._was_run(definition) else problem

    def _was_run(self, definition: ServerDefinition) -> bool:
        """Whether a saved job was begun with it, in the folder where it would be run now."""
        return was_run(definition, self._keeper.origins.values())
