"""Why a server that was started could not be connected to, in words, with what to try."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.doctor import HttpNote
    from mcp_progress_monitor.sessions.mail import Mail

_QUOTED: Final = 200
_LINE: Final = 500
_NOTED: Final = 3
_LOST_HINT: Final = "Connect it again. If it goes on ending, run its command in a terminal."
_LOST_URL_HINT: Final = "Connect it again. If it goes on ending, the server's log may say why."
_START_HINT: Final = (
    "Run the command in a terminal to see what it needs: arguments, environment variables."
)
_RUBBISH_HINT: Final = (
    "Check that the command starts an MCP server in its stdio mode, with no logs on stdout."
)
_UNREAD_HINT: Final = (
    "Nothing more is read from it until it reads. Wait, or disconnect it if it never does: a "
    "server must go on reading while it writes."
)
_URL_HINT: Final = "Check the URL: does it lead to an MCP server? These are often at /mcp."
_SILENT_URL_HINT: Final = (
    "Check the URL, and that a server answers there. One that needs longer needs more time "
    "(“Connect within”, --connect-timeout)."
)
CLOSED_INPUT: Final = "The server closed its input, so that it was ended"
"""Why a connection ended whose server no longer reads."""
CLOSED_OUTPUT: Final = "The server closed its output, so that it was ended"
"""Why one ended whose server writes no more, but did not end by itself."""
DEFECT_HINT: Final = "Connect it again. The log of this program tells what went wrong."
_BUSY: Final = {429: "Too Many Requests", 503: "Service Unavailable"}
_BUSY_HINT: Final = (
    "It may be starting, or have too much to do: wait a while, then try again, or give it more "
    "time (“Connect within”, --connect-timeout)."
)
_SILENT_HINT: Final = (
    "Check that it is an MCP server on stdio. One that only starts slowly needs more time "
    "(“Connect within”, --connect-timeout)."
)


def ended(command: str, connection: Connection) -> Problem:
    """The server's process ended before it was connected, or what it is reached by failed."""
    if connection.failure is not None:
        return connection.failure
    what = f"{_told(connection)} before it was connected"
    hint = _URL_HINT if connection.is_http else _START_HINT
    return Problem(what, command, _or_defect(hint, connection), evidence(connection))


def lost(command: str, connection: Connection) -> Problem:
    """The server's process ended by itself while it was connected, or it cannot be reached."""
    if connection.failure is not None:
        return connection.failure
    hint = _or_defect(_LOST_URL_HINT if connection.is_http else _LOST_HINT, connection)
    return Problem(_told(connection), command, hint, evidence(connection))


def _or_defect(hint: str, connection: Connection) -> str:
    """What to try: there is nothing wrong with the server where this program failed."""
    return hint if connection.problem is None else connection.problem.hint or hint


def silent(command: str, limit_s: float, asked: Sequence[str], connection: Connection) -> Problem:
    """The server did not answer in time, or with lines that are no messages."""
    what = f"The server did not answer {' or '.join(asked) or 'anything'} within {limit_s:g} s"
    hint = _SILENT_URL_HINT if connection.is_http else _SILENT_HINT
    if busy := _busy(connection):
        what = f"The server answers {busy}, and did so until the time to connect was over"
        hint = _BUSY_HINT
    if connection.mail.rubbish:
        what, hint = "This is no MCP server: what it prints is not JSON-RPC", _RUBBISH_HINT
        if connection.is_http:
            what, hint = "This is no MCP server: what it sends is not JSON-RPC", _URL_HINT
    detail = "\n".join(filter(None, [in_line(connection.mail), evidence(connection)]))
    return Problem(what, command, hint, detail)


def _busy(connection: Connection) -> str:
    """The answer of a server over HTTP that is there but not ready; nothing otherwise."""
    notes = connection.http_notes
    status = notes[-1].status if notes else None
    return f"{status} {_BUSY[status]}" if status in _BUSY else ""


def unread(command: str, mail: Mail) -> Problem | None:
    """The server asks without reading our answers, so that we have stopped reading what it says."""
    return Problem(in_line(mail), command, _UNREAD_HINT) if mail.is_on_hold else None


def in_line(mail: Mail) -> str:
    """What waits because the server does not read its input; nothing when nothing does."""
    if not mail.in_line:
        return ""
    verb = "waits" if mail.in_line == 1 else "wait"
    return f"The server does not read its input: {text.count(mail.in_line, 'message')} {verb}"


def _told(connection: Connection) -> str:
    """How the server ended, with the exit code that it chose itself."""
    code = connection.exit_code
    is_own = code is not None and code >= 0 and connection.reason == ending(code)
    return f"{connection.reason} with exit code {code}" if is_own else connection.reason


def evidence(connection: Connection) -> str:
    """What the server sent instead of messages, and its last lines of stderr or HTTP answers."""
    parts = []
    if connection.mail.rubbish:
        rubbish = [line.decode(errors="replace") for line in connection.mail.rubbish]
        lines = [text.one_line(line, _QUOTED) for line in rubbish]
        parts.append("Its output began:\n" + _indented(lines))
    if connection.http_notes:
        parts.append("Last requests:\n" + _indented(map(_noted, connection.http_notes[-_NOTED:])))
    if connection.stderr_tail:
        lines = [text.one_line(line, _LINE) for line in connection.stderr_tail]
        parts.append("Its standard error ended:\n" + _indented(lines))
    return "\n".join(parts)


def _noted(note: HttpNote) -> str:
    status = "" if note.status is None else f"{note.status} "
    return text.one_line(f"{note.request}: {status}{note.words}", _QUOTED)


def ending(exit_code: int | None) -> str:
    """How a server came to its end by itself."""
    if exit_code is None:
        return "The server closed its output"
    if exit_code >= 0:
        return "The server ended"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return f"The server was ended by {name}"


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def not_connected(name: str) -> Problem:
    """The server has to be connected first."""
    return Problem("The server is not connected", name, "Connect it, then try again.")
