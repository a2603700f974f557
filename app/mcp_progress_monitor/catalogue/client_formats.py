"""Each client's format of a server's entry, for reading and for writing."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.catalogue.catalogue import (
    CatalogueEntry,
    transport_of,
    written_definition,
)
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
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.secrets.references import REFERENCE
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_URLS: Final = ("url", "serverUrl", "httpUrl", "uri")
_SHARED: Final = frozenset(
    {"type", "transport", "transportType", "command", "args", "env", "cwd", "envFile"}
    | {"headers", "disabled", "enabled", "oauth", *_URLS}
)
_ERAS_READ: Final = {"legacy": "handshake", "auto": "auto", "modern": "per-request"}
_SSE_SUFFIX: Final = "/sse"


@dataclasses.dataclass(slots=True)
class EntryForm:
    """A server's entry in our own format, with its variables unresolved.

    `members` are unvalidated fields of a definition, `used` the names of the entry's members that
    were understood, and `notes` are shown to the user.
    """

    transport: str = "stdio"
    members: dict[str, Any] = dataclasses.field(default_factory=dict)
    env_file: Any = None
    is_disabled: bool = False
    used: set[str] = dataclasses.field(default_factory=set)
    notes: list[str] = dataclasses.field(default_factory=list)

    def set(self, field: str, value: Any) -> None:
        """Set a field unless its value is None."""
        if value is not None:
            self.members[field] = value


def form_of(client: McpClient, entry: Mapping[str, Any]) -> EntryForm:
    """Parse an entry of a client's file.

    Raises:
        UserError: the entry cannot be used; without a place.
    """
    form = EntryForm(used=set(_SHARED & entry.keys()))
    url = next((entry[key] for key in _URLS if entry.get(key)), "")
    if entry.get("httpUrl"):
        form.transport = "http"
    else:
        form.transport = transport_of(entry, str(url), client.without_type)
        _guess_sse(form, entry, str(url))
    form.is_disabled = entry.get("disabled") is True or entry.get("enabled") is False
    if form.transport == "stdio":
        for name in ("command", "args", "env", "cwd"):
            form.set(name, entry.get(name))
        form.env_file = entry.get("envFile")
    else:
        form.set("url", url or None)
        form.set("headers", entry.get("headers"))
        _set_oauth(form, entry.get("oauth"))
    special = _READERS.get(client.key)
    if special is not None:
        special(form, entry)
    return form


def _guess_sse(form: EntryForm, entry: Mapping[str, Any], url: str) -> None:
    """Guess HTTP+SSE from its customary suffix, for clients that would try both transports."""
    is_untyped = not {"type", "transport", "transportType"} & entry.keys()
    path = url.partition("?")[0].rstrip("/")
    if form.transport == "http" and is_untyped and path.endswith(_SSE_SUFFIX):
        form.transport = "sse"
        form.notes.append("the URL ends in /sse: imported with the legacy transport, HTTP+SSE")


def _set_oauth(form: EntryForm, found: object) -> None:
    """Read an OAuth object, whose member names clients spell differently."""
    if not isinstance(found, dict) or found.get("enabled") is False:
        return
    members = {str(key).replace("_", "").lower(): value for key, value in found.items()}
    scopes = members.get("scopes", members.get("scope"))
    oauth = {
        "client_id": members.get("clientid"),
        "client_secret": members.get("clientsecret"),
        "scope": " ".join(map(str, scopes)) if isinstance(scopes, list) else scopes,
    }
    form.members["auth"] = "oauth"
    form.members["oauth"] = {name: value for name, value in oauth.items() if value}


def _read_cursor(form: EntryForm, entry: Mapping[str, Any]) -> None:
    if form.transport != "stdio" and isinstance(entry.get("auth"), dict):
        form.used.add("auth")
        _set_oauth(form, entry["auth"])


def _read_vs_code(form: EntryForm, entry: Mapping[str, Any]) -> None:
    env = form.members.get("env")
    if isinstance(env, dict):  # null and numbers, which other clients do not allow
        unset = [name for name, value in env.items() if value is None]
        form.notes += [f"{name} is not unset, unlike in VS Code" for name in unset]
        form.members["env"] = {
            name: str(value) if _is_number(value) else value
            for name, value in env.items()
            if value is not None
        }
    if entry.get("sandboxEnabled") is True:
        form.notes.append("VS Code runs it in a sandbox; this program does not")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_claude_code(form: EntryForm, entry: Mapping[str, Any]) -> None:
    if "headersHelper" in entry:
        form.notes.append("headersHelper, a command that generates headers, is not run")


def _read_gemini(form: EntryForm, entry: Mapping[str, Any]) -> None:
    provider = entry.get("authProviderType")
    if provider == "dynamic_discovery":
        form.used.add("authProviderType")
        form.members.setdefault("auth", "oauth")
    elif provider is not None:
        form.notes.append(f"sign-in method {provider} is not supported")


def _read_codex(form: EntryForm, entry: Mapping[str, Any]) -> None:
    if form.transport == "stdio":
        form.used.add("env_vars")  # the whole environment is passed on
    else:
        form.used |= {"http_headers", "env_http_headers", "bearer_token_env_var", "scopes"}
        form.set("headers", _codex_headers(entry))
        if entry.get("scopes"):
            oauth = entry.get("oauth")
            known = oauth if isinstance(oauth, dict) else {}
            _set_oauth(form, {**known, "scopes": entry["scopes"]})
    _set_codex_limits(form, entry)


def _codex_headers(entry: Mapping[str, Any]) -> Any:
    headers = entry.get("http_headers", {})
    from_environment = entry.get("env_http_headers", {})
    if not isinstance(headers, dict) or not isinstance(from_environment, dict):
        raise UserError(ErrorDetails("http_headers: not a table"))
    headers = {**headers, **{name: f"${{env:{of}}}" for name, of in from_environment.items()}}
    bearer = entry.get("bearer_token_env_var")
    return {**headers, "Authorization": f"Bearer ${{env:{bearer}}}"} if bearer else headers


def _set_codex_limits(form: EntryForm, entry: Mapping[str, Any]) -> None:
    seconds = entry.get("startup_timeout_sec")
    milliseconds = entry.get("startup_timeout_ms")
    form.used |= {"startup_timeout_sec", "startup_timeout_ms"}
    if seconds is None and _is_number(milliseconds):
        seconds = _seconds(milliseconds)
    form.set("connect_timeout_s", seconds)


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


def _read_inspector(form: EntryForm, entry: Mapping[str, Any]) -> None:
    form.used |= {"protocolEra", "connectionTimeout"}
    era = entry.get("protocolEra")
    form.set("era", _ERAS_READ.get(era, era) if isinstance(era, str) else era)
    timeout = entry.get("connectionTimeout")
    if timeout:
        form.set("connect_timeout_s", _seconds(timeout) if _is_number(timeout) else timeout)


def _seconds(milliseconds: Any) -> float:
    return float(milliseconds) / 1000


_READERS: Final[Mapping[str, Callable[[EntryForm, Mapping[str, Any]], None]]] = {
    "cursor": _read_cursor,
    "common": _read_cursor,
    VS_CODE.key: _read_vs_code,
    CLAUDE_CODE.key: _read_claude_code,
    GEMINI.key: _read_gemini,
    CODEX.key: _read_codex,
    ZED.key: _read_zed,
    INSPECTOR.key: _read_inspector,
}


_SHELL_CLIENTS: Final = frozenset({CLAUDE_CODE.key, GEMINI.key})
_BEARER: Final = re.compile(r"Bearer \$\{env:([^${}]+)\}")
_ERAS_WRITTEN: Final = {"handshake": "legacy", "per-request": "modern", "auto": "auto"}
_DISABLED: Final = {CLINE.key, WINDSURF.key}
_ENABLED: Final = {CODEX.key, ZED.key}
CAN_DISABLE: Final = frozenset({*_DISABLED, *_ENABLED, GEMINI.key})
"""Clients whose files can contain disabled servers."""


def written_for(client: McpClient, entry: CatalogueEntry) -> dict[str, Any]:
    """The entry in a client's format, with references in its own syntax."""
    definition = _in_syntax(client, entry.definition)
    special = _WRITERS.get(client.key, _common)
    written = special(definition)
    if entry.is_disabled and client.key in _DISABLED:
        written["disabled"] = True
    if entry.is_disabled and client.key in _ENABLED:
        written["enabled"] = False
    return written


