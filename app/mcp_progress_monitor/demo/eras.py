"""Differences between protocol revisions for a server.

Revisions 2024-11-05 to 2025-11-25 start with a handshake (`initialize`, then
`notifications/initialized`). Revision 2026-07-28 has none: each request has its version and the
client's capabilities in `_meta`, and `server/discover` returns the server's capabilities. A
connection may use both, so the revision is decided for each request (spec 2026-07-28, basic,
versioning).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_progress_monitor.demo.wire import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    JsonObject,
    RpcError,
)

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PER_REQUEST_VERSIONS: Final = ("2026-07-28",)
TASKS_VERSION: Final = "2025-11-25"  # the one revision with tasks in its core

ERAS: Final = {
    "both": HANDSHAKE_VERSIONS + PER_REQUEST_VERSIONS,
    "handshake": HANDSHAKE_VERSIONS,
    "per-request": PER_REQUEST_VERSIONS,
}

VERSION_STAMP: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_STAMP: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_STAMP: Final = "io.modelcontextprotocol/serverInfo"
LOG_LEVEL_STAMP: Final = "io.modelcontextprotocol/logLevel"
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"

SERVER_INFO: Final = {
    "name": "mcp-progress-demo",
    "title": "MCP Progress Monitor demo server",
    "version": "1.0.0",
}

CAPABILITIES: Final[JsonObject] = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {"listChanged": True},
    "logging": {},
}

_TASKS: Final[JsonObject] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
INSTRUCTIONS: Final = "Each tool shows one way of reporting progress, correct or faulty."
_EARLY: Final = frozenset({"ping"})

_HANDSHAKE_ONLY: Final = frozenset(
    {
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "tasks/result",
    }
)

_PER_REQUEST_ONLY: Final = frozenset({"server/discover", "subscriptions/listen", "tasks/update"})

_CACHEABLE: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
    }
)

_CACHE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Dialect:
    """The revision in which one request is served, and its client's capabilities."""

    version: str
    client: JsonObject = field(default_factory=dict)  # the client's capabilities
    offers_tasks: bool = True

    @property
    def is_per_request(self) -> bool:
        """True if results need a type and servers must not send requests."""
        return self.version in PER_REQUEST_VERSIONS

    @property
    def has_messages(self) -> bool:
        """True if progress may have a message, unlike in the first revision."""
        return self.version != "2024-11-05"

    @property
    def has_batches(self) -> bool:
        return self.version == "2025-03-26"

    @property
    def has_core_tasks(self) -> bool:
        return self.version == TASKS_VERSION and self.offers_tasks

    @property
    def has_task_extension(self) -> bool:
        declared = self.declares("extensions", TASKS_EXTENSION)
        return self.is_per_request and self.offers_tasks and declared

    @property
    def has_elicitation(self) -> bool:
        return self.version >= "2025-06-18"

    @property
    def has_rich_questions(self) -> bool:
        """True if questions know modes, titled and multiple choices, and tools in sampling."""
        return self.version >= TASKS_VERSION

    @property
    def not_found_code(self) -> int:
        return INVALID_PARAMS if self.is_per_request else RESOURCE_NOT_FOUND

    def knows(self, method: str) -> bool:
        foreign = _HANDSHAKE_ONLY if self.is_per_request else _PER_REQUEST_ONLY
        if method.startswith("tasks/") and not (self.offers_tasks and self.has_rich_questions):
            return False
        return method not in foreign

    def declares(self, *path: str) -> bool:
        node: object = self.client
        for name in path:
            if not isinstance(node, dict) or name not in node:
                return False
            node = node[name]
        return True

    def require_tasks(self) -> None:
        """Refuse clients that do not declare the extension.

        Raises:
            RpcError: -32021, naming it.
        """
        if self.is_per_request and not self.has_task_extension:
            raise missing_capability({"extensions": {TASKS_EXTENSION: {}}})

    def capabilities(self) -> JsonObject:
        if not self.offers_tasks:
            return CAPABILITIES
        if self.is_per_request:
            return {**CAPABILITIES, "extensions": {TASKS_EXTENSION: {}}}
        return {**CAPABILITIES, "tasks": _TASKS} if self.has_core_tasks else CAPABILITIES

    def dress(self, method: str, result: JsonObject) -> JsonObject:
        """Return `result` with the members that this revision requires for `method`."""
        if not self.is_per_request:
            return result
        meta = {SERVER_INFO_STAMP: SERVER_INFO, **result.get("_meta", {})}
        dressed: JsonObject = {"resultType": "complete", **result, "_meta": meta}
        if method in _CACHEABLE:
            dressed = {"ttlMs": _CACHE_MS, "cacheScope": "public", **dressed}
        return dressed


