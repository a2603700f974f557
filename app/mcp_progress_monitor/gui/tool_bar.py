"""The tool bar: the most frequent actions, beside the field that filters jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QPoint, QSize, Qt, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolBar, QToolButton, QWidget

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.jobs.commands import AUTOMATIC, CANCEL, REISSUE, RESUME
from mcp_progress_monitor.gui.servers.commands import CONNECT
from mcp_progress_monitor.gui.window_commands import ADDING, NEW_CALL, OPEN_RECORDING, RECORDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PySide6.QtGui import QKeyEvent, QMouseEvent

    from mcp_progress_monitor.gui.common.commands import CommandActions
    from mcp_progress_monitor.gui.jobs.filters import JobFilterEdit
    from mcp_progress_monitor.gui.theme import Appearance

_ARROW: Final = 16  # pixels of the arrow at the end


class SplitButton(QToolButton):
    """A button with a menu, opened by its arrow, a long press or the Down key.

    Qt's own split button draws the arrow far from the text and needs half as much room again.
    """

    def mousePressEvent(self, event: QMouseEvent) -> None:
        is_left = event.button() is Qt.MouseButton.LeftButton
        if is_left and self.isEnabled() and self._is_on_arrow(event.position().x()):
            self.open_menu()
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.open_menu()
        else:
            super().keyPressEvent(event)

    def open_menu(self) -> None:
        menu = self.menu()
        if menu is not None:
            # Not `showMenu`: that runs a nested loop, in which other tasks stop.
            menu.popup(self.mapToGlobal(QPoint(0, self.height())))

    def _is_on_arrow(self, x: float) -> bool:
        if self.layoutDirection() is Qt.LayoutDirection.RightToLeft:
            return x < _ARROW
        return x >= self.width() - _ARROW


_ICON = 18
_OFFERED = 30
_NAME = 60


class SavedServer(NamedTuple):
    """A saved server in the menu."""

    name: str
    is_up: bool = False
    is_disabled: bool = False


class ToolBar(QToolBar):
    """Connect, new call, cancel, resume, re-issue; the filter on the right."""

    def __init__(
        self,
        do: CommandActions,
        jobs: CommandActions,
        search: JobFilterEdit,
        appearance: Appearance,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Toolbar")
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setIconSize(QSize(_ICON, _ICON))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._appearance = appearance
        self._commands = do.commands
        self._resumption = (jobs[RESUME], jobs[AUTOMATIC])
        self.connect_button = self._make_button(
            QToolButton(self), "Connect", "Connect to a server", do.some(ADDING)
        )
        self._adding = do.some(ADDING)
        self._servers: tuple[SavedServer, ...] = ()
        self.connect_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.resume_button = self._make_button(
            SplitButton(self), "Resume", self._resumption[0].tip(), self._resumption
        )
        self.resume_button.clicked.connect(self._resumption[0].trigger)
        self._resumption[0].changed.connect(self._enable)
        self._lay_out(do, jobs, search)
        self._enable()
        self.connect_button.setIcon(appearance.icon("connect"))
        self.resume_button.setIcon(appearance.icon("resume"))

    def set_servers(self, servers: Sequence[SavedServer]) -> None:
        """Add saved servers below the ways to add one; of many, the first."""
        if tuple(servers) == self._servers:
            return
        self._servers = tuple(servers)
        menu = self.connect_button.menu()
        for action in menu.actions():
            menu.removeAction(action)
            if action not in self._adding:
                action.deleteLater()  # else it lives as long as the menu
        menu.addActions(self._adding)
        if servers:
            menu.addSeparator()
        for server in self._servers[:_OFFERED]:
            # An ampersand would become a mnemonic.
            action = QAction(one_line(server.name, _NAME).replace("&", "&&"), menu)
            action.setData(server.name)
            action.setEnabled(not server.is_disabled and not server.is_up)
            text = "Disabled" if server.is_disabled else "Already connected"
            action.setToolTip(plain_tip("Connect the server" if action.isEnabled() else text))
            action.triggered.connect(self._on_server_triggered)
            menu.addAction(action)
        left_out = len(self._servers) - _OFFERED
        if left_out > 0:
            more = menu.addAction(f"{left_out} more in the server list")
            more.setEnabled(False)

    def set_read_only(self, do: CommandActions) -> None:
        """Remove what sends something to a server; offer other recordings instead."""
        *live, gap, _search = self.actions()
        for action in live:
            self.removeAction(action)
        self.insertActions(gap, do.some((OPEN_RECORDING, RECORDINGS)))

    def _lay_out(self, do: CommandActions, jobs: CommandActions, search: JobFilterEdit) -> None:
        self.addWidget(self.connect_button)
        self.addSeparator()
        self.addActions([do[NEW_CALL], jobs[CANCEL]])
        self.addWidget(self.resume_button)
        self.addAction(jobs[REISSUE])
        gap = QWidget(self)
        gap.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(gap)
        search.setMaximumWidth(320)
        self.addWidget(search)

    def _make_button(
        self, button: QToolButton, text: str, tip: str, choices: Iterable[QAction]
    ) -> QToolButton:
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        menu.addActions(list(choices))
        button.setText(text)
        button.setMenu(menu)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setAccessibleName(text)
        button.setToolTip(plain_tip(tip))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    @Slot()
    def _enable(self) -> None:
        """Enable what applies; later automatic resuming is in the menus of the jobs."""
        self.resume_button.setEnabled(self._resumption[0].isEnabled())
        self.resume_button.setText(self._resumption[0].text().replace("&", ""))
        self.resume_button.setToolTip(plain_tip(self._resumption[0].tip()))

    @Slot()
    def _on_server_triggered(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self._commands.run(CONNECT, action.data())
