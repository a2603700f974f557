"""The commands of the main window, which act on no row."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction

from mcp_progress_monitor.gui.common.commands import Command


def _command(
    name: str,
    text: str,
    icon: str,
    key: str,
    tip: str,
    *,
    is_live: bool = False,
    role: QAction.MenuRole = QAction.MenuRole.NoRole,
) -> Command:
    keys, where = (key,) if key else (), Qt.ShortcutContext.WindowShortcut
    return Command(
        f"window.{name}", text, tip, icon, keys, where=where, live_only=is_live, role=role
    )


ADD_COMMAND: Final = _command(
    "command",
    "Connect to a &command…",
    "connect",
    "Ctrl+Shift+N",
    "Start a server from a command line",
    is_live=True,
)
ADD_URL: Final = _command(
    "url",
    "Connect to a &URL…",
    "server",
    "Ctrl+Shift+U",
    "Connect to a server over HTTP",
    is_live=True,
)
IMPORT: Final = _command(
    "imports",
    "&Import servers…",
    "open",
    "Ctrl+Shift+O",
    "Import servers from other programs",
    is_live=True,
)
EXPORT_SERVERS: Final = _command(
    "export_servers",
    "E&xport servers…",
    "save",
    "",
    "Export saved servers to other programs",
    is_live=True,
)
WATCH: Final = _command(
    "watch",
    "&Watch another client's servers…",
    "watched",
    "",
    "Record traffic between another client and its servers",
    is_live=True,
)
WATCH_MACHINE: Final = _command(
    "watch_machine",
    "Watch another &machine…",
    "watched",
    "",
    "Show what agents do in a container, in WSL or over SSH",
    is_live=True,
)
INVITE_AGENT: Final = _command(
    "invite_agent",
    "&Let an agent read…",
    "add",
    "",
    "Let a coding agent read jobs, messages and findings",
    is_live=True,
)
AGENTS: Final = _command(
    "agents", "A&gents…", "text", "", "Show what agents read, and turn reading off", is_live=True
)
DEMO: Final = _command(
    "demo",
    "Start the &demo",
    "demo",
    "Ctrl+Shift+D",
    "Run ten calls on the bundled server",
    is_live=True,
)
NEW_CALL: Final = _command(
    "call",
    "&New call",
    "new-call",
    "Ctrl+N",
    "Call a tool, read a resource or get a prompt",
    is_live=True,
)
REMOVE_FINISHED: Final = _command(
    "clear",
    "Remove &finished",
    "clear",
    "Ctrl+Shift+K",
    "Remove finished jobs from the list",
    is_live=True,
)
STATISTICS: Final = _command(
    "statistics",
    "Stat&istics…",
    "",
    "",
    "Show how often each tool was called, how often it failed and how long it took",
)
OPEN_RECORDING: Final = _command(
    "open_recording", "&Open recording…", "open", "Ctrl+O", "Open a recording in a new window"
)
EXPORT: Final = _command(
    "export", "&Export session…", "save", "Ctrl+Shift+S", "Export messages, ticks or a report"
)
RECORDINGS: Final = _command(
    "recordings", "Reco&rdings…", "log", "Ctrl+H", "Manage recordings and how long they are kept"
)
SERVE: Final = _command(
    "serve", "&Serve a recording…", "server", "", "Replay a recorded server for clients and tests"
)
ASSOCIATE: Final = _command(
    "associate", "&File association…", "", "", "Open recording files with this program"
)
FIND: Final = _command("find", "&Filter jobs", "search", "Ctrl+F", "Filter jobs by text")._replace(
    where=Qt.ShortcutContext.WidgetWithChildrenShortcut
)
NEXT_MESSAGE: Final = _command(
    "next_message",
    "&Next message of the finding",
    "next",
    "F7",
    "Show the next message that violates the rule",
)
PREVIOUS_MESSAGE: Final = _command(
    "previous_message",
    "&Previous message of the finding",
    "previous",
    "Shift+F7",
    "Show the previous message that violates the rule",
)
BACK: Final = _command(
    "back", "&Back to the finding", "warning", "Ctrl+F7", "Show the finding in Findings"
)
PALETTE: Final = _command(
    "palette",
    "Command &palette…",
    "search",
    "Ctrl+K",
    "Find a command, server, tool, job or recording by its name",
)
SETTINGS: Final = _command(
    "settings",
    "&Settings…",
    "settings",
    "Ctrl+,",
    "Change how the program looks and works",
    role=QAction.MenuRole.PreferencesRole,
)
KEYS: Final = _command(
    "keys", "&Keyboard shortcuts…", "keyboard", "Ctrl+Alt+K", "List and change all keys"
)
MANUAL: Final = _command("manual", "&Manual", "help", "F1", "Read the manual")
REPORT_DEFECT: Final = _command(
    "report", "&Report a bug…", "warning", "", "Prepare a report about this program"
)
NEXT_PANE: Final = _command("next_pane", "Ne&xt pane", "", "F6", "Move the focus to the next pane")
PREVIOUS_PANE: Final = _command(
    "previous_pane", "Pre&vious pane", "", "Shift+F6", "Move the focus to the previous pane"
)
CLOSE_PANE: Final = _command(
    "close_pane", "&Close pane", "", "Ctrl+W", "Close the pane that has the focus"
)
MENU: Final = _command(
    "menu", "Context &menu", "", "Shift+F10", "Open the context menu of the selection"
)
QUIT: Final = _command(
    "quit", "&Quit", "", "Ctrl+Q", "Close all connections and quit", role=QAction.MenuRole.QuitRole
)
ABOUT: Final = _command(
    "about", "&About", "info", "", "Show versions and licence", role=QAction.MenuRole.AboutRole
)
MINI: Final = _command(
    "mini", "&Mini window", "", "Ctrl+Alt+M", "Show the running jobs on top of other windows"
)._replace(is_on=bool)
NOTIFICATIONS: Final = _command(
    "notifications", "&Notifications", "", "", "Notify while the window is in the background"
)._replace(is_on=bool)
UNDO: Final = _command("undo", "&Undo", "", "Ctrl+Z", "Undo the last removal")

ADDING: Final = (ADD_COMMAND, ADD_URL, IMPORT, DEMO)
"""The ways to add a server."""
SERVERS_MENU: Final = (
    ADDING,
    (EXPORT_SERVERS, WATCH, WATCH_MACHINE),
    (INVITE_AGENT, AGENTS),
    (SETTINGS, QUIT),
)
HELP_MENU: Final = (MANUAL, KEYS, REPORT_DEFECT, ABOUT)
WINDOW_COMMANDS: Final = (
    ADD_COMMAND,
    ADD_URL,
    IMPORT,
    EXPORT_SERVERS,
    WATCH,
    WATCH_MACHINE,
    INVITE_AGENT,
    AGENTS,
    DEMO,
    NEW_CALL,
    REMOVE_FINISHED,
    STATISTICS,
    OPEN_RECORDING,
    EXPORT,
    RECORDINGS,
    SERVE,
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
