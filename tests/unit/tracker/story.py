"""A playbook: facts stated one by one, as `Conversation` does, with its own clock.

The story keeps the standing of its requests, so that a tick after a reply is late, as it is live.
"""

from typing import Any

from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import (
    CallTimedOut,
    CancelRequested,
    ConnectionClosed,
    Fact,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.frames import FactRun
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobDetail, JobSnapshot
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.findings import finding

CONNECTION = "local-db#1"


class Story:
    """One tracker and its facts. Times are seconds since the story's begin."""

    def __init__(self, tracker: Tracker | None = None) -> None:
        self.tracker = Tracker() if tracker is None else tracker
        self.now = 0.0
        self._number = 100
        self._standing: dict[int, RequestStanding] = {}
        self._held: list[Fact] | None = None

    def _next(self) -> int:
        self._number += 1
        return self._number

    def forget_standings(self) -> None:
        """Let go what the story itself remembers of its requests."""
        self._standing.clear()

    def hold(self) -> None:
        """Keep what is reported from here on, for one chunk."""
        self._held = []

    def release(self) -> ChangeSet:
        """Tell in one chunk what was held."""
        facts, self._held = self._held or [], None
        return self.tell(*facts)

    def tell(self, *facts: Fact) -> ChangeSet:
        if self._held is None:
            return self.tracker.apply(FactRun.of(facts), self.now)
        self._held.extend(facts)
        return ChangeSet()

    def call(
        self,
        token: object = "a",  # noqa: S107 - a progress token is no password
        *,
        method: str = "tools/call",
        params: dict[str, Any] | None = None,
        connection: str = CONNECTION,
        sender: Side = Side.CLIENT,
        violations: tuple[str | Finding, ...] = (),
        number: int | None = None,
        resume: object = None,
    ) -> int:
        """Make a request; its number, which is also its id."""
        number = self._next() if number is None else number
        self._standing[number] = RequestStanding.ACTIVE
        given = {"name": "export", "arguments": {"rows": 3}} if params is None else params
        self.tell(
            RequestMade(
                number, connection, self.now, 1e9 + self.now, sender, number, method, given, token,
                resume, tuple(map(_found, violations)),
            )
        )  # fmt: skip
        return number

    def progress(
        self,
        request: int | None,
        progress: int | float | None,
        total: int | float | None = None,
        message: str | None = None,
        *,
        violations: tuple[str | Finding, ...] = (),
        connection: str = CONNECTION,
    ) -> ProgressReceived:
        """Make the fact of a tick, without telling it."""
        known = self._standing.get(-1 if request is None else request, RequestStanding.UNKNOWN)
        return ProgressReceived(
            self._next(), connection, self.now, 1e9 + self.now, Side.SERVER, "a", request, known,
            progress, total, message, tuple(map(_found, violations)),
        )  # fmt: skip

    def tick(
        self,
        request: int | None,
        progress: int | float | None,
        total: int | float | None = None,
        message: str | None = None,
        *,
        violations: tuple[str | Finding, ...] = (),
    ) -> ChangeSet:
        return self.tell(self.progress(request, progress, total, message, violations=violations))

    def ticks(self, request: int, *values: float, total: float | None = None) -> None:
        """One tick a second, the first at once."""
        for place, value in enumerate(values):
            self.now += 1 if place else 0
            self.tick(request, value, total)

    def reply(
        self,
        request: int,
        result: dict[str, Any] | None = None,
        *,
        error: dict[str, Any] | None = None,
        size: int = 40,
        violations: tuple[str | Finding, ...] = (),
        token: object = None,
        sender: Side = Side.SERVER,
    ) -> ChangeSet:
        standing = self._standing.get(request, RequestStanding.UNKNOWN)
        self._standing[request] = RequestStanding.ANSWERED
        given = {"content": []} if result is None and error is None else result
        known = None if standing is RequestStanding.UNKNOWN else request
        return self.tell(
            RequestAnswered(
                self._next(), CONNECTION, self.now, 1e9 + self.now, sender, request, known,
                standing, given, error, token, size, tuple(map(_found, violations)),
            )
        )  # fmt: skip

    def cancel(self, request: int, reason: str | None = "enough") -> ChangeSet:
        standing = self._standing[request]
        if standing is RequestStanding.ACTIVE:
            self._standing[request] = RequestStanding.CANCELLED
        return self.tell(
            RequestCancelled(
                self._next(), CONNECTION, self.now, 1e9 + self.now, Side.CLIENT, request, request,
                standing, reason, (),
            )
        )  # fmt: skip

    def ask_cancel(
        self, request: int, reason: str | None = "enough", grace_s: float | None = None
    ) -> ChangeSet:
        """Say that the user wants to cancel, of which the server does not know yet."""
        place = self._next(), CONNECTION, self.now, 1e9 + self.now
        return self.tell(CancelRequested(*place, request, reason, grace_s))

    def time_out(self, request: int, text: str = "too long") -> ChangeSet:
        place = self._next(), CONNECTION, self.now, 1e9 + self.now
        return self.tell(CallTimedOut(*place, request, text))

    def close(self, reason: str = "the process ended", exit_code: int | None = 3) -> ChangeSet:
        return self.tell(
            ConnectionClosed(
                self._next(), CONNECTION, self.now, 1e9 + self.now, reason, exit_code
            )
        )  # fmt: skip

    def wait(self, seconds: float) -> ChangeSet:
        self.now += seconds
        return self.tracker.tick(self.now)

    def job(self, request: int) -> JobSnapshot:
        """The snapshot of a request's job, now."""
        job = self.tracker.job_of(request)
        assert job is not None
        snapshot = self.tracker.snapshot(job, self.now)
        assert snapshot is not None
        return snapshot

    def detail(self, request: int) -> JobDetail:
        detail = self.tracker.detail(self.job(request).id, self.now)
        assert detail is not None
        return detail

    def marks(self, request: int) -> dict[str, int]:
        """How often each mark was seen, by key."""
        return {mark.key: mark.count for mark in self.job(request).marks}


def _found(violation: str | Finding) -> Finding:
    return finding(violation) if isinstance(violation, str) else violation
