"""Progress bars: one painter for the rows of the list and the large bar of a job's pane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QPainter, QPainterPath, QPen

from mcp_progress_monitor.models.jobs import SETTLED_AFTER_S
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.widgets.appearance import Appearance, tone_of

if TYPE_CHECKING:
    from PySide6.QtGui import QColor

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_BUSY_WIDTH: Final = 0.28
_BUSY_STEP_PER_S: Final = 0.31  # of the way; no whole share, or a 1 Hz repaint would stand still
_HATCH: Final = 6.0
_HATCHED: Final = frozenset(
    {JobState.STALLED, JobState.NEEDS_YOU, JobState.CANCELLING, JobState.RESUMABLE}
)


def is_settling(job: JobSnapshot) -> bool:
    """Whether the job is so young that its row stays calm: it may end before one could read it."""
    is_new = job.state is JobState.RUNNING and job.tick_count == 0
    return is_new and job.elapsed_s < SETTLED_AFTER_S


class BarPainter:
    """Paints a job's bar: filled to its fraction, or a travelling piece while that is unknown.

    Nothing is animated: a busy bar's piece stands where the job's age and tick count put it, so
    it moves when the row is repainted anyway. Besides its colour a waiting job's bar is hatched.
    """

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance

    def paint(self, painter: QPainter, area: QRectF, job: JobSnapshot) -> None:
        """Fill `area` with the bar of `job`."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        tone = tone_of(job)
        radius = min(area.height(), area.width()) / 2
        painter.setBrush(self._appearance.ground(tone, 0.15))
        painter.drawRoundedRect(area, radius, radius)
        filled = _filled(area, job)
        if filled is not None:
            if filled.width() < 2 * radius:
                painter.setClipPath(_rounded(area, radius))  # its corners would stick out
            painter.setBrush(self._appearance.colour(tone))
            painter.drawRoundedRect(filled, radius, radius)
            if job.state in _HATCHED:
                painter.setClipPath(_rounded(filled, radius), Qt.ClipOperation.IntersectClip)
                _hatch(painter, filled, self._appearance.ground(tone, 0.45))
        painter.restore()


def _rounded(area: QRectF, radius: float) -> QPainterPath:
    path = QPainterPath()
    path.addRoundedRect(area, radius, radius)
    return path


def _filled(area: QRectF, job: JobSnapshot) -> QRectF | None:
    """The part of the bar that is filled, None when there is nothing to show."""
    if job.fraction is not None:
        width = area.width() * min(1.0, max(0.0, job.fraction))
        # A piece narrower than it is high would be drawn as a lens.
        return (
            QRectF(area.left(), area.top(), max(width, area.height()), area.height())
            if (width > 0)
            else None
        )
    if job.state.is_over:
        return area if job.state is JobState.DONE else None
    if is_settling(job) or job.state is JobState.CANCELLING:
        return None
    return _busy(area, job)


def _busy(area: QRectF, job: JobSnapshot) -> QRectF:
    """The travelling piece, there and back."""
    width = area.width() * _BUSY_WIDTH
    way = (job.elapsed_s * _BUSY_STEP_PER_S) % 2.0
    share = way if way <= 1.0 else 2.0 - way
    return QRectF(area.left() + (area.width() - width) * share, area.top(), width, area.height())


def _hatch(painter: QPainter, area: QRectF, colour: QColor) -> None:
    painter.setPen(QPen(QBrush(colour), _HATCH / 3))
    x = area.left() - area.height()
    while x < area.right():
        painter.drawLine(
            round(x), round(area.bottom()), round(x + area.height()), round(area.top())
        )
        x += _HATCH
