"""Ticks read back from the frames: all of them, where a job keeps only the newest in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.tracker.amount import as_float, fraction

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.frame import Frame


class Tick(NamedTuple):
    """One progress notification. Numbers are as received, None when absent or of a wrong type."""

    number: int
    when: float
    at: float
    token: Any
    progress: int | float | None
    total: int | float | None
    message: str | None

    @property
    def share(self) -> float | None:
        """The fraction of the bar, None where there is none."""
        return fraction(self.progress, self.total)


def tick_of(frame: Frame) -> Tick:
    """Read a frame that the index says is progress."""
    params: Any = decode(frame.raw, is_complete=frame.is_complete).params
    members: dict[str, Any] = params if isinstance(params, dict) else {}
    message = members.get("message")
    return Tick(
        frame.number,
        frame.when,
        frame.at,
        members.get("progressToken"),
        _number(members.get("progress")),
        _number(members.get("total")),
        message if isinstance(message, str) else None,
    )


def difference(later: float | None, earlier: float | None) -> float | None:
    """How much progress lies between two ticks; None where one of them told none."""
    if later is None or earlier is None:
        return None
    if isinstance(later, int) and isinstance(earlier, int):
        return later - earlier
    return round(as_float(later) - as_float(earlier), 12)


def per_second(gained: float | None, seconds: float | None) -> float | None:
    """Progress a second; None where no time passed."""
    if gained is None or seconds is None or seconds <= 0:
        return None
    rate = as_float(gained) / seconds
    return rate if math.isfinite(rate) else None


def _number(value: Any) -> int | float | None:
    is_number = type(value) is int or (type(value) is float and math.isfinite(value))
    return value if is_number else None
