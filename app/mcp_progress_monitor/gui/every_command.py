"""Every command by section: the list of keys, the palette and the manual read this table."""

from __future__ import annotations

from typing import Final

from mcp_progress_monitor.gui import page_commands as pages
from mcp_progress_monitor.gui.findings.commands import FINDINGS_COMMANDS
from mcp_progress_monitor.gui.jobs.commands import CLOCK_COMMANDS, JOB_COMMANDS
from mcp_progress_monitor.gui.panes import GO_TO
from mcp_progress_monitor.gui.results.commands import RESULT_COMMANDS
from mcp_progress_monitor.gui.servers.commands import ADD, SERVER_COMMANDS, WATCHED_COMMANDS
from mcp_progress_monitor.gui.shortcuts import Section
from mcp_progress_monitor.gui.traffic.commands import TRAFFIC_COMMANDS
from mcp_progress_monitor.gui.window_commands import MINI, NOTIFICATIONS, UNDO, WINDOW_COMMANDS

SECTIONS: Final = {
    "window": Section("Window", (*WINDOW_COMMANDS, MINI, NOTIFICATIONS, UNDO)),
    "go": Section("Go to", GO_TO),
    "jobs": Section("Jobs", JOB_COMMANDS),
    "servers": Section("Servers", (ADD, *SERVER_COMMANDS), is_live=True),
    "watched": Section("Watched servers", WATCHED_COMMANDS, is_live=True),
    "traffic": Section("Traffic", TRAFFIC_COMMANDS),
    "message": Section("Message", pages.MESSAGE_COMMANDS),
    "job": Section("Job", CLOCK_COMMANDS),
    "result": Section("Result", RESULT_COMMANDS),
    "findings": Section("Findings", FINDINGS_COMMANDS),
    "stderr": Section("stderr", pages.STDERR_COMMANDS),
    "questions": Section("Questions", (pages.ACCEPT,)),
    "replay": Section("Replay", pages.REPLAY_COMMANDS),
    "call": Section("New call", (pages.SEND, pages.FIND_OFFER), is_apart=True),
    "saved-calls": Section("Saved calls", (pages.DELETE_CALLS,), is_apart=True),
    "editor": Section("Server editor", (pages.SAVE_SERVER,), is_apart=True),
    "rules": Section("Rules and folders", (pages.SAVE_RULES,), is_apart=True),
    "statistics": Section("Call statistics", (pages.COUNT_AGAIN,), is_apart=True),
    "tasks": Section("Tasks", (pages.REFRESH_TASKS, pages.CANCEL_TASK), is_apart=True),
    "recordings": Section("Recordings", (pages.DELETE_RECORDINGS,), is_apart=True),
    "note": Section("Note", (pages.SAVE_NOTE,), is_apart=True),
    "manual": Section("Manual", (pages.FIND_IN_MANUAL,), is_apart=True),
}
