"""The clients whose configurations we read and write, each declared once.

Loaded by `--help`: nothing is read or written here.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.references import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.catalogue.entry_forms import EntryForm, EntryWriter


class Syntax(enum.Flag):
    """The kinds of variables that a client expands."""

    NONE = 0
    NAMED = enum.auto()
    """`${workspaceFolder}`, `${userHome}`, `${pathSeparator}`, `${env:X}`, `${input:x}`."""
    SHELL = enum.auto()  # `${X}` and `${X:-default}`, from the environment
    DOLLAR = enum.auto()  # `$X`, from the environment


def _read_no_more(_form: EntryForm, _entry: Mapping[str, Any]) -> None:
    """Leave an entry at what all clients have in common."""


def _common(entry: EntryWriter) -> dict[str, Any]:
    return entry.common()


def _with_oauth(entry: EntryWriter) -> dict[str, Any]:
    return entry.with_oauth()


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


class McpClient(NamedTuple):
    """A program in which servers are configured: all that the other modules know of it.

    `key` is its name on the command line. `places` are patterns of its files: `{home}` is the
    user's folder, `{config}` that of programs' settings, `{roaming}`, `{local}` and `{xdg}` those
    of Windows and of other systems, and capitals a variable of the environment. `project_places`
    are files in a project.
    """

    key: str
    title: str
    own_name: str = ""  # in `clientInfo`, if that is not similar to key or title
    next_step: str = ""  # how to make it use its changed configuration
    own_file: str = ""  # where to copy a server of a project to, so that it can be watched

    places: tuple[str, ...] = ()
    project_places: tuple[str, ...] = ()
    is_toml: bool = False

    container: str = "mcpServers"
    """The member with its servers."""
    inside: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Keys that may lead to the container in other files, with a note on servers found there."""
    has_projects: bool = False  # the member `projects` has more containers, by folder
    rules: str = ""  # the member with the names of `excluded` and `allowed` servers

    file_names: tuple[str, ...] = ()
    folder: str = ""
    members: frozenset[str] = frozenset()
    """A file is also recognised by its name, its folder, or members that only it has in entries."""
    type_name: str = ""  # a type of transport that only its entries have

    without_type: str = "http"
    """The transport of a URL without a type."""
    has_urls: bool = True
    syntax: Syntax = Syntax.NONE
    names_variables: bool = False
    """Without expanding variables, it passes on those that an entry names."""
    disabled: tuple[str, bool] | None = None
    """The member that disables a server; None if servers cannot be disabled, or by `rules` only."""

    read: Callable[[EntryForm, Mapping[str, Any]], None] = _read_no_more
    """Read what only its entries have; `UserError`, without a place, if one cannot be used."""
    write: Callable[[EntryWriter], dict[str, Any]] = _common

    def is_called(self, name: str) -> bool:
        """True if this client calls itself `name`, such as "cursor-vscode", or is known as that."""
        given = _letters(name)
        known = map(_letters, (self.key, self.title, self.own_name or self.title))
        return any(given.startswith(each) for each in known)


_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium")
_REMOTE: Final = (".vscode-server", ".vscode-server-insiders", ".vscode-remote", ".vscodium-server")
"""Folders of VS Code's server on remote hosts, in WSL, in containers and in Codespaces."""

CLAUDE_DESKTOP: Final = McpClient(
    "claude-desktop",
    "Claude Desktop",
    own_name="claude-ai",
    next_step="Quit Claude Desktop completely and start it again.",
    places=(
        "{config}/Claude/claude_desktop_config.json",
        # Installed from the Store, or by the installer since 2026: its redirected {config}.
        "{local}/Packages/*Claude*/LocalCache/Roaming/Claude/claude_desktop_config.json",
    ),
    file_names=("claude_desktop_config.json",),
    has_urls=False,
)


def _read_claude_code(form: EntryForm, entry: Mapping[str, Any]) -> None:
    if "headersHelper" in entry:
        form.notes.append("headersHelper, a command that generates headers, is not run")


CLAUDE_CODE: Final = McpClient(
    "claude-code",
    "Claude Code",
    next_step="New sessions of Claude Code use it; in a running one, reconnect with /mcp.",
    own_file="the local scope (claude mcp add-json --scope local NAME JSON)",
    places=("{CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"),
    project_places=(".mcp.json",),
    has_projects=True,
    file_names=(".claude.json", ".mcp.json"),
    members=frozenset({"headersHelper", "alwaysLoad"}),
    syntax=Syntax.SHELL,
    read=_read_claude_code,
    write=_with_oauth,
)


