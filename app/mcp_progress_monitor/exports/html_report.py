"""A job, or a whole session, as one HTML file that loads nothing, runs nothing, and prints well."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import __version__, text
from mcp_progress_monitor.exports.depth import BRIEF, WHOLE, Depth
from mcp_progress_monitor.exports.evidence import event_fields, events
from mcp_progress_monitor.exports.html_job import JobSection, job_title
from mcp_progress_monitor.exports.html_overview import Overview
from mcp_progress_monitor.exports.html_parts import Html, Words, joined, render, table
from mcp_progress_monitor.exports.redaction import NOTE
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.exports.mark_words import MarkWords
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.exports.source import Source
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId, JobSnapshot

_TOLD: Final = 200
"""Jobs that are told of in full: those that went wrong before those that are done."""
_EVENTS: Final = 100
_SECRETS: Final = "Nothing was taken out: this file may hold secrets."


class HtmlReport:
    """Makes a report in parts, of which empty ones are pauses; their encoding is UTF-8."""

    def __init__(self, source: Source, redaction: Redaction, marks: MarkWords) -> None:
        self._source = source
        self._words = Words(redaction)
        self._marks = marks

    def job(self, job: JobId) -> Iterator[bytes]:
        """The report of one job; that there is none, where there is none of that id."""
        detail = self._source.detail(job)
        if detail is None:
            yield self._begin(f"Job {job}", "There is no such job.")
        else:
            title = job_title(detail.snapshot, self._words)
            yield self._begin(title, "One job, as its client saw it.")
            yield from self._section(detail, WHOLE, has_title=False)
        yield self._end()

    def session(self, title: str, jobs: Sequence[JobId] | None = None) -> Iterator[bytes]:
        """The report of a session: an overview, its servers, then each job.

        `jobs` are those that are wanted, by default all.
        """
        wanted = self._source.jobs() if jobs is None else jobs
        found = [job for job in map(self._source.snapshot, wanted) if job is not None]
        told = sorted(sorted(found, key=_importance)[:_TOLD], key=_number)
        yield self._begin(self._words.line(title), self._extent(found))
        ids, is_last = [job.id for job in told], self._source.is_ended
        for part in Overview(found, ids, self._words, is_last=is_last).parts():
            yield _bytes(part)
        yield _bytes(self._servers())
        for job in told:
            detail = self._source.detail(job.id)
            if detail is not None:
                yield from self._section(detail, BRIEF if len(told) > 1 else WHOLE)
        if len(told) < len(found):
            count = text.count(len(found) - len(told), "more job")
            yield _bytes(render("note", f"{count} in the overview alone."))
        yield self._end()

    def _section(
        self, detail: JobDetail, depth: Depth, *, has_title: bool = True
    ) -> Iterator[bytes]:
        section = JobSection(self._source, self._words, self._marks, depth)
        for part in section.parts(detail, has_title=has_title):
            yield _bytes(part)

    def _begin(self, title: str, subtitle: str) -> bytes:
        secrets = _SECRETS if self._words.redaction.with_secrets else NOTE
        return _bytes(render("begin", title, subtitle, secrets))

    def _end(self) -> bytes:
        words = f"Made by MCP Progress Monitor {__version__}. Times are local to where it was made."
        return _bytes(render("end", words))

    def _extent(self, jobs: Sequence[JobSnapshot]) -> str:
        timeline = self._source.timeline
        first, last = timeline.frame(timeline.first, 1), timeline.frame(timeline.end - 1, 1)
        here = timeline.end - timeline.first - len(timeline.gap)
        count = text.count(here, "message")
        if first is None or last is None:
            return "There are no messages."
        length = text.duration(max(last.at - first.at, 0.0))
        begun = text.date_and_clock(first.when)
        return f"{text.count(len(jobs), 'job')} and {count} within {length} from {begun} on."

    def _servers(self) -> Html:
        words = self._words
        rows = [
            (
                words.line(server.name),
                words.line(server.title),
                server.revision or "",
                server.state.value,
                "" if server.problem is None else words.line(server.problem.what),
            )
            for server in self._source.servers()
        ]
        head = render("heading", "Servers", None)
        made = table(("Name", "Calls itself", "Revision", "State", "Problem"), rows)
        return joined((head, made if rows else "", self._connections()))

    def _connections(self) -> Html:
        """The life of the connections: how each began and ended."""
        found = list(itertools.islice(events(self._source.timeline), _EVENTS + 1))
        if not found:
            return joined(())
        made = table(("Time", "Connection", "Event", ""), map(self._event, found[:_EVENTS]))
        note = render("note", "Later events are left out.") if found[_EVENTS:] else ""
        return render("part", "Connections", joined((made, note)))

    def _event(self, frame: Frame) -> Sequence[str]:
        fields = self._words.redaction.value(event_fields(frame))
        name = str(fields.pop("event", ""))
        told = {key: value for key, value in fields.items() if value not in (None, "", [])}
        return (
            text.date_and_clock(frame.when),
            self._words.line(frame.connection),
            self._words.line(name),
            self._words.line(text.summary(told, 400), 400),
        )


def _importance(job: JobSnapshot) -> tuple[int, int]:
    """What went wrong before what went well; of each, the newest."""
    return (job.state is JobState.DONE and not job.marks, -job.id)


def _number(job: JobSnapshot) -> int:
    return job.id


def _bytes(part: Html) -> bytes:
    # Half a surrogate pair is made visible by `text.visible`; nothing else could fail.
    return part.encode("utf-8", "backslashreplace")
