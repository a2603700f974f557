"""Lists of a connected server, kept up to date, and its notifications."""

from __future__ import annotations

import collections
import contextlib
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.eras import Era, as_object
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.header_parameters import header_parameters_error
from mcp_progress_monitor.protocol.messages import (
    EVENT,
    LISTEN,
    LOG_LEVEL_KEY,
    RESOURCE_UPDATED,
    SET_LOG_LEVEL,
    SUBSCRIBE,
    UNSUBSCRIBE,
    list_changed,
)
from mcp_progress_monitor.protocol.offers import ALL_LISTS, LISTS, TEMPLATES, ListKind, declares
from mcp_progress_monitor.protocol.refusal import refused
from mcp_progress_monitor.sessions.connection.listing import Listed, read_pages
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.snapshots.limits import Limits
from mcp_progress_monitor.snapshots.servers import ResourceUpdates

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence

    from mcp_progress_monitor.protocol.eras import Agreement
    from mcp_progress_monitor.protocol.facts import JsonObject, NotificationReceived
    from mcp_progress_monitor.protocol.offers import EventType, Prompt, Resource, Skill, Tool
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.outbox import PendingRequest
    from mcp_progress_monitor.snapshots.settings import ServerSettings

_LIMIT_S: Final = 60.0  # how long a server may take to accept a subscription or a level
_PAUSE_S: Final = 0.2
"""Pause between two refreshes: a server may announce a change with each list it returns."""
_ERRORS_SHOWN: Final = 5
_NAME_SHOWN: Final = 80
_HEADLESS: Final = (
    "Other clients hide this tool; here it is called without the headers for its "
    "arguments, and the server may refuse it."
)


_CHANGES: Final = {list_changed(kind.capability): kind.capability for kind in (*LISTS, TEMPLATES)}
"""Capabilities by the notification that announces a change."""
ListName: TypeAlias = Literal["tools", "resources", "prompts", "resourceTemplates"]
"""A list, by its member of the result."""


