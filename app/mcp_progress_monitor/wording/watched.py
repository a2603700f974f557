"""A watched server as text: its client, its state, how it ended, what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.wording.servers import transport_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.snapshots.watched import TapEnd, WatchedSnapshot

_ENDED_BY: Final = {
    "server": "the server ended first",
    "client": "the client ended it",
    "tap": "the tap was stopped",
    "script": "killed by the script",
}
_NAME: Final = 60


def why_read_only(client: str) -> str:
    name = formatting.one_line(client, _NAME)
    return f"{name} runs this job; it is only watched here"


RESUME_HERE: Final = "Resume here"
REISSUE_HERE: Final = "Re-issue here"
_MOST_NAMES: Final = 8


def resume_here(client: str) -> str:
    name = formatting.one_line(client, _NAME)
    return f"Resume the job of {name} on a connection of this program"


def reissue_here(client: str) -> str:
    name = formatting.one_line(client, _NAME)
    return f"Send the request of {name} from the start on a connection of this program"


def edit_here(client: str) -> str:
    name = formatting.one_line(client, _NAME)
    return f"Edit the request of {name} and send it on a connection of this program"


def request_of(client: str, *, has_url: bool) -> str:
    """Why a definition has to be approved."""
    name = formatting.one_line(client, _NAME)
    if has_url:
        return f"{name} used this server. This program connects to it as well."
    return f"{name} ran this server. This program starts it again on a connection of its own."


def unknown_values(missing: Sequence[str], hidden_count: int) -> str:
    """What was not recorded of a server's settings; empty if nothing is missing."""
    found = []
    if missing:
        names = ", ".join(formatting.one_line(name, _NAME) for name in missing[:_MOST_NAMES])
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
    """Why no call can be made on a watched server."""
    return f"{formatting.one_line(client, _NAME)} runs this server; it is only watched here"


def end_text(end: TapEnd) -> str:
    """`Ended: exit code 1, the server ended first`."""
    how = ""
    if end.signal:
        how = f"signal {formatting.one_line(end.signal, _NAME)}"
    elif end.exit_code is not None:
        how = f"exit code {end.exit_code}"
    who = _ENDED_BY.get(end.ended_by, "")
    parts = ", ".join(part for part in (how, who) if part)
    return f"Ended: {parts}" if parts else "Ended: the tap stopped without a report"


def script_text(script: str) -> str:
    """That messages are changed; empty if a tap only watches."""
    return f"Changed by the script {formatting.one_line(script, _NAME)}" if script else ""


def about(watched: WatchedSnapshot) -> str:
    server = watched.server
    if watched.end is not None:
        facts: tuple[str, ...] = (
            script_text(watched.script),
            end_text(watched.end),
            gap_text(watched),
        )
    else:
        is_up = server.state is ServerState.CONNECTED
        tools = formatting.count(len(server.tools), "tool") if server.tools else ""
        state = "Live" if is_up else "Live, starting"
        facts = (
            script_text(watched.script),
            state,
            gap_text(watched),
            tools,
            server.revision or "",
            transport_word(server),
        )
    return " · ".join(fact for fact in facts if fact)


def gap_text(watched: WatchedSnapshot) -> str:
    """How many messages passed unrecorded; empty if none did."""
    gaps = watched.gaps
    if not gaps.messages and not gaps.bytes:
        return ""
    return f"{formatting.count(gaps.messages, 'message')} not recorded"


def client_text(watched: WatchedSnapshot) -> str:
    parts = (watched.client, watched.client_version)
    return " ".join(formatting.one_line(part, _NAME) for part in parts if part)


def server_of_client(watched: WatchedSnapshot) -> str:
    """A watched server in one line: `db (Claude Code)`."""
    label, client = (formatting.one_line(part, _NAME) for part in (watched.label, watched.client))
    return f"{label} ({client})"


def processes(watched: WatchedSnapshot) -> str:
    """Its client and process ids, which distinguish servers with the same name."""
    pids = (("tap", watched.pid), ("server", watched.server.pid))
    known = (f"{what} pid {pid}" for what, pid in pids if pid is not None)
    name = formatting.one_line(watched.name, _NAME)
    return ", ".join((f"{name}: run by {client_text(watched)}", *known))


def story(watched: WatchedSnapshot) -> str:
    """All details of a watched server, in lines of plain text."""
    server, gaps = watched.server, watched.gaps
    title = formatting.one_line(server.title) if server.server_info else ""
    state = "live" if watched.end is None else end_text(watched.end)
    missing = gap_text(watched)
    if missing:
        why = f": {formatting.one_line(gaps.why, _NAME)}" if gaps.why else ""
        missing = f"{missing} ({formatting.size(gaps.bytes)}){why}"
    began = watched.began_when
    pids = f"server pid {server.pid}" if server.pid is not None else ""
    taps = f"tap pid {watched.pid}" if watched.pid is not None else ""
    lines = (
        f"{formatting.one_line(watched.label)}: {state}",
        script_text(watched.script),
        f"Run by {client_text(watched)}",
        formatting.one_line(server.definition.address, 400),
        " · ".join(part for part in (title, server.revision or "", pids, taps) if part),
        "" if began is None else f"Since {formatting.date_and_clock(began)[:19]}",
        "" if watched.end is None else formatting.one_line(watched.end.reason),
        missing,
        f"Recording: {formatting.visible(str(watched.path))}",
    )
    return "\n".join(line for line in lines if line)
