"""A server's question as text: its content, its age, and its answer.

For sampling: `CreateMessageRequestParams` of every MCP revision, read leniently: an unexpected
shape is shown as JSON. 2025-11-25 "Sampling" added tools and several blocks a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import CREATE_MESSAGE, ELICIT, LIST_ROOTS
from mcp_progress_monitor.wording.content import PartKind, ResultPart, block_part
from mcp_progress_monitor.wording.jobs import line
from mcp_progress_monitor.wording.json_values import pretty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered
    from mcp_progress_monitor.snapshots.questions import Question
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

MESSAGE_LIMIT: Final = 20_000
"""Characters of a question that are shown; the job's request has all of it."""
_KINDS: Final = {
    "sampling": "asks for a model response",
    "form": "asks you to fill in a form",
    "url": "asks you to open a web page",
    "roots": "asks which folders it may use",
}
_WAITING: Final = {
    "sampling": "Awaiting approval",
    "form": "Awaiting input",
    "url": "Awaiting input",
    "roots": "Awaiting approval",
}
_METHODS: Final = {CREATE_MESSAGE: "sampling", ELICIT: "form", LIST_ROOTS: "roots"}
ROOTS_REJECTED: Final = "User rejected listing roots"
"""The error for a refused roots/list; the example of the specification."""
ANSWERED: Final = {
    "accept": "accepted",
    "decline": "declined",
    "cancel": "cancelled",
    "refuse": "refused",
    "result": "answered",
}
"""The effect of an answer, by its action."""
_REPLIED: Final = frozenset({"accept", "decline", "cancel"})


def kind_text(kind: str) -> str:
    return _KINDS[kind]


def head(question: Question) -> str:
    """The question in one line: its message, the last text, or what is requested."""
    return asked(question.method, question.params)


def about(question: Question, job: str, now: float, phase: str) -> str:
    """The server, the job, the age and the phase of a question, in one line."""
    asked = formatting.clock(question.asked_when)[:8]
    since = f"since {asked} ({formatting.ago(now - question.asked_at)})"
    parts = (line(question.server), job, since, phase)
    return " · ".join(part for part in parts if part)


def phase_of(question: Question, job: JobSnapshot | None) -> str:
    """The newest phase sent to the server, else what the question waits for."""
    if job is not None and job.sender is Side.SERVER and job.message:
        return line(job.message)
    return _WAITING[question.kind]


def message_of(question: Question) -> str:
    """The message, of several lines, bounded, with invisible characters made visible."""
    shown = formatting.elide(question.message, MESSAGE_LIMIT)
    return formatting.visible(shown, keep_line_ends=True)


def asked(method: str, params: JsonObject) -> str:
    """The content of a server request in one line, only from its parameters."""
    message = params.get("message")
    if isinstance(message, str) and message:
        return line(message)
    kind = _METHODS.get(method)
    if kind == "sampling":
        return _last_words(params) or kind_text(kind)
    if kind == "form" and params.get("mode") == "url":
        kind = "url"
    return kind_text(kind) if kind else line(method)


def _last_words(params: JsonObject) -> str:
    messages = params.get("messages")
    newest = messages[-1] if isinstance(messages, list) and messages else None
    content = newest.get("content") if isinstance(newest, dict) else None
    return next(map(line, _texts(content)), "")


def answer_words(answer: RequestAnswered | None) -> str:
    """The answer to a question in one line; empty without one."""
    if answer is None:
        return ""
    if answer.error is not None:
        message = answer.error.get("message")
        return "refused: {}".format(line(message if isinstance(message, str) else "?"))
    return result_text(answer.result)


def result_text(result: Any) -> str:
    """The answer in a result, in one line."""
    if not isinstance(result, dict):
        return formatting.summary({"": result}).removeprefix("=")
    action = result.get("action")
    if isinstance(action, str) and action in _REPLIED:
        content = result.get("content")
        said = formatting.summary(content, 300) if isinstance(content, dict) else ""
        words = ANSWERED[action]
        return f"{words}: {said}" if said else words
    if isinstance(result.get("roots"), list):
        uris = [str(root.get("uri")) for root in result["roots"] if isinstance(root, dict)]
        return line(", ".join(uris[:20])) or "no folders"
    return _sampled_words(result)


def _sampled_words(result: JsonObject) -> str:
    words = " ".join(_texts(result.get("content")))
    model = result.get("model")
    said = line(words) or formatting.summary(result, 300)
    return f"{line(model)}: {said}" if isinstance(model, str) and model else said


def _texts(content: object) -> list[str]:
    blocks = content if isinstance(content, list) else [content]
    texts = [each.get("text") for each in blocks if isinstance(each, dict)]
    return [each for each in texts if isinstance(each, str)]