class ServerLists:
    """The lists of one connected server; `on_change` is called when one was read.

    Tools are read immediately, the others only while no call is pending (`Outbox.quiet`).
    """

    def __init__(
        self,
        connection: Connection,
        capabilities: JsonObject,
        on_change: Callable[[], None],
        kept: Container[str] = ALL_LISTS,
        *,
        follows: bool = True,
        on_tools: Callable[[Sequence[Tool]], Awaitable[None]] | None = None,
    ) -> None:
        """Begin with empty lists; only those in `capabilities` are ever requested.

        Only those in `kept` are read automatically: once, and with `follows` whenever the server
        announces a change. `on_tools` is called with all tools whenever they were read without
        errors.
        """
        self.tools: tuple[Tool, ...] = ()
        self.resources: tuple[Resource, ...] = ()
        self.prompts: tuple[Prompt, ...] = ()
        self.events: tuple[EventType, ...] = ()
        self.skills: tuple[Skill, ...] = ()
        self._connection = connection
        self._on_change = on_change
        self._on_tools = on_tools
        self._kinds = [kind for kind in LISTS if declares(capabilities, kind.capability)]
        self._followed: Container[str] = kept if follows else ()
        self._stale = {kind for kind in self._kinds if kind.capability in kept}
        self._errors: dict[ListKind, ErrorDetails] = {}
        self._wake = anyio.Event()
        self._reloading = anyio.Lock()
        self._reloads = 0
        self._finished = anyio.Event()
        connection.outbox.watch(_CHANGES, self._watch)

    def schema_of(self, name: str) -> JsonObject | None:
        return next((tool.input_schema for tool in self.tools if tool.name == name), None)

    @property
    def error(self) -> ErrorDetails | None:
        """Why one of the lists could not be read; None if all were."""
        return next(iter(self._errors.values()), None)

    async def load_tools(self) -> None:
        await self._refresh([kind for kind in self._kinds if kind.capability == "tools"])

    async def read_now(self, name: ListName) -> Listed:
        """Read a list now, whatever the server declares.

        Raises:
            UserError: the server refuses it, or does not answer.
            anyio.ClosedResourceError: the connection ended first.
        """
        kind = next(each for each in (*LISTS, TEMPLATES) if each.member == name)
        items, notes = await self._items(kind)
        return Listed(tuple(items), self._noted(kind, notes))

    async def finished(self) -> None:
        """Wait until each kept list was read once, or has failed."""
        await self._finished.wait()

    @property
    def are_finished(self) -> bool:
        """True if all lists were read."""
        return self._finished.is_set()

    async def reload_tools(self) -> None:
        """Read the tools again; concurrent callers wait for the same read."""
        seen = self._reloads
        async with self._reloading:
            if seen == self._reloads:
                await self._refresh_tools()
                self._reloads += 1

    async def _refresh_tools(self) -> None:
        kinds = [kind for kind in self._kinds if kind.capability == "tools"]
        self._stale.update(kinds)
        await self._refresh(kinds)

    async def keep(self) -> None:
        """Read the other lists, then each one again when the server announces a change."""
        while True:
            await self._refresh(self._kinds, in_quiet=True)
            self._finished.set()
            await self._wake.wait()
            self._wake = anyio.Event()
            await anyio.sleep(_PAUSE_S)

    def _watch(self, fact: NotificationReceived) -> None:
        capability = _CHANGES[fact.method]
        for kind in self._kinds:
            if kind.capability == capability and kind.capability in self._followed:
                self._stale.add(kind)
                self._wake.set()

    async def _refresh(self, kinds: Sequence[ListKind], *, in_quiet: bool = False) -> None:
        for kind in kinds:
            if kind in self._stale:
                self._stale.discard(kind)
                await self._load(kind, in_quiet=in_quiet)

    async def _load(self, kind: ListKind, *, in_quiet: bool) -> None:
        self._errors.pop(kind, None)
        try:
            items, notes = await self._items(kind, in_quiet=in_quiet)
        except UserError as error:
            self._errors[kind] = error.details
        except anyio.ClosedResourceError:
            return
        else:
            setattr(self, kind.member, tuple(items))
            details = self._noted(kind, notes)
            if details is not None:
                self._errors[kind] = details
            elif kind.capability == "tools" and self._on_tools is not None:
                await self._on_tools(self.tools)
        self._on_change()

    async def _items(
        self, kind: ListKind, *, in_quiet: bool = False
    ) -> tuple[list[Any], list[str]]:
        """All items, and the errors, if any."""
        pages = await read_pages(self._connection, kind.method, kind.member, in_quiet=in_quiet)
        items: list[Any] = []
        notes = [f"The list does not end: {pages.endless}"] if pages.endless else []
        for page in map(kind.read, pages.results):
            items += page.items
            notes += page.errors
            if kind.capability == "tools":
                notes += self._headless(page.items)
        return items, notes

    def _noted(self, kind: ListKind, notes: Sequence[str]) -> ErrorDetails | None:
        if not notes:
            return None
        what = f"The reply to {kind.method} is partly invalid"
        return ErrorDetails(what, self._connection.id, detail="\n".join(notes[:_ERRORS_SHOWN]))

    def _headless(self, tools: Sequence[Tool]) -> Iterator[str]:
        """Say why clients must omit a tool over HTTP, if they must."""
        # Only 2026-07-28 over HTTP has such headers; there, closing the stream cancels.
        if self._connection.outbox.closes_streams:
            for tool in tools:
                if error := header_parameters_error(tool.input_schema):
                    yield f"{one_line(tool.name, _NAME_SHOWN)}: {error}. {_HEADLESS}"


_LISTS: Final = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
"""Capabilities whose lists may change, and the name of the notification in 2026-07-28."""
_PAUSES_S: Final = (0.5, 2.0, 10.0, 60.0)
"""Before listening again to a server that ended the subscription, one pause after the other."""
_PUBLISH_S: Final = 0.1
_MOST_EVENTS: Final = 200  # newest events that the page of a server shows
_MOST_UPDATES: Final = 1000  # most resources whose updates are counted; a server may name any


