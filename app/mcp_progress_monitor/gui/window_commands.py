"""The commands of the main window, which act on no row."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction

from mcp_progress_monitor.gui.common.commands import Command

_WINDOW: Final = Qt.ShortcutContext.WindowShortcut

ADD_COMMAND: Final = Command(
    "window.command",
    "Connect to a &command…",
    "Start a server from a command line",
    icon="connect",
    keys=("Ctrl+Shift+N",),
    where=_WINDOW,
    live_only=True,
)
ADD_URL: Final = Command(
    "window.url",
    "Connect to a &URL…",
    "Connect to a server over HTTP",
    icon="server",
    keys=("Ctrl+Shift+U",),
    where=_WINDOW,
    live_only=True,
)
IMPORT: Final = Command(
    "window.imports",
    "&Import servers…",
    "Import servers from other programs",
    icon="open",
    keys=("Ctrl+Shift+O",),
    where=_WINDOW,
    live_only=True,
)
EXPORT_SERVERS: Final = Command(
    "window.export_servers",
    "E&xport servers…",
    "Export saved servers to other programs",
    icon="save",
    where=_WINDOW,
    live_only=True,
)
WATCH: Final = Command(
    "window.watch",
    "&Watch another client's servers…",
    "Record traffic between another client and its servers",
    icon="watched",
    where=_WINDOW,
    live_only=True,
)
DEMO: Final = Command(
    "window.demo",
    "Start the &demo",
    "Run ten calls on the bundled server",
    icon="demo",
    keys=("Ctrl+Shift+D",),
    where=_WINDOW,
    live_only=True,
)
NEW_CALL: Final = Command(
    "window.call",
    "&New call",
    "Call a tool, read a resource or get a prompt",
    icon="new-call",
    keys=("Ctrl+N",),
    where=_WINDOW,
    live_only=True,
)
REMOVE_FINISHED: Final = Command(
    "window.clear",
    "Remove &finished",
    "Remove finished jobs from the list",
    icon="clear",
    keys=("Ctrl+Shift+K",),
    where=_WINDOW,
    live_only=True,
)
STATISTICS: Final = Command(
    "window.statistics",
    "Stat&istics…",
    "How often each tool was called, failed, and how long it took",
    where=_WINDOW,
)
OPEN_RECORDING: Final = Command(
    "window.open_recording",
    "&Open recording…",
    "Open a recording in a new window",
    icon="open",
    keys=("Ctrl+O",),
    where=_WINDOW,
)
EXPORT: Final = Command(
    "window.export",
    "&Export session…",
    "Export messages, ticks or a report",
    icon="save",
    keys=("Ctrl+Shift+S",),
    where=_WINDOW,
)
RECORDINGS: Final = Command(
    "window.recordings",
    "Reco&rdings…",
    "Manage recordings and how long they are kept",
    icon="log",
    keys=("Ctrl+H",),
    where=_WINDOW,
)
ASSOCIATE: Final = Command(
    "window.associate",
    "&File association…",
    "Open recording files with this program",
    where=_WINDOW,
)
FIND: Final = Command(
    "window.find",
    "&Filter jobs",
    "Filter jobs by text",
    icon="search",
    keys=("Ctrl+F",),
    where=Qt.ShortcutContext.WidgetWithChildrenShortcut,
)
NEXT_MESSAGE: Final = Command(
    "window.next_message",
    "&Next message of the finding",
    "Show the next message that violates the rule",
    icon="next",
    keys=("F7",),
    where=_WINDOW,
)
PREVIOUS_MESSAGE: Final = Command(
    "window.previous_message",
    "&Previous message of the finding",
    "Show the previous message that violates the rule",
    icon="previous",
    keys=("Shift+F7",),
    where=_WINDOW,
)
BACK: Final = Command(
    "window.back",
    "&Back to the finding",
    "Show the finding in Findings",
    icon="warning",
    keys=("Ctrl+F7",),
    where=_WINDOW,
)
PALETTE: Final = Command(
    "window.palette",
    "Command &palette…",
    "Find a command, server, tool, job or recording by its name",
    icon="search",
    keys=("Ctrl+K",),
    where=_WINDOW,
)
SETTINGS: Final = Command(
    "window.settings",
    "&Settings…",
    "Change how the program looks and works",
    icon="settings",
    keys=("Ctrl+,",),
    where=_WINDOW,
    role=QAction.MenuRole.PreferencesRole,
)
KEYS: Final = Command(
    "window.keys",
    "&Keyboard shortcuts…",
    "List and change all keys",
    icon="keyboard",
    keys=("Ctrl+Alt+K",),
    where=_WINDOW,
)
MANUAL: Final = Command(
    "window.manual", "&Manual", "Read the manual", icon="help", keys=("F1",), where=_WINDOW
)
REPORT_DEFECT: Final = Command(
    "window.report",
    "&Report a defect…",
    "Prepare a report about this program",
    icon="warning",
    where=_WINDOW,
)
NEXT_PANE: Final = Command(
    "window.next_pane", "Ne&xt pane", "Move the focus to the next pane", keys=("F6",), where=_WINDOW
)
PREVIOUS_PANE: Final = Command(
    "window.previous_pane",
    "Pre&vious pane",
    "Move the focus to the previous pane",
    keys=("Shift+F6",),
    where=_WINDOW,
)
CLOSE_PANE: Final = Command(
    "window.close_pane",
    "&Close pane",
    "Close the pane that has the focus",
    keys=("Ctrl+W",),
    where=_WINDOW,
)
MENU: Final = Command(
    "window.menu",
    "&Menu of the selection",
    "Open the menu of what is selected",
    keys=("Shift+F10",),
    where=_WINDOW,
)
QUIT: Final = Command(
    "window.quit",
    "&Quit",
    "Close all connections and quit",
    keys=("Ctrl+Q",),
    where=_WINDOW,
    role=QAction.MenuRole.QuitRole,
)
ABOUT: Final = Command(
    "window.about",
    "&About",
    "Show versions and licence",
    icon="info",
    where=_WINDOW,
    role=QAction.MenuRole.AboutRole,
)

ADDING: Final = (ADD_COMMAND, ADD_URL, IMPORT, DEMO)
"""The ways to add a server."""
SERVERS_MENU: Final = (ADDING, (EXPORT_SERVERS, WATCH), (SETTINGS, QUIT))
HELP_MENU: Final = (MANUAL, KEYS, REPORT_DEFECT, ABOUT)
WINDOW_COMMANDS: Final = (
    ADD_COMMAND,
    ADD_URL,
    IMPORT,
    EXPORT_SERVERS,
    WATCH,
    DEMO,
    NEW_CALL,
    REMOVE_FINISHED,
    STATISTICS,
    OPEN_RECORDING,
    EXPORT,
    RECORDINGS,
    ASSOCIATE,
    FIND,
    NEXT_MESSAGE,
    PREVIOUS_MESSAGE,
    BACK,
    PALETTE,
    SETTINGS,
    KEYS,
    MANUAL,
    REPORT_DEFECT,
    NEXT_PANE,
    PREVIOUS_PANE,
    CLOSE_PANE,
    MENU,
    QUIT,
    ABOUT,
)
MINI: Final = Command(
    "window.mini",
    "&Mini window",
    "Show the running jobs on top of other windows",
    keys=("Ctrl+Alt+M",),
    where=_WINDOW,
    is_on=bool,
)
UNDO: Final = Command(
    "window.undo", "&Undo", "Undo the last removal", keys=("Ctrl+Z",), where=_WINDOW
)
