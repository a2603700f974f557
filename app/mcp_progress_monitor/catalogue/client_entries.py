"""A server as an entry of another client's configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

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
from mcp_progress_monitor.sessions.definitions import HttpDefinition, StdioDefinition
from mcp_progress_monitor.sessions.references import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.catalogue.clients import Client
    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.sessions.definitions import ServerDefinition

_SHELL_CLIENTS: Final = frozenset({CLAUDE_CODE.key, GEMINI.key})
_BEARER: Final = re.compile(r"Bearer \$\{env:([^${}]+)\}")
_ERAS: Final = {"handshake": "legacy", "per-request": "modern", "auto": "auto"}
_DISABLED: Final = {CLINE.key, WINDSURF.key}
_ENABLED: Final = {CODEX.key, ZED.key}
CAN_DISABLE: Final = frozenset({*_DISABLED, *_ENABLED, GEMINI.key})
"""Clients that keep servers which they do not run."""


def written_for(client: Client, entry: CatalogueEntry) -> dict[str, Any]:
    """The entry in that client's form, with references in its own syntax."""
    definition = _in_syntax(client, entry.definition)
    special = _SPECIAL.get(client.key, _common)
    written = special(definition)
    if entry.is_disabled and client.key in _DISABLED:
        written["disabled"] = True
    if entry.is_disabled and client.key in _ENABLED:
        written["enabled"] = False
    return written


def _in_syntax(client: Client, definition: ServerDefinition) -> ServerDefinition:
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
    return REFERENCE.sub(_shell_reference, value)


def _shell_reference(found: re.Match[str]) -> str:
    return f"${{{found[2]}}}" if found[1] == "env" else found[0]


def _process(definition: StdioDefinition) -> dict[str, Any]:
    written: dict[str, Any] = {"command": definition.command, "args": list(definition.args)}
    if definition.env:
        written["env"] = dict(definition.env)
    if definition.cwd is not None:
        written["cwd"] = definition.cwd
    return written


def _common(definition: ServerDefinition) -> dict[str, Any]:
    """With a URL's type only where it is the older transport: others would not know it."""
    if isinstance(definition, StdioDefinition):
        return _process(definition)
    older = {"type": "sse"} if definition.transport == "sse" else {}
    return {**older, "url": definition.url, **_headers(definition)}


def _headers(definition: HttpDefinition) -> dict[str, Any]:
    return {"headers": dict(definition.headers)} if definition.headers else {}


def _typed(definition: ServerDefinition) -> dict[str, Any]:
    if isinstance(definition, StdioDefinition):
        return {"type": "stdio", **_process(definition)}
    return {"type": definition.transport, "url": definition.url, **_headers(definition)}


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
        return _process(definition)
    # Of late, a "url" alone is tried over Streamable HTTP first.
    is_older = definition.transport == "sse"
    written: dict[str, Any] = {"type": "sse"} if is_older else {}
    written |= {"url" if is_older else "httpUrl": definition.url, **_headers(definition)}
    if definition.auth == "oauth":
        oauth: dict[str, Any] = dict(_oauth(definition, "clientId", "clientSecret", "scopes"))
        if "scopes" in oauth:
            oauth["scopes"] = str(oauth["scopes"]).split()
        written["oauth"] = {"enabled": True, **oauth}
    return written


def _zed(definition: ServerDefinition) -> dict[str, Any]:
    if isinstance(definition, StdioDefinition):
        return {"source": "custom", **_process(definition)}
    return _common(definition)


def _inspector(definition: ServerDefinition) -> dict[str, Any]:
    written = {**_with_oauth(definition), "protocolEra": _ERAS[definition.era]}
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
    """Codex knows no references, but hands variables on that have the same name."""
    handed_on = [name for name, value in definition.env.items() if value == f"${{env:{name}}}"]
    env = {name: value for name, value in definition.env.items() if name not in handed_on}
    written = _process(definition.model_copy(update={"env": env}))
    return {**written, "env_vars": handed_on} if handed_on else written


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


_SPECIAL: Final[Mapping[str, Callable[[ServerDefinition], dict[str, Any]]]] = {
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
