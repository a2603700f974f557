"""Asks the user on the terminal: forms, field by field, URLs, sampling and roots."""

from __future__ import annotations

import urllib.parse
import webbrowser
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from mcp_progress_monitor.cli.calls.arguments import convert, property_types, strict_json
from mcp_progress_monitor.cli.exits import CommandFailed
from mcp_progress_monitor.cli.output.stdout import as_json
from mcp_progress_monitor.formatting import number, one_line, size
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.sessions.arguments import Checked, check_value
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Dismiss, Refused, Sampled
from mcp_progress_monitor.wording.content import schema_limits
from mcp_progress_monitor.wording.questions import ROOTS_REJECTED, kind_text, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.cli.asking.terminal import Dialogue
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.questions import Answer, Question

_SEPARATOR: Final = ","
_EMPTY: Final = '""'  # what to type for an empty string
_DESCRIPTION: Final = 400
_SHARED: Final = ("$schema", "$defs", "definitions")
"""The parts of a form's schema that a field's own may refer to."""
_FORMATS: Final = {"email": "email address", "uri": "URL", "date": "YYYY-MM-DD"}
_YES: Final = frozenset({"y", "yes", "true", "1"})
_NO: Final = frozenset({"n", "no", "false", "0"})


class PromptChoice(NamedTuple):
    """A choice and its title."""

    value: Any
    title: str


class PromptField(NamedTuple):
    """One field of a form: its own schema, and that of the whole form."""

    name: str
    schema: JsonObject
    form: JsonObject
    is_required: bool
    choices: tuple[PromptChoice, ...] = ()

    @property
    def has_default(self) -> bool:
        return "default" in self.schema

    @property
    def takes_many(self) -> bool:
        return self.schema.get("type") == "array"

    @property
    def title(self) -> str:
        title = self.schema.get("title")
        if isinstance(title, str) and title and title != self.name:
            return f"{one_line(title)} ({one_line(self.name)})"
        return one_line(self.name)

    def notes(self) -> list[str]:
        description = self.schema.get("description")
        lines = [one_line(description, _DESCRIPTION)] if isinstance(description, str) else []
        lines += [f"{i}) {choice.title}" for i, choice in enumerate(self.choices, 1)]
        return lines

    def kind(self) -> str:
        """Describe what to type: `integer, at least 1, required`."""
        parts = [self._type(), *self._limits()]
        parts.append("required" if self.is_required else "optional")
        return ", ".join(parts)

    def read(self, text: str) -> Any:
        """Parse and validate typed text; `ValueError` with a message if it is invalid."""
        value = self._typed(text)
        found = self.check(value).violations
        if found:
            raise ValueError("; ".join(found))
        return value

    def check(self, value: Any) -> Checked:
        shared: JsonObject = {name: self.form[name] for name in _SHARED if name in self.form}
        alone = {**shared, "type": "object", "properties": {self.name: self.schema}}
        return check_value(alone, {self.name: value})

    def written(self, value: Any) -> str:
        if self.takes_many and isinstance(value, list):
            return f"{_SEPARATOR} ".join(self._one_written(item) for item in value)
        return self._one_written(value)

    def _one_written(self, value: Any) -> str:
        if self.choices:
            named = [choice.title for choice in self.choices if choice.value == value]
            return named[0] if named else as_json(value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return one_line(value if isinstance(value, str) else as_json(value))

    def _type(self) -> str:
        types = property_types(self.name, self.form)
        if self.choices:
            many = f"numbers or names from above, separated by {_SEPARATOR!r}"
            return many if self.takes_many else "a number or name from above"
        if types == ["boolean"]:
            return "yes or no"
        if types == ["string"]:
            return "text"
        return " or ".join(types) or "any value"

    def _limits(self) -> Iterator[str]:
        yield from schema_limits(self.schema)
        pattern, format_ = self.schema.get("pattern"), self.schema.get("format")
        if isinstance(pattern, str):
            yield f"matching {one_line(pattern)}"
        if isinstance(format_, str):
            yield _FORMATS.get(format_, one_line(format_))

    def _typed(self, text: str) -> Any:
        if self.choices:
            parts = [part.strip() for part in text.split(_SEPARATOR)] if self.takes_many else [text]
            chosen = [self._chosen(part.strip()) for part in parts if part.strip()]
            return chosen if self.takes_many else chosen[0]
        if property_types(self.name, self.form) == ["boolean"]:
            return _truth(text.strip().lower())
        if text == _EMPTY and "string" in property_types(self.name, self.form):
            return ""
        try:
            return convert([(self.name, text)], self.form)[self.name]
        except CommandFailed as failure:
            raise ValueError(failure.details.what) from failure

    def _chosen(self, text: str) -> Any:
        """A choice by its value, its name or its number, in this order."""
        for choice in self.choices:
            if text in {choice.title, choice.value if isinstance(choice.value, str) else ""}:
                return choice.value
        if text.isascii() and text.isdecimal() and 1 <= int(text) <= len(self.choices):
            return self.choices[int(text) - 1].value
        raise ValueError(f"{text!r} is not one of the choices 1 to {len(self.choices)}")


def fields_of(schema: JsonObject | None) -> list[PromptField] | None:
    """The fields of a form in the schema's order; None if the schema has no properties."""
    properties = as_object(schema).get("properties")
    if schema is None or not isinstance(properties, dict):
        return None
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return [
        PromptField(name, as_object(part), schema, name in names, tuple(_choices(as_object(part))))
        for name, part in properties.items()
    ]


def defaults_of(schema: JsonObject | None) -> JsonObject:
    properties = as_object(as_object(schema).get("properties"))
    fields = ((name, as_object(field)) for name, field in properties.items())
    return {name: field["default"] for name, field in fields if "default" in field}


def _choices(schema: JsonObject) -> Iterator[PromptChoice]:
    """The choices of a field, in any of the forms that the revisions define."""
    if schema.get("type") == "array":
        schema = as_object(schema.get("items"))
    for part in _listed(schema, "oneOf") or _listed(schema, "anyOf"):
        if isinstance(part, dict) and "const" in part:
            yield PromptChoice(part["const"], _title(part.get("title"), part["const"]))
    names = _listed(schema, "enumNames")
    for index, value in enumerate(_listed(schema, "enum")):
        yield PromptChoice(value, _title(names[index] if index < len(names) else None, value))


def _listed(schema: JsonObject, name: str) -> list[Any]:
    value = schema.get(name)
    return value if isinstance(value, list) else []


def _title(name: object, value: Any) -> str:
    text = name if isinstance(name, str) and name else value
    return one_line(text if isinstance(text, str) else as_json(text))


def _truth(text: str) -> bool:
    if text in _YES:
        return True
    if text in _NO:
        return False
    raise ValueError(f"{text!r} is not yes or no")


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


MODEL: Final = "human"  # the default model name: a person, or a file written by one, answers
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
            return Sampled(sampled(text, MODEL, "endTurn"))
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