def _read_vs_code(form: EntryForm, entry: Mapping[str, Any]) -> None:
    env = form.members.get("env")
    if isinstance(env, dict):  # null and numbers, which other clients do not allow
        unset = [name for name, value in env.items() if value is None]
        form.notes += [f"{name} is not unset, unlike in VS Code" for name in unset]
        form.members["env"] = {
            name: str(value) if form.is_number(value) else value
            for name, value in env.items()
            if value is not None
        }
    if entry.get("sandboxEnabled") is True:
        form.notes.append("VS Code runs it in a sandbox; this program does not")


VS_CODE: Final = McpClient(
    "vscode",
    "VS Code",
    own_name="Visual Studio Code",
    next_step="VS Code starts the changed server with the next chat request. To do it now, run"
    " MCP: List Servers and restart the server.",
    own_file="your user configuration (MCP: Open User Configuration)",
    places=(
        *(
            f"{{config}}/{editor}/User/{name}"
            for editor in _EDITORS
            for name in ("mcp.json", "profiles/*/mcp.json", "settings.json")
        ),
        *(
            f"{{home}}/{server}/data/{name}"
            for server in _REMOTE
            for name in ("User/mcp.json", "Machine/settings.json")
        ),
        "{home}/.local/share/code-server/User/mcp.json",
        # Flatpaks.
        "{home}/.var/app/com.visualstudio.code/config/Code/User/mcp.json",
        "{home}/.var/app/com.vscodium.codium/config/VSCodium/User/mcp.json",
    ),
    project_places=(
        ".vscode/mcp.json",
        ".vscode/settings.json",
        ".devcontainer/devcontainer.json",
        ".devcontainer/*/devcontainer.json",
        ".devcontainer.json",
    ),
    container="servers",
    inside=(
        (("mcp",), ""),
        (("settings", "mcp"), ""),
        (
            ("customizations", "vscode", "mcp"),
            "VS Code runs it in the dev container; this program runs it here",
        ),
    ),
    folder=".vscode",
    syntax=Syntax.NAMED,
    read=_read_vs_code,
    write=_with_oauth,
)


def _read_cursor(form: EntryForm, entry: Mapping[str, Any]) -> None:
    if form.transport != "stdio" and isinstance(entry.get("auth"), dict):
        form.used.add("auth")
        form.set_oauth(entry["auth"])


def _write_cursor(entry: EntryWriter) -> dict[str, Any]:
    written = entry.common()
    auth = entry.oauth("CLIENT_ID", "CLIENT_SECRET", "scopes")
    if "CLIENT_ID" in auth:
        written["auth"] = _with_list(auth)
    return written


def _with_list(oauth: dict[str, Any]) -> dict[str, Any]:
    return {**oauth, "scopes": oauth["scopes"].split()} if "scopes" in oauth else oauth


CURSOR: Final = McpClient(
    "cursor",
    "Cursor",
    next_step="Cursor reloads the server. It may ask you to approve the changed command.",
    own_file="~/.cursor/mcp.json",
    places=("{home}/.cursor/mcp.json",),
    project_places=(".cursor/mcp.json",),
    folder=".cursor",
    syntax=Syntax.NAMED,
    read=_read_cursor,
    write=_write_cursor,
)


def _write_windsurf(entry: EntryWriter) -> dict[str, Any]:
    written = entry.common()
    if "url" in written:
        written["serverUrl"] = written.pop("url")
    return written


WINDSURF: Final = McpClient(
    "windsurf",
    "Windsurf",
    next_step="In Windsurf, refresh the MCP servers in the Cascade panel.",
    places=(
        "{home}/.codeium/windsurf/mcp_config.json",
        "{home}/.codeium/windsurf-next/mcp_config.json",
        "{home}/.codeium/mcp_config.json",
    ),
    file_names=("mcp_config.json",),
    folder=".codeium",
    members=frozenset({"serverUrl", "disabledTools"}),
    syntax=Syntax.NAMED,
    disabled=("disabled", True),
    write=_write_windsurf,
)


def _write_cline(entry: EntryWriter) -> dict[str, Any]:
    written = entry.typed()
    if entry.definition.transport == "http":
        written["type"] = "streamableHttp"
    return written


