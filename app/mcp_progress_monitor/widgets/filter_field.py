"""One line of the filter language: suggestions while it is typed, its mistake shown in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QInputMethodEvent, QKeyEvent, QTextCharFormat
from PySide6.QtWidgets import QLineEdit

from mcp_progress_monitor.widgets.appearance import Appearance, Tone
from mcp_progress_monitor.widgets.completion_popup import CompletionPopup
from mcp_progress_monitor.widgets.schema_field import mark_wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QFocusEvent, QHideEvent
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.filtering.completion import Completion

_OPEN_ENDED: Final = ("(", ".", "[")
_ENTER: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class FilterField(QLineEdit):
    """Knows nothing of the language: `complete` has the suggestions, the bar finds mistakes.

    Every change of the text, typed or not, takes the sign of a mistake away.
    """

    confirmed = Signal()
    """Enter was pressed, or the field was left: the text is meant as it is."""
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
        """The list of suggestions."""
        return self._popup

    @property
    def mistake(self) -> tuple[int, int] | None:
        """Position and length of what is underlined; None while nothing is wrong."""
        return self._mistake

    def show_mistake(self, mistake: tuple[int, int] | None) -> None:
        """Turn red and underline `length` characters from `position` on; None is all well.

        What is missing at the end has no length: the last character is underlined then.
        """
        self._mistake = mistake
        mark_wrong(self, self._appearance, is_wrong=mistake is not None)
        self._underline()

    def event(self, event: QEvent) -> bool:
        """Keep the keys of the suggestions from moving the focus or closing anything else."""
        if isinstance(event, QKeyEvent) and self._popup.isVisible():
            is_override = event.type() is QEvent.Type.ShortcutOverride
            if is_override and event.key() in (Qt.Key.Key_Escape, *_ENTER):
                event.accept()
                return True
            is_press = event.type() is QEvent.Type.KeyPress
            if is_press and event.key() == Qt.Key.Key_Tab and self._popup.take_key(event.key()):
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose among the suggestions, or ask for them: Down, Ctrl+Space."""
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
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Put the suggestions away."""
        super().focusOutEvent(event)
        self._popup.hide()
        if event.reason() is not Qt.FocusReason.PopupFocusReason:
            self.confirmed.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        """Put the suggestions away with the field."""
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
        """Format part of the text; a line edit takes formats from input methods alone."""
        attributes = []
        if self._mistake is not None and self.text():
            position, length = self._mistake
            start = min(position, len(self.text()) - 1)
            words = QTextCharFormat()
            words.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            words.setUnderlineColor(self._appearance.colour(Tone.BAD))
            words.setFontUnderline(True)
            words.setForeground(self._appearance.colour(Tone.BAD))
            attributes.append(
                QInputMethodEvent.Attribute(
                    QInputMethodEvent.AttributeType.TextFormat,
                    _units(self.text(), start) - self.cursorPosition(),
                    _units(self.text()[start:], max(1, length)),
                    words,
                )
            )
        QCoreApplication.sendEvent(self, QInputMethodEvent("", attributes))

    def _cursor(self) -> int:
        """Where the cursor stands, in characters of the text as Python counts them."""
        before = self.text().encode("utf-16-le", "surrogatepass")[: 2 * self.cursorPosition()]
        return len(before.decode("utf-16-le", "surrogatepass"))

    @Slot()
    def _on_edited(self) -> None:
        """Suggest how to go on; of a field that was emptied nothing is known to be wanted."""
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
    """The first `count` characters in Qt's units: those beyond the basic plane are two."""
    return len(text[:count].encode("utf-16-le", "surrogatepass")) // 2
