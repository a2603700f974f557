"""Subscriptions to running jobs: updates of resources, at most one a second for each."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import INVALID_PARAMS, EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from mcp_progress_monitor.protocol.messages import SUBSCRIBE, UNSUBSCRIBE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import InMemorySubscriptionBus

    from mcp_progress_monitor.agents.sources import Sources

RUNNING: Final = "jobs://running"
_ANNOUNCED_S: Final = 1.0
_MOST: Final = 100
"""Subscriptions of one server, of all its clients; the oldest end."""


class Subscriptions:
    """Tells subscribers of both eras when live jobs began, moved on or ended."""

    def __init__(
        self, sources: Sources, bus: InMemorySubscriptionBus, is_on: Callable[[], bool]
    ) -> None:
        """Streams of 2026-07-28 take what they asked for from `bus`; nothing unless it `is_on`."""
        self._is_on = is_on
        self._sources = sources
        self._bus = bus
        self._subscribed: collections.OrderedDict[tuple[int, str], ServerSession] = (
            collections.OrderedDict()
        )

    def add_to(self, server: MCPServer[Any]) -> None:
        """Serve the subscriptions of the handshake era."""
        low_level = server._lowlevel_server  # noqa: SLF001  # the SDK has no public way
        low_level.add_request_handler(SUBSCRIBE, SubscribeRequestParams, self._on_subscribe)
        low_level.add_request_handler(UNSUBSCRIBE, UnsubscribeRequestParams, self._on_unsubscribe)

    async def run(self) -> None:
        """Announce changes, until cancelled."""
        known = self._changes()
        while True:
            await anyio.sleep(_ANNOUNCED_S)
            before, known = known, self._changes()
            changed = [uri for uri, count in known.items() if before.get(uri, 0) != count]
            for uri in changed:
                if self._is_on():
                    await self._announce(uri)

    def _changes(self) -> dict[str, int]:
        """How often something happened to the jobs of each resource."""
        found = {uri_of(source.key): source.changes for source in self._sources}
        return {RUNNING: self._sources.live_changes, **found}

    async def _announce(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri=uri))
        for (_, subscribed), session in list(self._subscribed.items()):
            if subscribed == uri:
                await session.send_resource_updated(uri)

    async def _on_subscribe(
        self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        uri = str(params.uri)
        if uri != RUNNING and uri not in map(uri_of, (each.key for each in self._sources)):
            raise MCPError(INVALID_PARAMS, "No such resource", {"uri": uri[:200]})
        self._subscribed[_client(context), uri] = context.session
        while len(self._subscribed) > _MOST:
            self._subscribed.popitem(last=False)
        return EmptyResult()

    async def _on_unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        self._subscribed.pop((_client(context), str(params.uri)), None)
        return EmptyResult()


def uri_of(recording: str) -> str:
    """The resource of a recording's jobs."""
    return f"recording://{recording}/jobs"


def _client(context: ServerRequestContext[Any, Any]) -> int:
    """Tell one client from another; its session keeps the connection, so that the id is its own."""
    return id(context.session._connection)  # noqa: SLF001  # the SDK has no public way
