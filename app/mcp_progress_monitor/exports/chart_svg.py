"""A job's progress over time as a drawing within a report; what the window's chart shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, render
from mcp_progress_monitor.tracker.chart_scale import Span, drawable, label_places, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.tracker.snapshot import ChartPoint, JobDetail

_WIDTH: Final = 760
_HEIGHT: Final = 230
_TOP: Final = 12.0
_RIGHT: Final = 12.0
_BELOW: Final = 24.0
_LETTER: Final = 6.5
"""Width of a digit; a drawing cannot measure its letters."""
_LABEL: Final = 13.0
_LARGEST: Final = 1e300


class _Plot(NamedTuple):
    """The area that is drawn on, and its scales."""

    left: float
    times: Span
    values: Span

    def x(self, at: float) -> float:
        return round(self.left + (_WIDTH - _RIGHT - self.left) * self.times.share(at), 1)

    def y(self, value: float) -> float:
        return round(_HEIGHT - _BELOW - (_HEIGHT - _BELOW - _TOP) * self.values.share(value), 1)


class _Line(NamedTuple):
    x1: float
    x2: float
    y1: float
    y2: float
    kind: str


class _Label(NamedTuple):
    text: str
    x: float
    y: float
    anchor: str | None


def chart(detail: JobDetail, tone: str) -> Html:
    """The drawing; nothing when there is no progress to draw."""
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
    words = f"Progress from {first} to {last} within {text.duration(end_at - job.started_at)}"
    line = [(plot.x(point.at), plot.y(point.last)) for point in points]
    return render(
        "chart",
        *(words, tone, _WIDTH, _HEIGHT),
        [*_grid(plot, total), *_spans(plot, points)],
        [*_value_labels(plot, total), *_time_labels(plot)],
        *(line, _HEIGHT - _BELOW),
    )


def _total(detail: JobDetail) -> float | None:
    total = detail.snapshot.total
    return None if total is None or not 0 < total <= _LARGEST else float(total)


def _grid(plot: _Plot, total: float | None) -> Iterator[_Line]:
    right = _WIDTH - _RIGHT
    for value in plot.values.lines(4):
        yield _Line(plot.left, right, plot.y(value), plot.y(value), "grid")
    if total is not None:
        yield _Line(plot.left, right, plot.y(total), plot.y(total), "total")


def _value_labels(plot: _Plot, total: float | None) -> Iterator[_Label]:
    values = plot.values.lines(4) if total is None else [total, *plot.values.lines(4)]
    places = label_places([(plot.y(value), _LABEL) for value in values], 0.0, _HEIGHT)
    for value, place in zip(values, places, strict=True):
        if place is not None:
            y = round(place + _LABEL - 3, 1)
            yield _Label(_number(value), round(plot.left - 8, 1), y, "end")


def _time_labels(plot: _Plot) -> Iterator[_Label]:
    elapsed = Span(0.0, plot.times.high - plot.times.low)
    times = elapsed.time_lines(6)
    words = [_time(seconds) for seconds in times]
    wanted = [
        (plot.x(plot.times.low + seconds), len(said) * _LETTER)
        for seconds, said in zip(times, words, strict=True)
    ]
    for said, place in zip(words, label_places(wanted, 0.0, _WIDTH), strict=True):
        if place is not None:
            yield _Label(said, round(place, 1), _HEIGHT - 8, None)


def _spans(plot: _Plot, points: Sequence[ChartPoint]) -> Iterator[_Line]:
    for point in points:
        if point.low != point.high:
            x = plot.x(point.at)
            yield _Line(x, x, plot.y(point.low), plot.y(point.high), "span")


def _number(value: float) -> str:
    rounded = float(f"{value:.6g}")
    return text.number(int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded)


def _time(seconds: float) -> str:
    """A round time without the parts that are naught."""
    return text.duration(seconds).removesuffix(" 0 s").removesuffix(" 0 min") if seconds else "0"
