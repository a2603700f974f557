"""The clients whose configurations we read and write, and the paths of their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.catalogue.entry import EXAMPLE, EXTRAS
from mcp_progress_monitor.catalogue.variables import Input, Syntax, read_inputs
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import is_file
from mcp_progress_monitor.protocol.eras import as_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class McpClient(NamedTuple):
    """A program in which servers are configured.

    `key` is its name on the command line, `container` the member with its servers, `without_type`
    the transport of a URL without a type. `places` are patterns of its files: `{home}` is the
    user's folder, `{config}` that of programs' settings. `project_places` are files in a project.
    """

    key: str
    title: str
    container: str = "mcpServers"
    syntax: Syntax = Syntax.NONE
    without_type: str = "http"
    places: tuple[str, ...] = ()
    project_places: tuple[str, ...] = ()


class FoundFile(NamedTuple):
    """An existing configuration file.

    A file that `is_shared` belongs to a project, and is usually committed to its repository.
    """

    client: McpClient
    path: Path
    is_shared: bool = False


_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium")
_CLINE: Final = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

OURS: Final = McpClient("mcp-progress-monitor", "MCP Progress Monitor")
COMMON: Final = McpClient("common", "a client", syntax=Syntax.NAMED | Syntax.SHELL)
"""The format that most clients share, for files of an unknown client."""
CLAUDE_DESKTOP: Final = McpClient(
    "claude-desktop",
    "Claude Desktop",
    places=(
        "{config}/Claude/claude_desktop_config.json",
        # Installed from the Store, or by the installer since 2026: its redirected {config}.
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
        # Remote hosts and WSL; then Flatpaks.
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
"""All formats that can be read and written."""


def client_of(key: str) -> McpClient:
    """The client with that key; `KeyError` if there is none."""
    return {client.key: client for client in FORMS}[key]


def found_files(
    home: Path | None, env: Mapping[str, str], platform: str, project: Path | None = None
) -> list[FoundFile]:
    """The existing files of all clients, without reading them.

    `platform` is as in `sys.platform`. Without `home`, only files that a variable names. With
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
    """The client's existing files, and whether each belongs to the project."""
    for place in client.places:
        try:
            written = place.format_map(folders)
        except KeyError:  # a variable that is not set, a folder of another platform
            continue
        yield from ((path, False) for path in _files(Path(written)))
    for place in client.project_places if project is not None else ():
        yield from ((path, True) for path in _files(Path(f"{project}/{place}")))


def _files(path: Path) -> Iterator[Path]:
    """The existing files that match a path, which may contain stars."""
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
    """Servers by name, and settings that apply to all of them.

    `project` is their folder, `path` the keys that lead to them in the document. Servers that are
    `disabled`, or not `allowed`, do not run there. `note` describes how running them here differs.
    """

    servers: Mapping[str, Any]
    path: tuple[str, ...]
    project: Path | None = None
    inputs: Mapping[str, Input] = {}
    disabled: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None
    note: str = ""


_DEV_CONTAINER: Final = ("customizations", "vscode", "mcp")
_VS_CODE_PATHS: Final = (("mcp",), ("settings", "mcp"), _DEV_CONTAINER)
"""Paths to the servers in VS Code's settings, a workspace file and a dev container's file."""


def vs_code_path(document: Any) -> tuple[str, ...] | None:
    """The keys that lead to VS Code's servers within a settings file; None for other files."""
    for path in _VS_CODE_PATHS:
        if VS_CODE.container in _inside(document, path):
            return path
    return None


def _inside(document: Any, path: Iterable[str]) -> dict[str, Any]:
    members = as_object(document)
    for name in path:
        members = as_object(members.get(name))
    return members


class NoContainerError(UserError):
    """A file has no member for servers: it may be a file of other settings."""


def containers_of(client: McpClient, document: Any, where: str) -> list[ServerContainer]:
    """All objects with servers; `UserError` if there is none, or one is not an object."""
    members = document if isinstance(document, dict) else {}
    if client is VS_CODE and client.container not in members:
        path = vs_code_path(members) or _VS_CODE_PATHS[0]
        found = _container(client, _inside(members, path), where, (*path, client.container))
        note = "VS Code runs it in the dev container; this program runs it here"
        return [found._replace(note=note if path is _DEV_CONTAINER else "")]
    if client is CLAUDE_CODE:
        projects = list(_project_containers(members, where))
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
        what = "is not an object" if is_there else "is missing"
        error = ErrorDetails(f'"{client.container}" {what} in the configuration', where, EXAMPLE)
        raise UserError(error) if is_there else NoContainerError(error)
    container = ServerContainer(servers, path or (client.container,))
    if client is GEMINI:
        return _limited(container, as_object(members.get("mcp")))
    return container._replace(inputs=read_inputs(members.get("inputs")))


def _limited(container: ServerContainer, rules: Mapping[str, Any]) -> ServerContainer:
    allowed = rules.get("allowed")
    return container._replace(
        disabled=_names(rules.get("excluded")),
        allowed=_names(allowed) if isinstance(allowed, list) and allowed else None,
    )


def _project_containers(members: Mapping[str, Any], where: str) -> Iterator[ServerContainer]:
    for folder, project in as_object(members.get("projects")).items():
        settings = as_object(project)
        servers = settings.get("mcpServers")
        if servers and isinstance(servers, dict):
            yield ServerContainer(
                servers,
                ("projects", folder, "mcpServers"),
                Path(folder),
                disabled=_names(settings.get("disabledMcpServers")),
            )


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
"""Members of servers' entries that only one client knows, the most specific first."""


def client_of_file(path: Path, document: Any) -> McpClient:
    """The client whose file this is; `COMMON` if several have the same format.

    Content takes precedence over the name: files are renamed and shared.
    """
    members = document if isinstance(document, dict) else {}
    for container, client in _CONTAINERS.items():
        if isinstance(members.get(container), dict):
            return client
    if vs_code_path(members) is not None:
        return VS_CODE
    if "mcpServers" not in members and isinstance(members.get("projects"), dict):
        return CLAUDE_CODE
    by_name = _FILES.get(path.name) or _FOLDERS.get(path.absolute().parent.name)
    return by_name or _client_by_members(members) or COMMON


def _client_by_members(members: dict[str, Any]) -> McpClient | None:
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
    """The project folder that the file belongs to; None for a user's own file."""
    whole = path.absolute()
    for place in client.project_places:
        parts = place.split("/")
        if list(whole.parts[-len(parts) :]) == parts:
            return whole.parents[len(parts) - 1]
    return None
