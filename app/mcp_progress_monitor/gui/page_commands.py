"""The commands of dialogs and single pages, which act on no row."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from PySide6.QtCore import Qt

from mcp_progress_monitor.gui.common.commands import Command

_page = partial(Command, where=Qt.ShortcutContext.WidgetWithChildrenShortcut)
_wide = partial(Command, where=Qt.ShortcutContext.WindowShortcut)
_ACCEPT: Final = ("Ctrl+Enter", "Ctrl+Return")
"""Enter with Ctrl, on the number pad and beside the letters."""


class SearchCommands(NamedTuple):
    """The commands of a search field: go to it, to the next match and to the previous one."""

    find: Command
    next: Command
    previous: Command


FILTER_VALUE: Final = Command("message.filter", "Filter by this value", keys=("Ctrl+Return",))
EXCLUDE_VALUE: Final = Command("message.exclude", "Exclude this value", keys=("Ctrl+Shift+Return",))
SHOW_BYTES: Final = Command("message.bytes", "Show in raw bytes", keys=("Ctrl+B",))
MESSAGE_SEARCH: Final = SearchCommands(
    _page("message.find", "Find in the message", keys=("Ctrl+Shift+F",)),
    _page("message.next", "Next match in the message", "Go to the next match", keys=("F3",)),
    _page(
        "message.previous",
        "Previous match in the message",
        "Go to the previous match",
        keys=("Shift+F3",),
    ),
)
MESSAGE_COMMANDS: Final = (FILTER_VALUE, EXCLUDE_VALUE, SHOW_BYTES, *MESSAGE_SEARCH)

STDERR_SEARCH: Final = SearchCommands(
    _page("stderr.find", "Find", keys=("Ctrl+F",)),
    _page("stderr.next", "Next match", "Go to the next match", keys=("F3",)),
    _page("stderr.previous", "Previous match", "Go to the previous match", keys=("Shift+F3",)),
)
STDERR_CASE: Final = _page("stderr.case", "Match case", keys=("Alt+C",))
STDERR_PATTERN: Final = _page("stderr.pattern", "Use regular expression", keys=("Alt+X",))
STDERR_COMMANDS: Final = (*STDERR_SEARCH, STDERR_CASE, STDERR_PATTERN)

ACCEPT: Final = _page("questions.accept", "Accept", keys=_ACCEPT)

REPLAY_PLAY: Final = _wide("replay.play", "Play or pause", keys=("F5",))
REPLAY_NEXT: Final = _wide("replay.next", "Show the next message", keys=("F4",))
REPLAY_START: Final = _wide("replay.start", "Go back to the first message", keys=("Shift+F5",))
REPLAY_ALL: Final = _wide("replay.all", "Show the whole recording at once", keys=("Ctrl+F5",))
REPLAY_COMMANDS: Final = (REPLAY_PLAY, REPLAY_NEXT, REPLAY_START, REPLAY_ALL)

SEND: Final = _page("call.send", "Send the call", "Send the call and keep the form", keys=_ACCEPT)
FIND_OFFER: Final = _page(
    "call.find",
    "Search what the server offers",
    "Search by name, title and description; type a full name to call something that is not listed",
    keys=("Ctrl+F",),
)
DELETE_CALLS: Final = _page("saved-calls.delete", "Delete the selected calls", keys=("Del",))
SAVE_SERVER: Final = _page("editor.save", "Save and connect", keys=_ACCEPT)
SAVE_RULES: Final = _page("rules.save", "Save", keys=_ACCEPT)
COUNT_AGAIN: Final = _page("statistics.refresh", "Refresh", "Update the statistics", keys=("F5",))
REFRESH_TASKS: Final = _page("tasks.refresh", "Refresh", "Refresh the list of tasks", keys=("F5",))
CANCEL_TASK: Final = _page(
    "tasks.cancel", "Cancel task", "Cancel the task on the server", keys=("Del",)
)
DELETE_RECORDINGS: Final = _page(
    "recordings.delete", "Delete the selected recordings", keys=("Del",)
)
SAVE_NOTE: Final = _page(
    "note.save", "Save the note", "Save the note; an empty note is removed", keys=_ACCEPT
)
FIND_IN_MANUAL: Final = _page(
    "manual.find",
    "Search the manual",
    "Show only pages with this text; Enter finds it",
    keys=("Ctrl+F",),
)
