"""`--json`: one event per line, complete and in wire order. The events are a public interface."""

from __future__ import annotations

import json
import math
import time
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.checking.results import text_of
from mcp_progress_monitor.cli.asking.asker import is_reported_rule
from mcp_progress_monitor.cli.output.front import Front
from mcp_progress_monitor.cli.output.job_text import ReplyViolations
from mcp_progress_monitor.cli.output.results import (
    exact_data,
    exact_member,
    exact_outcome,
    exact_result,
)
from mcp_progress_monitor.cli.output.stdout import as_json
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.formatting import visible
from mcp_progress_monitor.protocol.eras import era_of
from mcp_progress_monitor.protocol.facts import (
    MESSAGE_LIMIT,
    ConnectionClosed,
    ConnectionNegotiated,
    NotificationReceived,
    OutputChecked,
    PartReceived,
    ProgressReceived,
    RequestAnswered,
    RequestMade,
    RequestStanding,
    Side,
    StderrReceived,
    TaskStated,
)
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.protocol.messages import LOG_MESSAGE
from mcp_progress_monitor.protocol.secrets import shown_data
from mcp_progress_monitor.protocol.tasks import task_named_by
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobId, JobSnapshot, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mcp_progress_monitor.checking.results import Result
    from mcp_progress_monitor.cli.exits import CommandFailed
    from mcp_progress_monitor.cli.output.stdout import StandardOutput
    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.snapshots.questions import Question
    from mcp_progress_monitor.snapshots.servers import SignIn
    from mcp_progress_monitor.tracker.tracker import Jobs

_LATE = frozenset(RequestStanding) - {RequestStanding.ACTIVE, RequestStanding.UNKNOWN}


def event_line(event: str, elapsed: str, **fields: str) -> str:
    """One event as a line; `fields` are JSON already, `elapsed` the digits of its `t`."""
    members = "".join(f',"{name}":{value}' for name, value in fields.items())
    return f'{{"event":"{event}","t":{elapsed}{members}}}\n'


def elapsed(seconds: float) -> str:
    return f"{max(seconds, 0.0):.6f}"


def pace(job: JobSnapshot | None) -> str:
    """The members `rate`, `eta_s` and `eta_span_s` of a progress event.

    Unknown and infinite values are null, and so is the span if the time left is certain.
    """
    rate = None if job is None else job.rate
    eta_s = None if job is None else job.eta_s
    span_s = None if job is None else job.eta_span_s
    span = "null" if span_s is None else f"[{','.join(map(_finite, span_s))}]"
    return f'"rate":{_finite(rate)},"eta_s":{_finite(eta_s)},"eta_span_s":{span}'


def _finite(value: float | None) -> str:
    return "null" if value is None or not math.isfinite(value) else repr(round(value, 6))


def progress_line(
    fact: ProgressReceived,
    seconds: str,
    job: JobId | None,
    count: int,
    pace_members: str,
    findings: tuple[Finding, ...] = (),
) -> str:
    """A progress event, written by hand: this is the line a flood consists of.

    Late progress has `late`; a tick with findings has `problems`: first those of the message
    itself, then the tracker's other `findings`.
    """
    message = fact.message
    return (
        f'{{"event":"progress","t":{seconds},"job":{"null" if job is None else job}'
        f',"token":{quoted(fact.token) if type(fact.token) is str else as_json(fact.token)}'
        f',"progress":{_number(fact.progress)},"total":{_number(fact.total)}'
        f',"message":{"null" if message is None else quoted(message)}'
        f',{pace_members},"count":{count}{_remarks(fact, findings)}}}\n'
    )


def _number(value: float | None) -> str:
    return "null" if value is None else repr(value)


def _remarks(fact: ProgressReceived, findings: tuple[Finding, ...]) -> str:
    late = ',"late":true' if fact.standing in _LATE else ""
    own = fact.findings
    if not findings and not own:
        return late
    others = [finding for finding in findings if finding not in own]
    return f'{late},"problems":{as_json([finding.text for finding in (*own, *others)])}'


