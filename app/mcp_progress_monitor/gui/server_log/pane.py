"""The log messages of servers in the colours of their levels, with a filter by level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QHeaderView,
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from mcp_progress_monitor.formatting import count
from mcp_progress_monitor.gui.common.controls import QuietComboBox
from mcp_progress_monitor.gui.common.layout import in_column, in_row, order_tabs
from mcp_progress_monitor.gui.common.tables import PlainTable, scroll_to_end
from mcp_progress_monitor.gui.server_log.model import NUMBER, RANK, ServerLogFilter, ServerLogModel
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

_TIME, _SERVER, _LEVEL, _LOGGER = range(4)
_DIGITS: Final = {_TIME: 16, _SERVER: 20, _LEVEL: 12, _LOGGER: 18}
_TONES: Final = {"debug": Tone.MUTED, "info": Tone.TEXT, "notice": Tone.ACCENT}
_FROM_WARNING: Final = LOG_LEVELS.index("warning")
_Index = QModelIndex | QPersistentModelIndex


def level_tone(rank: int) -> Tone:
    """The tone of a level by its index in `LOG_LEVELS`; that of a warning for unknown ones."""
    if rank >= len(LOG_LEVELS) or rank == _FROM_WARNING:
        return Tone.WARNING
    return Tone.BAD if rank > _FROM_WARNING else _TONES[LOG_LEVELS[rank]]


class ServerLogPane(QWidget):
    """The newest messages of all servers; follows the end while it is watched."""

    frame_followed = Signal(object)  # the number of the frame with a message

    def __init__(
        self, messages: ServerLogModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._messages = messages
        self._is_at_end = self._is_watched = True
        self.shown = ServerLogFilter(messages, self)
        self.table = PlainTable(
            self.shown, "Log messages of all servers", self, empty="No server has logged anything"
        )
        self.table.setItemDelegate(_LevelDelegate(appearance, self.table))
        self.table.setToolTip("Show the message in Traffic (Enter)")
        self.table.activated.connect(self._on_activated)
        self.least = QuietComboBox(self)
        for level in LOG_LEVELS:
            self.least.addItem(level)
        self.least.setAccessibleName("Minimum level")
        self.least.setToolTip(
            "Show messages of this level and above. “Log level” in the server's menu sets "
            "what the server sends"
        )
        self.least.currentIndexChanged.connect(self._on_least_chosen)
        self.state = QLabel(self)
        self._lay_out()
        order_tabs(self)
        self.shown.rowsAboutToBeInserted.connect(self._on_rows_coming)
        for signal in (self.shown.rowsInserted, self.shown.rowsRemoved, self.shown.modelReset):
            signal.connect(self._on_rows_changed)
        appearance.changed.connect(self.table.viewport().update)
        self._on_rows_changed()

    def _lay_out(self) -> None:
        header = self.table.horizontalHeader()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        digit = self.table.fontMetrics().horizontalAdvance("0")
        for column, digits in _DIGITS.items():
            self.table.setColumnWidth(column, digit * digits)
        label = QLabel("Minimum l&evel", self)
        label.setBuddy(self.least)
        head = in_row(
            label, self.least, (self.state, 1), margins=(GAP, GAP_S, GAP, GAP_S), spacing=GAP
        )
        in_column(head, (self.table, 1), of=self, margins=0, spacing=0)

    @Slot(int)
    def _on_least_chosen(self, place: int) -> None:
        self.shown.set_least(place)
        self.table.scrollToBottom()
        self._on_rows_changed()

    @Slot(bool)
    def set_watched(self, is_watched: bool) -> None:
        """Do nothing behind another tab, where Qt keeps panes shown; catch up when in front."""
        self._on_rows_coming()
        self._is_watched = is_watched
        self._on_rows_changed()

    @Slot()
    def _on_rows_coming(self) -> None:
        if self._is_watched:
            bar = self.table.verticalScrollBar()
            self._is_at_end = bar.value() >= bar.maximum()

    @Slot()
    def _on_rows_changed(self) -> None:
        if not self._is_watched:
            return
        if self._is_at_end:
            scroll_to_end(self.table)
        shown, known = self.shown.rowCount(), self._messages.rowCount()
        if not known:
            text = "No log messages yet."
        else:
            text = count(known, "message", "messages")
            if known > shown:
                less = "{count} below this level are hidden"
                text = f"{text}, {less.format(count=known - shown)}"
        self.state.setText(text)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        number = index.data(NUMBER)
        if number is not None:
            self.frame_followed.emit(number)


class _LevelDelegate(QStyledItemDelegate):
    """Paints level and message in the colour of the level."""

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        super().initStyleOption(option, index)
        rank = index.data(RANK)
        if rank is None:
            return
        tone = level_tone(rank) if index.column() >= _LEVEL else Tone.MUTED
        palette = option.palette
        palette.setColor(QPalette.ColorRole.Text, self._appearance.colour(tone))
        option.palette = palette
