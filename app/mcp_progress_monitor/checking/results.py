"""What a judge has found: one result for each rule and job, counted, with a lasting fingerprint."""

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

MOST_RESULTS: Final = 5_000  # results that are kept; beyond, they are counted
FRAMES_KEPT: Final = 100  # frames of a result that are kept; all are counted
GRAVEST: Final = (Level.ERROR, Level.WARNING, Level.NOTE)


class Result:
    """A rule that was broken, by whom, in which frames of one job or connection."""

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
        """The same for the same fault in another run: no ids, times or frames are part of it."""
        parts = (self.rule, self.by.name, self.server, self.method, self.title)
        return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]

    def add(self, evidence: Evidence) -> bool:
        """Count another frame; the gravest finding is shown. Whether anything is new."""
        graver = GRAVEST.index(evidence.finding.rule.level) - GRAVEST.index(self.level)
        is_shown = graver < 0 or (graver == 0 and evidence.replaces)
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
        """Count further frames in which the same was found."""
        self.count += len(frames)
        self.last = frames[-1]
        self.frames += frames[: max(0, FRAMES_KEPT - len(self.frames))]


class RuleState(NamedTuple):
    """What became of the rules on one server, by their ids."""

    passed: tuple[str, ...]
    broken: tuple[str, ...]
    not_applicable: tuple[str, ...]

    @property
    def tried(self) -> int:
        return len(self.passed) + len(self.broken)


class _Seen:
    """What took place with one server: which revisions, which kinds of messages."""

    __slots__ = ("needs", "revisions")

    def __init__(self) -> None:
        self.needs = Needs(0)
        self.revisions: set[str] = set()


class Results:
    """All results, in the order of their first frames. One for each rule and job or connection."""

    def __init__(self, job_of: Callable[[int], JobId | None]) -> None:
        """`job_of` tells the job of a request's frame."""
        self._job_of = job_of
        self._by_key: dict[tuple[str, Side, str, JobId | None, str], Result] = {}
        self._seen: dict[str, _Seen] = {}
        self._seen_last: tuple[object, ...] = ()
        self._fresh: list[Result] = []
        self._changed: dict[int, Result] = {}
        self._grave: set[int] = set()
        self.dropped = 0  # results beyond `MOST_RESULTS`

    def __iter__(self) -> Iterator[Result]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def add(
        self, connection: JudgedConnection, call: JudgedCall | None, evidence: Evidence
    ) -> Result | None:
        """Count a piece of evidence; its result, None if that is not kept."""
        if evidence.finding.rule.level is Level.ERROR:
            self._grave.add(evidence.frame)
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
        """Count further frames, which follow, with findings of that level, of each of these.

        None stands for a result that is not kept.
        """
        if results and level is Level.ERROR:
            self._grave.update(frames)
        for result in results if frames else ():
            if result is None:
                self.dropped += len(frames)
                continue
            result.add_frames(frames)
            self._changed[id(result)] = result

    def see(self, connection: JudgedConnection, needs: Needs) -> None:
        """Remember what took place: rules that need it are tried."""
        # By value: to combine flags is slow, and every message of a flood comes here.
        key = connection.id, needs._value_, connection.revision, connection.is_http
        if key == self._seen_last:
            return
        self._seen_last = key
        seen = self._seen.get(connection.server.name)
        if seen is None:
            seen = keep(self._seen, connection.server.name, _Seen())
        seen.needs |= needs
        if connection.is_http:
            seen.needs |= Needs.HTTP
        if connection.revision is not None:
            seen.revisions.add(connection.revision)

    def grave_frames(self) -> set[int]:
        grave, self._grave = self._grave, set()
        return grave

    def fresh(self) -> list[Result]:
        fresh, self._fresh = self._fresh, []
        return fresh

    @property
    def has_changed(self) -> bool:
        return bool(self._changed)

    def changed(self) -> list[Result]:
        """The results that are new, or were seen again, since this was asked last."""
        changed, self._changed = self._changed, {}
        return list(changed.values())

    def servers(self) -> dict[str, RuleState]:
        """For each server, which rules passed, were broken, or could not be tried."""
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
    """The sentence of a finding, with a capital letter unless it begins with a name."""
    text = finding.text
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return text[:1].upper() + text[1:] if first.isalpha() else text
