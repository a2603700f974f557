"""A job or a session as one printable HTML file."""

from __future__ import annotations

import collections
import itertools
import json
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import __version__, formatting
from mcp_progress_monitor.exports.frames import JobFrames, event_fields, events, gather
from mcp_progress_monitor.exports.html.sections import (
    Html,
    MessageMarks,
    RedactedText,
    TicksTable,
    answer_parts,
    chart,
    facts,
    job_bar,
    joined,
    messages,
    narrative,
    questions,
    render,
    state_text,
    stream_steps,
    summary,
    table,
    table_parts,
    task_steps,
    tone,
)
from mcp_progress_monitor.exports.options import BRIEF, WHOLE, ReportDepth, no_share
from mcp_progress_monitor.exports.redaction import NOTE, Redaction
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.work_clock import WorkClock
from mcp_progress_monitor.wording.jobs import progress

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mcp_progress_monitor.exports.options import ExportSource, FindingTexts, OnShare
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.tracker.snapshot import (
        AttemptSnapshot,
        JobDetail,
        JobId,
        JobSnapshot,
        Phase,
    )


class JobMarkup:
    """Makes the markup of jobs, in parts."""

    def __init__(
        self, source: ExportSource, text: RedactedText, marks: FindingTexts, depth: ReportDepth
    ) -> None:
        self._source = source
        self._timeline = source.timeline
        self._text = text
        self._marks = MessageMarks(source.timeline, text, marks)
        self._depth = depth

    def parts(self, detail: JobDetail, *, has_title: bool = True) -> Iterator[Html]:
        gathering = gather(self._source, detail.snapshot)
        evidence: JobFrames | None = None
        while evidence is None:
            try:
                next(gathering)
            except StopIteration as found:
                evidence = found.value
            yield Html("")
        yield self._head(detail, has_title=has_title)
        yield from self._history(detail, evidence)
        yield self._titled("Request", self._text.json(detail.params, self._depth.characters))
        yield self._answer(detail)
        shown = self._depth.messages
        listed = messages(self._timeline, evidence, self._text, self._marks, shown)
        yield self._titled("Messages", listed)

    def _history(self, detail: JobDetail, evidence: JobFrames) -> Iterator[Html]:
        job = detail.snapshot
        yield render("story", narrative(detail, evidence, self._text), tone(job))
        yield self._titled("Progress over time", chart(detail, tone(job)))
        yield self._titled("Phases", self._phases(detail))
        ticks = TicksTable(self._timeline, self._text, self._marks, job.started_at)
        yield self._titled("Ticks", ticks.table(evidence.ticks, self._depth))
        yield self._titled("Attempts", self._attempts(detail.attempts))
        yield self._titled("Stream", stream_steps(detail, self._text))
        yield self._titled("Task", task_steps(detail, self._text))
        yield self._titled("Questions", questions(detail, self._source.jobs.detail, self._text))

    def _titled(self, title: str, content: Html) -> Html:
        return render("part", title, content) if content else content

    def _head(self, detail: JobDetail, *, has_title: bool) -> Html:
        job, text = detail.snapshot, self._text
        title = render("heading", job_title(job, text), f"job-{job.id}") if has_title else ""
        token = json.dumps(job.token, ensure_ascii=False, default=str)
        request = (
            ("State", state_text(job, is_last=self._source.jobs.is_ended)),
            ("Progress", progress(job)),
            ("Server", text.line(job.server)),
            ("Method", text.line(job.method)),
            ("Arguments", text.line(summary(detail, text))),
            ("Progress token", "none" if job.token is None else text.line(token)),
        )
        return render("head", title, job_bar(job), facts((*request, *_times(job))))

    def _phases(self, detail: JobDetail) -> Html:
        clock = WorkClock(detail)
        rows = [self._phase(phase, clock) for phase in detail.phases]
        if not rows:
            return Html("")
        phases = table(("Message", "Started after", "Duration", "Ticks"), rows, numbers=(1, 2, 3))
        omitted = f"{formatting.count(detail.dropped_phases, 'earlier phase')} omitted."
        return joined((phases, render("note", omitted) if detail.dropped_phases else ""))

    def _phase(self, phase: Phase, clock: WorkClock) -> Sequence[str]:
        return (
            self._text.line(phase.message) or "(no message)",
            formatting.duration(clock.worked_s(phase.began_at)),
            formatting.duration(clock.length_s(phase)),
            formatting.number(phase.tick_count),
        )

    def _attempts(self, attempts: Sequence[AttemptSnapshot]) -> Html:
        if len(attempts) < 2:
            return Html("")
        titles = ("No.", "Started", "Ended", "Outcome", "Ticks", "")
        return table(titles, map(self._attempt, attempts), numbers=(0, 4))

    def _attempt(self, attempt: AttemptSnapshot) -> Sequence[str]:
        outcome, ended_when = attempt.outcome, attempt.ended_when
        return (
            formatting.number(attempt.number),
            formatting.date_and_clock(attempt.started_when),
            "" if ended_when is None else formatting.date_and_clock(ended_when),
            outcome.value if isinstance(outcome, JobState) else self._text.line(outcome),
            formatting.number(attempt.tick_count),
            self._text.line(attempt.detail),
        )

    def _answer(self, detail: JobDetail) -> Html:
        answer = detail.answer
        if answer is None:
            return self._titled("Result", render("muted_line", "No reply."))
        parts = answer_parts(answer, self._text, self._depth.characters)
        return self._titled("Result" if answer.error is None else "Error", parts)


