"""What is known of a server, in words: in short for its row, and all of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor import text
from mcp_progress_monitor.sessions.connect_limit import waiting_words
from mcp_progress_monitor.sessions.snapshot import ServerState

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.sessions.snapshot import Health, Retry, ServerSnapshot

_PATIENT_S: Final = 3.0
"""How long connecting may take before the row says what it is waiting for."""
_UPDATES_TOLD: Final = 10
_TRANSPORTS: Final = {"stdio": "stdio", "http": "HTTP", "sse": "SSE"}


def state_word(state: ServerState) -> str:
    """The state's name in the user's language."""
    return _tr(state.value)


def transport_word(server: ServerSnapshot) -> str:
    """How the server is reached, in a word."""
    transport = server.definition.transport
    return _TRANSPORTS.get(transport, transport)


def retry_words(retry: Retry, now: float) -> str:
    """`Restarting in 4 s (2 of 5)`, or that it is being done."""
    which = _tr("{number} of {limit}").format(number=retry.number, limit=retry.limit)
    if retry.due_at is None or retry.due_at <= now:
        return _tr("Restarting now ({which})").format(which=which)
    left = text.duration(math.ceil(retry.due_at - now))
    return _tr("Restarting in {time} ({which})").format(time=left, which=which)


def health_words(health: Health, now: float, interval_s: float = 0.0) -> str:
    """Whether a silent server answers when it is asked; it is asked after `interval_s`."""
    if health.is_hung:
        return _tr("Does not answer pings: hung")
    silent = text.duration(math.floor(max(0.0, now - health.asked_at + interval_s)))
    if health.answered_s is None:
        return _tr("Silent for {time}, asked for a sign of life").format(time=silent)
    return _tr("Silent for {time}, answers pings").format(time=silent)


def about(
    server: ServerSnapshot,
    stray_ticks: int = 0,
    now: float = 0.0,
    entry: CatalogueEntry | None = None,
    *,
    awaits_turn: bool = False,
) -> str:
    """What is known of a server in short, the most important first: state, trouble, then facts.

    `stray_ticks` is how much of its progress had a token that belongs to no job. `now` is monotonic
    seconds, for what counts down; `awaits_turn`: it is to be connected after others.
    """
    first = _tr("Waiting for its turn") if awaits_turn else _state_words(server, now, entry)
    if (
        not awaits_turn
        and server.problem is not None
        and server.retry is None
        and server.sign_in is None
    ):
        return _told(server, _of_restarts(server))
    facts: tuple[str, ...] = (transport_word(server), _of_restarts(server))
    if server.state is ServerState.CONNECTED:
        tools = text.count(len(server.tools), _tr("tool"), _tr("tools"))
        facts = (_of_updates(server), tools, server.revision or "", *facts)
    parts = (first, _of_stray(stray_ticks), *facts)
    return " · ".join(text.one_line(part) for part in parts if part)


def _told(server: ServerSnapshot, restarts: str) -> str:
    """What went wrong; of a connected server what of it cannot be used."""
    what = text.one_line(server.problem.what) if server.problem is not None else ""
    if server.state is ServerState.FAILED:
        what = f"{state_word(server.state)}: {what}"
    return " · ".join(part for part in (what, restarts) if part)


def _state_words(server: ServerSnapshot, now: float, entry: CatalogueEntry | None) -> str:
    """What state a server is in; nothing while it is connected and well."""
    if entry is not None and entry.is_disabled and not server.state.is_up:
        return _tr("Disabled")
    if server.sign_in is not None:
        return _tr("Sign-in needed")
    if server.retry is not None:
        return retry_words(server.retry, now)
    if server.waiting is not None and now - server.waiting.began_at >= _PATIENT_S:
        return f"{state_word(server.state)}: {waiting_words(server.waiting, now)}"
    if server.state is not ServerState.CONNECTED:
        return state_word(server.state)
    if server.health is None:
        return ""
    return health_words(server.health, now, server.definition.ping_interval_s)


def _of_restarts(server: ServerSnapshot) -> str:
    words = text.count(server.restarts, _tr("restart"), _tr("restarts"))
    return words if server.restarts else ""


def _of_updates(server: ServerSnapshot) -> str:
    """That resources were updated, and how often; nothing when none was."""
    number = sum(each.number for each in server.resource_updates)
    return text.count(number, _tr("resource update")) if number else ""


def _updates(server: ServerSnapshot) -> str:
    """The newest updates of resources, a line each, the last one first."""
    words = _tr("{uri} updated {count}, last at {time}")
    return "\n".join(
        words.format(
            uri=text.one_line(each.uri),
            count=text.count(each.number, "time"),
            time=text.clock(each.when)[:8],
        )
        for each in reversed(server.resource_updates[-_UPDATES_TOLD:])
    )


def _of_stray(ticks: int) -> str:
    if not ticks:
        return ""
    return _tr("{ticks} for unknown tokens").format(ticks=text.count(ticks, "tick"))


def story(
    server: ServerSnapshot,
    stray_ticks: int = 0,
    now: float = 0.0,
    entry: CatalogueEntry | None = None,
    *,
    awaits_turn: bool = False,
) -> str:
    """All that is known of a server, in lines of plain text; arguments as of `about`."""
    problem = server.problem.as_text() if server.problem is not None else ""
    state = _state_words(server, now, entry) or state_word(server.state)
    state = _tr("Waiting for its turn") if awaits_turn else state
    parts = (
        f"{text.one_line(server.name)}: {state}",
        text.one_line(server.definition.address, 400),
        "" if server.pid is None else f"pid {server.pid}",
        text.visible(problem, keep_line_ends=True) if problem else _facts(server),
        _of_restarts(server) if problem else "",
        _of_stray(stray_ticks),
        _updates(server),
        *_of_entry(entry),
    )
    return "\n".join(part for part in parts if part)


def _facts(server: ServerSnapshot) -> str:
    """What a server without a problem is, in a line."""
    parts: tuple[str, ...] = (transport_word(server), _of_restarts(server))
    if server.state is ServerState.CONNECTED:
        offers = (
            (len(server.tools), _tr("tool")),
            (len(server.resources), _tr("resource")),
            (len(server.prompts), _tr("prompt")),
        )
        counts = [text.count(number, word) for number, word in offers if number]
        parts = (text.one_line(server.title), *counts, server.revision or "", *parts)
    return " · ".join(text.one_line(part) for part in parts if part)


def _of_entry(entry: CatalogueEntry | None) -> tuple[str, ...]:
    if entry is None:
        return ()
    at_start = _tr("Connected at start") if entry.connects_at_start else ""
    origin = _tr("Imported from {}").format(text.one_line(entry.origin)) if entry.origin else ""
    return at_start, origin


def _tr(words: str) -> str:
    return QCoreApplication.translate("Servers", words)
