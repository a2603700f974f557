"""A server's question as text: its content, its age, its answer, and the parts of its URL.

For sampling: `CreateMessageRequestParams` of every MCP revision, read leniently: an unexpected
shape is shown as JSON. 2025-11-25 "Sampling" added tools and several blocks a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import CREATE_MESSAGE, ELICIT, LIST_ROOTS
from mcp_progress_monitor.tracker.requests import question_text
from mcp_progress_monitor.wording.content import pretty
from mcp_progress_monitor.wording.jobs import line
from mcp_progress_monitor.wording.results import PartKind, ResultPart, block_part

if TYPE_CHECKING:
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
"""The outcome of a question, by the action of its answer."""
_REPLIED: Final = frozenset({"accept", "decline", "cancel"})


def kind_text(kind: str) -> str:
    return _KINDS[kind]


def head(question: Question) -> str:
    """The question in one line: its message, its last text, or the kind of request."""
    return request_text(question.method, question.params)


def about(question: Question, job: str, now: float, phase: str) -> str:
    """The server, the job, the age and the phase of a question, in one line."""
    clock = formatting.clock(question.asked_when)[:8]
    since = f"since {clock} ({formatting.ago(now - question.asked_at)})"
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


def request_text(method: str, params: JsonObject) -> str:
    """A server's request in one line, from its parameters alone."""
    if text := line(question_text(params)):
        return text
    kind = _METHODS.get(method)
    if kind == "form" and params.get("mode") == "url":
        kind = "url"
    return kind_text(kind) if kind else line(method)


def answer_text(answer: RequestAnswered | None) -> str:
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
        values = formatting.summary(content, 300) if isinstance(content, dict) else ""
        return f"{ANSWERED[action]}: {values}" if values else ANSWERED[action]
    if isinstance(result.get("roots"), list):
        uris = [str(root.get("uri")) for root in result["roots"] if isinstance(root, dict)]
        return line(", ".join(uris[:20])) or "no folders"
    text = line(" ".join(_texts(result.get("content")))) or formatting.summary(result, 300)
    model = result.get("model")
    return f"{line(model)}: {text}" if isinstance(model, str) and model else text


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
        text = "The request has no list of messages."
        return [SampledMessage("", (ResultPart(PartKind.TEXT, "", text, is_error=True),))]
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
    return block_part(block)


def _more(count: int) -> ResultPart:
    text = f"The request of the job has {formatting.number(count)} more."
    return ResultPart(PartKind.TEXT, "More", text)


def sampling_options(params: JsonObject) -> list[tuple[str, str]]:
    """The parameters of a sampling request besides its messages: names and texts, bounded."""
    options = (
        ("System prompt", _text(params.get("systemPrompt"))),
        ("Maximum tokens", _text(params.get("maxTokens"))),
        ("Preferred models", _preferences(params.get("modelPreferences"))),
        ("Temperature", _text(params.get("temperature"))),
        ("Stop sequences", _text(params.get("stopSequences"))),
        ("Context", _text(params.get("includeContext"))),
        ("Tools", _tools(params.get("tools"))),
        ("Tool choice", _text(params.get("toolChoice"))),
        ("Metadata", _text(params.get("metadata"))),
    )
    return [(name, text) for name, text in options if text]


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
    text = formatting.one_line(about, _DESCRIPTION) if isinstance(about, str) else ""
    name = line(str(tool.get("name")))
    return f"{name}: {text}" if text else name


def hinted_model(params: JsonObject) -> str:
    """The first model that the server prefers; empty if it names none."""
    hints = as_object(params.get("modelPreferences")).get("hints")
    name = as_object(hints[0]).get("name") if isinstance(hints, list) and hints else None
    return name[:200] if isinstance(name, str) else ""


def sampled(text: str, model: str, stop_reason: str) -> JsonObject:
    content = {"type": "text", "text": text}
    result: JsonObject = {"role": "assistant", "content": content, "model": model}
    return {**result, "stopReason": stop_reason} if stop_reason else result


_SCHEMES: Final = frozenset({"http", "https"})
_LONGEST: Final = 8_000  # characters of a URL to open: browsers accept no more


class UrlParts(NamedTuple):
    """A URL that a server asks to open, split to emphasise its host.

    `shown` is the full URL with invisible characters made visible; it contains `host`. `refusal`
    says why it is not opened, and is empty if it can be.
    """

    shown: str
    host: str = ""
    warnings: tuple[str, ...] = ()
    refusal: str = ""


def url_parts(url: str) -> UrlParts:
    """Split `url`; never raises. Nothing is decoded: a host is shown as it is."""
    shown = formatting.visible(url)
    try:
        split = urlsplit(url)
        host, port = split.hostname or "", split.port
    except ValueError:
        return UrlParts(shown, refusal="The address cannot be parsed.")
    refusal = _refusal(url, shown, split.scheme.lower(), host)
    written = _as_written(split.netloc, host)
    where = written if port is None else f"{written}:{port}"
    warnings = tuple(_warnings(split.scheme.lower(), split.netloc, host))
    return UrlParts(shown, formatting.visible(where), warnings, refusal)


def _refusal(url: str, shown: str, scheme: str, host: str) -> str:
    if scheme not in _SCHEMES:
        other = formatting.visible(scheme[:40]) + ":" if scheme else "an address without one"
        return f"Only web pages (http, https) can be opened, not {other}."
    if not host:
        return "The address has no host."
    if shown != url or "\\" in url or " " in url:
        return "The address contains invisible or invalid characters."
    return "The address is too long to open." if len(url) > _LONGEST else ""


def _as_written(netloc: str, host: str) -> str:
    """The host as spelled in the URL, capitals included."""
    place = netloc.lower().rfind(host)
    return netloc[place : place + len(host)] if host and place >= 0 else host


def _warnings(scheme: str, netloc: str, host: str) -> list[str]:
    found = []
    if any(label.startswith("xn--") for label in host.split(".")):
        found.append("The host is in Punycode, which stands for non-ASCII letters.")
    if not host.isascii():
        found.append("The host contains letters that may look like others.")
    if "@" in netloc:
        found.append("The part before the @ is not the host.")
    if host.replace(".", "").isdecimal() or ":" in host:
        found.append("The host is an IP address, not a name.")
    if scheme == "http":
        found.append("The page is not encrypted (http).")
    return found
