"""The user's settings for agents, in a file of their own: agents read them without the window."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.path_checks import PathKind, path_kind

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "agents.json"
ASKS: Final = "asks_before_actions"
"""The member that says whether the user is asked before an agent acts."""


def asks_before_actions(data_dir: Path) -> bool:
    """False only if the file says so: one that cannot be read allows nothing."""
    path = data_dir / FILE_NAME
    try:
        if path_kind(path) is not PathKind.FILE:  # reading a pipe would block forever
            return True
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return True
    return not (isinstance(found, dict) and found.get(ASKS) is False)
