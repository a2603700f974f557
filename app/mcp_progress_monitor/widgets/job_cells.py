"""What is painted in the cells of the job list: two quiet lines, the bar between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter

from mcp_progress_monitor.models import job_texts, stream_texts
from mcp_progress_monitor.models.job_columns import COLUMNS, Column
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker import marks
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.widgets.appearance import (
    GAP,
    GAP_S,
    Appearance,
    Tone,
    state_icon,
    tone_of,
)
from mcp_progress_monitor.widgets.bar_painter import BarPainter, is_settling
from mcp_progress_monitor.widgets.cell_pictures import CellPictures
from mcp_progress_monitor.widgets.row_actions import RowAction, offered
from mcp_progress_monitor.widgets.row_faces import Face, RowFaces

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QColor

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

    _Painted = Callable[[QPainter, RowFaces, QRect, JobSnapshot], None]

_COUNT_FROM: Final = 230  # pixels of bar column from which the exact count is shown as well
_BUTTON: Final = 26
_ONE_LINE: Final = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
# Combining flags is slow in Python, and is done for every text painted.
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | _ONE_LINE)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | _ONE_LINE)


class JobCells:
    """Paints a job's cells in the colours of an appearance."""

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance
        self._bars = BarPainter(appearance)
        self._pictures = CellPictures()
        self._measured: RowFaces | None = None
        self._painted: dict[int, _Painted] = {
            Column.JOB: self._paint_job,
            Column.SERVER: self._paint_server,
            Column.PROGRESS: self._paint_progress,
            Column.STATUS: self._paint_status,
        }

    def row_size(self, font: QFont) -> QSize:
        """Room for two lines; the same in every column, so that all rows are alike."""
        return QSize(120, self._faces(font).height + GAP + GAP_S)

    def forget(self) -> None:
        """Paint all anew: the colours are others."""
        self._pictures.forget()

    def paint(
        self,
        painter: QPainter,
        area: QRect,
        font: QFont,
        column: int,
        job: JobSnapshot,
        ground: QColor,
    ) -> None:
        """Paint what `column` shows of `job` on its ground, buttons apart.

        What stays the same while a job ticks is drawn from a picture.
        """
        faces = self._faces(font)
        shown = _lasting(column, job)
        if shown is None:
            painter.fillRect(area, ground)
            self._paint_cell(painter, faces, area, column, job)
            return

        def paint(on_picture: QPainter, place: QRect) -> None:
            self._paint_cell(on_picture, faces, place, column, job)

        self._pictures.draw(painter, area, shown, ground, paint)

    def _paint_cell(
        self, painter: QPainter, faces: RowFaces, area: QRect, column: int, job: JobSnapshot
    ) -> None:
        cell = area.adjusted(GAP, 0, -GAP, 0)
        painted = self._painted.get(column)
        if painted is not None:
            painted(painter, faces, cell, job)
        elif column != Column.ACTIONS:
            about = COLUMNS[Column(column)]
            flags = _RIGHT if about.is_number else _LEFT
            self._write(painter, faces, faces.first, cell, about.text(job), Tone.TEXT, flags)

    def paint_buttons(self, painter: QPainter, cell: QRect, job: JobSnapshot, hovered: str) -> None:
        """Paint the buttons of `job`, the one with the key `hovered` as under the mouse."""
        for action, area in button_rects(cell, job):
            is_hovered = hovered == action.key
            if is_hovered:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._appearance.ground(Tone.TEXT, 0.14))
                painter.drawRoundedRect(area, 5, 5)
            inner = area.adjusted(5, 5, -5, -5)
            self._draw_icon(painter, inner, action.icon, Tone.TEXT if is_hovered else Tone.MUTED)

    def _paint_job(self, painter: QPainter, faces: RowFaces, cell: QRect, job: JobSnapshot) -> None:
        if job.sender is Side.SERVER:
            indent = 0 if job.parent is None else round(faces.first.height)
            cell = self._paint_direction(painter, faces, cell.adjusted(indent, 0, 0, 0))
        side = round(faces.first.height * 1.15)
        icon = QRect(cell.left(), cell.top() + (cell.height() - side) // 2, side, side)
        self._draw_icon(painter, icon, state_icon(job.state), tone_of(job))
        first, second = faces.lines(cell.adjusted(side + GAP, 0, 0, 0))
        room = self._paint_badge(painter, faces, first, job)
        room += self._paint_task_sign(painter, first.adjusted(0, 0, -room, 0), job)
        name = first.adjusted(0, 0, -room, 0)
        self._write(painter, faces, faces.heavy, name, job_texts.name(job), Tone.TEXT)
        self._write(painter, faces, faces.second, second, job_texts.summary(job), Tone.MUTED)

    def _paint_direction(self, painter: QPainter, faces: RowFaces, cell: QRect) -> QRect:
        """Paint the arrow of what a server asks; what is left of `cell`."""
        side = round(faces.first.height)
        place = QRect(cell.left(), cell.center().y() - side // 2, side, side)
        self._draw_icon(painter, place, "received", Tone.MUTED)
        return cell.adjusted(side + GAP_S, 0, 0, 0)

    def _paint_badge(
        self, painter: QPainter, faces: RowFaces, line: QRect, job: JobSnapshot
    ) -> int:
        """Paint the number of marks at the right end of `line`; its width with the gap."""
        if not job.marks:
            return 0
        words = str(len(job.marks))
        tone = Tone.MUTED if _is_harmless(job) else Tone.WARNING
        side = round(line.height() * 0.8)
        width = side + GAP_S + faces.second.width(words)
        left = line.right() + 1 - width
        icon = QRect(left, line.center().y() - side // 2, side, side)
        self._draw_icon(painter, icon, "warning", tone)
        self._write(painter, faces, faces.second, line, words, tone, _RIGHT)
        return width + GAP

    def _paint_task_sign(self, painter: QPainter, line: QRect, job: JobSnapshot) -> int:
        """Paint that the job is a task, at the right end of `line`; its width with the gap."""
        if job.task is None:
            return 0
        side = round(line.height() * 0.8)
        place = QRect(line.right() + 1 - side, line.center().y() - side // 2, side, side)
        self._draw_icon(painter, place, "task", Tone.MUTED)
        return side + GAP

    def _paint_server(
        self, painter: QPainter, faces: RowFaces, cell: QRect, job: JobSnapshot
    ) -> None:
        first, second = faces.lines(cell)
        self._write(painter, faces, faces.first, first, job_texts.line(job.server), Tone.TEXT)
        # Tokens differ at their ends: ours count up there.
        middle = Qt.TextElideMode.ElideMiddle
        token = faces.elided(faces.second, job_texts.token(job), second.width(), middle)
        self._write(painter, faces, faces.second, second, token, Tone.MUTED)

    def _paint_progress(
        self, painter: QPainter, faces: RowFaces, cell: QRect, job: JobSnapshot
    ) -> None:
        first, second = faces.lines(cell)
        amount = job_texts.amount(job)
        room = max(faces.first.width("100.0 %"), faces.first.width(amount))
        room = min(room, round(cell.width() * 0.7))
        height = max(6, round(faces.first.height * 0.55))
        top = first.center().y() - height / 2 + 1
        bar = QRectF(cell.left(), top, cell.width() - room - GAP, height)
        self._bars.paint(painter, bar, job)
        right = first.adjusted(cell.width() - room, 0, 0, 0)
        self._write(painter, faces, faces.first, right, amount, Tone.TEXT, _RIGHT)
        self._paint_words(painter, faces, second, job)

    def _paint_words(
        self, painter: QPainter, faces: RowFaces, line: QRect, job: JobSnapshot
    ) -> None:
        """The message at the left and, where there is room, the exact count at the right."""
        face = faces.second
        is_calm = job.failure is None or job.state is JobState.RESUMABLE
        is_counted = is_calm and job.fraction is not None
        count = job_texts.count(job) if is_counted else ""
        room = face.width(count) + GAP if count else 0
        if line.width() < max(_COUNT_FROM, 2 * room):
            room = 0
        if room:
            self._write(painter, faces, face, line, count, Tone.MUTED, _RIGHT)
        tone = Tone.MUTED if is_calm else tone_of(job)
        stream = stream_texts.urgent(job)
        if stream and job.stream is not None and job.stream.is_broken:
            tone = Tone.WARNING
        said = stream or job_texts.message(job)
        self._write(painter, faces, face, line.adjusted(0, 0, -room, 0), said, tone)

    def _paint_status(
        self, painter: QPainter, faces: RowFaces, cell: QRect, job: JobSnapshot
    ) -> None:
        first, second = faces.lines(cell)
        word = job_texts.state(job)
        self._write(painter, faces, faces.first, first, word, tone_of(job))
        words = "" if is_settling(job) else job_texts.status(job)
        self._write(painter, faces, faces.second, second, words, Tone.MUTED)

    def _write(
        self,
        painter: QPainter,
        faces: RowFaces,
        face: Face,
        area: QRect,
        words: str,
        tone: Tone,
        flags: int = _LEFT,
    ) -> None:
        """Write one line of plain text, elided to `area`."""
        if not words or area.width() <= 0:
            return
        painter.setFont(face.font)
        painter.setPen(self._appearance.colour(tone))
        painter.drawText(area, flags, faces.elided(face, words, area.width()))

    def _draw_icon(self, painter: QPainter, area: QRect, name: str, tone: Tone) -> None:
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(area, self._appearance.pixmap(name, tone, area.width(), ratio))

    def _faces(self, font: QFont) -> RowFaces:
        if self._measured is None or self._measured.base != font:
            self._measured = RowFaces(font)
            self._pictures.forget()
        return self._measured


def _is_harmless(job: JobSnapshot) -> bool:
    """Whether nobody has to be warned of a job's marks: late by its place alone is told only."""
    return all(mark.key == marks.LATE_DELIVERY for mark in job.marks)


def _lasting(column: int, job: JobSnapshot) -> tuple[object, ...] | None:
    """All that a cell shows, if it is the same for some time; None if it changes with the ticks."""
    if column == Column.JOB:
        looks = (job.state, tone_of(job), job.sender, job.parent is None, job.task is None)
        return column, job.name, job.method, job.summary, looks, len(job.marks), _is_harmless(job)
    if column == Column.SERVER:
        return column, job.server, job_texts.token(job)
    return None


def button_rects(cell: QRect, job: JobSnapshot) -> list[tuple[RowAction, QRect]]:
    """Where the buttons of `job` are in its actions cell."""
    if is_settling(job):
        return []
    side = min(cell.height() - GAP, _BUTTON)
    top = cell.top() + (cell.height() - side) // 2
    return [
        (action, QRect(cell.left() + GAP_S + place * (side + 2), top, side, side))
        for place, action in enumerate(offered(job))
    ]