class Negotiation:
    """Decides the revision of each request of one connection."""

    def __init__(self, versions: Sequence[str], *, offers_tasks: bool = True) -> None:
        self._offers_tasks = offers_tasks
        self._handshake = [v for v in HANDSHAKE_VERSIONS if v in versions]
        self._per_request = [v for v in PER_REQUEST_VERSIONS if v in versions]
        self._offered: Dialect | None = None
        self._opened = False

    @property
    def session(self) -> Dialect | None:
        """The dialect offered in a handshake; None before that."""
        return self._offered

    def initialize(self, params: JsonObject) -> JsonObject:
        """Answer `initialize` with the requested version if supported, else with our newest.

        Raises:
            RpcError: This era has no handshake, it is already done, or the request is incomplete.
        """
        wanted = params.get("protocolVersion")
        if not self._handshake:
            raise self._unsupported(wanted)
        if self._offered is not None:
            raise RpcError(INVALID_REQUEST, "This connection is already initialized")
        _require_client(params)
        agreed = wanted if wanted in self._handshake else self._handshake[-1]
        self._offered = self._dialect(str(agreed), params["capabilities"])
        return {
            "protocolVersion": agreed,
            "capabilities": self._offered.capabilities(),
            "serverInfo": SERVER_INFO,
            "instructions": INSTRUCTIONS,
        }

    def initialized(self) -> None:
        self._opened = self._offered is not None

    def discover(self) -> JsonObject:
        return {
            "supportedVersions": self._per_request[::-1],
            "capabilities": self._dialect(self._per_request[-1]).capabilities(),
            "instructions": INSTRUCTIONS,
        }

    def dialect(self, method: str, params: JsonObject) -> Dialect:
        """Return the dialect for a request.

        Raises:
            RpcError: The version is unsupported, required members of `_meta` are missing, the
                handshake is incomplete, or the method does not exist in the revision.
        """
        meta = params.get("_meta")
        stamps = meta if isinstance(meta, dict) else {}
        if VERSION_STAMP in stamps and self._per_request:
            dialect = self._stamped(stamps)
        else:
            dialect = self._unstamped(method)
        if not dialect.knows(method):
            raise RpcError(METHOD_NOT_FOUND, f"No method {method} in revision {dialect.version}")
        return dialect

    def _stamped(self, stamps: JsonObject) -> Dialect:
        version = stamps[VERSION_STAMP]
        if not isinstance(version, str):
            raise _missing(VERSION_STAMP, "a string")
        if version not in self._per_request:
            raise self._unsupported(version)
        client = stamps.get(CAPABILITIES_STAMP)
        if not isinstance(client, dict):
            raise _missing(CAPABILITIES_STAMP, "an object")
        return self._dialect(version, client)

    def _dialect(self, version: str, client: JsonObject | None = None) -> Dialect:
        return Dialect(version, client or {}, self._offers_tasks)

    def _unstamped(self, method: str) -> Dialect:
        if self._offered is not None and (self._opened or method in _EARLY):
            return self._offered
        if not self._per_request or method in _EARLY:
            return self._early(method)
        raise _missing(VERSION_STAMP, "a string")

    def _early(self, method: str) -> Dialect:
        """The dialect for what is allowed before the handshake: a ping, and unknown methods."""
        if self._handshake and method in _EARLY | _PER_REQUEST_ONLY:
            return self._dialect(self._handshake[-1])
        if not self._handshake:
            return self._dialect(self._per_request[-1])
        raise RpcError(INVALID_REQUEST, f"Received {method} before the handshake was complete")

    def _unsupported(self, version: object) -> RpcError:
        supported = (self._handshake + self._per_request)[::-1]
        data = {"supported": supported, "requested": str(version)}
        return RpcError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {version}", data)


def missing_capability(required: JsonObject) -> RpcError:
    data = {"requiredCapabilities": required}
    return RpcError(MISSING_CAPABILITY, "Missing required client capability", data)


def _missing(stamp: str, kind: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Each request needs _meta[{stamp!r}], {kind}")


def _require_client(params: JsonObject) -> None:
    kinds: dict[str, type[Any]] = {"protocolVersion": str, "capabilities": dict, "clientInfo": dict}
    for name, kind in kinds.items():
        if not isinstance(params.get(name), kind):
            raise RpcError(INVALID_PARAMS, f"initialize needs {name}")
