"""A call as text for elsewhere: a command line, a curl command, a Python program, its message."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.exports.redaction import REMOVED
from mcp_progress_monitor.exports.snippet import (
    ServerLines,
    http_lines,
    program,
    stdio_lines,
    variable_of,
)
from mcp_progress_monitor.protocol.eras import LATEST_HANDSHAKE, PER_REQUEST
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    CAPABILITIES_KEY,
    CLIENT_KEY,
    GET_PROMPT,
    INITIALIZE,
    INITIALIZED,
    META,
    PROGRESS_TOKEN,
    READ_RESOURCE,
    VERSION_KEY,
)
from mcp_progress_monitor.protocol.secrets import replaced_arguments, replaced_in_urls
from mcp_progress_monitor.sessions.transport.http.endpoint import encoded, parameter_headers
from mcp_progress_monitor.snapshots.definitions import HttpDefinition

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_CLIENT: Final = {"name": "curl", "version": "1"}
_ACCEPTED: Final = "application/json, text/event-stream"
_SESSION: Final = "s/^[Mm][Cc][Pp]-[Ss]ession-[Ii][Dd]: *//p"
_COMMANDS: Final = {CALL_TOOL: "call", READ_RESOURCE: "read", GET_PROMPT: "prompt"}


def as_command_line(server: ServerDefinition, method: str, params: JsonObject) -> str:
    """The command of this program that makes the call, for a POSIX shell.

    Secrets of the server are references to environment variables.
    """
    command = ["mcp-progress-monitor", _COMMANDS[method], _subject(method, params)]
    arguments: dict[str, Any] = params.get("arguments") or {}
    if method == CALL_TOOL and arguments:
        command += ["--args", _json(arguments)]
    if method == GET_PROMPT:
        command += [
            word for name, value in arguments.items() for word in ("--arg", f"{name}={value}")
        ]
    if server.era != "auto":
        command += ["--era", server.era]
    if isinstance(server, HttpDefinition):
        command += ["--url", _url(server)]
        command += ["--transport", "sse"] if server.transport == "sse" else []
        command += ["--oauth"] if server.auth == "oauth" else []
        for name in server.headers:
            command += ["--header", f"{name}: {_reference(variable_of(name))}"]
        return shlex.join(command)
    for name in server.env:
        command += ["--env", f"{name}={_reference(name)}"]
    command += ["--cwd", server.cwd] if server.cwd is not None else []
    return shlex.join([*command, "--", server.command, *_arguments(server.args)])


def as_curl(
    server: ServerDefinition,
    revision: str | None,
    method: str,
    params: JsonObject,
    schema: JsonObject,
) -> str | None:
    """The shell commands that make the call with curl; None for servers that curl cannot call.

    In the handshake era they open a session first. Header values are environment variables.
    `schema` is the input schema of a tool, which may want arguments repeated as headers.
    """
    if not isinstance(server, HttpDefinition) or server.transport == "sse":
        return None
    if revision == PER_REQUEST:
        return f"{_curl(server, _heads(method, params, schema), _as_of_2026(method, params))}\n"
    version = {"MCP-Protocol-Version": revision or LATEST_HANDSHAKE}
    opening = {
        "protocolVersion": revision or LATEST_HANDSHAKE,
        "capabilities": {},
        "clientInfo": _CLIENT,
    }
    first = _curl(
        server, {}, _message(INITIALIZE, opening, 0), "--dump-header - --output /dev/null"
    )
    ready = json.dumps({"jsonrpc": "2.0", "method": INITIALIZED})
    return "\n".join(
        [
            f"session=$({first} \\\n  | tr -d '\\r' | sed -n {shlex.quote(_SESSION)})",
            _curl(server, version, ready, '--header "Mcp-Session-Id: $session"'),
            _curl(
                server, version, as_message(method, params), '--header "Mcp-Session-Id: $session"'
            ),
            "",
        ]
    )


def as_program(server: ServerDefinition, method: str, params: JsonObject) -> str:
    """The Python program that makes the call with the official SDK, without secrets."""
    return program(method, params, _lines(server))


def as_message(method: str, params: JsonObject) -> str:
    """The JSON-RPC request as one line, with id and progress token 1."""
    return _message(method, {**params, META: {PROGRESS_TOKEN: 1}}, 1)


def _as_of_2026(method: str, params: JsonObject) -> str:
    meta = {PROGRESS_TOKEN: 1, VERSION_KEY: PER_REQUEST, CLIENT_KEY: _CLIENT, CAPABILITIES_KEY: {}}
    return _message(method, {**params, META: meta}, 1)


def _heads(method: str, params: JsonObject, schema: JsonObject) -> dict[str, str]:
    """The headers that repeat parts of a message of 2026-07-28; `schema` is that of a tool."""
    of_tool = parameter_headers(schema, params["arguments"]) if method == CALL_TOOL else {}
    return {
        "MCP-Protocol-Version": PER_REQUEST,
        "Mcp-Method": method,
        "Mcp-Name": encoded(_subject(method, params)),
        **of_tool,
    }


def _message(method: str, params: JsonObject, number: int) -> str:
    return _json({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def _curl(server: HttpDefinition, headers: dict[str, str], body: str, options: str = "") -> str:
    given = {"Content-Type": "application/json", "Accept": _ACCEPTED, **headers}
    lines = [f"curl --silent --show-error --no-buffer {shlex.quote(_url(server))}"]
    lines += [options] if options else []
    lines += [f"--header {shlex.quote(f'{name}: {value}')}" for name, value in given.items()]
    lines += [f'--header "{name}: ${variable_of(name)}"' for name in server.headers]
    lines.append(f"--data-raw {shlex.quote(body)}")
    return " \\\n  ".join(lines)


def _lines(server: ServerDefinition) -> ServerLines:
    if isinstance(server, HttpDefinition):
        opened = {"transport": server.transport, "auth": server.auth}
        return http_lines(_url(server), [*server.headers], opened)
    args = replaced_arguments(server.args, _removed)
    return stdio_lines(server.command, [*args], server.cwd, [*server.env])


def _subject(method: str, params: JsonObject) -> str:
    return str(params.get("uri" if method == READ_RESOURCE else "name", ""))


def _url(server: HttpDefinition) -> str:
    return replaced_in_urls(server.url, _removed)


def _arguments(args: tuple[str, ...]) -> tuple[str, ...]:
    return replaced_arguments(args, lambda name, _: _reference(variable_of(name)))


def _removed(_name: str, _value: str) -> str:
    return REMOVED


def _reference(name: str) -> str:
    return f"${{env:{name}}}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
