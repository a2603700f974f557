"""The clients whose configurations we read and write: their files, and variables in entries."""

from __future__ import annotations

import dataclasses
import enum
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.catalogue.catalogue import EXAMPLE, EXTRAS
from mcp_progress_monitor.catalogue.secrets import stored, variable_name
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import home, is_file
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.secrets.references import REFERENCE, Keyring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

WORKSPACE: Final = "workspaceFolder"
HOME: Final = "userHome"
_VARIABLE: Final = re.compile(r"\$\{([^${}]+)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
_SHELL: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_PROJECT: Final = "CLAUDE_PROJECT_DIR"
"""A variable that Claude Code sets for the servers of a project: its folder."""
_ASKED_KINDS: Final = ("config:", "command:", "file:")


class Syntax(enum.Flag):
    """The kinds of variables that a client expands."""

    NONE = 0
    NAMED = enum.auto()
    """`${workspaceFolder}`, `${userHome}`, `${pathSeparator}`, `${env:X}`, `${input:x}`."""
    SHELL = enum.auto()  # `${X}` and `${X:-default}`, from the environment
    DOLLAR = enum.auto()  # `$X`, from the environment


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """An input that only the user can provide; `default` is a valid answer.

    With `stands_as_text`, it is used in a command, folder or URL, which cannot contain references
    to the keyring: the answer is stored as text in our file.
    """

    id: str
    description: str = ""
    is_secret: bool = False
    default: str | None = None
    choices: tuple[str, ...] = ()
    stands_as_text: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Variables:
    """The values of variables; `answers` are those of inputs, by id.

    Without `workspace`, the folder of the file's project is used, or else asked for; `home` is
    asked for if the system does not know it.
    """

    environment: Mapping[str, str] = dataclasses.field(default_factory=lambda: dict(os.environ))
    home: Path | None = dataclasses.field(default_factory=home)
    workspace: Path | None = None
    answers: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Resolver:
    """Resolves the variables in one server's entry; collects required inputs and notes."""

    def __init__(
        self, variables: Variables, syntax: Syntax, inputs: Mapping[str, Input] | None = None
    ) -> None:
        """`inputs` describe `${input:…}` variables; others have no description."""
        self._variables = variables
        self._syntax = syntax
        self._inputs = inputs or {}
        self._asks: dict[str, Input] = {}
        self._takes_reference = True
        self.notes: list[str] = []

    @property
    def asks(self) -> tuple[Input, ...]:
        """Inputs without an answer, in order of appearance."""
        return tuple(self._asks.values())

    def value(self, text: str) -> str:
        """Resolve a text that may contain references: environment variables become references."""
        return self._resolved(text, takes_reference=True)

    def plain(self, text: str) -> str:
        """Resolve a text without references: variables are replaced by their current values."""
        return self._resolved(text, takes_reference=False)

    def _resolved(self, text: str, *, takes_reference: bool) -> str:
        if self._syntax is Syntax.NONE or "$" not in text:
            return text
        self._takes_reference = takes_reference
        return _VARIABLE.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        if found[2] is not None:
            is_known = Syntax.DOLLAR in self._syntax
            return self._environment(found[2], None, found[0]) if is_known else found[0]
        name = found[1]
        if Syntax.NAMED in self._syntax:
            replaced = self._named(name, found[0])
            if replaced is not None:
                return replaced
        shell = _SHELL.fullmatch(name) if Syntax.SHELL in self._syntax else None
        if shell is None:
            return found[0]
        if shell[1] == _PROJECT and self._variables.workspace is not None:
            return str(self._variables.workspace)
        return self._environment(shell[1], shell[2], found[0])

    def _named(self, name: str, whole: str) -> str | None:
        """The value of a named variable; None if the name is unknown."""
        if name.startswith("env:"):
            return self._environment(name[4:], None, whole)
        if name.startswith("input:"):
            return self._asked(name[6:], self._inputs.get(name[6:], Input(name[6:])), whole)
        if name.startswith(_ASKED_KINDS):
            return self._asked(name, Input(name, f"Value for {whole}"), whole)
        meaning = _MEANINGS.get(name)
        return None if meaning is None else meaning(self, whole)

    def _environment(self, name: str, default: str | None, whole: str) -> str:
        value = self._variables.environment.get(name)
        if self._takes_reference and (value is not None or default is None):
            return f"${{env:{name}}}"
        if value is not None:
            self.notes.append(f"{name}: current value from the environment")
            return value
        if default is not None:
            self.notes.append(f"{name} is not set; its default is used")
            return default
        described = Input(f"env:{name}", f"{name} is not set in the environment")
        return self._asked(described.id, described, whole)

    def _asked(self, id_: str, described: Input, whole: str) -> str:
        answer = self._variables.answers.get(id_)
        is_text = not self._takes_reference
        if answer is not None and not (is_text and REFERENCE.search(answer)):
            return answer
        known = self._asks.get(id_, described)
        known = dataclasses.replace(known, stands_as_text=known.stands_as_text or is_text)
        self._asks[id_] = known
        return whole

    def workspace(self, whole: str) -> str:
        folder = self._variables.workspace
        if folder is not None:
            return str(folder)
        described = Input(WORKSPACE, f"Folder for {whole}")
        return self._asked_as_text(described, whole)

    def workspace_name(self, whole: str) -> str:
        folder = self.workspace(whole)
        return folder if folder == whole else Path(folder).name

    def home(self, whole: str) -> str:
        folder = self._variables.home
        if folder is not None:
            return str(folder)
        return self._asked_as_text(Input(HOME, f"Folder for {whole}"), whole)

    def separator(self, _whole: str) -> str:
        return os.sep

    def _asked_as_text(self, described: Input, whole: str) -> str:
        kept, self._takes_reference = self._takes_reference, True
        try:
            return self._asked(described.id, described, whole)
        finally:
            self._takes_reference = kept


_MEANINGS: Final[Mapping[str, Callable[[Resolver, str], str]]] = {
    WORKSPACE: Resolver.workspace,
    "workspaceRoot": Resolver.workspace,
    "cwd": Resolver.workspace,
    "workspaceFolderBasename": Resolver.workspace_name,
    HOME: Resolver.home,
    "pathSeparator": Resolver.separator,
    "/": Resolver.separator,
}


def read_inputs(found: object) -> dict[str, Input]:
    """The inputs described in a VS Code file, by id; invalid descriptions are ignored."""
    entries = found if isinstance(found, list) else []
    read = [_input(entry) for entry in entries if isinstance(entry, dict)]
    return {one.id: one for one in read if one.id}


def _input(entry: Mapping[str, object]) -> Input:
    options = entry.get("options")
    choices = [_choice(option) for option in options] if isinstance(options, list) else []
    default = entry.get("default")
    return Input(
        str(entry.get("id") or ""),
        str(entry.get("description") or ""),
        is_secret=entry.get("password") is True,
        default=default if isinstance(default, str) else None,
        choices=tuple(choices),
    )


def _choice(option: object) -> str:
    return str(option.get("value", "")) if isinstance(option, dict) else str(option)


def kept_answers(
    asks: Iterable[Input], answers: Mapping[str, str], keyring: Keyring, prefix: str
) -> dict[str, str]:
    """Store the answers to secret inputs in the keyring; returns answers with references to them.

    `prefix` starts their names there. May block for long: call it in a thread.

    Raises:
        UserError: there is no keyring, or it is locked.
    """
    secret = _secret_answers(asks, answers)
    kept = {id_: stored(f"{prefix}/{id_}", value, keyring) for id_, value in secret.items()}
    return {**answers, **kept}


def referred_answers(asks: Iterable[Input], answers: Mapping[str, str]) -> dict[str, str]:
    """The answers, with references to environment variables in place of secrets."""
    secret = _secret_answers(asks, answers)
    return {**answers, **{id_: f"${{env:{variable_name(id_)}}}" for id_ in secret}}


def _secret_answers(asks: Iterable[Input], answers: Mapping[str, str]) -> dict[str, str]:
    """Answers to secret inputs that are not references."""
    wanted = [each.id for each in asks if each.is_secret and not each.stands_as_text]
    given = {id_: answers[id_] for id_ in wanted if answers.get(id_)}
    return {id_: answer for id_, answer in given.items() if not REFERENCE.fullmatch(answer)}


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