class UpdateCounts:
    """Counts the updates of resources, of those that were updated last."""

    def __init__(self) -> None:
        self._counts: dict[str, ResourceUpdates] = {}

    @property
    def newest_last(self) -> tuple[ResourceUpdates, ...]:
        return tuple(self._counts.values())

    def note(self, fact: NotificationReceived) -> bool:
        """Count the update of a resource; whether the fact is one."""
        uri = fact.params.get("uri")
        if (
            fact.method != RESOURCE_UPDATED
            or fact.sender is not Side.SERVER
            or not isinstance(uri, str)
        ):
            return False
        before = self._counts.pop(uri, None)
        number = 1 if before is None else before.number + 1
        self._counts[uri] = ResourceUpdates(uri, number, fact.when)
        if len(self._counts) > _MOST_UPDATES:
            del self._counts[next(iter(self._counts))]
        return True


class LatestEvents:
    """The newest events that a server has reported on its streams."""

    def __init__(self) -> None:
        self._kept: collections.deque[NotificationReceived] = collections.deque(maxlen=_MOST_EVENTS)

    @property
    def newest_last(self) -> tuple[NotificationReceived, ...]:
        return tuple(self._kept)

    def note(self, fact: NotificationReceived) -> bool:
        """Keep an event; whether the fact is one."""
        is_event = fact.method == EVENT and fact.sender is Side.SERVER
        if is_event:
            self._kept.append(fact)
        return is_event


