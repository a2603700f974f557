"""A server as text: a summary for its row, and all details."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.messages import LIST_TOOLS
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.snapshots.servers import Health, Retry, ServerSnapshot, Waiting

_PATIENT_S: Final = 3.0  # how long connecting may take before the row says what it is waiting for
_UPDATES_SHOWN: Final = 10
_NAME: Final = 60
_TRANSPORTS: Final = {"stdio": "stdio", "http": "HTTP", "sse": "SSE"}


def state_word(state: ServerState) -> str:
    return state.value


def transport_word(server: ServerSnapshot) -> str:
    transport = server.definition.transport
    return _TRANSPORTS.get(transport, transport)


def sign_in_text(server: str) -> str:
    """A request to sign in to a server."""
    return f"Sign in to use the server {formatting.one_line(server, _NAME)}"


def disabled(server: str, hint: str) -> ErrorDetails:
    """The error that a server is disabled; `hint` says how to enable it."""
    return ErrorDetails("The server is disabled", server, hint)


def replaced_text(backup: Path) -> str:
    """A note that an export replaced servers in a file, with the path of the backup."""
    return f"Servers were replaced; backup of the file: {formatting.visible(str(backup))}"


def retry_text(retry: Retry, now: float) -> str:
    """`Restarting in 4 s (2 of 5)` or `Restarting now (2 of 5)`."""
    which = f"{retry.number} of {retry.limit}"
    if retry.due_at is None or retry.due_at <= now:
        return f"Restarting now ({which})"
    left = formatting.duration(math.ceil(retry.due_at - now))
    return f"Restarting in {left} ({which})"


def health_text(health: Health, now: float, interval_s: float = 0.0) -> str:
    """Say whether a silent server answers pings; `interval_s` is the silence before a ping."""
    if health.is_hung:
        return "Does not answer pings: hung"
    silent = formatting.duration(math.floor(max(0.0, now - health.asked_at + interval_s)))
    if health.answered_s is None:
        return f"Silent for {silent}, ping sent"
    return f"Silent for {silent}, answers pings"


def waiting_text(waiting: Waiting, now: float) -> str:
    what = f"for the answer to {waiting.what}" if waiting.what else "for the server to start"
    waited = formatting.duration(int(max(now - waiting.began_at, 0.0)))
    left = formatting.duration(int(max(waiting.until - now, 0.0)))
    text = f"waiting {what} for {waited}, at most {left} more"
    if waiting.stderr_at is None:
        return text
    ago = formatting.duration(int(max(now - waiting.stderr_at, 0.0)))
    return f"{text}; it wrote to standard error {ago} ago"


def about(
    server: ServerSnapshot,
    stray_ticks: int = 0,
    now: float = 0.0,
    entry: CatalogueEntry | None = None,
    *,
    awaits_turn: bool = False,
) -> str:
    """A one-line summary of a server, the most important first: state, errors, then facts.

    `stray_ticks` counts its ticks whose token belongs to no job. `now` is monotonic seconds, for
    countdowns. `awaits_turn` says that it is queued to be connected after others.
    """
    first = "Waiting to connect" if awaits_turn else _state_text(server, now, entry)
    is_in_progress = awaits_turn or server.retry is not None or server.sign_in is not None
    if server.error is not None and not is_in_progress:
        return _error_summary(server, server.error)
    facts: tuple[str, ...] = (transport_word(server), _restarts(server))
    if server.state is ServerState.CONNECTED:
        count = formatting.count(len(server.tools), "tool")
        tools = "tools not listed" if LIST_TOOLS in server.unlisted else count
        facts = (on_save_text(server), _update_count(server), tools, server.revision or "", *facts)
    parts = (first, _stray(stray_ticks), *facts)
    return " · ".join(formatting.one_line(part) for part in parts if part)


def _error_summary(server: ServerSnapshot, error: ErrorDetails) -> str:
    what = formatting.one_line(error.as_line())
    if server.state is ServerState.FAILED:
        what = f"{state_word(server.state)}: {what}"
    return " · ".join(filter(None, (what, _restarts(server))))


def _state_text(server: ServerSnapshot, now: float, entry: CatalogueEntry | None) -> str:
    """The state of a server; empty while it is connected without errors."""
    if entry is not None and entry.is_disabled and not server.state.is_up:
        return "Disabled"
    if server.sign_in is not None:
        return "Sign-in needed"
    if server.retry is not None:
        return retry_text(server.retry, now)
    if server.waiting is not None and now - server.waiting.began_at >= _PATIENT_S:
        return f"{state_word(server.state)}: {waiting_text(server.waiting, now)}"
    if server.state is not ServerState.CONNECTED:
        return state_word(server.state)
    if server.health is None:
        return ""
    return health_text(server.health, now, server.definition.ping_interval_s)


def _restarts(server: ServerSnapshot) -> str:
    return formatting.count(server.restarts, "restart") if server.restarts else ""


def on_save_text(server: ServerSnapshot) -> str:
    """`Watching 12 files in src`, or what a restart waits for; empty if none restart it."""
    if server.on_save is None:
        return ""
    number, paths, waits_for = server.on_save
    if waits_for:
        return restarts_when_text(waits_for)
    return watching_text(number, paths)


def restarts_when_text(jobs: int) -> str:
    return f"Restarts when {formatting.count(jobs, 'job')} {'ends' if jobs == 1 else 'end'}"


def watching_text(files: int, paths: Sequence[str]) -> str:
    names = [formatting.one_line(Path(path).name or path, _NAME) for path in paths[:1]]
    more = f" and {formatting.count(len(paths) - 1, 'more place')}" if len(paths) > 1 else ""
    return f"Watching {formatting.count(files, 'file')} in {names[0] if names else '?'}{more}"


def _update_count(server: ServerSnapshot) -> str:
    """The number of resource updates; empty for none."""
    number = sum(each.number for each in server.resource_updates)
    return formatting.count(number, "resource update") if number else ""


def _updates(server: ServerSnapshot) -> str:
    """The newest updates of resources, one per line, newest first."""
    return "\n".join(
        f"{formatting.one_line(each.uri)} updated {formatting.count(each.number, 'time')},"
        f" last at {formatting.clock(each.when)[:8]}"
        for each in reversed(server.resource_updates[-_UPDATES_SHOWN:])
    )


def _stray(ticks: int) -> str:
    return f"{formatting.count(ticks, 'tick')} for unknown tokens" if ticks else ""


def details(
    server: ServerSnapshot,
    stray_ticks: int = 0,
    now: float = 0.0,
    entry: CatalogueEntry | None = None,
    *,
    awaits_turn: bool = False,
) -> str:
    """All details of a server as lines of plain text; arguments as for `about`."""
    error = server.error.as_text() if server.error is not None else ""
    state = _state_text(server, now, entry) or state_word(server.state)
    state = "Waiting to connect" if awaits_turn else state
    parts = (
        f"{formatting.one_line(server.name)}: {state}",
        formatting.one_line(server.definition.address, 400),
        "" if server.pid is None else f"pid {server.pid}",
        formatting.visible(error, keep_line_ends=True) if error else _facts(server),
        _restarts(server) if error else "",
        on_save_text(server),
        _stray(stray_ticks),
        _updates(server),
        "Connects at start" if entry is not None and entry.connects_at_start else "",
        f"Imported from {formatting.one_line(entry.origin)}" if entry and entry.origin else "",
    )
    return "\n".join(part for part in parts if part)


def _facts(server: ServerSnapshot) -> str:
    """Facts about a server without errors, in one line."""
    parts: tuple[str, ...] = (transport_word(server), _restarts(server))
    if server.state is ServerState.CONNECTED:
        offers = (
            (len(server.tools), "tool"),
            (len(server.resources), "resource"),
            (len(server.prompts), "prompt"),
            (len(server.events), "event type"),
            (len(server.skills), "skill"),
        )
        counts = [formatting.count(number, word) for number, word in offers if number]
        parts = (formatting.one_line(server.title), *counts, server.revision or "", *parts)
    return " · ".join(formatting.one_line(part) for part in parts if part)