_CLINE: Final = "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
CLINE: Final = McpClient(
    "cline",
    "Cline",
    next_step="Cline restarts the server when its file changes.",
    places=(
        "{CLINE_MCP_SETTINGS_PATH}",
        "{home}/.cline/data/settings/cline_mcp_settings.json",
        *(f"{{config}}/{editor}/{_CLINE}" for editor in (*_EDITORS, "Cursor", "Windsurf")),
        f"{{home}}/.vscode-server/data/{_CLINE}",
    ),
    file_names=("cline_mcp_settings.json",),
    members=frozenset({"autoApprove"}),
    type_name="streamableHttp",
    without_type="sse",
    syntax=Syntax.NAMED,
    disabled=("disabled", True),
    write=_write_cline,
)


def _read_gemini(form: EntryForm, entry: Mapping[str, Any]) -> None:
    provider = entry.get("authProviderType")
    if provider == "dynamic_discovery":
        form.used.add("authProviderType")
        form.members.setdefault("auth", "oauth")
    elif provider is not None:
        form.notes.append(f"sign-in method {provider} is not supported")


def _write_gemini(entry: EntryWriter) -> dict[str, Any]:
    http = entry.http
    if http is None:
        return entry.common()
    # Newer versions try Streamable HTTP first for a "url" without a type.
    written = entry.common()
    if http.transport == "http":
        written = {"httpUrl": http.url, **entry.headers()}
    if http.auth == "oauth":
        oauth = entry.oauth("clientId", "clientSecret", "scopes")
        written["oauth"] = {"enabled": True, **_with_list(oauth)}
    return written


GEMINI: Final = McpClient(
    "gemini",
    "Gemini CLI",
    next_step="Restart Gemini CLI.",
    own_file="~/.gemini/settings.json",
    places=("{home}/.gemini/settings.json",),
    project_places=(".gemini/settings.json",),
    rules="mcp",
    folder=".gemini",
    members=frozenset({"httpUrl", "includeTools", "excludeTools", "authProviderType"}),
    syntax=Syntax.SHELL | Syntax.DOLLAR,
    read=_read_gemini,
    write=_write_gemini,
)


def _read_codex(form: EntryForm, entry: Mapping[str, Any]) -> None:
    if form.transport == "stdio":
        form.used.add("env_vars")  # the whole environment is passed on
    else:
        form.used |= {"http_headers", "env_http_headers", "bearer_token_env_var", "scopes"}
        form.set("headers", _codex_headers(entry))
        if entry.get("scopes"):
            oauth = entry.get("oauth")
            known = oauth if isinstance(oauth, dict) else {}
            form.set_oauth({**known, "scopes": entry["scopes"]})
    seconds, milliseconds = entry.get("startup_timeout_sec"), entry.get("startup_timeout_ms")
    form.used |= {"startup_timeout_sec", "startup_timeout_ms"}
    if seconds is None and form.is_number(milliseconds):
        form.set_seconds("connect_timeout_s", milliseconds)
    form.set("connect_timeout_s", seconds)


def _codex_headers(entry: Mapping[str, Any]) -> Any:
    headers = entry.get("http_headers", {})
    from_environment = entry.get("env_http_headers", {})
    if not isinstance(headers, dict) or not isinstance(from_environment, dict):
        raise UserError(ErrorDetails("http_headers: not a table"))
    headers = {**headers, **{name: f"${{env:{of}}}" for name, of in from_environment.items()}}
    bearer = entry.get("bearer_token_env_var")
    return {**headers, "Authorization": f"Bearer ${{env:{bearer}}}"} if bearer else headers


_BEARER: Final = re.compile(r"Bearer \$\{env:([^${}]+)\}")


def _write_codex(entry: EntryWriter) -> dict[str, Any]:
    """The entry without references: Codex passes on variables by name."""
    if entry.process is not None:
        env = entry.process.env
        passed = [name for name, value in env.items() if value == f"${{env:{name}}}"]
        written = entry.without(passed)
        if passed:
            written["env_vars"] = passed
    else:
        written = _codex_url(entry)
    if entry.definition.connect_timeout_s is not None:
        written["startup_timeout_sec"] = entry.definition.connect_timeout_s
    return written


