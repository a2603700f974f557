"""The demo server's tools, well-behaved ones first."""

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
