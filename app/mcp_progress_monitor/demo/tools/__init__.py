"""The demo server's tools, well-behaved ones first."""

from typing import Final

from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools import faults, progress, questions, results

TOOLS: Final[tuple[Tool, ...]] = (*progress.TOOLS, *results.TOOLS, *faults.TOOLS, *questions.TOOLS)
