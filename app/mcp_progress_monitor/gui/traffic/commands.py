"""The commands on messages: when each applies, and where its keys work."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import Qt

from mcp_progress_monitor.gui.common.commands import Command, Words

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


class MessageRow(NamedTuple):
    """The current message's request, task and job, and terms of filters for what it has."""

    exchange: int = 0
    """The number of its request."""
    value: str = ""
    """The term for the current cell."""
    token: str = ""
    request: str = ""
    task: str = ""
    job: JobSnapshot | None = None
    is_pair: bool = False
    """True if two messages are selected."""
    is_folded: bool | None = None
    """True if the ticks of the current row are folded; None for other messages."""

    @property
    def is_reissuable(self) -> bool:
        return self.job is not None and self.job.is_reissuable


def _may_fold(row: MessageRow) -> bool:
    return row.is_folded is not None


def _fold(row: MessageRow) -> Words | None:
    return Words("Fold these ticks") if row.is_folded is False else None


_pane = partial(Command, where=Qt.ShortcutContext.WidgetWithChildrenShortcut)
_wide = partial(Command, where=Qt.ShortcutContext.WindowShortcut)
_value, _exchange, _job = map(attrgetter, ("value", "exchange", "job"))

FILTER: Final = Command(
    "traffic.filter", "Filter by this value", icon="filter", keys=("Ctrl+Return",), applies=_value
)
EXCLUDE: Final = Command(
    "traffic.exclude", "Exclude this value", keys=("Ctrl+Shift+Return",), applies=_value
)
FOLLOW_TOKEN: Final = Command(
    "traffic.token", "Follow this token", keys=("Ctrl+T",), applies=attrgetter("token")
)
FOLLOW_REQUEST: Final = Command(
    "traffic.request", "Follow this request", keys=("Ctrl+Shift+T",), applies=attrgetter("request")
)
FOLLOW_TASK: Final = Command("traffic.task", "Follow this task", applies=attrgetter("task"))
FOLLOW_JOB: Final = Command("traffic.job", "Follow this job", applies=_job)
SHOW_JOB: Final = _pane(
    "traffic.show_job", "Show in job", icon="jobs", keys=("Ctrl+J",), applies=_job
)
EDIT: Final = Command(
    "traffic.edit",
    "Edit and re-issue…",
    icon="new-call",
    applies=attrgetter("is_reissuable"),
    live_only=True,
)
UNFOLD: Final = Command(
    "traffic.unfold", "Unfold these ticks", keys=("Space",), applies=_may_fold, words=_fold
)
GO_TO: Final = _pane("traffic.go_to", "Go to message…", keys=("Ctrl+G",))
JUMP_REQUEST: Final = _pane(
    "traffic.jump_request", "Jump to request", icon="sent", keys=("Alt+Home",), applies=_exchange
)
JUMP_REPLY: Final = _pane(
    "traffic.jump_reply", "Jump to reply", icon="received", keys=("Alt+End",), applies=_exchange
)
JUMP_PREVIOUS: Final = _pane(
    "traffic.jump_previous",
    "Jump to previous in exchange",
    icon="previous",
    keys=("Alt+Up",),
    applies=_exchange,
)
JUMP_NEXT: Final = _pane(
    "traffic.jump_next",
    "Jump to next in exchange",
    icon="next",
    keys=("Alt+Down",),
    applies=_exchange,
)
MARK: Final = _pane("traffic.mark", "Mark", icon="mark", keys=("Ctrl+M",))
NOTE: Final = _pane("traffic.note", "Note…", icon="note", keys=("Ctrl+Shift+M",))
NEXT_MARK: Final = _pane("traffic.next_mark", "Next mark", keys=("F2",))
PREVIOUS_MARK: Final = _pane("traffic.previous_mark", "Previous mark", keys=("Shift+F2",))
COMPARE: Final = Command("traffic.compare", "Compare two messages…", applies=attrgetter("is_pair"))
COPY_VALUE: Final = Command("traffic.copy_value", "Copy this value")
COPY_LINE: Final = Command("traffic.copy_line", "Copy as line", icon="copy", keys=("Ctrl+C",))
COPY_JSON: Final = Command("traffic.copy_json", "Copy as JSON", icon="json", keys=("Ctrl+Shift+C",))
COPY_RAW: Final = Command("traffic.copy_raw", "Copy raw bytes", keys=("Ctrl+Alt+C",))
COPY_PYTHON: Final = Command("traffic.copy_python", "Copy as Python snippet")
EXPORT: Final = Command("traffic.export", "Export…", icon="save")

FIND: Final = _pane(
    "traffic.find",
    "Filter messages",
    "Show only messages that match the filter; Ctrl+Space completes, F1 explains",
    keys=("Ctrl+F",),
)
PAUSE: Final = _wide(
    "traffic.pause", "Pause", "Pause the view; recording continues", keys=("Ctrl+Shift+P",)
)
CLEAR: Final = _wide(
    "traffic.clear", "Clear view", "Hide the current rows without deleting them", keys=("Ctrl+L",)
)

JUMPS: Final = (JUMP_REQUEST, JUMP_REPLY, JUMP_PREVIOUS, JUMP_NEXT)
MARKS: Final = (MARK, NOTE)
MESSAGE_MENU: Final = (
    (FILTER, EXCLUDE),
    (FOLLOW_TOKEN, FOLLOW_REQUEST, FOLLOW_TASK, FOLLOW_JOB),
    (SHOW_JOB, EDIT, UNFOLD, GO_TO, *JUMPS),
    (*MARKS, NEXT_MARK, PREVIOUS_MARK),
    (COMPARE, COPY_VALUE, COPY_LINE, COPY_JSON, COPY_RAW, COPY_PYTHON, EXPORT),
)
"""The menu of a row, in groups."""
MESSAGE_COMMANDS: Final = tuple(command for group in MESSAGE_MENU for command in group)
TRAFFIC_COMMANDS: Final = (*MESSAGE_COMMANDS, FIND, PAUSE, CLEAR)
