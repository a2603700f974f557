"""Frames as text for the clipboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.models.json_text import pretty
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_progress_monitor.protocol.frame import Frame


def as_json(frames: Iterable[Frame]) -> str:
    """Return messages as indented JSON, one after the other; other bytes as they came."""
    return "\n".join(_json(frame) for frame in frames)


def as_raw(frames: Iterable[Frame]) -> tuple[bytes, str]:
    r"""Return the exact bytes, one message a line, and the same as text.

    In the text, bytes that are no UTF-8 are written as escapes such as `\xff`.
    """
    raw = b"\n".join(frame.raw for frame in frames)
    return raw, raw.decode(errors="backslashreplace")


def _json(frame: Frame) -> str:
    if frame.channel is Channel.STDERR or len(frame.raw) > OVERSIZED:
        return as_raw([frame])[1]
    try:
        return pretty(read_value(frame.raw).value)
    except (NotJsonError, TooDeepError):
        return as_raw([frame])[1]
