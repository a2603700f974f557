"""The demo server's tools. `TOOLS` is all of them, the pleasant ones first."""

from typing import Final

from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools import faults, progress, questions, resumable, session, tasks

TOOLS: Final[tuple[Tool, ...]] = (
    *progress.TOOLS,
    *resumable.TOOLS,
    *faults.TOOLS,
    *questions.TOOLS,
    *tasks.TOOLS,
    *session.TOOLS,
)