_MESSAGES_AT_MOST: Final = 100
_BLOCKS_AT_MOST: Final = 50
_TOOLS_AT_MOST: Final = 100
_DESCRIPTION: Final = 300
_PRIORITIES: Final = ("costPriority", "speedPriority", "intelligencePriority")


class SampledMessage(NamedTuple):
    """One message of the conversation: its role and its content."""

    role: str
    parts: tuple[ResultPart, ...]


def messages(params: JsonObject) -> list[SampledMessage]:
    """The conversation in order, of bounded length; omissions are mentioned at the end."""
    given = params.get("messages")
    if not isinstance(given, list):
        words = "The request has no list of messages."
        return [SampledMessage("", (ResultPart(PartKind.TEXT, "", words, is_error=True),))]
    found = [_message(each) for each in given[:_MESSAGES_AT_MOST]]
    if len(given) > _MESSAGES_AT_MOST:
        found.append(SampledMessage("", (_more(len(given) - _MESSAGES_AT_MOST),)))
    return found


def _message(message: Any) -> SampledMessage:
    if not isinstance(message, dict):
        return SampledMessage("", (ResultPart(PartKind.JSON, "Part", message, is_error=True),))
    role, content = message.get("role"), message.get("content")
    blocks = content if isinstance(content, list) else [content]
    parts = [_part(block) for block in blocks[:_BLOCKS_AT_MOST]]
    if len(blocks) > _BLOCKS_AT_MOST:
        parts.append(_more(len(blocks) - _BLOCKS_AT_MOST))
    return SampledMessage(line(role) if isinstance(role, str) else "", tuple(parts))


def _part(block: Any) -> ResultPart:
    """A content block; tool calls and their results as text."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "tool_use":
        title = "Calls {}".format(line(str(block.get("name"))))
        return ResultPart(PartKind.JSON, title, block.get("input"))
    if kind == "tool_result":
        title = "Result of {}".format(line(str(block.get("toolUseId"))))
        return ResultPart(PartKind.JSON, title, block.get("content"), block.get("isError") is True)
    if kind == "audio" and isinstance(block.get("data"), str):
        size = formatting.size(len(block["data"]) * 3 // 4)
        return ResultPart(PartKind.TEXT, "Sound", f"{line(str(block.get('mimeType')))}, {size}")
    return block_part(block)


def _more(count: int) -> ResultPart:
    words = f"The request of the job has {formatting.number(count)} more."
    return ResultPart(PartKind.TEXT, "More", words)


def wishes(params: JsonObject) -> list[tuple[str, str]]:
    """The requests to the model besides the conversation: names and texts, bounded."""
    return [(name, words) for name, words in _wishes(params) if words]


def _wishes(params: JsonObject) -> Iterator[tuple[str, str]]:
    yield "System prompt", _text(params.get("systemPrompt"))
    yield "Maximum tokens", _text(params.get("maxTokens"))
    yield "Preferred models", _preferences(params.get("modelPreferences"))
    yield "Temperature", _text(params.get("temperature"))
    yield "Stop sequences", _text(params.get("stopSequences"))
    yield "Context", _text(params.get("includeContext"))
    yield "Tools", _tools(params.get("tools"))
    yield "Tool choice", _text(params.get("toolChoice"))
    yield "Metadata", _text(params.get("metadata"))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return formatting.visible(formatting.elide(value, 4_000), keep_line_ends=True)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return formatting.number(value)
    return formatting.visible(formatting.elide(pretty(value), 4_000), keep_line_ends=True)


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
    """The names of the offered tools, one a line, with their descriptions."""
    if not isinstance(value, list):
        return _text(value)
    lines = [_tool(tool) for tool in value[:_TOOLS_AT_MOST]]
    if len(value) > _TOOLS_AT_MOST:
        lines.append(f"… and {formatting.number(len(value) - _TOOLS_AT_MOST)} more")
    return "\n".join(lines)


def _tool(tool: Any) -> str:
    if not isinstance(tool, dict):
        return formatting.one_line(str(tool))
    about = tool.get("description")
    words = formatting.one_line(about, _DESCRIPTION) if isinstance(about, str) else ""
    name = line(str(tool.get("name")))
    return f"{name}: {words}" if words else name


def hinted_model(params: JsonObject) -> str:
    """The first model that the server prefers; empty if it names none."""
    preferences = params.get("modelPreferences")
    hints = preferences.get("hints") if isinstance(preferences, dict) else None
    first = hints[0] if isinstance(hints, list) and hints else None
    name = first.get("name") if isinstance(first, dict) else None
    return name[:200] if isinstance(name, str) else ""


def sampled(words: str, model: str, stop_reason: str) -> JsonObject:
    result: JsonObject = {
        "role": "assistant",
        "content": {"type": "text", "text": words},
        "model": model,
    }
    return {**result, "stopReason": stop_reason} if stop_reason else result
