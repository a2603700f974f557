"""What the tests ask the system about processes, by Linux's own account of them."""

import contextlib
from pathlib import Path

from mcp_progress_monitor.sessions.transport.watchdog import mark_of


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie that nobody has waited for counts as gone."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def children_of(pid: int) -> list[int]:
    """The processes that `pid` started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def servers_of(pid: int) -> list[int]:
    """The servers that the program `pid` has started, and not its watchdog."""
    return [child for child in children_of(pid) if mark_of(child)]


def users_of(path: Path) -> list[int]:
    """The processes that have a file open."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if entry.readlink() == path:
                found.add(int(entry.parts[2]))
    return sorted(found)
