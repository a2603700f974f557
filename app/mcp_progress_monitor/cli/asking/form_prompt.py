"""A form, filled in at the terminal field by field; what does not fit is asked for again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.cli.asking.fields import defaults_of, fields_of
from mcp_progress_monitor.cli.strict_json import strict_json
from mcp_progress_monitor.sessions.questions import Accept, Decline, Dismiss
from mcp_progress_monitor.text import number

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.asking.dialogue import Dialogue
    from mcp_progress_monitor.cli.asking.fields import Field
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.questions import Answer, Question

_CHOICES: Final = ("answer", "decline", "cancel")
_MOST_FIELDS: Final = 100
"""A form with more fields is answered as JSON instead of field by field."""
_LEFT_OUT: Final = "-"
"""What is typed to leave a field without the value that it would have."""


async def fill_in(question: Question, dialogue: Dialogue, earlier: JsonObject) -> Answer:
    """What the user makes of a form; `earlier` values are there already."""
    fields = fields_of(question.schema)
    dialogue.say(question.message)
    if not earlier:
        choice = await dialogue.choose("Answer it?", _CHOICES, default="answer")
        if choice != "answer":
            return Decline() if choice == "decline" else Dismiss()
    if fields is not None and len(fields) > _MOST_FIELDS:
        dialogue.say(
            f"The form has {number(len(fields))} fields: enter the values as JSON. Fields that are"
            " left out get their defaults."
        )
        return Accept({**defaults_of(question.schema), **await _object(dialogue)})
    if fields is None:
        return Accept(await _object(dialogue))
    content: JsonObject = {}
    if fields:
        dialogue.say("Enter takes the value in brackets, - leaves a field out.")
    for field in fields:
        await _fill(field, dialogue, earlier, content)
    return Accept(content)


async def _fill(field: Field, dialogue: Dialogue, earlier: JsonObject, content: JsonObject) -> None:
    """Put a field's value into `content`, if it gets one."""
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
        if text in {"", _LEFT_OUT} and not field.is_required:
            return
        problem = _read(field, text, content)
        if not problem:
            return
        dialogue.say(problem, indent="    ")


def _read(field: Field, text: str, content: JsonObject) -> str:
    """Take in what was typed; returns what is wrong with it, empty if nothing."""
    if not text:
        return f"{field.name} is required."
    try:
        content[field.name] = field.read(text)
    except ValueError as error:
        return str(error)
    return ""


async def _object(dialogue: Dialogue) -> JsonObject:
    """A JSON object, for a form whose schema describes none."""
    while True:
        text = await dialogue.ask("The content, a JSON object [{}]")
        try:
            value: Any = strict_json(text or "{}")
        except (ValueError, RecursionError) as error:
            dialogue.say(f"That is not JSON: {error}", indent="    ")
            continue
        if isinstance(value, dict):
            return value
        dialogue.say("That is no JSON object.", indent="    ")
