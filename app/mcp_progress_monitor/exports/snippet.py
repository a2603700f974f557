"""A recorded call as a Python program that repeats it, with the official SDK."""

from __future__ import annotations

import pprint
import re
import shlex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.exports.frames import event_fields, events
from mcp_progress_monitor.exports.redaction import REMOVED, Redaction
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    GET_PROMPT,
    META,
    READ_RESOURCE,
    RESUME_TOKEN,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.exports.options import ExportSource
    from mcp_progress_monitor.protocol.facts import JsonObject

_NO_NAME: Final = re.compile(r"[^A-Z0-9]+")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
"""A valid HTTP header name (RFC 9110, 5.1): a recording may contain anything."""
_LONGEST_URL: Final = 8000
_MOST_HEADERS: Final = 100


class ServerLines(NamedTuple):
    """How the program reaches its server: the expression for it, and the code before.

    `note` is for the program's own description.
    """

    code: str
    imports: str = ""
    client: str = "from mcp import Client, StdioServerParameters"
    note: str = ""


def variable_of(header: str) -> str:
    """The variable of the environment that a header's value is taken from."""
    return f"HEADER_{_NO_NAME.sub('_', header.upper()).strip('_')}"


def http_lines(url: str, headers: list[str], opened: JsonObject) -> ServerLines:
    """The code for a server at `url`, which has no secrets; of headers only the names.

    `opened` is the event of the connection's start.
    """
    names = _names(headers, signs_in=opened.get("auth") == "oauth")
    note = f"To use the same server from a terminal: {command_line(url, names)}\n"
    note = note.replace("\\", "\\\\").replace('"""', "'''")
    is_older = opened.get("transport") == "sse"
    if not names and not is_older:
        return ServerLines(f"server = {url!r}\n", "", "from mcp import Client", note)
    code = f"url = {url!r}\n{_given(names)}"
    imports = "import os\n" if names else ""
    if is_older:
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
    """The arguments that reach the same server with this program; header values are references."""
    arguments = ["mcp-progress-monitor", "tools", "--url", one_line(url, _LONGEST_URL)]
    for name in headers:
        arguments += ["--header", f"{name}: ${{env:{variable_of(name)}}}"]
    return shlex.join(arguments)


def _given(names: list[str]) -> str:
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
    """How the SDK sends a kind of request: the parameter with the subject, and the call."""

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
    """The complete parameters: also what is left undecoded for its size elsewhere."""
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
    return _of_command(fields)


def _of_command(fields: JsonObject) -> ServerLines:
    command, args, env = fields.get("command"), fields.get("args"), fields.get("env")
    if not isinstance(command, str):
        return ServerLines(_PLACEHOLDER)
    folder = fields.get("cwd")
    folder = folder if isinstance(folder, str) else None
    return stdio_lines(command, _texts(args), folder, _texts(env))


def stdio_lines(command: str, args: list[str], cwd: str | None, names: list[str]) -> ServerLines:
    """The code for a server that is a process; of its environment only the `names`."""
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
