"""Text output: progress and messages on standard error, results on standard output."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from mcp_progress_monitor.cli.output import job_text
from mcp_progress_monitor.cli.output.front import Front
from mcp_progress_monitor.cli.output.job_text import NUMBERS, TaskLines, Violations
from mcp_progress_monitor.cli.output.results import answer_text, is_error
from mcp_progress_monitor.cli.output.stdout import as_json
from mcp_progress_monitor.formatting import elide, one_line, visible
from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    PartReceived,
    RequestAnswered,
    Side,
    StderrReceived,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.messages import LOG_MESSAGE, STREAM_HEARTBEAT
from mcp_progress_monitor.protocol.secrets import shown_data
from mcp_progress_monitor.sessions.connection.clocks import SIGN_IN_S
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobId, JobSnapshot, JobState
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.jobs import answered_error
from mcp_progress_monitor.wording.questions import ANSWERED, url_parts
from mcp_progress_monitor.wording.servers import sign_in_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from mcp_progress_monitor.cli.output.job_text import Label
    from mcp_progress_monitor.cli.output.stdout import StandardOutput
    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.snapshots.questions import Question
    from mcp_progress_monitor.snapshots.servers import SignIn
    from mcp_progress_monitor.tracker.tracker import Jobs

_MOST: Final = 2_000


class TerminalTurns:
    """Prints immediately or, while a question is open, in order afterwards."""

    def __init__(
        self, aside: Callable[[], AbstractContextManager[None]], say: Callable[[str], None]
    ) -> None:
        """`aside` hides progress; `say` prints a line."""
        self._aside = aside
        self._say = say
        self._depth = 0
        self._waiting: list[Callable[[], None]] = []
        self._skipped = 0

    def say(self, line: str) -> None:
        """Print a line; during a question, keep the first lines of a flood and count the rest."""
        if self._depth and len(self._waiting) >= _MOST:
            self._skipped += 1
        else:
            self.do(partial(self._say, line))

    def do(self, action: Callable[[], None]) -> None:
        if self._depth:
            self._waiting.append(action)
        else:
            action()

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        self._depth += 1
        try:
            with self._aside():
                yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._catch_up()

    def _catch_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()
        if self._skipped:
            self._say(f"… and {self._skipped:,} more lines; see the recording.")
            self._skipped = 0


_BETWEEN_LINES_S = 1.0


class LineMeter:
    """Prints changes of jobs as lines: the first immediately, then one per second, and the last.

    For a resumed job, the last of each attempt.
    """

    def __init__(
        self,
        errors: StandardOutput,
        jobs: Jobs,
        *,
        is_numbered: bool,
        numbers: Mapping[JobId, Label] = NUMBERS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Print to `errors`; `is_numbered` adds the job's number, or its label in `numbers`."""
        self._clock = clock
        self._errors = errors
        self._source = jobs
        self._is_numbered = is_numbered
        self._numbers = numbers
        self._due: dict[JobId, float] = {}
        self._waiting: set[JobId] = set()
        self._over: dict[JobId, int] = {}
        self._asides = 0
        self._last: dict[JobId, tuple[object, ...]] = {}

    def on_changes(self, changes: ChangeSet) -> None:
        self._waiting |= changes.progressed
        self._write_due(changes.progressed)

    async def animate(self) -> None:
        while True:
            await anyio.sleep(_BETWEEN_LINES_S / 4)
            self._write_due(self._waiting)

    def say(self, line: str) -> None:
        """Print any other line; the caller has escaped it."""
        self._errors.text(f"{line}\n")

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Hold lines back within a `with` block, and print them afterwards."""
        self._asides += 1
        try:
            yield
        finally:
            self._asides -= 1
            self._write_due(self._waiting)

    def close(self) -> None:
        """Nothing is left to print: the end of a job is never delayed."""

    def _write_due(self, jobs: Collection[JobId]) -> None:
        if self._asides:
            return
        now = self._clock()
        for job in sorted(jobs):
            snapshot = self._source.snapshot(job)
            if snapshot is None or not self._has_changes(snapshot):
                self._waiting.discard(job)
            elif snapshot.state.is_over or now >= self._due.get(job, 0.0):
                self._waiting.discard(job)
                self._due[job] = now + _BETWEEN_LINES_S
                self._write(snapshot)

    def _has_changes(self, job: JobSnapshot) -> bool:
        """Return whether it is our job and the end of its newest attempt was not printed.

        A saved job that has not been resumed here stopped in an earlier session.
        """
        is_old = job.state is JobState.RESUMABLE and job.id not in self._due
        is_printed = self._over.get(job.id) == job.attempt_count
        return job.sender is Side.CLIENT and not is_old and not is_printed

    def _write(self, job: JobSnapshot) -> None:
        if job.state.is_over:
            self._over[job.id] = job.attempt_count
        if (job.tick_count or job.task or job.state.is_over) and self._differs(job):
            number = self._numbers.get(job.id, job.id) if self._is_numbered else None
            self.say(job_text.line(job, number))

    def _differs(self, job: JobSnapshot) -> bool:
        so_far = job.attempt_count, job.tick_count, job_texts.progress(job)
        current = (*so_far, job.state, job_text.message(job))
        differs = self._last.get(job.id) != current
        self._last[job.id] = current
        return differs


_WEIGHTS = {"debug": 0, "info": 1, "notice": 1, "warning": 2}
_HEAVIEST = 3
_STDERR_WEIGHT = _WEIGHTS["info"]
_MOST_UNREADABLE = 5


class Meter(Protocol):
    """Shows the progress of jobs: `LineMeter` or `BarMeter`."""

    def on_changes(self, changes: ChangeSet) -> None:
        """Show what changed."""

    async def animate(self) -> None:
        """Show what changes with time, until cancelled."""

    def say(self, line: str) -> None:
        """Print a line that is not progress."""

    def aside(self) -> AbstractContextManager[None]:
        """Hide progress within a `with` block."""

    def close(self) -> None:
        """Show the last state."""


class TextFront(Front):
    """The text output. Server text is exact in a pipe, and escaped on a terminal."""

    def __init__(
        self,
        output: StandardOutput,
        errors: StandardOutput,
        meter: Meter,
        engine: Engine,
        level: str,
        numbers: Mapping[JobId, Label] | None = None,
        *,
        text_of: Callable[[bytes], str] = answer_text,
        server_log: str | None = None,
        shows_jobs: bool = True,
    ) -> None:
        """`level` is the lowest level of messages to show.

        `numbers` label the jobs if there are several. `text_of` formats results. Server log
        messages are shown from `server_log` on, by default from `level`. Without `shows_jobs`,
        progress is not shown.
        """
        self._output = output
        self._errors = errors
        self._meter = meter
        self._engine = engine
        self._printed: dict[JobId, bytes] = {}
        self._least = _WEIGHTS.get(level, _HEAVIEST)
        self._least_logged = LOG_LEVELS.index(server_log or level)
        self._text_of = text_of
        self._shows_jobs = shows_jobs
        self._unreadable_count = 0
        self._violations = Violations(engine.jobs, numbers)
        self._reported: set[ErrorDetails] = set()
        self._turns = TerminalTurns(meter.aside, meter.say)
        self._task_lines = TaskLines(engine.jobs, numbers)

    def on_update(self, update: Update) -> None:
        for fact in update.facts:
            self._take(fact, update.frames)
        if self._least <= _WEIGHTS["warning"]:
            for line in self._violations.lines(update.changes):
                self._turns.say(line)
        if not self._shows_jobs:
            return
        for line in self._task_lines.lines(update):
            self._turns.say(line)
        self._meter.on_changes(update.changes)

    def _take(self, fact: Fact, frames: Sequence[Frame]) -> None:
        if isinstance(fact, NotificationReceived):
            self._notification(fact)
        elif isinstance(fact, PartReceived) and fact.method != STREAM_HEARTBEAT:
            self._turns.say(job_texts.part_text(fact))
        elif isinstance(fact, StderrReceived) and self._least <= _STDERR_WEIGHT:
            self._turns.say(f"stderr: {one_line(fact.line, 2000)}")
        elif isinstance(fact, UnreadableReceived) and fact.sender is Side.SERVER:
            self._unreadable(fact)
        elif isinstance(fact, RequestAnswered) and fact.next_resume_token is not None:
            self._part(fact, frames)

    def show(self, outcome: Outcome) -> None:
        """Print a result on standard output, or the server's error on standard error."""
        self._turns.do(partial(self._show, outcome))

    def _show(self, outcome: Outcome) -> None:
        with self._meter.aside():
            if outcome.result is None:
                self._print_error(_failure_text(outcome))
            elif is_error(outcome.result):
                self._print_error(f"The tool returned an error:\n{answer_text(outcome.raw)}")
            else:
                if outcome.job is None or self._printed.get(outcome.job) != outcome.raw:
                    self._answer(self._text_of(outcome.raw))
                if outcome.failure is not None:
                    self._print_error(_failure_text(outcome))

    def decline(self, job: JobId, error: ErrorDetails) -> None:
        if self._is_new(error):
            self._turns.do(partial(self._print_error_aside, error.as_text()))

    def warn(self, error: ErrorDetails) -> None:
        if self._is_new(error):
            for line in error.as_text().splitlines():
                self._turns.say(visible(line))

    def _is_new(self, error: ErrorDetails) -> bool:
        """Return whether it was not printed yet: a full disk affects many jobs."""
        is_new = error not in self._reported
        self._reported.add(error)
        return is_new

    def note(self, line: str) -> None:
        self._turns.say(visible(line))

    def quiet(self) -> AbstractContextManager[None]:
        """Hold lines, results and progress back within a `with` block."""
        return self._turns.quiet()

    def report_answer(self, question: Question, action: str, text: str) -> None:
        asked = one_line(question.message or question.method, 400)
        self._turns.say(f"{one_line(question.server)} asks ({question.kind}): {asked}")
        if question.error:
            self._turns.say(f"  invalid question: {one_line(question.error, 2000)}")
        self._turns.say(f"  {ANSWERED[action]}: {one_line(text, 2000)}")

    def report_sign_in(self, sign_in: SignIn) -> None:
        for line in sign_in_lines(sign_in):
            self._turns.say(line)

    def interrupt(self) -> None:
        self._turns.say("Cancelling. Press Ctrl+C again to exit immediately.")

    def terminate(self) -> None:
        self._turns.say("Received a signal to terminate. Exiting.")

    async def animate(self) -> None:
        await self._meter.animate()

    def close(self) -> None:
        self._meter.close()

    def _part(self, fact: RequestAnswered, frames: Sequence[Frame]) -> None:
        """Print the result of an attempt before the job is resumed."""
        job = None if fact.request is None else self._engine.jobs.job_of(fact.request)
        raw = next((frame.raw for frame in frames if frame.number == fact.number), b"")
        if job is None or fact.sender is not Side.SERVER or is_error(fact.result):
            return
        self._printed[job] = raw
        self._turns.do(partial(self._answer_aside, raw))

    def _answer_aside(self, raw: bytes) -> None:
        with self._meter.aside():
            self._answer(self._text_of(raw))

    def _answer(self, text: str) -> None:
        is_escaped = self._output.is_terminal
        self._output.text(visible(text, keep_line_ends=True) if is_escaped else text)

    def _print_error(self, text: str) -> None:
        self._errors.text(visible(text.rstrip("\n"), keep_line_ends=True) + "\n")

    def _print_error_aside(self, text: str) -> None:
        with self._meter.aside():
            self._print_error(text)

    def _notification(self, fact: NotificationReceived) -> None:
        if fact.method != LOG_MESSAGE or fact.sender is not Side.SERVER:
            return
        level = fact.params.get("level")
        if level not in LOG_LEVELS or LOG_LEVELS.index(level) >= self._least_logged:
            logger, data = fact.params.get("logger"), fact.params.get("data")
            self._turns.say(job_text.log_line(level, logger, data))

    def _unreadable(self, fact: UnreadableReceived) -> None:
        """Warn about lines that are not messages, from servers that print to standard output."""
        self._unreadable_count += 1
        if self._unreadable_count <= _MOST_UNREADABLE:
            what = one_line(fact.violation)
            self._turns.say(f"The server wrote a line that is not a JSON-RPC message: {what}")
        if self._unreadable_count == _MOST_UNREADABLE:
            self._turns.say("Further lines of this kind are not shown.")


def _failure_text(outcome: Outcome) -> str:
    """Say why a call failed, with the server's code and data if any."""
    failure = outcome.failure
    if failure is None:
        return "The call ended without a result."
    head = f"{answered_error(failure.code)}: " if failure.where == "server" else ""
    data = "" if failure.data is None else f"\n{as_json(shown_data(failure.data))}"
    return f"{head}{failure.message}{data}"


_LONGEST: Final = 8000  # the most characters of a URL: browsers accept no more


def sign_in_lines(sign_in: SignIn) -> list[str]:
    """Say where to sign in, for a terminal: the host, then the full URL."""
    parts = url_parts(sign_in.url)
    address = f"  {elide(parts.shown, _LONGEST)}"
    what = sign_in_text(sign_in.server)
    if parts.refusal:
        return [f"{what}: the URL cannot be opened. {parts.refusal}", address]
    return [
        f"{what}, within {SIGN_IN_S / 60:g} minutes.",
        f"Open this URL of {parts.host} in your browser:",
        address,
        *(f"  {warning}" for warning in parts.warnings),
    ]
