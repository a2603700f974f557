"""A recorded call as a Python program that makes it again, with the official SDK."""

from __future__ import annotations

import pprint
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.evidence import event_fields, events
from mcp_progress_monitor.exports.redaction import REMOVED
from mcp_progress_monitor.exports.snippet_http import ServerLines, http_lines
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.frame_kind import FrameKind
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.exports.source import Source
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frame import Frame

_LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a request that is still written as a program."""
_WIDTH: Final = 92


class _Form(NamedTuple):
    """How the SDK makes a kind of request: the parameter that names the subject, and the call."""

    subject: str
    call: str


_FORMS: Final[Mapping[str, _Form]] = {
    "tools/call": _Form(
        "name",
        "await client.call_tool({subject}, arguments, progress_callback=on_progress)",
    ),
    "resources/read": _Form("uri", "await client.read_resource({subject})"),
    "prompts/get": _Form("name", "await client.get_prompt({subject}, arguments)"),
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
# The recording does not say how the server was started: put its command here.
server = StdioServerParameters(command="python", args=["server.py"])
"""


def snippet(source: Source, number: int, redaction: Redaction) -> str:
    """The program for the request that frame `number` is or belongs to.

    The server's command is taken from its connection's event; values of environment variables are
    never recorded, so the program takes them from its own environment. `ProblemError` for a frame
    that belongs to no request, and for requests that a program cannot repeat.
    """
    frame = _request(source, number)
    if len(frame.raw) > _LARGEST:
        raise _refused(f"The request is too large: {text.size(len(frame.raw))}", frame)
    envelope = decode(frame.raw)
    params = _params(frame)
    form = _FORMS.get(envelope.method or "")
    if form is None or frame.channel is not Channel.SENT:
        what = f"A message of the method {text.one_line(str(envelope.method), 60)} has no program"
        raise _refused(what, frame)
    return _program(source, frame, str(envelope.method), params, form, redaction)


def _request(source: Source, number: int) -> Frame:
    """The frame of the request that frame `number` is, or answers, or reports on."""
    timeline = source.timeline
    place = timeline.place_of(number)
    request = None if place is None else timeline.request_of(place)
    kind = None if request is None else timeline.kind(request)
    frame = None if request is None else timeline.frame(request)
    if frame is None or kind is not FrameKind.REQUEST:
        raise ProblemError(
            Problem(
                "This message belongs to no request that is still on record",
                f"message no. {number}",
                "Choose a request, its reply, or a tick of it.",
            )
        )
    return frame


def _params(frame: Frame) -> JsonObject:
    """The whole parameters: what is left undecoded for its size elsewhere is needed here."""
    try:
        message: Any = read_value(frame.raw).value
    except (NotJsonError, TooDeepError) as error:
        raise _refused("The request cannot be read as JSON", frame) from error
    params = message.get("params") if isinstance(message, dict) else None
    return params if isinstance(params, dict) else {}


def _refused(what: str, frame: Frame) -> ProblemError:
    hint = "Calls of tools, reads of resources and gets of prompts can be copied as Python."
    return ProblemError(Problem(what, f"message no. {frame.number}", hint))


def _program(
    source: Source,
    frame: Frame,
    method: str,
    params: JsonObject,
    form: _Form,
    redaction: Redaction,
) -> str:
    clean = redaction.value(params)
    subject = clean.get(form.subject)
    arguments = clean.get("arguments")
    is_tool = method == "tools/call"
    server = _server(source, frame.connection, redaction)
    return _HEAD.format(
        title=_in_docstring(
            f"Repeats {method} of {text.one_line(str(subject), 60)}, as sent on "
            f"{text.date_and_clock(frame.when)}."
        ),
        notes=_notes(params, clean != params) + server.note,
        imports=server.imports,
        client=server.client,
        server=server.code,
        arguments="" if method == "resources/read" else _assigned(arguments),
        progress=_PROGRESS if is_tool else "\n",
        call=form.call.format(subject=repr(subject if isinstance(subject, str) else str(subject))),
    )


def _notes(params: JsonObject, is_redacted: bool) -> str:
    """What the program does otherwise than the recorded call."""
    meta = params.get("_meta")
    notes = []
    if is_redacted:
        notes.append(f"Where it says {REMOVED!r}, a secret was taken out: put yours there.")
    if isinstance(meta, dict) and "resumeToken" in meta:
        notes.append("The call went on with a resume token; this begins from the start.")
    return "".join(f"{note}\n" for note in notes)


def _assigned(arguments: Any) -> str:
    value = arguments if isinstance(arguments, dict) else {}
    return f"arguments = {_literal(value)}\n"


def _server(source: Source, connection: str, redaction: Redaction) -> ServerLines:
    """The lines that name the server, and the imports they need."""
    raw = _opened(source, connection)
    fields = redaction.value(raw)
    if isinstance(url := fields.get("url"), str):
        return http_lines(url, _texts(raw.get("headers")), raw)
    return _of_command(fields)


def _of_command(fields: JsonObject) -> ServerLines:
    command, args, env = fields.get("command"), fields.get("args"), fields.get("env")
    if not isinstance(command, str):
        return ServerLines(_PLACEHOLDER)
    lines = [f"    command={command!r},"]
    lines.append(f"    args={_literal(_texts(args), indent=9)},")
    if isinstance(cwd := fields.get("cwd"), str):
        lines.append(f"    cwd={cwd!r},")
    names = _texts(env)
    before = ""
    if names:
        before = (
            "# The server was given these variables. Their values are never recorded: they are\n"
            "# taken from the environment that this program runs in.\n"
            f"names = {_literal(names)}\n"
            "env = {name: os.environ[name] for name in names if name in os.environ}\n"
        )
        lines.append("    env=env,")
    body = "\n".join(lines)
    imports = "import os\n" if names else ""
    return ServerLines(f"{before}server = StdioServerParameters(\n{body}\n)\n", imports)


def _opened(source: Source, connection: str) -> JsonObject:
    """The event that tells how a connection's server was started."""
    for frame in events(source.timeline):
        if frame.connection == connection:
            fields = event_fields(frame)
            if fields.get("event") == "opened":
                return fields
    return {}


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _literal(value: Any, indent: int = 0) -> str:
    """A value as Python source; what cannot be seen in it is escaped."""
    written = pprint.pformat(value, width=_WIDTH - indent, sort_dicts=False)
    return written.replace("\n", "\n" + " " * indent)


def _in_docstring(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', "'")
