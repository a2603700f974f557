"""Subscriptions to running jobs: updates of resources, at most one a second for each."""

from __future__ import annotations

import collections
import contextlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import INVALID_PARAMS, EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.messages import LISTEN, SUBSCRIBE, UNSUBSCRIBE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import InMemorySubscriptionBus

    from mcp_progress_monitor.agents.sources import Source, Sources

RUNNING: Final = "jobs://running"
_ANNOUNCED_S: Final = 1.0
_MOST: Final = 100
"""Subscriptions of one server, of all its clients; the oldest end."""


class _Subscribed(NamedTuple):
    """A client's session, and the recording whose jobs it subscribed to; None for running jobs."""

    session: ServerSession
    source: Source | None


class Subscriptions:
    """Tells subscribers of both eras when live jobs began, moved on or ended."""

    def __init__(
        self, sources: Sources, bus: InMemorySubscriptionBus, is_on: Callable[[], bool]
    ) -> None:
        """Streams of 2026-07-28 take what they asked for from `bus`; nothing unless it `is_on`."""
        self._is_on = is_on
        self._sources = sources
        self._bus = bus
        self._subscribed = collections.OrderedDict[tuple[int, str], _Subscribed]()

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
        for (_, subscribed), each in list(self._subscribed.items()):
            if subscribed == uri:
                await each.session.send_resource_updated(uri)

    async def keep_listened(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """As a middleware, keep the recordings that a stream of 2026-07-28 listens to."""
        wanted = as_object((ctx.params or {}).get("notifications")).get("resourceSubscriptions")
        if ctx.method != LISTEN or not isinstance(wanted, list):
            return await call_next(ctx)
        with contextlib.ExitStack() as kept:
            for source in self._sources:
                if uri_of(source.key) in wanted:
                    kept.enter_context(source.used())
            return await call_next(ctx)

    async def _on_subscribe(
        self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        uri = str(params.uri)
        source = next((each for each in self._sources if uri_of(each.key) == uri), None)
        if uri != RUNNING and source is None:
            raise MCPError(INVALID_PARAMS, "No such resource", {"uri": uri[:200]})
        key = _client(context), uri
        self._end(key)
        self._subscribed[key] = _Subscribed(context.session, source)
        if source is not None:
            source.users += 1
        while len(self._subscribed) > _MOST:
            self._end(next(iter(self._subscribed)))
        return EmptyResult()

    async def _on_unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        self._end((_client(context), str(params.uri)))
        return EmptyResult()

    def _end(self, key: tuple[int, str]) -> None:
        ended = self._subscribed.pop(key, None)
        if ended is not None and ended.source is not None:
            ended.source.users -= 1


def uri_of(recording: str) -> str:
    """The resource of a recording's jobs."""
    return f"recording://{recording}/jobs"


def _client(context: ServerRequestContext[Any, Any]) -> int:
    """Tell one client from another; its session keeps the connection, so that the id is its own."""
    return id(context.session._connection)  # noqa: SLF001  # the SDK has no public way
