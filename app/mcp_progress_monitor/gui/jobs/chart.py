"""A job's progress over time, drawn from the tracker's thinned history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, tone_of
from mcp_progress_monitor.tracker.history import AxisSpan, label_places, span
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.work_clock import WorkClock

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent, QPaintEvent

    from mcp_progress_monitor.tracker.snapshot import ChartPoint, JobDetail, JobSnapshot

_LOW: Final = 0.5
"""Below this share of the total, the value axis ends at the progress of a job that is not done."""
_LINE_EVERY: Final = 90  # pixels between the lines of the time axis
_ROW_EVERY: Final = 44  # pixels between the lines of the value axis


class ProgressChart(QWidget):
    """A line for the last value of each interval, a band between its lowest and highest.

    The total is a dashed line, once the progress comes near it; a pause between attempts is a
    dotted seam: time is that of work. The interval under the mouse is shown as text. Only
    `show_history` changes the content.
    """

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._points: list[ChartPoint] = []  # at seconds of work
        self._seams: list[float] = []
        self._job: JobSnapshot | None = None
        self._total: float | None = None
        self._times = AxisSpan(0.0, 1.0)
        self._values = AxisSpan(0.0, 1.0)
        self._mouse: QPointF | None = None
        self.setMouseTracking(True)
        self.setMinimumSize(QSize(220, 110))
        self.setAccessibleName("Progress over time")
        appearance.changed.connect(self.update)

    def show_history(self, detail: JobDetail) -> None:
        """Draw the progress of `detail`."""
        job = self._job = detail.snapshot
        clock = WorkClock(detail)
        self._points, self._seams = clock.points(), clock.seams
        self._times = span((0.0, max(job.elapsed_s, 0.1)))
        ends = [0.0, *(value for point in self._points for value in (point.low, point.high))]
        self._total = _total_of(job)
        is_done = job.state is JobState.DONE
        if self._total is not None and not is_done and max(ends) < _LOW * self._total:
            self._total = None  # far above what is there
        self._values = span(ends if self._total is None else [*ends, self._total])
        self.setAccessibleDescription(self._in_words())
        self.update()

    def clear(self) -> None:
        """Show no job."""
        self._points, self._seams, self._job = [], [], None
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(520, 220)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show the values of the interval under the mouse."""
        self._mouse = event.position()
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Hide these values."""
        super().leaveEvent(event)
        self._mouse = None
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint grid, band, line, total and the values under the mouse."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), self._appearance.ground(Tone.TEXT, 0.0))
        if self._job is None or not self._points:
            painter.setPen(self._appearance.colour(Tone.MUTED))
            text = "No progress yet"
            painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), text)
            return
        area = self._area()
        self._paint_grid(painter, area)
        self._paint_history(painter, area)
        self._paint_reading(painter, area)

    def _area(self) -> QRectF:
        """The plot area, with room for labels on the left and below."""
        metrics = self.fontMetrics()
        total = self._total
        labels = [_label(value) for value in self._values.lines(4)]
        labels += [] if total is None else [formatting.rounded(_plain(total))]
        widest = max(map(metrics.horizontalAdvance, labels), default=0)
        left = min(widest, self.width() // 3) + 2 * GAP
        low = metrics.height() + GAP
        return QRectF(self.rect()).adjusted(left, GAP + metrics.height() / 2, -GAP * 2, -low)

    def _place(self, area: QRectF, at: float, value: float) -> QPointF:
        return QPointF(
            area.left() + area.width() * self._times.share(at),
            area.bottom() - area.height() * self._values.share(value),
        )

    def _paint_grid(self, painter: QPainter, area: QRectF) -> None:
        painter.setPen(self._appearance.line())
        for value in self._rows(area):
            y = self._place(area, 0.0, value).y()
            painter.drawLine(QLineF(area.left(), y, area.right(), y))
        painter.setPen(self._appearance.colour(Tone.MUTED))
        for place, label in (*self.value_labels(), *self.time_labels()):
            painter.drawText(place, int(Qt.AlignmentFlag.AlignRight), label)

    def _rows(self, area: QRectF) -> list[float]:
        return self._values.lines(max(2, int(area.height() / _ROW_EVERY)))

    def value_labels(self) -> list[tuple[QRectF, str]]:
        """The value labels and their places; the total's takes precedence."""
        area, height = self._area(), float(self.fontMetrics().height())
        total = self._total
        named = [] if total is None else [(total, formatting.rounded(_plain(total)))]
        named += [(value, _label(value)) for value in self._rows(area)]
        centres = [self._place(area, 0.0, value).y() for value, _ in named]
        tops = label_places([(y, height) for y in centres], 0.0, float(self.height()))
        width = area.left() - GAP - GAP_S
        return [
            (QRectF(GAP_S, top, width, height), label)
            for (_, label), top in zip(named, tops, strict=True)
            if top is not None
        ]

    def time_labels(self) -> list[tuple[QRectF, str]]:
        """The time labels and their places, never beyond the edge."""
        area, metrics = self._area(), self.fontMetrics()
        times = self._times.time_lines(max(2, int(area.width() / _LINE_EVERY)))
        labels = [_time(seconds) for seconds in times]
        wanted = [
            (
                area.left() + area.width() * self._times.share(seconds),
                metrics.horizontalAdvance(said),
            )
            for seconds, said in zip(times, labels, strict=True)
        ]
        top, room = area.bottom() + GAP_S, self.width() - GAP_S
        return [
            (QRectF(left, top, width, metrics.height()), said)
            for (_, width), said, left in zip(
                wanted, labels, label_places(wanted, GAP_S, room), strict=True
            )
            if left is not None
        ]

    def _paint_history(self, painter: QPainter, area: QRectF) -> None:
        if self._job is None:
            return
        tone = tone_of(self._job)
        line = [self._place(area, point.at, point.last) for point in self._points]
        under = QPainterPath(QPointF(line[0].x(), area.bottom()))
        for place in line:
            under.lineTo(place)
        under.lineTo(line[-1].x(), area.bottom())
        painter.fillPath(under, self._appearance.ground(tone, 0.14))
        painter.setPen(QPen(self._appearance.ground(tone, 0.5), 1.0))
        for point in self._points:
            if point.low != point.high:
                low, high = (self._place(area, point.at, v) for v in (point.low, point.high))
                painter.drawLine(low, high)
        self._paint_seams(painter, area)
        self._paint_total(painter, area)
        pen = QPen(self._appearance.colour(tone_of(self._job)), 2.0)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.drawPolyline(line)
        self._paint_dot(painter, line[-1])

    def _paint_seams(self, painter: QPainter, area: QRectF) -> None:
        painter.setPen(QPen(self._appearance.colour(Tone.MUTED), 1.0, Qt.PenStyle.DotLine))
        for seam in self._seams:
            x = round(self._place(area, seam, 0.0).x()) + 0.5  # a sharp line
            painter.drawLine(QLineF(x, area.top(), x, area.bottom()))

    def _paint_total(self, painter: QPainter, area: QRectF) -> None:
        total = self._total
        if total is None:
            return
        y = self._place(area, 0.0, total).y()
        painter.setPen(QPen(self._appearance.colour(Tone.MUTED), 1.0, Qt.PenStyle.DashLine))
        painter.drawLine(QLineF(area.left(), y, area.right(), y))

    def _paint_dot(self, painter: QPainter, place: QPointF) -> None:
        if self._job is None:
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._appearance.colour(tone_of(self._job)))
        painter.drawEllipse(place, 3.5, 3.5)

    def _paint_reading(self, painter: QPainter, area: QRectF) -> None:
        if self._mouse is None or self._job is None or not area.contains(self._mouse):
            return
        near = min(self._points, key=self._distance_from(area))
        place = self._place(area, near.at, near.last)
        painter.setPen(QPen(self._appearance.colour(Tone.MUTED), 1.0))
        painter.drawLine(QLineF(place.x(), area.top(), place.x(), area.bottom()))
        self._paint_dot(painter, place)
        after = formatting.duration(near.at)
        text = f"{_exactly(near.last)} · {after}"
        width = self.fontMetrics().horizontalAdvance(text) + 2 * GAP
        left = min(place.x() + GAP, area.right() - width)
        box = QRectF(left, area.top(), width, self.fontMetrics().height() + GAP_S)
        painter.setPen(self._appearance.line())
        painter.setBrush(self._appearance.ground(Tone.TEXT, 0.08))
        painter.drawRoundedRect(box, 4, 4)
        painter.setPen(self._appearance.colour(Tone.TEXT))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)

    def _distance_from(self, area: QRectF) -> _Distance:
        mouse = self._mouse or QPointF()
        share = (mouse.x() - area.left()) / max(area.width(), 1.0)
        return _Distance(share * self._times.high)

    def _in_words(self) -> str:
        if not self._points:
            return "No progress yet"
        first, last = self._points[0], self._points[-1]
        pauses = formatting.count(len(self._seams), "pause")
        return (
            f"From {_exactly(first.last)} to {_exactly(last.last)} within "
            f"{formatting.duration(self._times.high)}{f', {pauses}' if self._seams else ''}"
        )


def _total_of(job: JobSnapshot) -> float | None:
    total = job.total
    return float(total) if total is not None and 0 < total <= 1e300 else None


class _Distance:
    """The distance of a point from a moment."""

    def __init__(self, at: float) -> None:
        self._at = at

    def __call__(self, point: ChartPoint) -> float:
        return abs(point.at - self._at)


def _plain(value: float) -> float:
    """A whole float as an integer: 632, not 632.0."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _time(seconds: float) -> str:
    """A round time without zero parts: "50 min"."""
    return (
        formatting.duration(seconds).removesuffix(" 0 s").removesuffix(" 0 min") if seconds else "0"
    )


def _exactly(value: float) -> str:
    return formatting.number(_plain(value))


def _label(value: float) -> str:
    return formatting.rounded(_plain(float(f"{value:.6g}")))
