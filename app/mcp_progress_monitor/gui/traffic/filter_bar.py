"""The bar above Traffic: the filter, recent filters, kinds to show, pause and clear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import (
    ElidedLabel,
    plain_label,
    plain_tip,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.filter_field import FilterField
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.gui.traffic.commands import CLEAR, FIND, PAUSE
from mcp_progress_monitor.protocol.frames import Channel, FrameKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from PySide6.QtGui import QResizeEvent

    from mcp_progress_monitor.filtering.completion import Completion
    from mcp_progress_monitor.filtering.filter import FilterError
    from mcp_progress_monitor.gui.traffic.filter_help import FilterHelp

MOST: Final = 20
_LONGEST: Final = 4_000  # characters of a filter that is remembered
_SHOWN: Final = 90


class RecentFilters(QToolButton):
    """A button with a menu of filters: those the user keeps, then recent ones, newest first."""

    chosen = Signal(object)  # the text of the selected filter

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.texts: list[str] = []
        self.kept: list[str] = []
        """The filters that the user keeps, the newest last."""
        self._current = ""
        self._keep = QAction("&Keep this filter", self, checkable=True)
        self._keep.setObjectName("traffic.keep-filter")
        self._keep.toggled.connect(self._on_keep_toggled)
        self._menu = QMenu(self)
        self._menu.triggered.connect(self._on_triggered)
        self.setMenu(self._menu)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setAccessibleName("Recent filters")
        self.setToolTip("Choose a recent filter, or keep the one in use")
        self._show()

    def add(self, text: str) -> None:
        text = text.strip()
        if text and len(text) <= _LONGEST:
            others = [other for other in self.texts if other != text]
            self.texts = [text, *others][:MOST]
            self._show()

    def show_current(self, text: str) -> None:
        """Offer to keep the filter in use."""
        self._current = text
        self._show()

    def restore(self, texts: object, kept: object = None) -> None:
        self.texts = []
        self.kept = list(dict.fromkeys(_filters(kept)))
        for text in _filters(texts)[MOST - 1 :: -1]:
            self.add(text)
        self._show()

    def _show(self) -> None:
        blocker = QSignalBlocker(self._keep)
        self._keep.setChecked(self._current in self.kept)
        self._keep.setEnabled(bool(self._current))
        blocker.unblock()
        self._menu.clear()
        self._menu.addAction(self._keep)
        recent = [text for text in self.texts if text not in self.kept]
        for texts in (self.kept, recent):
            self._menu.addSeparator()
            for text in texts:
                action = self._menu.addAction(one_line(text, _SHOWN).replace("&", "&&"))
                action.setData(text)
        if not recent:
            self._menu.addAction("No recent filters").setEnabled(False)

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        if action is not self._keep:
            self.chosen.emit(action.data())

    @Slot(bool)
    def _on_keep_toggled(self, is_kept: bool) -> None:
        self.kept = [text for text in self.kept if text != self._current]
        if is_kept:
            self.kept.append(self._current)
        self._show()


def _filters(found: object) -> list[str]:
    """Return the remembered values that are filters."""
    values: Iterable[object] = found if isinstance(found, list) else ()
    return [text for text in values if isinstance(text, str) and len(text) <= _LONGEST]


_Key = TypeVar("_Key", Channel, FrameKind)
_OF_CHANNELS = frozenset({FrameKind.STDERR, FrameKind.EVENT})
"""Kinds that are not messages: only their channel shows or hides them."""


class KindsButton(QToolButton):
    """A menu of kinds to show; the button has a dot while some are hidden."""

    changed = Signal()
    fold_changed = Signal(bool)

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._menu = QMenu(self)
        self._channels = self._checks(
            {
                Channel.SENT: "Sent",
                Channel.RECEIVED: "Received",
                Channel.STDERR: "Standard error",
                Channel.EVENT: "Connection events",
            }
        )
        self._kinds = self._checks(
            {
                FrameKind.REQUEST: "Requests",
                FrameKind.REPLY: "Replies",
                FrameKind.ERROR: "Error replies",
                FrameKind.PROGRESS: "Progress",
                FrameKind.OCCURRENCE: "Events of servers",
                FrameKind.NOTIFICATION: "Other notifications",
                FrameKind.UNREADABLE: "Unreadable",
                FrameKind.BATCH: "Batches",
            }
        )
        self._with_findings = self._check("Only messages with findings")
        self._with_findings.setChecked(False)
        self._all = self._menu.addAction("Show all")
        self._menu.addSeparator()
        self._fold = self._check("Fold progress of a request")
        self._fold.setToolTip(
            "Show the progress notifications of a request between two other messages as one row"
        )
        self._fold.setChecked(False)
        self._fold.toggled.connect(self.fold_changed)
        self._menu.setToolTipsVisible(True)
        self._menu.triggered.connect(self._on_triggered)
        self.setMenu(self._menu)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setAccessibleName("Kinds")
        self.setToolTip("Choose directions and kinds of messages to show, and whether to fold")
        self._show_dot()
        self.use_icons(appearance)

    @property
    def folds_ticks(self) -> bool:
        return self._fold.isChecked()

    def set_folded(self, *, is_folded: bool) -> None:
        """Check whether ticks are folded."""
        self._fold.setChecked(is_folded)

    def applied_to(self, wanted: TrafficFilter) -> TrafficFilter:
        """`wanted` with the checked kinds."""
        kinds = {kind for kind, action in self._kinds.items() if action.isChecked()}
        return wanted._replace(
            channels=frozenset(
                channel for channel, action in self._channels.items() if action.isChecked()
            ),
            kinds=frozenset(kinds | _OF_CHANNELS),
            irregular_only=self._with_findings.isChecked(),
        )

    def show_filter(self, wanted: TrafficFilter) -> None:
        """Check the kinds that `wanted` shows; emits no signal."""
        for channel, action in self._channels.items():
            action.setChecked(channel in wanted.channels)
        for kind, action in self._kinds.items():
            action.setChecked(kind in wanted.kinds)
        self._with_findings.setChecked(wanted.irregular_only)
        self._show_dot()

    def use_icons(self, appearance: Appearance) -> None:
        """Use icons for the current palette."""
        self.setIcon(appearance.icon("filter"))
        self._with_findings.setIcon(appearance.icon("warning", Tone.WARNING))

    def _checks(self, names: Mapping[_Key, str]) -> dict[_Key, QAction]:
        actions = {key: self._check(name) for key, name in names.items()}
        self._menu.addSeparator()
        return actions

    def _check(self, name: str) -> QAction:
        action = self._menu.addAction(name)
        action.setCheckable(True)
        action.setChecked(True)
        return action

    def _show_dot(self) -> None:
        is_narrowed = self.applied_to(TrafficFilter()).is_narrowed
        self.setText("Kinds •" if is_narrowed else "Kinds")

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        if action is self._fold:
            return
        if action is self._all:
            self.show_filter(TrafficFilter())
        self._show_dot()
        self.changed.emit()


_TYPING_MS: Final = 150
_WIDE: Final = 820
"""From this width on, in device-independent pixels, buttons have text beside their icons."""


class TrafficFilterBar(QWidget):
    """Emits a new `TrafficFilter` shortly after the last key press, and at once for other changes.

    While the text is invalid, the last valid filter stays in force. `complete` suggests completions
    at a cursor position.
    """

    filter_changed = Signal(object)  # the requested `TrafficFilter`
    paused_changed = Signal(bool)
    clear_requested = Signal()
    show_all_requested = Signal()

    def __init__(
        self,
        complete: Callable[[str, int], Completion],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._filter = TrafficFilter()
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._field = FilterField(complete, appearance, self)
        self._mistake = plain_label(self)
        self.recent = RecentFilters(self)
        self._help = QToolButton(self)
        self._help_window: FilterHelp | None = None
        self.kinds = KindsButton(appearance, self)
        self._pause = QToolButton(self)
        self._clear = QToolButton(self)
        self._show_all = QToolButton(self)
        self._status = ElidedLabel(self)
        self._set_up_field()
        self._set_up_buttons()
        self._lay_out()
        self._connect()
        self._use_icons()

    @property
    def mistake(self) -> str:
        return "" if self._mistake.isHidden() else self._mistake.text()

    def filter(self) -> TrafficFilter:
        """Return the filter in force."""
        return self._filter

    def set_filter(self, wanted: TrafficFilter) -> None:
        """Show `wanted` in the controls and apply it."""
        self._field.setText(wanted.text)
        self.kinds.show_filter(wanted)
        self._apply()
        self._remember()

    def add_term(self, term: str, *, is_excluded: bool = False) -> None:
        """Add a comparison to the filter in force, or exclude what it matches."""
        from mcp_progress_monitor.filtering.language import with_term  # late: not needed at startup

        text = with_term(self._filter.text, term, exclude=is_excluded)
        self.set_filter(self._filter._replace(text=text))

    def set_paused(self, *, is_paused: bool) -> None:
        self._pause.setChecked(is_paused)

    def set_status(self, first: str, *more: str) -> None:
        """Say how many rows are shown or selected, always in full, then what else there is."""
        text = ", ".join((first, *more))
        self._status.set_text(text, first)
        self._status.setToolTip(plain_tip(text))

    def set_hidden(self, count: int) -> None:
        """Offer to show cleared messages again."""
        self._show_all.setVisible(count > 0)

    def add_button(self, button: QToolButton) -> None:
        """Add a button at the end."""
        self._row.addWidget(button)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Replace button texts by icons if the field needs the room."""
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE
        styles = Qt.ToolButtonStyle
        style = styles.ToolButtonTextBesideIcon if is_wide else styles.ToolButtonIconOnly
        for button in (self._pause, self._clear, self._show_all):
            button.setToolButtonStyle(style)

    @Slot()
    def focus_search(self) -> None:
        """Set the cursor into the filter field."""
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()

    def _set_up_field(self) -> None:
        self._field.setPlaceholderText("Filter traffic: text, or token == 7 and dt > 2")
        self._field.setClearButtonEnabled(True)
        self._field.setAccessibleName("Filter traffic")
        KeyAction(FIND, self.parentWidget() or self, self.focus_search, self._field)
        self._field.setMinimumWidth(140)
        self._mistake.setContentsMargins(GAP, 0, GAP, GAP_S)
        self._mistake.setAccessibleName("Error in the filter")
        self._mistake.hide()

    def _set_up_buttons(self) -> None:
        self._help.setAccessibleName("Fields and examples")
        self._help.setToolTip("Show examples, fields and operators of filters (F1)")
        self._pause.setText("Pause")
        self._pause.setCheckable(True)
        KeyAction(PAUSE, self, self._pause.click, self._pause)
        self._clear.setText("Clear view")
        KeyAction(CLEAR, self, self._clear.click, self._clear)
        self._show_all.setText("Show cleared")
        self._show_all.setToolTip("Show the cleared rows again")
        self._show_all.hide()
        for button in (self._pause, self._clear, self._show_all):
            button.setAccessibleName(button.text())
        for button in self._buttons():
            button.setAutoRaise(True)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def _buttons(self) -> tuple[QToolButton, ...]:
        return (self.recent, self._help, self.kinds, self._pause, self._clear, self._show_all)

    def _lay_out(self) -> None:
        self._row = row = QHBoxLayout()
        row.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        row.setSpacing(GAP_S)
        row.addWidget(self._field, 1)
        for button in self._buttons():
            row.addWidget(button)
        row.addWidget(self._status)
        in_column(row, self._mistake, of=self, margins=0, spacing=0)

    def _connect(self) -> None:
        self._field.textChanged.connect(self._on_text_changed)
        self._field.popup.closed.connect(self._on_text_changed)
        self._field.confirmed.connect(self._on_confirmed)
        self._field.help_requested.connect(self._on_help_requested)
        self._typing.timeout.connect(self._apply)
        self.recent.chosen.connect(self._on_text_chosen)
        self._help.clicked.connect(self._on_help_requested)
        self.kinds.changed.connect(self._apply)
        self._pause.toggled.connect(self.paused_changed)
        self._clear.clicked.connect(self.clear_requested)
        self._show_all.clicked.connect(self.show_all_requested)

    @Slot()
    def _use_icons(self) -> None:
        for button, name in (
            (self.recent, "recent"),
            (self._help, "help"),
            (self._pause, "pause"),
            (self._clear, "clear"),
            (self._show_all, "log"),
        ):
            button.setIcon(self._appearance.icon(name))
        self.kinds.use_icons(self._appearance)
        set_text_colour(self._mistake, self._appearance, Tone.BAD)

    @Slot()
    def _apply(self) -> None:
        from mcp_progress_monitor.filtering.filter import FilterError  # late: not needed at startup
        from mcp_progress_monitor.filtering.language import parse

        self._typing.stop()
        wanted = self.kinds.applied_to(self._filter)
        text = self._field.text().strip()
        try:
            parse(self._field.text())
        except FilterError as error:
            # An unfinished end may be completed by a visible suggestion.
            is_unfinished = not error.length and self._field.popup.isVisible()
            self._show_mistake(None if is_unfinished else error)
        else:
            self._show_mistake(None)
            wanted = wanted._replace(text=text)
        if wanted != self._filter:
            self._filter = wanted
            self.recent.show_current(wanted.text)
            self.filter_changed.emit(wanted)

    def _show_mistake(self, error: FilterError | None) -> None:
        self._field.show_mistake(None if error is None else (error.position, error.length))
        self._mistake.setText("" if error is None else str(error))
        self._mistake.setVisible(error is not None)

    def _remember(self) -> None:
        if self._field.text().strip() == self._filter.text:
            self.recent.add(self._filter.text)

    @Slot()
    def _on_text_changed(self) -> None:
        self._typing.start()

    @Slot()
    def _on_confirmed(self) -> None:
        self._apply()
        self._remember()

    @Slot(object)
    def _on_text_chosen(self, text: str) -> None:
        self.set_filter(self._filter._replace(text=text))

    @Slot()
    def _on_help_requested(self) -> None:
        from mcp_progress_monitor.gui.traffic.filter_help import FilterHelp

        if self._help_window is None:
            self._help_window = FilterHelp(self)
            self._help_window.example_chosen.connect(self._on_text_chosen)
        self._help_window.show()
        self._help_window.raise_()
