"""The two clocks of a call while it is waited for: they count down, stand still, are moved on.

Source: protocol notes, "Timeouts and cancelling". Time is passed in, monotonic seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from mcp_progress_monitor.sessions.limits import Limit, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LONGEST_WAIT_S: Final = 86_400.0
"""Longest single wait: Qt's timers count milliseconds in 32 bits. The time is taken anew after."""

_STOOD_STILL_S: Final = 1.0
"""Who sleeps longer than was meant by this much stood still; so long is given to read what came."""

_ENDLESS: Final = Limits()


class Clocks(NamedTuple):
    """Both clocks at one moment: seconds left and the limits they count down from; None is off.

    `is_suspended` says that they stand still, because a question to the user is open.
    """

    idle_left_s: float | None
    total_left_s: float | None
    is_suspended: bool
    idle_s: float | None
    total_s: float | None


class CallClock:
    """Counts down for one call, over all requests that are made for it.

    It stands still while anybody holds it, so often as it was held. Whatever changes it wakes
    those who wait in `until`, so that limits may be moved at any time.
    """

    __slots__ = ("_held_s", "_held_since", "_holds", "_limits", "_made", "_stirred", "_touched")

    def __init__(self, now: float, limits: Limits = _ENDLESS) -> None:
        """Begin to count at `now`."""
        self._limits = limits.checked()
        self._holds = 0
        self._held_s = 0.0
        self._held_since: float | None = None
        self._made = self._touched = now
        self._stirred = anyio.Event()

    @property
    def limits(self) -> Limits:
        """The limits as they stand."""
        return self._limits

    @property
    def is_suspended(self) -> bool:
        """Whether anybody holds the clocks."""
        return self._holds > 0

    def touch(self, at: float) -> None:
        """Note a sign of life of the call: the idle clock begins anew."""
        run_s = at - self._held_s if self._held_since is None else self._run_s(at)
        if run_s > self._touched:  # asked for each call of a flood: `max` takes twice as long
            self._touched = run_s

    def hold(self, now: float) -> None:
        """Stand still until released as often as held; what is held for is a sign of life."""
        self.touch(now)
        self._holds += 1
        if self._holds == 1:
            self._held_since = now
            self.stir()

    def release(self, now: float) -> None:
        """Undo one `hold`: the clocks go on with what was left."""
        if self._holds == 1 and self._held_since is not None:
            self._held_s += max(now - self._held_since, 0.0)
            self._held_since = None
            self.stir()
        self._holds = max(self._holds - 1, 0)

    def set_limits(self, limits: Limits) -> None:
        """Have other limits from now on, counted from where the old ones are.

        `ProblemError` for what no clock can count down: then nothing changes.
        """
        self._limits = limits.checked()
        self.stir()

    def extend(self, idle_s: float = 0.0, total_s: float = 0.0) -> None:
        """Move limits on by so many seconds; one that is off stays so.

        `ProblemError` as for `set_limits`, and for a step back.
        """
        Limits(idle_s, total_s).checked()
        idle, total = self._limits
        self.set_limits(
            Limits(
                None if idle is None else idle + idle_s, None if total is None else total + total_s
            )
        )

    def read(self, now: float) -> Clocks:
        """Both clocks at `now`."""
        idle, total = self._left(now)
        return Clocks(
            None if idle is None else max(idle, 0.0),
            None if total is None else max(total, 0.0),
            self.is_suspended,
            *self._limits,
        )

    def stir(self) -> None:
        """Have those who wait look again."""
        self._stirred.set()
        self._stirred = anyio.Event()

    async def until(self, is_over: Callable[[], bool], now: Callable[[], float]) -> Limit | None:
        """Wait until `is_over`, which is looked at whenever the clock is stirred, or a limit.

        Which limit was reached, None when none was. Of two reached at once it is the total one.
        A limit that passed while the whole program stood still is looked at again, a little later:
        what came meanwhile is to be read first.
        """
        stood_still = False
        while not is_over():
            began = now()
            left, limit = self._first(began)
            is_reached = left is not None and left <= 0 and not self.is_suspended
            if is_reached and not stood_still:
                return limit
            wait_s = _STOOD_STILL_S if is_reached else left
            is_whole = await self._pause(wait_s)
            late_s = now() - began - (wait_s or 0.0)
            stood_still = is_whole and late_s > _STOOD_STILL_S
        return None

    async def _pause(self, left: float | None) -> bool:
        """Wait until the clock is stirred; true after so many seconds, if it was not."""
        is_endless = left is None or self.is_suspended
        stirred = self._stirred
        longest_s = None if is_endless else min(left or 0.0, _LONGEST_WAIT_S)
        with anyio.move_on_after(longest_s) as scope:
            await stirred.wait()
        return scope.cancelled_caught

    def _first(self, now: float) -> tuple[float | None, Limit]:
        """Seconds until the first limit, and which it is."""
        idle, total = self._left(now)
        if total is not None and (idle is None or total <= idle):
            return total, Limit.TOTAL
        return idle, Limit.IDLE

    def _left(self, now: float) -> tuple[float | None, float | None]:
        """Seconds until each limit; below 0 beyond it."""
        run_s, (idle, total) = self._run_s(now), self._limits
        return (
            None if idle is None else self._touched + idle - run_s,
            None if total is None else self._made + total - run_s,
        )

    def _run_s(self, at: float) -> float:
        """The time of `at` on a clock that stands still with this one."""
        return (at if self._held_since is None else min(at, self._held_since)) - self._held_s


class Hold:
    """Keeps clocks still from its making until it is released, which more than once does no harm.

    For whoever asks the user something on behalf of a call.
    """

    def __init__(self, clocks: Iterable[CallClock], now: Callable[[], float]) -> None:
        """Hold each of `clocks` once."""
        self._clocks = list(dict.fromkeys(clocks))
        self._now = now
        for clock in self._clocks:
            clock.hold(now())

    def release(self) -> None:
        """Let the clocks go on."""
        clocks, self._clocks = self._clocks, []
        for clock in clocks:
            clock.release(self._now())
