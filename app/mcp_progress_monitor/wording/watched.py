"""A watched server as text: its client, its state, its end, and gaps in its recording."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.formatting import on_machine
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.snapshots.watched import MachineState
from mcp_progress_monitor.wording.servers import transport_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.snapshots.watched import MachineSnapshot, TapEnd, WatchedSnapshot

_ENDED_BY: Final = {
    "server": "the server ended first",
    "client": "the client ended it",
    "tap": "the tap was stopped",
    "script": "killed by the script",
}
_NAME: Final = 60


def why_read_only(client: str) -> str:
    return f"{_short(client)} runs this job; it is only watched here"


def _short(name: str) -> str:
    return formatting.one_line(name, _NAME)


_MOST_NAMES: Final = 8


def resume_here(client: str) -> str:
    return f"Resume {_short(client)}'s job on a connection of this program"


def reissue_here(client: str) -> str:
    return f"Send {_short(client)}'s request again, on a connection of this program"


def edit_here(client: str) -> str:
    return f"Edit {_short(client)}'s request, and send it on a connection of this program"


def why_approve(client: str, *, has_url: bool) -> str:
    """Say why the definition of a watched server needs approval."""
    name = _short(client)
    if has_url:
        return f"{name} used this server. This program connects to it as well."
    return f"{name} started this server. This program will start its own copy of it."


def unknown_values(missing: Sequence[str], hidden_count: int) -> str:
    """A warning about settings that were not recorded; empty if none are missing."""
    found = []
    if missing:
        names = ", ".join(map(_short, missing[:_MOST_NAMES]))
        more = len(missing) - _MOST_NAMES
        rest = f" and {formatting.number(more)} more" if more > 0 else ""
        found.append(f"Values that are not recorded and not set here: {names}{rest}.")
    if hidden_count:
        arguments = formatting.count(hidden_count, "argument")
        found.append(f"{arguments} with a hidden secret: the server may refuse to start.")
    if found:
        found.append("Save the server with its settings first if it needs them.")
    return " ".join(found)


def why_no_call(client: str) -> str:
    """Say why no call can be made on a watched server."""
    return f"{_short(client)} runs this server; it is only watched here"


def end_text(end: TapEnd) -> str:
    """`Ended: exit code 1, the server ended first`."""
    how = ""
    if end.signal:
        how = f"signal {_short(end.signal)}"
    elif end.exit_code is not None:
        how = f"exit code {end.exit_code}"
    parts = ", ".join(filter(None, (how, _ENDED_BY.get(end.ended_by))))
    return f"Ended: {parts}" if parts else "Ended: the tap stopped without a report"


def script_text(script: str) -> str:
    """A note that a script changes messages; empty if the tap only watches."""
    return f"Changed by the script {_short(script)}" if script else ""


def about(watched: WatchedSnapshot) -> str:
    server = watched.server
    facts: tuple[str, ...] = ()
    if watched.end is not None:
        state = end_text(watched.end)
    elif not watched.is_reached:
        state = "Connection lost"
    else:
        state = "Live" if server.state is ServerState.CONNECTED else "Live, starting"
        tools = formatting.count(len(server.tools), "tool") if server.tools else ""
        facts = tools, server.revision or "", transport_word(server)
    client = _short(watched.client) if watched.machine else ""
    script, gap = script_text(watched.script), gap_text(watched)
    return " · ".join(filter(None, (script, client, state, gap, *facts)))


def gap_text(watched: WatchedSnapshot) -> str:
    """The number of messages that were not recorded; empty for none."""
    gaps = watched.gaps
    if not gaps.messages and not gaps.bytes:
        return ""
    return f"{formatting.count(gaps.messages, 'message')} not recorded"


def client_text(watched: WatchedSnapshot) -> str:
    parts = (watched.client, watched.client_version)
    return " ".join(_short(part) for part in parts if part)


def server_of_client(watched: WatchedSnapshot) -> str:
    """A watched server in one line: `db (Claude Code)`."""
    return f"{_short(watched.label)} ({_short(on_machine(watched.client, watched.machine))})"


def processes(watched: WatchedSnapshot) -> str:
    """The client and the process ids, which distinguish servers with the same name."""
    pids = (("tap", watched.pid), ("server", watched.server.pid))
    known = (f"{what} pid {pid}" for what, pid in pids if pid is not None)
    return ", ".join((f"{_short(watched.name)}: run by {client_text(watched)}", *known))


def details(watched: WatchedSnapshot) -> str:
    """All details of a watched server as lines of plain text."""
    server, gaps = watched.server, watched.gaps
    title = formatting.one_line(server.title) if server.server_info else ""
    alive = "live" if watched.is_reached else "connection lost"
    state = alive if watched.end is None else end_text(watched.end)
    missing = gap_text(watched)
    if missing:
        why = f": {_short(gaps.why)}" if gaps.why else ""
        missing = f"{missing} ({formatting.size(gaps.bytes)}){why}"
    began = watched.began_when
    pids = f"server pid {server.pid}" if server.pid is not None else ""
    taps = f"tap pid {watched.pid}" if watched.pid is not None else ""
    lines = (
        f"{formatting.one_line(watched.label)}: {state}",
        script_text(watched.script),
        f"Run by {on_machine(client_text(watched), _short(watched.machine))}",
        formatting.one_line(server.definition.address, 400),
        " · ".join(part for part in (title, server.revision or "", pids, taps) if part),
        "" if began is None else f"Since {formatting.date_and_clock(began)[:19]}",
        "" if watched.end is None else formatting.one_line(watched.end.reason),
        missing,
        f"Recording: {formatting.visible(str(watched.path))}",
    )
    return "\n".join(line for line in lines if line)


def machine_title(machine: MachineSnapshot) -> str:
    return f"Watched · {_short(machine.name)}"


def machine_about(machine: MachineSnapshot, server_count: int, now: float) -> str:
    """`Live · 3 servers`, or `Tries again in 8 s: The command ended with exit code 255`."""
    error = "" if machine.error is None else formatting.one_line(machine.error.what, 120)
    match machine.state:
        case MachineState.LIVE:
            return f"Live · {formatting.count(server_count, 'server')}"
        case MachineState.CONNECTING:
            return "Connecting…"
        case MachineState.WAITING:
            left_s = max((machine.retry_at or now) - now, 0.0)
            again = f"Tries again in {math.ceil(left_s)} s"
            return f"{again}: {error}" if error else again
        case MachineState.STOPPED:
            return f"Stopped: {error}" if error else "Stopped"


def machine_details(machine: MachineSnapshot, server_count: int, now: float) -> str:
    """All details of a machine as lines of plain text."""
    host = f"It calls itself {_short(machine.host)}" if machine.host else ""
    error = "" if machine.error is None else machine.error.as_text()
    about = machine_about(machine, server_count, now)
    lines = (machine_title(machine), about, formatting.one_line(machine.address, 400), host, error)
    return "\n".join(line for line in lines if line)
