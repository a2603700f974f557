"""Pieces of the HTML report, rendered by its template; whatever is not `Html` is escaped there.

The chart is a job's progress over time as an SVG drawing, the same as the window's.
"""

from __future__ import annotations

import functools
import itertools
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import jinja2
from markupsafe import Markup

from mcp_progress_monitor import formatting
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.tracker.history import AxisSpan, drawable, label_places, span
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.tracker.snapshot import ChartPoint, JobDetail

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
    points = drawable(detail.chart)
    if not points:
        return Html("")
    job = detail.snapshot
    total = _total(detail)
    end_at = max(job.started_at + max(job.elapsed_s, 0.1), points[-1].at)
    ends = [0.0, *(value for point in points for value in (point.low, point.high))]
    values = span(ends if total is None else [*ends, total])
    labels = [_number(value) for value in values.lines(4)]
    labels += [] if total is None else [_number(total)]
    left = min(max(map(len, labels), default=0) * _LETTER + 14, _WIDTH / 3)
    plot = _Plot(left, span((job.started_at, end_at)), values)
    first, last = _number(points[0].last), _number(points[-1].last)
    text = f"Progress from {first} to {last} in {formatting.duration(end_at - job.started_at)}"
    line = [(plot.x(point.at), plot.y(point.last)) for point in points]
    return render(
        "chart",
        *(text, tone, _WIDTH, _HEIGHT),
        [*_grid(plot, total), *_spans(plot, points)],
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
    elapsed = AxisSpan(0.0, plot.times.high - plot.times.low)
    times = elapsed.time_lines(6)
    labels = [_time(seconds) for seconds in times]
    wanted = [
        (plot.x(plot.times.low + seconds), len(label) * _LETTER)
        for seconds, label in zip(times, labels, strict=True)
    ]
    for label, place in zip(labels, label_places(wanted, 0.0, _WIDTH), strict=True):
        if place is not None:
            yield _ChartLabel(label, round(place, 1), _HEIGHT - 8, None)


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
