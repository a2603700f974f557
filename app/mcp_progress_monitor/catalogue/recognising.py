"""Whose configuration a file is: told by what is in it and what it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.catalogue.clients import (
    CLAUDE_CODE,
    CLAUDE_DESKTOP,
    CLINE,
    CODEX,
    COMMON,
    CURSOR,
    GEMINI,
    INSPECTOR,
    OURS,
    VS_CODE,
    WINDSURF,
    ZED,
)
from mcp_progress_monitor.catalogue.containers import place_in_vs_code
from mcp_progress_monitor.catalogue.own_form import EXTRAS

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.catalogue.clients import Client

_CONTAINERS: Final = {client.container: client for client in (VS_CODE, CODEX, ZED)}
_FILES: Final = {
    "claude_desktop_config.json": CLAUDE_DESKTOP,
    ".claude.json": CLAUDE_CODE,
    ".mcp.json": CLAUDE_CODE,
    "mcp_config.json": WINDSURF,
    "cline_mcp_settings.json": CLINE,
}
_FOLDERS: Final = {
    ".cursor": CURSOR,
    ".gemini": GEMINI,
    ".mcp-inspector": INSPECTOR,
    ".codeium": WINDSURF,
    ".vscode": VS_CODE,
}
_MEMBERS: Final = (
    (frozenset({EXTRAS}), OURS),
    (frozenset({"httpUrl", "includeTools", "excludeTools", "authProviderType"}), GEMINI),
    (frozenset({"serverUrl", "disabledTools"}), WINDSURF),
    (frozenset({"autoApprove"}), CLINE),
    (frozenset({"protocolEra", "modernLogLevel", "connectionTimeout", "taskTtl"}), INSPECTOR),
    (frozenset({"headersHelper", "alwaysLoad"}), CLAUDE_CODE),
)
"""Members of servers' entries that one client alone knows, the surest first."""


def client_of_file(path: Path, document: Any) -> Client:
    """The client whose file this is; `COMMON` where several have the same form.

    What is in it goes before what it is called: files are renamed, and sent to others.
    """
    members = document if isinstance(document, dict) else {}
    for container, client in _CONTAINERS.items():
        if isinstance(members.get(container), dict):
            return client
    if place_in_vs_code(members) is not None:
        return VS_CODE
    if "mcpServers" not in members and isinstance(members.get("projects"), dict):
        return CLAUDE_CODE
    return _of_name(path) or _of_members(members) or COMMON


def _of_name(path: Path) -> Client | None:
    by_name = _FILES.get(path.name)
    return by_name or _FOLDERS.get(path.absolute().parent.name)


def _of_members(members: dict[str, Any]) -> Client | None:
    if isinstance(members.get("projects"), dict):
        return CLAUDE_CODE
    servers = members.get("mcpServers")
    entries = servers.values() if isinstance(servers, dict) else ()
    keys = {key for entry in entries if isinstance(entry, dict) for key in entry}
    types = {str(entry.get("type")) for entry in entries if isinstance(entry, dict)}
    if "streamableHttp" in types:
        return CLINE
    return next((client for known, client in _MEMBERS if known & keys), None)


def project_of(path: Path, client: Client) -> Path | None:
    """The project folder whose file this is; None for a file that is the user's own."""
    whole = path.absolute()
    for place in client.project_places:
        parts = place.split("/")
        if list(whole.parts[-len(parts) :]) == parts:
            return whole.parents[len(parts) - 1]
    return None
