"""The commands on findings: when each applies, and how it is called."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import Qt

from mcp_progress_monitor.gui.common.commands import Command, Takes, Words

if TYPE_CHECKING:
    from mcp_progress_monitor.checking.report import ReportedResult


class FindingRow(NamedTuple):
    """The current finding, and whether the user ignores it."""

    finding: ReportedResult
    is_ignored: bool


def _ignore(row: FindingRow) -> Words | None:
    return Words("Stop &ignoring it") if row.is_ignored else None


_ONE: Final = Takes.CURRENT

OPEN: Final = Command(
    "findings.open",
    "Show in &Traffic",
    "Show the first message in Traffic",
    "log",
    ("Return",),
    takes=_ONE,
)
JOB: Final = Command(
    "findings.job",
    "Show &job",
    "Show the job of the finding",
    "info",
    ("Ctrl+J",),
    takes=_ONE,
    applies=attrgetter("finding.job"),
)
RULE: Final = Command(
    "findings.rule", "Only this &rule", "Show only findings of this rule", "search", takes=_ONE
)
SERVER: Final = Command(
    "findings.server",
    "Only this &server",
    "Show only findings of this server",
    "search",
    takes=_ONE,
)
IGNORE: Final = Command(
    "findings.ignore",
    "&Ignore this rule for the server",
    "Hide findings of this rule for the server",
    keys=("Del",),
    takes=_ONE,
    words=_ignore,
)
ISSUE: Final = Command(
    "findings.issue",
    "Copy as &issue text",
    "Copy Markdown without secrets",
    "copy",
    ("Ctrl+Shift+C",),
    takes=_ONE,
)
FINDING_MENU: Final = (OPEN, JOB, RULE, SERVER, IGNORE, ISSUE)

_PANE: Final = Qt.ShortcutContext.WidgetWithChildrenShortcut
FIND: Final = Command(
    "findings.find", "Filter findings", "Show only matching findings", "", ("Ctrl+F",), _PANE
)
GROUP: Final = Command("findings.group", "Group findings by rule", "", "", ("Ctrl+Shift+G",), _PANE)
RULES: Final = Command(
    "findings.rules",
    "Show tested rules",
    "Show which rules were tested on each server",
    "",
    ("Ctrl+U",),
    _PANE,
)
FINDINGS_COMMANDS: Final = (*FINDING_MENU, FIND, GROUP, RULES)
