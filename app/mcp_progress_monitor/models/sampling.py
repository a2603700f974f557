"""What a server wants a model to answer, taken apart into what can be shown.

Shapes: `CreateMessageRequestParams` of every MCP revision, read leniently: what has an unexpected
shape is shown as the JSON it is. 2025-11-25 "Sampling" added tools and several blocks a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import line, tr
from mcp_progress_monitor.models.json_text import pretty
from mcp_progress_monitor.models.result_parts import PartKind, ResultPart, block_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject

_MESSAGES_AT_MOST: Final = 100
_BLOCKS_AT_MOST: Final = 50
_TOOLS_AT_MOST: Final = 100
_DESCRIPTION: Final = 300
_PRIORITIES: Final = ("costPriority", "speedPriority", "intelligencePriority")


class SampledMessage(NamedTuple):
    """One message of the conversation: who says it, in the server's word, and what."""

    role: str
    parts: tuple[ResultPart, ...]


def messages(params: JsonObject) -> list[SampledMessage]:
    """The conversation in order, of bounded length; what is left out is said at its end."""
    given = params.get("messages")
    if not isinstance(given, list):
        words = tr("There is no list of messages.")
        return [SampledMessage("", (ResultPart(PartKind.TEXT, "", words, is_error=True),))]
    found = [_message(each) for each in given[:_MESSAGES_AT_MOST]]
    if len(given) > _MESSAGES_AT_MOST:
        found.append(SampledMessage("", (_more(len(given) - _MESSAGES_AT_MOST),)))
    return found


def _message(message: Any) -> SampledMessage:
    if not isinstance(message, dict):
        return SampledMessage("", (ResultPart(PartKind.JSON, tr("Part"), message, is_error=True),))
    role, content = message.get("role"), message.get("content")
    blocks = content if isinstance(content, list) else [content]
    parts = [_part(block) for block in blocks[:_BLOCKS_AT_MOST]]
    if len(blocks) > _BLOCKS_AT_MOST:
        parts.append(_more(len(blocks) - _BLOCKS_AT_MOST))
    return SampledMessage(line(role) if isinstance(role, str) else "", tuple(parts))


def _part(block: Any) -> ResultPart:
    """A block; calls of tools and their results are told in words."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "tool_use":
        title = tr("Calls {}").format(line(str(block.get("name"))))
        return ResultPart(PartKind.JSON, title, block.get("input"))
    if kind == "tool_result":
        title = tr("Result of {}").format(line(str(block.get("toolUseId"))))
        return ResultPart(PartKind.JSON, title, block.get("content"), block.get("isError") is True)
    if kind == "audio" and isinstance(block.get("data"), str):
        size = text.size(len(block["data"]) * 3 // 4)
        return ResultPart(PartKind.TEXT, tr("Sound"), f"{line(str(block.get('mimeType')))}, {size}")
    return block_part(block)


def _more(count: int) -> ResultPart:
    words = tr("{} more are in the request of the job.").format(text.number(count))
    return ResultPart(PartKind.TEXT, tr("More"), words)


def wishes(params: JsonObject) -> list[tuple[str, str]]:
    """What is asked of the model beside the conversation: a name and words for each, bounded."""
    return [(name, words) for name, words in _wishes(params) if words]


def _wishes(params: JsonObject) -> Iterator[tuple[str, str]]:
    yield tr("System prompt"), _text(params.get("systemPrompt"))
    yield tr("Tokens at most"), _text(params.get("maxTokens"))
    yield tr("Preferred models"), _preferences(params.get("modelPreferences"))
    yield tr("Temperature"), _text(params.get("temperature"))
    yield tr("Stop at"), _text(params.get("stopSequences"))
    yield tr("Context"), _text(params.get("includeContext"))
    yield tr("Tools"), _tools(params.get("tools"))
    yield tr("Choice of tools"), _text(params.get("toolChoice"))
    yield tr("Metadata"), _text(params.get("metadata"))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return text.visible(text.elide(value, 4_000), keep_line_ends=True)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return text.number(value)
    return text.visible(text.elide(pretty(value), 4_000), keep_line_ends=True)


def _preferences(value: Any) -> str:
    if not isinstance(value, dict):
        return _text(value)
    hints = value.get("hints")
    names = [
        line(each["name"])
        for each in (hints if isinstance(hints, list) else [])[:20]
        if isinstance(each, dict) and isinstance(each.get("name"), str)
    ]
    weights = [
        f"{name.removesuffix('Priority')} {_text(value[name])}"
        for name in _PRIORITIES
        if name in value
    ]
    return ", ".join([*names, *weights]) or _text(value)


def _tools(value: Any) -> str:
    """The names of the tools offered, one a line, each with what it is said to do."""
    if not isinstance(value, list):
        return _text(value)
    lines = [_tool(tool) for tool in value[:_TOOLS_AT_MOST]]
    if len(value) > _TOOLS_AT_MOST:
        lines.append(tr("… and {} more").format(text.number(len(value) - _TOOLS_AT_MOST)))
    return "\n".join(lines)


def _tool(tool: Any) -> str:
    if not isinstance(tool, dict):
        return text.one_line(str(tool))
    about = tool.get("description")
    words = text.one_line(about, _DESCRIPTION) if isinstance(about, str) else ""
    name = line(str(tool.get("name")))
    return f"{name}: {words}" if words else name


def hinted_model(params: JsonObject) -> str:
    """The first model that the server would like; empty when it names none."""
    preferences = params.get("modelPreferences")
    hints = preferences.get("hints") if isinstance(preferences, dict) else None
    first = hints[0] if isinstance(hints, list) and hints else None
    name = first.get("name") if isinstance(first, dict) else None
    return name[:200] if isinstance(name, str) else ""


def sampled(words: str, model: str, stop_reason: str) -> JsonObject:
    """The result that answers with `words` as the assistant's."""
    result: JsonObject = {
        "role": "assistant",
        "content": {"type": "text", "text": words},
        "model": model,
    }
    return {**result, "stopReason": stop_reason} if stop_reason else result
