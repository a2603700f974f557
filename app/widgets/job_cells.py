"""What is painted in the cells of the job list: two quiet lines, the bar between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter

from app.models import job_texts
from app.models.job_columns import COLUMNS, Column
from app.widgets.appearance import (
    GAP,
    GAP_S,
    STATE_TONES,
    Appearance,
    Tone,
    emphasised,
    state_icon,
)
from app.widgets.bar_painter import BarPainter, is_settling
from app.widgets.row_actions import RowAction, offered

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyleOptionViewItem

    from app.tracker.snapshot import JobSnapshot

_SECOND_LINE: Final = 0.92  # of the font's size
_COUNT_FROM: Final = 230  # pixels of bar column from which the exact count is shown as well
_BUTTON: Final = 26


class _Lines(NamedTuple):
    """The two lines of a cell."""

    first: QRect
    second: QRect


class JobCells:
    """Paints a job's cells in the colours of an appearance."""

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance
        self._bars = BarPainter(appearance)
        self._painted = {
            Column.JOB: self._paint_job,
            Column.SERVER: self._paint_server,
            Column.PROGRESS: self._paint_progress,
            Column.STATUS: self._paint_status,
        }

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, column: Column, job: JobSnapshot
    ) -> None:
        """Paint what `column` shows of `job`; buttons apart."""
        cell = option.rect.adjusted(GAP, 0, -GAP, 0)
        if column in self._painted:
            self._painted[column](painter, option, cell, job)
        elif column is not Column.ACTIONS:
            self._paint_plain(painter, option, cell, job, column)

    def paint_buttons(
        self, painter: QPainter, option: QStyleOptionViewItem, job: JobSnapshot, hovered: str
    ) -> None:
        """Paint the buttons of `job`, the one with the key `hovered` as under the mouse."""
        for action, area in button_rects(option.rect, job):
            is_hovered = hovered == action.key
            if is_hovered:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._appearance.ground(Tone.TEXT, 0.14))
                painter.drawRoundedRect(area, 5, 5)
            inner = area.adjusted(5, 5, -5, -5)
            self._draw_icon(painter, inner, action.icon, Tone.TEXT if is_hovered else Tone.MUTED)

    def _paint_job(
        self, painter: QPainter, option: QStyleOptionViewItem, cell: QRect, job: JobSnapshot
    ) -> None:
        side = round(option.fontMetrics.height() * 1.15)
        icon = QRect(cell.left(), cell.top() + (cell.height() - side) // 2, side, side)
        self._draw_icon(painter, icon, state_icon(job.state), STATE_TONES[job.state])
        lines = _lines(option, cell.adjusted(side + GAP, 0, 0, 0))
        room = self._paint_badge(painter, option, lines.first, job)
        first = lines.first.adjusted(0, 0, -room, 0)
        heavy = emphasised(option.font)
        self._write(painter, heavy, first, job_texts.name(job), Tone.TEXT)
        self._write(
            painter, _fonts(option.font)[1], lines.second, job_texts.line(job.summary), Tone.MUTED
        )

    def _paint_badge(
        self, painter: QPainter, option: QStyleOptionViewItem, line: QRect, job: JobSnapshot
    ) -> int:
        """Paint the marks' badge at the right end of `line`; its width with the gap."""
        if not job.marks:
            return 0
        words = str(len(job.marks))
        font = _fonts(option.font)[1]
        side = round(line.height() * 0.8)
        width = side + GAP_S + QFontMetrics(font).horizontalAdvance(words)
        left = line.right() - width
        icon = QRect(left, line.center().y() - side // 2, side, side)
        self._draw_icon(painter, icon, "warning", Tone.WARNING)
        self._write(
            painter, font, line.adjusted(line.width() - width + side + GAP_S - 1, 0, 0, 0), words,
            Tone.WARNING,
        )  # fmt: skip
        return width + GAP

    def _paint_server(
        self, painter: QPainter, option: QStyleOptionViewItem, cell: QRect, job: JobSnapshot
    ) -> None:
        lines = _lines(option, cell)
        self._write(painter, option.font, lines.first, job_texts.line(job.server), Tone.TEXT)
        second = _fonts(option.font)[1]
        self._write(painter, second, lines.second, job_texts.token(job), Tone.MUTED)

    def _paint_progress(
        self, painter: QPainter, option: QStyleOptionViewItem, cell: QRect, job: JobSnapshot
    ) -> None:
        lines = _lines(option, cell)
        metrics = option.fontMetrics
        amount = job_texts.amount(job)
        room = max(metrics.horizontalAdvance("100.0 %"), metrics.horizontalAdvance(amount))
        room = min(room, round(cell.width() * 0.7))
        height = max(6, round(metrics.height() * 0.55))
        top = lines.first.center().y() - height / 2 + 1
        bar = QRectF(cell.left(), top, cell.width() - room - GAP, height)
        self._bars.paint(painter, bar, job)
        right = lines.first.adjusted(cell.width() - room, 0, 0, 0)
        self._write(painter, option.font, right, amount, Tone.TEXT, Qt.AlignmentFlag.AlignRight)
        self._paint_words(painter, option, lines.second, job)

    def _paint_words(
        self, painter: QPainter, option: QStyleOptionViewItem, line: QRect, job: JobSnapshot
    ) -> None:
        font = _fonts(option.font)[1]
        is_counted = job.failure is None and job.fraction is not None
        count = job_texts.count(job) if is_counted else ""
        room = QFontMetrics(font).horizontalAdvance(count) + GAP if count else 0
        if line.width() < max(_COUNT_FROM, 2 * room):
            room = 0
        if room:
            self._write(painter, font, line, count, Tone.MUTED, Qt.AlignmentFlag.AlignRight)
        tone = Tone.MUTED if job.failure is None else STATE_TONES[job.state]
        self._write(painter, font, line.adjusted(0, 0, -room, 0), job_texts.message(job), tone)

    def _paint_status(
        self, painter: QPainter, option: QStyleOptionViewItem, cell: QRect, job: JobSnapshot
    ) -> None:
        lines = _lines(option, cell)
        word = job_texts.state_word(job.state)
        self._write(painter, option.font, lines.first, word, STATE_TONES[job.state])
        second = _fonts(option.font)[1]
        words = "" if is_settling(job) else job_texts.status(job)
        self._write(painter, second, lines.second, words, Tone.MUTED)

    def _paint_plain(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        cell: QRect,
        job: JobSnapshot,
        column: Column,
    ) -> None:
        about = COLUMNS[column]
        side = Qt.AlignmentFlag.AlignRight if about.is_number else Qt.AlignmentFlag.AlignLeft
        self._write(painter, option.font, cell, about.text(job), Tone.TEXT, side)

    def _write(
        self,
        painter: QPainter,
        font: QFont,
        area: QRect,
        words: str,
        tone: Tone,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    ) -> None:
        """Write one line of plain text, elided to `area`."""
        if not words or area.width() <= 0:
            return
        painter.setFont(font)
        painter.setPen(self._appearance.colour(tone))
        shown = QFontMetrics(font).elidedText(words, Qt.TextElideMode.ElideRight, area.width())
        flags = side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.drawText(area, int(flags), shown)

    def _draw_icon(self, painter: QPainter, area: QRect, name: str, tone: Tone) -> None:
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(area, self._appearance.pixmap(name, tone, area.width(), ratio))


def row_size(font: QFont) -> QSize:
    """Room for two lines; the same in every column, so that all rows are alike."""
    first, second = (QFontMetrics(one).height() for one in _fonts(font))
    return QSize(120, first + second + GAP + GAP_S)


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


def _fonts(font: QFont) -> tuple[QFont, QFont]:
    """The fonts of the first and the second line."""
    second = QFont(font)
    second.setPointSizeF(font.pointSizeF() * _SECOND_LINE)
    return font, second


def _lines(option: QStyleOptionViewItem, cell: QRect) -> _Lines:
    first, second = (QFontMetrics(font).height() for font in _fonts(option.font))
    top = cell.top() + (cell.height() - first - second) // 2
    return _Lines(
        QRect(cell.left(), top, cell.width(), first),
        QRect(cell.left(), top + first, cell.width(), second),
    )
