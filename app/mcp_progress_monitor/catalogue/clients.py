"""The clients whose configurations we read and write, and where their files are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.catalogue.entry import EXAMPLE, EXTRAS
from mcp_progress_monitor.catalogue.variables import Input, Syntax, read_inputs
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import is_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class McpClient(NamedTuple):
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
    """A configuration that is on this machine.

    One that `is_shared` belongs to a project: it is usually committed to its repository.
    """

    client: McpClient
    path: Path
    is_shared: bool = False


_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium")
_CLINE: Final = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

OURS: Final = McpClient("mcp-progress-monitor", "MCP Progress Monitor")
COMMON: Final = McpClient("common", "a client", syntax=Syntax.NAMED | Syntax.SHELL)
"""The form that most clients share, where nothing tells which of them it is."""
CLAUDE_DESKTOP: Final = McpClient(
    "claude-desktop",
    "Claude Desktop",
    places=(
        "{config}/Claude/claude_desktop_config.json",
        # From the Store, or the installer since 2026: what it takes for {config} is here.
        "{local}/Packages/*Claude*/LocalCache/Roaming/Claude/claude_desktop_config.json",
    ),
)
CLAUDE_CODE: Final = McpClient(
    "claude-code",
    "Claude Code",
    syntax=Syntax.SHELL,
    places=("{CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"),
    project_places=(".mcp.json",),
)
VS_CODE: Final = McpClient(
    "vscode",
    "VS Code",
    container="servers",
    syntax=Syntax.NAMED,
    places=(
        *(
            f"{{config}}/{editor}/User/{name}"
            for editor in _EDITORS
            for name in ("mcp.json", "profiles/*/mcp.json", "settings.json")
        ),
        # Of a window on another computer or in WSL, there; of a Flatpak.
        "{home}/.vscode-server/data/User/mcp.json",
        "{home}/.vscode-server-insiders/data/User/mcp.json",
        "{home}/.var/app/com.visualstudio.code/config/Code/User/mcp.json",
        "{home}/.var/app/com.vscodium.codium/config/VSCodium/User/mcp.json",
    ),
    project_places=(
        ".vscode/mcp.json",
        ".vscode/settings.json",
        ".devcontainer/devcontainer.json",
        ".devcontainer.json",
    ),
)
CURSOR: Final = McpClient(
    "cursor",
    "Cursor",
    syntax=Syntax.NAMED,
    places=("{home}/.cursor/mcp.json",),
    project_places=(".cursor/mcp.json",),
)
WINDSURF: Final = McpClient(
    "windsurf",
    "Windsurf",
    syntax=Syntax.NAMED,
    places=(
        "{home}/.codeium/windsurf/mcp_config.json",
        "{home}/.codeium/windsurf-next/mcp_config.json",
        "{home}/.codeium/mcp_config.json",
    ),
)
CLINE: Final = McpClient(
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
GEMINI: Final = McpClient(
    "gemini",
    "Gemini CLI",
    syntax=Syntax.SHELL | Syntax.DOLLAR,
    places=("{home}/.gemini/settings.json",),
    project_places=(".gemini/settings.json",),
)
CODEX: Final = McpClient(
    "codex",
    "Codex",
    container="mcp_servers",
    places=("{CODEX_HOME}/config.toml", "{home}/.codex/config.toml"),
    project_places=(".codex/config.toml",),
)
ZED: Final = McpClient(
    "zed",
    "Zed",
    container="context_servers",
    places=("{zed}/settings.json", "{home}/.var/app/dev.zed.Zed/config/zed/settings.json"),
    project_places=(".zed/settings.json",),
)
INSPECTOR: Final = McpClient(
    "inspector", "MCP Inspector", places=("{MCP_CATALOG_PATH}", "{home}/.mcp-inspector/mcp.json")
)

KNOWN: Final[tuple[McpClient, ...]] = (
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
FORMS: Final[tuple[McpClient, ...]] = (*KNOWN, COMMON, OURS)
"""All forms that can be read and written."""


def client_of(key: str) -> McpClient:
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
        for path, is_shared in _existing(client, folders, project):
            found.setdefault(path, FoundFile(client, path, is_shared))
    return list(found.values())


def _existing(
    client: McpClient, folders: Mapping[str, str], project: Path | None
) -> Iterator[tuple[Path, bool]]:
    """The client's files that are there, and whether each belongs to the project."""
    for place in client.places:
        try:
            written = place.format_map(folders)
        except KeyError:  # a variable that is not set, a folder of another platform
            continue
        yield from ((path, False) for path in _files(Path(written)))
    for place in client.project_places if project is not None else ():
        yield from ((path, True) for path in _files(Path(f"{project}/{place}")))


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


