"""What each client calls the members of a server's entry, and what we call them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.catalogue.clients import (
    CLAUDE_CODE,
    CODEX,
    GEMINI,
    INSPECTOR,
    VS_CODE,
    ZED,
)
from mcp_progress_monitor.catalogue.fields import transport_of
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.catalogue.clients import Client

_URLS: Final = ("url", "serverUrl", "httpUrl", "uri")
_SHARED: Final = frozenset(
    {"type", "transport", "transportType", "command", "args", "env", "cwd", "envFile"}
    | {"headers", "disabled", "enabled", "oauth", *_URLS}
)
_ERAS: Final = {"legacy": "handshake", "auto": "auto", "modern": "per-request"}
_OLDER_ENDING: Final = "/sse"


@dataclasses.dataclass(slots=True)
class Form:
    """A server's entry in words of ours; variables in it are not resolved yet.

    `members` are fields of a definition as they were found, whatever they are; `used` the names of
    those members of the entry that something was made of; `notes` what the user should know.
    """

    transport: str = "stdio"
    members: dict[str, Any] = dataclasses.field(default_factory=dict)
    env_file: Any = None
    is_disabled: bool = False
    used: set[str] = dataclasses.field(default_factory=set)
    notes: list[str] = dataclasses.field(default_factory=list)

    def take(self, field: str, value: Any) -> None:
        """Note a field; a value that is not there is none."""
        if value is not None:
            self.members[field] = value


def form_of(client: Client, entry: Mapping[str, Any]) -> Form:
    """An entry of that client's.

    Raises:
        ProblemError: without a place; nothing can be made of it.
    """
    form = Form(used=set(_SHARED & entry.keys()))
    url = next((entry[key] for key in _URLS if entry.get(key)), "")
    if entry.get("httpUrl"):
        form.transport = "http"
    else:
        form.transport = transport_of(entry, str(url), client.without_type)
        _guess_older(form, entry, str(url))
    form.is_disabled = entry.get("disabled") is True or entry.get("enabled") is False
    if form.transport == "stdio":
        for name in ("command", "args", "env", "cwd"):
            form.take(name, entry.get(name))
        form.env_file = entry.get("envFile")
    else:
        form.take("url", url or None)
        form.take("headers", entry.get("headers"))
        _take_oauth(form, entry.get("oauth"))
    special = _SPECIAL.get(client.key)
    if special is not None:
        special(form, entry)
    return form


def _guess_older(form: Form, entry: Mapping[str, Any], url: str) -> None:
    """Those who say nothing try the newer transport, then the older; its URLs end so by custom."""
    says_nothing = not {"type", "transport", "transportType"} & entry.keys()
    path = url.partition("?")[0].rstrip("/")
    if form.transport == "http" and says_nothing and path.endswith(_OLDER_ENDING):
        form.transport = "sse"
        form.notes.append("the URL ends in /sse: taken for the older transport, HTTP with SSE")


def _take_oauth(form: Form, found: object) -> None:
    """What clients write of OAuth: an object, with names that differ in how they are written."""
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


def _of_cursor(form: Form, entry: Mapping[str, Any]) -> None:
    if form.transport != "stdio" and isinstance(entry.get("auth"), dict):
        form.used.add("auth")
        _take_oauth(form, entry["auth"])


def _of_vs_code(form: Form, entry: Mapping[str, Any]) -> None:
    env = form.members.get("env")
    if isinstance(env, dict):  # where other clients have texts alone
        unset = [name for name, value in env.items() if value is None]
        form.notes += [f"{name} is not unset, as VS Code does" for name in unset]
        form.members["env"] = {
            name: str(value) if _is_number(value) else value
            for name, value in env.items()
            if value is not None
        }
    if entry.get("sandboxEnabled") is True:
        form.notes.append("VS Code runs it in a sandbox; this program does not")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_claude_code(form: Form, entry: Mapping[str, Any]) -> None:
    if "headersHelper" in entry:
        form.notes.append("headersHelper, a command that makes headers, is not run")


def _of_gemini(form: Form, entry: Mapping[str, Any]) -> None:
    provider = entry.get("authProviderType")
    if provider == "dynamic_discovery":
        form.used.add("authProviderType")
        form.members.setdefault("auth", "oauth")
    elif provider is not None:
        form.notes.append(f"signing in by {provider} is not known here")


def _of_codex(form: Form, entry: Mapping[str, Any]) -> None:
    if form.transport == "stdio":
        form.used.add("env_vars")  # the whole environment is handed on
    else:
        form.used |= {"http_headers", "env_http_headers", "bearer_token_env_var", "scopes"}
        form.take("headers", _codex_headers(entry))
        if entry.get("scopes"):
            oauth = entry.get("oauth")
            known = oauth if isinstance(oauth, dict) else {}
            _take_oauth(form, {**known, "scopes": entry["scopes"]})
    _take_codex_limits(form, entry)


def _codex_headers(entry: Mapping[str, Any]) -> Any:
    headers = entry.get("http_headers", {})
    from_environment = entry.get("env_http_headers", {})
    if not isinstance(headers, dict) or not isinstance(from_environment, dict):
        raise ProblemError(Problem("http_headers: they are no table"))
    headers = {**headers, **{name: f"${{env:{of}}}" for name, of in from_environment.items()}}
    bearer = entry.get("bearer_token_env_var")
    return {**headers, "Authorization": f"Bearer ${{env:{bearer}}}"} if bearer else headers


def _take_codex_limits(form: Form, entry: Mapping[str, Any]) -> None:
    seconds = entry.get("startup_timeout_sec")
    milliseconds = entry.get("startup_timeout_ms")
    form.used |= {"startup_timeout_sec", "startup_timeout_ms"}
    if seconds is None and _is_number(milliseconds):
        seconds = _seconds(milliseconds)
    form.take("connect_timeout_s", seconds)


def _of_zed(form: Form, entry: Mapping[str, Any]) -> None:
    command = entry.get("command")
    if isinstance(command, dict):  # as it was written until 2025
        form.members.pop("command", None)
        form.take("command", command.get("path"))
        for name in ("args", "env"):
            form.take(name, command.get(name))
    if command is None and not entry.get("url"):
        what = "An extension of Zed starts this server; its command is not in the file"
        raise ProblemError(Problem(what, hint="Add the server by the command that it is run by."))


def _of_inspector(form: Form, entry: Mapping[str, Any]) -> None:
    form.used |= {"protocolEra", "connectionTimeout"}
    era = entry.get("protocolEra")
    form.take("era", _ERAS.get(era, era) if isinstance(era, str) else era)
    timeout = entry.get("connectionTimeout")
    if timeout:
        form.take("connect_timeout_s", _seconds(timeout) if _is_number(timeout) else timeout)


def _seconds(milliseconds: Any) -> float:
    return float(milliseconds) / 1000


_SPECIAL: Final[Mapping[str, Callable[[Form, Mapping[str, Any]], None]]] = {
    "cursor": _of_cursor,
    "common": _of_cursor,
    VS_CODE.key: _of_vs_code,
    CLAUDE_CODE.key: _of_claude_code,
    GEMINI.key: _of_gemini,
    CODEX.key: _of_codex,
    ZED.key: _of_zed,
    INSPECTOR.key: _of_inspector,
}
