"""Paints a job's row: name, progress bar, figures and buttons; reports which button was clicked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

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
)
from PySide6.QtGui import QBrush, QColor, QFont, QMouseEvent, QPainter, QPainterPath, QPen

from mcp_progress_monitor.gui.common.commands import Command, button_tip
from mcp_progress_monitor.gui.common.controls import TipDelegate
from mcp_progress_monitor.gui.common.labels import ICON
from mcp_progress_monitor.gui.common.row_painting import Face, RowFaces
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, Column
from mcp_progress_monitor.gui.jobs.model import ROW
from mcp_progress_monitor.gui.jobs.row import (
    JobCell,
    JobRow,
    ProgressCell,
    ServerCell,
    StatusCell,
    is_settling,
)
from mcp_progress_monitor.gui.theme import (
    GAP,
    GAP_S,
    Appearance,
    Tone,
    pixel_ratio,
    state_icon,
    tone_of,
)
from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from PySide6.QtCore import QObject, QPoint
    from PySide6.QtWidgets import QStyleOptionViewItem

_BUSY_WIDTH: Final = 0.28
_BUSY_STEP_PER_S: Final = 0.31  # of the width; a simple fraction would stand still at 1 Hz
_HATCH: Final = 6.0
_HATCHED: Final = frozenset(
    {JobState.STALLED, JobState.NEEDS_YOU, JobState.CANCELLING, JobState.RESUMABLE}
)


class BarPainter:
    """Paints a job's bar: filled to its fraction, or with a moving segment if that is unknown.

    Nothing is animated: the segment's place follows from the job's age and tick count, so it moves
    when the row is repainted anyway. Besides its colour, a waiting job's bar is hatched.
    """

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance

    def paint(self, painter: QPainter, area: QRectF, job: JobSnapshot) -> None:
        painter.save()
        painter.setRenderHint(_SMOOTH)
        painter.setPen(_NO_PEN)
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
    _Painted = Callable[["_Place", int, int], None]

_COUNT_FROM: Final = 230  # pixels of bar column from which the exact count is shown as well
_BUTTON: Final = 26
_SPARKS: Final = 72
_STATUS: Final = 244  # pixels of the status, where the sparkline ends
_LONGEST_BAR: Final = 480
_LEAST_ARGUMENTS: Final = 30
_ONE_LINE: Final = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
# Looking flags up and combining them is slow in Python, and is done for every text painted.
_SMOOTH: Final = QPainter.RenderHint.Antialiasing
_NO_PEN: Final = Qt.PenStyle.NoPen
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | _ONE_LINE)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | _ONE_LINE)


def _middle(top: int, height: int, side: int) -> int:
    """The top edge of what is `side` high, in the middle of a line."""
    return top + (height - 1) // 2 - side // 2


class _Place(NamedTuple):
    """Content of a row, and the place of its two lines: top edge and height."""

    painter: QPainter
    row: JobRow
    faces: RowFaces
    top: int
    height: int
    first: tuple[int, int]
    second: tuple[int, int]


class JobCells:
    """Paints a job's cells in the colours of an appearance.

    By numbers, without making a QRect for each text: that took as long as painting the texts.
    """

    def __init__(self, appearance: Appearance, buttons: Sequence[Command] = ()) -> None:
        """Rows have `buttons` where these apply."""
        self._appearance = appearance
        self._buttons = buttons
        self._bars = BarPainter(appearance)
        self.names_server = True
        """False where a column does."""
        self._measured: RowFaces | None = None
        self._ratio = 1.0
        self._is_scale_whole = True
        self._face: Face | None = None  # of the row's newest text
        self._painted: dict[int, _Painted] = {
            Column.JOB: self._paint_job,
            Column.SERVER: self._paint_server,
            Column.PROGRESS: self._paint_progress,
            Column.STATUS: self._paint_status,
        }

    def row_size(self, font: QFont) -> QSize:
        """Room for two lines; the same in every column, so that all rows are equally high."""
        return QSize(120, self._faces(font).height + GAP + GAP_S)

    def paint(
        self,
        painter: QPainter,
        place: QRect,
        font: QFont,
        cells: Iterable[tuple[int, int, int]],
        shown: JobRow,
        hovered: str = "",
        *,
        is_active: bool = False,
    ) -> None:
        """Paint in the row `place` what `cells` (column, left edge, width) show of a job.

        The user is at an active row, which shows all its buttons; that of the command with the id
        `hovered` is highlighted.
        """
        faces, top, height = self._faces(font), place.top(), place.height()
        first = top + (height - faces.height) // 2
        lines = (first, faces.first.height), (first + faces.first.height, faces.second.height)
        row = _Place(painter, shown, faces, top, height, *lines)
        self._ratio = pixel_ratio(painter)
        self._is_scale_whole, self._face = self._ratio.is_integer(), None
        for column, left, width in cells:
            painted = self._painted.get(column)
            if painted is not None:
                painted(row, left + GAP, width - 2 * GAP)
            elif column != Column.ACTIONS:
                flags = _RIGHT if COLUMNS[Column(column)].is_number else _LEFT
                line, room = (top, height), width - 2 * GAP
                (text,) = shown.cell(column)
                self._write(row, faces.first, line, left + GAP, room, text, Tone.TEXT, flags)
            elif is_active or shown.cell(Column.ACTIONS).is_due:
                self._paint_buttons(painter, QRect(left, top, width, height), shown, hovered)

    def buttons(self, cell: QRect, shown: JobRow) -> list[tuple[Command, QRect]]:
        """The buttons in the actions cell of a row, and where they are."""
        return button_rects(cell, [each for each in shown.buttons if each in self._buttons])

    def _paint_buttons(self, painter: QPainter, cell: QRect, shown: JobRow, hovered: str) -> None:
        painter.setRenderHint(_SMOOTH)
        for command, area in self.buttons(cell, shown):
            painter.setPen(self._appearance.ground(Tone.TEXT, 0.35))
            painter.setBrush(self._appearance.ground(Tone.TEXT, 0.2 * (hovered == command.id)))
            painter.drawRoundedRect(QRectF(area).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
            side = area.width() - 10
            place = area.left() + 5, area.top() + 5
            self._draw_icon(painter, *place, side, command.icon, Tone.TEXT)
        painter.setRenderHint(_SMOOTH, on=False)

    def _paint_job(self, row: _Place, left: int, width: int) -> None:
        faces, end = row.faces, left + width
        shown: JobCell = row.row.cell(Column.JOB)
        if shown.is_of_server:
            left += round(faces.first.height) if shown.is_below_job else 0
            side = round(faces.first.height)
            top = _middle(row.top, row.height, side)
            self._draw_icon(row.painter, left, top, side, "received", Tone.MUTED)
            left += side + GAP_S
        side = round(faces.first.height * 1.15)
        top = row.top + (row.height - side) // 2
        self._draw_icon(row.painter, left, top, side, state_icon(shown.state), shown.tone)
        left += side + GAP
        room = self._paint_signs(row, shown, end)
        width = end - left - room
        # Names of one server's tools often begin alike, and differ at their ends.
        name = faces.heavy.elided(shown.name, width, in_middle=True)
        self._write(row, faces.heavy, row.first, left, width, name, Tone.TEXT)
        after = faces.heavy.width(name) + GAP
        if width - after >= _LEAST_ARGUMENTS:
            text, room = shown.arguments, width - after
            self._write(row, faces.second, row.first, left + after, room, text, Tone.MUTED)
        self._paint_origin(row, shown, left, end - left)

    def _paint_origin(self, row: _Place, shown: JobCell, left: int, width: int) -> None:
        """Paint where a job runs, below its name."""
        face = row.faces.second
        if shown.is_watched:
            side = round(face.height * 0.9)
            top = _middle(*row.second, side)
            self._draw_icon(row.painter, left, top + 1, side, "watched", Tone.ACCENT)
            left, width = left + side + GAP_S, width - side - GAP_S
        server = shown.server if self.names_server else ""
        text = f"{server} · {shown.below}" if server and shown.below else server or shown.below
        # Names of servers, and tokens, differ at their ends.
        text = face.elided(text, width, in_middle=True)
        self._write(row, face, row.second, left, width, text, Tone.MUTED, is_kept=True)

    def _paint_signs(self, row: _Place, shown: JobCell, end: int) -> int:
        """Paint the number of findings and a task's sign left of `end`; returns their width."""
        face, right, side = row.faces.second, end, round(row.first[1] * 0.8)
        top = _middle(*row.first, side)
        badge = shown.badge
        if badge is not None:
            room = face.width(badge.text)
            self._write(row, face, row.first, end - room, room, badge.text, badge.tone, _RIGHT)
            right -= side + GAP_S + room
            self._draw_icon(row.painter, right, top, side, ICON, badge.tone)
            right -= GAP
        if shown.has_task:
            self._draw_icon(row.painter, right - side, top, side, "task", Tone.MUTED)
            right -= side + GAP
        return end - right

    def _paint_server(self, row: _Place, left: int, width: int) -> None:
        faces = row.faces
        shown: ServerCell = row.row.cell(Column.SERVER)
        server = faces.first.elided(shown.server, width, in_middle=True)
        self._write(row, faces.first, row.first, left, width, server, Tone.TEXT)
        text = shown.below
        if shown.is_watched:
            side = round(faces.second.height * 0.9)
            top = _middle(*row.second, side)
            self._draw_icon(row.painter, left, top + 1, side, "watched", Tone.ACCENT)
            left, width = left + side + GAP_S, width - side - GAP_S
        else:
            # Tokens differ at their ends: ours count up there.
            text = faces.second.elided(text, width, in_middle=True)
        self._write(row, faces.second, row.second, left, width, text, Tone.MUTED, is_kept=True)

    def _paint_progress(self, row: _Place, left: int, width: int) -> None:
        faces = row.faces
        shown: ProgressCell = row.row.cell(Column.PROGRESS)
        amount, count, said, tone, _bar = shown
        room = max(faces.first.width("100.0 %"), faces.first.width(amount))
        room = min(room, round(width * 0.7))
        whole, width = width, min(width, _LONGEST_BAR + GAP + room)
        height = max(6, round(faces.first.height * 0.55))
        top = _middle(*row.first, 0) - height / 2 + 1
        bar = QRectF(left, top, width - room - GAP, height)
        self._bars.paint(row.painter, bar, row.row.job)
        right = left + width - room
        self._write(row, faces.first, row.first, right, room, amount, Tone.TEXT, _RIGHT)
        # The message at the left and, where there is room, the exact count at the right.
        face = faces.second
        if not count:
            width = whole
        room = face.width(count) + GAP if count else 0
        if width < max(_COUNT_FROM, 2 * room):
            room = 0
        if room:
            self._write(row, face, row.second, left, width, count, Tone.MUTED, _RIGHT)
        self._write(row, face, row.second, left, width - room, said, tone)

    def _paint_status(self, row: _Place, left: int, width: int) -> None:
        faces = row.faces
        shown: StatusCell = row.row.cell(Column.STATUS)
        headline, text, tone, sparks = shown
        self._write(row, faces.first, row.first, left, width, headline, tone)
        if sparks:
            before, end = faces.first.width(headline) + GAP, min(width, _STATUS)
            self._paint_sparks(row, shown, left + end, end - before)
        self._write(row, faces.second, row.second, left, width, text, Tone.MUTED)

    def _paint_sparks(self, row: _Place, shown: StatusCell, end: int, width: int) -> None:
        """Draw the recent rates left of `end`, if there is room."""
        width = min(width, _SPARKS)
        if width < _SPARKS // 2:
            return
        sparks, (top, height) = shown.sparks, row.first
        step, left = width / max(len(sparks) - 1, 1), end - 1 - width
        bottom, height = top + height - 3, height - 5
        painter = row.painter
        painter.setRenderHint(_SMOOTH)
        # A pixel wide: of any wider line Qt makes an outline and fills that, five times the work.
        painter.setPen(self._appearance.ground(row.row.tone, 0.7))
        painter.drawPolyline(
            [
                QPointF(left + place * step, bottom - height * share)
                for place, share in enumerate(sparks)
            ]
        )
        painter.setRenderHint(_SMOOTH, on=False)

    def _write(
        self,
        row: _Place,
        face: Face,
        line: tuple[int, int],
        left: int,
        width: int,
        text: str,
        tone: Tone,
        flags: int = _LEFT,
        *,
        is_kept: bool = False,
    ) -> None:
        """Write a text in one line; `is_kept` if the row will have it for long."""
        if not text or width <= 0:
            return
        painter, (top, height) = row.painter, line
        if face is not self._face:
            self._face = face
            painter.setFont(face.font)
        painter.setPen(self._appearance.colour(tone))
        is_kept = is_kept or line == row.first  # many rows have the same texts there
        # Scaled by a fraction, a text that is laid out has its letters a little further apart.
        if is_kept or self._is_scale_whole:
            laid_out = face.laid_out(text, width, is_kept=is_kept)
            # A character of another font may make it higher, with its letters in another place.
            if laid_out is not None and (is_kept or abs(laid_out.height - face.tall) < 0.5):
                static, wide, high = laid_out
                upper = top + (height - (high if is_kept else face.tall)) / 2
                start = left if flags == _LEFT else left + width - wide
                painter.drawStaticText(QPointF(start, upper), static)
                return
        text = face.elided(text, width)
        if flags == _LEFT:
            # In an area, Qt would lay the text out, which takes a third longer.
            upper = top + (height - face.tall) / 2
            painter.drawText(QPointF(left, upper + face.ascent), text)
        else:
            painter.drawText(left, top, width, height, flags, text)

    def _draw_icon(
        self, painter: QPainter, left: int, top: int, side: int, name: str, tone: Tone
    ) -> None:
        painter.drawPixmap(left, top, self._appearance.pixmap(name, tone, side, self._ratio))

    def _faces(self, font: QFont) -> RowFaces:
        if self._measured is None or self._measured.base != font:
            self._measured = RowFaces(font)
        return self._measured


