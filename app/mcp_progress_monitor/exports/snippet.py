"""Texts to copy: a call as a program, a command line, curl or a message."""

from __future__ import annotations

import json
import pprint
import re
import shlex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.exports.frames import event_fields, events
from mcp_progress_monitor.exports.redaction import REMOVED, Redaction
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.eras import LATEST_HANDSHAKE, PER_REQUEST
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value
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
    RESUME_TOKEN,
    VERSION_KEY,
)
from mcp_progress_monitor.protocol.secrets import replaced_arguments, replaced_in_urls
from mcp_progress_monitor.sessions.transport.http.endpoint import encoded, parameter_headers
from mcp_progress_monitor.snapshots.definitions import HttpDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.exports.options import ExportSource
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_NO_NAME: Final = re.compile(r"[^A-Z0-9]+")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
"""A valid HTTP header name (RFC 9110, 5.1): a recording may contain anything."""
_LONGEST_URL: Final = 8000
_MOST_HEADERS: Final = 100


class ServerLines(NamedTuple):
    """The code with which a program connects to its server; `note` is for its docstring."""

    code: str
    imports: str = ""
    client: str = "from mcp import Client, StdioServerParameters"
    note: str = ""


def variable_of(header: str) -> str:
    """The name of the environment variable for a header's value."""
    return f"HEADER_{_NO_NAME.sub('_', header.upper()).strip('_')}"


def http_lines(url: str, headers: list[str], opened: JsonObject) -> ServerLines:
    """The code for a server at `url`, without secrets; `headers` are names.

    `opened` is the event of the connection's start.
    """
    names = _names(headers, signs_in=opened.get("auth") == "oauth")
    note = f"To use the same server from a terminal: {command_line(url, names)}\n"
    note = note.replace("\\", "\\\\").replace('"""', "'''")
    is_sse = opened.get("transport") == "sse"
    if not names and not is_sse:
        return ServerLines(f"server = {url!r}\n", "", "from mcp import Client", note)
    code = f"url = {url!r}\n{_headers_code(names)}"
    imports = "import os\n" if names else ""
    if is_sse:
        client = "from mcp import Client\nfrom mcp.client.sse import sse_client"
        given = ", headers=headers" if names else ""
        return ServerLines(f"{code}server = sse_client(url{given})\n", imports, client, note)
    client = (
        "import httpx2\n"
        "from mcp import Client\n"
        "from mcp.client.streamable_http import streamable_http_client"
    )
    code += (
        "http_client = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=300))\n"
        "server = streamable_http_client(url, http_client=http_client)\n"
    )
    return ServerLines(code, imports, client, note)


def command_line(url: str, headers: list[str]) -> str:
    """The command line of this program for the same server, with references for header values."""
    arguments = ["mcp-progress-monitor", "tools", "--url", one_line(url, _LONGEST_URL)]
    for name in headers:
        arguments += ["--header", f"{name}: ${{env:{variable_of(name)}}}"]
    return shlex.join(arguments)


def _headers_code(names: list[str]) -> str:
    if not names:
        return ""
    items = "".join(f"    {name!r}: os.environ[{variable_of(name)!r}],\n" for name in names)
    text = (
        "# Headers of the connection. Their values are not copied, so they are read\n"
        "# from environment variables.\n"
    )
    return f"{text}headers = {{\n{items}}}\n"


def _names(headers: list[str], *, signs_in: bool) -> list[str]:
    names = [name for name in headers if _HEADER_NAME.fullmatch(name)][:_MOST_HEADERS]
    is_given = any(name.lower() == "authorization" for name in names)
    return names if is_given or not signs_in else [*names, "Authorization"]


_LARGEST: Final = 4 * 1024 * 1024  # bytes of the largest request that is written as a program
_WIDTH: Final = 92


class _Form(NamedTuple):
    """Shape of a request in the SDK: the parameter with the subject, and the call."""

    subject: str
    call: str


