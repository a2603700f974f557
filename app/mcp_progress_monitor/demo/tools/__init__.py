"""The tools, in tables by what they are about. `TOOLS` is all of them, the pleasant ones first."""

from typing import Final

from mcp_progress_monitor.demo.tool import Tool
from mcp_progress_monitor.demo.tools import (
    asking,
    endings,
    question_faults,
    questions,
    resumable,
    session,
    steady,
    task_faults,
    tasks,
    texts,
    traffic,
    violations,
)

TOOLS: Final[tuple[Tool, ...]] = (
    *steady.TOOLS,
    *resumable.TOOLS,
    *violations.TOOLS,
    *endings.TOOLS,
    *traffic.TOOLS,
    *texts.TOOLS,
    *asking.TOOLS,
    *questions.TOOLS,
    *tasks.TOOLS,
    *session.TOOLS,
    *question_faults.TOOLS,
    *task_faults.TOOLS,
)
