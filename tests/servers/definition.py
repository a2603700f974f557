"""The definition with which the monitor starts the test server."""

import sys
from pathlib import Path
from typing import Final

from mcp_progress_monitor.snapshots.definitions import Era, StdioDefinition

COMMAND: Final = (sys.executable, str(Path(__file__).with_name("__main__.py")))
"""Works in any folder."""


def server_definition(
    *args: str, name: str = "demo", era: Era = "auto", connect_timeout_s: float | None = None
) -> StdioDefinition:
    """The test server on stdio; `args` are its options."""
    command, path = COMMAND
    return StdioDefinition(
        name=name, command=command, args=(path, *args), era=era, connect_timeout_s=connect_timeout_s
    )