_FORMS: Final[Mapping[str, _Form]] = {
    CALL_TOOL: _Form(
        "name", "await client.call_tool({subject}, arguments, progress_callback=on_progress)"
    ),
    READ_RESOURCE: _Form("uri", "await client.read_resource({subject})"),
    GET_PROMPT: _Form("name", "await client.get_prompt({subject}, arguments)"),
}
_HEAD: Final = '''\
"""{title}

Needs the official SDK: pip install "mcp>=2"
{notes}"""

import asyncio
{imports}
{client}

{server}
{arguments}{progress}
async def main() -> None:
    async with Client(server) as client:
        result = {call}
        print(result.model_dump_json(indent=2, exclude_none=True))


asyncio.run(main())
'''
_PROGRESS: Final = """

async def on_progress(progress: float, total: float | None, message: str | None) -> None:
    print(f"{progress:g}" + (f" of {total:g}" if total else ""), message or "", sep="  ")

"""
_PLACEHOLDER: Final = """\
# The recording does not contain the server's command: put it here.
server = StdioServerParameters(command="python", args=["server.py"])
"""


def snippet(source: ExportSource, number: int, redaction: Redaction) -> str:
    """The program for the request that frame `number` is or belongs to.

    The server's command is read from its connection's event; values of environment variables are
    never recorded, so the program reads them from its own environment. `UserError` for a frame that
    belongs to no request, and for requests that a program cannot repeat.
    """
    frame = _request(source, number)
    if len(frame.raw) > _LARGEST:
        raise _refused(f"The request is too large: {formatting.size(len(frame.raw))}", frame)
    envelope = decode(frame.raw)
    params = _params(frame)
    if envelope.method not in _FORMS or frame.channel is not Channel.SENT:
        method = formatting.one_line(str(envelope.method), 60)
        what = f"Cannot copy a {method} message as Python"
        raise _refused(what, frame)
    return _program(source, frame, str(envelope.method), params, redaction)


def _request(source: ExportSource, number: int) -> Frame:
    """The frame of the request that frame `number` is, answers, or reports on."""
    timeline = source.timeline
    place = timeline.place_of(number)
    request = None if place is None else timeline.request_of(place)
    kind = None if request is None else timeline.kind(request)
    frame = None if request is None else timeline.frame(request)
    if frame is None or kind is not FrameKind.REQUEST:
        raise UserError(
            ErrorDetails(
                "This message does not belong to a recorded request",
                f"message {number}",
                "Choose a request, its reply, or one of its progress notifications.",
            )
        )
    return frame


def _params(frame: Frame) -> JsonObject:
    """The complete parameters, without elided values."""
    try:
        message: Any = read_value(frame.raw).value
    except (NotJsonError, TooDeepError) as error:
        raise _refused("The request is not valid JSON", frame) from error
    params = message.get("params") if isinstance(message, dict) else None
    return params if isinstance(params, dict) else {}


def _refused(what: str, frame: Frame) -> UserError:
    hint = "Only tools/call, resources/read and prompts/get requests can be copied as Python."
    return UserError(ErrorDetails(what, f"message {frame.number}", hint))


def _program(
    source: ExportSource, frame: Frame, method: str, params: JsonObject, redaction: Redaction
) -> str:
    clean = redaction.value(params)
    when = f", as sent on {formatting.date_and_clock(frame.when)}"
    server = _server(source, frame.connection, redaction)
    return program(method, clean, server, when=when, notes=_notes(params, clean != params))


def program(
    method: str, params: JsonObject, server: ServerLines, *, when: str = "", notes: str = ""
) -> str:
    """The program that sends a call, read or get request with `params` to `server`."""
    form = _FORMS[method]
    subject = params.get(form.subject)
    shown = formatting.one_line(str(subject), 60)
    return _HEAD.format(
        title=_in_docstring(f"{'Repeats' if when else 'Sends'} {method} {shown}{when}."),
        notes=notes + server.note,
        imports=server.imports,
        client=server.client,
        server=server.code,
        arguments="" if method == READ_RESOURCE else _assigned(params.get("arguments")),
        progress=_PROGRESS if method == CALL_TOOL else "\n",
        call=form.call.format(subject=repr(subject if isinstance(subject, str) else str(subject))),
    )


def _notes(params: JsonObject, is_redacted: bool) -> str:
    meta = params.get(META)
    notes = []
    if is_redacted:
        notes.append(f"Secrets were redacted: replace {REMOVED!r} with yours.")
    if isinstance(meta, dict) and RESUME_TOKEN in meta:
        notes.append("The recorded call resumed a job; this program starts from the beginning.")
    return "".join(f"{note}\n" for note in notes)


