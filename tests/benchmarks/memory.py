"""What a process holds in memory that is its own, without the system's cache of files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")


def own_bytes() -> int | None:
    """Bytes of this process that are in memory and of no file; None if unknown.

    Linux alone tells it.
    """
    if not _STATUS.exists():
        return None
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) * 1024


def growth(before: int | None, after: int | None, count: int) -> float | None:
    """Bytes that each of `count` things took, at least 0; None if unknown."""
    return None if before is None or after is None else max(0.0, (after - before) / count)