def job_title(job: JobSnapshot, text: RedactedText) -> Html:
    """`Job 3: export_orders`."""
    return joined((f"Job {job.id}: ", text.line(job.name)))


def _times(job: JobSnapshot) -> Iterator[tuple[str, str]]:
    if job.parent is not None:
        yield "Parent", f"Job {job.parent}"
    elif job.parent_is_unclear:
        yield "Parent", "One of the running jobs; the server does not say which"
    yield "Started", formatting.date_and_clock(job.started_when)
    if job.ended_at is not None:
        ended_when = job.started_when + job.ended_at - job.started_at
        yield "Ended", formatting.date_and_clock(ended_when)
    yield "Duration" if job.state.is_over else "Running for", formatting.duration(job.elapsed_s)
    yield "Ticks", formatting.number(job.tick_count)
    if job.late_count:
        yield "Ticks after the end", formatting.number(job.late_count)
    if job.attempt_count > 1:
        yield "Attempts", formatting.number(job.attempt_count)
    if job.stall_after_s is not None and not job.state.is_over:
        yield "Stalled after", f"{formatting.duration(job.stall_after_s)} without progress"


_ROWS: Final = 2_000
_TITLES: Final = ("Job", "State", "Progress", "", "Duration", "Ticks", "Server", "Last message")
_FINDINGS_HEAD: Final = ("Job", "Finding", "Count", "First message")


class SessionOverview:
    """Makes the tables of `jobs`; `described` ones are linked to their sections.

    With `is_last`, the recording ends here, and the end of running jobs is unknown.
    """

    def __init__(
        self,
        jobs: Sequence[JobSnapshot],
        described: Collection[JobId],
        text: RedactedText,
        *,
        is_last: bool,
    ) -> None:
        self._jobs = jobs
        self._described = frozenset(described)
        self._text = text
        self._is_last = is_last

    def parts(self) -> Iterator[Html]:
        if not self._jobs:
            yield render("muted_line", "No jobs.")
            return
        states = collections.Counter(job.state for job in self._jobs)
        yield facts((state.value, formatting.number(count)) for state, count in states.items())
        yield from table_parts(_TITLES, map(self._row, self._jobs[:_ROWS]), numbers=(4, 5))
        omitted = len(self._jobs) - _ROWS
        if omitted > 0:
            yield render("note", f"{formatting.count(omitted, 'more job')} omitted.")
        yield from self._findings_table()

    def _row(self, job: JobSnapshot) -> Sequence[str]:
        text = self._text
        message = job.message if job.failure is None else job.failure.message
        return (
            self._name(job),
            state_text(job, is_last=self._is_last),
            job_bar(job),
            progress(job),
            formatting.duration(job.elapsed_s),
            formatting.number(job.tick_count),
            text.line(job.server, 60),
            text.line((message or "").partition("\n")[0], 120),
        )

    def _findings_table(self) -> Iterator[Html]:
        marked = ((job, mark) for job in self._jobs for mark in job.marks)
        rows = [
            (
                self._name(job),
                self._text.line(mark.text),
                formatting.number(mark.count),
                formatting.number(mark.first),
            )
            for job, mark in itertools.islice(marked, _ROWS)
        ]
        if rows:
            yield render("heading", "Findings", None)
            yield from table_parts(_FINDINGS_HEAD, rows, numbers=(2, 3))

    def _name(self, job: JobSnapshot) -> Html:
        name = self._text.line(job.name, 80)
        return render("job_name", job.id, name, job.id in self._described)


_DESCRIBED: Final = 200  # the most jobs with their own section, failed ones first
_EVENTS: Final = 100
_SECRETS: Final = "Not redacted: this file may contain secrets."


