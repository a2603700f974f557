"""The table of the job list: a flat tree view with fitted columns and an empty state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6 import QtGui
from PySide6.QtCore import (
    QElapsedTimer,
    QEvent,
    QLine,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QAction, QActionGroup, QPainter
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTreeView

from mcp_progress_monitor.gui.common.row_painting import cells_in_sight
from mcp_progress_monitor.gui.common.tables import FlatHeader, RowHover, paint_empty
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, FIRST_SHOWN, Column
from mcp_progress_monitor.gui.jobs.delegate import JobDelegate
from mcp_progress_monitor.gui.jobs.row import changed_columns
from mcp_progress_monitor.gui.theme import (
    ACTIVE,
    FOCUSED,
    SELECTED,
    UNDER_MOUSE,
    Appearance,
    Tone,
    pixel_ratio,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtCore import QByteArray
    from PySide6.QtGui import QPaintEvent, QRegion, QResizeEvent
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.common.commands import Command
    from mcp_progress_monitor.gui.jobs.filter_model import JobFilter
    from mcp_progress_monitor.gui.jobs.model import JobsModel
    from mcp_progress_monitor.gui.jobs.row import JobRow
    from mcp_progress_monitor.tracker.snapshot import JobId

_LEAST: Final = 0.45  # of its wanted width, below which a column says too little


def fitted(wanted: Mapping[int, int], room: int) -> dict[int, int]:
    """The `wanted` widths, all shrunk by the same share to fit into `room` if possible.

    Never below 45 percent: from there on the stretching column shrinks.
    """
    total = sum(wanted.values())
    share = max(_LEAST, min(1.0, room / total)) if total else 1.0
    return {column: round(width * share) for column, width in wanted.items()}


_WIDTHS: Final = {Column.JOB: 330, Column.SERVER: 120, Column.STATUS: 250}
_LEAST_JOB: Final = 120
"""A smaller saved width was not set by the user: layouts of earlier versions may have it."""
_PROGRESS_LEAST: Final = 254  # with the buttons
_PROGRESS_EASY: Final = 460
_SHARES: Final = {Column.JOB: 0.35, Column.SERVER: 0.1, Column.STATUS: 0.35}
"""Shares of a wide window that the progress column leaves to columns of text."""
_TWO_BUTTONS: Final = 62
_UNFITTED: Final = frozenset({Column.PROGRESS, Column.ACTIONS})

ROWS_AT_ONCE: Final = 8
"""Changed rows that are repainted in one turn of the event loop: some 3 ms of work."""
_SCROLLING_MS: Final = 80
"""For so long after a step that replaced all rows in sight another one is expected."""

_KEPT: Final = 500  # rows of which is known what they show: more than a screen has

_Index = QModelIndex | QPersistentModelIndex


class JobTable(QTreeView):
    """A flat list of rows of equal height, with a text if it is empty."""

    resized = Signal()  # the visible area for rows changed

    def __init__(
        self,
        jobs: JobsModel,
        shown: JobFilter,
        appearance: Appearance,
        buttons: Sequence[Command],
        parent: QWidget | None = None,
    ) -> None:
        """Rows have `buttons` where these apply."""
        super().__init__(parent)
        self._jobs = jobs
        self._shown = shown
        self._appearance = appearance
        self._is_narrowed = False
        self._wanted: dict[int, int] = {}
        self._is_fitting = False
        self._hover = RowHover(self, is_painted=False)
        self._changed: list[tuple[int, int]] = []
        self._due: set[int] = set()
        self._repainted = -1
        self._painted: dict[JobId, JobRow] = {}
        """What the rows show; of jobs that are not in it, all of the row is to be painted."""
        self._scrolled = QElapsedTimer()
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self._turn.timeout.connect(self._on_turn)
        self._column_menu = QMenu(self)
        self.setHeader(FlatHeader(self))
        self.setFrameShape(self.Shape.NoFrame)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setModel(shown)
        self.delegate: Final = JobDelegate(appearance, buttons, self)
        self.setItemDelegate(self.delegate)
        self.delegate.buttons_changed.connect(self._on_buttons_changed)
        self._set_up_columns()
        appearance.changed.connect(self.viewport().update)

    def save_header(self) -> QByteArray:
        """The header's state without the shrinking by a narrow window.

        Shrunk widths would be shrunk again by the next window, until no name could be read.
        """
        self._resize_columns(self._wanted)
        state = self.header().saveState()
        self._fit_columns()
        return state

    def restore_header(self, state: QByteArray) -> bool:
        """Apply a saved header; False if it does not fit these columns."""
        is_restored = self.header().restoreState(state)
        self._fix_resizing()
        return is_restored

    def set_narrowed(self, is_narrowed: bool) -> None:
        """Set whether a filter may be why the list is empty."""
        if is_narrowed != self._is_narrowed:
            self._is_narrowed = is_narrowed
            self.viewport().update()

    def in_sight(self) -> list[QModelIndex]:
        """The first cell of every row that is at least partly visible."""
        found: list[QModelIndex] = []
        index = self.indexAt(self.viewport().rect().topLeft())
        bottom = self.viewport().height()
        while index.isValid() and self.visualRect(index).top() < bottom:
            found.append(index.siblingAtColumn(0))
            index = self.indexBelow(index)
        return found

    def rows_in_sight(self) -> range:
        """The rows of which at least the middle is visible."""
        rows, area = self._rows_in_sight(), self.viewport().rect()
        first, last = (self.model().index(row, 0) for row in (rows.start, rows.stop - 1))
        is_cut = rows and self.visualRect(first).center().y() < area.top()
        is_last_cut = rows and self.visualRect(last).center().y() > area.bottom()
        return range(rows.start + bool(is_cut), rows.stop - bool(is_last_cut))

    def dataChanged(self, first: _Index, last: _Index, roles: Sequence[int] = ()) -> None:
        """Repaint what changed, a few rows at a time, so that no batch holds the window long."""
        if QtGui.QAccessible.isActive():
            super().dataChanged(first, last, list(roles))  # notifies screen readers as well
            return
        self._changed.append((first.row(), last.row()))
        if not self._turn.isActive():
            # While somebody scrolls, that paints every change: not all rows twice.
            is_scrolling = self._scrolled.isValid() and not self._scrolled.hasExpired(_SCROLLING_MS)
            self._turn.start(_SCROLLING_MS if is_scrolling else 0)

    @Slot()
    def _on_turn(self) -> None:
        """Repaint the next few rows, from where the last turn ended."""
        sight = self._rows_in_sight()
        for first, last in self._changed:
            self._due.update(range(max(first, sight.start), min(last + 1, sight.stop)))
        self._changed.clear()
        self._due.intersection_update(sight)  # others are painted when they come into sight
        ordered = sorted(self._due)
        following = [row for row in ordered if row > self._repainted]
        cells = list(cells_in_sight(self.header(), self.viewport().width()))
        for row in (following or ordered)[:ROWS_AT_ONCE]:
            self._due.remove(row)
            self._repainted = row
            self._repaint(row, cells)
        if self._due:
            self._turn.start(0)

    def _repaint(self, row: int, cells: Sequence[tuple[int, int, int]]) -> None:
        """Repaint what looks different than it was painted last: as time passes, few cells do."""
        job = self._shown.shown_at(row)
        after = None if job is None else self._jobs.row(job)  # painting makes none
        before = None if after is None else self._painted.get(after.job.id)
        place, viewport = self.visualRect(self._shown.index(row, 0)), self.viewport()
        if after is None or before is None:
            viewport.update(0, place.top(), viewport.width(), place.height())
            return
        self._painted[after.job.id] = after
        changed = set(changed_columns(before, after, [column for column, _, _ in cells]))
        for column, left, wide in cells:
            if column in changed:
                viewport.update(left, place.top(), wide, place.height())

    @Slot(object)
    def _on_buttons_changed(self, job: JobId) -> None:
        index = self._shown.index_of(job)
        self.viewport().update(self.visualRect(index.siblingAtColumn(Column.ACTIONS)))

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Rebuild snapshots of rows that come into sight before they are painted."""
        super().scrollContentsBy(dx, dy)
        if abs(dy) >= self.viewport().height():
            # All rows in sight are painted anyway, and none of the others.
            self._changed.clear()
            self._due.clear()
            self._turn.stop()
            self._scrolled.start()
        if dy:
            self.prepare()

    def updateGeometries(self) -> None:
        """Rebuild them as well after a resize, and after rows were added, removed or sorted."""
        super().updateGeometries()
        self.prepare()

    def prepare(self) -> None:
        """Rebuild outdated snapshots of rows in sight, since painting does not."""
        for row in self._rows_in_sight():
            job = self._shown.shown_at(row)
            if job is not None:
                self._jobs.snapshot(job)

    def _rows_in_sight(self) -> range:
        area = self.viewport().rect()
        first, last = self.indexAt(area.topLeft()).row(), self.indexAt(area.bottomLeft()).row()
        if first < 0:
            return range(0)
        return range(first, last + 1 if last >= 0 else self.model().rowCount())

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Begin in sight if no row is selected yet: Qt would use the very first."""
        rows = self._rows_in_sight()
        if self.currentIndex().isValid() or not rows:
            return super().moveCursor(action, modifiers)
        return self.model().index(rows.start, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rows: Qt would ask the model, the delegate and the style for each cell."""
        painter, sight = QPainter(self.viewport()), self._rows_in_sight()
        if sight:
            first = self.visualRect(self._shown.index(sight.start, 0))
            place = QRect(0, first.top(), self.viewport().width(), first.height())
            self._paint_rows(painter, event.region(), sight, QRect(place))
            self._paint_lines(painter, sight, place)
        painter.end()
        if not self._shown.rowCount():
            paint_empty(self, "No job matches the filter" if self._is_narrowed else "No jobs yet")

    def _paint_rows(self, painter: QPainter, region: QRegion, sight: range, place: QRect) -> None:
        """Paint the rows `sight` as far as they are in `region`; the first one is at `place`."""
        area, view, font = region.boundingRect(), self.viewport().rect(), self.font()
        cells = [
            (column, left, wide)
            for column, left, wide in cells_in_sight(self.header(), view.width())
            if left <= area.right() and left + wide > area.left()
        ]
        whole, states = QRect() if region.rectCount() > 1 else area, self._states(sight)
        self.delegate.cells.names_server = self.header().isSectionHidden(Column.SERVER)
        for row in sight:
            if region.intersects(place):
                shown = self._jobs.known(self._shown.shown_at(row))
                state = states.get(row, 0)
                self.delegate.paint_row(painter, place, font, state, cells, shown)
                if shown is not None and self._painted.get(shown.job.id) is not shown:
                    self._note_painted(shown, row, is_whole=whole.contains(place & view))
            place.translate(0, place.height())

    def _states(self, sight: range) -> dict[int, int]:
        """The rows with another ground, with their flags of `QStyle.StateFlag`."""
        chosen, focus = self.selectionModel(), self.hasFocus()
        state = SELECTED | (ACTIVE if focus else 0)
        rows = sight if chosen.hasSelection() else ()
        current = {self.currentIndex().row(): FOCUSED} if focus else {}
        selected = {row: state for row in rows if chosen.isRowSelected(row)}
        return current | {self._hover.row: UNDER_MOUSE} | selected

    def _paint_lines(self, painter: QPainter, sight: range, place: QRect) -> None:
        """Paint a hairline below each row, and a bar on the left of that with keyboard focus."""
        width, height, line = place.width(), place.height(), self._appearance.line()
        bottoms = [place.bottom() + number * height for number in range(len(sight))]
        if pixel_ratio(painter) == 1.0:  # a tenth of the time
            for bottom in bottoms:
                painter.fillRect(0, bottom, width, 1, line)
        else:
            painter.setPen(line)
            painter.drawLines([QLine(0, bottom, width - 1, bottom) for bottom in bottoms])
        current = self.currentIndex().row()
        if current in sight and self.hasFocus():
            edge = QRect(0, place.top() + (current - sight.start) * height, 3, height)
            painter.fillRect(edge, self._appearance.colour(Tone.ACCENT))

    def _note_painted(self, shown: JobRow, row: int, *, is_whole: bool) -> None:
        """Note what a row shows; where only a part of it was painted, the rest is due."""
        if is_whole:
            if len(self._painted) >= _KEPT:
                self._painted.clear()
            self._painted[shown.job.id] = shown
        else:
            self._painted.pop(shown.job.id, None)
            self._due.add(row)
            self._turn.start(0)

    def changeEvent(self, event: QEvent) -> None:
        """Repaint when the window is activated or deactivated: the selection changes its colour."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange:
            self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()
        self.resized.emit()

    def _set_up_columns(self) -> None:
        header = self.header()
        header.setSectionsMovable(True)
        header.setStretchLastSection(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._on_columns_requested)
        for column in COLUMNS:
            header.setSectionHidden(column, column not in FIRST_SHOWN)
            header.resizeSection(column, self._scaled(_WIDTHS.get(column, 110)))
        # Further columns precede the buttons, which stay at the end of the row.
        header.moveSection(Column.ACTIONS, len(COLUMNS) - 1)
        self._fix_resizing()
        header.sectionResized.connect(self._on_column_resized)
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)

    def _fix_resizing(self) -> None:
        header = self.header()
        header.setMinimumSectionSize(self._scaled(36))
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(Column.PROGRESS, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(Column.ACTIONS, QHeaderView.ResizeMode.Fixed)
        header.resizeSection(Column.ACTIONS, self._scaled(_TWO_BUTTONS))
        flexible = (column for column in COLUMNS if column not in _UNFITTED)
        self._wanted = {
            column: header.sectionSize(column) or self._scaled(_WIDTHS.get(column, 110))
            for column in flexible
        }
        if self._wanted[Column.JOB] < self._scaled(_LEAST_JOB):
            self._wanted[Column.JOB] = self._scaled(_WIDTHS[Column.JOB])

    def _fit_columns(self) -> None:
        """Shrink columns for the progress bar in a narrow window, and widen them in a wide one."""
        header = self.header()
        wanted = {
            column: width
            for column, width in self._wanted.items()
            if not header.isSectionHidden(column)
        }
        room = self.viewport().width() - self._scaled(_PROGRESS_LEAST)
        self._resize_columns(self._widened(fitted(wanted, room), room))

    def _widened(self, widths: dict[int, int], room: int) -> dict[int, int]:
        """Let columns of text share the spare width, unless the user has set their widths."""
        spare = room - sum(widths.values()) - self._scaled(_PROGRESS_EASY - _PROGRESS_LEAST)
        if spare <= 0:
            return widths
        return {
            column: width + round(spare * _SHARES.get(Column(column), 0.0))
            if width == self._scaled(_WIDTHS.get(Column(column), 110))
            else width
            for column, width in widths.items()
        }

    def _resize_columns(self, widths: Mapping[int, int]) -> None:
        self._is_fitting = True
        for column, width in widths.items():
            if not self.header().isSectionHidden(column):
                self.header().resizeSection(column, width)
        self._is_fitting = False

    @Slot(int, int, int)
    def _on_column_resized(self, column: int, _before: int, width: int) -> None:
        if not self._is_fitting and column in self._wanted and width:
            self._wanted[column] = width

    def _scaled(self, width: int) -> int:
        """A width for a 13 pixel font, scaled to the current font."""
        return max(width, round(width * self.fontMetrics().height() / 16))

    @Slot(QPoint)
    def _on_columns_requested(self, place: QPoint) -> None:
        self._column_menu.clear()
        for column, about in COLUMNS.items():
            if column in {Column.JOB, Column.ACTIONS}:
                continue
            action = self._column_menu.addAction(about.title())
            action.setData(int(column))
            action.setCheckable(True)
            action.setChecked(not self.header().isSectionHidden(column))
            action.toggled.connect(self._on_column_toggled)
        self._column_menu.popup(self.header().mapToGlobal(place))

    @Slot(bool)
    def _on_column_toggled(self, is_shown: bool) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self._is_fitting = True
            self.header().setSectionHidden(action.data(), not is_shown)
            self._fit_columns()


_START: Final = -1
_OFFERED: Final = (
    *(Column.SERVER, Column.JOB, Column.PROGRESS, Column.STATUS, Column.ENDED, Column.SAVED),
)


class SortChoice(QObject):
    """One action for each sort order; sorted by server, jobs are grouped.

    Follows clicks on the header, and has the same effect.
    """

    def __init__(self, view: QTreeView) -> None:
        super().__init__(view)
        self._view = view
        self._group = QActionGroup(self)
        self._by_column = {_START: self._made("&Start", _START)}
        for column in _OFFERED:
            self._by_column[column] = self._made(COLUMNS[column].title(), column)
        self._group.triggered.connect(self._on_chosen)
        view.header().sortIndicatorChanged.connect(self._on_sorted)
        self._on_sorted(view.header().sortIndicatorSection())

    def add_to(self, menu: QMenu) -> None:
        """Add the choice to `menu`."""
        menu.addActions(self._group.actions())

    def _made(self, text: str, column: int) -> QAction:
        action = QAction(text, self._group)
        action.setCheckable(True)
        action.setData(int(column))
        return action

    @Slot(QAction)
    def _on_chosen(self, action: QAction) -> None:
        self._view.sortByColumn(action.data(), Qt.SortOrder.AscendingOrder)

    @Slot(int)
    def _on_sorted(self, column: int) -> None:
        """Check the current sort order; none if the column is not offered."""
        chosen = self._by_column.get(column)
        for action in self._group.actions():
            action.setChecked(action is chosen)
