"""Clocks: the frame clock, the two limits of a call, and the limit of connecting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.limits import Limit, Limits
from mcp_progress_monitor.tracker.snapshot import Clocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LONGEST_WAIT_S: Final = 86_400.0
"""Longest single wait: Qt's timers count milliseconds in 32 bits. Longer waits are repeated."""

_SUSPENDED_S: Final = 1.0
"""A sleep that overran by this much means that the program was suspended.

Received data is then read for this long before a timeout counts.
"""

_SPARE_S: Final = 60.0
"""Least time left on a limit that is turned on again, so that it does not end the call at once."""

_ENDLESS: Final = Limits()


class CallClock:
    """Counts down the limits of one call, over all its requests.

    It stops while it is held, once for each `hold`. Every change wakes the tasks in `until`, so
    limits can be changed at any time.
    """

    __slots__ = (
        "_held_s",
        "_held_since",
        "_holds",
        "_limits",
        "_made",
        "_off",
        "_stirred",
        "_touched",
    )

    def __init__(self, now: float, limits: Limits = _ENDLESS) -> None:
        self._limits = limits.checked()
        self._off = _ENDLESS
        self._holds = 0
        self._held_s = 0.0
        self._held_since: float | None = None
        self._made = self._touched = now
        self._stirred = anyio.Event()

    @property
    def limits(self) -> Limits:
        return self._limits

    @property
    def is_suspended(self) -> bool:
        return self._holds > 0

    def touch(self, at: float) -> None:
        """Restart the idle timeout: a message for the call arrived."""
        run_s = at - self._held_s if self._held_since is None else self._run_s(at)
        if run_s > self._touched:  # called for each message: `max` takes twice as long
            self._touched = run_s

    def hold(self, now: float) -> None:
        """Stop counting until released as often as held; restarts the idle timeout."""
        self.touch(now)
        self._holds += 1
        if self._holds == 1:
            self._held_since = now
            self.wake()

    def release(self, now: float) -> None:
        """Undo one `hold`: the limits continue with the time that was left."""
        if self._holds == 1 and self._held_since is not None:
            self._held_s += max(now - self._held_since, 0.0)
            self._held_since = None
            self.wake()
        self._holds = max(self._holds - 1, 0)

    def set_limits(self, limits: Limits) -> None:
        """Set other limits; elapsed time still counts.

        `UserError` for a limit that cannot be counted down; then nothing changes.
        """
        self._limits = limits.checked()
        self.wake()

    def turn_off(self, limit: Limit) -> None:
        """Disable a limit until it is turned on again."""
        name = f"{limit.value}_s"
        seconds = getattr(self._limits, name)
        if seconds is not None:
            self._off = self._off._replace(**{name: seconds})
            self.set_limits(self._limits._replace(**{name: None}))

    def turn_on(self, limit: Limit, now: float) -> None:
        """Restore a limit that was turned off, with `_SPARE_S` left at least."""
        name = f"{limit.value}_s"
        seconds = getattr(self._off, name)
        if seconds is not None:
            began = self._touched if limit is Limit.IDLE else self._made
            least = self._run_s(now) - began + _SPARE_S
            self._off = self._off._replace(**{name: None})
            self.set_limits(self._limits._replace(**{name: max(seconds, least)}))

    def extend(self, idle_s: float = 0.0, total_s: float = 0.0) -> None:
        """Extend limits by so many seconds; a disabled one stays disabled.

        `UserError` as for `set_limits`, and for a negative extension.
        """
        Limits(idle_s, total_s).checked()
        idle, total = self._limits
        self.set_limits(
            Limits(
                None if idle is None else idle + idle_s, None if total is None else total + total_s
            )
        )

    def read(self, now: float) -> Clocks:
        idle, total = self._left(now)
        return Clocks(
            None if idle is None else max(idle, 0.0),
            None if total is None else max(total, 0.0),
            self._holds > 0,
            *self._limits,
            *self._off,
        )

    def wake(self) -> None:
        self._stirred.set()
        self._stirred = anyio.Event()

    async def until(self, is_over: Callable[[], bool], now: Callable[[], float]) -> Limit | None:
        """Wait until `is_over`, which is checked at each wake-up, or until a limit is reached.

        Returns the limit that was reached, or None; of two at once, the total timeout. A limit that
        passed while the program was suspended is checked again a little later: received data is
        read first.
        """
        stood_still = False
        while not is_over():
            began = now()
            left, limit = self._first(began)
            is_reached = left is not None and left <= 0 and not self.is_suspended
            if is_reached and not stood_still:
                return limit
            wait_s = _SUSPENDED_S if is_reached else left
            is_whole = await self._pause(wait_s)
            late_s = now() - began - (wait_s or 0.0)
            stood_still = is_whole and late_s > _SUSPENDED_S
        return None

    async def _pause(self, left: float | None) -> bool:
        """Wait until woken; True if the time passed first."""
        is_endless = left is None or self.is_suspended
        stirred = self._stirred
        longest_s = None if is_endless else min(left or 0.0, _LONGEST_WAIT_S)
        with anyio.move_on_after(longest_s) as scope:
            await stirred.wait()
        return scope.cancelled_caught

    def _first(self, now: float) -> tuple[float | None, Limit]:
        """Seconds until the first limit, and which one it is."""
        idle, total = self._left(now)
        if total is not None and (idle is None or total <= idle):
            return total, Limit.TOTAL
        return idle, Limit.IDLE

    def _left(self, now: float) -> tuple[float | None, float | None]:
        """Seconds until each limit; negative once it has passed."""
        run_s, (idle, total) = self._run_s(now), self._limits
        return (
            None if idle is None else self._touched + idle - run_s,
            None if total is None else self._made + total - run_s,
        )

    def _run_s(self, at: float) -> float:
        """The time of `at` on a clock that stops while this one is held."""
        return (at if self._held_since is None else min(at, self._held_since)) - self._held_s


