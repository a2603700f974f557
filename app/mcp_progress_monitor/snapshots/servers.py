"""Immutable snapshots of servers, for views and the command line."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.header_parameters import header_parameters_error

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject, NotificationReceived
    from mcp_progress_monitor.protocol.offers import EventType, Prompt, Resource, Skill, Tool
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.settings import ServerSettings


class ServerState(enum.Enum):
    """The states of a server; the values are texts for the window."""

    IDLE = "Not connected"
    CONNECTING = "Connecting"
    CONNECTED = "Connected"
    FAILED = "Failed"
    CLOSING = "Disconnecting"
    CLOSED = "Disconnected"
    WAITING = "Restarting"  # it ended by itself and is connected again after a time (see `Retry`)

    @property
    def is_up(self) -> bool:
        """True if there is, or is about to be, a connection: it must be closed before the next."""
        return self in {ServerState.CONNECTING, ServerState.CONNECTED, ServerState.CLOSING}


class Retry(NamedTuple):
    """When a server that ended is reconnected: attempt `number` (from 1) of `limit`.

    `due_at` is monotonic time in seconds; None during the attempt.
    """

    number: int
    limit: int
    due_at: float | None


class Health(NamedTuple):
    """Tells whether a server that is silent while calls are pending still answers a ping.

    `asked_at` is the time of the ping (monotonic seconds); `answered_s` how long the answer took,
    None without one. A server that did not answer is hung; one that did is slow.
    """

    asked_at: float
    answered_s: float | None
    is_hung: bool = False


class SignIn(NamedTuple):
    """The user has to sign in at `url`, in a browser, before a server can be used.

    `url` comes from the server: untrusted.
    """

    server: str
    url: str


class Waiting(NamedTuple):
    """State of connecting: it waits for the reply to `what`, if requested; times are monotonic.

    It began at `began_at` and ends at `until` unless more arrives; `stderr_at` is when the server
    last wrote to its standard error, None if it did not.
    """

    what: str
    began_at: float
    until: float
    stderr_at: float | None


class ResourceUpdates(NamedTuple):
    """The `number` of updates of a resource, the last at `when` (wall)."""

    uri: str
    number: int
    when: float


class OnSave(NamedTuple):
    """A server is restarted when one of its source files is saved, and called again.

    These are `file_count` files in `paths`, which are folders and files. A restart that is due
    waits for the end of `waits_for` jobs.
    """

    file_count: int
    paths: tuple[str, ...]
    waits_for: int = 0


_NOTHING: Final[JsonObject] = {}


class ServerSnapshot(NamedTuple):
    """One server at one moment. Unknown is None or empty.

    `connection` is the id of the newest connection, which may have ended. `error` says why the
    server failed or, while it is connected, what is unusable: a list that it does not return, or
    everything, because it does not read our answers. `stderr_tail` holds the last lines of its
    standard error, oldest first. `own_settings` are the user's for it, None if unchanged;
    `subscriptions` are the resources whose updates are wanted, `resource_updates` those received,
    the newest last. `events` are the types of events that it can report, `latest_events` those it
    has reported, the newest last. `waiting` is what connecting waits for, `on_save` how saved
    files restart it, None otherwise. `tool_changes` are the tools that changed since its last
    session, each with the difference as text.
    """

    name: str
    definition: ServerDefinition
    connection: str | None = None
    state: ServerState = ServerState.IDLE
    revision: str | None = None
    era: Era | None = None
    server_info: JsonObject = _NOTHING
    capabilities: JsonObject = _NOTHING
    instructions: str | None = None
    tools: tuple[Tool, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    events: tuple[EventType, ...] = ()
    skills: tuple[Skill, ...] = ()
    latest_events: tuple[NotificationReceived, ...] = ()
    error: ErrorDetails | None = None
    pid: int | None = None
    stderr_tail: tuple[str, ...] = ()
    own_settings: ServerSettings | None = None
    subscriptions: tuple[str, ...] = ()
    resource_updates: tuple[ResourceUpdates, ...] = ()
    restarts: int = 0
    retry: Retry | None = None
    health: Health | None = None
    sign_in: SignIn | None = None
    waiting: Waiting | None = None
    on_save: OnSave | None = None
    tool_changes: tuple[tuple[str, str], ...] = ()
    unlisted: frozenset[str] = frozenset()  # list methods that a watched client never called

    @property
    def settings(self) -> ServerSettings:
        if self.own_settings is None:
            from mcp_progress_monitor.snapshots.settings import UNCHANGED  # late: loads the rules

            return UNCHANGED
        return self.own_settings

    @property
    def title(self) -> str:
        found = self.server_info.get("title") or self.server_info.get("name")
        return found if isinstance(found, str) else self.name

    def rejection(self, tool: Tool) -> str:
        """Say why clients must not call one of the server's tools; empty if they may.

        Source: 2026-07-28 "Custom Headers from Tool Parameters": over HTTP, clients reject tools
        whose `x-mcp-header` breaks the rules.
        """
        if self.era is not Era.PER_REQUEST or self.definition.transport != "http":
            return ""

        return header_parameters_error(tool.input_schema)


def not_connected(name: str) -> ErrorDetails:
    return ErrorDetails("The server is not connected", name, "Connect it, then try again.")
