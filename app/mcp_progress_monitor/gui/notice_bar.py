"""A bar above the jobs that shows errors: what happened and what to try, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QSizePolicy, QWidget

from mcp_progress_monitor.formatting import visible
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.layout import in_column, in_row, order_tabs, viewport_of
from mcp_progress_monitor.gui.theme import GAP_S, monospaced

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QResizeEvent

    from mcp_progress_monitor.errors import ErrorDetails

_KEPT: Final = 50
_MOST_LINES: Final = 9
_LEAST_LINES: Final = 3  # fewest visible lines: the rest can be scrolled to


_ACTIONS: Final = 2


class NoticeAction(NamedTuple):
    """A button of a notice."""

    text: str
    tip: str
    run: Callable[[], object]


class NoticeBar(QFrame):
    """Shows one notice at a time, the newest first; hidden if there is none.

    It may contain server text: everything is plain text, and of bounded length. However long, its
    hint is three lines, so that it never makes a window grow.
    """

    emptied = Signal()
    doctor_requested = Signal(object)
    """The `ErrorDetails` of a server for the doctor; see `set_doctor`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName("Notices")
        self._errors: list[ErrorDetails] = []
        self._actions: dict[ErrorDetails, tuple[NoticeAction, ...]] = {}
        self._what = self._label(bold=True)
        self._hint = self._label(bold=False)
        self._detail = self._label(bold=False)
        self._detail.setAccessibleName("Notice details")
        self._detail.setFont(monospaced(self.font()))  # aligns carets
        page = QWidget(self)
        self._text = _NoticeText(page, self)
        self._next = QPushButton(self)
        self._next.setAccessibleName("Dismiss this notice")
        self._next.setToolTip("Dismiss (Esc)")
        self._next.clicked.connect(self._on_dismissed)
        self._all = QPushButton("Dismiss &all", self)
        self._all.setToolTip("Dismiss all notices")
        self._all.clicked.connect(self._on_all_dismissed)
        self._can_help: Callable[[ErrorDetails], bool] | None = None
        self._doctor = QPushButton("Connection &doctor", self)
        self._doctor.setToolTip("Diagnose the server's connection")
        self._doctor.clicked.connect(self._on_doctor)
        self._doctor.hide()
        self._buttons = [QPushButton(self) for _ in range(_ACTIONS)]
        for button in self._buttons:
            button.clicked.connect(self._on_action)
            button.hide()
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape.activated.connect(self._on_dismissed)
        self._lay_out(page)
        order_tabs(self)
        self.hide()

    def show_error(
        self,
        error: ErrorDetails,
        actions: tuple[NoticeAction, ...] = (),
        instead_of: ErrorDetails | None = None,
    ) -> None:
        """Show `error` before those not yet dismissed; equal ones are shown once.

        It offers its `actions`, at most two. News of what is shown takes the place of `instead_of`.
        """
        place = len(self._errors)
        if instead_of in self._errors:
            place = self._errors.index(instead_of)
        kept = [each for each in self._errors[:place] if each != error]
        rest = [each for each in self._errors[place:] if each not in (error, instead_of)]
        self._errors = [*kept, error, *rest][-_KEPT:]
        self._actions = {each: self._actions.get(each, ()) for each in self._errors}
        self._actions[error] = actions
        self._refresh()

    def withdraw(self, error: ErrorDetails) -> None:
        """Show `error` no longer: it was dealt with, or there is news of it."""
        if error in self._errors:
            self._errors.remove(error)
            self._refresh()

    def set_doctor(self, can_help: Callable[[ErrorDetails], bool]) -> None:
        """Offer the doctor for errors for which `can_help` is true: those of a server."""
        self._can_help = can_help
        self._refresh()

    def errors(self) -> tuple[ErrorDetails, ...]:
        return tuple(self._errors)

    def _label(self, *, bold: bool) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if bold:
            font = label.font()
            font.setBold(True)
            label.setFont(font)
        return label

    def _lay_out(self, page: QWidget) -> None:
        in_column(self._what, self._hint, self._detail, 1, of=page, margins=0, spacing=GAP_S)
        self._text.setAccessibleName("Notice text")
        row = in_row((self._text, 1), of=self, margins=(10, 6, 8, 6))
        for button in (self._doctor, *self._buttons, self._next, self._all):
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)

    def _refresh(self) -> None:
        self.setVisible(bool(self._errors))
        if not self._errors:
            self.emptied.emit()
            return
        error = self._errors[-1]
        self._doctor.setVisible(self._can_help is not None and self._can_help(error))
        actions = self._actions.get(error, ())
        for place, button in enumerate(self._buttons):
            button.setVisible(place < len(actions))
            for action in actions[place : place + 1]:
                button.setText(action.text)
                button.setToolTip(plain_tip(action.tip))
        head = f"{error.what} — {error.where}" if error.where else error.what
        self._what.setText(visible(head)[:1000])
        self._hint.setText(visible(error.hint)[:1000])
        self._hint.setVisible(bool(error.hint))
        self._detail.setText(visible(error.detail[:20_000], keep_line_ends=True))
        self._detail.setVisible(bool(error.detail))
        self._text.begin()
        waiting = len(self._errors) - 1
        self._all.setVisible(waiting > 0)
        self._next.setText("Dismiss" if not waiting else f"Dismiss ({waiting} more)")

    @Slot()
    def _on_doctor(self) -> None:
        self.doctor_requested.emit(self._errors[-1])

    @Slot()
    def _on_action(self) -> None:
        actions = self._actions.get(self._errors[-1], ())
        for button, action in zip(self._buttons, actions, strict=False):
            if button is self.sender():
                action.run()

    @Slot()
    def _on_dismissed(self) -> None:
        if self._errors:
            self._errors.pop()
        self._refresh()

    @Slot()
    def _on_all_dismissed(self) -> None:
        self._errors.clear()
        self._refresh()


class _NoticeText(QScrollArea):
    """As high as its text, within bounds, and narrow enough for any window."""

    def __init__(self, page: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._page = page
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        # Transparent, to show the bar's background.
        viewport_of(self).setAutoFillBackground(False)

    def begin(self) -> None:
        self.verticalScrollBar().setValue(0)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(300, min(self._height(), _MOST_LINES * self.fontMetrics().lineSpacing()))

    def minimumSizeHint(self) -> QSize:
        """A few lines: the rest can be scrolled to."""
        return QSize(80, min(self._height(), _LEAST_LINES * self.fontMetrics().lineSpacing()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Update the height: text wraps differently at another width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _height(self) -> int:
        return max(1, self._page.heightForWidth(self.viewport().width()))