def resumable_line(job: JobSnapshot, seconds: str) -> str:
    """A resumable event: `resume_id` is the ID for the command `resume`, null if there is none.

    `reason` says why the job stopped, null if the server merely returned a token; `usable` is false
    if the server no longer accepts the token.
    """
    return event_line(
        "resumable",
        seconds,
        job=as_json(job.id),
        resume_id=as_json(job.chain),
        attempt=as_json(job.attempt_count),
        reason=as_json(job.resume_note or None),
        usable=as_json(job.can_resume),
    )


def is_cut(fact: ProgressReceived) -> bool:
    return fact.message is not None and len(fact.message) >= MESSAGE_LIMIT


def whole_message(raw: bytes) -> str:
    params = exact_member(raw, "params").encode()
    value = json.loads(exact_member(params, "message"))
    return value if isinstance(value, str) else ""


_SILENCE_S: Final = 15.0
_INTERIM: Final = "input_required"


def question_line(question: Question, job: JobId | None, seconds: str) -> str:
    """A question event; `job` is the call that the question belongs to."""
    return event_line(
        "question",
        seconds,
        job=as_json(job),
        method=as_json(question.method),
        params=as_json(question.params),
        question=as_json(question.id),
        key=as_json(question.key),
        kind=as_json(question.kind),
        problem=as_json(question.error or None),
    )


def answered_line(
    question: Question, job: JobId | None, action: str, text: str, seconds: str
) -> str:
    """An answered event: how a question was answered, and why."""
    return event_line(
        "answered",
        seconds,
        job=as_json(job),
        question=as_json(question.id),
        action=as_json(action),
        text=as_json(text),
    )


def asking_job(question: Question, jobs: Jobs) -> JobId | None:
    """The call that a question belongs to; a server request is a child job of its call."""
    job = None if question.job is None else jobs.snapshot(question.job)
    if job is None:
        return question.job
    return job.id if job.parent is None else job.parent


class TaskEvents:
    """Makes an event for each change of a task's status or message, without repetitions."""

    def __init__(self, jobs: Jobs) -> None:
        self._source = jobs
        self._last: dict[JobId, tuple[str, str | None]] = {}

    def is_task(self, job: JobId | None) -> bool:
        return job in self._last

    def line(self, fact: TaskStated, update: Update, job: JobId | None, seconds: str) -> str:
        """The event for a task's status; empty if it is unknown or unchanged.

        `job` belongs to the request that created the task; None if that was in another connection.
        """
        job = self._job(fact, update) if job is None else job
        current = fact.task.status, fact.task.message
        if job is None or not fact.task.status or self._last.get(job) == current:
            return ""
        self._last[job] = current
        return event_line(
            "task",
            seconds,
            job=as_json(job),
            taskId=as_json(fact.task.id),
            status=as_json(fact.task.status),
            statusMessage=as_json(fact.task.message),
        )

    def _job(self, fact: TaskStated, update: Update) -> JobId | None:
        for job in (*update.changes.added, *update.changes.progressed):
            snapshot = self._source.snapshot(job)
            task = None if snapshot is None else snapshot.task
            if task is not None and task.id == fact.task.id:
                return job
        return None


def interim(facts: Iterable[Fact]) -> Iterator[int]:
    """The numbers of replies that do not end their call, or that are about a task."""
    for fact in facts:
        if type(fact) is TaskStated or _requires_input(fact):
            yield fact.number


def _requires_input(fact: Fact) -> bool:
    result = fact.result if type(fact) is RequestAnswered else None
    return result is not None and result.get("resultType") == _INTERIM


def error_line(
    seconds: str,
    job: JobId | None,
    where: str,
    message: str,
    code: str | None = None,
    data: object = None,
) -> str:
    """An error event; `where` is "local" for this program, "server" for the server's reply."""
    fields = {"where": as_json(where), "code": code or "null", "message": as_json(message)}
    return event_line("error", seconds, job=as_json(job), **fields, data=as_json(data))


def summary_line(
    seconds: str, jobs: int, findings: int, frames: int, path: Path | None, unchecked: int = 0
) -> str:
    """The summary event, with the file that the session is recorded into.

    `unchecked` messages were not compared with the official schema.
    """
    counts = {"jobs": str(jobs), "findings": str(findings), "frames": str(frames)}
    counts["unchecked"] = str(unchecked)
    recording = as_json(None if path is None else str(path))
    return event_line("summary", seconds, **counts, recording=recording)


