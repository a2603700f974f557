"""The bar over the log: the filter with its mistakes, kinds to show, pause, clear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from mcp_progress_monitor.filtering.chosen import LogFilter
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.widgets.filter_field import FilterField
from mcp_progress_monitor.widgets.log_kinds import LogKinds
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.recent_filters import RecentFilters
from mcp_progress_monitor.widgets.schema_field import plain_label, set_text_colour
from mcp_progress_monitor.widgets.still_label import StillLabel

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QResizeEvent

    from mcp_progress_monitor.filtering.completion import Completion
    from mcp_progress_monitor.filtering.errors import FilterError
    from mcp_progress_monitor.widgets.filter_help import FilterHelp

_TYPING_MS: Final = 150
_WIDE: Final = 820
"""From this width on, in device-independent pixels, buttons have words beside their icons."""


class LogFilterBar(QWidget):
    """Emits a new `LogFilter` a moment after the last key, and at once for everything else.

    While the text is no filter, the last one that was stays in force. `complete` suggests how a
    text goes on from a position of the cursor.
    """

    filter_changed = Signal(object)
    """The `LogFilter` asked for."""
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
        self._filter = LogFilter()
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._field = FilterField(complete, appearance, self)
        self._mistake = plain_label(self)
        self._recent = RecentFilters(self)
        self._help = QToolButton(self)
        self._help_window: FilterHelp | None = None
        self._kinds = LogKinds(appearance, self)
        self._pause = QToolButton(self)
        self._clear = QToolButton(self)
        self._show_all = QToolButton(self)
        self._status = StillLabel(self)
        self._set_up_field()
        self._set_up_buttons()
        self._lay_out()
        self._connect()
        self._use_icons()

    @property
    def recent(self) -> RecentFilters:
        """The filters used last."""
        return self._recent

    @property
    def mistake(self) -> str:
        """What is wrong with the text, in words; empty while nothing is."""
        return "" if self._mistake.isHidden() else self._mistake.text()

    def filter(self) -> LogFilter:
        """Return what is in force."""
        return self._filter

    def set_filter(self, wanted: LogFilter) -> None:
        """Show `wanted` in the controls and ask for it."""
        self._field.setText(wanted.text)
        self._kinds.show_filter(wanted)
        self._apply()
        self._remember()

    def add_term(self, term: str, *, is_excluded: bool = False) -> None:
        """Narrow the filter in force by one more comparison, or leave out what it lets through."""
        from mcp_progress_monitor.filtering.terms import with_term  # late: no start waits for it

        text = with_term(self._filter.text, term, exclude=is_excluded)
        self.set_filter(self._filter._replace(text=text))

    def set_paused(self, *, is_paused: bool) -> None:
        """Press or release the pause button."""
        self._pause.setChecked(is_paused)

    def set_status(self, rows: str, *more: str) -> None:
        """Say how many rows are shown, always in full, and how many searched for or waiting."""
        words = ", ".join((rows, *more))
        self._status.set_text(words, rows)
        self._status.setToolTip(plain_tip(words))

    def set_hidden(self, count: int) -> None:
        """Offer to show again what was cleared away."""
        self._show_all.setVisible(count > 0)

    def add_button(self, button: QToolButton) -> None:
        """Place a button of the table's at the end."""
        self._row.addWidget(button)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the field the room of words that icons say as well."""
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE
        styles = Qt.ToolButtonStyle
        style = styles.ToolButtonTextBesideIcon if is_wide else styles.ToolButtonIconOnly
        for button in (self._pause, self._clear, self._show_all):
            button.setToolButtonStyle(style)

    @Slot()
    def focus_search(self) -> None:
        """Put the cursor into the filter field."""
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()

    def _set_up_field(self) -> None:
        self._field.setPlaceholderText(self.tr("Filter the log: words, or token == 7 and dt > 2"))
        self._field.setClearButtonEnabled(True)
        self._field.setAccessibleName(self.tr("Filter the log"))
        self._field.setToolTip(
            self.tr(
                "Shows messages that the filter lets through (Ctrl+F); Down or Ctrl+Space "
                "suggests how to go on, F1 explains"
            )
        )
        self._field.setMinimumWidth(140)
        self._mistake.setContentsMargins(GAP, 0, GAP, GAP_S)
        self._mistake.setAccessibleName(self.tr("What is wrong with the filter"))
        self._mistake.hide()

    def _set_up_buttons(self) -> None:
        self._help.setAccessibleName(self.tr("Fields and examples"))
        self._help.setToolTip(self.tr("Examples, fields and operators of filters (F1)"))
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
        for button in (self._pause, self._clear, self._show_all):
            button.setAccessibleName(button.text())
        for button in self._buttons():
            button.setAutoRaise(True)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def _buttons(self) -> tuple[QToolButton, ...]:
        return (
            self._recent,
            self._help,
            self._kinds,
            self._pause,
            self._clear,
            self._show_all,
        )

    def _lay_out(self) -> None:
        self._row = row = QHBoxLayout()
        row.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        row.setSpacing(GAP_S)
        row.addWidget(self._field, 1)
        for button in self._buttons():
            row.addWidget(button)
        row.addWidget(self._status)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(self._mistake)

    def _connect(self) -> None:
        self._field.textChanged.connect(self._on_text_changed)
        self._field.popup.closed.connect(self._on_text_changed)
        self._field.confirmed.connect(self._on_confirmed)
        self._field.help_requested.connect(self._on_help_requested)
        self._typing.timeout.connect(self._on_apply_due)
        self._recent.chosen.connect(self._on_text_chosen)
        self._help.clicked.connect(self._on_help_requested)
        self._kinds.changed.connect(self._on_apply_due)
        self._pause.toggled.connect(self.paused_changed)
        self._clear.clicked.connect(self.clear_requested)
        self._show_all.clicked.connect(self.show_all_requested)
        self._appearance.changed.connect(self._on_appearance_changed)

    def _use_icons(self) -> None:
        for button, name in (
            (self._recent, "recent"),
            (self._help, "help"),
            (self._pause, "pause"),
            (self._clear, "clear"),
            (self._show_all, "log"),
        ):
            button.setIcon(self._appearance.icon(name))
        self._kinds.use_icons(self._appearance)
        set_text_colour(self._mistake, self._appearance, Tone.BAD)

    def _apply(self) -> None:
        from mcp_progress_monitor.filtering.errors import FilterError  # late: no start waits for it
        from mcp_progress_monitor.filtering.parsing import parse

        self._typing.stop()
        wanted = self._kinds.applied_to(self._filter)
        text = self._field.text().strip()
        try:
            parse(self._field.text())
        except FilterError as error:
            # What is missing at the end may be among the suggestions that are in sight.
            is_unfinished = not error.length and self._field.popup.isVisible()
            self._show_mistake(None if is_unfinished else error)
        else:
            self._show_mistake(None)
            wanted = wanted._replace(text=text)
        if wanted != self._filter:
            self._filter = wanted
            self.filter_changed.emit(wanted)

    def _show_mistake(self, error: FilterError | None) -> None:
        self._field.show_mistake(None if error is None else (error.position, error.length))
        self._mistake.setText("" if error is None else str(error))
        self._mistake.setVisible(error is not None)

    def _remember(self) -> None:
        if self._field.text().strip() == self._filter.text:
            self._recent.add(self._filter.text)

    @Slot()
    def _on_text_changed(self) -> None:
        self._typing.start()

    @Slot()
    def _on_apply_due(self) -> None:
        self._apply()

    @Slot()
    def _on_confirmed(self) -> None:
        self._apply()
        self._remember()

    @Slot(object)
    def _on_text_chosen(self, text: str) -> None:
        self.set_filter(self._filter._replace(text=text))

    @Slot()
    def _on_help_requested(self) -> None:
        from mcp_progress_monitor.widgets.filter_help import (
            FilterHelp,  # late: no start waits for it
        )

        if self._help_window is None:
            self._help_window = FilterHelp(self)
            self._help_window.example_chosen.connect(self._on_text_chosen)
        self._help_window.show()
        self._help_window.raise_()

    @Slot()
    def _on_appearance_changed(self) -> None:
        self._use_icons()