class HtmlReport:
    """Makes a report in parts of UTF-8, some of which are empty as pauses."""

    def __init__(
        self,
        source: ExportSource,
        redaction: Redaction,
        marks: FindingTexts,
        on_share: OnShare = no_share,
    ) -> None:
        self._source = source
        self._text = RedactedText(redaction)
        self._marks = marks
        self._on_share = on_share

    def job(self, job: JobId) -> Iterator[bytes]:
        detail = self._source.jobs.detail(job)
        if detail is None:
            yield self._begin(f"Job {job}", "No such job.")
        else:
            title = job_title(detail.snapshot, self._text)
            yield self._begin(title, "A single job, as seen by the client.")
            yield from self._section(detail, WHOLE, has_title=False)
        yield self._end()

    def session(self, title: str, jobs: Sequence[JobId] | None = None) -> Iterator[bytes]:
        """The report of a session: an overview, its servers, and each job, or those in `jobs`."""
        wanted = self._source.jobs.ids() if jobs is None else jobs
        found = [job for job in map(self._source.jobs.snapshot, wanted) if job is not None]
        described = sorted(sorted(found, key=_importance)[:_DESCRIBED], key=lambda job: job.id)
        yield self._begin(self._text.line(title), self._extent(found))
        ids, is_last = [job.id for job in described], self._source.jobs.is_ended
        for part in SessionOverview(found, ids, self._text, is_last=is_last).parts():
            yield _bytes(part)
        yield _bytes(self._servers())
        for done, job in enumerate(described):
            self._on_share(done / len(described))
            detail = self._source.jobs.detail(job.id)
            if detail is not None:
                yield from self._section(detail, BRIEF if len(described) > 1 else WHOLE)
        if len(described) < len(found):
            count = formatting.count(len(found) - len(described), "more job")
            yield _bytes(render("note", f"{count} only in the overview."))
        yield self._end()

    def filtered(self, title: str, slices: Iterator[Sequence[int]]) -> Iterator[bytes]:
        """The report of the jobs that the frames at the given places belong to."""
        exchanges: set[int] = set()
        for places in slices:
            exchanges.update(map(self._source.timeline.exchange, places))
            yield b""
        found = {self._source.jobs.job_of(exchange) for exchange in exchanges if exchange}
        yield from self.session(title, sorted(job for job in found if job is not None))

    def _section(
        self, detail: JobDetail, depth: ReportDepth, *, has_title: bool = True
    ) -> Iterator[bytes]:
        section = JobMarkup(self._source, self._text, self._marks, depth)
        for part in section.parts(detail, has_title=has_title):
            yield _bytes(part)

    def _begin(self, title: str, subtitle: str) -> bytes:
        secrets = _SECRETS if self._text.redaction.with_secrets else NOTE
        return _bytes(render("begin", title, subtitle, secrets))

    def _end(self) -> bytes:
        text = (
            f"Created by MCP Progress Monitor {__version__}. Times are in the time zone of the"
            " computer that created the report."
        )
        return _bytes(render("end", text))

    def _extent(self, jobs: Sequence[JobSnapshot]) -> str:
        timeline = self._source.timeline
        first, last = timeline.frame(timeline.first, 1), timeline.frame(timeline.end - 1, 1)
        here = timeline.end - timeline.first - len(timeline.gap)
        count = formatting.count(here, "message")
        if first is None or last is None:
            return "No messages."
        length = formatting.duration(max(last.at - first.at, 0.0))
        start = formatting.date_and_clock(first.when)
        return f"{formatting.count(len(jobs), 'job')} and {count} in {length}, from {start}."

    def _servers(self) -> Html:
        text = self._text
        rows = [
            (
                text.line(server.name),
                text.line(server.title),
                server.revision or "",
                server.state.value,
                "" if server.error is None else text.line(server.error.as_line()),
            )
            for server in self._source.servers.snapshots()
        ]
        head = render("heading", "Servers", None)
        made = table(("Name", "Title", "Revision", "State", "Error"), rows)
        return joined((head, made if rows else "", self._connections()))

    def _connections(self) -> Html:
        found = list(itertools.islice(events(self._source.timeline), _EVENTS + 1))
        if not found:
            return joined(())
        made = table(("Time", "Connection", "Event", ""), map(self._event, found[:_EVENTS]))
        note = render("note", "Later events are omitted.") if found[_EVENTS:] else ""
        return render("part", "Connections", joined((made, note)))

    def _event(self, frame: Frame) -> Sequence[str]:
        fields = self._text.redaction.value(event_fields(frame))
        name = str(fields.pop("event", ""))
        shown = {key: value for key, value in fields.items() if value not in (None, "", [])}
        return (
            formatting.date_and_clock(frame.when),
            self._text.line(frame.connection),
            self._text.line(name),
            self._text.line(formatting.summary(shown, 400), 400),
        )


def _importance(job: JobSnapshot) -> tuple[int, int]:
    """A sort key: failed jobs before successful ones, then newest first."""
    return (job.state is JobState.DONE and not job.marks, -job.id)


def _bytes(part: Html) -> bytes:
    # `formatting.visible` has escaped lone surrogates; nothing else could fail.
    return part.encode("utf-8", "backslashreplace")
