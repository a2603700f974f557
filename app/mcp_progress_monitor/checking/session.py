"""A whole session: judged by the rules at once, by the official schemas when there is time."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.checking.judge import SessionJudge
from mcp_progress_monitor.checking.schemas import SchemaChecks
from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.json_schema import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_progress_monitor.checking.schemas import Due
    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.tracker.snapshot import JobId

MOST_WAITING: Final = 50_000
"""Messages that wait for the schema check; what comes meanwhile is counted as unchecked."""
MOST_WAITING_BYTES: Final = 64_000_000


class SessionChecker:
    """The judge and the schemas, fed from the same updates, live or from a recording.

    A message that breaks a rule of its own is not reported by the schema as well: the rule says
    more.
    """

    def __init__(
        self,
        job_of: Callable[[int], JobId | None],
        baseline: Mapping[str, Mapping[str, str]] | None = None,
        schemas: SchemaChecks | None = None,
    ) -> None:
        """See `SessionJudge`; `schemas` say how much time they may take."""
        self.judge = SessionJudge(job_of, baseline)
        self.schemas = SchemaChecks() if schemas is None else schemas
        self._waiting: collections.deque[tuple[int, Due, bytes]] = collections.deque()
        self._waiting_bytes = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(
        self,
        frames: Sequence[Frame],
        facts: Sequence[Fact],
        marked: Mapping[int, tuple[Finding, ...]],
    ) -> None:
        """Judge a chunk; its messages wait for `work`."""
        self.judge.take(frames, facts, marked)
        grave = self.judge.results.grave_frames()
        grave.update(number for number, found in marked.items() if _is_grave(found))
        waiting, size = self._waiting, self._waiting_bytes
        for each in self.schemas.due(self.judge.connection, frames, facts):
            if each[0] in grave:
                continue
            if len(waiting) >= MOST_WAITING or size > MOST_WAITING_BYTES:
                self.schemas.unchecked += 1
            else:
                waiting.append(each)
                size += len(each[2])
        self._waiting_bytes = size

    def work(self, budget_s: float) -> bool:
        """Compare messages with their schemas for about so long; whether any still wait."""
        watch = Stopwatch(budget_s)
        while self._waiting and watch.left_s:
            number, due, raw = self._waiting.popleft()
            self._waiting_bytes -= len(raw)
            found = self.schemas.check(number, due, raw)
            if found is not None:
                self.judge.state(*found)
        return bool(self._waiting)


def _is_grave(found: Sequence[Finding]) -> bool:
    return any(each.rule.level is Level.ERROR for each in found)
