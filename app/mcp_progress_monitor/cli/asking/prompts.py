"""Asks the user on the terminal: forms, URLs, sampling and roots."""

from __future__ import annotations

import urllib.parse
import webbrowser
from typing import TYPE_CHECKING, Any, Final

import anyio

from mcp_progress_monitor.cli.asking.answer_file import MODEL, sampled
from mcp_progress_monitor.cli.asking.fields import PromptField, defaults_of, fields_of
from mcp_progress_monitor.cli.calls.arguments import strict_json
from mcp_progress_monitor.cli.output.results import as_json
from mcp_progress_monitor.formatting import number, one_line, size
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Dismiss, Refused, Sampled
from mcp_progress_monitor.wording.questions import ROOTS_REJECTED, kind_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.cli.asking.terminal import Dialogue
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.questions import Answer, Question

_FORM_CHOICES: Final = ("answer", "decline", "cancel")
_MOST_FIELDS: Final = 100  # a form with more fields is answered as JSON instead of field by field
_OMIT: Final = "-"  # what to type to omit a field


async def fill_in(question: Question, dialogue: Dialogue, earlier: JsonObject) -> Answer:
    """The user's answer to a form; `earlier` holds the values of a rejected attempt."""
    fields = fields_of(question.schema)
    dialogue.say(question.message)
    if not earlier:
        choice = await dialogue.choose("Fill in the form?", _FORM_CHOICES, default="answer")
        if choice != "answer":
            return Decline() if choice == "decline" else Dismiss()
    if fields is not None and len(fields) > _MOST_FIELDS:
        dialogue.say(
            f"The form has {number(len(fields))} fields, so enter the values as JSON. Omitted"
            " fields get their defaults."
        )
        return Accept({**defaults_of(question.schema), **await _object(dialogue)})
    if fields is None:
        return Accept(await _object(dialogue))
    content: JsonObject = {}
    if fields:
        dialogue.say("Press Enter to accept the value in brackets. Type - to omit a field.")
    for field in fields:
        await _fill(field, dialogue, earlier, content)
    return Accept(content)


async def _fill(
    field: PromptField, dialogue: Dialogue, earlier: JsonObject, content: JsonObject
) -> None:
    """Ask for a field's value and add it to `content`, unless it is omitted."""
    for note in field.notes():
        dialogue.say(note, indent="    ")
    default = earlier.get(field.name, field.schema.get("default"))
    has_default = field.name in earlier or field.has_default
    offered = f" [{field.written(default)}]" if has_default else ""
    while True:
        text = await dialogue.ask(f"{field.title}, {field.kind()}{offered}")
        if not text and has_default:
            content[field.name] = default
            return
        if text in {"", _OMIT} and not field.is_required:
            return
        error = _read(field, text, content)
        if not error:
            return
        dialogue.say(error, indent="    ")


def _read(field: PromptField, text: str, content: JsonObject) -> str:
    """Parse what was typed into `content`; returns the error, or an empty string."""
    if not text:
        return f"{field.name} is required."
    try:
        content[field.name] = field.read(text)
    except ValueError as error:
        return str(error)
    return ""


async def _object(dialogue: Dialogue) -> JsonObject:
    """A JSON object, for a form without a usable schema."""
    while True:
        text = await dialogue.ask("Content as a JSON object [{}]")
        try:
            value: Any = strict_json(text or "{}")
        except (ValueError, RecursionError) as error:
            dialogue.say(f"Not valid JSON: {error}", indent="    ")
            continue
        if isinstance(value, dict):
            return value
        dialogue.say("Not a JSON object.", indent="    ")


_CONTINUATION: Final = "\\"
_DETAILS: Final = (
    ("maxTokens", "at most {} tokens"),
    ("temperature", "temperature {}"),
    ("stopSequences", "stop at {}"),
    ("includeContext", "context {}"),
    ("modelPreferences", "preferences {}"),
    ("toolChoice", "tool choice {}"),
)


async def answer_as_model(question: Question, dialogue: Dialogue) -> Answer:
    """The message that the user writes as the model; an empty line refuses."""
    for line in _lines(question.params):
        dialogue.say(line)
    dialogue.say(
        f"Type the reply of the model, sent as {MODEL!r}. End a line with {_CONTINUATION} to"
        " continue on the next line. Start with { to enter a complete result as JSON. Leave empty"
        " to refuse."
    )
    while True:
        text = await _text(dialogue)
        if not text:
            return Refused()
        if not text.startswith("{"):
            return sampled(text)
        try:
            value: Any = strict_json(text)
        except (ValueError, RecursionError) as error:
            dialogue.say(f"Not valid JSON: {error}", indent="    ")
            continue
        return Sampled(value)


