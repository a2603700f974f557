"""The button that chooses directions and kinds of messages to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from mcp_progress_monitor.filtering.chosen import LogFilter
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.frame_kind import FrameKind
from mcp_progress_monitor.widgets.appearance import Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Mapping

_Key = TypeVar("_Key", Channel, FrameKind)
_OF_CHANNELS = frozenset({FrameKind.STDERR, FrameKind.EVENT})
"""No messages: their channel alone shows or hides them."""


class LogKinds(QToolButton):
    """A menu of checks; the button's dot says that something is left out."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._menu = QMenu(self)
        self._channels = self._checks(
            {
                Channel.SENT: self.tr("Sent"),
                Channel.RECEIVED: self.tr("Received"),
                Channel.STDERR: self.tr("Standard error"),
                Channel.EVENT: self.tr("Connection events"),
            }
        )
        self._kinds = self._checks(
            {
                FrameKind.REQUEST: self.tr("Requests"),
                FrameKind.REPLY: self.tr("Replies"),
                FrameKind.ERROR: self.tr("Error replies"),
                FrameKind.PROGRESS: self.tr("Progress"),
                FrameKind.NOTIFICATION: self.tr("Other notifications"),
                FrameKind.UNREADABLE: self.tr("Unreadable"),
                FrameKind.BATCH: self.tr("Batches"),
            }
        )
        self._irregular = self._check(self.tr("Only what is not in order"))
        self._irregular.setChecked(False)
        self._all = self._menu.addAction(self.tr("Show all of them"))
        self._menu.triggered.connect(self._on_triggered)
        self.setMenu(self._menu)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setAccessibleName(self.tr("Kinds"))
        self.setToolTip(self.tr("Choose directions and kinds of messages to show"))
        self._show_dot()
        self.use_icons(appearance)

    def applied_to(self, wanted: LogFilter) -> LogFilter:
        """`wanted` with what is checked here."""
        kinds = {kind for kind, action in self._kinds.items() if action.isChecked()}
        return wanted._replace(
            channels=frozenset(
                channel for channel, action in self._channels.items() if action.isChecked()
            ),
            kinds=frozenset(kinds | _OF_CHANNELS),
            irregular_only=self._irregular.isChecked(),
        )

    def show_filter(self, wanted: LogFilter) -> None:
        """Check what `wanted` lets through; tells nobody."""
        for channel, action in self._channels.items():
            action.setChecked(channel in wanted.channels)
        for kind, action in self._kinds.items():
            action.setChecked(kind in wanted.kinds)
        self._irregular.setChecked(wanted.irregular_only)
        self._show_dot()

    def use_icons(self, appearance: Appearance) -> None:
        """Take the icons of the palette in use."""
        self.setIcon(appearance.icon("filter"))
        self._irregular.setIcon(appearance.icon("warning", Tone.WARNING))

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
        is_narrowed = self.applied_to(LogFilter()).is_narrowed
        self.setText(self.tr("Kinds •") if is_narrowed else self.tr("Kinds"))

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        if action is self._all:
            self.show_filter(LogFilter())
        self._show_dot()
        self.changed.emit()
