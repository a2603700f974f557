"""`check`: checks recordings against the rules of MCP and writes a report."""

from __future__ import annotations

import bisect
import itertools
import math
import os
import time
from array import array
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import __version__, formatting
from mcp_progress_monitor.checking.annotations import as_annotations
from mcp_progress_monitor.checking.connection import Evidence
from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.checking.junit import as_junit
from mcp_progress_monitor.checking.markdown import as_markdown
from mcp_progress_monitor.checking.report import (
    UNTESTED,
    Baseline,
    CheckedFile,
    CheckedJob,
    CheckedServer,
    Report,
    as_json,
    checked,
    read_baseline,
)
from mcp_progress_monitor.checking.sarif import as_sarif
from mcp_progress_monitor.checking.text import as_text
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.options import check_filter
from mcp_progress_monitor.cli.output.stdout import show_warnings, write_out
from mcp_progress_monitor.cli.repository import Repository
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.exports.frames import chosen
from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.advice import Needs
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.paths import APPLICATION
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.context_cost import tokens_of_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from mcp_progress_monitor.checking.results import Result
    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.orders import CheckOrder
    from mcp_progress_monitor.engine.updates import Update

_SLICE_S: Final = 0.2
_SHOWN_ERRORS: Final = 10
_LISTED_JOBS: Final = 100
_NAMES: Final = 400  # characters of a list of tools


def check_recordings(common: CommonOptions, order: CheckOrder) -> int:
    """Check recordings; the exit code says whether new findings reach the level of `--fail-on`.

    `CommandFailed` with code 8 if a file is not a recording, or cannot be read or written; with
    code 2 if the baseline is not a report. A usage error for an invalid filter.
    """
    log_to_stderr(common.log_level or "warning")
    for option, text in (("--filter", order.where), *(("--expect", text) for text in order.expect)):
        check_filter(option, text)
    baseline = Baseline() if order.baseline is None else _read_baseline(order.baseline)
    repository = Repository(order.source)
    files = repository.located([_check_file(path, order, baseline) for path in order.files])
    files = [
        file._replace(artifact=repository.artifact(path))
        for file, path in zip(files, order.files, strict=True)
    ]
    script = repository.script_of(common)
    report = Report(APPLICATION, __version__, tuple(files), order.fails_from, script)
    for form, target in ((order.form, order.output), *order.reports):
        write_out([_WRITERS[form](report).encode(errors="replace")], target)
    return ExitCode.FINDINGS if report.is_failed else ExitCode.DONE


def _read_baseline(path: Path) -> Baseline:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = "Cannot read the baseline"
        reason = getattr(error, "strerror", None) or str(error)
        raise CommandFailed(
            ExitCode.UNWRITABLE, ErrorDetails(what, str(path), detail=reason)
        ) from error
    found = read_baseline(text)
    if found is None:
        hint = "Write one with: check FILE --format json --output BASELINE.json"
        details = ErrorDetails("The baseline is not a report of check", str(path), hint)
        raise CommandFailed(ExitCode.USAGE, details)
    return found