def _in_syntax(client: McpClient, definition: ServerDefinition) -> ServerDefinition:
    if client.key not in _SHELL_CLIENTS:
        return definition
    if isinstance(definition, StdioDefinition):
        return definition.model_copy(
            update={
                "args": tuple(map(_shell, definition.args)),
                "env": {name: _shell(value) for name, value in definition.env.items()},
            }
        )
    headers = {name: _shell(value) for name, value in definition.headers.items()}
    return definition.model_copy(update={"headers": headers})


def _shell(value: str) -> str:
    return REFERENCE.sub(lambda found: f"${{{found[2]}}}" if found[1] == "env" else found[0], value)


def _common(definition: ServerDefinition) -> dict[str, Any]:
    """The entry with a type only for HTTP+SSE: not every client knows the other types."""
    if isinstance(definition, StdioDefinition):
        return written_definition(definition)
    older = {"type": "sse"} if definition.transport == "sse" else {}
    return {**older, "url": definition.url, **_headers(definition)}


def _headers(definition: HttpDefinition) -> dict[str, Any]:
    return {"headers": dict(definition.headers)} if definition.headers else {}


def _typed(definition: ServerDefinition) -> dict[str, Any]:
    typed = {"type": "stdio"} if isinstance(definition, StdioDefinition) else {}
    return {**typed, **written_definition(definition)}


