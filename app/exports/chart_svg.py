"""A job's progress over time as a drawing within a report; what the window's chart shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from app import text
from app.exports.html_parts import Html, element
from app.tracker.chart_scale import Span, drawable, label_places, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.tracker.snapshot import ChartPoint, JobDetail

_WIDTH: Final = 760
_HEIGHT: Final = 230
_TOP: Final = 12.0
_RIGHT: Final = 12.0
_BELOW: Final = 24.0
_LETTER: Final = 6.5
"""Width of a digit; a drawing cannot measure its letters."""
_LINE: Final = 13.0
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
    return element(
        "svg",
        element("title", words),
        *_grid(plot, total),
        *_course(plot, points),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=words,
        class_=tone,
    )


def _total(detail: JobDetail) -> float | None:
    total = detail.snapshot.total
    return None if total is None or not 0 < total <= _LARGEST else float(total)


def _grid(plot: _Plot, total: float | None) -> Iterator[Html]:
    right = _WIDTH - _RIGHT
    for value in plot.values.lines(4):
        y = plot.y(value)
        yield element("line", x1=plot.left, x2=right, y1=y, y2=y, class_="grid")
    if total is not None:
        y = plot.y(total)
        yield element("line", x1=plot.left, x2=right, y1=y, y2=y, class_="total")
    yield from _value_labels(plot, total)
    yield from _time_labels(plot)


def _value_labels(plot: _Plot, total: float | None) -> Iterator[Html]:
    values = plot.values.lines(4) if total is None else [total, *plot.values.lines(4)]
    places = label_places([(plot.y(value), _LINE) for value in values], 0.0, _HEIGHT)
    for value, place in zip(values, places, strict=True):
        if place is not None:
            y = round(place + _LINE - 3, 1)
            yield element("text", _number(value), x=round(plot.left - 8, 1), y=y, text_anchor="end")


def _time_labels(plot: _Plot) -> Iterator[Html]:
    elapsed = Span(0.0, plot.times.high - plot.times.low)
    times = elapsed.time_lines(6)
    words = [_time(seconds) for seconds in times]
    wanted = [
        (plot.x(plot.times.low + seconds), len(said) * _LETTER)
        for seconds, said in zip(times, words, strict=True)
    ]
    for said, place in zip(words, label_places(wanted, 0.0, _WIDTH), strict=True):
        if place is not None:
            yield element("text", said, x=round(place, 1), y=_HEIGHT - 8)


def _course(plot: _Plot, points: Sequence[ChartPoint]) -> Iterator[Html]:
    line = [(plot.x(point.at), plot.y(point.last)) for point in points]
    written = " ".join(f"{x},{y}" for x, y in line)
    floor = _HEIGHT - _BELOW
    yield element(
        "path", d=f"M{line[0][0]},{floor} L{written} L{line[-1][0]},{floor} Z", class_="under"
    )
    for point in points:
        if point.low != point.high:
            x = plot.x(point.at)
            ends = (plot.y(point.low), plot.y(point.high))
            yield element("line", x1=x, x2=x, y1=ends[0], y2=ends[1], class_="span")
    yield element("polyline", points=written, class_="course")
    yield element("circle", cx=line[-1][0], cy=line[-1][1], r=4, class_="end")


def _number(value: float) -> str:
    rounded = float(f"{value:.6g}")
    return text.number(int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded)


def _time(seconds: float) -> str:
    """A round time without the parts that are naught."""
    return text.duration(seconds).removesuffix(" 0 s").removesuffix(" 0 min") if seconds else "0"
