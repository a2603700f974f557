"""Commands of this program, as the user would type them: printed where one of them helps."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from mcp_progress_monitor.looking import absolute
from mcp_progress_monitor.text import visible


def own_command(*words: str) -> str:
    """This program with `words`, quoted for the user's shell, safe on a terminal."""
    line = [*_program(), *words]
    return visible(subprocess.list2cmdline(line) if sys.platform == "win32" else shlex.join(line))


def _program() -> list[str]:
    """How this program was started, in the words that start it again."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return [sys.executable, "-m", "mcp_progress_monitor"]
    found = shutil.which(started.name)
    is_on_path = found is not None and Path(found).resolve() == started.resolve()
    return [started.name if is_on_path else str(absolute(started))]
