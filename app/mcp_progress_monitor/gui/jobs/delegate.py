"""Paints a job's row: name, progress bar, figures and buttons; reports which button was clicked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QLine,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
)
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QToolTip

from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.labels import ICON, Badge
from mcp_progress_monitor.gui.common.row_painting import CellCache, Face, RowFaces
from mcp_progress_monitor.gui.jobs.actions import RowAction, offered
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.gui.jobs.model import BADGE, NEWEST, SETTLED_AFTER_S, SNAPSHOT
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, state_icon, tone_of
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.watched import why_read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from PySide6.QtCore import QObject

_BUSY_WIDTH: Final = 0.28
_BUSY_STEP_PER_S: Final = 0.31  # of the width; a simple fraction would stand still at 1 Hz
_HATCH: Final = 6.0
_HATCHED: Final = frozenset(
    {JobState.STALLED, JobState.NEEDS_YOU, JobState.CANCELLING, JobState.RESUMABLE}
)


def is_settling(job: JobSnapshot) -> bool:
    """Whether the job is so new that its row stays unchanged: it may end unread."""
    is_new = job.state is JobState.RUNNING and job.tick_count == 0
    return is_new and job.elapsed_s < SETTLED_AFTER_S


class BarPainter:
    """Paints a job's bar: filled to its fraction, or with a moving segment if that is unknown.

    Nothing is animated: the segment's place follows from the job's age and tick count, so it moves
    when the row is repainted anyway. Besides its colour, a waiting job's bar is hatched.
    """

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance

    def paint(self, painter: QPainter, area: QRectF, job: JobSnapshot) -> None:
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
    """The filled part of the bar; None if there is nothing to show."""
    if job.fraction is not None:
        width = area.width() * min(1.0, max(0.0, job.fraction))
        # A part narrower than it is high would be drawn as a lens.
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
    """The moving segment, back and forth."""
    width = area.width() * _BUSY_WIDTH
    way = (job.elapsed_s * _BUSY_STEP_PER_S) % 2.0
    share = way if way <= 1.0 else 2.0 - way
    return QRectF(area.left() + (area.width() - width) * share, area.top(), width, area.height())


def _hatch(painter: QPainter, area: QRectF, colour: QColor) -> None:
    painter.setPen(QPen(QBrush(colour), _HATCH / 3))
    start, rise = area.left() - area.height(), round(area.height())
    bottom, top = round(area.bottom()), round(area.top())
    count = math.ceil((area.right() - start) / _HATCH)
    places = (round(start + number * _HATCH) for number in range(count))
    painter.drawLines([QLine(x, bottom, x + rise, top) for x in places])


if TYPE_CHECKING:
    _Painted = Callable[[QPainter, RowFaces, QRect, JobSnapshot], None]

_COUNT_FROM: Final = 230  # pixels of bar column from which the exact count is shown as well
_BUTTON: Final = 26
_SPARKS: Final = 72
_ONE_LINE: Final = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
# Combining flags is slow in Python, and is done for every text painted.
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | _ONE_LINE)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | _ONE_LINE)


class JobCells:
    """Paints a job's cells in the colours of an appearance."""

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance
        self._bars = BarPainter(appearance)
        self._pictures = CellCache()
        self._measured: RowFaces | None = None
        self._painted: dict[int, _Painted] = {
            Column.SERVER: self._paint_server,
            Column.PROGRESS: self._paint_progress,
            Column.STATUS: self._paint_status,
        }

    def row_size(self, font: QFont) -> QSize:
        """Room for two lines; the same in every column, so that all rows are equally high."""
        return QSize(120, self._faces(font).height + GAP + GAP_S)

    def forget(self) -> None:
        self._pictures.forget()

    def paint(
        self,
        painter: QPainter,
        area: QRect,
        font: QFont,
        column: int,
        job: JobSnapshot,
        ground: QColor,
        badge: Badge | None = None,
    ) -> None:
        """Paint what `column` shows of `job` on its background, except buttons.

        What stays the same while a job ticks is drawn from a cached pixmap.
        """
        faces = self._faces(font)
        shown = _lasting(column, job, badge)
        if shown is None:
            painter.fillRect(area, ground)
            self._paint_cell(painter, faces, area, column, job, badge)
            return

        def paint(on_picture: QPainter, place: QRect) -> None:
            self._paint_cell(on_picture, faces, place, column, job, badge)

        self._pictures.draw(painter, area, shown, ground, paint)

    def _paint_cell(
        self,
        painter: QPainter,
        faces: RowFaces,
        area: QRect,
        column: int,
        job: JobSnapshot,
        badge: Badge | None,
    ) -> None:
        cell = area.adjusted(GAP, 0, -GAP, 0)
        painted = self._painted.get(column)
        if column == Column.JOB:
            self._paint_job(painter, faces, cell, job, badge)
        elif painted is not None:
            painted(painter, faces, cell, job)
        elif column != Column.ACTIONS:
            about = COLUMNS[Column(column)]
            flags = _RIGHT if about.is_number else _LEFT
            self._write(painter, faces.first, cell, about.text(job), Tone.TEXT, flags)

    def paint_buttons(self, painter: QPainter, cell: QRect, job: JobSnapshot, hovered: str) -> None:
        """Paint the buttons of `job`, highlighting the one with the key `hovered`."""
        for action, area in button_rects(cell, job):
            is_hovered = hovered == action.key
            if is_hovered:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._appearance.ground(Tone.TEXT, 0.14))
                painter.drawRoundedRect(area, 5, 5)
            inner = area.adjusted(5, 5, -5, -5)
            self._draw_icon(painter, inner, action.icon, Tone.TEXT if is_hovered else Tone.MUTED)

    def _paint_job(
        self, painter: QPainter, faces: RowFaces, cell: QRect, job: JobSnapshot, badge: Badge | None
    ) -> None:
        if job.sender is Side.SERVER:
            indent = 0 if job.parent is None else round(faces.first.height)
            cell = self._paint_direction(painter, faces, cell.adjusted(indent, 0, 0, 0))
        side = round(faces.first.height * 1.15)
        icon = QRect(cell.left(), cell.top() + (cell.height() - side) // 2, side, side)
        self._draw_icon(painter, icon, state_icon(job.state), tone_of(job))
        first, second = faces.lines(cell.adjusted(side + GAP, 0, 0, 0))
        room = self._paint_badge(painter, faces, first, badge)
        room += self._paint_task_sign(painter, first.adjusted(0, 0, -room, 0), job)
        name = first.adjusted(0, 0, -room, 0)
        self._write(painter, faces.heavy, name, job_texts.name(job), Tone.TEXT)
        self._write(painter, faces.second, second, job_texts.summary(job), Tone.MUTED)

    def _paint_direction(self, painter: QPainter, faces: RowFaces, cell: QRect) -> QRect:
        """Paint the arrow of a server request; returns the rest of `cell`."""
        side = round(faces.first.height)
        place = QRect(cell.left(), cell.center().y() - side // 2, side, side)
        self._draw_icon(painter, place, "received", Tone.MUTED)
        return cell.adjusted(side + GAP_S, 0, 0, 0)

    def _paint_badge(
        self, painter: QPainter, faces: RowFaces, line: QRect, badge: Badge | None
    ) -> int:
        """Paint the number of findings at the right of `line`; returns its width with the gap."""
        if badge is None:
            return 0
        words, tone = badge.text, badge.tone
        side = round(line.height() * 0.8)
        width = side + GAP_S + faces.second.width(words)
        left = line.right() + 1 - width
        icon = QRect(left, line.center().y() - side // 2, side, side)
        self._draw_icon(painter, icon, ICON, tone)
        self._write(painter, faces.second, line, words, tone, _RIGHT)
        return width + GAP

    def _paint_task_sign(self, painter: QPainter, line: QRect, job: JobSnapshot) -> int:
        """Paint that the job is a task, at the right of `line`; returns the width with the gap."""
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
        self._write(painter, faces.first, first, job_texts.server(job), Tone.TEXT)
        if job.watched_client is not None:
            self._paint_client(painter, faces, second, job.watched_client)
            return
        # Tokens differ at their ends: ours count up there.
        token = faces.second.elided(job_texts.token(job), second.width(), in_middle=True)
        self._write(painter, faces.second, second, token, Tone.MUTED)

    def _paint_client(self, painter: QPainter, faces: RowFaces, line: QRect, client: str) -> None:
        """Paint whose job it is, with the eye icon of watched servers."""
        side = round(line.height() * 0.9)
        place = QRect(line.left(), line.center().y() - side // 2 + 1, side, side)
        self._draw_icon(painter, place, "watched", Tone.ACCENT)
        words = line.adjusted(side + GAP_S, 0, 0, 0)
        self._write(painter, faces.second, words, job_texts.line(client), Tone.MUTED)

    def _paint_progress(
        self, painter: QPainter, faces: RowFaces, cell: QRect, job: JobSnapshot
    ) -> None:
        first, second = faces.lines(cell)
        amount, count, said, tone = _words_of_progress(job)
        room = max(faces.first.width("100.0 %"), faces.first.width(amount))
        room = min(room, round(cell.width() * 0.7))
        height = max(6, round(faces.first.height * 0.55))
        top = first.center().y() - height / 2 + 1
        bar = QRectF(cell.left(), top, cell.width() - room - GAP, height)
        self._bars.paint(painter, bar, job)
        right = first.adjusted(cell.width() - room, 0, 0, 0)
        self._write(painter, faces.first, right, amount, Tone.TEXT, _RIGHT)
        self._paint_words(painter, faces.second, second, count, said, tone)

    def _paint_words(
        self, painter: QPainter, face: Face, line: QRect, count: str, said: str, tone: Tone
    ) -> None:
        """The message at the left and, where there is room, the exact count at the right."""
        room = face.width(count) + GAP if count else 0
        if line.width() < max(_COUNT_FROM, 2 * room):
            room = 0
        if room:
            self._write(painter, face, line, count, Tone.MUTED, _RIGHT)
        self._write(painter, face, line.adjusted(0, 0, -room, 0), said, tone)

    def _paint_status(
        self, painter: QPainter, faces: RowFaces, cell: QRect, job: JobSnapshot
    ) -> None:
        first, second = faces.lines(cell)
        word, spent, words = _words_of_status(job)
        room = faces.second.width(spent) + GAP if spent else 0
        self._write(painter, faces.second, first, spent, Tone.MUTED, _RIGHT)
        self._write(painter, faces.first, first.adjusted(0, 0, -room, 0), word, tone_of(job))
        if job.sparks:
            left = first.left() + faces.first.width(word) + GAP
            self._paint_sparks(painter, first.adjusted(left - first.left(), 2, -room, -2), job)
        self._write(painter, faces.second, second, words, Tone.MUTED)

    def _paint_sparks(self, painter: QPainter, area: QRect, job: JobSnapshot) -> None:
        """Draw the recent rates on the right of `area`, if there is room."""
        width = min(area.width(), _SPARKS)
        if width < _SPARKS // 2:
            return
        count = len(job.sparks)
        step, left = width / max(count - 1, 1), area.right() - width
        bottom, height = area.bottom(), area.height() - 1
        line = [
            QPointF(left + place * step, bottom - height * share)
            for place, share in enumerate(job.sparks)
        ]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # Any wider, Qt makes an outline of it and fills that: five times the work.
        painter.setPen(QPen(self._appearance.ground(tone_of(job), 0.7), 1.0))
        painter.drawPolyline(line)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)

    def _write(
        self, painter: QPainter, face: Face, area: QRect, words: str, tone: Tone, flags: int = _LEFT
    ) -> None:
        if not words or area.width() <= 0:
            return
        painter.setFont(face.font)
        painter.setPen(self._appearance.colour(tone))
        painter.drawText(area, flags, face.elided(words, area.width()))

    def _draw_icon(self, painter: QPainter, area: QRect, name: str, tone: Tone) -> None:
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(area, self._appearance.pixmap(name, tone, area.width(), ratio))

    def _faces(self, font: QFont) -> RowFaces:
        if self._measured is None or self._measured.base != font:
            self._measured = RowFaces(font)
            self._pictures.forget()
        return self._measured


def _lasting(column: int, job: JobSnapshot, badge: Badge | None) -> tuple[object, ...] | None:
    """The content of a cell if it stays the same for a while; None if it changes with ticks."""
    if column == Column.JOB:
        looks = (job.state, tone_of(job), job.sender, job.parent is None, job.task is None)
        return column, job.name, job.method, job.summary, looks, badge
    return None  # with the token each job's server is another, and pictures are not cheap to make


def _words_of_progress(job: JobSnapshot) -> tuple[str, str, str, Tone]:
    """What stands beside the bar; below it the count, and the message with its tone."""
    is_calm = job.failure is None or job.state is JobState.RESUMABLE
    count = job_texts.rounded_count(job) if is_calm and job.fraction is not None else ""
    tone = Tone.MUTED if is_calm else tone_of(job)
    stream = job_texts.fresh_stream_note(job)
    if stream and job.stream is not None and job.stream.is_broken:
        tone = Tone.WARNING
    return job_texts.amount(job), count, stream or job_texts.message(job), tone


def _words_of_status(job: JobSnapshot) -> tuple[str, str, str]:
    """The state, how long the job runs, and the second line."""
    is_over, is_young = job.state.is_over, is_settling(job)
    return (
        job_texts.state(job),
        "" if is_over or is_young else job_texts.elapsed(job),
        "" if is_young else job_texts.status(job, is_timed=is_over),
    )


def _look(column: int, job: JobSnapshot) -> tuple[object, ...]:
    """All that a cell shows of a job beside its badge: a cell of the same look need no painting."""
    if column == Column.PROGRESS:
        is_busy = job.fraction is None and not job.state.is_over and not is_settling(job)
        bar = (job.fraction, job.state, tone_of(job), job.elapsed_s if is_busy else None)
        return (*bar, *_words_of_progress(job))
    if column == Column.STATUS:
        # A resumable one shows the age of its token by the computer's own clock.
        age = object() if job.state is JobState.RESUMABLE else None
        return (*_words_of_status(job), tone_of(job), job.sparks, age)
    if column == Column.ACTIONS:
        return is_settling(job), *offered(job)
    if column == Column.SERVER:
        return job.server, job.token, job.watched_client
    return _lasting(column, job, None) or (COLUMNS[Column(column)].text(job),)


def changed_columns(
    before: JobSnapshot, after: JobSnapshot, columns: Iterable[int]
) -> Iterator[int]:
    """Those of `columns` that look different in two snapshots of a job."""
    is_marked = before.marks != after.marks
    for column in columns:
        is_badge_outdated = is_marked and column == Column.JOB
        if is_badge_outdated or _look(column, before) != _look(column, after):
            yield column


def button_rects(cell: QRect, job: JobSnapshot) -> list[tuple[RowAction, QRect]]:
    """The places of the buttons of `job` in its actions cell."""
    if is_settling(job):
        return []
    side = min(cell.height() - GAP, _BUTTON)
    top = cell.top() + (cell.height() - side) // 2
    return [
        (action, QRect(cell.left() + GAP_S + place * (side + 2), top, side, side))
        for place, action in enumerate(offered(job))
    ]


_Index = QModelIndex | QPersistentModelIndex

# Combining flags is slow in Python, and is asked for every cell painted.


class JobDelegate(QStyledItemDelegate):
    """Paints a `JobSnapshot` in the columns of `JobsModel`; reports clicked buttons."""

    action_clicked = Signal(object, object)  # the `JobId` and the `RowAction`

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._cells = JobCells(appearance)
        self._is_read_only = False
        self._hovered: tuple[int, str] | None = None
        self._pressed: tuple[int, str] | None = None
        appearance.changed.connect(self._on_appearance_changed)

    def set_read_only(self) -> None:
        self._is_read_only = True

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """Two lines high in every column, so that all rows are equally high."""
        return self._cells.row_size(option.font)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        rect = option.rect
        cells = [(index.column(), rect.left(), rect.width())]
        self.paint_row(painter, option, int(option.state.value), index, cells)

    def paint_row(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        state: int,
        index: _Index,
        cells: Iterable[tuple[int, int, int]],
    ) -> JobSnapshot | None:
        """Paint some cells of a row, given by column, left edge and width; what of, if known."""
        ground, font = self._appearance.row_ground(state), option.font
        job = index.data(SNAPSHOT)
        top, height = option.rect.top(), option.rect.height()
        painter.save()
        for column, left, width in cells:
            area = QRect(left, top, width, height)
            if not isinstance(job, JobSnapshot):
                painter.fillRect(area, ground)
            elif column == Column.ACTIONS and not self._is_read_only:
                painter.fillRect(area, ground)
                place = self._hovered
                hovered = place[1] if place is not None and place[0] == job.id else ""
                self._cells.paint_buttons(painter, area, job, hovered)
            else:
                badge = index.data(BADGE) if column == Column.JOB else None
                self._cells.paint(painter, area, font, column, job, ground, badge)
        painter.restore()
        return job if isinstance(job, JobSnapshot) else None

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: _Index
    ) -> bool:
        """Turn a click that begins and ends on a button into `action_clicked`."""
        job = index.data(NEWEST)
        if not isinstance(event, QMouseEvent) or not isinstance(job, JobSnapshot):
            return super().editorEvent(event, model, option, index)
        action = self._action_at(event.position(), option.rect, index, job)
        place = None if action is None else (job.id, action.key)
        if event.type() is QEvent.Type.MouseMove:
            self.hover(option.widget, place)
            return False
        if event.button() is not Qt.MouseButton.LeftButton:
            return False
        if event.type() is QEvent.Type.MouseButtonRelease:
            pressed, self._pressed = self._pressed, None
            if action is not None and pressed == place:
                self.action_clicked.emit(job.id, action)
        else:
            self._pressed = place
        return action is not None

    def hover(self, widget: object, place: tuple[int, str] | None) -> None:
        """Highlight the button at `place`; None for none."""
        if place != self._hovered:
            self._hovered = place
            if isinstance(widget, QAbstractItemView):
                widget.viewport().update()

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Show the full text of the cell, as plain text."""
        job = index.data(NEWEST)
        if event.type() is not QEvent.Type.ToolTip or not isinstance(job, JobSnapshot):
            return super().helpEvent(event, view, option, index)
        action = self._action_at(QPointF(event.pos()), option.rect, index, job)
        words = action.tip(view) if action is not None else _tip(job, Column(index.column()))
        QToolTip.showText(event.globalPos(), plain_tip(words), view)
        return True

    @Slot()
    def _on_appearance_changed(self) -> None:
        self._cells.forget()

    def _action_at(
        self, place: QPointF, cell: QRect, index: _Index, job: JobSnapshot
    ) -> RowAction | None:
        if index.column() != Column.ACTIONS or self._is_read_only:
            return None
        for action, area in button_rects(cell, job):
            if area.contains(place.toPoint()):
                return action
        return None


def _tip(job: JobSnapshot, column: Column) -> str:
    parts: tuple[str, ...]
    if column is Column.PROGRESS:
        said = filter(None, (job_texts.stream_note(job), job_texts.message(job)))
        parts = (job_texts.exact(job), job_texts.percent(job), "\n".join(said))
    elif column is Column.SERVER:
        client = "" if job.watched_client is None else why_read_only(job.watched_client)
        parts = (job_texts.line(job.connection), job_texts.token(job), client)
    elif column is Column.STATUS:
        state = f"{job_texts.state(job)}, {job_texts.amount(job)}".removesuffix(", ")
        parts = (state, job_texts.status(job), job_texts.exact(job), _more(job))
    elif column is Column.JOB:
        about = (job_texts.summary(job), job_texts.cause(job))
        parts = (job_texts.name(job), "\n".join(filter(None, about)), job_texts.marks(job))
    else:
        parts = (COLUMNS[column].text(job), "", "")
    return "\n".join(part for part in parts if part)


def _more(job: JobSnapshot) -> str:
    """Why a resumable job stopped, then all its violations."""
    note = job_texts.line(job.resume_note)
    return "\n".join(part for part in (note, job_texts.marks(job)) if part)
