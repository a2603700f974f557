"""The HTML report's pieces, and its sections on one job."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import jinja2
from markupsafe import Markup

from mcp_progress_monitor import formatting
from mcp_progress_monitor.exports.ticks import RecordedTick, difference, tick_of
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.frames import Channel, FrameKind
from mcp_progress_monitor.protocol.messages import CALL_TOOL, META
from mcp_progress_monitor.tracker import titles
from mcp_progress_monitor.tracker.history import AxisSpan, label_places, span
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from mcp_progress_monitor.tracker.work_clock import WorkClock
from mcp_progress_monitor.wording import jobs
from mcp_progress_monitor.wording.jobs import answered_error
from mcp_progress_monitor.wording.statuses import status_source, status_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.frames import ConnectionEnd, JobFrames
    from mcp_progress_monitor.exports.options import FindingTexts, ReportDepth
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.tracker.snapshot import (
        ChartPoint,
        Failure,
        JobDetail,
        JobId,
        ServerRequestSnapshot,
        StreamStep,
        TaskSnapshot,
        TaskStep,
        ViolationCount,
    )

Html: TypeAlias = Markup  # markup; any other string is escaped

_LINE: Final = 300
_ROWS: Final = 50


@functools.cache
def _macros() -> Any:
    folder = resource("report")
    environment = jinja2.Environment(
        autoescape=True,
        finalize=_visible,
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("report.html").module


def _visible(value: Any) -> Any:
    """Text with invisible characters made visible, except for line ends and tabs."""
    is_text = isinstance(value, str) and not isinstance(value, Html)
    return formatting.visible(value, keep_line_ends=True) if is_text else value


def render(macro: str, /, *values: object) -> Html:
    """Render a macro of `resources/report/report.html`."""
    html: Html = getattr(_macros(), macro)(*values)
    return html


def joined(parts: Iterable[str], between: str = "") -> Html:
    return Html.escape(between).join(map(_visible, parts))


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> Html:
    """A table; the columns in `numbers` are right-aligned."""
    return joined(table_parts(titles, rows, numbers=numbers))


def table_parts(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> Iterator[Html]:
    yield render("table_begin", titles, numbers)
    left = iter(rows)
    while some := list(itertools.islice(left, _ROWS)):
        yield render("table_rows", some, numbers)
    yield render("table_end")


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """Names with values; pairs without a value are left out."""
    return render("facts", [(name, value) for name, value in pairs if value])


class RedactedText:
    """Formats untrusted text for a report: without secrets, bounded, escaped."""

    def __init__(self, redaction: Redaction) -> None:
        self.redaction = redaction

    def line(self, text: str, limit: int = _LINE) -> Html:
        # Truncated last: truncating first could remove the name that marks a secret.
        bounded = text[: 20 * limit]
        return Html.escape(formatting.one_line(self.redaction.text(bounded), limit))

    def block(self, text: str, limit: int) -> Html:
        """Text of several lines, with a note on how many characters were left out."""
        clean = self.redaction.text(text)
        return render("block", clean[:limit], _left_out(len(clean) - limit))

    def quoted(self, text: str) -> Html:
        return render("quoted", self.line(text))

    def json(self, value: Any, limit: int) -> Html:
        written = json.dumps(self.redaction.value(value), indent=2, ensure_ascii=False)
        return render("block", written[:limit], _left_out(len(written) - limit))


def _left_out(count: int) -> str:
    return formatting.count(count, "more character") if count > 0 else ""


_TONES: Final = {
    JobState.RUNNING: "accent",
    JobState.STALLED: "warning",
    JobState.NEEDS_YOU: "warning",
    JobState.CANCELLING: "quiet",
    JobState.RESUMABLE: "accent",
    JobState.DONE: "good",
    JobState.FAILED: "bad",
    JobState.CANCELLED: "quiet",
    JobState.TIMED_OUT: "bad",
    JobState.LOST: "bad",
}
_SYMBOLS: Final = {
    JobState.RUNNING: "●",
    JobState.STALLED: "◐",
    JobState.NEEDS_YOU: "?",
    JobState.CANCELLING: "◌",
    JobState.RESUMABLE: "▶",
    JobState.DONE: "✔",
    JobState.FAILED: "✖",
    JobState.CANCELLED: "◼",
    JobState.TIMED_OUT: "◔",
    JobState.LOST: "⚡",
}


def tone(job: JobSnapshot) -> str:
    """The CSS class of a job; quiet for one lost by a deliberate disconnect."""
    is_wanted = job.failure is not None and job.failure.is_wanted and job.state is JobState.LOST
    return "quiet" if is_wanted else _TONES[job.state]


def state_text(job: JobSnapshot, *, is_last: bool) -> Html:
    """The state with its symbol, and a note if the recording ends while the job is running."""
    is_cut = is_last and not job.state.is_over
    text = f"{_SYMBOLS[job.state]} {job.state.value}{'; the recording ends here' if is_cut else ''}"
    return render("state", text, tone(job))


def job_bar(job: JobSnapshot) -> Html:
    """The bar, with its numbers as text for screen readers."""
    text = formatting.percent(job.fraction) if job.fraction is not None else "unknown total"
    # Rounded down, so that only 100 % looks full.
    width = None if job.fraction is None else int(job.fraction * 1000) / 10
    return render("bar", width, tone(job), text)


_WIDTH: Final = 760
_HEIGHT: Final = 230
_TOP: Final = 12.0
_RIGHT: Final = 12.0
_BELOW: Final = 24.0
_LETTER: Final = 6.5  # width of a digit; a drawing cannot measure its letters
_LABEL: Final = 13.0
_LARGEST: Final = 1e300


class _Plot(NamedTuple):
    """The drawing area, and its scales."""

    left: float
    times: AxisSpan
    values: AxisSpan

    def x(self, at: float) -> float:
        return round(self.left + (_WIDTH - _RIGHT - self.left) * self.times.share(at), 1)

    def y(self, value: float) -> float:
        return round(_HEIGHT - _BELOW - (_HEIGHT - _BELOW - _TOP) * self.values.share(value), 1)


class _ChartLine(NamedTuple):
    x1: float
    x2: float
    y1: float
    y2: float
    kind: str


class _ChartLabel(NamedTuple):
    text: str
    x: float
    y: float
    anchor: str | None


def chart(detail: JobDetail, tone: str) -> Html:
    """An SVG chart; empty without progress."""
    clock = WorkClock(detail)
    points = clock.points()
    if not points:
        return Html("")
    job = detail.snapshot
    total = _total(detail)
    end_s = max(job.elapsed_s, 0.1, points[-1].at)
    ends = [0.0, *(value for point in points for value in (point.low, point.high))]
    values = span(ends if total is None else [*ends, total])
    labels = [_number(value) for value in values.lines(4)]
    labels += [] if total is None else [_number(total)]
    left = min(max(map(len, labels), default=0) * _LETTER + 14, _WIDTH / 3)
    plot = _Plot(left, span((0.0, end_s)), values)
    first, last = _number(points[0].last), _number(points[-1].last)
    text = f"Progress from {first} to {last} in {formatting.duration(end_s)}"
    line = [(plot.x(point.at), plot.y(point.last)) for point in points]
    return render(
        "chart",
        *(text, tone, _WIDTH, _HEIGHT),
        [*_grid(plot, total), *_seams(plot, clock.seams), *_spans(plot, points)],
        [*_value_labels(plot, total), *_time_labels(plot)],
        *(line, _HEIGHT - _BELOW),
    )


def _total(detail: JobDetail) -> float | None:
    total = detail.snapshot.total
    return None if total is None or not 0 < total <= _LARGEST else float(total)


def _grid(plot: _Plot, total: float | None) -> Iterator[_ChartLine]:
    right = _WIDTH - _RIGHT
    for value in plot.values.lines(4):
        yield _ChartLine(plot.left, right, plot.y(value), plot.y(value), "grid")
    if total is not None:
        yield _ChartLine(plot.left, right, plot.y(total), plot.y(total), "total")


def _value_labels(plot: _Plot, total: float | None) -> Iterator[_ChartLabel]:
    values = plot.values.lines(4) if total is None else [total, *plot.values.lines(4)]
    places = label_places([(plot.y(value), _LABEL) for value in values], 0.0, _HEIGHT)
    for value, place in zip(values, places, strict=True):
        if place is not None:
            y = round(place + _LABEL - 3, 1)
            yield _ChartLabel(_number(value), round(plot.left - 8, 1), y, "end")


def _time_labels(plot: _Plot) -> Iterator[_ChartLabel]:
    times = plot.times.time_lines(6)
    labels = [_time(seconds) for seconds in times]
    wanted = [
        (plot.x(seconds), len(label) * _LETTER)
        for seconds, label in zip(times, labels, strict=True)
    ]
    for label, place in zip(labels, label_places(wanted, 0.0, _WIDTH), strict=True):
        if place is not None:
            yield _ChartLabel(label, round(place, 1), _HEIGHT - 8, None)


def _seams(plot: _Plot, seams: Sequence[float]) -> Iterator[_ChartLine]:
    """The pauses between attempts, which take no time."""
    for seam in seams:
        yield _ChartLine(plot.x(seam), plot.x(seam), _TOP, _HEIGHT - _BELOW, "seam")


def _spans(plot: _Plot, points: Sequence[ChartPoint]) -> Iterator[_ChartLine]:
    for point in points:
        if point.low != point.high:
            x = plot.x(point.at)
            yield _ChartLine(x, x, plot.y(point.low), plot.y(point.high), "span")


def _number(value: float) -> str:
    rounded = float(f"{value:.6g}")
    return formatting.number(
        int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
    )


def _time(seconds: float) -> str:
    """A round time without zero parts."""
    return (
        formatting.duration(seconds).removesuffix(" 0 s").removesuffix(" 0 min") if seconds else "0"
    )


READ: Final = 64 * 1024  # bytes of a message that are read for a report
_MESSAGE_SHOWN: Final = 2_000
_ARROWS: Final = {
    Channel.SENT: "→ sent",
    Channel.RECEIVED: "← received",
    Channel.STDERR: "stderr",
    Channel.EVENT: "event",
}


class MessageMarks:
    """Renders the findings on a message."""

    def __init__(self, timeline: Timeline, text: RedactedText, marks: FindingTexts) -> None:
        self._timeline = timeline
        self._text = text
        self._marks = marks

    def of(self, place: int) -> Html:
        if not self._timeline.is_marked(place):
            return Html("")
        return render("mark", self._text.line(self._marks.of(self._timeline.number(place))))


def messages(
    timeline: Timeline, evidence: JobFrames, text: RedactedText, marks: MessageMarks, ends: int
) -> Html:
    """The first and the last `ends` messages that are not ticks."""
    places = evidence.messages
    left_out = len(places) - 2 * ends
    shown = list(places) if left_out <= 0 else [*places[:ends], *places[-ends:]]
    made = [_message(timeline, place, text, marks) for place in shown]
    if left_out > 0:
        note = f"… {formatting.count(left_out, 'more message')}"
        made.insert(ends, render("note", note))
    if evidence.ticks:
        ticks = formatting.count(len(evidence.ticks), "progress notification")
        made.append(render("note", f"Also {ticks}."))
    return joined(made)


def _message(timeline: Timeline, place: int, text: RedactedText, marks: MessageMarks) -> Html:
    frame = timeline.frame(place, READ)
    if frame is None:
        return Html("")
    kind = timeline.kind(place)
    head = " · ".join(
        (
            formatting.clock(frame.when),
            _ARROWS[frame.channel],
            (FrameKind.UNREADABLE if kind is None else kind).word,
            f"no. {frame.number}",
            formatting.size(timeline.size(place)),
        )
    )
    raw = text.redaction.raw(frame.raw).decode(errors="backslashreplace")
    rest = f"start of {formatting.size(timeline.size(place))}" if len(raw) > _MESSAGE_SHOWN else ""
    return render("message", head, marks.of(place), render("block", raw[:_MESSAGE_SHOWN], rest))


_TICK_TITLES = ("No.", "After", "Δ time", "Progress", "Δ", "", "Message")


class TicksTable:
    """Makes the table of the ticks of one job, which started at `started_at`."""

    def __init__(
        self, timeline: Timeline, text: RedactedText, marks: MessageMarks, started_at: float
    ) -> None:
        self._timeline = timeline
        self._text = text
        self._marks = marks
        self._started_at = started_at

    def table(self, places: Sequence[int], depth: ReportDepth) -> Html:
        """The table of the ticks at `places`, thinned to `depth`; empty without ticks."""
        if not places:
            return Html("")
        rows = list(self._rows(places, depth.thinned(len(places))))
        note = f"{formatting.number(len(rows))} of {formatting.count(len(places), 'tick')}"
        if len(rows) < len(places):
            note += ": the first, the last, and a sample between. Δ is relative to the row above"
        return joined((render("note", f"{note}."), table(_TICK_TITLES, rows, numbers=range(6))))

    def _rows(self, places: Sequence[int], indices: Sequence[int]) -> Iterator[Sequence[str]]:
        before: RecordedTick | None = None
        for index in indices:
            frame = self._timeline.frame(places[index], READ)
            if frame is not None:
                tick = tick_of(frame)
                yield self._row(index + 1, tick, before, self._marks.of(places[index]))
                before = tick

    def _row(
        self, number: int, tick: RecordedTick, before: RecordedTick | None, mark: Html
    ) -> Sequence[str]:
        gained = None if before is None else difference(tick.progress, before.progress)
        share = tick.share
        return (
            formatting.number(number),
            formatting.duration(max(tick.at - self._started_at, 0.0)),
            "" if before is None else formatting.since(tick.at - before.at),
            formatting.amount(tick.progress, tick.total),
            "" if gained is None else formatting.number(gained),
            "" if share is None else formatting.percent(share),
            joined((self._text.line(tick.message or ""), mark), " "),
        )


_QUESTION_TITLES: Final = ("After", "Method", "Question", "Answer", "Duration", "No.")
_MOST: Final = 200  # newest requests of a server that are shown
_SHOWN_APART: Final = frozenset({"message", META})
_QUESTION_SHOWN: Final = 600  # characters of a question, and of an answer


class _AskedQuestion(NamedTuple):
    """One question, with the markup of its answer."""

    at: float
    number: int
    method: str
    params: JsonObject
    answer: Html
    took_s: float | None


def questions(
    detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None], text: RedactedText
) -> Html:
    started_at = detail.snapshot.started_at
    rows = [
        _question_row(each, started_at, text)
        for each in sorted(_found(detail, detail_of, text), key=operator.attrgetter("at", "number"))
    ]
    if not rows:
        return Html("")
    left_out = len(detail.children) - _MOST
    note = f"{formatting.count(left_out, 'earlier request')} of the server omitted."
    made = table(_QUESTION_TITLES, rows, numbers=(0, 4, 5))
    return joined((made, render("note", note) if left_out > 0 else ""))


def _found(
    detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None], text: RedactedText
) -> Iterator[_AskedQuestion]:
    for child in detail.children[-_MOST:]:
        found = detail_of(child)
        if found is not None:
            yield _question_of_request(found, text)
    for each in detail.server_requests:
        yield _question_in_reply(each, text, is_over=detail.snapshot.state.is_over)


def _question_of_request(detail: JobDetail, text: RedactedText) -> _AskedQuestion:
    job, answer = detail.snapshot, detail.answer
    if answer is None:
        html = render("muted", job.state.value.lower() if job.state.is_over else "open")
    elif answer.error is not None:
        html = joined(("refused: ", _json(answer.error, text)))
    else:
        html = _json(answer.result, text)
    took_s = job.elapsed_s if answer is not None else None
    return _AskedQuestion(job.started_at, job.request, job.method, detail.params, html, took_s)


def _question_in_reply(
    question: ServerRequestSnapshot, text: RedactedText, *, is_over: bool
) -> _AskedQuestion:
    """A question in a reply that required input, or of a task."""
    took_s = None
    if question.answered_at is None:
        html = render("muted", "not answered" if is_over else "open")
    else:
        html, took_s = _json(question.answer, text), question.answered_at - question.at
    return _AskedQuestion(
        question.at, question.number, question.method, question.params, html, took_s
    )


def _json(value: Any, text: RedactedText) -> Html:
    return text.json(value, _QUESTION_SHOWN)


def _question_row(question: _AskedQuestion, started_at: float, text: RedactedText) -> Sequence[str]:
    message = question.params.get("message")
    rest = {key: value for key, value in question.params.items() if key not in _SHOWN_APART}
    shown = text.line(message, _QUESTION_SHOWN) if isinstance(message, str) else Html("")
    took = "" if question.took_s is None else formatting.duration(max(question.took_s, 0.0))
    return (
        formatting.duration(max(question.at - started_at, 0.0)),
        text.line(question.method),
        joined((shown, _json(rest, text) if rest else "")),
        question.answer,
        took,
        formatting.number(question.number) if question.number > 0 else "",
    )


_TEXT_LIMIT: Final = 20
_SMALL: Final = 200


def answer_parts(answer: RequestAnswered, text: RedactedText, characters: int) -> Html:
    """A reply: its texts, then all of it; each at most `characters` long."""
    size = render("note", f"{formatting.size(answer.size)} received.")
    if answer.error is not None:
        return joined((text.json(answer.error, characters), size))
    texts = [text.block(each, characters) for each in _texts(answer.result)]
    label = render("note", "Complete result:") if texts else ""
    whole = text.json(without_blobs(answer.result), characters)
    return joined((*texts, label, whole, size))


def _texts(result: Any) -> Iterator[str]:
    content = result.get("content") if isinstance(result, dict) else None
    for block in itertools.islice(content if isinstance(content, list) else (), _TEXT_LIMIT):
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and text:
            yield text


def without_blobs(value: Any) -> Any:
    """A result with placeholders for binary data."""
    if isinstance(value, list):
        return [without_blobs(element) for element in value]
    if not isinstance(value, dict):
        return value
    return {name: _member(name, member) for name, member in value.items()}


def _member(name: str, member: Any) -> Any:
    is_blob = name in {"data", "blob"} and isinstance(member, str) and len(member) > _SMALL
    if is_blob:
        return f"({formatting.size(len(member))} of base64 omitted)"
    return without_blobs(member)


def stream_steps(detail: JobDetail, text: RedactedText) -> Html:
    """Each break and resumption of the stream, oldest first."""
    started_at = detail.snapshot.started_at
    rows = [_stream_row(step, started_at, text) for step in detail.stream_steps]
    return table(("After", "Event"), rows, numbers=(0,)) if rows else Html("")


def _stream_row(step: StreamStep, started_at: float, text: RedactedText) -> tuple[str, str]:
    what, after = jobs.stream_row(step, started_at)
    return after, text.line(what)


_TASK_TITLES: Final = ("Status", "Message", "After", "Source", "No.")


def task_steps(detail: JobDetail, text: RedactedText) -> Html:
    """The task and its status history; empty for a job that is not a task."""
    job, task = detail.snapshot, detail.snapshot.task
    if task is None:
        return Html("")
    known = facts(_facts(detail, task, text))
    rows = [_task_row(step, job, text) for step in detail.task_steps]
    return joined((known, table(_TASK_TITLES, rows, numbers=(2, 4)) if rows else ""))


def _facts(detail: JobDetail, task: TaskSnapshot, text: RedactedText) -> Iterator[tuple[str, str]]:
    job = detail.snapshot
    yield "Task", text.line(task.id)
    yield "Status", text.line(status_text(task.status))
    yield "Created", text.line(task.created or "")
    if task.expires_at is not None:
        kept_s = max(task.expires_at - job.started_at, 0.0)
        yield "Kept until", f"{formatting.duration(kept_s)} after the start"
    if task.poll_ms is not None:
        yield "Poll interval", formatting.duration(min(task.poll_ms, 1e15) / 1000)
    yield "Polled", formatting.count(task.poll_count, "time")
    if detail.round_trips:
        yield "Rounds of input", formatting.number(detail.round_trips)
    if not task.is_followed and not job.state.is_over:
        yield "Followed", "no, left on the server"


def _task_row(step: TaskStep, job: JobSnapshot, text: RedactedText) -> Sequence[str]:
    after = formatting.duration(max(step.at - job.started_at, 0.0))
    number = "" if step.number is None else formatting.number(step.number)
    return (
        text.line(status_text(step.status)),
        text.line(step.message) if step.message else Html(""),
        after,
        text.line(status_source(step.how)),
        number,
    )


_LONG: Final = 2000
_MEANINGS: Final = {
    JobState.RUNNING: "The request is pending.",
    JobState.STALLED: (
        "The request is pending, but progress has paused for much longer than before. The server "
        "may be busy or hung."
    ),
    JobState.NEEDS_YOU: "The server has asked a question and is waiting for the answer.",
    JobState.CANCELLING: "The server was asked to stop and has not confirmed yet.",
    JobState.RESUMABLE: (
        "The job stopped early, but the server returned a resume token. Resuming it continues "
        "from there."
    ),
    JobState.DONE: "The server returned a result. The job is complete.",
    JobState.FAILED: "The server returned an error, which ended the request.",
    JobState.CANCELLED: "The request was cancelled before it was complete.",
    JobState.TIMED_OUT: (
        "The client stopped waiting because the server did not reply in time. Whether the server "
        "continued is unknown."
    ),
    JobState.LOST: (
        "The connection ended while the request was pending. Progress after the last tick is "
        "unknown."
    ),
}
_CUT: Final = "The request was still pending. Its outcome is not in the recording."


def summary(detail: JobDetail, text: RedactedText) -> str:
    """The arguments on one line, without secrets."""
    params = text.redaction.value(detail.params)
    return titles.summary(_SummarisedRequest(detail.snapshot.method, params))


@dataclasses.dataclass
class _SummarisedRequest:
    method: str
    params: dict[str, object]


def narrative(detail: JobDetail, evidence: JobFrames, text: RedactedText) -> list[Html]:
    """Paragraphs: the request, its progress, its end, and what that means."""
    paragraphs = (_questions, _history, _stream, _end, _aftermath, _marks)
    written = (joined(paragraph(detail, evidence, text), " ") for paragraph in paragraphs)
    return [html for html in written if html]


def _questions(detail: JobDetail, _: JobFrames, text: RedactedText) -> Iterator[str]:
    job = detail.snapshot
    arguments = summary(detail, text)
    server = render("bold", text.line(job.server))
    name = render("bold", text.line(job.name))
    method = f" ({job.method})" if job.name != job.method else ""
    request: tuple[str, ...]
    if job.method == CALL_TOOL:
        request = ("The client called ", name, method, " on ", server)
    elif job.sender is Side.CLIENT:
        request = ("The client requested ", name, method, " from ", server)
    else:
        request = ("The server ", server, " requested ", name, method)
    yield joined((*request, f" at {formatting.date_and_clock(job.started_when)}"))
    if arguments:
        yield joined(("with ", render("code", text.line(arguments))))
    yield "without a progress token." if job.token is None else "with a progress token."
    if job.attempt_count > 1:
        yield f"The job was resumed: {formatting.count(job.attempt_count, 'attempt')} in total."


def _history(detail: JobDetail, _: JobFrames, text: RedactedText) -> Iterator[str]:
    job = detail.snapshot
    if job.last_tick_at is None:
        yield "The server reported no progress."
        return
    yield f"Progress reached {_amount(job)} in {formatting.count(job.tick_count, 'tick')}."
    after = formatting.duration(max(job.last_tick_at - job.started_at, 0.0))
    if job.message:
        yield _sentence(f"The last tick came {after} after the start: ", job.message, text)
    else:
        yield f"The last tick came {after} after the start, without a message."
    if len(detail.phases) > 1 and detail.phases[-1].message != job.message:
        yield _sentence("The current phase was ", detail.phases[-1].message, text)


def _stream(detail: JobDetail, _: JobFrames, __: RedactedText) -> Iterator[str]:
    stream = detail.snapshot.stream
    if stream is not None:
        yield f"HTTP: {jobs.broken_and_resumed(stream)}."


def _sentence(start: str, quoted: str, text: RedactedText) -> Html:
    return joined((start, text.quoted(quoted), "" if quoted.endswith((".", "!", "?")) else "."))


def _amount(job: JobSnapshot) -> str:
    known = formatting.amount(job.progress, job.total).replace(" / ", " of ") or "an unknown value"
    if job.fraction is not None:
        return f"{known} ({formatting.percent(job.fraction)})"
    return f"{known} of an unknown total" if job.total is None else known


def _end(detail: JobDetail, evidence: JobFrames, text: RedactedText) -> Iterator[str]:
    job = detail.snapshot
    if job.last_tick_at is not None:
        yield _silence(job)
    state = render("bold_state", job.state.value)
    verb = "ended as" if job.state.is_over else "is"
    end = ", when the recording ends, it" if evidence.is_cut else " it"
    yield joined((f"{_after(job)}{end} {verb} ", state, "."))
    if job.failure is not None and job.state is not JobState.DONE:
        yield from _failure(detail, job.failure, text)
    if job.resume_note:
        yield _sentence("Why it stopped: ", job.resume_note, text)
    yield render("muted", _CUT if evidence.is_cut else _MEANINGS[job.state])


def _silence(job: JobSnapshot) -> str:
    """The time without progress before the end, or until now."""
    if job.ended_at is not None and (job.last_tick_at or 0.0) > job.ended_at:
        return "More ticks came after the end."
    if job.silent_s >= 1.0 or not job.state.is_over:
        return f"Then there was no progress for {formatting.duration(job.silent_s)}."
    if job.silent_s >= 0.1:
        return f"The end came {formatting.duration(job.silent_s)} later."
    return "The end came immediately afterwards."


def _after(job: JobSnapshot) -> str:
    worked = formatting.duration(job.elapsed_s)
    if job.attempt_count < 2 or job.ended_at is None:
        return f"After {worked}"
    whole = formatting.duration(max(job.ended_at - job.started_at, 0.0))
    return f"After {worked} of work ({whole} from the first request to the last reply)"


def _failure(detail: JobDetail, failure: Failure, text: RedactedText) -> Iterator[str]:
    start = f"{_failure_source(detail, failure)}: "
    if "\n" in failure.message:
        yield joined((start, text.block(failure.message, _LONG)))
    else:
        yield _sentence(start, failure.message, text)
    if failure.data is not None:
        yield joined(("Error data: ", text.json(failure.data, _LONG)))


def _failure_source(detail: JobDetail, failure: Failure) -> str:
    if failure.where == "local":
        return "The client reported"
    result = None if detail.answer is None else detail.answer.result
    if failure.code is None and result is not None and result.get("isError") is True:
        return "The tool returned an error"
    return answered_error(failure.code)


def _aftermath(detail: JobDetail, evidence: JobFrames, text: RedactedText) -> Iterator[str]:
    """Say how the connection ended, and the server's last lines of standard error."""
    job, close = detail.snapshot, evidence.close
    if job.state is JobState.DONE:
        return
    if close is not None and _belongs_to_end(job, close):
        yield _closing(job, close.at, text.line(close.reason), close.exit_code)
    if evidence.stderr:
        count = formatting.count(len(evidence.stderr), "line")
        yield f"Last {count} of standard error:"
        lines = "\n".join(line.text for line in evidence.stderr)
        yield text.block(lines, 2 * _LONG)
        if evidence.stderr_before:
            yield f"{formatting.count(evidence.stderr_before, 'earlier line')} omitted."
    elif job.state in {JobState.FAILED, JobState.LOST, JobState.TIMED_OUT}:
        yield "The server wrote nothing to standard error during the job."


def _belongs_to_end(job: JobSnapshot, close: ConnectionEnd) -> bool:
    """True if the connection's end concerns the job: unexpected, or no later than the job's end."""
    return not close.is_wanted or job.ended_at is None or close.at <= job.ended_at


def _closing(job: JobSnapshot, at: float, reason: Html, exit_code: int | None) -> Html:
    end_at = job.ended_at if job.ended_at is not None else at
    later = formatting.duration(max(at - end_at, 0.0))
    when = "At the same time" if at - end_at < 0.1 else f"{later} later"
    code = "" if exit_code is None else f" The server's process ended with exit code {exit_code}."
    return joined(
        (when, " the connection closed", joined((": ", reason, ".")) if reason else ".", code)
    )


def _marks(detail: JobDetail, _: JobFrames, text: RedactedText) -> Iterator[str]:
    marks = detail.snapshot.marks
    if not marks:
        return
    yield "Findings:"
    yield render("listed", [_mark(mark, text) for mark in marks])


def _mark(mark: ViolationCount, text: RedactedText) -> tuple[Html, str]:
    often = "" if mark.count == 1 else f", {formatting.number(mark.count)} times"
    return text.line(mark.text), f"{often} (message no. {mark.first})."