def finding_line(result: Result, seconds: str) -> str:
    advice, source = ADVICE[result.rule], result.finding.rule.source
    level = "info" if result.level is Level.NOTE else result.level.value
    fields = {
        "rule": result.rule,
        "level": level,
        "job": result.job,
        "text": text_of(result.finding),
        "source": f"{source.document}, {source.section}",
        "by": result.by.name.lower(),
        "server": result.server,
        "due": advice.due,
        "fix": advice.fix,
    }
    return event_line("finding", seconds, **{name: as_json(each) for name, each in fields.items()})


class Session(Protocol):
    """The session of the events: an engine, or a recording in its place."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def questions(self) -> SessionQuestions: ...

    @property
    def recorded_path(self) -> Path | None: ...


class SessionQuestions(Protocol):
    """Its questions, of which a recording has none that are open."""

    def open(self) -> tuple[Question, ...]: ...

    def find(self, question: int) -> Question | None: ...


class JsonEvents(Front):
    """Writes the events of an update immediately, before the next chunk is read.

    A slow reader therefore slows the server; nothing is queued or dropped.
    """

    def __init__(
        self,
        output: StandardOutput,
        errors: StandardOutput,
        engine: Session,
        started_at: float,
        exact: Callable[[bytes], str] = exact_outcome,
        *,
        names_servers: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`started_at` is the second of `clock`, the session's, from which events count `t`.

        For the end of a task, or of a request without a job, `exact` formats the reply. With
        `names_servers`, each request has its server and client.
        """
        self._names_servers = names_servers
        self._clock = clock
        self._exact = exact
        self._output = output
        self._errors = errors
        self._engine = engine
        self._started_at = started_at
        self._open: set[JobId] = set()
        self._answered: set[JobId] = set()
        self._refused: set[JobId] = set()
        self._counts: dict[JobId, int] = {}
        self._jobs: set[JobId] = set()
        self._asked_at: dict[JobId, float] = {}
        self._frame_count = 0
        self._finding_count = 0
        self._violations = ReplyViolations()
        self._tasks = TaskEvents(engine.jobs)
        self._asked: set[int] = set()
        self._settling: set[JobId] = set()
        self._held: list[str] = []
        self._check = SessionChecker(engine.jobs.job_of)
        self._makers: dict[type, Callable[[Any, _Chunk], str]] = {
            ProgressReceived: self._progress,
            ConnectionNegotiated: self._connected,
            RequestMade: self._request,
            RequestAnswered: self._answer,
            NotificationReceived: self._notification,
            PartReceived: self._part,
            StderrReceived: self._stderr,
            ConnectionClosed: self._closed,
            TaskStated: self._task,
            OutputChecked: self._output_checked,
        }

    def on_update(self, update: Update) -> None:
        self._frame_count += len(update.frames)
        self._jobs.update(update.changes.added)
        chunk = _Chunk(update, self._engine)
        made = [(self._makers.get(type(fact)), fact) for fact in update.facts]
        lines = [make(fact, chunk) for make, fact in made if make is not None]
        lines += map(self._resumable, sorted(update.changes.moved))
        lines += self._questions(update)
        self._check.take(update.frames, update.facts, update.changes.marked)
        lines += self._findings()
        self._settle(update.changes)
        self._write("".join(lines))

    async def animate(self) -> None:
        """Write an event for each silent call, so that scripts can tell waiting from hanging."""
        while True:
            await anyio.sleep(_SILENCE_S)
            self.report_silent()

    def report_silent(self) -> None:
        """Write the calls that nothing was heard of for 15 s."""
        for job in sorted(self._open):
            seen = self._engine.jobs.snapshot(job)
            if seen is not None and not seen.state.is_over and seen.silent_s >= _SILENCE_S:
                silent = elapsed(seen.silent_s)
                self._write(event_line("silent", self._now(), job=as_json(job), silent_s=silent))

    def _settle(self, changes: ChangeSet) -> None:
        """Hold events back while a completed job is still saved as resumable.

        A user who reads the result and kills the program must not be offered the job again. Later
        events wait, too, so that all stay in wire order.
        """
        found = ((job, self._engine.jobs.snapshot(job)) for job in self._settling & changes.moved)
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
        """Write the result of a task, or of a request without a job; neither has a fact."""
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
        """Write why the command failed; `job` is null."""
        self._error(None, "local", failure.details.as_text())

    def decline(self, job: JobId, error: ErrorDetails) -> None:
        self._error(job, "local", error.as_text())

    def warn(self, error: ErrorDetails) -> None:
        self._errors.text(f"{visible(error.as_text(), keep_line_ends=True)}\n")

    def note(self, line: str) -> None:
        self._errors.text(f"{visible(line)}\n")

    def report_answer(self, question: Question, action: str, text: str) -> None:
        job = asking_job(question, self._engine.jobs)
        self._write(answered_line(question, job, action, text, self._now()))

    def report_sign_in(self, sign_in: SignIn) -> None:
        fields = {"server": as_json(sign_in.server), "url": as_json(sign_in.url)}
        self._write(event_line("sign_in", self._now(), **fields))

    def leave(self) -> None:
        """Write that open calls were interrupted, since their end will not be known."""
        for job in sorted(self._open):
            self._error(job, "local", "Interrupted")
        self._open.clear()

    def close(self) -> None:
        """Write the summary, which is always the last event."""
        self._settling.clear()
        self._check.judge.finish()
        self._write("".join(self._findings()))
        counts = len(self._jobs), self._finding_count, self._frame_count
        unchecked = self._check.schemas.unchecked
        path = self._engine.recorded_path
        self._write(summary_line(self._now(), *counts, path, unchecked))

    def _error(
        self,
        job: JobId | None,
        where: str,
        message: str,
        code: str | None = None,
        data: object = None,
    ) -> None:
        self._write(error_line(self._now(), job, where, message, code, data))

    def _write(self, lines: str) -> None:
        self._held.append(lines)
        if not self._settling:
            held, self._held = "".join(self._held), []
            if held:
                self._output.write(held.encode())

    def _now(self) -> str:
        return self._t(self._clock())

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
        job = self._engine.jobs.job_of(fact.number)
        is_task_request = task_named_by(fact.method, fact.params) is not None
        if job is None or is_task_request or fact.sender is not Side.CLIENT:
            return ""
        if job not in self._open:  # otherwise it continues with answers to the server's questions
            self._asked_at[job] = fact.at
        self._jobs.add(job)  # a job saved by an earlier run was never added
        self._open.add(job)
        self._answered.discard(job)
        self._refused.discard(job)
        snapshot = self._engine.jobs.snapshot(job)
        return event_line(
            "request",
            self._t(fact.at),
            job=as_json(job),
            attempt="1" if snapshot is None else str(snapshot.attempt_count),
            id=as_json(fact.id),
            method=as_json(fact.method),
            token=as_json(fact.token),
            **self._names(snapshot),
        )

    def _names(self, job: JobSnapshot | None) -> dict[str, str]:
        if job is None or not self._names_servers:
            return {}
        return {"server": as_json(job.server), "client": as_json(job.watched_client)}

    def _progress(self, fact: ProgressReceived, chunk: _Chunk) -> str:
        job, count = chunk.next_tick()
        if job is not None:
            self._counts[job] = count
        if fact.sender is not Side.SERVER:
            return ""
        if is_cut(fact):
            fact = fact._replace(message=whole_message(chunk.raw(fact.number)) or fact.message)
        findings = chunk.marked.get(fact.number, ())
        return progress_line(fact, self._t(fact.at), job, count, chunk.pace(job), findings)

    def _answer(self, fact: RequestAnswered, chunk: _Chunk) -> str:
        job = None if fact.request is None else self._engine.jobs.job_of(fact.request)
        if job is None or fact.sender is not Side.SERVER or fact.number in chunk.interim:
            return ""
        late = {} if fact.standing is RequestStanding.ACTIVE else {"late": "true"}
        if not late:
            self._answered.add(job)
            self._open.discard(job)
        raw = chunk.raw(fact.number)
        violations = self._violations.of(fact, self._engine.jobs.snapshot(job))
        remarks = late | ({"problems": as_json(violations)} if violations else {})
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
        job = None if fact.request is None else self._engine.jobs.job_of(fact.request)
        return self._tasks.line(fact, chunk.update, job, self._t(fact.at))

    def _output_checked(self, fact: OutputChecked, _chunk: _Chunk) -> str:
        job = as_json(self._engine.jobs.job_of(fact.request))
        found = [(rules.OUTPUT.kind, "error", text) for text in fact.violations]
        found += [(rules.OUTPUT_UNCHECKED.kind, "info", text) for text in fact.unchecked]
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
                by=as_json("server"),
                server=as_json(server_name(fact.connection)),
                due=as_json(ADVICE[rules.OUTPUT.id].due),
                fix=as_json(ADVICE[rules.OUTPUT.id].fix),
            )
            for rule, level, text in found
        )

    def _findings(self) -> list[str]:
        """The events of the first violation of each rule by a job or a connection.

        Violations of output schemas have events of their own, one for each text.
        """
        results = self._check.judge.results
        found = [each for each in results.fresh() if each.rule != rules.OUTPUT.id]
        self._finding_count += len(found)
        return [finding_line(each, self._now()) for each in found]

    def _questions(self, update: Update) -> Iterator[str]:
        if not update.questions:
            return
        found = map(self._engine.questions.find, sorted(update.questions))
        ruled = [each for each in found if each is not None and is_reported_rule(each)]
        for question in (*ruled, *self._engine.questions.open()):
            if question.id not in self._asked:
                self._asked.add(question.id)
                job = asking_job(question, self._engine.jobs)
                yield question_line(question, job, self._t(question.asked_at))

    def _resumable(self, job: JobId) -> str:
        snapshot = self._engine.jobs.snapshot(job)
        if snapshot is None or snapshot.state is not JobState.RESUMABLE:
            return ""
        return resumable_line(snapshot, self._now())

    def _duration(self, job: JobId, at: float) -> str:
        asked_at = self._asked_at.get(job)
        return "null" if asked_at is None else elapsed(at - asked_at)

    def _notification(self, fact: NotificationReceived, chunk: _Chunk) -> str:
        if fact.method != LOG_MESSAGE or fact.sender is not Side.SERVER:
            return ""
        params = exact_member(chunk.raw(fact.number), "params").encode()
        fields = {name: exact_member(params, name) for name in ("level", "logger", "data")}
        return event_line("log", self._t(fact.at), **fields)

    def _part(self, fact: PartReceived, chunk: _Chunk) -> str:
        job = None if fact.request is None else self._engine.jobs.job_of(fact.request)
        params = exact_member(chunk.raw(fact.number), "params")
        fields = {"job": as_json(job), "method": as_json(fact.method), "params": params}
        return event_line("part", self._t(fact.at), **fields)

    def _stderr(self, fact: StderrReceived, _chunk: _Chunk) -> str:
        return event_line("stderr", self._t(fact.at), line=as_json(fact.line))

    def _closed(self, fact: ConnectionClosed, _chunk: _Chunk) -> str:
        reason, code = as_json(fact.reason), as_json(fact.exit_code)
        return event_line("closed", self._t(fact.at), reason=reason, exit_code=code)


class _Chunk:
    """Data that the events of one update share, looked up once."""

    def __init__(self, update: Update, engine: Session) -> None:
        self.update = update
        self.interim = frozenset(interim(update.facts))
        self._engine = engine
        self.marked = update.changes.marked
        self._ticks = iter(update.changes.ticks)
        self._paces: dict[JobId | None, str] = {}
        self._raws: dict[int, bytes] | None = None

    def next_tick(self) -> tuple[JobId | None, int]:
        job, count, _ = next(self._ticks)
        return job, count

    def pace(self, job: JobId | None) -> str:
        found = self._paces.get(job)
        if found is None:
            found = pace(None if job is None else self._engine.jobs.snapshot(job))
            self._paces[job] = found
        return found

    def raw(self, number: int) -> bytes:
        if self._raws is None:
            self._raws = {frame.number: frame.raw for frame in self.update.frames}
        return self._raws.get(number, b"{}")