class Subscriptions:
    """Subscribes to a server's notifications. `run` is its one task."""

    def __init__(
        self,
        connection: Connection,
        agreement: Agreement,
        settings: Callable[[], ServerSettings],
        on_change: Callable[[], None],
        *,
        follows_lists: bool = True,
    ) -> None:
        """Begin as `settings` say; `on_change` is called after changes.

        Without `follows_lists`, changes of lists are not subscribed to.
        """
        self.error: ErrorDetails | None = None  # what the server refused; None if nothing
        self.begun = anyio.Event()  # set once the server has received the initial log level
        self._connection = connection
        self._agreement = agreement
        self._settings = settings
        self._on_change = on_change
        self._follows_lists = follows_lists
        self._subscribed: dict[str, None] = {}
        self._reported: dict[str, None] = {}
        self._updates = UpdateCounts()
        self._events = LatestEvents()
        self._updated = anyio.Event()
        self._level: str | None = None
        self._wake = anyio.Event()
        connection.outbox.watch([RESOURCE_UPDATED, EVENT], self._watch)

    @property
    def subscriptions(self) -> tuple[str, ...]:
        return tuple(self._subscribed)

    @property
    def updates(self) -> tuple[ResourceUpdates, ...]:
        return self._updates.newest_last

    @property
    def events(self) -> tuple[NotificationReceived, ...]:
        return self._events.newest_last

    @property
    def can_subscribe(self) -> bool:
        return as_object(self._agreement.capabilities.get("resources")).get("subscribe") is True

    def subscribe(self, uri: str, *, is_wanted: bool) -> None:
        if is_wanted:
            self._subscribed[uri] = None
        else:
            self._subscribed.pop(uri, None)
        self.update()

    def update(self) -> None:
        self._wake.set()
        self._on_change()

    async def run(self) -> None:
        """Update the subscriptions whenever they change, until cancelled."""
        is_handshake = self._agreement.era is Era.HANDSHAKE
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._publish_updates)
            with contextlib.suppress(anyio.ClosedResourceError):  # reported with the end
                await (self._ask_for_each() if is_handshake else self._listen())
            tasks.cancel_scope.cancel()

    async def _publish_updates(self) -> None:
        """Publish updates of resources, the first at once, then not for each of a flood."""
        while True:
            await self._updated.wait()
            self._updated = anyio.Event()
            self._on_change()
            await anyio.sleep(_PUBLISH_S)

    # The handshake era

    async def _ask_for_each(self) -> None:
        while True:
            self._wake = anyio.Event()
            await self._set_level()
            self.begun.set()
            for uri in [uri for uri in self._subscribed if uri not in self._reported]:
                self._reported[uri] = None
                await self._ask(SUBSCRIBE, {"uri": uri})
            for uri in [uri for uri in self._reported if uri not in self._subscribed]:
                del self._reported[uri]
                await self._ask(UNSUBSCRIBE, {"uri": uri})
            await self._wake.wait()

    async def _set_level(self) -> None:
        level = self._settings().log_level
        if level is None or level == self._level or "logging" not in self._agreement.capabilities:
            return
        self._level = level
        await self._ask(SET_LOG_LEVEL, {"level": level})

    async def _ask(self, method: str, params: JsonObject) -> None:
        exchange = self._connection.outbox.ask(method, params)
        await self._connection.outbox.settle(exchange, Limits(idle_s=_LIMIT_S))
        self._note(method, exchange)

    def _note(self, method: str, exchange: PendingRequest) -> None:
        """Keep what the server refused, unless the connection is ending."""
        where = self._connection.id
        if not self._connection.is_open:
            return
        if exchange.reply is None:
            self._report(
                ErrorDetails(f"The server did not answer {method} within {_LIMIT_S:g} s", where)
            )
        elif exchange.reply.error is not None:
            self._report(refused(method, exchange.reply.error, where))

    def _report(self, error: ErrorDetails | None) -> None:
        self.error = error
        self._on_change()

    # 2026-07-28

    async def _listen(self) -> None:
        while True:
            self._wake = anyio.Event()
            self._stamp_level()
            self.begun.set()
            wanted = self._wanted()
            async with anyio.create_task_group() as tasks:
                if wanted:
                    tasks.start_soon(self._listen_for, wanted)
                while self._wanted() == wanted:
                    await self._wake.wait()
                    self._wake = anyio.Event()
                    self._stamp_level()
                tasks.cancel_scope.cancel()

    def _stamp_level(self) -> None:
        peer, level = self._connection.outbox.peer, self._settings().log_level
        stamps = {key: value for key, value in peer.stamps.items() if key != LOG_LEVEL_KEY}
        peer.stamps = stamps if level is None else {**stamps, LOG_LEVEL_KEY: level}

    def _wanted(self) -> JsonObject:
        """Return the lists that may change and the subscribed resources, to listen for."""
        capabilities = self._agreement.capabilities
        wanted: JsonObject = {
            name: True
            for capability, name in _LISTS.items()
            if self._follows_lists
            and as_object(capabilities.get(capability)).get("listChanged") is True
        }
        if self._subscribed:
            wanted["resourceSubscriptions"] = list(self._subscribed)
        return wanted

    async def _listen_for(self, wanted: JsonObject) -> None:
        """Listen, and again when the server ends it; not after a refusal."""
        for pause_s in _endless(_PAUSES_S):
            try:
                exchange = self._connection.outbox.ask(LISTEN, {"notifications": wanted})
            except anyio.ClosedResourceError:
                return
            try:
                await exchange.over()
            finally:
                self._give_up(exchange)
            if exchange.end is ExchangeEnd.LOST and exchange.loss is None:
                return  # the whole connection has ended
            if exchange.reply is not None and exchange.reply.error is not None:
                self._note(LISTEN, exchange)
                return
            await anyio.sleep(pause_s)

    def _give_up(self, exchange: PendingRequest) -> None:
        if exchange.end is None:
            self._connection.outbox.send_cancel(exchange, "The subscriptions changed")
            self._connection.outbox.give_up(exchange, ExchangeEnd.CANCELLED)

    def _watch(self, fact: NotificationReceived) -> None:
        if self._updates.note(fact) or self._events.note(fact):
            self._updated.set()


def _endless(pauses_s: tuple[float, ...]) -> Iterable[float]:
    yield from pauses_s
    while True:
        yield pauses_s[-1]
