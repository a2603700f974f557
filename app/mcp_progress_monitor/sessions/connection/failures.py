"""Errors about servers that could not be connected, with what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.doctor import EndKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.outbox import Outbox
    from mcp_progress_monitor.snapshots.doctor import HttpNote

_QUOTED: Final = 200
_LINE: Final = 500
_NOTED: Final = 3
_LOST_HINT: Final = "Reconnect. If it keeps stopping, run its command in a terminal."
_LOST_URL_HINT: Final = "Reconnect. If it keeps failing, check the server's log."
_START_HINT: Final = (
    "Run the command in a terminal to check its arguments and environment variables."
)
_RUBBISH_HINT: Final = (
    "Check that the command starts an MCP server in stdio mode, and that it logs "
    "to stderr, not stdout."
)
_UNREAD_HINT: Final = (
    "Reading from the server is paused until it reads its input. Wait, or "
    "disconnect it: a server must keep reading while it writes."
)
_URL_HINT: Final = "Check that the URL is that of an MCP server. The path is often /mcp."
_SILENT_URL_HINT: Final = (
    "Check the URL, and that a server is running there. If it is slow, increase "
    "the connect timeout (“Connection timeout”, --connect-timeout)."
)
_BUSY: Final = {429: "Too Many Requests", 503: "Service Unavailable"}
_BUSY_HINT: Final = (
    "It may be starting or overloaded: try again later, or increase the connect "
    "timeout (“Connection timeout”, --connect-timeout)."
)
_SILENT_HINT: Final = (
    "Check that this is an MCP server on stdio. If it starts slowly, increase "
    "the connect timeout (“Connection timeout”, --connect-timeout)."
)


def ended(command: str, connection: Connection) -> ErrorDetails:
    """The error if the process ended before it was connected, or its transport failed."""
    if connection.failure is not None:
        return connection.failure
    what = f"{_what_failed(connection)} before it was connected"
    hint = _URL_HINT if connection.is_http else _START_HINT
    return ErrorDetails(what, command, _or_defect(hint, connection), evidence(connection))


def lost(command: str, connection: Connection) -> ErrorDetails:
    """The error if a connected server's process ended, or the server became unreachable."""
    if connection.failure is not None:
        return connection.failure
    hint = _or_defect(_LOST_URL_HINT if connection.is_http else _LOST_HINT, connection)
    return ErrorDetails(_what_failed(connection), command, hint, evidence(connection))


def _or_defect(hint: str, connection: Connection) -> str:
    """The hint, or another one if this program is at fault."""
    return hint if connection.error is None else connection.error.hint or hint


def silent(
    command: str, limit_s: float, asked: Sequence[str], connection: Connection
) -> ErrorDetails:
    """The error if a server did not answer in time, or answered with invalid lines."""
    what = f"The server did not answer {' or '.join(asked) or 'anything'} within {limit_s:g} s"
    hint = _SILENT_URL_HINT if connection.is_http else _SILENT_HINT
    if busy := _busy(connection):
        what = f"The server kept answering {busy} until the connect timeout"
        hint = _BUSY_HINT
    if connection.outbox.invalid_lines:
        what, hint = "Not an MCP server: its output is not JSON-RPC", _RUBBISH_HINT
        if connection.is_http:
            what, hint = "Not an MCP server: its responses are not JSON-RPC", _URL_HINT
    detail = "\n".join(filter(None, [queued_text(connection.outbox), evidence(connection)]))
    return ErrorDetails(what, command, hint, detail)


def _busy(connection: Connection) -> str:
    """The response of an HTTP server that is not ready; empty otherwise."""
    notes = connection.http_notes
    status = notes[-1].status if notes else None
    return f"{status} {_BUSY[status]}" if status in _BUSY else ""


def unread(command: str, outbox: Outbox) -> ErrorDetails | None:
    """The error if the server sends requests without reading our replies; else None."""
    return ErrorDetails(queued_text(outbox), command, _UNREAD_HINT) if outbox.is_on_hold else None


def queued_text(outbox: Outbox) -> str:
    """What waits because the server does not read its input; empty if nothing does."""
    if not outbox.queued_count:
        return ""
    waiting = formatting.count(outbox.queued_count, "message")
    verb = "waits" if outbox.queued_count == 1 else "wait"
    return f"The server is not reading its input: {waiting} {verb}"


def _what_failed(connection: Connection) -> str:
    """How the server ended, with its own exit code."""
    code = connection.exit_code
    is_own = code is not None and code >= 0 and connection.end_kind is EndKind.SERVER
    return f"{connection.reason} with exit code {code}" if is_own else connection.reason


def evidence(connection: Connection) -> str:
    """Evidence: invalid output, and the last lines of stderr or HTTP responses."""
    parts = []
    if connection.outbox.invalid_lines:
        invalid_lines = [line.decode(errors="replace") for line in connection.outbox.invalid_lines]
        lines = [formatting.one_line(line, _QUOTED) for line in invalid_lines]
        parts.append("First output:\n" + _indented(lines))
    if connection.http_notes:
        parts.append("Last requests:\n" + _indented(map(_noted, connection.http_notes[-_NOTED:])))
    if connection.stderr_tail:
        lines = [formatting.one_line(line, _LINE) for line in connection.stderr_tail]
        parts.append("Last lines of standard error:\n" + _indented(lines))
    return "\n".join(parts)


def _noted(note: HttpNote) -> str:
    status = "" if note.status is None else f"{note.status} "
    return formatting.one_line(f"{note.request}: {status}{note.text}", _QUOTED)


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)
