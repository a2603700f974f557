"""The first and the last stamp of a part, without reading what is between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.recording.file_bytes import FileBytes

if TYPE_CHECKING:
    from mcp_progress_monitor.recording.parts import RecordingPart
    from mcp_progress_monitor.recording.stamps import Stamp

_NEAR: Final = 64 * 1024
_FAR: Final = 4 * 1024 * 1024


def first_stamp(part: RecordingPart) -> Stamp | None:
    """The stamp of the first frame; None when none is found within some kilobytes."""
    read = part.stamps.read
    head = FileBytes(part.path).read(part.begin, _NEAR)
    return next(filter(None, map(read, head.split(b"\n"))), None)


def last_stamp(part: RecordingPart) -> Stamp | None:
    """The stamp of the last frame; None when none is found within some megabytes.

    The last line counts although it may be cut off.
    """
    read, source = part.stamps.read, FileBytes(part.path)
    for reach in (_NEAR, _FAR):
        begin = max(part.begin, part.size - reach)
        lines = source.read(begin, part.size - begin).split(b"\n")
        if begin > part.begin:
            del lines[0]  # its beginning is not here
        found = next(filter(None, map(read, reversed(lines))), None)
        if found is not None or begin == part.begin:
            return found
    return None
