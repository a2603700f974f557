"""The bar over the log: what to search for, which kinds to show, pause, clear."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.filtering.chosen import LogFilter
from app.protocol.frame import Channel
from app.protocol.frame_kind import FrameKind
from app.widgets.appearance import GAP, GAP_S, Appearance, Tone

_TYPING_MS: Final = 150


class LogFilterBar(QWidget):
    """Emits a new `LogFilter` a moment after the last key, and at once for everything else."""

    filter_changed = Signal(object)
    """The `LogFilter` asked for."""
    paused_changed = Signal(bool)
    clear_requested = Signal()
    show_all_requested = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._filter = LogFilter()
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._search = QLineEdit(self)
        self._shown = QToolButton(self)
        self._pause = QToolButton(self)
        self._clear = QToolButton(self)
        self._show_all = QToolButton(self)
        self._status = QLabel(self)
        self._channels: dict[Channel, QAction] = {}
        self._kinds: dict[FrameKind, QAction] = {}
        self._set_up_search()
        self._set_up_menu()
        self._set_up_buttons()
        self._lay_out()
        self._connect()
        self._use_icons()

    def filter(self) -> LogFilter:
        """Return what is asked for."""
        return self._filter

    def set_filter(self, wanted: LogFilter) -> None:
        """Show `wanted` in the controls and ask for it."""
        self._search.setText(wanted.text)
        for channel, action in self._channels.items():
            action.setChecked(channel in wanted.channels)
        for kind, action in self._kinds.items():
            action.setChecked(kind in wanted.kinds)
        self._irregular.setChecked(wanted.irregular_only)
        self._apply()

    def set_paused(self, *, is_paused: bool) -> None:
        """Press or release the pause button."""
        self._pause.setChecked(is_paused)

    def set_status(self, words: str) -> None:
        """Say how many rows are shown, searched for, or waiting."""
        self._status.setText(words)

    def set_hidden(self, count: int) -> None:
        """Offer to show again what was cleared away."""
        self._show_all.setVisible(count > 0)

    def add_button(self, button: QToolButton) -> None:
        """Place a button of the table's at the end."""
        self._row.addWidget(button)

    @Slot()
    def focus_search(self) -> None:
        """Put the cursor into the search field."""
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def _set_up_search(self) -> None:
        self._search.setPlaceholderText(self.tr('Search the log: words, "several words"'))
        self._search.setClearButtonEnabled(True)
        self._search.setAccessibleName(self.tr("Search the log"))
        self._search.setToolTip(
            self.tr("Shows messages whose bytes hold all these words, in any case (Ctrl+F)")
        )

    def _set_up_menu(self) -> None:
        menu = QMenu(self)
        names = {
            Channel.SENT: self.tr("Sent"),
            Channel.RECEIVED: self.tr("Received"),
            Channel.STDERR: self.tr("Standard error"),
            Channel.EVENT: self.tr("Connection events"),
        }
        for channel, name in names.items():
            self._channels[channel] = self._check(menu, name)
        menu.addSeparator()
        for kind, name in self._kind_names().items():
            self._kinds[kind] = self._check(menu, name)
        menu.addSeparator()
        self._irregular = self._check(menu, self.tr("Only what is not in order"))
        self._irregular.setChecked(False)
        self._all = menu.addAction(self.tr("Show all of them"))
        self._shown.setMenu(menu)
        self._menu = menu

    def _check(self, menu: QMenu, name: str) -> QAction:
        action = menu.addAction(name)
        action.setCheckable(True)
        action.setChecked(True)
        return action

    def _kind_names(self) -> dict[FrameKind, str]:
        return {
            FrameKind.REQUEST: self.tr("Requests"),
            FrameKind.REPLY: self.tr("Replies"),
            FrameKind.ERROR: self.tr("Error replies"),
            FrameKind.PROGRESS: self.tr("Progress"),
            FrameKind.NOTIFICATION: self.tr("Other notifications"),
            FrameKind.UNREADABLE: self.tr("Unreadable"),
            FrameKind.BATCH: self.tr("Batches"),
        }

    def _set_up_buttons(self) -> None:
        self._shown.setText(self.tr("Kinds"))
        self._shown.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._shown.setToolTip(self.tr("Choose directions and kinds of messages to show"))
        self._pause.setText(self.tr("Pause"))
        self._pause.setCheckable(True)
        self._pause.setShortcut(QKeySequence(self.tr("Ctrl+Shift+P")))
        self._pause.setToolTip(
            self.tr("Let the view stand still; recording goes on (Ctrl+Shift+P)")
        )
        self._clear.setText(self.tr("Clear view"))
        self._clear.setShortcut(QKeySequence(self.tr("Ctrl+L")))
        self._clear.setToolTip(self.tr("Hide all rows of now; nothing is deleted (Ctrl+L)"))
        self._show_all.setText(self.tr("Show cleared"))
        self._show_all.setToolTip(self.tr("Show again the rows that were cleared away"))
        self._show_all.hide()
        for button in (self._shown, self._pause, self._clear, self._show_all):
            button.setAutoRaise(True)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.setAccessibleName(button.text())
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)

    def _lay_out(self) -> None:
        self._search.setMinimumWidth(140)
        self._status.setTextFormat(Qt.TextFormat.PlainText)
        self._status.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        row.setSpacing(GAP_S)
        row.addWidget(self._search, 3)
        for button in (self._shown, self._pause, self._clear, self._show_all):
            row.addWidget(button)
        row.addWidget(self._status, 2)

    def _connect(self) -> None:
        self._search.textChanged.connect(self._on_text_changed)
        self._search.returnPressed.connect(self._on_apply_due)
        self._typing.timeout.connect(self._on_apply_due)
        self._menu.triggered.connect(self._on_kind_toggled)
        self._pause.toggled.connect(self.paused_changed)
        self._clear.clicked.connect(self.clear_requested)
        self._show_all.clicked.connect(self.show_all_requested)
        self._appearance.changed.connect(self._on_appearance_changed)

    def _use_icons(self) -> None:
        for button, name in (
            (self._shown, "filter"),
            (self._pause, "pause"),
            (self._clear, "clear"),
            (self._show_all, "log"),
        ):
            button.setIcon(self._appearance.icon(name))
        self._irregular.setIcon(self._appearance.icon("warning", Tone.WARNING))

    def _apply(self) -> None:
        self._typing.stop()
        kinds = {kind for kind, action in self._kinds.items() if action.isChecked()}
        wanted = LogFilter(
            self._search.text(),
            frozenset(channel for channel, action in self._channels.items() if action.isChecked()),
            # Lines of stderr and events are no messages: their channel alone shows or hides them.
            frozenset(kinds | {FrameKind.STDERR, FrameKind.EVENT}),
            self._irregular.isChecked(),
        )
        self._shown.setText(self.tr("Kinds •") if wanted.is_narrowed else self.tr("Kinds"))
        if wanted != self._filter:
            self._filter = wanted
            self.filter_changed.emit(wanted)

    @Slot()
    def _on_text_changed(self) -> None:
        self._typing.start()

    @Slot()
    def _on_apply_due(self) -> None:
        self._apply()

    @Slot(QAction)
    def _on_kind_toggled(self, action: QAction) -> None:
        if action is self._all:
            for each in (*self._channels.values(), *self._kinds.values()):
                each.setChecked(True)
            self._irregular.setChecked(False)
        self._apply()

    @Slot()
    def _on_appearance_changed(self) -> None:
        self._use_icons()
