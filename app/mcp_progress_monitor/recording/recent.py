"""The recently opened recordings, in a small file of the data folder."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import private_file
from mcp_progress_monitor.path_checks import PathKind, path_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILE: Final = "recent-recordings.json"
_MOST: Final = 12


def recent_recordings(data_dir: Path) -> list[Path]:
    """The recordings, the last opened first; empty if the file cannot be read."""
    path = data_dir / _FILE
    if path_kind(path) is not PathKind.FILE:
        return []
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    names = [name for name in kept if isinstance(name, str)] if isinstance(kept, list) else []
    return [Path(name) for name in names[:_MOST]]


def note_opened(data_dir: Path, recording: Path) -> None:
    """Put a recording first; failing to write is not an error."""
    others = [path for path in recent_recordings(data_dir) if path != recording]
    _write(data_dir, [recording, *others][:_MOST])


def forget_opened(data_dir: Path) -> None:
    """Clear the list."""
    _write(data_dir, [])


def _write(data_dir: Path, recordings: Sequence[Path]) -> None:
    content = json.dumps([str(path) for path in recordings], indent=2).encode() + b"\n"
    with contextlib.suppress(OSError):
        private_file.put(data_dir / _FILE, content)