def button_rects(cell: QRect, buttons: Iterable[Command]) -> list[tuple[Command, QRect]]:
    """The places of `buttons` in an actions cell."""
    side = min(cell.height() - GAP, _BUTTON)
    top = cell.top() + (cell.height() - side) // 2
    return [
        (command, QRect(cell.left() + GAP_S + place * (side + 2), top, side, side))
        for place, command in enumerate(buttons)
    ]


_Index = QModelIndex | QPersistentModelIndex


class JobDelegate(TipDelegate):
    """Paints a `JobSnapshot` in the columns of `JobsModel`; reports clicked buttons."""

    button_clicked = Signal(object, object)  # the `JobSnapshot` and the `Command`
    buttons_changed = Signal(object)  # the `JobId` whose buttons look different

    def __init__(
        self, appearance: Appearance, buttons: Sequence[Command], parent: QObject | None = None
    ) -> None:
        """Rows have `buttons` where these apply."""
        super().__init__(parent)
        self._appearance = appearance
        self.cells: Final = JobCells(appearance, buttons)
        self._hovered: tuple[JobId, str] | None = None
        self._pressed: tuple[JobId, str] | None = None

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """Two lines high in every column, so that all rows are equally high."""
        return self.cells.row_size(option.font)

    def paint_row(
        self,
        painter: QPainter,
        place: QRect,
        font: QFont,
        state: int,
        cells: Iterable[tuple[int, int, int]],
        shown: JobRow | None,
    ) -> None:
        """Paint some cells of a row, given by column, left edge and width."""
        if state:  # Qt has painted the plain ground
            painter.fillRect(place, self._appearance.row_ground(state))
        if shown is not None:
            over = self._hovered
            hovered = over[1] if over is not None and over[0] == shown.job.id else ""
            is_active = bool(state)
            self.cells.paint(painter, place, font, cells, shown, hovered, is_active=is_active)

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: _Index
    ) -> bool:
        """Turn a click that begins and ends on a button into `button_clicked`."""
        shown = index.data(ROW)
        if not isinstance(event, QMouseEvent) or not isinstance(shown, JobRow):
            return super().editorEvent(event, model, option, index)
        job, command = shown.job, self._command_at(event.position(), option.rect, index, shown)
        place = None if command is None else (job.id, command.id)
        if event.type() is QEvent.Type.MouseMove:
            self.hover(place)
            return False
        if event.button() is not Qt.MouseButton.LeftButton:
            return False
        if event.type() is QEvent.Type.MouseButtonRelease:
            pressed, self._pressed = self._pressed, None
            if command is not None and pressed == place:
                self.button_clicked.emit(job, command)
        else:
            self._pressed = place
        return command is not None

    def hover(self, place: tuple[JobId, str] | None) -> None:
        """Highlight the button at `place`: its job and command; None for none."""
        before, self._hovered = self._hovered, place
        if place != before:
            for job in {each[0] for each in (before, place) if each is not None}:
                self.buttons_changed.emit(job)

    def tip_at(self, index: _Index, option: QStyleOptionViewItem, at: QPoint) -> str | None:
        """Return the full text of the cell, or the tip of a button."""
        shown = index.data(ROW)
        if not isinstance(shown, JobRow):
            return None
        command = self._command_at(QPointF(at), option.rect, index, shown)
        if command is None:
            return shown.tip(Column(index.column()))
        return button_tip(option.widget, command, shown.job)

    def _command_at(
        self, place: QPointF, cell: QRect, index: _Index, shown: JobRow
    ) -> Command | None:
        if index.column() != Column.ACTIONS:
            return None
        for command, area in self.cells.buttons(cell, shown):
            if area.contains(place.toPoint()):
                return command
        return None
