"""The window's own actions, each once, with words, key and icon; see `job_actions` for jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Slot
from PySide6.QtGui import QAction, QKeySequence

from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from mcp_progress_monitor.widgets.appearance import Appearance

_MADE = (
    # name, words, icon, key, what it does
    ("command", "Connect to a &command…", "connect", "Ctrl+Shift+N", "Start a server by command"),
    ("url", "Connect to a &URL…", "server", "Ctrl+Shift+U", "Reach a server over HTTP"),
    ("imports", "&Import servers…", "open", "Ctrl+Shift+O", "Take servers from other programs"),
    ("export_servers", "E&xport servers…", "save", "", "Write saved servers for other programs"),
    ("demo", "Start the &demo", "demo", "Ctrl+Shift+D", "Ten calls on the bundled server"),
    ("call", "&New call", "new-call", "Ctrl+N", "Call a tool, read a resource, get a prompt"),
    ("clear", "Remove &finished", "clear", "Ctrl+Shift+K", "Remove finished jobs from the list"),
    ("open_recording", "&Open recording…", "open", "Ctrl+O", "Look at a recording in a new window"),
    ("export", "&Export session…", "save", "Ctrl+Shift+S", "Save all messages, ticks or a report"),
    ("recordings", "Reco&rdings…", "log", "Ctrl+H", "The recordings on this machine, and limits"),
    ("associate", "Open &by double click…", "", "", "Have recordings open with this program"),
    ("find", "&Filter jobs", "search", "Ctrl+F", "Look for words in the jobs"),
    ("quit", "&Quit", "", "Ctrl+Q", "End all connections and leave"),
    ("about", "&About", "info", "", "What this program is"),
)


class Actions(QObject):
    """Attributes are `QAction`s; what they do is connected by the shell."""

    command: QAction
    url: QAction
    imports: QAction
    export_servers: QAction
    demo: QAction
    call: QAction
    clear: QAction
    open_recording: QAction
    export: QAction
    recordings: QAction
    associate: QAction
    find: QAction
    quit: QAction
    about: QAction

    def __init__(self, appearance: Appearance, parent: QObject) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._icons: dict[QAction, str] = {}
        for name, words, icon, key, tip in _MADE:
            setattr(self, name, self._made(_tr(words), icon, key, _tr(tip)))
        self._recolour()
        appearance.changed.connect(self._recolour)

    def set_read_only(self, why: str) -> None:
        """Never offer what asks something of a server; `why` is told in the tips."""
        adding = (self.command, self.url, self.imports, self.export_servers, self.demo)
        for action in (*adding, self.call, self.clear):
            action.setEnabled(False)
            action.setToolTip(plain_tip(why))

    def _made(self, words: str, icon: str, key: str, tip: str) -> QAction:
        action = QAction(words, self)
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


def _tr(words: str) -> str:
    return QCoreApplication.translate("Actions", words)
