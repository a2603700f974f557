"""A search field for a message's tree: finds names and values, opened or not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QToolButton, QWidget

from app.models.json_search import hits
from app.text import number
from app.widgets.appearance import GAP_S, Appearance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.widgets.json_tree import JsonTree

_SLICE_S: Final = 0.004
_MOST: Final = 10_000
"""Hits that are kept; one goes round through these."""


class _Field(QLineEdit):
    """Enter goes to the next hit, Shift+Enter to the previous one, Escape leaves."""

    next_requested = Signal()
    previous_requested = Signal()
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go through the hits without leaving the field."""
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            (self.previous_requested if is_back else self.next_requested).emit()
        elif key == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class TreeSearch(QWidget):
    """The field, the buttons to the hits around, and how many there are.

    Walks through the tree's value in slices; only the way to the hit gone to is opened. Its keys
    work in all of `parent`.
    """

    def __init__(self, tree: JsonTree, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._tree = tree
        self._appearance = appearance
        self._walk: Iterator[tuple[int, ...] | None] | None = None
        self._hits: list[tuple[int, ...]] = []
        self._at = -1
        self._slices = QTimer(self)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._on_slice_due)
        self._field = _Field(self)
        self._previous = self._button(self.tr("Previous place in the message (Shift+F3)"))
        self._next = self._button(self.tr("Next place in the message (F3)"))
        self._count = QLabel(self)
        self._lay_out()
        self._connect()
        self._add_keys(parent)
        self._use_icons()
        self._show_count()

    @property
    def is_searching(self) -> bool:
        """Whether part of the message is still to be searched."""
        return self._walk is not None

    @Slot()
    def focus(self) -> None:
        """Put the cursor into the field."""
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()

    @Slot()
    def begin(self) -> None:
        """Search the tree's value of now; called again whenever it is another."""
        self._hits = []
        self._at = -1
        words = self._field.text()
        self._walk = hits(self._tree.value, words) if words else None
        self._search_slice()

    def _button(self, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    def _lay_out(self) -> None:
        self._field.setPlaceholderText(self.tr("Search the message"))
        self._field.setAccessibleName(self.tr("Search names and values of the message"))
        self._field.setToolTip(
            self.tr(
                "Finds names and values in any case (Ctrl+Shift+F); Enter or F3 goes to the next, "
                "Shift+Enter or Shift+F3 to the previous, Escape to the tree"
            )
        )
        self._field.setClearButtonEnabled(True)
        self._field.setMinimumWidth(80)
        self._count.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout(self)
        row.setContentsMargins(GAP_S, 0, GAP_S, 0)
        row.setSpacing(GAP_S)
        row.addWidget(self._count)
        row.addWidget(self._field)
        row.addWidget(self._previous)
        row.addWidget(self._next)

    def _connect(self) -> None:
        self._field.textChanged.connect(self._on_text_changed)
        self._field.next_requested.connect(self._on_next)
        self._field.previous_requested.connect(self._on_previous)
        self._field.left.connect(self._on_left)
        self._next.clicked.connect(self._on_next)
        self._previous.clicked.connect(self._on_previous)
        self._appearance.changed.connect(self._on_appearance_changed)

    def _add_keys(self, page: QWidget) -> None:
        for key, slot in (
            ("F3", self._on_next),
            ("Shift+F3", self._on_previous),
            ("Ctrl+Shift+F", self.focus),
        ):
            shortcut = QShortcut(QKeySequence(key), page)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    def _use_icons(self) -> None:
        self._previous.setIcon(self._appearance.icon("previous"))
        self._next.setIcon(self._appearance.icon("next"))

    def _search_slice(self) -> None:
        deadline = time.perf_counter() + _SLICE_S
        while self._walk is not None:
            hit = next(self._walk, ())
            if hit == ():
                self._walk = None
            elif hit is not None:
                self._hits.append(hit)
                if len(self._hits) >= _MOST:
                    self._walk = None
            elif time.perf_counter() >= deadline:
                break
        if self._at < 0 and self._hits:
            self._go(0)
        self._show_count()
        if self._walk is None:
            self._slices.stop()
        else:
            self._slices.start()

    def _go(self, to: int) -> None:
        if self._hits:
            self._at = to % len(self._hits)
            self._tree.go_to(self._hits[self._at])
            self._show_count()

    def _show_count(self) -> None:
        count = len(self._hits)
        shown = number(count) + ("…" if self.is_searching else "")
        if count >= _MOST:
            shown = self.tr("more than {count}").format(count=number(_MOST))
        words = ""
        if count:
            words = self.tr("{at} of {count}").format(at=number(self._at + 1), count=shown)
        elif self._field.text():
            words = self.tr("searching…") if self.is_searching else self.tr("not found")
        self._count.setText(words)
        self._next.setEnabled(count > 0)
        self._previous.setEnabled(count > 0)

    @Slot()
    def _on_text_changed(self) -> None:
        self.begin()

    @Slot()
    def _on_next(self) -> None:
        self._go(self._at + 1)

    @Slot()
    def _on_previous(self) -> None:
        self._go(self._at - 1)

    @Slot()
    def _on_left(self) -> None:
        self._tree.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def _on_slice_due(self) -> None:
        self._search_slice()

    @Slot()
    def _on_appearance_changed(self) -> None:
        self._use_icons()
