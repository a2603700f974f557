"""The tools of the test server: those of the demo server, and faulty ones."""

from typing import Final

from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools import TOOLS as DEMO_TOOLS
from tests.servers.call import faulty
from tests.servers.tools import question_faults, questions, resuming, tasks, traffic, violations

_TOOLS: Final[tuple[Tool, ...]] = (
    *DEMO_TOOLS,
    *resuming.TOOLS,
    *violations.TOOLS,
    *traffic.TOOLS,
    *questions.TOOLS,
    *question_faults.TOOLS,
    *tasks.TOOLS,
)
TOOLS: Final = tuple({tool.name: faulty(tool) for tool in _TOOLS}.values())
"""A tool with more faults takes the place of the demo server's."""
