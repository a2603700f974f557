"""The tools of the test server: those of the demo server, and faulty ones."""

from typing import Final

from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools import TOOLS as DEMO_TOOLS
from tests.servers.tools import question_faults, questions, tasks, traffic, violations

TOOLS: Final[tuple[Tool, ...]] = (
    *DEMO_TOOLS,
    *violations.TOOLS,
    *traffic.TOOLS,
    *questions.TOOLS,
    *question_faults.TOOLS,
    *tasks.TOOLS,
)
