"""Time limits of calls, and log levels of servers. Light: imported by `--help`."""

from __future__ import annotations

import enum
from typing import Final, Literal, NamedTuple, Self, TypeAlias, get_args

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.messages import CALL_TOOL, STREAMS

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]


LOG_LEVELS: Final[tuple[str, ...]] = get_args(LogLevel)
"""Levels of log messages, the most verbose first (RFC 5424)."""


LONGEST_LIMIT_S: Final = 86_400_000  # the longest limit: 1,000 days. Whoever needs more wants none.


TOOL_IDLE_S: Final = 1800.0
"""How long a tool may be silent: a monitor of long jobs shows silence rather than ending them."""


OTHER_IDLE_S: Final = 60.0  # how long a server may be silent for other requests


class UsualLimit(enum.Enum):
    """The value that stands for the default limit of a server and a method."""

    USUAL = enum.auto()


USUAL: Final = UsualLimit.USUAL


LimitChoice: TypeAlias = float | UsualLimit | None
"""Seconds, None or 0 for no limit, or the default."""


class Limit(enum.Enum):
    """One of the two clocks of a call."""

    IDLE = "idle"
    TOTAL = "total"


class Limits(NamedTuple):
    """Timeouts in seconds; None and 0 are without limit.

    `idle_s` counts from the last activity of this request (sent, progress, any message that belongs
    to it), `total_s` from the moment it was made.
    """

    idle_s: float | None = None
    total_s: float | None = None

    def checked(self) -> Self:
        """The same with None for 0; `UserError` for what a clock cannot count down."""
        return self._replace(
            idle_s=_checked(self.idle_s, Limit.IDLE), total_s=_checked(self.total_s, Limit.TOTAL)
        )


def _checked(seconds: float | None, limit: Limit) -> float | None:
    if seconds is None:
        return None
    if not 0 <= seconds <= LONGEST_LIMIT_S:  # NaN fails both comparisons
        what = f"The {limit.value} timeout cannot be {_short(seconds)} seconds"
        hint = f"Enter 0 for no limit, or at most {LONGEST_LIMIT_S:,.0f} seconds (1,000 days)."
        raise UserError(ErrorDetails(what, hint=hint))
    return float(seconds) or None


def _short(seconds: float) -> str:
    try:
        return f"{seconds:g}"
    except OverflowError:  # an integer too large for a float
        return "that many"


class DefaultLimits(NamedTuple):
    """The limits, in seconds, of calls for which neither user nor server set any; 0 is none."""

    tool_idle_s: float = TOOL_IDLE_S
    other_idle_s: float = OTHER_IDLE_S
    total_s: float = 0.0


DEFAULT_LIMITS: Final = DefaultLimits()


def usual_limits(
    method: str,
    idle_s: float | None,
    total_s: float | None,
    defaults: DefaultLimits = DEFAULT_LIMITS,
) -> Limits:
    """The limits of a call that sets none: its server's, else the defaults.

    `idle_s` and `total_s` are the timeouts of the server's definition. A stream has no idle one.
    """
    if method in STREAMS:
        idle_s = 0.0
    elif idle_s is None:
        idle_s = defaults.tool_idle_s if method == CALL_TOOL else defaults.other_idle_s
    return Limits(idle_s, defaults.total_s if total_s is None else total_s).checked()


def chosen_limits(idle_s: LimitChoice, total_s: LimitChoice, usual: Limits) -> Limits:
    """The limits of a call with these choices; `UserError` for what a clock cannot count down."""
    return Limits(
        usual.idle_s if isinstance(idle_s, UsualLimit) else idle_s,
        usual.total_s if isinstance(total_s, UsualLimit) else total_s,
    ).checked()