class Hold:
    """Holds clocks until released; releasing twice is harmless.

    For questions to the user on behalf of a call.
    """

    def __init__(self, clocks: Iterable[CallClock], now: Callable[[], float]) -> None:
        self._clocks = list(dict.fromkeys(clocks))
        self._now = now
        for clock in self._clocks:
            clock.hold(now())

    def release(self) -> None:
        clocks, self._clocks = self._clocks, []
        for clock in clocks:
            clock.release(self._now())


SIGN_IN_S: Final = 300.0  # how long a user may take for each sign-in
URL_S: Final = 15.0  # default connection timeout of a server with a URL
FIRST_SILENCE_S: Final = 30.0  # how long a new process may stay silent
STDERR_EXTRA_S: Final = 15.0  # how much longer it gets after it has written to standard error
LONGEST_S: Final = 60.0
"""How long a process may take in total, over all its starts, whatever it writes."""

_AFTER_SIGN_IN_S: Final = 10.0
"""How much later connecting times out than a sign-in, whose error is more specific."""


class ConnectLimit:
    """A cancel scope whose time stops while a sign-in is open."""

    def __init__(self, limit_s: float | None, *, has_process: bool = False) -> None:
        """Start counting; without `limit_s`, use the default for a URL or a process."""
        usual_s = FIRST_SILENCE_S if has_process else URL_S
        self.began_at = anyio.current_time()
        self._is_patient = limit_s is None and has_process
        self.scope = anyio.CancelScope(
            deadline=self.began_at + (usual_s if limit_s is None else limit_s)
        )
        self._left_s: float | None = None

    @property
    def is_held(self) -> bool:
        return self._left_s is not None

    @property
    def is_patient(self) -> bool:
        """True if output of the process extends the limit."""
        return self._is_patient

    @property
    def waited_s(self) -> float:
        return anyio.current_time() - self.began_at

    @property
    def left_s(self) -> float:
        """How much time is left, as far as known now."""
        return self.scope.deadline - anyio.current_time()

    def note_start(self) -> None:
        """Another process was started."""
        self._prolong(FIRST_SILENCE_S)

    def note_stderr(self, ago_s: float) -> None:
        """Note that the process wrote to standard error `ago_s` seconds ago."""
        self._prolong(STDERR_EXTRA_S - ago_s)

    def renew(self) -> anyio.CancelScope | None:
        """A scope for one more start after a timeout; None if no time is left."""
        now = anyio.current_time()
        left_s = min(self.began_at + LONGEST_S - now, STDERR_EXTRA_S)
        if not self._is_patient or left_s <= 0:
            return None
        self.scope = anyio.CancelScope(deadline=now + left_s)
        return self.scope

    def _prolong(self, by_s: float) -> None:
        if self._is_patient:
            latest = min(anyio.current_time() + by_s, self.began_at + LONGEST_S)
            self.scope.deadline = max(self.scope.deadline, latest)

    def hold(self) -> None:
        if self._left_s is None:
            now = anyio.current_time()
            self._left_s = max(self.scope.deadline - now, 0.0)
            self.scope.deadline = now + SIGN_IN_S + _AFTER_SIGN_IN_S

    def release(self) -> None:
        """The sign-in is over: the remaining time continues."""
        if self._left_s is not None:
            self.scope.deadline = anyio.current_time() + self._left_s
            self._left_s = None


def not_signed_in(address: str) -> ErrorDetails:
    """The error for a sign-in that was not completed in time."""
    what = f"Sign-in was not completed within {formatting.duration(int(SIGN_IN_S))}"
    return ErrorDetails(what, address, "Connect again, and sign in on the page that opens.")
