"""Taps in clients' configurations as text: the state of a server, and the next steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.catalogue.clients import (
    CLAUDE_CODE,
    CLAUDE_DESKTOP,
    CLINE,
    CODEX,
    CURSOR,
    GEMINI,
    INSPECTOR,
    VS_CODE,
    WINDSURF,
    ZED,
)
from mcp_progress_monitor.formatting import clock, one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.catalogue.tap_install import ClientServer, FileChange

_NAME: Final = 60
_NAMES: Final = 10  # servers that are named; more are counted
_NEXT: Final[Mapping[str, str]] = {
    CLAUDE_DESKTOP.key: "Quit Claude Desktop completely and start it again.",
    CLAUDE_CODE.key: "New sessions of Claude Code use it; in a running one, reconnect with /mcp.",
    VS_CODE.key: "VS Code starts the changed server with the next chat request. To do it now, run"
    " MCP: List Servers and restart the server.",
    CURSOR.key: "Cursor reloads the server. It may ask you to approve the changed command.",
    WINDSURF.key: "In Windsurf, refresh the MCP servers in the Cascade panel.",
    CLINE.key: "Cline restarts the server when its file changes.",
    GEMINI.key: "Restart Gemini CLI.",
    CODEX.key: "New Codex sessions use it; restart a running one.",
    ZED.key: "Zed restarts the server when its settings change.",
    INSPECTOR.key: "Restart the Inspector, and connect again.",
}
"""The next step after a change, by the key of the client."""
RECORDING_IS_OFF: Final = (
    "Recording is turned off: watched sessions pass through unrecorded, and the window does not"
    " show them. To turn it on: Recordings (Ctrl+H)."
)


def next_step(client: McpClient) -> str:
    """How to make a client use its changed configuration."""
    return _NEXT.get(client.key, f"Restart {client.title}.")


def next_steps(changes: Iterable[FileChange]) -> list[str]:
    """The next steps after changes, one per client."""
    return list(dict.fromkeys(next_step(change.client) for change in changes))


def server_title(server: ClientServer) -> str:
    """A server's name, with the project that it belongs to."""
    name = one_line(server.name, _NAME)
    return name if server.project is None else f"{name} ({one_line(str(server.project), _NAME)})"


def state_text(server: ClientServer, live: Sequence[float] = ()) -> str:
    """Whether a server is watched and since when, or why it cannot be."""
    if server.tap is None:
        return f"cannot be watched: {server.why_not}" if server.why_not else "not watched"
    if not server.tap.is_there:
        return f"program not found: {visible(server.tap.program)}; the server runs unwatched"
    if not live:
        return "watched, not running"
    number = f"{len(live)} running" if live[1:] else "running"
    return f"watched, {number} since {clock(min(live))[:8]}"


def shared_hint(server: ClientServer) -> str:
    """What to do about a server in a project's file, which taps leave unchanged."""
    where = _OWN_FILES.get(server.client.key, f"your own configuration of {server.client.title}")
    return (
        f"{visible(str(server.path))} may be shared with others, so the path of a program on this"
        f" computer is not written there. Copy the server to {where}, and watch it there."
    )


_OWN_FILES: Final[Mapping[str, str]] = {
    CLAUDE_CODE.key: "the local scope (claude mcp add-json --scope local NAME JSON)",
    VS_CODE.key: "your user configuration (MCP: Open User Configuration)",
    CURSOR.key: "~/.cursor/mcp.json",
    GEMINI.key: "~/.gemini/settings.json",
    CODEX.key: "~/.codex/config.toml",
}


def done_text(change: FileChange, kept: Path | None, *, by_command: bool) -> str:
    """What was changed, the path of the backup, and the next step."""
    title = change.client.title
    lines = [
        f"{done} in {title}: {_names(servers)}."
        for done, servers in (
            ("Watched from now on", change.watched),
            ("No longer watched", change.released),
        )
        if servers
    ]
    if by_command:
        lines.append("Changed by claude mcp, because Claude Code is running.")
    if kept is not None:
        lines.append(f"Backup of the file: {visible(str(kept))}")
    return "\n".join([*lines, next_step(change.client)])


def _names(servers: Sequence[ClientServer]) -> str:
    names = ", ".join(map(server_title, servers[:_NAMES]))
    more = len(servers) - _NAMES
    return f"{names} and {more} more" if more > 0 else names


def refusal_text(server: ClientServer) -> str:
    """Why a server is skipped, and what to do about it."""
    hint = shared_hint(server) if server.is_shared else f"{server.why_not}."
    return f"{server_title(server)}: {hint}"
