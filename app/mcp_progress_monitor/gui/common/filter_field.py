"""A field for the filter language: completion while typing, errors marked in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6 import QtGui
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
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLineEdit,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import mark_invalid
from mcp_progress_monitor.gui.common.tables import RowHover
from mcp_progress_monitor.gui.theme import Appearance, Tone, monospaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QFocusEvent, QHideEvent, QShowEvent

    from mcp_progress_monitor.filtering.completion import Candidate, Completion

_Index = QModelIndex | QPersistentModelIndex

_ROWS: Final = 10
_LONGEST: Final = 80  # characters of a suggestion that are shown
_STEPS: Final = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: _ROWS,
    Qt.Key.Key_PageUp: -_ROWS,
}

_MOVED: Final = QEvent.Type.Move
_ELSEWHERE: Final = frozenset({_MOVED, QEvent.Type.MouseButtonPress})


def _application() -> QCoreApplication:
    """The application, which exists whenever a widget does."""
    found = QCoreApplication.instance()
    if found is None:
        raise RuntimeError("no application")
    return found


class _Candidates(QAbstractTableModel):
    """The completions and their meanings."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._fixed = monospaced(parent.font())
        self.candidates: Sequence[Candidate] = ()

    def show(self, candidates: Sequence[Candidate]) -> None:
        """Set other candidates."""
        self.beginResetModel()
        self.candidates = candidates
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self.candidates)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else 2

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the texts, safe to show; those of the meaning muted."""
        candidate = self.candidates[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(candidate.meaning if index.column() else candidate.text, _LONGEST)
        if role == Qt.ItemDataRole.FontRole and not index.column():
            return self._fixed
        if role == Qt.ItemDataRole.ForegroundRole and index.column():
            return self._appearance.colour(Tone.MUTED)
        return None


class CompletionPopup(QTreeView):
    """The completion list; never has the focus, the field forwards keys to `take_key`.

    It is a separate window, and hides on anything done elsewhere: a mouse press, which has its
    effect there, or a window or pane that moves, as panes do when another comes to the front.
    """

    chosen = Signal(object)  # the text of the selected `Candidate`
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
        self.setAccessibleName("Suggestions for the filter")
        self.setHeaderHidden(True)
        RowHover(self)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._on_clicked)
        self.hide()

    def initViewItemOption(self, option: QStyleOptionViewItem) -> None:
        """Paint the chosen row as one with the focus: the keys of the field act on it."""
        from PySide6.QtWidgets import QStyle  # late: it has 600 values

        super().initViewItemOption(option)
        option.state |= QStyle.StateFlag.State_Active

    def offer(self, candidates: Sequence[Candidate], below: QPoint) -> None:
        """Show candidates below a point of the screen; without any, hide the list."""
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
        """Handle a key while the list is visible; False leaves it to the field.

        Arrows select, Tab takes the selected one or else the first, Enter the selected one, Escape
        hides.
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
        """Watch for actions elsewhere."""
        super().showEvent(event)
        _application().installEventFilter(self)

    def hideEvent(self, event: QHideEvent) -> None:
        """Report that suggestions are no longer in the way."""
        super().hideEvent(event)
        _application().removeEventFilter(self)
        self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hide if something is done elsewhere, which has its usual effect."""
        kind = event.type()
        if kind in _ELSEWHERE and isinstance(watched, QWidget):
            is_within = any(each is watched or each.isAncestorOf(watched) for each in self._own)
            is_away = watched.isAncestorOf(self._field) and self._has_field_moved()
            if is_away if kind is _MOVED else not is_within:
                self.hide()
        return False

    def _has_field_moved(self) -> bool:
        """Return whether the field has moved; a layout moves it by a pixel when its row changes."""
        way = self._field.mapToGlobal(QPoint()) - self._offered_at
        return way.manhattanLength() > self._field.height() // 2

    def _needed(self) -> QSize:
        rows = min(self._candidates.rowCount(), _ROWS)
        frame = 2 * self.frameWidth()
        bar = self.verticalScrollBar().sizeHint().width()
        width = self.columnWidth(0) + self.columnWidth(1) + bar + frame
        return QSize(max(220, min(width, 640)), rows * self.sizeHintForRow(0) + frame)

    def _move(self, by: int) -> None:
        """Move up or down: line by line around the ends, but by page only to the end."""
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


_OPEN_ENDED: Final = ("(", ".", "[")
_ENTER: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class FilterField(QLineEdit):
    """The filter field; `complete` supplies the suggestions, the bar reports errors.

    Every change of the text, typed or not, removes the error mark.
    """

    confirmed = Signal()  # enter was pressed, or the field was left: the text is complete
    help_requested = Signal()

    def __init__(
        self, complete: Callable[[str, int], Completion], appearance: Appearance, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._complete = complete
        self._appearance = appearance
        self._mistake: tuple[int, int] | None = None
        self._popup = CompletionPopup(appearance, self)
        self._popup.chosen.connect(self._on_chosen)
        self.textEdited.connect(self._on_edited)
        self.textChanged.connect(self._on_text_changed)
        appearance.changed.connect(self._on_appearance_changed)

    @property
    def popup(self) -> CompletionPopup:
        return self._popup

    @property
    def mistake(self) -> tuple[int, int] | None:
        """Position and length of the underlined text; None without an error."""
        return self._mistake

    def show_mistake(self, mistake: tuple[int, int] | None) -> None:
        """Turn red and underline `length` characters from `position` on; None removes both.

        Something missing at the end has no length: then the last character is underlined.
        """
        self._mistake = mistake
        mark_invalid(self, self._appearance, is_wrong=mistake is not None)
        self._underline()

    def event(self, event: QEvent) -> bool:
        """Keep the field's keys from the window, and from moving the focus."""
        is_override = event.type() is QEvent.Type.ShortcutOverride
        if isinstance(event, QKeyEvent) and is_override and event.key() == Qt.Key.Key_F1:
            event.accept()  # the filter's own help, not the manual
            return True
        if isinstance(event, QKeyEvent) and self._popup.isVisible():
            if is_override and event.key() in (Qt.Key.Key_Escape, *_ENTER):
                event.accept()
                return True
            is_press = event.type() is QEvent.Type.KeyPress
            if is_press and event.key() == Qt.Key.Key_Tab and self._popup.take_key(event.key()):
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose among the suggestions, or ask for them: Down, Ctrl+Space; Esc empties it."""
        if self._popup.take_key(event.key()):
            return
        is_control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if event.key() == Qt.Key.Key_Down or (is_control and event.key() == Qt.Key.Key_Space):
            self._suggest()
        elif event.key() == Qt.Key.Key_F1:
            self.help_requested.emit()
        elif event.key() in _ENTER:
            self._popup.hide()
            self.confirmed.emit()
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide the suggestions."""
        super().focusOutEvent(event)
        self._popup.hide()
        if event.reason() is not Qt.FocusReason.PopupFocusReason:
            self.confirmed.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        """Hide the suggestions with the field."""
        super().hideEvent(event)
        self._popup.hide()

    def _suggest(self) -> None:
        text = self.text()
        found = self._complete(text, self._cursor())
        written = text[found.start : found.end]
        is_done = [candidate.text for candidate in found.candidates] == [written]
        corner = QPoint(self.cursorRect().left(), self.height())
        self._popup.offer([] if is_done else found.candidates, self.mapToGlobal(corner))

    def _underline(self) -> None:
        """Format part of the text; a line edit accepts formats only from input methods."""
        attributes = []
        if self._mistake is not None and self.text():
            position, length = self._mistake
            start = min(position, len(self.text()) - 1)
            underlined = QtGui.QTextCharFormat()
            underlined.setUnderlineStyle(QtGui.QTextCharFormat.UnderlineStyle.WaveUnderline)
            underlined.setUnderlineColor(self._appearance.colour(Tone.BAD))
            underlined.setFontUnderline(True)
            underlined.setForeground(self._appearance.colour(Tone.BAD))
            attributes.append(
                QInputMethodEvent.Attribute(
                    QInputMethodEvent.AttributeType.TextFormat,
                    _units(self.text(), start) - self.cursorPosition(),
                    _units(self.text()[start:], max(1, length)),
                    underlined,
                )
            )
        QCoreApplication.sendEvent(self, QInputMethodEvent("", attributes))

    def _cursor(self) -> int:
        """The cursor position in characters as Python counts them."""
        before = self.text().encode("utf-16-le", "surrogatepass")[: 2 * self.cursorPosition()]
        return len(before.decode("utf-16-le", "surrogatepass"))

    @Slot()
    def _on_edited(self) -> None:
        """Suggest completions; none for a field that was emptied."""
        if self.text():
            self._suggest()
        else:
            self._popup.hide()

    @Slot()
    def _on_text_changed(self) -> None:
        if self._mistake is not None:
            self.show_mistake(None)

    @Slot(object)
    def _on_chosen(self, chosen: str) -> None:
        text = self.text()
        found = self._complete(text, self._cursor())
        is_last = found.end >= len(text) and not chosen.endswith(_OPEN_ENDED)
        written = chosen + (" " if is_last else "")
        whole = text[: found.start] + written + text[found.end :]
        self.setText(whole)
        self.setCursorPosition(_units(whole, found.start + len(written)))
        self._suggest()

    @Slot()
    def _on_appearance_changed(self) -> None:
        if self._mistake is not None:
            self.show_mistake(self._mistake)


def _units(text: str, count: int) -> int:
    """The number of UTF-16 units in the first `count` characters."""
    return len(text[:count].encode("utf-16-le", "surrogatepass")) // 2