def _assigned(arguments: Any) -> str:
    value = arguments if isinstance(arguments, dict) else {}
    return f"arguments = {_literal(value)}\n"


def _server(source: ExportSource, connection: str, redaction: Redaction) -> ServerLines:
    """The code for the server, and the imports it needs."""
    raw = _opened(source, connection)
    fields = redaction.value(raw)
    if isinstance(url := fields.get("url"), str):
        return http_lines(url, _texts(raw.get("headers")), raw)
    command, args, env = fields.get("command"), fields.get("args"), fields.get("env")
    if not isinstance(command, str):
        return ServerLines(_PLACEHOLDER)
    folder = fields.get("cwd")
    folder = folder if isinstance(folder, str) else None
    return stdio_lines(command, _texts(args), folder, _texts(env))


def stdio_lines(command: str, args: list[str], cwd: str | None, names: list[str]) -> ServerLines:
    """The code for a stdio server, with the `names` of its environment variables."""
    lines = [f"    command={command!r},"]
    lines.append(f"    args={_literal(args, indent=9)},")
    if cwd is not None:
        lines.append(f"    cwd={cwd!r},")
    before = ""
    if names:
        before = (
            "# Environment variables of the server. Their values are not copied, so\n"
            "# they are read from this program's environment.\n"
            f"names = {_literal(names)}\n"
            "env = {name: os.environ[name] for name in names if name in os.environ}\n"
        )
        lines.append("    env=env,")
    body = "\n".join(lines)
    imports = "import os\n" if names else ""
    return ServerLines(f"{before}server = StdioServerParameters(\n{body}\n)\n", imports)


def _opened(source: ExportSource, connection: str) -> JsonObject:
    for frame in events(source.timeline):
        if frame.connection == connection:
            fields = event_fields(frame)
            if fields.get("event") == "opened":
                return fields
    return {}


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _literal(value: Any, indent: int = 0) -> str:
    """A value as Python source; invisible characters are escaped."""
    written = pprint.pformat(value, width=_WIDTH - indent, sort_dicts=False)
    return written.replace("\n", "\n" + " " * indent)


def _in_docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "'")


_CURL_CLIENT: Final = {"name": "curl", "version": "1"}
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
    `schema` is the input schema of a tool, which may require arguments to be repeated as headers.
    """
    if not isinstance(server, HttpDefinition) or server.transport == "sse":
        return None
    if revision == PER_REQUEST:
        headers = _request_headers(method, params, schema)
        return f"{_curl(server, headers, _per_request_message(method, params))}\n"
    version = {"MCP-Protocol-Version": revision or LATEST_HANDSHAKE}
    opening = {
        "protocolVersion": revision or LATEST_HANDSHAKE,
        "capabilities": {},
        "clientInfo": _CURL_CLIENT,
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
    """A Python program that makes the call with the official SDK, without secrets."""
    return program(method, params, _server_lines(server))


def as_message(method: str, params: JsonObject) -> str:
    """The JSON-RPC request as one line, with id and progress token 1."""
    return _message(method, {**params, META: {PROGRESS_TOKEN: 1}}, 1)


def _per_request_message(method: str, params: JsonObject) -> str:
    meta = {
        PROGRESS_TOKEN: 1,
        VERSION_KEY: PER_REQUEST,
        CLIENT_KEY: _CURL_CLIENT,
        CAPABILITIES_KEY: {},
    }
    return _message(method, {**params, META: meta}, 1)


def _request_headers(method: str, params: JsonObject, schema: JsonObject) -> dict[str, str]:
    """The headers of a 2026-07-28 request that repeat parts of it; `schema` is that of a tool."""
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
    # Without globs, or curl would expand brackets; `--url` takes what begins with a dash, too.
    lines = [f"curl --silent --show-error --no-buffer --globoff --url {shlex.quote(_url(server))}"]
    lines += [options] if options else []
    lines += [f"--header {shlex.quote(f'{name}: {value}')}" for name, value in given.items()]
    names = filter(_HEADER_NAME.fullmatch, server.headers)  # `@file` would be read as a file
    lines += [f'--header {shlex.quote(f"{name}: ")}"${variable_of(name)}"' for name in names]
    lines.append(f"--data-raw {shlex.quote(body)}")
    return " \\\n  ".join(lines)


def _server_lines(server: ServerDefinition) -> ServerLines:
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
