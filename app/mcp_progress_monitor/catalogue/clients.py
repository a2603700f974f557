"""The programs whose configurations we read and write, and where they keep them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.catalogue.variables import Syntax
from mcp_progress_monitor.looking import is_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Client(NamedTuple):
    """A program that servers are configured for.

    `key` names it on the command line. `container` is the member that holds its servers,
    `without_type` how it speaks to a URL of which nothing else is said. `places` are its files:
    `{home}` is the user's folder, `{config}` that of programs' settings, a star any name.
    `project_places` are files within a project.
    """

    key: str
    title: str
    container: str = "mcpServers"
    syntax: Syntax = Syntax.NONE
    without_type: str = "http"
    places: tuple[str, ...] = ()
    project_places: tuple[str, ...] = ()


class FoundFile(NamedTuple):
    """A configuration that is on this machine."""

    client: Client
    path: Path


_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium")
_CLINE: Final = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

OURS: Final = Client("mcp-progress-monitor", "MCP Progress Monitor")
COMMON: Final = Client("common", "a client", syntax=Syntax.NAMED | Syntax.SHELL)
"""The form that most clients share, where nothing tells which of them it is."""
CLAUDE_DESKTOP: Final = Client(
    "claude-desktop",
    "Claude Desktop",
    places=(
        "{config}/Claude/claude_desktop_config.json",
        "{local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
    ),
)
CLAUDE_CODE: Final = Client(
    "claude-code",
    "Claude Code",
    syntax=Syntax.SHELL,
    places=("{CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"),
    project_places=(".mcp.json",),
)
VS_CODE: Final = Client(
    "vscode",
    "VS Code",
    container="servers",
    syntax=Syntax.NAMED,
    places=tuple(
        f"{{config}}/{editor}/User/{name}"
        for editor in _EDITORS
        for name in ("mcp.json", "profiles/*/mcp.json", "settings.json")
    ),
    project_places=(
        ".vscode/mcp.json",
        ".vscode/settings.json",
        ".devcontainer/devcontainer.json",
        ".devcontainer.json",
    ),
)
CURSOR: Final = Client(
    "cursor",
    "Cursor",
    syntax=Syntax.NAMED,
    places=("{home}/.cursor/mcp.json",),
    project_places=(".cursor/mcp.json",),
)
WINDSURF: Final = Client(
    "windsurf",
    "Windsurf",
    syntax=Syntax.NAMED,
    places=(
        "{home}/.codeium/windsurf/mcp_config.json",
        "{home}/.codeium/windsurf-next/mcp_config.json",
        "{home}/.codeium/mcp_config.json",
    ),
)
CLINE: Final = Client(
    "cline",
    "Cline",
    syntax=Syntax.NAMED,
    without_type="sse",
    places=(
        "{CLINE_MCP_SETTINGS_PATH}",
        "{home}/.cline/data/settings/cline_mcp_settings.json",
        *(f"{{config}}/{editor}/{_CLINE}" for editor in (*_EDITORS, "Cursor", "Windsurf")),
        f"{{home}}/.vscode-server/data/{_CLINE}",
    ),
)
GEMINI: Final = Client(
    "gemini",
    "Gemini CLI",
    syntax=Syntax.SHELL | Syntax.DOLLAR,
    places=("{home}/.gemini/settings.json",),
    project_places=(".gemini/settings.json",),
)
CODEX: Final = Client(
    "codex",
    "Codex",
    container="mcp_servers",
    places=("{CODEX_HOME}/config.toml", "{home}/.codex/config.toml"),
    project_places=(".codex/config.toml",),
)
ZED: Final = Client(
    "zed",
    "Zed",
    container="context_servers",
    places=("{zed}/settings.json", "{home}/.var/app/dev.zed.Zed/config/zed/settings.json"),
    project_places=(".zed/settings.json",),
)
INSPECTOR: Final = Client(
    "inspector",
    "MCP Inspector",
    places=("{MCP_CATALOG_PATH}", "{home}/.mcp-inspector/mcp.json"),
)

KNOWN: Final[tuple[Client, ...]] = (
    CLAUDE_DESKTOP,
    CLAUDE_CODE,
    VS_CODE,
    CURSOR,
    WINDSURF,
    CLINE,
    GEMINI,
    CODEX,
    ZED,
    INSPECTOR,
)
FORMS: Final[tuple[Client, ...]] = (*KNOWN, COMMON, OURS)
"""All forms that can be read and written."""


def client_of(key: str) -> Client:
    """The form of that key; `KeyError` if there is none."""
    return {client.key: client for client in FORMS}[key]


def found_files(
    home: Path | None, env: Mapping[str, str], platform: str, project: Path | None = None
) -> list[FoundFile]:
    """The files of all clients that are there; nothing of them is read.

    `platform` is as in `sys.platform`. Without `home` only those that a variable names. With
    `project`, also those in that folder.
    """
    folders = _folders(home, env, platform)
    found: dict[Path, FoundFile] = {}
    for client in KNOWN:
        for path in _existing(client, folders, project):
            found.setdefault(path, FoundFile(client, path))
    return list(found.values())


def _existing(client: Client, folders: Mapping[str, str], project: Path | None) -> Iterator[Path]:
    for place in client.places:
        try:
            written = place.format_map(folders)
        except KeyError:  # a variable that is not set, a folder of another platform
            continue
        yield from _files(Path(written))
    for place in client.project_places if project is not None else ():
        yield from _files(Path(f"{project}/{place}"))


def _files(path: Path) -> Iterator[Path]:
    """The file, or the files where its path has a star."""
    if "*" not in str(path):
        if is_file(path):
            yield path
        return
    star = next(index for index, part in enumerate(path.parts) if "*" in part)
    base = Path(*path.parts[:star])
    try:
        matches = sorted(base.glob("/".join(path.parts[star:])))
    except OSError:
        return
    yield from filter(is_file, matches)


def _folders(home: Path | None, env: Mapping[str, str], platform: str) -> dict[str, str]:
    folders = {name: value for name, value in env.items() if name in _VARIABLES and value}
    if home is None:
        return folders
    folders["home"] = str(home)
    if platform == "win32":
        folders["config"] = env.get("APPDATA") or str(home / "AppData" / "Roaming")
        folders["local"] = env.get("LOCALAPPDATA") or str(home / "AppData" / "Local")
        folders["zed"] = f"{folders['config']}/Zed"
    elif platform == "darwin":
        folders["config"] = str(home / "Library" / "Application Support")
        folders["zed"] = str(home / ".config" / "zed")
    else:
        folders["config"] = env.get("XDG_CONFIG_HOME") or str(home / ".config")
        folders["zed"] = f"{folders['config']}/zed"
    return folders


_VARIABLES: Final = frozenset(
    {"CLAUDE_CONFIG_DIR", "CLINE_MCP_SETTINGS_PATH", "CODEX_HOME", "MCP_CATALOG_PATH"}
)
