"""`--json`: one event per line, in wire order, none left out. The events are a public interface."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Protocol

from mcp_progress_monitor.cli.asking.asker import is_told_rule
from mcp_progress_monitor.cli.event_lines import (
    elapsed,
    event_line,
    is_cut,
    pace,
    progress_line,
    resumable_line,
    whole_message,
)
from mcp_progress_monitor.cli.irregular import ReplyProblems
from mcp_progress_monitor.cli.question_events import (
    TaskEvents,
    answered_line,
    asking_job,
    interim,
    question_line,
)
from mcp_progress_monitor.cli.reply import (
    as_json,
    exact_data,
    exact_member,
    exact_outcome,
    exact_result,
)
from mcp_progress_monitor.protocol.eras import era_of
from mcp_progress_monitor.protocol.facts import (
    ConnectionClosed,
    ConnectionNegotiated,
    NotificationReceived,
    OutputChecked,
    ProgressReceived,
    RequestAnswered,
    RequestMade,
    Side,
    Standing,
    StderrReceived,
    TaskStated,
)
from mcp_progress_monitor.protocol.frame import server_name
from mcp_progress_monitor.protocol.hidden import shown_data
from mcp_progress_monitor.protocol.tasks import task_named_by
from mcp_progress_monitor.text import visible
from mcp_progress_monitor.tracker.marks import OUTPUT, OUTPUT_UNCHECKED
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from mcp_progress_monitor.cli.exits import CommandFailed
    from mcp_progress_monitor.cli.output import Output
    from mcp_progress_monitor.monitor import Outcome, Update
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.snapshot import SignIn
    from mcp_progress_monitor.tracker.snapshot import Changes, JobId, JobSnapshot

LOG_MESSAGE = "notifications/message"


class JobBook(Protocol):
    """What is asked of the monitor; `monitor.Monitor` fits."""

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """The job now."""

    def job_of(self, request: int) -> JobId | None:
        """The job a request belongs to, by the number of its frame."""

    def questions(self) -> Sequence[Question]:
        """The open questions, oldest first."""

    def question(self, question: int) -> Question | None:
        """One, open or lately ended; None when there is none of that id."""

    @property
    def recording(self) -> Path | None:
        """The file that the session is recorded into; None when there is none."""


class JsonEvents:
    """Writes an update's events with one write, made before the next chunk is read.

    Hence a reader that is slow slows the server, and nothing is ever queued or thrown away.
    """

    def __init__(
        self,
        output: Output,
        errors: Output,
        book: JobBook,
        started_at: float,
        exact: Callable[[bytes], str] = exact_outcome,
    ) -> None:
        """`started_at` is the monotonic second from which events count `t`.

        For the end of a task, or of a request without a job, `exact` formats the reply.
        """
        self._exact = exact
        self._output = output
        self._errors = errors
        self._book = book
        self._started_at = started_at
        self._open: set[JobId] = set()
        self._answered: set[JobId] = set()
        self._refused: set[JobId] = set()
        self._counts: dict[JobId, int] = {}
        self._jobs: set[JobId] = set()
        self._asked_at: dict[JobId, float] = {}
        self._frame_count = 0
        self._finding_count = 0
        self._problems = ReplyProblems()
        self._tasks = TaskEvents(book)
        self._asked: set[int] = set()
        self._settling: set[JobId] = set()
        self._held: list[str] = []
        self._makers: dict[type, Callable[[Any, _Chunk], str]] = {
            ProgressReceived: self._progress,
            ConnectionNegotiated: self._connected,
            RequestMade: self._request,
            RequestAnswered: self._answer,
            NotificationReceived: self._notification,
            StderrReceived: self._stderr,
            ConnectionClosed: self._closed,
            TaskStated: self._task,
            OutputChecked: self._output_checked,
        }

    def on_update(self, update: Update) -> None:
        """Write the events of one chunk."""
        self._frame_count += len(update.frames)
        self._jobs.update(update.changes.added)
        chunk = _Chunk(update, self._book)
        made = [(self._makers.get(type(fact)), fact) for fact in update.facts]
        lines = [make(fact, chunk) for make, fact in made if make is not None]
        lines += map(self._resumable, sorted(update.changes.moved))
        lines += self._questions(update)
        self._settle(update.changes)
        self._write("".join(lines))

    def _settle(self, changes: Changes) -> None:
        """Hold events back while a job that has completed is still saved as resumable.

        Whoever reads its result and kills the program then must not be offered it again. What
        comes meanwhile waits, too, so that events stay in wire order.
        """
        found = ((job, self._book.snapshot(job)) for job in self._settling & changes.moved)
        self._settling -= {job for job, seen in found if seen is None or seen.state.is_over}
        self._settling.difference_update(changes.removed)
        self._settling.update(step.job for step in changes.steps if step.is_complete)

    def show(self, outcome: Outcome) -> None:
        """Write the error of a call that ended without a reply, or the end of a task.

        Replies were written as facts; those of a task may come in several ways.
        """
        failure = outcome.failure
        if outcome.result is not None:
            self._end(outcome)
        if outcome.job is not None:
            self._open.discard(outcome.job)
        if failure is None or outcome.job in self._answered:
            return
        if failure.where != "server" or outcome.job not in self._refused:
            code = None if failure.code is None else str(failure.code)
            self._error(outcome.job, failure.where, failure.message, code, shown_data(failure.data))

    def _end(self, outcome: Outcome) -> None:
        """Write the result of a task or of a request without a job, for which there is no fact."""
        job = outcome.job
        if job is not None:
            if not self._tasks.is_task(job) or job in self._answered:
                return
            self._answered.add(job)
        line = event_line(
            "result",
            self._now(),
            job=as_json(job),
            result=self._exact(outcome.raw),
            duration_s=elapsed(outcome.duration_s),
            ticks=str(0 if job is None else self._counts.get(job, 0)),
        )
        self._write(line)

    def fail(self, failure: CommandFailed) -> None:
        """Write why the command cannot go on; `job` is null."""
        self._error(None, "local", failure.problem.as_text())

    def decline(self, job: JobId, problem: Problem) -> None:
        """Write why one job cannot be gone on with."""
        self._error(job, "local", problem.as_text())

    def warn(self, problem: Problem) -> None:
        """Tell on standard error what does not keep the command from going on."""
        self._errors.text(f"{visible(problem.as_text(), keep_line_ends=True)}\n")

    def note(self, line: str) -> None:
        """Tell on standard error what was done."""
        self._errors.text(f"{visible(line)}\n")

    def quiet(self) -> AbstractContextManager[None]:
        """Go on: nobody is asked where events are written."""
        return contextlib.nullcontext()

    def tell_answer(self, question: Question, action: str, words: str) -> None:
        """Write how a question was answered."""
        job = asking_job(question, self._book)
        self._write(answered_line(question, job, action, words, self._now()))

    def tell_sign_in(self, sign_in: SignIn) -> None:
        """Write at which page the user is to sign in."""
        fields = {"server": as_json(sign_in.server), "url": as_json(sign_in.url)}
        self._write(event_line("sign_in", self._now(), **fields))

    def interrupt(self) -> None:
        """Write nothing: the end of each call tells."""

    def terminate(self) -> None:
        """Write nothing: `leave` follows."""

    def leave(self) -> None:
        """Write that calls were interrupted: nobody will know any more how they end."""
        for job in sorted(self._open):
            self._error(job, "local", "Interrupted")
        self._open.clear()

    async def animate(self) -> None:
        """Return: every event is written when it happens."""

    def close(self) -> None:
        """Write the summary, which is always the last event."""
        self._settling.clear()
        summary = {
            "jobs": len(self._jobs),
            "findings": self._finding_count,
            "frames": self._frame_count,
        }
        fields = {name: str(number) for name, number in summary.items()}
        path = self._book.recording
        recording = as_json(None if path is None else str(path))
        self._write(event_line("summary", self._now(), **fields, recording=recording))

    def _error(
        self,
        job: JobId | None,
        where: str,
        message: str,
        code: str | None = None,
        data: object = None,
    ) -> None:
        fields = {"where": as_json(where), "code": code or "null", "message": as_json(message)}
        line = event_line("error", self._now(), job=as_json(job), **fields, data=as_json(data))
        self._write(line)

    def _write(self, lines: str) -> None:
        self._held.append(lines)
        if not self._settling:
            held, self._held = "".join(self._held), []
            if held:
                self._output.write(held.encode())

    def _now(self) -> str:
        return self._t(time.monotonic())

    def _t(self, at: float) -> str:
        return elapsed(at - self._started_at)

    def _connected(self, fact: ConnectionNegotiated, _chunk: _Chunk) -> str:
        era = era_of(fact.revision).value
        return event_line(
            "connected",
            self._t(fact.at),
            server=as_json(server_name(fact.connection)),
            protocolVersion=as_json(fact.revision),
            era=as_json(era),
            capabilities=as_json(fact.capabilities),
            serverInfo=as_json(fact.server_info),
        )

    def _request(self, fact: RequestMade, _chunk: _Chunk) -> str:
        job = self._book.job_of(fact.number)
        is_look = task_named_by(fact.method, fact.params) is not None
        if job is None or is_look or fact.sender is not Side.CLIENT:
            return ""
        if job not in self._open:  # else it goes on with answers to what the server asked
            self._asked_at[job] = fact.at
        self._jobs.add(job)  # one that was saved by an earlier program was never added
        self._open.add(job)
        self._answered.discard(job)
        self._refused.discard(job)
        snapshot = self._book.snapshot(job)
        return event_line(
            "request",
            self._t(fact.at),
            job=as_json(job),
            attempt="1" if snapshot is None else str(snapshot.attempt_count),
            id=as_json(fact.id),
            method=as_json(fact.method),
            token=as_json(fact.token),
        )

    def _progress(self, fact: ProgressReceived, chunk: _Chunk) -> str:
        job, count = chunk.next_tick()
        if job is not None:
            self._counts[job] = count
        if fact.sender is not Side.SERVER:
            return ""
        if is_cut(fact):
            fact = fact._replace(message=whole_message(chunk.raw(fact.number)) or fact.message)
        words = chunk.marked.get(fact.number, "")
        return progress_line(fact, self._t(fact.at), job, count, chunk.pace(job), words)

    def _answer(self, fact: RequestAnswered, chunk: _Chunk) -> str:
        job = None if fact.request is None else self._book.job_of(fact.request)
        if job is None or fact.sender is not Side.SERVER or fact.number in chunk.interim:
            return ""
        late = {} if fact.standing is Standing.ACTIVE else {"late": "true"}
        if not late:
            self._answered.add(job)
            self._open.discard(job)
        raw = chunk.raw(fact.number)
        problems = self._problems.of(fact, self._book.snapshot(job))
        remarks = late | ({"problems": as_json(problems)} if problems else {})
        if fact.error is not None:
            self._refused.add(job)
            self._open.discard(job)
            error = exact_member(raw, "error").encode()
            fields = {name: exact_member(error, name) for name in ("code", "message")}
            fields["data"] = exact_data(error)
            where = as_json("server")
            return event_line(
                "error", self._t(fact.at), job=as_json(job), where=where, **fields, **remarks
            )
        return event_line(
            "result",
            self._t(fact.at),
            job=as_json(job),
            result=exact_result(raw),
            duration_s=self._duration(job, fact.at),
            ticks=str(self._counts.get(job, 0)),
            **remarks,
        )

    def _task(self, fact: TaskStated, chunk: _Chunk) -> str:
        job = None if fact.request is None else self._book.job_of(fact.request)
        return self._tasks.line(fact, chunk.update, job, self._t(fact.at))

    def _output_checked(self, fact: OutputChecked, _chunk: _Chunk) -> str:
        """The findings of a check against an output schema, one event each."""
        job = as_json(self._book.job_of(fact.request))
        found = [(OUTPUT, "error", text) for text in fact.problems]
        found += [(OUTPUT_UNCHECKED, "info", text) for text in fact.unchecked]
        self._finding_count += len(found)
        source = as_json("2025-11-25, Server Features, Tools, Output Schema")
        return "".join(
            event_line(
                "finding",
                self._t(fact.at),
                rule=as_json(rule),
                level=as_json(level),
                job=job,
                text=as_json(text),
                source=source,
            )
            for rule, level, text in found
        )

    def _questions(self, update: Update) -> Iterator[str]:
        """The events of questions that have come, also of those that a rule has answered."""
        if not update.questions:
            return
        found = map(self._book.question, sorted(update.questions))
        ruled = [each for each in found if each is not None and is_told_rule(each)]
        for question in (*ruled, *self._book.questions()):
            if question.id not in self._asked:
                self._asked.add(question.id)
                job = asking_job(question, self._book)
                yield question_line(question, job, self._t(question.asked_at))

    def _resumable(self, job: JobId) -> str:
        """The event of a job that stopped with a token, which lies on disk by now."""
        snapshot = self._book.snapshot(job)
        if snapshot is None or snapshot.state is not JobState.RESUMABLE:
            return ""
        return resumable_line(snapshot, self._now())

    def _duration(self, job: JobId, at: float) -> str:
        """How long the attempt took that ended at `at`."""
        asked_at = self._asked_at.get(job)
        return "null" if asked_at is None else elapsed(at - asked_at)

    def _notification(self, fact: NotificationReceived, chunk: _Chunk) -> str:
        if fact.method != LOG_MESSAGE or fact.sender is not Side.SERVER:
            return ""
        params = exact_member(chunk.raw(fact.number), "params").encode()
        fields = {name: exact_member(params, name) for name in ("level", "logger", "data")}
        return event_line("log", self._t(fact.at), **fields)

    def _stderr(self, fact: StderrReceived, _chunk: _Chunk) -> str:
        return event_line("stderr", self._t(fact.at), line=as_json(fact.line))

    def _closed(self, fact: ConnectionClosed, _chunk: _Chunk) -> str:
        reason, code = as_json(fact.reason), as_json(fact.exit_code)
        return event_line("closed", self._t(fact.at), reason=reason, exit_code=code)


class _Chunk:
    """What the events of one update share, looked up once for all of them."""

    def __init__(self, update: Update, book: JobBook) -> None:
        self.update = update
        self.interim = frozenset(interim(update.facts))
        self._book = book
        self.marked = update.changes.marked
        self._ticks = iter(update.changes.ticks)
        self._paces: dict[JobId | None, str] = {}
        self._raws: dict[int, bytes] | None = None

    def next_tick(self) -> tuple[JobId | None, int]:
        """The job of the next progress fact, and its count: there is one for each, in order."""
        job, count, _ = next(self._ticks)
        return job, count

    def pace(self, job: JobId | None) -> str:
        """The job's rate and ETA after the whole chunk."""
        found = self._paces.get(job)
        if found is None:
            found = pace(None if job is None else self._book.snapshot(job))
            self._paces[job] = found
        return found

    def raw(self, number: int) -> bytes:
        """The exact bytes of the frame with this number."""
        if self._raws is None:
            self._raws = {frame.number: frame.raw for frame in self.update.frames}
        return self._raws.get(number, b"{}")