class ServerContainer(NamedTuple):
    """Servers by their names, and what holds for all of them.

    `project` is the folder that they belong to, `path` the members around them in the document.
    Those that are `disabled`, or not among the `allowed`, do not run there. `note` tells what is
    different from how the other client runs them.
    """

    servers: Mapping[str, Any]
    path: tuple[str, ...]
    project: Path | None = None
    inputs: Mapping[str, Input] = {}
    disabled: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None
    note: str = ""


_DEV_CONTAINER: Final = ("customizations", "vscode", "mcp")
_OF_VS_CODE: Final = (("mcp",), ("settings", "mcp"), _DEV_CONTAINER)
"""Paths to the servers in VS Code's settings, a workspace file and a dev container's file."""


def place_in_vs_code(document: Any) -> tuple[str, ...] | None:
    """The members around VS Code's servers where they stand among settings; None elsewhere."""
    for path in _OF_VS_CODE:
        if VS_CODE.container in _inside(document, path):
            return path
    return None


def _inside(document: Any, path: Iterable[str]) -> dict[str, Any]:
    members = _object(document)
    for name in path:
        members = _object(members.get(name))
    return members


class NoContainerError(UserError):
    """A file does not have the member with the servers at all: it may be one of other settings."""


def containers_of(client: McpClient, document: Any, where: str) -> list[ServerContainer]:
    """All objects that hold servers; `UserError` if there is none, or one is not an object."""
    members = document if isinstance(document, dict) else {}
    if client is VS_CODE and client.container not in members:
        path = place_in_vs_code(members) or _OF_VS_CODE[0]
        found = _container(client, _inside(members, path), where, (*path, client.container))
        note = "VS Code runs it in the dev container; this program runs it here"
        return [found._replace(note=note if path is _DEV_CONTAINER else "")]
    if client is CLAUDE_CODE:
        projects = list(_of_projects(members, where))
        if client.container not in members and projects:
            return projects
        return [_container(client, members, where), *projects]
    return [_container(client, members, where)]


def _container(
    client: McpClient, members: Mapping[str, Any], where: str, path: tuple[str, ...] = ()
) -> ServerContainer:
    servers = members.get(client.container)
    if not isinstance(servers, dict):
        is_there = client.container in members
        said = "is not an object" if is_there else "is missing"
        problem = ErrorDetails(f'"{client.container}" {said} in the configuration', where, EXAMPLE)
        raise UserError(problem) if is_there else NoContainerError(problem)
    container = ServerContainer(servers, path or (client.container,))
    if client is GEMINI:
        return _limited(container, _object(members.get("mcp")))
    return container._replace(inputs=read_inputs(members.get("inputs")))


def _limited(container: ServerContainer, rules: Mapping[str, Any]) -> ServerContainer:
    allowed = rules.get("allowed")
    return container._replace(
        disabled=_names(rules.get("excluded")),
        allowed=_names(allowed) if isinstance(allowed, list) and allowed else None,
    )


def _of_projects(members: Mapping[str, Any], where: str) -> Iterator[ServerContainer]:
    for folder, project in _object(members.get("projects")).items():
        settings = _object(project)
        servers = settings.get("mcpServers")
        if servers and isinstance(servers, dict):
            yield ServerContainer(
                servers,
                ("projects", folder, "mcpServers"),
                Path(folder),
                disabled=_names(settings.get("disabledMcpServers")),
            )


def _object(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _names(found: object) -> frozenset[str]:
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


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


def client_of_file(path: Path, document: Any) -> McpClient:
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


def _of_name(path: Path) -> McpClient | None:
    by_name = _FILES.get(path.name)
    return by_name or _FOLDERS.get(path.absolute().parent.name)


def _of_members(members: dict[str, Any]) -> McpClient | None:
    if isinstance(members.get("projects"), dict):
        return CLAUDE_CODE
    servers = members.get("mcpServers")
    entries = servers.values() if isinstance(servers, dict) else ()
    keys = {key for entry in entries if isinstance(entry, dict) for key in entry}
    types = {str(entry.get("type")) for entry in entries if isinstance(entry, dict)}
    if "streamableHttp" in types:
        return CLINE
    return next((client for known, client in _MEMBERS if known & keys), None)


def project_of(path: Path, client: McpClient) -> Path | None:
    """The project folder whose file this is; None for a file that is the user's own."""
    whole = path.absolute()
    for place in client.project_places:
        parts = place.split("/")
        if list(whole.parts[-len(parts) :]) == parts:
            return whole.parents[len(parts) - 1]
    return None
