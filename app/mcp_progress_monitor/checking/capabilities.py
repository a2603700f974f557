"""Checks that only declared capabilities are used, in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.eras import HANDSHAKE_REVISIONS, as_object
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    CANCEL_TASK,
    COMPLETE,
    CREATE_MESSAGE,
    ELICIT,
    GET_PROMPT,
    LIST_PROMPTS,
    LIST_RESOURCES,
    LIST_ROOTS,
    LIST_TASKS,
    LIST_TEMPLATES,
    LIST_TOOLS,
    LOG_MESSAGE,
    READ_RESOURCE,
    RESOURCE_UPDATED,
    ROOTS_CHANGED,
    SET_LOG_LEVEL,
    SUBSCRIBE,
    UNSUBSCRIBE,
    list_changed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.checking.connection import Evidence, JudgedCall, JudgedConnection
    from mcp_progress_monitor.protocol.facts import JsonObject, NotificationReceived, RequestMade

_FIRST_REVISION: Final = HANDSHAKE_REVISIONS[0]
_STRICT: Final = frozenset(HANDSHAKE_REVISIONS[2:])
"""The revisions in which only declared capabilities MUST be used; before, they SHOULD."""
_ELICITATION: Final = "elicitation"
_TASKS: Final = "tasks."
_MODES: Final = ("form", "url")  # of elicitation; a client that declares neither takes forms
_OF_SERVER: Final = {
    Side.CLIENT: {
        LIST_TOOLS: "tools",
        CALL_TOOL: "tools",
        LIST_RESOURCES: "resources",
        LIST_TEMPLATES: "resources",
        READ_RESOURCE: "resources",
        SUBSCRIBE: "resources.subscribe",
        UNSUBSCRIBE: "resources.subscribe",
        LIST_PROMPTS: "prompts",
        GET_PROMPT: "prompts",
        COMPLETE: "completions",
        SET_LOG_LEVEL: "logging",
        LIST_TASKS: "tasks.list",
        CANCEL_TASK: "tasks.cancel",
    },
    Side.SERVER: {
        LOG_MESSAGE: "logging",
        RESOURCE_UPDATED: "resources.subscribe",
        **{list_changed(each): f"{each}.listChanged" for each in ("tools", "resources", "prompts")},
    },
}
"""The capabilities of servers, by who uses them in which method."""
_OF_CLIENT: Final = {
    Side.SERVER: {
        CREATE_MESSAGE: "sampling",
        ELICIT: _ELICITATION,
        LIST_ROOTS: "roots",
        LIST_TASKS: "tasks.list",
        CANCEL_TASK: "tasks.cancel",
    },
    Side.CLIENT: {ROOTS_CHANGED: "roots.listChanged"},
}
_OF: Final = {Side.SERVER: _OF_SERVER, Side.CLIENT: _OF_CLIENT}
_NAMES: Final = {Side.SERVER: "server", Side.CLIENT: "client"}


def note_negotiated(connection: JudgedConnection) -> None:
    """Note what neither side may use: the revision and the server's capabilities are known.

    In 2026-07-28 the client's are in each request, and tasks are an extension of their own rules.
    """
    connection.undeclared.clear()
    is_handshake = connection.revision in HANDSHAKE_REVISIONS
    if not is_handshake and not connection.is_discovered:
        return
    for owner, of_owner in _OF.items() if is_handshake else ((Side.SERVER, _OF_SERVER),):
        is_server = owner is Side.SERVER
        declared = connection.capabilities if is_server else connection.client_capabilities
        for user, methods in of_owner.items():
            for method, path in methods.items():
                is_extension = not is_handshake and path.startswith(_TASKS)
                if not is_extension and not _declares(declared, path):
                    connection.undeclared[user, method] = owner, path
    if connection.revision == _FIRST_REVISION:  # it has completions, but no capability for them
        connection.undeclared.pop((Side.CLIENT, COMPLETE), None)


def take_request(
    connection: JudgedConnection, call: JudgedCall, fact: RequestMade
) -> Iterator[Evidence]:
    """Check that the capability which a request needs was declared."""
    lacking = connection.undeclared.get((fact.sender, fact.method)) or _lacking(connection, fact)
    if lacking is None:
        return
    owner, path = lacking
    is_asked = fact.sender is Side.SERVER and connection.revision in _STRICT
    rule = rules.ASKED_UNDECLARED if is_asked else rules.USED_UNDECLARED
    yield call.breaks(rule, fact.number, fact.method, _NAMES[owner], path, by=fact.sender)


def take_notification(
    connection: JudgedConnection, fact: NotificationReceived
) -> Iterator[Evidence]:
    """Check that the capability which a notification needs was declared."""
    lacking = connection.undeclared.get((fact.sender, fact.method))
    if lacking is not None:
        what = (fact.method, _NAMES[lacking[0]], lacking[1])
        yield connection.breaks(rules.USED_UNDECLARED, fact.number, *what, by=fact.sender)


def _lacking(connection: JudgedConnection, fact: RequestMade) -> tuple[Side, str] | None:
    """Find the part of a client's capability that a question of 2025-11-25 needs but lacks."""
    if fact.sender is Side.CLIENT or connection.revision != HANDSHAKE_REVISIONS[-1]:
        return None
    path, declared = "", connection.client_capabilities
    if fact.method == CREATE_MESSAGE and fact.params.get("tools"):
        path = "sampling.tools"
    elif fact.method == ELICIT:
        mode = fact.params.get("mode", "form")
        modes = [each for each in _MODES if each in as_object(declared.get(_ELICITATION))]
        path = f"{_ELICITATION}.{mode}" if mode in _MODES and (modes or mode == "url") else ""
    is_declared = not path or _declares(declared, path)
    return None if is_declared else (Side.CLIENT, path)


def _declares(capabilities: JsonObject, path: str) -> bool:
    """Look for the capability at a path such as `resources.subscribe`."""
    *above, last = path.split(".")
    for name in above:
        capabilities = as_object(capabilities.get(name))
    return capabilities.get(last) not in (None, False)
