"""What a request's headers must say before anybody looks at its body.

Sources: "Streamable HTTP" of revisions 2025-03-26 to 2025-11-25 (Accept, Mcp-Session-Id,
MCP-Protocol-Version, Origin), and of 2026-07-28 (Mcp-Method and Mcp-Name, error -32020).
"""

import base64
import binascii
import re
from email.message import Message
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_progress_monitor.demo.eras import ERAS, PER_REQUEST_VERSIONS, VERSION_STAMP
from mcp_progress_monitor.demo.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    JsonObject,
    RpcError,
)

HEADER_MISMATCH: Final = -32020
SESSION_HEADER: Final = "Mcp-Session-Id"
VERSION_HEADER: Final = "MCP-Protocol-Version"
JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
_OURS: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_NAMED: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}
_NAMED_IF_SENT: Final = {"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}
_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=")
STATUS_OF: Final = {
    PARSE_ERROR: HTTPStatus.BAD_REQUEST,
    INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
    MISSING_CAPABILITY: HTTPStatus.BAD_REQUEST,
    UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
    METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
}
"""The HTTP status of an error without an earlier answer (2026-07-28); all others are 200."""

Headers = Message
"""As they came, whatever the case of their names."""


class RefusedError(Exception):
    """Ends an exchange with a status and a JSON-RPC error that belongs to no request, or one."""

    def __init__(self, status: HTTPStatus, error: RpcError, request_id: Any = None) -> None:
        """Keep what the answer will be."""
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.request_id = request_id


def refused(status: HTTPStatus, words: str, code: int = INVALID_REQUEST) -> RefusedError:
    """Return a refusal in words."""
    return RefusedError(status, RpcError(code, words))


def check_origin(headers: Headers) -> None:
    """Keep out web pages of other hosts, and names that were bent to lead here (DNS rebinding).

    Raises:
        RefusedError: Host or Origin is not this machine.
    """
    host = headers.get("Host")
    if host is not None and _host_of(f"//{host}") not in _OURS:
        raise refused(HTTPStatus.MISDIRECTED_REQUEST, f"Host {host} is not served here")
    origin = headers.get("Origin")
    if origin is not None and _host_of(origin) not in _OURS:
        raise refused(HTTPStatus.FORBIDDEN, f"Pages of {origin} may not call this server")


def check_accept(headers: Headers, *needed: str) -> None:
    """See that the client takes every kind of answer that it may get.

    Raises:
        RefusedError: It does not say so.
    """
    accepted = [part.split(";")[0].strip() for part in headers.get("Accept", "").split(",")]
    for kind in needed:
        if not {kind, f"{kind.split('/')[0]}/*", "*/*"} & set(accepted):
            raise refused(HTTPStatus.NOT_ACCEPTABLE, f"Accept must include {' and '.join(needed)}")


def check_content_type(headers: Headers) -> None:
    """See that the body is said to be JSON.

    Raises:
        RefusedError: It is not.
    """
    if headers.get("Content-Type", "").split(";")[0].strip().lower() != JSON:
        raise refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON}")


def check_version(headers: Headers) -> None:
    """See that the revision, if the client names one, is one there is.

    Raises:
        RefusedError: There is no such revision.
    """
    version = headers.get(VERSION_HEADER)
    if version is not None and version not in ERAS["both"]:
        data = {"supported": list(ERAS["both"])[::-1], "requested": version}
        error = RpcError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {version}", data)
        raise RefusedError(HTTPStatus.BAD_REQUEST, error)


def stands_alone(headers: Headers, message: object) -> bool:
    """Whether a message is of the revision without sessions."""
    return headers.get(VERSION_HEADER) in PER_REQUEST_VERSIONS or _stamp(message) is not None


def check_mirrored(headers: Headers, message: JsonObject) -> None:
    """See that the headers say what the body says (2026-07-28).

    Raises:
        RefusedError: One of them is missing or says something else.
    """
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    method = message.get("method")
    expected = [(VERSION_HEADER, _stamp(message), True), ("Mcp-Method", method, True)]
    if method in _NAMED:
        expected.append(("Mcp-Name", params.get(_NAMED[method]), True))
    elif method in _NAMED_IF_SENT:
        expected.append(("Mcp-Name", params.get(_NAMED_IF_SENT[method]), False))
    for name, value, is_needed in expected:
        given = headers.get(name)
        if isinstance(value, str) and (is_needed or given is not None):
            _compare(name, given, value, message.get("id"))


def _compare(name: str, given: str | None, value: str, request_id: object) -> None:
    if given is None:
        words = f"{name} is missing; the body says {value}"
    elif _unwrapped(given) != value:
        words = f"{name} is {given}, but the body says {value}"
    else:
        return
    raise RefusedError(HTTPStatus.BAD_REQUEST, RpcError(HEADER_MISMATCH, words), request_id)


def _unwrapped(value: str) -> str | None:
    """Return a header's value, which is in base64 where it could not be sent as it is."""
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _stamp(message: object) -> object:
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(VERSION_STAMP) if isinstance(meta, dict) else None


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
