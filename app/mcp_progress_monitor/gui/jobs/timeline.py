"""All jobs in time, one lane each; a selected time span filters the traffic.

Painted without QtCharts, which is under the GPL and would have to be loaded at startup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QModelIndex, QPointF, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QHelpEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QLabel,
    QSizePolicy,
    QToolButton,
    QToolTip,
    QWidget,
)

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.layout import in_column, in_row, order_tabs
from mcp_progress_monitor.gui.theme import (
    ACTIVE,
    GAP,
    GAP_S,
    SELECTED,
    UNDER_MOUSE,
    Appearance,
    Tone,
    pixel_ratio,
    smaller,
    state_icon,
    tone_of,
)
from mcp_progress_monitor.tracker.history import AxisSpan, label_places
from mcp_progress_monitor.tracker.lanes import Lane, LaneSpan, SpanKind, lane_of
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import (
        QFocusEvent,
        QKeyEvent,
        QMouseEvent,
        QPaintEvent,
        QResizeEvent,
        QShowEvent,
        QWheelEvent,
    )

    from mcp_progress_monitor.gui.jobs.filter_model import JobFilter
    from mcp_progress_monitor.gui.jobs.model import JobsModel
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.tracker.tracker import Jobs

_NAMES: Final = 26  # characters
_EVERY: Final = 110  # pixels between two times
_ZOOM: Final = 1.25
_SHORTEST_S: Final = 0.05
_DRAGGED: Final = 4  # pixels from which a click is a selection
_AHEAD: Final = 1.02
_STRENGTHS: Final = (0.45, 0.3)  # alternating strengths of a job's phases


class JobTimeline(QAbstractScrollArea):
    """The lanes of the jobs that the list shows, in its order.

    It shows the whole time until it is zoomed or moved, and again after `fit`. Lanes are made for
    the rows in sight, once a second; those of ended jobs are kept.
    """

    span_changed = Signal(object)  # the selected wall times, a pair of seconds; None for none
    span_opened = Signal()
    job_opened = Signal(object)  # `JobId`
    job_selected = Signal(object)  # `JobId`

    def __init__(
        self,
        jobs: JobsModel,
        shown: JobFilter,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._shown = shown
        self._appearance = appearance
        self._source: Jobs | None = None
        self._now: Callable[[], float] = float
        self._kept: dict[JobId, Lane] = {}
        self._lanes: list[Lane] = []
        self._whole = AxisSpan(0.0, 1.0)
        self._view: AxisSpan | None = None
        self._offset = 0.0
        self._span: tuple[float, float] | None = None
        self._pressed: tuple[QPointF, AxisSpan] | None = None
        self._current: JobId | None = None
        self.setFrameShape(self.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setMouseTracking(True)
        self.setAccessibleName("Timeline of jobs")
        self.verticalScrollBar().valueChanged.connect(self.refresh)
        jobs.second_passed.connect(self.refresh)
        for changed in (shown.rowsInserted, shown.rowsRemoved, shown.layoutChanged):
            changed.connect(self._on_rows_changed)
        shown.modelReset.connect(self.forget)
        appearance.changed.connect(self.viewport().update)

    def set_source(self, source: Jobs, now: Callable[[], float]) -> None:
        self._source, self._now = source, now
        self.forget()

    @property
    def span(self) -> tuple[float, float] | None:
        """The selected wall times."""
        if self._span is None:
            return None
        begin, end = sorted(self._span)
        return begin + self._offset, end + self._offset

    @property
    def axis(self) -> AxisSpan:
        """The visible time, monotonic."""
        return self._whole if self._view is None else self._view

    @property
    def lanes(self) -> list[Lane]:
        """The visible lanes, from top to bottom."""
        return self._lanes

    @Slot()
    def forget(self) -> None:
        """Start again with other jobs."""
        self._kept.clear()
        self._view = None
        self.select(None)
        self._on_rows_changed()

    @Slot()
    def fit(self) -> None:
        self._view = None
        self.refresh()

    @Slot()
    def zoom_in(self) -> None:
        self._zoom(_ZOOM, 0.5)

    @Slot()
    def zoom_out(self) -> None:
        self._zoom(1 / _ZOOM, 0.5)

    def select(self, span: tuple[float, float] | None) -> None:
        self._span = span
        self.viewport().update()
        self.span_changed.emit(self.span)

    def set_current(self, job: JobId | None) -> None:
        """Highlight the lane of a job."""
        self._current = job
        self.viewport().update()

    @Slot()
    def refresh(self) -> None:
        """Update the visible lanes."""
        if not self.isVisible() or self._source is None:
            return
        now, height = self._now(), self._lane_height()
        first = self.verticalScrollBar().value()
        last = first + max(self.viewport().height() - self._top(), 0) // height + 1
        rows = range(first, min(last, self._shown.rowCount()))
        jobs = [self._shown.job_at(self._shown.index(row, 0)) for row in rows]
        lanes = [self._lane(job, now) for job in jobs if job is not None]
        self._lanes = [lane for lane in lanes if lane is not None]
        self._kept = {job: self._kept[job] for job in jobs if job in self._kept}
        self._measure(now)
        self.viewport().update()

    def _lane(self, job: JobId, now: float) -> Lane | None:
        kept = self._kept.get(job)
        detail = None if kept or self._source is None else self._source.detail(job)
        if detail is None:
            return kept
        lane = lane_of(detail, now)
        if lane.snapshot.ended_at is not None and not lane.snapshot.can_resume:
            self._kept[job] = lane
        return lane

    def _measure(self, now: float) -> None:
        """Determine the time that all lanes span."""
        if not self._lanes:
            return
        begin = min(lane.began_at for lane in self._lanes)
        end = max(lane.ended_at for lane in self._lanes)
        self._whole = AxisSpan(begin, begin + max((end - begin) * _AHEAD, 1.0))
        newest = self._lanes[-1].snapshot
        self._offset = newest.started_when - newest.started_at

    @Slot()
    @Slot(QModelIndex, int, int)
    def _on_rows_changed(self) -> None:
        height = max(self.viewport().height() - self._top(), 0) // self._lane_height()
        self.verticalScrollBar().setRange(0, max(self._shown.rowCount() - height, 0))
        self.verticalScrollBar().setPageStep(max(height, 1))
        self.refresh()

    # Geometry

    def _lane_height(self) -> int:
        return self.fontMetrics().height() + GAP

    def _top(self) -> int:
        return self.fontMetrics().height() + GAP_S

    def _left(self) -> int:
        return min(self.fontMetrics().averageCharWidth() * _NAMES, self.viewport().width() // 3)

    def _plot(self) -> QRect:
        return self.viewport().rect().adjusted(self._left(), self._top(), -GAP, 0)

    def _x(self, at: float) -> float:
        plot, axis = self._plot(), self.axis
        return plot.left() + plot.width() * (at - axis.low) / (axis.high - axis.low)

    def _at(self, x: float) -> float:
        plot, axis = self._plot(), self.axis
        return axis.low + (x - plot.left()) / max(plot.width(), 1) * (axis.high - axis.low)

    def _lane_at(self, y: float) -> Lane | None:
        place = int((y - self._top()) // self._lane_height())
        return self._lanes[place] if y >= self._top() and place < len(self._lanes) else None

    def _zoom(self, factor: float, share: float) -> None:
        low, high = self.axis
        length = max((high - low) / factor, _SHORTEST_S)
        middle = low + (high - low) * share
        whole = self._whole
        if length >= whole.high - whole.low:
            self.fit()
            return
        self._view = AxisSpan(middle - length * share, middle + length * (1 - share))
        self.viewport().update()

    def _move(self, seconds: float) -> None:
        low, high = self.axis
        self._view = AxisSpan(low + seconds, high + seconds)
        self.viewport().update()

    # Input

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom with Ctrl, move in time with Shift or sideways, else scroll through the lanes."""
        steps = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            plot = self._plot()
            share = (event.position().x() - plot.left()) / max(plot.width(), 1)
            self._zoom(_ZOOM ** (steps.y() / 120), min(max(share, 0.0), 1.0))
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or steps.x():
            length = self.axis.high - self.axis.low
            self._move(-(steps.x() or steps.y()) / 120 * length / 10)
        else:
            super().wheelEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to select with the left button, or to move with the middle one."""
        self._pressed = event.position(), self.axis

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Extend the selection to the mouse, or pan with it."""
        if self._pressed is None:
            self.viewport().update()
            return
        begin, axis = self._pressed
        way = event.position().x() - begin.x()
        if event.buttons() & Qt.MouseButton.MiddleButton:
            shift = way / max(self._plot().width(), 1) * (axis.high - axis.low)
            self._view = AxisSpan(axis.low - shift, axis.high - shift)
            self.viewport().update()
        elif event.buttons() & Qt.MouseButton.LeftButton and abs(way) >= _DRAGGED:
            self._span = self._at(max(begin.x(), self._left())), self._at(event.position().x())
            self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Select the span that was dragged over, or the job that was clicked."""
        pressed, self._pressed = self._pressed, None
        if pressed is None or event.button() is not Qt.MouseButton.LeftButton:
            return
        if abs(event.position().x() - pressed[0].x()) >= _DRAGGED:
            self.select(self._span)
            return
        self.select(None)
        lane = self._lane_at(event.position().y())
        if lane is not None:
            self.set_current(lane.job)
            self.job_selected.emit(lane.job)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        lane = self._lane_at(event.position().y())
        if lane is not None:
            self.job_opened.emit(lane.job)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom with plus and minus, fit with 0, move with arrows; Enter opens, Escape deselects."""
        length = self.axis.high - self.axis.low
        done: dict[int, Callable[[], object]] = {
            Qt.Key.Key_Plus: self.zoom_in,
            Qt.Key.Key_Equal: self.zoom_in,
            Qt.Key.Key_Minus: self.zoom_out,
            Qt.Key.Key_0: self.fit,
            Qt.Key.Key_Home: self.fit,
            Qt.Key.Key_Left: lambda: self._move(-length / 10),
            Qt.Key.Key_Right: lambda: self._move(length / 10),
            Qt.Key.Key_Up: lambda: self._step(-1),
            Qt.Key.Key_Down: lambda: self._step(1),
            Qt.Key.Key_Return: self._open,
            Qt.Key.Key_Escape: lambda: self.select(None),
        }
        action = done.get(event.key())
        if action is None:
            super().keyPressEvent(event)
        else:
            action()

    def _step(self, by: int) -> None:
        rows = range(self._shown.rowCount())
        jobs = [self._shown.job_at(self._shown.index(row, 0)) for row in rows]
        if not jobs:
            return
        place = jobs.index(self._current) + by if self._current in jobs else 0
        self._current = jobs[min(max(place, 0), len(jobs) - 1)]
        self.job_selected.emit(self._current)
        bar, shown = self.verticalScrollBar(), self.verticalScrollBar().pageStep()
        place = jobs.index(self._current)
        bar.setValue(min(max(bar.value(), place - shown + 1), place))
        self.refresh()
        lane = next((lane for lane in self._lanes if lane.job == self._current), None)
        self.setAccessibleDescription("" if lane is None else job_texts.spoken(lane.snapshot))

    def _open(self) -> None:
        if self._span is not None:
            self.span_opened.emit()
        elif self._current is not None:
            self.job_opened.emit(self._current)

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the times, the lanes in sight, and the selected span."""
        painter = QPainter(self.viewport())
        painter.fillRect(self.viewport().rect(), self._appearance.ground(Tone.TEXT, 0.0))
        if not self._lanes:
            painter.setPen(self._appearance.colour(Tone.MUTED))
            flags = int(Qt.AlignmentFlag.AlignCenter)
            painter.drawText(self.viewport().rect(), flags, "No jobs yet")
            return
        self._paint_times(painter)
        for place, lane in enumerate(self._lanes):
            self._paint_lane(painter, self._top() + place * self._lane_height(), lane)
        self._paint_span(painter)

    def _paint_times(self, painter: QPainter) -> None:
        plot, axis, metrics = self._plot(), self.axis, self.fontMetrics()
        elapsed = AxisSpan(axis.low - self._whole.low, axis.high - self._whole.low)
        marks = elapsed.time_lines(max(plot.width() // _EVERY, 2))
        labels = [formatting.duration(mark) if mark else "0" for mark in marks]
        places = [self._x(self._whole.low + mark) for mark in marks]
        wanted = [
            (x, float(metrics.horizontalAdvance(said)))
            for x, said in zip(places, labels, strict=True)
        ]
        lefts = label_places(wanted, plot.left(), plot.right() + GAP)
        for x, said, left in zip(places, labels, lefts, strict=True):
            painter.setPen(self._appearance.line())
            painter.drawLine(QPointF(x, self._top()), QPointF(x, plot.bottom()))
            if left is not None:
                painter.setPen(self._appearance.colour(Tone.MUTED))
                painter.drawText(QPointF(left, metrics.ascent() + 2), said)

    def _paint_lane(self, painter: QPainter, top: int, lane: Lane) -> None:
        height, width, left = self._lane_height(), self.viewport().width(), self._left()
        row = QRect(0, top, width, height)
        active = ACTIVE if self.hasFocus() else 0
        if lane.job == self._current:
            painter.fillRect(row, self._appearance.row_ground(SELECTED | active))
        elif row.contains(self.viewport().mapFromGlobal(self.cursor().pos())):
            painter.fillRect(row, self._appearance.row_ground(UNDER_MOUSE))
        side = self.fontMetrics().height()
        icon = QRect(GAP_S, top + GAP // 2, side, side)
        tone, ratio = tone_of(lane.snapshot), pixel_ratio(painter)
        drawing = self._appearance.pixmap(state_icon(lane.snapshot.state), tone, side, ratio)
        painter.drawPixmap(icon, drawing)
        painter.setPen(self._appearance.colour(Tone.TEXT))
        room = QRect(icon.right() + GAP_S, top, left - icon.right() - GAP, height)
        name = self.fontMetrics().elidedText(
            job_texts.name(lane.snapshot), Qt.TextElideMode.ElideRight, room.width()
        )
        painter.drawText(room, int(Qt.AlignmentFlag.AlignVCenter), name)
        painter.save()
        painter.setClipRect(QRect(left, top, width - left, height))
        self._paint_spans(painter, top, lane)
        painter.restore()

    def _paint_spans(self, painter: QPainter, top: int, lane: Lane) -> None:
        """Paint the bar of a job: its phases, with stalls, pauses and questions on top."""
        tone, look = tone_of(lane.snapshot), self._appearance
        bar = self._bar(top, lane.began_at, lane.ended_at)
        painter.fillRect(bar, look.ground(tone, 0.2))
        painter.setFont(smaller(self.font()))
        phases = [span for span in lane.spans if span.kind is SpanKind.PHASE]
        for place, span in enumerate(phases):
            area = self._bar(top, span.began_at, span.ended_at)
            painter.fillRect(area, look.ground(tone, _STRENGTHS[place % 2]))
            text = job_texts.line(span.text)
            if area.width() > 3 * GAP and len(phases) > 1:
                painter.setPen(look.colour(Tone.TEXT))
                inner = area.adjusted(GAP_S, 0, -GAP_S, 0)
                shown = painter.fontMetrics().elidedText(
                    text, Qt.TextElideMode.ElideRight, int(inner.width())
                )
                painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter), shown)
        for span in lane.spans:
            self._paint_trouble(painter, self._bar(top, span.began_at, span.ended_at), span)
        painter.setPen(QPen(look.colour(tone), 2))
        painter.drawLine(bar.topRight(), bar.bottomRight())
        painter.setFont(self.font())

    def _paint_trouble(self, painter: QPainter, area: QRectF, span: LaneSpan) -> None:
        look = self._appearance
        if span.kind is SpanKind.PAUSE:
            painter.fillRect(area, look.ground(Tone.TEXT, 0.0))
            painter.setPen(QPen(look.colour(Tone.MUTED), 1, Qt.PenStyle.DotLine))
            painter.drawLine(
                QPointF(area.left(), area.center().y()), QPointF(area.right(), area.center().y())
            )
        elif span.kind is SpanKind.STALL:
            painter.fillRect(area, look.ground(Tone.WARNING, 0.25))
            painter.fillRect(area, Qt.BrushStyle.BDiagPattern)
        elif span.kind is SpanKind.QUESTION:
            below = QRectF(area.left(), area.bottom() - 3, max(area.width(), 3), 3)
            painter.fillRect(below, look.colour(Tone.WARNING))

    def _bar(self, top: int, begin: float, end: float) -> QRectF:
        left = self._x(begin)
        return QRectF(left, top + 3, max(self._x(end) - left, 2), self._lane_height() - 6)

    def _paint_span(self, painter: QPainter) -> None:
        if self._span is None:
            return
        begin, end = sorted(map(self._x, self._span))
        area = QRectF(begin, self._top(), end - begin, self.viewport().height() - self._top())
        ground = self._appearance.colour(Tone.ACCENT)
        ground.setAlphaF(0.18)
        painter.fillRect(area, ground)
        painter.setPen(self._appearance.colour(Tone.ACCENT))
        painter.drawRect(area)

    def tip_at(self, place: QPointF) -> str:
        """A description of the lane and the span at a place."""
        lane = self._lane_at(place.y())
        if lane is None:
            return ""
        at = self._at(place.x())
        found = [span for span in lane.spans if span.began_at <= at <= span.ended_at]
        job = lane.snapshot
        parts = [job_texts.name(job), job_texts.headline(job), job_texts.status(job)]
        for span in found if place.x() >= self._left() else ():
            about = job_texts.line(span.text) or span.kind.value
            parts.append(f"{about}: {formatting.duration(span.ended_at - span.began_at)}")
        return "\n".join(part for part in parts if part)

    def viewportEvent(self, event: QEvent) -> bool:
        """Show a tool tip for what is under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            text = self.tip_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), plain_tip(text), self.viewport())
            return True
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._on_rows_changed()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with changes while hidden."""
        super().showEvent(event)
        self._on_rows_changed()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus: on the first lane if no lane has it yet."""
        super().focusInEvent(event)
        if self._current is None and self._lanes:
            self.set_current(self._lanes[0].job)