async def _text(dialogue: Dialogue) -> str:
    lines = [await dialogue.ask("Reply")]
    while lines[-1].endswith(_CONTINUATION):
        lines[-1] = lines[-1].removesuffix(_CONTINUATION)
        lines.append(await dialogue.ask("…"))
    return "\n".join(lines)


def _lines(params: JsonObject) -> Iterator[str]:
    """The request as text: the messages so far, the tools and the preferences."""
    system = params.get("systemPrompt")
    if isinstance(system, str):
        yield f"system: {system}"
    messages = params.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = as_object(message).get("content")
        for block in content if isinstance(content, list) else [content]:
            yield f"{one_line(str(as_object(message).get('role')), 40)}: {_block(block)}"
    tools = params.get("tools")
    if isinstance(tools, list) and tools:
        names = (one_line(str(as_object(tool).get("name")), 60) for tool in tools)
        yield f"[tools: {', '.join(names)}]"
    details = [text.format(as_json(params[name])) for name, text in _DETAILS if name in params]
    if details:
        yield f"[{', '.join(details)}]"


def _block(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image" | "audio" as kind, "data": str(data), **more}:
            of = f"{kind}: {one_line(str(more.get('mimeType', '')), 60)}"
            return f"[{of}, {size(len(data) * 3 // 4)}]"
        case {"type": "tool_use", "name": str(name), "input": value}:
            return f"[tool call {one_line(name, 60)}: {as_json(value)}]"
        case {"type": "tool_result", "content": value}:
            return f"[tool result: {as_json(value)}]"
        case _:
            return as_json(block)


_OPEN: Final = "open"
_URL_CHOICES: Final = ("accept", "decline", "cancel")


async def visit_page(question: Question, dialogue: Dialogue) -> Answer:
    """The user's answer to a URL; the server learns only whether the user consents."""
    url = question.url or ""
    host, may_open = _host(url)
    dialogue.say(question.message)
    if host:
        dialogue.say_in_full(f"Host: {host}. The full URL, which is not opened automatically:")
    else:
        dialogue.say_in_full("The full URL (it has no host):")
    dialogue.say_in_full(url, indent="    ")
    choices = (_OPEN, *_URL_CHOICES) if may_open else _URL_CHOICES
    text = "Open the URL, or accept and visit it yourself?" if may_open else "Accept?"
    choice = await dialogue.choose(text, choices)
    if choice == _OPEN:  # in a thread: browsers may start slowly
        is_open = await anyio.to_thread.run_sync(webbrowser.open, url, abandon_on_cancel=True)
        if not is_open:
            dialogue.say("Cannot start a browser. Open the URL yourself.")
    if choice == "decline":
        return Decline()
    return Dismiss() if choice == "cancel" else Accept()


def _host(url: str) -> tuple[str, bool]:
    """The host of a URL, and whether its scheme is http or https.

    Non-ASCII hosts are shown in Punycode, so that no letter can be mistaken for another.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", False
    try:
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return host, False
    return host, bool(host) and parts.scheme.lower() in {"http", "https"}


async def prompt(question: Question, dialogue: Dialogue, call: str, earlier: JsonObject) -> Answer:
    """The user's answer. `call` names the tool being called, empty if unknown.

    `earlier` is the content of a rejected attempt. `HungUpError` at the end of input.
    """
    whose = f"{question.server}, for {call}," if call else question.server
    dialogue.begin(f"{whose} {kind_text(question.kind)}")
    if question.error:
        dialogue.say(f"This question is invalid: {question.error}")
    match question.kind:
        case "form":
            return await fill_in(question, dialogue, earlier)
        case "url":
            return await visit_page(question, dialogue)
        case "sampling":
            return await answer_as_model(question, dialogue)
        case _:
            return await _list_roots(dialogue)


async def _list_roots(dialogue: Dialogue) -> Answer:
    if await dialogue.choose("Share your roots?", ("yes", "no"), default="no") == "no":
        return Refused(ROOTS_REJECTED)
    roots = []
    while address := await dialogue.ask("Root (a file:// URI; leave empty to finish)"):
        if address.startswith("file://"):
            roots.append({"uri": address})
        else:
            dialogue.say("A root must start with file://", indent="    ")
    return Accept({"roots": roots})
