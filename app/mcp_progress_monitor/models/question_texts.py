"""A server's question in words: what is asked, since when, and how it was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import line, tr
from mcp_progress_monitor.models.result_parts import PartKind
from mcp_progress_monitor.models.sampling import messages
from mcp_progress_monitor.protocol.facts import Side

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

MESSAGE_LIMIT: Final = 20_000
"""Characters of a question that are shown; the job's request has the whole."""
_KINDS: Final = {
    "sampling": QT_TRANSLATE_NOOP("Jobs", "asks for a model's answer"),
    "form": QT_TRANSLATE_NOOP("Jobs", "asks to fill in a form"),
    "url": QT_TRANSLATE_NOOP("Jobs", "asks to open a page"),
    "roots": QT_TRANSLATE_NOOP("Jobs", "asks for the folders it may use"),
}
_WAITING: Final = {
    "sampling": QT_TRANSLATE_NOOP("Jobs", "Awaiting approval"),
    "form": QT_TRANSLATE_NOOP("Jobs", "Awaiting input"),
    "url": QT_TRANSLATE_NOOP("Jobs", "Awaiting input"),
    "roots": QT_TRANSLATE_NOOP("Jobs", "Awaiting approval"),
}
_METHODS: Final = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "form",
    "roots/list": "roots",
}
_ACTIONS: Final = {
    "accept": QT_TRANSLATE_NOOP("Jobs", "accepted"),
    "decline": QT_TRANSLATE_NOOP("Jobs", "declined"),
    "cancel": QT_TRANSLATE_NOOP("Jobs", "cancelled"),
}


def kind_words(kind: str) -> str:
    """What a server does by a question of `kind`."""
    return tr(str(_KINDS[kind]))


def head(question: Question) -> str:
    """The question in one line: its message, what was said last, or what is asked for."""
    return asked(question.method, question.params)


def about(question: Question, job: str, now: float, phase: str) -> str:
    """Who asks, for which job, since when, and how far it is, in one line."""
    since = tr("since {time} ({ago})").format(
        time=text.clock(question.asked_when)[:8], ago=text.ago(now - question.asked_at)
    )
    parts = (line(question.server), job, since, phase)
    return " · ".join(part for part in parts if part)


def phase_of(question: Question, job: JobSnapshot | None) -> str:
    """The newest phase that the server was told of, else what the question waits for."""
    if job is not None and job.sender is Side.SERVER and job.message:
        return line(job.message)
    return tr(str(_WAITING[question.kind]))


def message_of(question: Question) -> str:
    """The message, many lines, bounded, with what cannot be seen made visible."""
    shown = text.elide(question.message, MESSAGE_LIMIT)
    return text.visible(shown, keep_line_ends=True)


def asked(method: str, params: JsonObject) -> str:
    """What a request of a server asks, in one line, from its parameters alone."""
    message = params.get("message")
    if isinstance(message, str) and message:
        return line(message)
    kind = _METHODS.get(method)
    if kind == "sampling":
        return _last_words(params) or kind_words(kind)
    if kind == "form" and params.get("mode") == "url":
        kind = "url"
    return kind_words(kind) if kind else line(method)


def _last_words(params: JsonObject) -> str:
    """What was said last in a conversation, if it was said in words."""
    found = messages(params)
    parts = found[-1].parts if found and found[-1].role else ()
    return next((line(part.value) for part in parts if part.kind is PartKind.TEXT), "")


def answer_words(answer: RequestAnswered | None) -> str:
    """How a question was answered, in one line; nothing while it is not."""
    if answer is None:
        return ""
    if answer.error is not None:
        message = answer.error.get("message")
        return tr("refused: {}").format(line(message if isinstance(message, str) else "?"))
    return result_words(answer.result)


def result_words(result: Any) -> str:
    """The answer that a result states, in one line."""
    if not isinstance(result, dict):
        return text.summary({"": result}).removeprefix("=")
    action = result.get("action")
    if isinstance(action, str) and action in _ACTIONS:
        content = result.get("content")
        said = text.summary(content, 300) if isinstance(content, dict) else ""
        words = tr(str(_ACTIONS[action]))
        return f"{words}: {said}" if said else words
    if isinstance(result.get("roots"), list):
        uris = [str(root.get("uri")) for root in result["roots"] if isinstance(root, dict)]
        return line(", ".join(uris[:20])) or tr("no folders")
    return _sampled_words(result)


def _sampled_words(result: JsonObject) -> str:
    content = result.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [each.get("text") for each in blocks if isinstance(each, dict)]
    words = " ".join(each for each in texts if isinstance(each, str))
    model = result.get("model")
    said = line(words) or text.summary(result, 300)
    return f"{line(model)}: {said}" if isinstance(model, str) and model else said