def _codex_url(entry: EntryWriter) -> dict[str, Any]:
    http = entry.http
    if http is None:
        return {}
    written: dict[str, Any] = {"url": http.url}
    plain: dict[str, str] = {}
    from_environment: dict[str, str] = {}
    for name, value in http.headers.items():
        bearer = _BEARER.fullmatch(value)
        whole = REFERENCE.fullmatch(value)
        if bearer is not None and name.lower() == "authorization":
            written["bearer_token_env_var"] = bearer[1]
        elif whole is not None and whole[1] == "env":
            from_environment[name] = whole[2]
        else:
            plain[name] = value
    if plain:
        written["http_headers"] = plain
    if from_environment:
        written["env_http_headers"] = from_environment
    if http.oauth.scope is not None:
        written["scopes"] = http.oauth.scope.split()
    if http.oauth.client_id is not None:
        written["oauth"] = {"client_id": http.oauth.client_id}
    return written


CODEX: Final = McpClient(
    "codex",
    "Codex",
    next_step="New Codex sessions use it; restart a running one.",
    own_file="~/.codex/config.toml",
    places=("{CODEX_HOME}/config.toml", "{home}/.codex/config.toml"),
    project_places=(".codex/config.toml",),
    is_toml=True,
    container="mcp_servers",
    names_variables=True,
    disabled=("enabled", False),
    read=_read_codex,
    write=_write_codex,
)


def _read_zed(form: EntryForm, entry: Mapping[str, Any]) -> None:
    command = entry.get("command")
    if isinstance(command, dict):  # the format until 2025
        form.members.pop("command", None)
        form.set("command", command.get("path"))
        for name in ("args", "env"):
            form.set(name, command.get(name))
    if command is None and not entry.get("url"):
        what = "This server is started by a Zed extension; its command is not in the file"
        raise UserError(ErrorDetails(what, hint="Add the server by its command."))


def _write_zed(entry: EntryWriter) -> dict[str, Any]:
    source = {"source": "custom"} if entry.http is None else {}
    return {**source, **entry.common()}


ZED: Final = McpClient(
    "zed",
    "Zed",
    next_step="Zed restarts the server when its settings change.",
    places=(
        "{xdg}/zed/settings.json",
        "{roaming}/Zed/settings.json",
        "{home}/.var/app/dev.zed.Zed/config/zed/settings.json",
    ),
    project_places=(".zed/settings.json",),
    container="context_servers",
    disabled=("enabled", False),
    read=_read_zed,
    write=_write_zed,
)

_ERAS_READ: Final = {"legacy": "handshake", "auto": "auto", "modern": "per-request"}
_ERAS_WRITTEN: Final = {era: name for name, era in _ERAS_READ.items()}


def _read_inspector(form: EntryForm, entry: Mapping[str, Any]) -> None:
    form.used |= {"protocolEra", "connectionTimeout"}
    era = entry.get("protocolEra")
    form.set("era", _ERAS_READ.get(era, era) if isinstance(era, str) else era)
    if entry.get("connectionTimeout"):
        form.set_seconds("connect_timeout_s", entry["connectionTimeout"])


def _write_inspector(entry: EntryWriter) -> dict[str, Any]:
    written = {**entry.with_oauth(), "protocolEra": _ERAS_WRITTEN[entry.definition.era]}
    if entry.definition.connect_timeout_s is not None:
        written["connectionTimeout"] = round(entry.definition.connect_timeout_s * 1000)
    return written


INSPECTOR: Final = McpClient(
    "inspector",
    "MCP Inspector",
    next_step="Restart the Inspector, and connect again.",
    places=("{MCP_CATALOG_PATH}", "{home}/.mcp-inspector/mcp.json"),
    folder=".mcp-inspector",
    members=frozenset({"protocolEra", "modernLogLevel", "connectionTimeout", "taskTtl"}),
    read=_read_inspector,
    write=_write_inspector,
)

COMMON: Final = McpClient(
    "common", "a client", syntax=Syntax.NAMED | Syntax.SHELL, read=_read_cursor
)
"""The format that most clients share, for files of an unknown client."""
OURS: Final = McpClient("mcp-progress-monitor", "MCP Progress Monitor")

KNOWN: Final = (
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
"""Clients whose files are looked for on this computer."""
FORMS: Final = (*KNOWN, COMMON, OURS)
"""All formats that can be read and written."""


def client_of(key: str) -> McpClient:
    """The client with that key; `KeyError` if there is none."""
    return {client.key: client for client in FORMS}[key]
