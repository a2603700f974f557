"""What we ask of servers about tasks, and what of it a server offers, in both forms of tasks.

Sources: 2025-11-25 "Tasks", and the tasks extension of 2026-07-28, in which the client declares
the extension with each request and the server alone decides whether to answer with a task.
"""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Era, as_object, era_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.protocol.facts import JsonObject

EXTENSION: Final = "io.modelcontextprotocol/tasks"
"""The extension's name, as both sides declare it in 2026-07-28."""

GET: Final = "tasks/get"
RESULT: Final = "tasks/result"
CANCEL: Final = "tasks/cancel"
UPDATE: Final = "tasks/update"
LIST: Final = "tasks/list"
LISTEN: Final = "subscriptions/listen"

LONGEST_TTL_MS: Final = 2**53 - 1
"""The longest time to live that every JSON parser reads as the number that it is."""
_CALL: Final = "tools/call"


class TaskWay(enum.Enum):
    """How tasks are spoken of on a connection."""

    CORE = enum.auto()
    """2025-11-25: asked for in the request, the result fetched by `tasks/result`."""
    EXTENSION = enum.auto()
    """2026-07-28: the server's choice, the result in `tasks/get`, answers by `tasks/update`."""


class TaskOffer(NamedTuple):
    """What a server has agreed to about tasks, by its revision and its capabilities."""

    way: TaskWay
    capabilities: JsonObject

    @classmethod
    def of(cls, revision: str, capabilities: JsonObject) -> TaskOffer:
        """The offer of a server that agreed on `revision`."""
        is_core = era_of(revision) is Era.HANDSHAKE
        return cls(TaskWay.CORE if is_core else TaskWay.EXTENSION, capabilities)

    @property
    def has_calls(self) -> bool:
        """Whether a call of a tool may become a task."""
        if self.way is TaskWay.EXTENSION:
            return EXTENSION in as_object(self.capabilities.get("extensions"))
        requests = as_object(self._core.get("requests"))
        return "call" in as_object(requests.get("tools"))

    @property
    def has_list(self) -> bool:
        """Whether tasks can be listed."""
        return self.way is TaskWay.CORE and "list" in self._core

    @property
    def has_cancel(self) -> bool:
        """Whether tasks can be cancelled; in the extension always, though the server decides."""
        return self.way is TaskWay.EXTENSION or "cancel" in self._core

    @property
    def _core(self) -> JsonObject:
        return as_object(self.capabilities.get("tasks"))


class TaskWish(NamedTuple):
    """What a caller chose: as a task, plainly, or (None) as the tool demands; and for how long.

    `ttl_ms` is how long the server is asked to keep the task; None leaves that to the server.
    """

    as_task: bool | None = None
    ttl_ms: float | None = None

    def checked(self) -> TaskWish:
        """The same; `ProblemError` for a time to live that cannot be sent."""
        ttl_ms = self.ttl_ms
        if ttl_ms is None or (math.isfinite(ttl_ms) and 1 <= ttl_ms <= LONGEST_TTL_MS):
            return self
        what = f"A task cannot be kept for {ttl_ms:g} ms"
        hint = "Choose a positive time, or none to leave it to the server."
        raise ProblemError(Problem(what, hint=hint))


def params_as_wished(
    method: str,
    params: JsonObject,
    wish: TaskWish,
    offer: TaskOffer,
    support: str | None,
    stamps: JsonObject,
) -> JsonObject:
    """The parameters of a request, as a task or plainly.

    `support` is the tool's `taskSupport`, None where that is not known. `stamps` are those of the
    connection: in 2026-07-28 a call that is not to become a task goes out without the extension.

    Raises:
        ProblemError: it cannot be a task, and is to be one.
    """
    wish = wish.checked()
    if wish.as_task is True:
        _refuse_impossible(method, offer, support)
    if offer.way is TaskWay.EXTENSION:
        return without_extension(params, stamps) if wish.as_task is False else params
    is_demanded = support == "required" and method == _CALL and offer.has_calls
    if wish.as_task is False or not (wish.as_task or is_demanded):
        return params
    return {**params, "task": {} if wish.ttl_ms is None else {"ttl": int(wish.ttl_ms)}}


def _refuse_impossible(method: str, offer: TaskOffer, support: str | None) -> None:
    """`ProblemError` when a request cannot be a task (2025-11-25 "Tool-Level Negotiation")."""
    if method != _CALL:
        raise ProblemError(
            Problem(f"{method} cannot be made as a task", hint="Only calls of tools can.")
        )
    if not offer.has_calls:
        what = "The server offers no tasks for calls of its tools"
        raise ProblemError(Problem(what, hint="Call the tool without a task."))
    if offer.way is TaskWay.CORE and support == "forbidden":
        what = "The tool cannot be called as a task: the server says so in its list of tools"
        raise ProblemError(Problem(what, hint="Call it without a task."))


def with_extension(capabilities: JsonObject) -> JsonObject:
    """`capabilities` of a client that takes tasks as answers (2026-07-28)."""
    return {
        **capabilities,
        "extensions": {**as_object(capabilities.get("extensions")), EXTENSION: {}},
    }


def lacks_extension(meta: Mapping[str, Any], stamps: Mapping[str, Any]) -> bool:
    """Whether a request with `meta` went out without the extension that `stamps` declare."""
    own, usual = (as_object(each.get(eras.CAPABILITIES_KEY)) for each in (meta, stamps))
    is_usual = EXTENSION in as_object(usual.get("extensions"))
    return is_usual and bool(meta) and EXTENSION not in as_object(own.get("extensions"))


def without_extension(params: JsonObject, stamps: Mapping[str, Any]) -> JsonObject:
    """`params` with capabilities of their own, which lack the extension."""
    declared = as_object(stamps.get(eras.CAPABILITIES_KEY))
    extensions = as_object(declared.get("extensions"))
    if EXTENSION not in extensions:
        return params
    rest = {name: value for name, value in extensions.items() if name != EXTENSION}
    without = {name: value for name, value in declared.items() if name != "extensions"}
    own = {eras.CAPABILITIES_KEY: {**without, **({"extensions": rest} if rest else {})}}
    return {**params, "_meta": {**own, **as_object(params.get("_meta"))}}
