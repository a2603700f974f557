"""The demo server's tools, well-behaved ones first."""

from typing import Final

from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools import faults, progress, questions

TOOLS: Final[tuple[Tool, ...]] = (*progress.TOOLS, *faults.TOOLS, *questions.TOOLS)
