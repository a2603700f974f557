"""Whether and when a server that ended unexpectedly is reconnected: back-off with a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.servers import Retry

if TYPE_CHECKING:
    from mcp_progress_monitor.snapshots.definitions import RestartPolicy

_HINT: Final = (
    "Find out why it stops: its stderr and last messages are in the recording. "
    "Connect again when it is fixed."
)
_THEN: Final = "then resume what is resumable; re-issued requests may run twice"


class ReconnectPolicy:
    """The restarts of one server.

    Does nothing itself: it is informed of events, and says what is due. A series of restarts begins
    when a connected server ends unexpectedly, continues with each attempt that fails and each
    connection that does not last, and ends when one lasts.
    """

    def __init__(self, name: str, *, is_on: bool = False) -> None:
        """Begin without restarts; unless `is_on`, nothing is ever due."""
        self.name = name
        self.is_on = is_on
        self.retry: Retry | None = None
        """The attempt that is due or in progress; None when the server is not being reconnected."""
        self.restarts = 0  # how often it was reconnected or restarted
        self.is_restarting = False  # whether it was ended in order to be restarted immediately
        self.is_dismissed = False
        """Whether the user stopped further attempts; then the failure is not reported."""
        self._made = 0
        self._connected_at: float | None = None
        self._is_decided = False
        self._is_exhausted = False
        self._refusal: ErrorDetails | None = None
        self._changed = anyio.Event()

    @property
    def is_waiting(self) -> bool:
        return self.retry is not None and self.retry.due_at is not None

    @property
    def is_reconnecting(self) -> bool:
        """Whether the server is about to be connected or given up automatically."""
        return self.retry is not None or self.is_restarting

    async def changed(self) -> None:
        await self._changed.wait()

    def begin(self) -> None:
        """A connection attempt begins, for whatever reason."""
        self._connected_at = self._refusal = None
        self._is_decided = self._is_exhausted = self.is_dismissed = False
        if self.retry is not None:
            self.retry = self.retry._replace(due_at=None)
        self._publish()

    def connected(self, now: float) -> None:
        self._connected_at = now
        if self.retry is not None or self.is_restarting:
            self.restarts += 1
        self.retry = None
        self.is_restarting = False
        self._publish()

    def ended(self, policy: RestartPolicy, now: float) -> None:
        """The connection ended unexpectedly, or failed. Repeated calls decide once."""
        if self._is_decided or self.is_restarting:
            return
        self._is_decided = True
        is_retry = self.retry is not None
        self.retry = None
        if self._connected_at is not None and now - self._connected_at >= policy.calm_s:
            self._made = 0
        if (self._connected_at is not None or is_retry) and self.is_on and policy.is_on:
            self._decide(policy, now)
        self._publish()

    def _decide(self, policy: RestartPolicy, now: float) -> None:
        if self._made >= policy.limit:
            self._is_exhausted = True
            return
        # The exponent is bounded: a thousand doublings overflow.
        delay_s = min(policy.first_delay_s * 2 ** min(self._made, 64), policy.longest_delay_s)
        self._made += 1
        self.retry = Retry(self._made, policy.limit, now + delay_s)

    def stop(self) -> None:
        """Make no further attempts; the next failure begins a new series."""
        self.is_dismissed = self.is_dismissed or self.is_waiting
        self.retry = None
        self.is_restarting = False
        self._made = 0
        self._is_exhausted = False
        self._is_decided = True
        self._publish()

    def refused(self, why: ErrorDetails) -> None:
        """The attempt that was due was refused: make no further ones."""
        self.retry = None
        self._made = 0
        self._refusal = why
        self._publish()

    def restarting(self) -> None:
        self.retry = None
        self._made = 0
        self.is_restarting = True
        self._publish()

    def not_restarted(self) -> None:
        """The restart did not happen."""
        self.is_restarting = False
        self._publish()

    def outlook(self, now: float) -> str:
        """What happens next, for those who waited for the server; empty if nothing."""
        if self.is_restarting:
            return f"Restarting now: {_THEN}"
        if self.retry is not None and self.retry.due_at is not None:
            left_s = max(self.retry.due_at - now, 0.0)
            count = f"attempt {self.retry.number} of {self.retry.limit}"
            left_s = round(left_s) if left_s >= 1 else left_s
            when = f"in {formatting.duration(left_s)}" if left_s else "now"
            return f"Reconnecting {when} ({count}): {_THEN}"
        if self._is_exhausted:
            return f"No further reconnects after {self._times()}"
        return ""

    def error(self, last: ErrorDetails | None) -> ErrorDetails | None:
        """The error about its failure; `last` says why it last failed."""
        if last is not None and self._refusal is not None:
            return self._refusal._replace(detail=f"Before that: {last.what}")
        if not self._is_exhausted or last is None:
            return last
        what = f"The server was reconnected {self._times()} and failed each time"
        why = f"Last failure: {last.what}"
        return ErrorDetails(what, last.where, _HINT, "\n".join(filter(None, [why, last.detail])))

    def _times(self) -> str:
        return f"{formatting.count(self._made, 'time')} in a row"

    def _publish(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
