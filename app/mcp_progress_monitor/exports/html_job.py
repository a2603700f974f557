"""One job as a section of a report: state, story, chart, phases, ticks, request, result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.chart_svg import chart
from mcp_progress_monitor.exports.evidence import gather
from mcp_progress_monitor.exports.html_messages import MessageMarks, messages
from mcp_progress_monitor.exports.html_parts import Html, facts, joined, render, table
from mcp_progress_monitor.exports.html_questions import questions
from mcp_progress_monitor.exports.html_result import answer_parts
from mcp_progress_monitor.exports.html_state import amount, job_bar, state_words, tone
from mcp_progress_monitor.exports.html_stream import stream_course
from mcp_progress_monitor.exports.html_task import task_course
from mcp_progress_monitor.exports.html_ticks import TicksTable
from mcp_progress_monitor.exports.job_story import story, summary
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.exports.depth import Depth
    from mcp_progress_monitor.exports.evidence import Evidence
    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.exports.mark_words import MarkWords
    from mcp_progress_monitor.exports.source import Source
    from mcp_progress_monitor.tracker.snapshot import AttemptPicture, JobDetail, JobSnapshot, Phase


class JobSection:
    """Makes the markup of jobs, each some at a time."""

    def __init__(self, source: Source, words: Words, marks: MarkWords, depth: Depth) -> None:
        self._source = source
        self._timeline = source.timeline
        self._words = words
        self._marks = MessageMarks(source.timeline, words, marks)
        self._depth = depth

    def parts(self, detail: JobDetail, *, has_title: bool = True) -> Iterator[Html]:
        """The section in parts; empty ones are pauses."""
        gathering = gather(self._source, detail.snapshot)
        evidence: Evidence | None = None
        while evidence is None:
            try:
                next(gathering)
            except StopIteration as found:
                evidence = found.value
            yield Html("")
        yield self._head(detail, has_title=has_title)
        yield from self._course(detail, evidence)
        yield self._titled("Request", self._words.json(detail.params, self._depth.characters))
        yield self._answer(detail)
        shown = self._depth.messages
        said = messages(self._timeline, evidence, self._words, self._marks, shown)
        yield self._titled("Messages", said)

    def _course(self, detail: JobDetail, evidence: Evidence) -> Iterator[Html]:
        """How it went."""
        job = detail.snapshot
        yield render("story", story(detail, evidence, self._words), tone(job))
        yield self._titled("Progress over time", chart(detail, tone(job)))
        yield self._titled("Phases", self._phases(detail))
        ticks = TicksTable(self._timeline, self._words, self._marks, job.started_at)
        yield self._titled("Ticks", ticks.made(evidence.ticks, self._depth))
        yield self._titled("Attempts", self._attempts(detail.attempts))
        yield self._titled("Stream", stream_course(detail, self._words))
        yield self._titled("Task", task_course(detail, self._words))
        asked = questions(detail, self._source.detail, self._words)
        yield self._titled("Questions", asked)

    def _titled(self, title: str, content: Html) -> Html:
        return render("part", title, content) if content else content

    def _head(self, detail: JobDetail, *, has_title: bool) -> Html:
        job, words = detail.snapshot, self._words
        title = render("heading", job_title(job, words), f"job-{job.id}") if has_title else ""
        token = json.dumps(job.token, ensure_ascii=False, default=str)
        asked = (
            ("State", state_words(job, is_last=self._source.is_ended)),
            ("Progress", amount(job)),
            ("Server", words.line(job.server)),
            ("Method", words.line(job.method)),
            ("Arguments", words.line(summary(detail, words))),
            ("Progress token", "none" if job.token is None else words.line(token)),
        )
        return render("head", title, job_bar(job), facts((*asked, *_times(job))))

    def _phases(self, detail: JobDetail) -> Html:
        job = detail.snapshot
        now = job.ended_at if job.ended_at is not None else self._source.now()
        rows = [self._phase(phase, job.started_at, now) for phase in detail.phases]
        if not rows:
            return Html("")
        made = table(("Message", "Began after", "Took", "Ticks"), rows, numbers=(1, 2, 3))
        gone = f"{text.count(detail.dropped_phases, 'earlier phase')} left out."
        note = render("note", gone) if detail.dropped_phases else ""
        return joined((made, note))

    def _phase(self, phase: Phase, begun_at: float, now: float) -> Sequence[str]:
        ended_at = now if phase.ended_at is None else phase.ended_at
        return (
            self._words.line(phase.message) or "(no message)",
            text.duration(max(phase.began_at - begun_at, 0.0)),
            text.duration(max(ended_at - phase.began_at, 0.0)),
            text.number(phase.tick_count),
        )

    def _attempts(self, attempts: Sequence[AttemptPicture]) -> Html:
        if len(attempts) < 2:
            return Html("")
        titles = ("No.", "Started", "Ended", "Outcome", "Ticks", "")
        return table(titles, map(self._attempt, attempts), numbers=(0, 4))

    def _attempt(self, attempt: AttemptPicture) -> Sequence[str]:
        outcome, ended_when = attempt.outcome, attempt.ended_when
        return (
            text.number(attempt.number),
            text.date_and_clock(attempt.started_when),
            "" if ended_when is None else text.date_and_clock(ended_when),
            outcome.value if isinstance(outcome, JobState) else self._words.line(outcome),
            text.number(attempt.tick_count),
            self._words.line(attempt.detail),
        )

    def _answer(self, detail: JobDetail) -> Html:
        answer = detail.answer
        if answer is None:
            return self._titled("Result", render("muted_line", "There was no reply."))
        parts = answer_parts(answer, self._words, self._depth.characters)
        return self._titled("Result" if answer.error is None else "Error", parts)


def job_title(job: JobSnapshot, words: Words) -> Html:
    """`Job 3: export_orders`."""
    return joined((f"Job {job.id}: ", words.line(job.name)))


def _times(job: JobSnapshot) -> Iterator[tuple[str, str]]:
    if job.parent is not None:
        yield "Because of", f"Job {job.parent}"
    elif job.parent_is_unclear:
        yield "Because of", "One of the jobs that were running: the server does not say which"
    yield "Started", text.date_and_clock(job.started_when)
    if job.ended_at is not None:
        ended_when = job.started_when + job.ended_at - job.started_at
        yield "Ended", text.date_and_clock(ended_when)
    yield "Took" if job.state.is_over else "Running for", text.duration(job.elapsed_s)
    yield "Ticks", text.number(job.tick_count)
    if job.late_count:
        yield "Ticks after the end", text.number(job.late_count)
    if job.attempt_count > 1:
        yield "Attempts", text.number(job.attempt_count)
    if job.stall_after_s is not None and not job.state.is_over:
        yield "Counts as stalled after", f"{text.duration(job.stall_after_s)} of silence"