class RecordingCheck:
    """Checks a whole recording with the judge and the official schemas."""

    def __init__(self, playback: Playback, baseline: Baseline) -> None:
        self._playback = playback
        self._check = SessionChecker(playback.jobs.job_of, baseline.tools)
        self.judge: Final = self._check.judge
        self.schemas: Final = self._check.schemas
        playback.subscribe(self._take)

    def run(self, limit_s: float = math.inf) -> str:
        """Check it to its end, or for about `limit_s`; returns what was left out, if anything.

        Then no rule about the end is tested.
        """
        until = time.monotonic() + limit_s
        while self._playback.advance(_SLICE_S):
            if time.monotonic() > until:
                share = int(self._playback.progress * 100)
                return f"Only the first {share}% could be checked within {limit_s:g} s."
        self._check.judge.finish()
        return ""

    def _take(self, update: Update) -> None:
        self._check.take(update.frames, update.facts, update.changes.marked)

    def file(
        self, path: str, results: Iterable[Result], known: Collection[str] = ()
    ) -> CheckedFile:
        """The recording with some of its `results` for a report; `known` ones are not new."""
        playback, judged, tools = self._playback, self.judge.results, self.judge.tools
        lines = LineNumbers(playback)
        tokens = {each.name: tokens_of_all(each.tools) for each in playback.servers.snapshots()}
        return CheckedFile(
            path,
            playback.timeline.end,
            len(playback.jobs.ids()),
            tuple(checked(each, known, lines.of(each.first)) for each in results),
            tuple(
                CheckedServer(
                    name, judged.revisions(name), state, tools.get(name, {}), tokens.get(name, 0)
                )
                for name, state in judged.servers().items()
            ),
            judged.dropped,
            self.schemas.checked,
            self.schemas.unchecked,
            playback.length_s,
            playback.begun_when,
            tuple(each.as_text() for each in playback.errors[:_SHOWN_ERRORS]),
            path,
            tuple(self._jobs()),
        )

    def _jobs(self) -> Iterator[CheckedJob]:
        jobs = self._playback.jobs
        for id_ in itertools.islice(jobs.ids(), _LISTED_JOBS):
            if (job := jobs.snapshot(id_)) is not None:
                state, name = job_texts.state(job), job_texts.name(job)
                yield CheckedJob(id_, job.server, name, state, job.elapsed_s, job.tick_count)

    def expect(self, order: CheckOrder) -> None:
        """Add findings for expectations of the user that the session does not meet."""
        judge, connections = self.judge, self.judge.connections
        place = next(iter(connections), None)
        if place is None:
            return
        missing = [text for text in order.expect if not _matches(self._playback, text)]
        if missing:
            finding = Finding(rules.NOT_EXPECTED, ("; ".join(missing),))
            judge.state(connections[place], Evidence(finding, 1, None, Side.SERVER))
        for connection in connections.values() if order.expect or order.max_duration else ():
            judge.results.note(connection, Needs.EXPECTATION)
        if order.max_duration is not None:
            self._check_durations(order.max_duration)
        if order.is_tour:
            self._check_called()

    def _check_called(self) -> None:
        """Add a finding for the tools that the tour did not call."""
        jobs = self._playback.jobs
        seen = (jobs.snapshot(job) for job in jobs.ids())
        called = {each.name for each in seen if each is not None and each.method == CALL_TOOL}
        tools = self.judge.tools
        last = {server_name(id_): each for id_, each in self.judge.connections.items()}
        for server, connection in last.items():
            names = list(tools.get(server, ()))
            left = [name for name in names if name not in called]
            self.judge.results.note(connection, Needs.TOUR)
            if left:
                shown = formatting.one_line(", ".join(left), _NAMES)
                finding = Finding(rules.NOT_CALLED, (len(left), len(names), shown))
                self.judge.state(connection, Evidence(finding, 1, None, Side.CLIENT))

    def _check_durations(self, limit_s: float) -> None:
        jobs = self._playback.jobs
        for job in jobs.ids():
            seen = jobs.snapshot(job)
            if seen is None or seen.sender is not Side.CLIENT:
                continue
            ended_at = self._playback.now() if seen.ended_at is None else seen.ended_at
            took_s = ended_at - seen.started_at
            if took_s > limit_s:
                finding = Finding(rules.TOO_LONG, (took_s, limit_s))
                evidence = Evidence(finding, seen.request, seen.request, Side.SERVER)
                self.judge.state(self.judge.connection(seen.connection), evidence)


def _check_file(path: Path, order: CheckOrder, baseline: Baseline) -> CheckedFile:
    with failing(ExitCode.UNWRITABLE):
        playback = Playback(path)
    check = RecordingCheck(playback, baseline)
    check.run()
    check.expect(order)
    show_warnings(*playback.errors[:_SHOWN_ERRORS])  # the rest of a damaged file is checked
    shown = os.path.relpath(path) if path.is_relative_to(os.curdir) else str(path)
    found = _wanted(playback, order.where, list(check.judge.results))
    file = check.file(shown, found, baseline.fingerprints)
    untested = () if file.tested else (UNTESTED,)
    return file._replace(notes=(*file.notes, *order.notes, *untested))


def _matches(playback: Playback, text: str) -> bool:
    return any(len(places) for places in chosen(playback, TrafficFilter(text)))


def _wanted(playback: Playback, where: str, results: Sequence[Result]) -> Sequence[Result]:
    """The results with a frame, or request, that matches the filter."""
    if not where.strip():
        return results
    place_of = playback.timeline.place_of
    places = [
        {place_of(number) for number in (*result.frames, result.request or result.first)}
        for result in results
    ]
    looked_for = set[int | None]().union(*places)
    shown = {
        place
        for some in chosen(playback, TrafficFilter(where))
        for place in some
        if place in looked_for
    }
    return [result for result, of in zip(results, places, strict=True) if of & shown]


class LineNumbers:
    """The line numbers of a recording's frames, counted from 1 in each part."""

    def __init__(self, playback: Playback) -> None:
        self._playback = playback
        self._ends: dict[Path, array[int]] = {}

    def of(self, number: int) -> int:
        timeline = self._playback.timeline
        place = timeline.place_of(number)
        found = None if place is None else timeline.columns.locate(place)
        if found is None:
            return 1
        segment, row = found
        path = self._playback.part_path(segment.part)
        return 1 if path is None else self._line(path, segment.base + segment.offsets[row])

    def _line(self, path: Path, offset: int) -> int:
        ends = self._ends.get(path)
        if ends is None:
            ends = self._ends[path] = array("Q", _line_ends(path))
        return bisect.bisect_right(ends, offset) + 1


def _line_ends(path: Path) -> Iterator[int]:
    end = 0
    with path.open("rb") as file:
        for line in file:
            end += len(line)
            yield end


_WRITERS: Final[dict[str, Callable[[Report], str]]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "junit": as_junit,
    "markdown": as_markdown,
    "github": as_annotations,
}
