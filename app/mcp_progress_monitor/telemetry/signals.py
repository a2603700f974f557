"""Log events, spans and durations as values, with bounded text without secrets."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.formatting import elide, one_line
from mcp_progress_monitor.paths import APPLICATION
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import CALL_TOOL, GET_PROMPT, READ_RESOURCE
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.protocol.trace_context import TraceContext
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

Value: TypeAlias = str | int | float | bool
Attributes: TypeAlias = "dict[str, Value]"


class LogEvent(NamedTuple):
    """A log event of a span that may still run. `when` is wall time."""

    name: str
    when: float
    body: str
    attributes: Attributes
    context: TraceContext
    is_warning: bool = False


class SpanEnd(NamedTuple):
    """A span that has ended. Times are wall times; `error` describes why it failed."""

    name: str
    context: TraceContext
    parent: TraceContext | None
    is_client: bool
    began_when: float
    ended_when: float
    attributes: Attributes
    links: tuple[TraceContext, ...] = ()
    error: str | None = None


class Duration(NamedTuple):
    """The duration of an operation, for the metric of that name."""

    metric: str
    seconds: float
    attributes: Attributes


Signal: TypeAlias = LogEvent | SpanEnd | Duration


class JobGauges(NamedTuple):
    """The figures of a running job; unknown is None."""

    attributes: Attributes
    progress_ratio: float | None
    since_last_tick_s: float
    eta_s: float | None


TEXT_LIMIT: Final = 1_000  # characters of an attribute
_NAME_LIMIT: Final = 200
_CONTENT_LIMIT: Final = 4_000
_READ: Final = 16_000  # characters that secrets are looked for in; the rest is cut off
_NAMES_KEPT: Final = 2_000
_HALVES: Final = re.compile("[\ud800-\udfff]")

_ERROR_TYPES: Final = {
    JobState.CANCELLED: "cancelled",
    JobState.TIMED_OUT: "timeout",
    JobState.LOST: "connection_lost",
}


class Texts:
    """Makes text safe to send: without secrets, visible, bounded, and valid UTF-8."""

    def __init__(self) -> None:
        self._redaction = Redaction()
        self._names: dict[tuple[str, str], str] = {}

    def text(self, text: str, limit: int = TEXT_LIMIT) -> str:
        return one_line(self._redaction.text(text[:_READ]), limit)

    def name(self, text: str, member: str = "name") -> str:
        """Clean the name of a server or a tool, or the URI of a resource; each is cleaned once."""
        found = self._names.get((member, text))
        if found is None:
            if len(self._names) >= _NAMES_KEPT:
                self._names.clear()
            clean = text if member == "name" else str(self._redaction.member(member, text[:_READ]))
            found = self._names[member, text] = self.text(clean, _NAME_LIMIT)
        return found

    def content(self, value: Any) -> str:
        """Clean arguments or a result, as JSON."""
        import json

        clean = json.dumps(self._redaction.value(value), ensure_ascii=False)
        return _HALVES.sub("\N{REPLACEMENT CHARACTER}", elide(clean, _CONTENT_LIMIT))


_NAMED: Final = {
    CALL_TOOL: (names.TOOL_NAME, "name"),
    GET_PROMPT: (names.PROMPT_NAME, "name"),
    READ_RESOURCE: (names.RESOURCE_URI, "uri"),
}


def attributes_of(job: JobSnapshot, role: str, texts: Texts) -> Attributes:
    """The attributes that all signals of a job have."""
    found: Attributes = {
        names.ROLE: role,
        names.SERVER: texts.name(job_texts.server(job)),
        names.CLIENT: texts.name(job.watched_client or job.begun_by or APPLICATION),
        names.METHOD: texts.name(job.method),
    }
    named = _NAMED.get(job.method)
    if named is not None and job.name:
        found[named[0]] = texts.name(job.name, named[1])
    if job.method == CALL_TOOL:
        found[names.OPERATION] = names.EXECUTE_TOOL
    return found


_OF_METRICS: Final = (
    *(names.ROLE, names.SERVER, names.METHOD, names.TOOL_NAME, names.PROMPT_NAME),
    *(names.OPERATION, names.ERROR_TYPE, names.STATUS_CODE),
)


def metric_attributes(attributes: Mapping[str, Value]) -> Attributes:
    """Keep the attributes of few values: neither a session's ids nor URIs."""
    return {name: attributes[name] for name in _OF_METRICS if name in attributes}


def state_of(job: JobSnapshot, texts: Texts) -> Attributes:
    """The attributes of a job at one moment."""
    found: Attributes = {
        names.STATE: job.state.name.lower(),
        names.ELAPSED: round(job.elapsed_s, 3),
        names.TICKS: job.tick_count,
        names.ATTEMPT: job.attempt_count,
    }
    numbers = {
        names.PROGRESS: job.progress,
        names.TOTAL: job.total,
        names.RATIO: job.fraction,
        names.SILENT: None if job.state.is_over else round(job.silent_s, 3),
        names.TIME_LEFT: job.eta_s,
    }
    for name, number in numbers.items():
        value = _number(number)
        if value is not None:
            found[name] = value
    message = texts.text(_message(job))
    if message:
        found[names.MESSAGE] = message
    if job.task is not None:
        found[names.TASK] = texts.name(job.task.id)
    return found


def _number(number: int | float | None) -> float | None:
    """A number that OTLP can carry; servers send integers of any size."""
    if number is None:
        return None
    try:
        value = float(number)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def gauges_of(job: JobSnapshot, attributes: Attributes) -> JobGauges:
    eta_s = None if job.state.is_over else _number(job.eta_s)
    return JobGauges(attributes, job.fraction, job.silent_s, eta_s)


def span_name(attributes: Mapping[str, Value], *, is_own: bool) -> str:
    """Name a span: `tools/call crawl`, or `watch tools/call crawl` for another client's."""
    named = attributes.get(names.TOOL_NAME) or attributes.get(names.PROMPT_NAME) or ""
    text = f"{attributes[names.METHOD]} {named}".strip()
    return text if is_own else f"watch {text}"


def error_of(job: JobSnapshot) -> Attributes:
    """Return why a job failed, as the conventions say it; empty if it did not."""
    failure = job.failure
    if failure is not None and failure.code is not None:
        return {names.ERROR_TYPE: str(failure.code), names.STATUS_CODE: str(failure.code)}
    if job.state in _ERROR_TYPES:
        return {names.ERROR_TYPE: _ERROR_TYPES[job.state]}
    if job.state is JobState.FAILED:
        is_told = failure is not None and failure.where == "server"
        return {names.ERROR_TYPE: names.TOOL_ERROR if is_told else "failed"}
    return {}


def body_of(job: JobSnapshot, texts: Texts, what: str = "") -> str:
    """A job in one line: `crawl: 13 of 24, page 13`."""
    amount = _amount(job)
    message = texts.text(_message(job))
    said = ", ".join(part for part in (what, amount, message) if part)
    name = texts.name(job_texts.name(job))
    return f"{name}: {said}" if said else name


def _message(job: JobSnapshot) -> str:
    """The newest text, whole: secrets are found before it is cut off."""
    if job.state is JobState.NEEDS_YOU and job.question:
        return job.question
    if job.state is JobState.RESUMABLE:
        return job.resume_note or job.message or ""
    return job.message or "" if job.failure is None else job.failure.lasting


def _amount(job: JobSnapshot) -> str:
    return job_texts.count(job).replace(" / ", " of ")


def is_ours(job: JobSnapshot) -> bool:
    """True for a call that this program makes."""
    return job.watched_client is None and job.sender is Side.CLIENT
