"""What can be done with servers as they are now: the list offers exactly that."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from mcp_progress_monitor.sessions.snapshot import ServerState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.models.servers import ServerRow
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot


class Wish(enum.Enum):
    """Something to be done with one server; the values name it."""

    OPEN = "open"
    CONNECT = "connect"
    DISCONNECT = "disconnect"
    RESTART = "restart"
    EDIT = "edit"
    CLONE = "clone"
    DISABLE = "disable"
    ENABLE = "enable"
    AT_START = "at-start"
    KEEP = "keep"
    UP = "up"
    DOWN = "down"
    DOCTOR = "doctor"
    STDERR = "stderr"
    COPY = "copy"
    RULES = "rules"
    ROOTS = "roots"
    TASKS = "tasks"
    SIGN_OUT = "sign-out"
    REMOVE = "remove"


FOR_MANY = frozenset(
    {Wish.CONNECT, Wish.DISCONNECT, Wish.RESTART, Wish.DISABLE, Wish.ENABLE, Wish.COPY}
)
"""What makes sense for several servers at once, each of them on its own."""
_SETTINGS = frozenset({Wish.RULES, Wish.ROOTS, Wish.DOCTOR, Wish.OPEN})


def can(row: ServerRow, *, has_catalogue: bool, lists_tasks: bool = False) -> frozenset[Wish]:
    """What can be done with one server; moving is for the list to know."""
    server = row.server
    is_up, is_waiting = server.state.is_up, server.state is ServerState.WAITING
    offered = {
        Wish.CONNECT: row.is_there and not is_up and not row.is_disabled,
        Wish.DISCONNECT: row.is_there and (is_up or is_waiting or row.awaits_turn),
        Wish.RESTART: server.state in {ServerState.CONNECTED, ServerState.CONNECTING},
        Wish.EDIT: has_catalogue,
        Wish.CLONE: has_catalogue,
        Wish.DISABLE: row.entry is not None and not row.is_disabled,
        Wish.ENABLE: row.is_disabled,
        Wish.AT_START: row.entry is not None and not row.is_disabled,
        Wish.KEEP: has_catalogue and row.entry is None,
        Wish.STDERR: server.definition.transport == "stdio",
        Wish.COPY: True,
        Wish.TASKS: lists_tasks,
        Wish.SIGN_OUT: has_catalogue and row.is_there and _signs_in(server),
        Wish.REMOVE: not is_up,
    }
    found = frozenset(wish for wish, is_offered in offered.items() if is_offered)
    return found | _SETTINGS if row.is_there else found


def can_all(offers: Sequence[frozenset[Wish]]) -> frozenset[Wish]:
    """What can be done with a selection: of several servers, what at least one of them can."""
    if len(offers) == 1:
        return offers[0]
    return frozenset().union(*offers) & FOR_MANY


def _signs_in(server: ServerSnapshot) -> bool:
    """Whether the user may have signed in at it, in the browser."""
    definition = server.definition
    return definition.transport != "stdio" and definition.auth == "oauth"