class TimelinePane(QWidget):
    """The timeline under its buttons; `traffic_requested` asks for the messages of a span."""

    traffic_requested = Signal(str)
    """A filter of the traffic."""

    def __init__(
        self,
        jobs: JobsModel,
        shown: JobFilter,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.timeline = JobTimeline(jobs, shown, appearance, self)
        self.label = QLabel(self)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.label.setAccessibleName("Selected time range")
        self.show_button = self._button(
            "Show in Traffic", "Show the messages of the selected time range (Enter)"
        )
        larger = self._button("Zoom in", "Zoom in (+, Ctrl+wheel)")
        smaller_ = self._button("Zoom out", "Zoom out (-, Ctrl+wheel)")
        whole = self._button("Fit", "Fit the whole time range (0)")
        larger.clicked.connect(self.timeline.zoom_in)
        smaller_.clicked.connect(self.timeline.zoom_out)
        whole.clicked.connect(self.timeline.fit)
        self.show_button.clicked.connect(self._on_show)
        self.timeline.span_opened.connect(self._on_show)
        self.timeline.span_changed.connect(self._on_span_changed)
        bar = in_row(larger, smaller_, whole, margins=(GAP, GAP_S, GAP, GAP_S), spacing=GAP_S)
        bar.addSpacing(GAP)
        bar.addWidget(self.label, 1)
        bar.addWidget(self.show_button)
        in_column(bar, (self.timeline, 1), of=self, margins=0, spacing=0)
        order_tabs(self)
        self.begins_at = self.timeline
        self._on_span_changed(None)

    def _button(self, text: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(text)
        button.setToolTip(plain_tip(tip))
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    @Slot(object)
    def _on_span_changed(self, span: tuple[float, float] | None) -> None:
        self.show_button.setEnabled(span is not None)
        if span is None:
            self.label.setText("Drag to select a time range")
            self.label.setToolTip("Drag over the lanes to select the messages of a time range")
            return
        begin, end = (formatting.clock(when) for when in span)
        length = formatting.duration(span[1] - span[0])
        self.label.setText(f"{begin} to {end} · {length}")
        self.label.setToolTip(plain_tip(self.label.text()))

    @Slot()
    def _on_show(self) -> None:
        if self.timeline.span is not None:
            begin, end = (formatting.date_and_clock(when) for when in self.timeline.span)
            self.traffic_requested.emit(f'time >= "{begin}" and time <= "{end}"')
