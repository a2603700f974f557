"""The actions of the main window, with text, key and icon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QKeySequence

from mcp_progress_monitor.gui.common.controls import plain_tip

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.theme import Appearance

_MADE = (
    # name, text, icon, key, what it does
    (
        "command",
        "Connect to a &command…",
        "connect",
        "Ctrl+Shift+N",
        "Start a server from a command line",
    ),
    ("url", "Connect to a &URL…", "server", "Ctrl+Shift+U", "Connect to a server over HTTP"),
    ("imports", "&Import servers…", "open", "Ctrl+Shift+O", "Import servers from other programs"),
    ("export_servers", "E&xport servers…", "save", "", "Export saved servers to other programs"),
    (
        "watch",
        "&Watch another client's servers…",
        "watched",
        "",
        "Record traffic between another client and its servers",
    ),
    ("demo", "Start the &demo", "demo", "Ctrl+Shift+D", "Run ten calls on the bundled server"),
    ("call", "&New call", "new-call", "Ctrl+N", "Call a tool, read a resource or get a prompt"),
    ("clear", "Remove &finished", "clear", "Ctrl+Shift+K", "Remove finished jobs from the list"),
    (
        "statistics",
        "Stat&istics…",
        "",
        "",
        "How often each tool was called, failed, and how long it took",
    ),
    ("open_recording", "&Open recording…", "open", "Ctrl+O", "Open a recording in a new window"),
    ("export", "&Export session…", "save", "Ctrl+Shift+S", "Export messages, ticks or a report"),
    ("recordings", "Reco&rdings…", "log", "Ctrl+H", "Manage recordings and how long they are kept"),
    ("associate", "&File association…", "", "", "Open recording files with this program"),
    ("find", "&Filter jobs", "search", "Ctrl+F", "Filter jobs by text"),
    (
        "next_message",
        "&Next message of the finding",
        "next",
        "F7",
        "Show the next message that violates the rule",
    ),
    (
        "previous_message",
        "&Previous message of the finding",
        "previous",
        "Shift+F7",
        "Show the previous message that violates the rule",
    ),
    ("back", "&Back to the finding", "warning", "Ctrl+F7", "Show the finding in Findings"),
    (
        "palette",
        "Command &palette…",
        "search",
        "Ctrl+K",
        "Find a command, server, tool, job or recording by its name",
    ),
    ("settings", "&Settings…", "settings", "Ctrl+,", "Change how the program looks and works"),
    ("keys", "&Keyboard shortcuts…", "keyboard", "Ctrl+Alt+K", "List and change all keys"),
    ("manual", "&Manual", "help", "F1", "Read the manual"),
    ("report", "&Report a defect…", "warning", "", "Prepare a report about this program"),
    ("next_pane", "Ne&xt pane", "", "F6", "Move the focus to the next pane"),
    ("previous_pane", "Pre&vious pane", "", "Shift+F6", "Move the focus to the previous pane"),
    ("close_pane", "&Close pane", "", "Ctrl+W", "Close the pane that has the focus"),
    ("menu", "&Menu of the selection", "", "Shift+F10", "Open the menu of what is selected"),
    ("quit", "&Quit", "", "Ctrl+Q", "Close all connections and quit"),
    ("about", "&About", "info", "", "Show versions and licence"),
)
_ROLES: Final = {
    "settings": QAction.MenuRole.PreferencesRole,
    "about": QAction.MenuRole.AboutRole,
    "quit": QAction.MenuRole.QuitRole,
}
"""Menu roles on macOS, which would otherwise guess them from the texts."""


class Actions(QObject):
    """Holds the window's `QAction`s; the shell connects them."""

    command: QAction
    url: QAction
    imports: QAction
    export_servers: QAction
    watch: QAction
    demo: QAction
    call: QAction
    clear: QAction
    statistics: QAction
    open_recording: QAction
    export: QAction
    recordings: QAction
    associate: QAction
    find: QAction
    next_message: QAction
    previous_message: QAction
    back: QAction
    palette: QAction
    settings: QAction
    keys: QAction
    manual: QAction
    report: QAction
    next_pane: QAction
    previous_pane: QAction
    close_pane: QAction
    menu: QAction
    quit: QAction
    about: QAction

    def __init__(self, appearance: Appearance, parent: QObject) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._icons: dict[QAction, str] = {}
        for name, text, icon, key, tip in _MADE:
            action = self._made(text, icon, key, tip)
            action.setObjectName(f"window.{name}")
            action.setMenuRole(_ROLES.get(name, QAction.MenuRole.NoRole))
            setattr(self, name, action)
        self._recolour()
        appearance.changed.connect(self._recolour)

    def set_read_only(self, why: str) -> None:
        """Disable every action that needs a server; `why` becomes the tool tip."""
        adding = (self.command, self.url, self.imports, self.export_servers, self.watch, self.demo)
        for action in (*adding, self.call, self.clear):
            action.setEnabled(False)
            action.setToolTip(plain_tip(why))

    def _made(self, text: str, icon: str, key: str, tip: str) -> QAction:
        action = QAction(text, self)
        shortcut = QKeySequence(key)
        action.setShortcut(shortcut)
        native = shortcut.toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(plain_tip(f"{tip} ({native})" if native else tip))
        action.setStatusTip("")
        self._icons[action] = icon
        return action

    @Slot()
    def _recolour(self) -> None:
        for action, icon in self._icons.items():
            if icon:
                action.setIcon(self._appearance.icon(icon))
