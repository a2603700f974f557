"""Checks beside the messages: changed tool definitions, HTTP headers, the end of a process."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.checking.connection import ToolRecord, keep
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.eras import PER_REQUEST, as_object
from mcp_progress_monitor.protocol.facts import RequestStanding, Side
from mcp_progress_monitor.protocol.header_parameters import header_parameters_finding
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value, shown
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    GET_PROMPT,
    INITIALIZE,
    LIST_TOOLS,
    READ_RESOURCE,
    VERSION_KEY,
)
from mcp_progress_monitor.protocol.offers import TOOL_PARTS, definition_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.checking.connection import Evidence, JudgedCall, JudgedConnection
    from mcp_progress_monitor.protocol.facts import ConnectionOpened, JsonObject, RequestAnswered
    from mcp_progress_monitor.protocol.frames import Frame

POLITE_S: Final = 2.0  # how long a server may take to exit
_TOOLS_KEPT: Final = 4000
_NAMED_BY: Final = {CALL_TOOL: "name", GET_PROMPT: "name", READ_RESOURCE: "uri"}
_SENTINEL: Final = "=?base64?"
_EVENT_STREAM: Final = "text/event-stream"
_END: Final = "end"
_ACCEPTED: Final[dict[str, tuple[str, ...]]] = {
    "message": ("application/json", _EVENT_STREAM),
    "listen": (_EVENT_STREAM,),
    "resume": (_EVENT_STREAM,),
}
"""The types that a client accepts in the responses to its requests, by their recorded purpose."""
_HTTP_REQUEST: Final = b'{"event":"http_request"'
_CLOSED: Final = b'{"event":"closed"'
_DEFINITIONS_CHANGED: Final = b'{"event":"definitions_changed"'
_LONGEST_CHANGE: Final = 300  # characters, of one tool
_LONGEST_CHANGES: Final = 1000
_TRANSPORT_CHANGED: Final = b'{"event":"transport_changed"'
_OLD_TRANSPORT: Final = ("The HTTP+SSE transport", "Streamable HTTP")


def take_answer(
    connection: JudgedConnection, call: JudgedCall, fact: RequestAnswered
) -> Iterator[Evidence]:
    """Compare the listed tools with those listed before."""
    is_list = call.method == LIST_TOOLS and fact.standing is RequestStanding.ACTIVE
    listed: Any = (fact.result or {}).get("tools")
    if not is_list or not isinstance(listed, list):
        return
    memory, announced = connection.server, connection.is_change_announced
    for tool in listed[:_TOOLS_KEPT]:
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str):
            continue
        record = _record(tool)
        if connection.is_http and connection.is_per_request:
            yield from _header_parameters(connection, fact.number, name, tool)
        before = memory.tools.get(name)
        keep(memory.tools, name, record)
        if before is not None and before.parts != record.parts:
            changed = tuple(p for p in TOOL_PARTS if before.parts[p] != record.parts[p])
            rule = rules.TOOL_CHANGE_ANNOUNCED if announced else rules.TOOL_CHANGED
            yield connection.breaks(rule, fact.number, shown(name), changed)
        elif before is None and memory.baseline.get(name, digest(record)) != digest(record):
            yield connection.breaks(rules.TOOL_DRIFTED, fact.number, shown(name))
    connection.is_change_announced = False


def _header_parameters(
    connection: JudgedConnection, number: int, name: str, tool: JsonObject
) -> Iterator[Evidence]:
    """Check the arguments that a tool wants as headers: clients reject invalid ones."""
    finding = header_parameters_finding(as_object(tool.get("inputSchema")))
    if finding is not None:
        yield connection.breaks(rules.HEADER_MARK, number, shown(name), finding.text)


def _record(tool: JsonObject) -> ToolRecord:
    support = as_object(tool.get("execution")).get("taskSupport", "forbidden")
    parts = {part: _digest(canonical(tool.get(part))) for part in TOOL_PARTS}
    return ToolRecord(support if isinstance(support, str) else "forbidden", parts)


def digest(record: ToolRecord) -> str:
    """A digest of a tool's whole definition, for reports."""
    return _digest("".join(record.parts[part] for part in TOOL_PARTS).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def take_opened(connection: JudgedConnection, fact: ConnectionOpened) -> Iterator[Evidence]:
    """Note the transport; a client that begins with HTTP+SSE chose what is deprecated."""
    connection.is_opened = True
    connection.is_http = isinstance(fact.detail.get("url"), str)
    connection.is_streamable = connection.is_http and fact.detail.get("transport") != "sse"
    if connection.is_http and not connection.is_streamable:
        rule = rules.DEPRECATED_TRANSPORT
        yield connection.breaks(rule, fact.number, *_OLD_TRANSPORT, by=Side.CLIENT)


def take_event(connection: JudgedConnection, frame: Frame) -> Iterator[Evidence]:
    """Check recorded events: HTTP requests, another transport, and the end of a process."""
    if frame.raw.startswith(_HTTP_REQUEST):
        yield from _headers(connection, frame)
    elif frame.raw.startswith(_TRANSPORT_CHANGED):  # the server refused Streamable HTTP
        connection.is_streamable = False
        yield connection.breaks(rules.DEPRECATED_TRANSPORT, frame.number, *_OLD_TRANSPORT)
    elif frame.raw.startswith(_DEFINITIONS_CHANGED):
        if changes := [*map(_change_text, definition_changes(_fields(frame)))]:
            what = formatting.elide("; ".join(changes), _LONGEST_CHANGES)
            yield connection.breaks(rules.TOOLS_CHANGED_SINCE, frame.number, what)
    elif frame.raw.startswith(_CLOSED):
        fields = _fields(frame)
        if fields.get("forced") is True:
            yield connection.breaks(rules.NOT_ENDED, frame.number, POLITE_S)
        if fields.get("processes_left") is True:
            yield connection.breaks(rules.PROCESSES_LEFT, frame.number)


def _change_text(change: tuple[str, str]) -> str:
    tool, diff = change
    text = formatting.one_line(" ".join(diff.split()), _LONGEST_CHANGE)
    return f"{shown(tool)} ({text or 'too large to show'})"


def _fields(frame: Frame) -> JsonObject:
    try:
        return as_object(read_value(frame.raw).value)
    except (NotJsonError, TooDeepError):
        return {}


def _headers(connection: JudgedConnection, frame: Frame) -> Iterator[Evidence]:
    fields = _fields(frame)
    message, listed = fields.get("message"), fields.get("headers")
    call = connection.call_of(message if type(message) is int else None)
    if not isinstance(listed, list) or not listed:  # headers that were not recorded
        return
    sent = {
        pair[0].lower(): pair[1]
        for pair in listed
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, str) for p in pair)
    }
    if call is None or call.meta.get(VERSION_KEY) != PER_REQUEST:
        yield from _of_session(connection, frame, fields.get("purpose"), sent, call)
        return
    due = {"MCP-Protocol-Version": PER_REQUEST, "Mcp-Method": call.method}
    named = call.params.get(_NAMED_BY.get(call.method, ""))
    if isinstance(named, str):
        due["Mcp-Name"] = named
    for name, body in due.items():
        value = sent.get(name.lower())
        if value is None:
            yield call.breaks(rules.HEADER_MISSING, frame.number, name, by=Side.CLIENT)
        elif _decoded(value) != body:
            what = (name, shown(value), shown(body))
            yield call.breaks(rules.HEADER_MISMATCH, frame.number, *what, by=Side.CLIENT)


