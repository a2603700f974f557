"""The differences between MCP's revisions: opening, direction of requests, stamps."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.protocol.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    DISCOVER,
    INITIALIZE,
    LOG_LEVEL_KEY,
    META,
    SERVER_KEY,
    VERSION_KEY,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions that `initialize` agrees on, oldest first."""

LATEST_HANDSHAKE = HANDSHAKE_REVISIONS[-1]
SEQUENTIAL = HANDSHAKE_REVISIONS[0]
"""The newest revision of SDKs that handle one request at a time (Python SDK up to 1.2)."""
PER_REQUEST = "2026-07-28"
REVISIONS = (*HANDSHAKE_REVISIONS, PER_REQUEST)  # every revision this program speaks, oldest first

DISCOVER_LIMIT_S = 2.0
"""How long to wait for a reply to `server/discover` before trying `initialize`."""

REMEMBERED_LIMIT_S = 10.0
"""The same for a server that answered it before, and may only be slow to start."""

UNSUPPORTED_VERSION = -32022
"""JSON-RPC error code of 2026-07-28 for a revision that the server does not speak."""


class Era(enum.Enum):
    """Way a connection agrees on a revision."""

    HANDSHAKE = "handshake"
    PER_REQUEST = "per-request"


def era_of(revision: str) -> Era:
    return Era.PER_REQUEST if revision == PER_REQUEST else Era.HANDSHAKE


class ClientIdentity(NamedTuple):
    """Our identity for servers: `info` has name and version.

    `capabilities` are declared in the handshake, `stamped` with each request of 2026-07-28; without
    `stamped`, `capabilities` are.
    """

    info: JsonObject
    capabilities: JsonObject
    stamped: JsonObject | None = None

    @property
    def per_request(self) -> JsonObject:
        return self.capabilities if self.stamped is None else self.stamped


def stamps(revision: str, client: ClientIdentity, log_level: str | None = None) -> JsonObject:
    """The `_meta` members of every request of `revision`; empty in the handshake era.

    `log_level` requests log messages about the request, from that level on.
    """
    if era_of(revision) is Era.HANDSHAKE:
        return {}
    level = {} if log_level is None else {LOG_LEVEL_KEY: log_level}
    return {
        VERSION_KEY: revision,
        CAPABILITIES_KEY: client.per_request,
        CLIENT_KEY: client.info,
        **level,
    }


def initialize_params(client: ClientIdentity, revision: str = LATEST_HANDSHAKE) -> JsonObject:
    return {
        "protocolVersion": revision,
        "capabilities": client.capabilities,
        "clientInfo": client.info,
    }


def discover_params(client: ClientIdentity, revision: str = PER_REQUEST) -> JsonObject:
    """The parameters of `server/discover`: only the stamps."""
    return {META: stamps(revision, client)}


def client_info_of(method: str, params: JsonObject) -> JsonObject:
    """The client's description of itself in a request; empty if it has none."""
    if method == INITIALIZE:
        return as_object(params.get("clientInfo"))
    return as_object(as_object(params.get(META)).get(CLIENT_KEY))


def offered_revision(method: str, params: JsonObject) -> str | None:
    """The revision that a request offers; None for those of the handshake era after its opening.

    2026-07-28 has it in each request, and a client need not ask `server/discover` before.
    """
    stamped = as_object(params.get(META)).get(VERSION_KEY)
    if method == INITIALIZE:
        offer = params.get("protocolVersion")
    elif method == DISCOVER or (isinstance(stamped, str) and era_of(stamped) is Era.PER_REQUEST):
        offer = stamped
    else:
        return None
    return offer if isinstance(offer, str) else ""


class Agreement(NamedTuple):
    """A successful opening: the agreed revision, and the server's description of itself."""

    revision: str
    server_info: JsonObject
    capabilities: JsonObject
    instructions: str | None
    errors: tuple[str, ...] = ()

    @property
    def era(self) -> Era:
        return era_of(self.revision)


def read_opening(method: str, result: JsonObject, offered: str) -> Agreement | None:
    """The agreement in the result of an opening request; None if there is none that we speak.

    Any result of a request that names 2026-07-28 is one, with nothing known of the server's
    capabilities.
    """
    if method == DISCOVER:
        return read_discover(result, offered)
    if method == INITIALIZE:
        return read_initialize(result)
    info = as_object(as_object(result.get(META)).get(SERVER_KEY))
    return Agreement(offered, info, {}, None)


def read_initialize(result: JsonObject) -> Agreement | None:
    """Read the result of `initialize`; None if it names no revision that we speak.

    A server that answers with 2026-07-28, which has no handshake, is trusted.
    """
    revision = result.get("protocolVersion")
    if revision not in REVISIONS:
        return None
    notes = []
    if revision == PER_REQUEST:
        notes.append(f"initialize was answered with {PER_REQUEST}, a revision without a handshake")
    return _agreement(revision, result, "serverInfo", result.get("serverInfo"), notes)


def read_discover(result: JsonObject, offered: str = PER_REQUEST) -> Agreement | None:
    """Read the result of `server/discover`; None unless it supports `offered`.

    A result without `supportedVersions` or `capabilities` proves nothing: some servers of the
    handshake era answer every unknown method with `{}`.
    """
    is_offered = era_of(offered) is Era.PER_REQUEST
    if not is_offered or offered not in _strings(result.get("supportedVersions")):
        return None
    return assume_discover(result) if isinstance(result.get("capabilities"), dict) else None


def assume_discover(result: JsonObject) -> Agreement:
    """Read `result` of a server that speaks 2026-07-28, whatever is missing."""
    notes = []
    if PER_REQUEST not in _strings(result.get("supportedVersions")):
        notes.append(f'"supportedVersions" does not name {PER_REQUEST}')
    info = as_object(result.get(META)).get(SERVER_KEY)
    if info is None:
        info = result.get("serverInfo", {})  # as in an early draft
    return _agreement(PER_REQUEST, result, SERVER_KEY, info, notes)


def _agreement(
    revision: str, result: JsonObject, info_name: str, info: object, notes: list[str]
) -> Agreement:
    for name, value in ((info_name, info), ("capabilities", result.get("capabilities"))):
        if not isinstance(value, dict):
            notes.append(f'"{name}" is missing or not an object')
    instructions = result.get("instructions")
    return Agreement(
        revision,
        as_object(info),
        as_object(result.get("capabilities")),
        instructions if isinstance(instructions, str) else None,
        tuple(notes),
    )


def supported_revisions(reply: JsonObject) -> tuple[str, ...]:
    """Revisions that a discover result or an unsupported-version error lists, as received.

    Reads `supportedVersions` of a result and `data.supported` of an error, which servers of the
    handshake era send with -32602 as well.
    """
    data = as_object(reply.get("data"))
    return _strings(reply.get("supportedVersions")) or _strings(data.get("supported"))


def newest_common(supported: Sequence[str]) -> str | None:
    """The newest revision in `supported` that this program speaks."""
    return next((ours for ours in reversed(REVISIONS) if ours in supported), None)


def as_object(value: Any) -> JsonObject:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
