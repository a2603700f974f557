"""A request for a model's message, answered by a person at the terminal, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.cli.asking.replies import MODEL, sampled
from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.cli.strict_json import strict_json
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.sessions.questions import Refused, Sampled
from mcp_progress_monitor.text import one_line, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.cli.asking.dialogue import Dialogue
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.questions import Answer, Question

_GOES_ON: Final = "\\"
_DETAILS: Final = (
    ("maxTokens", "at most {} tokens"),
    ("temperature", "temperature {}"),
    ("stopSequences", "stop at {}"),
    ("includeContext", "context {}"),
    ("modelPreferences", "preferences {}"),
    ("toolChoice", "tool choice {}"),
)


async def answer_as_model(question: Question, dialogue: Dialogue) -> Answer:
    """The message that the user writes in a model's place; nothing written refuses."""
    for line in _lines(question.params):
        dialogue.say(line)
    dialogue.say(
        f"Write the answer that the model {MODEL!r} gives. A line that ends with {_GOES_ON} goes on"
        " in the next one, { begins a whole result in JSON, nothing at all refuses."
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
            dialogue.say(f"That is not JSON: {error}", indent="    ")
            continue
        return Sampled(value)


async def _text(dialogue: Dialogue) -> str:
    lines = [await dialogue.ask("Answer")]
    while lines[-1].endswith(_GOES_ON):
        lines[-1] = lines[-1].removesuffix(_GOES_ON)
        lines.append(await dialogue.ask("…"))
    return "\n".join(lines)


def _lines(params: JsonObject) -> Iterator[str]:
    """The request in words: who said what so far, what may be used, what is wished for."""
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
    details = [words.format(as_json(params[name])) for name, words in _DETAILS if name in params]
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
            return f"[wants to use {one_line(name, 60)} with {as_json(value)}]"
        case {"type": "tool_result", "content": value}:
            return f"[got from a tool {as_json(value)}]"
        case _:
            return as_json(block)
