"""The results of a check: one for each rule and job, counted, with a stable fingerprint."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.checking.connection import keep
from mcp_progress_monitor.findings.advice import ADVICE, REVISIONS_OF, Needs
from mcp_progress_monitor.findings.finding import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.checking.connection import Evidence, JudgedCall, JudgedConnection
    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.facts import Side
    from mcp_progress_monitor.tracker.snapshot import JobId

MOST_RESULTS: Final = 5_000  # results kept; more are only counted
FRAMES_KEPT: Final = 100  # frames kept of a result; all are counted
SEVERITIES: Final = (Level.ERROR, Level.WARNING, Level.NOTE)


class Result:
    """A violated rule, with the violator and the frames of one job or connection."""

    __slots__ = (
        "by",
        "connection",
        "count",
        "finding",
        "frames",
        "job",
        "last",
        "method",
        "request",
        "revision",
        "server",
        "title",
    )

    def __init__(
        self,
        connection: JudgedConnection,
        call: JudgedCall | None,
        evidence: Evidence,
        job: JobId | None,
    ) -> None:
        self.connection = connection.id
        self.server = connection.server.name
        self.revision = connection.revision
        self.by = evidence.by
        self.job = job
        self.request = evidence.request
        self.method = "" if call is None else call.method
        self.title = "" if call is None else call.title
        self.finding = evidence.finding
        self.count = 0
        self.frames: list[int] = []
        self.last = evidence.frame

    @property
    def rule(self) -> str:
        return self.finding.rule.id

    @property
    def level(self) -> Level:
        return self.finding.rule.level

    @property
    def first(self) -> int:
        return self.frames[0]

    @property
    def fingerprint(self) -> str:
        """A digest without ids, times and frames, equal for the same fault in another run."""
        parts = (self.rule, self.by.name, self.server, self.method, self.title)
        return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]

    def add(self, evidence: Evidence) -> bool:
        """Count another frame and show the most severe finding; returns whether it changed."""
        order = SEVERITIES.index(evidence.finding.rule.level) - SEVERITIES.index(self.level)
        is_shown = order < 0 or (order == 0 and evidence.replaces)
        if is_shown:
            self.finding = evidence.finding
        if self.frames and evidence.frame == self.last:
            return is_shown
        self.count += 1
        self.last = evidence.frame
        if len(self.frames) < FRAMES_KEPT:
            self.frames.append(evidence.frame)
        return True

    def add_frames(self, frames: Sequence[int]) -> None:
        """Count further frames with the same finding."""
        self.count += len(frames)
        self.last = frames[-1]
        self.frames += frames[: max(0, FRAMES_KEPT - len(self.frames))]


class RuleState(NamedTuple):
    """The ids of the rules that one server passed, violated, or that could not be tried."""

    passed: tuple[str, ...]
    broken: tuple[str, ...]
    not_applicable: tuple[str, ...]

    @property
    def tried(self) -> int:
        return len(self.passed) + len(self.broken)


class _Seen:
    """The revisions and kinds of messages of one server, which decide what rules were tried."""

    __slots__ = ("needs", "revisions")

    def __init__(self) -> None:
        self.needs = Needs(0)
        self.revisions: set[str] = set()


class Results:
    """All results, one for each rule and job or connection, in the order of their first frames."""

    def __init__(self, job_of: Callable[[int], JobId | None]) -> None:
        """`job_of` returns the job of a request's frame."""
        self._job_of = job_of
        self._by_key: dict[tuple[str, Side, str, JobId | None, str], Result] = {}
        self._seen: dict[str, _Seen] = {}
        self._last_note: tuple[object, ...] = ()
        self._fresh: list[Result] = []
        self._changed: dict[int, Result] = {}
        self._error_frames: set[int] = set()
        self.dropped = 0  # results beyond `MOST_RESULTS`

    def __iter__(self) -> Iterator[Result]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def add(
        self, connection: JudgedConnection, call: JudgedCall | None, evidence: Evidence
    ) -> Result | None:
        """Count evidence; returns its result, None if that is not kept."""
        if evidence.finding.rule.level is Level.ERROR:
            self._error_frames.add(evidence.frame)
        request = evidence.request
        job = None if request is None else self._job_of(request)
        method = "" if call is None or job is not None else call.method
        key = (evidence.finding.rule.id, evidence.by, connection.id, job, method)
        known = self._by_key.get(key)
        if known is None:
            if len(self._by_key) >= MOST_RESULTS:
                self.dropped += 1
                return None
            known = self._by_key[key] = Result(connection, call, evidence, job)
            self._fresh.append(known)
        if known.add(evidence):
            self._changed[id(known)] = known
        return known

    def add_frames(
        self, results: Sequence[Result | None], level: Level, frames: Sequence[int]
    ) -> None:
        """Count further frames, with findings of that level, of each result that is kept."""
        if results and level is Level.ERROR:
            self._error_frames.update(frames)
        for result in results if frames else ():
            if result is None:
                self.dropped += len(frames)
                continue
            result.add_frames(frames)
            self._changed[id(result)] = result

    def note(self, connection: JudgedConnection, needs: Needs) -> None:
        """Note what occurred, so that rules that need it count as tried."""
        # Compared by value: flags are slow, and this runs for every message of a flood.
        key = connection.id, needs._value_, connection.revision, connection.is_http
        if key == self._last_note:
            return
        self._last_note = key
        seen = self._seen.get(connection.server.name)
        if seen is None:
            seen = keep(self._seen, connection.server.name, _Seen())
        seen.needs |= needs
        if connection.is_http:
            seen.needs |= Needs.HTTP
        if connection.revision is not None:
            seen.revisions.add(connection.revision)

    def error_frames(self) -> set[int]:
        grave, self._error_frames = self._error_frames, set()
        return grave

    def fresh(self) -> list[Result]:
        fresh, self._fresh = self._fresh, []
        return fresh

    @property
    def has_changed(self) -> bool:
        return bool(self._changed)

    def changed(self) -> list[Result]:
        """The results that are new or have changed since the last call."""
        changed, self._changed = self._changed, {}
        return list(changed.values())

    def servers(self) -> dict[str, RuleState]:
        """The state of the rules for each server."""
        broken: dict[str, set[str]] = {}
        for result in self:
            broken.setdefault(result.server, set()).add(result.rule)
        return {name: _state(seen, broken.get(name, set())) for name, seen in self._seen.items()}

    def revisions(self, server: str) -> tuple[str, ...]:
        seen = self._seen.get(server)
        return () if seen is None else tuple(sorted(seen.revisions))


def _state(seen: _Seen, broken: set[str]) -> RuleState:
    tried = {
        id_
        for id_, advice in ADVICE.items()
        if advice.needs in seen.needs and REVISIONS_OF[id_] & seen.revisions
    }
    return RuleState(
        tuple(id_ for id_ in ADVICE if id_ in tried - broken),
        tuple(id_ for id_ in ADVICE if id_ in broken),
        tuple(id_ for id_ in ADVICE if id_ not in tried | broken),
    )


def text_of(finding: Finding) -> str:
    """The sentence of a finding, capitalised unless it starts with an identifier."""
    text = finding.text
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return text[:1].upper() + text[1:] if first.isalpha() else text
