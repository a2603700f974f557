"""The report of `check` on one or more recordings, as values and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.checking.results import SEVERITIES, text_of
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.finding import Level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mcp_progress_monitor.checking.results import Result, RuleState

VERSION: Final = 1  # of the JSON report; members may be added, never removed or renamed


class SourcePlace(NamedTuple):
    """A line of the user's code; the path is relative to the repository, with forward slashes."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class ReportedResult(NamedTuple):
    """One result as text, with its place; `line` is that of its first frame in the recording.

    `definition` is where the code defines the tool that was called, if that was looked for.
    """

    rule: str
    level: Level
    by: str
    server: str
    connection: str
    job: int | None
    method: str
    title: str
    revision: str | None
    text: str
    source: str
    times: int
    frames: tuple[int, ...]
    last: int
    fingerprint: str
    line: int = 1
    is_new: bool = True
    definition: SourcePlace | None = None

    @property
    def place(self) -> str:
        return f"{self.method} {self.title}".strip() if self.method else self.server


class CheckedServer(NamedTuple):
    """A server of a recording: its revisions, the state of each rule, digests of its tools.

    `tokens` is an estimate of what the tools cost in a model's context.
    """

    name: str
    revisions: tuple[str, ...]
    rules: RuleState
    tools: dict[str, str]
    tokens: int = 0


UNTESTED: Final = (
    "No rule could be tested: no revision was agreed on, or nothing was sent. Record a session in "
    "which the server answers"
)


class CheckedJob(NamedTuple):
    """A job of a recording, for a table; the times in seconds, the state as text."""

    id: int
    server: str
    name: str
    state: str
    duration_s: float
    ticks: int


class CheckedFile(NamedTuple):
    """A recording and its results.

    `artifact` is its path relative to the repository, or its name where it lies elsewhere.
    `listed_jobs` are the first of its jobs.
    `dropped` results were only counted; `unchecked` messages were not compared with a schema.
    `notes` are about the recording itself, such as that it is damaged or a script changed it.
    """

    path: str
    frames: int
    jobs: int
    results: tuple[ReportedResult, ...]
    servers: tuple[CheckedServer, ...]
    dropped: int = 0
    schema_checked: int = 0
    unchecked: int = 0
    duration_s: float = 0.0
    begun_when: float | None = None
    notes: tuple[str, ...] = ()
    artifact: str = ""
    listed_jobs: tuple[CheckedJob, ...] = ()

    @property
    def tested(self) -> int:
        """How many rules the session could break, added up over its servers."""
        return sum(server.rules.tried for server in self.servers)


class Report(NamedTuple):
    """All files of a run, which new results of level `fail_on` or above fail; None for never.

    `script` is the file of the repository that the server was started from, empty if unknown.
    """

    program: str
    version: str
    files: tuple[CheckedFile, ...]
    fail_on: Level | None = Level.ERROR
    script: str = ""

    def place(self, result: ReportedResult) -> SourcePlace | None:
        """The place in the repository at which to show a result."""
        if result.definition is None and self.script:
            return SourcePlace(self.script, 1)
        return result.definition

    def fails(self, result: ReportedResult) -> bool:
        if self.fail_on is None or not result.is_new:
            return False
        return SEVERITIES.index(result.level) <= SEVERITIES.index(self.fail_on)

    @property
    def results(self) -> Iterator[ReportedResult]:
        return (result for file in self.files for result in file.results)

    @property
    def untested(self) -> tuple[str, ...]:
        """The files in which no rule could be tested: they prove nothing."""
        return tuple(file.path for file in self.files if not file.tested)

    @property
    def is_failed(self) -> bool:
        return any(map(self.fails, self.results)) or bool(self.fail_on and self.untested)

    def counts(self) -> dict[Level, int]:
        levels = [result.level for result in self.results]
        return {level: levels.count(level) for level in SEVERITIES}


def checked(result: Result, known: Collection[str] = (), line: int = 1) -> ReportedResult:
    """A result for a report; it is not new if its fingerprint is `known`."""
    source = result.finding.rule.source
    return ReportedResult(
        result.rule,
        result.level,
        result.by.name.lower(),
        result.server,
        result.connection,
        result.job,
        result.method,
        result.title,
        result.revision,
        text_of(result.finding),
        f"{source.document}, {source.section}",
        result.count,
        tuple(result.frames),
        result.last,
        result.fingerprint,
        line,
        result.fingerprint not in known,
    )


def by_level(results: Sequence[ReportedResult]) -> list[ReportedResult]:
    """The most severe first, then in the order of the recording."""
    return sorted(results, key=lambda each: (SEVERITIES.index(each.level), each.frames[0]))


def as_json(report: Report) -> str:
    """The report as one JSON document, which `--baseline` reads as well."""
    counts = report.counts()
    document = {
        "version": VERSION,
        "program": report.program,
        "programVersion": report.version,
        "files": [_file(file) for file in report.files],
        "summary": {
            **{level.value: count for level, count in counts.items()},
            "new": sum(result.is_new for result in report.results),
            "failed": report.is_failed,
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _file(file: CheckedFile) -> dict[str, Any]:
    return {
        "file": file.path,
        "frames": file.frames,
        "jobs": file.jobs,
        "notes": list(file.notes),
        "servers": [_server(server) for server in file.servers],
        "findings": [_result(result) for result in by_level(file.results)],
        "leftOut": file.dropped,
        "schema": {"checked": file.schema_checked, "unchecked": file.unchecked},
    }


def _server(server: CheckedServer) -> dict[str, Any]:
    rules = server.rules
    return {
        "name": server.name,
        "revisions": list(server.revisions),
        "rules": {
            "tried": rules.tried,
            "passed": list(rules.passed),
            "broken": list(rules.broken),
            "notApplicable": list(rules.not_applicable),
        },
        "tools": server.tools,
        "toolTokens": server.tokens,
    }


def _result(result: ReportedResult) -> dict[str, Any]:
    advice = ADVICE[result.rule]
    return {
        "rule": result.rule,
        "level": result.level.value,
        "title": advice.title,
        "by": result.by,
        "server": result.server,
        "connection": result.connection,
        "job": result.job,
        "definition": result.definition and result.definition._asdict(),
        "method": result.method or None,
        "name": result.title or None,
        "revision": result.revision,
        "text": result.text,
        "due": advice.due,
        "since": advice.since,
        "certainty": advice.certainty.value,
        "source": result.source,
        "fix": {"text": advice.fix, "python": advice.python, "typescript": advice.typescript},
        "count": result.times,
        "first": result.frames[0],
        "last": result.last,
        "frames": list(result.frames),
        "line": result.line,
        "fingerprint": result.fingerprint,
        "new": result.is_new,
    }


class Baseline(NamedTuple):
    """The fingerprints of an earlier report, and its digests of tools by server."""

    fingerprints: frozenset[str] = frozenset()
    tools: dict[str, dict[str, str]] = {}  # noqa: RUF012  # read only


def read_baseline(text: str) -> Baseline | None:
    """Read a JSON report; None if the text is not one."""
    try:
        document = json.loads(text)
        files = document["files"]
        prints = [each["fingerprint"] for file in files for each in file["findings"]]
        tools = {each["name"]: dict(each["tools"]) for file in files for each in file["servers"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Baseline(frozenset(each for each in prints if isinstance(each, str)), tools)