def _with_oauth(definition: ServerDefinition) -> dict[str, Any]:
    written = _typed(definition)
    if isinstance(definition, HttpDefinition) and definition.auth == "oauth":
        written["oauth"] = _oauth(definition, "clientId", "clientSecret", "scopes")
    return written


def _oauth(definition: HttpDefinition, *names: str) -> dict[str, str]:
    oauth = definition.oauth
    values = (oauth.client_id, oauth.client_secret, oauth.scope)
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _cursor(definition: ServerDefinition) -> dict[str, Any]:
    written = _common(definition)
    if isinstance(definition, HttpDefinition) and definition.oauth.client_id is not None:
        auth: dict[str, Any] = dict(_oauth(definition, "CLIENT_ID", "CLIENT_SECRET", "scopes"))
        if "scopes" in auth:
            auth["scopes"] = str(auth["scopes"]).split()
        written["auth"] = auth
    return written


def _windsurf(definition: ServerDefinition) -> dict[str, Any]:
    written = _common(definition)
    if "url" in written:
        written["serverUrl"] = written.pop("url")
    return written


def _cline(definition: ServerDefinition) -> dict[str, Any]:
    written = _typed(definition)
    if definition.transport == "http":
        written["type"] = "streamableHttp"
    return written


def _gemini(definition: ServerDefinition) -> dict[str, Any]:
    if isinstance(definition, StdioDefinition):
        return written_definition(definition)
    # Newer versions try Streamable HTTP first for a "url" without a type.
    is_legacy_sse = definition.transport == "sse"
    written: dict[str, Any] = {"type": "sse"} if is_legacy_sse else {}
    written |= {"url" if is_legacy_sse else "httpUrl": definition.url, **_headers(definition)}
    if definition.auth == "oauth":
        oauth: dict[str, Any] = dict(_oauth(definition, "clientId", "clientSecret", "scopes"))
        if "scopes" in oauth:
            oauth["scopes"] = str(oauth["scopes"]).split()
        written["oauth"] = {"enabled": True, **oauth}
    return written


def _zed(definition: ServerDefinition) -> dict[str, Any]:
    if isinstance(definition, StdioDefinition):
        return {"source": "custom", **written_definition(definition)}
    return _common(definition)


def _inspector(definition: ServerDefinition) -> dict[str, Any]:
    written = {**_with_oauth(definition), "protocolEra": _ERAS_WRITTEN[definition.era]}
    if definition.connect_timeout_s is not None:
        written["connectionTimeout"] = round(definition.connect_timeout_s * 1000)
    return written


def _codex(definition: ServerDefinition) -> dict[str, Any]:
    written = _codex_process(definition) if isinstance(definition, StdioDefinition) else {}
    if isinstance(definition, HttpDefinition):
        written = _codex_url(definition)
    if definition.connect_timeout_s is not None:
        written["startup_timeout_sec"] = definition.connect_timeout_s
    return written


def _codex_process(definition: StdioDefinition) -> dict[str, Any]:
    """Codex has no references, but passes on variables by name."""
    passed = [name for name, value in definition.env.items() if value == f"${{env:{name}}}"]
    env = {name: value for name, value in definition.env.items() if name not in passed}
    written = written_definition(definition.model_copy(update={"env": env}))
    return {**written, "env_vars": passed} if passed else written


def _codex_url(definition: HttpDefinition) -> dict[str, Any]:
    written: dict[str, Any] = {"url": definition.url}
    plain: dict[str, str] = {}
    from_environment: dict[str, str] = {}
    for name, value in definition.headers.items():
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
    if definition.oauth.scope is not None:
        written["scopes"] = definition.oauth.scope.split()
    if definition.oauth.client_id is not None:
        written["oauth"] = {"client_id": definition.oauth.client_id}
    return written


_WRITERS: Final[Mapping[str, Callable[[ServerDefinition], dict[str, Any]]]] = {
    CLAUDE_DESKTOP.key: _common,
    CLAUDE_CODE.key: _with_oauth,
    VS_CODE.key: _with_oauth,
    CURSOR.key: _cursor,
    WINDSURF.key: _windsurf,
    CLINE.key: _cline,
    GEMINI.key: _gemini,
    CODEX.key: _codex,
    ZED.key: _zed,
    INSPECTOR.key: _inspector,
}
