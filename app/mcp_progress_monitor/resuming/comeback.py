"""Jobs whose server ended and is being connected again by itself: they wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.resuming.servers import known_server

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.sessions.connector import Connector
    from mcp_progress_monitor.sessions.manager import Manager
    from mcp_progress_monitor.sessions.mending import Mending
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.tracker.snapshot import JobId


class Comebacks:
    """Whether a job's server comes back, and when."""

    def __init__(
        self, manager: Manager, connector: Connector, origins: Mapping[JobId, Origin]
    ) -> None:
        """Jobs are those with `origins`; `connector` mends their servers."""
        self._manager = manager
        self._connector = connector
        self._origins = origins

    def is_due(self, job: JobId) -> bool:
        """Whether a job's server is about to be connected again by itself."""
        mending = self._mending(job)
        return mending is not None and mending.is_coming_back

    def due_at(self, job: JobId) -> float | None:
        """When that is tried next, if it waits for that."""
        mending = self._mending(job)
        return None if mending is None or mending.retry is None else mending.retry.due_at

    async def over(self, job: JobId, wake: anyio.Event) -> bool:
        """Wait while it is due, unless `wake` is set before; whether to go on.

        That is not so when the server was given up meanwhile.
        """
        server = self._server(job)
        if server is None or not self.is_due(job):
            return True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_wake_ends, wake, tasks.cancel_scope)
            await self._connector.mended(server)
            tasks.cancel_scope.cancel()
        return wake.is_set() or self._is_up(job)

    def _is_up(self, job: JobId) -> bool:
        server = self._server(job)
        return server is not None and self._manager.snapshot(server).state.is_up

    def _mending(self, job: JobId) -> Mending | None:
        server = self._server(job)
        return None if server is None else self._manager.mending(server)

    def _server(self, job: JobId) -> str | None:
        origin = self._origins.get(job)
        servers = map(self._manager.snapshot, self._manager.names())
        return None if origin is None else known_server(origin, servers, self._manager.key_of)


async def _wake_ends(wake: anyio.Event, scope: anyio.CancelScope) -> None:
    """Have who waits in `scope` wait no longer once someone wakes them."""
    await wake.wait()
    scope.cancel()
