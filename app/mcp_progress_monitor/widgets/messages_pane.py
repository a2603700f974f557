"""What servers log by the protocol itself, with the colours of its levels and a filter by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.models.messages import NUMBER, RANK, MessageFilter, MessagesModel
from mcp_progress_monitor.sessions.log_levels import LOG_LEVELS
from mcp_progress_monitor.text import count
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.widgets.job_sections import PlainTable
from mcp_progress_monitor.widgets.schema_field import QuietComboBox
from mcp_progress_monitor.widgets.scrolling import scroll_to_end

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

_TIME, _SERVER, _LEVEL, _LOGGER = range(4)
_DIGITS: Final = {_TIME: 16, _SERVER: 20, _LEVEL: 12, _LOGGER: 18}
_TONES: Final = {"debug": Tone.MUTED, "info": Tone.TEXT, "notice": Tone.ACCENT}
_FROM_WARNING: Final = LOG_LEVELS.index("warning")
_Index = QModelIndex | QPersistentModelIndex


def level_tone(rank: int) -> Tone:
    """The tone of a level by its place in `LOG_LEVELS`; one that nobody knows warns."""
    if rank >= len(LOG_LEVELS) or rank == _FROM_WARNING:
        return Tone.WARNING
    return Tone.BAD if rank > _FROM_WARNING else _TONES[LOG_LEVELS[rank]]


class MessagesPane(QWidget):
    """The newest messages of all servers; it follows the end while that is in sight."""

    frame_followed = Signal(object)
    """The number of the frame that brought a message."""

    def __init__(
        self, messages: MessagesModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._messages = messages
        self._is_at_end = True
        self.shown = MessageFilter(messages, self)
        self.table = PlainTable(self.shown, self.tr("Log messages of all servers"), self)
        self.table.setItemDelegate(_LevelDelegate(appearance, self.table))
        self.table.setToolTip(self.tr("Enter shows the message in the log"))
        self.table.activated.connect(self._on_activated)
        self.least = QuietComboBox(self)
        for level in LOG_LEVELS:
            self.least.addItem(level)
        self.least.setAccessibleName(self.tr("Least level"))
        self.least.setToolTip(
            self.tr(
                "Show messages of this level and above. What a server sends at all is chosen by "
                "“Log level” in its menu"
            )
        )
        self.least.currentIndexChanged.connect(self._on_least_chosen)
        self.state = QLabel(self)
        self._lay_out()
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
        label = QLabel(self.tr("L&evel from"), self)
        label.setBuddy(self.least)
        head = QHBoxLayout()
        head.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        head.setSpacing(GAP)
        head.addWidget(label)
        head.addWidget(self.least)
        head.addWidget(self.state, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self.table, 1)

    @Slot(int)
    def _on_least_chosen(self, place: int) -> None:
        self.shown.set_least(place)
        self.table.scrollToBottom()
        self._on_rows_changed()

    @Slot()
    def _on_rows_coming(self) -> None:
        bar = self.table.verticalScrollBar()
        self._is_at_end = bar.value() >= bar.maximum()

    @Slot()
    def _on_rows_changed(self) -> None:
        if self._is_at_end:
            scroll_to_end(self.table)
        shown, known = self.shown.rowCount(), self._messages.rowCount()
        if not known:
            words = self.tr("No server has logged anything yet.")
        else:
            words = count(known, self.tr("message"), self.tr("messages"))
            if known > shown:
                less = self.tr("{count} below this level are hidden")
                words = f"{words}, {less.format(count=known - shown)}"
        self.state.setText(words)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        number = index.data(NUMBER)
        if number is not None:
            self.frame_followed.emit(number)


class _LevelDelegate(QStyledItemDelegate):
    """Paints level and message in the colour of the level, which stands beside it in words."""

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        """Take the tone of the row's level."""
        super().initStyleOption(option, index)
        rank = index.data(RANK)
        if rank is None:
            return
        tone = level_tone(rank) if index.column() >= _LEVEL else Tone.MUTED
        palette = option.palette
        palette.setColor(QPalette.ColorRole.Text, self._appearance.colour(tone))
        option.palette = palette