def _of_session(
    connection: JudgedConnection,
    frame: Frame,
    purpose: Any,
    sent: dict[str, str],
    call: JudgedCall | None,
) -> Iterator[Evidence]:
    """Check the headers that a request of the handshake era has whatever its message."""
    if not connection.is_streamable or connection.is_per_request:
        return
    accept = sent.get("accept", "")
    ranges = {part.split(";")[0].strip().lower() for part in accept.split(",")}
    types = _ACCEPTED.get(purpose, ()) if isinstance(purpose, str) else ()
    lacking = [each for each in types if not ranges & {each, f"{each.split('/')[0]}/*", "*/*"}]
    if lacking:
        what = shown(accept) if accept else "missing"
        yield connection.breaks(rules.ACCEPT_LACKS, frame.number, what, lacking, by=Side.CLIENT)
    is_opening = call is not None and call.method == INITIALIZE
    if connection.revision is None or is_opening or purpose not in {*_ACCEPTED, _END}:
        return
    version = sent.get("mcp-protocol-version")
    if version is None:
        yield connection.breaks(rules.NO_VERSION_HEADER, frame.number, by=Side.CLIENT)
    elif version != connection.revision:
        what = shown(version)
        rule = rules.OTHER_VERSION_HEADER
        yield connection.breaks(rule, frame.number, what, connection.revision, by=Side.CLIENT)


def _decoded(value: str) -> str:
    """A header's value, which is in base64 if a header cannot contain it."""
    if not (value.startswith(_SENTINEL) and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[len(_SENTINEL) : -2], validate=True).decode()
    except (binascii.Error, ValueError):
        return value
