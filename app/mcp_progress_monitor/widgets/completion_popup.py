"""The list of suggestions under a filter field: seen and chosen from without leaving the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtWidgets import QAbstractItemView, QFrame, QTreeView, QWidget

from mcp_progress_monitor.text import one_line
from mcp_progress_monitor.widgets.appearance import Appearance, Tone, monospaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QHideEvent, QShowEvent

    from mcp_progress_monitor.filtering.completion import Candidate

_Index = QModelIndex | QPersistentModelIndex

_ROWS: Final = 10
_LONGEST: Final = 80
"""Characters of a suggestion that are shown."""
_STEPS: Final = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: _ROWS,
    Qt.Key.Key_PageUp: -_ROWS,
}

_MOVED: Final = QEvent.Type.Move
_ELSEWHERE: Final = frozenset({_MOVED, QEvent.Type.MouseButtonPress})


def _application() -> QCoreApplication:
    """The application, which is there wherever a widget is."""
    found = QCoreApplication.instance()
    if found is None:
        raise RuntimeError("no application")
    return found


class _Candidates(QAbstractTableModel):
    """What can be written, and what it means."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._fixed = monospaced(parent.font())
        self.candidates: Sequence[Candidate] = ()

    def show(self, candidates: Sequence[Candidate]) -> None:
        """Take other candidates."""
        self.beginResetModel()
        self.candidates = candidates
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Return the number of candidates."""
        return 0 if parent.isValid() else len(self.candidates)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        """Return two."""
        return 0 if parent.isValid() else 2

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the words, safe to show; those of the meaning quieter."""
        candidate = self.candidates[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(candidate.meaning if index.column() else candidate.text, _LONGEST)
        if role == Qt.ItemDataRole.FontRole and not index.column():
            return self._fixed
        if role == Qt.ItemDataRole.ForegroundRole and index.column():
            return self._appearance.colour(Tone.MUTED)
        return None


class CompletionPopup(QTreeView):
    """Never has the focus: the field hands on the keys it has no use for, see `take_key`.

    A window of its own, it hides from whatever is done elsewhere: a press of the mouse, which has
    its effect there, or a window or pane that moves, as panes do when another comes to the front.
    """

    chosen = Signal(object)
    """The text of the `Candidate` taken."""
    closed = Signal()

    def __init__(self, appearance: Appearance, field: QWidget) -> None:
        super().__init__(field)
        self._field = field
        self._own = (self, field)
        self._offered_at = QPoint()
        self._candidates = _Candidates(appearance, self)
        self.setWindowFlags(Qt.WindowType.ToolTip)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setModel(self._candidates)
        self.setAccessibleName(self.tr("Suggestions for the filter"))
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._on_clicked)
        self.hide()

    def offer(self, candidates: Sequence[Candidate], below: QPoint) -> None:
        """Show candidates below a point of the screen; none of them hides the list."""
        self._candidates.show(candidates)
        if not candidates:
            self.hide()
            return
        self.resizeColumnToContents(0)
        self.resizeColumnToContents(1)
        self._offered_at = self._field.mapToGlobal(QPoint())
        size = self._needed()
        screen = self._field.screen().availableGeometry()
        left = max(screen.left(), min(below.x(), screen.right() - size.width()))
        top = below.y()
        if top + size.height() > screen.bottom():
            top -= size.height() + self._field.height()
        self.setGeometry(left, top, size.width(), size.height())
        self.show()

    def take_key(self, key: int) -> bool:
        """Do what a key means while the list is in sight; False leaves the key to the field.

        Arrows choose, Tab takes the chosen or else the first, Enter the chosen, Escape hides.
        """
        if not self.isVisible():
            return False
        if key in _STEPS:
            self._move(_STEPS[Qt.Key(key)])
            return True
        current = self.currentIndex().row()
        if key == Qt.Key.Key_Tab or (key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and current >= 0):
            self._take(max(current, 0))
            return True
        if key == Qt.Key.Key_Escape:
            self.hide()
            return True
        return False

    def showEvent(self, event: QShowEvent) -> None:
        """See what is done elsewhere."""
        super().showEvent(event)
        _application().installEventFilter(self)

    def hideEvent(self, event: QHideEvent) -> None:
        """Tell that suggestions are out of the way."""
        super().hideEvent(event)
        _application().removeEventFilter(self)
        self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hide when something is done elsewhere; it is done all the same."""
        kind = event.type()
        if kind in _ELSEWHERE and isinstance(watched, QWidget):
            is_within = any(each is watched or each.isAncestorOf(watched) for each in self._own)
            is_away = watched.isAncestorOf(self._field) and self._has_field_moved()
            if is_away if kind is _MOVED else not is_within:
                self.hide()
        return False

    def _has_field_moved(self) -> bool:
        """Whether the field is elsewhere; a layout moves it a pixel when its row gets fuller."""
        way = self._field.mapToGlobal(QPoint()) - self._offered_at
        return way.manhattanLength() > self._field.height() // 2

    def _needed(self) -> QSize:
        rows = min(self._candidates.rowCount(), _ROWS)
        frame = 2 * self.frameWidth()
        bar = self.verticalScrollBar().sizeHint().width()
        width = self.columnWidth(0) + self.columnWidth(1) + bar + frame
        return QSize(max(220, min(width, 640)), rows * self.sizeHintForRow(0) + frame)

    def _move(self, by: int) -> None:
        """Go up or down, round the ends one by one, never beyond them by a page."""
        last = self._candidates.rowCount() - 1
        current = self.currentIndex().row()
        if current < 0:
            to = 0 if by > 0 else last
        elif abs(by) == 1:
            to = (current + by) % (last + 1)
        else:
            to = max(0, min(last, current + by))
        self.setCurrentIndex(self._candidates.index(to, 0))

    def _take(self, row: int) -> None:
        text = self._candidates.candidates[row].text
        self.hide()
        self.chosen.emit(text)

    @Slot(QModelIndex)
    def _on_clicked(self, index: QModelIndex) -> None:
        self._take(index.row())
