"""The front for people: progress and messages on standard error, results on standard output."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from mcp_progress_monitor.cli import words
from mcp_progress_monitor.cli.answers import answer_text, is_error
from mcp_progress_monitor.cli.events import LOG_MESSAGE
from mcp_progress_monitor.cli.irregular import Irregularities
from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.cli.sign_ins import sign_in_lines
from mcp_progress_monitor.cli.task_lines import TaskLines
from mcp_progress_monitor.cli.turns import Turns
from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    RequestAnswered,
    Side,
    StderrReceived,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.hidden import shown_data
from mcp_progress_monitor.sessions.log_levels import LOG_LEVELS
from mcp_progress_monitor.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from mcp_progress_monitor.cli.events import JobBook
    from mcp_progress_monitor.cli.exits import CommandFailed
    from mcp_progress_monitor.cli.output import Output
    from mcp_progress_monitor.cli.words import Label
    from mcp_progress_monitor.monitor import Outcome, Update
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.snapshot import SignIn
    from mcp_progress_monitor.tracker.snapshot import Changes, JobId

_WEIGHTS = {"debug": 0, "info": 1, "notice": 1, "warning": 2}
_HEAVIEST = 3
_STDERR_WEIGHT = _WEIGHTS["info"]
_MOST_UNREADABLE = 5
_ANSWERED = {
    "accept": "accepted",
    "decline": "declined",
    "cancel": "cancelled",
    "refuse": "refused",
    "result": "answered",
}


class Meter(Protocol):
    """Shows how far jobs are; `LineMeter` and `BarMeter` do."""

    def on_changes(self, changes: Changes) -> None:
        """Show what changed."""

    async def animate(self) -> None:
        """Show what changes with time, until cancelled."""

    def say(self, line: str) -> None:
        """Write a line that is no progress."""

    def aside(self) -> AbstractContextManager[None]:
        """Keep out of the way for a while."""

    def close(self) -> None:
        """Show the last state."""


class TextFront:
    """Everything in words. Server text is exact where a program reads it, visible on a terminal."""

    def __init__(
        self,
        output: Output,
        errors: Output,
        meter: Meter,
        book: JobBook,
        level: str,
        numbers: Mapping[JobId, Label] | None = None,
        *,
        text_of: Callable[[bytes], str] = answer_text,
        server_log: str | None = None,
        shows_jobs: bool = True,
    ) -> None:
        """`level` is the least weighty of a server's messages to show.

        `numbers` tell jobs apart where there are several. Results are shown by `text_of`; of log
        messages those from `server_log` on, if the server was asked for them. Without `shows_jobs`
        how jobs fare is left out: the result says it.
        """
        self._output = output
        self._errors = errors
        self._meter = meter
        self._book = book
        self._printed: dict[JobId, bytes] = {}
        self._least = _WEIGHTS.get(level, _HEAVIEST)
        self._least_logged = LOG_LEVELS.index(server_log or level)
        self._text_of = text_of
        self._shows_jobs = shows_jobs
        self._unreadable_count = 0
        self._irregularities = Irregularities(book, numbers)
        self._told: set[Problem] = set()
        self._turns = Turns(meter.aside, meter.say)
        self._task_lines = TaskLines(book, numbers)

    def on_update(self, update: Update) -> None:
        """Show a chunk's messages, then its progress."""
        for fact in update.facts:
            self._take(fact, update.frames)
        if self._least <= _WEIGHTS["warning"]:
            for line in self._irregularities.lines(update.changes):
                self._turns.say(line)
        if not self._shows_jobs:
            return
        for line in self._task_lines.lines(update):
            self._turns.say(line)
        self._meter.on_changes(update.changes)

    def _take(self, fact: Fact, frames: Sequence[Frame]) -> None:
        """Show one message, if it is of the kinds that are shown."""
        if isinstance(fact, NotificationReceived):
            self._notification(fact)
        elif isinstance(fact, StderrReceived) and self._least <= _STDERR_WEIGHT:
            self._turns.say(f"stderr: {one_line(fact.line, 2000)}")
        elif isinstance(fact, UnreadableReceived) and fact.sender is Side.SERVER:
            self._unreadable(fact)
        elif isinstance(fact, RequestAnswered) and fact.next_resume_token is not None:
            self._part(fact, frames)

    def show(self, outcome: Outcome) -> None:
        """Print a result on standard output, an error in the server's words on standard error."""
        self._turns.do(partial(self._show, outcome))

    def _show(self, outcome: Outcome) -> None:
        with self._meter.aside():
            if outcome.result is None:
                self._complain(_failure_text(outcome))
            elif is_error(outcome.result):
                self._complain(f"The tool answered with an error:\n{answer_text(outcome.raw)}")
            else:
                if outcome.job is None or self._printed.get(outcome.job) != outcome.raw:
                    self._answer(self._text_of(outcome.raw))
                if outcome.failure is not None:
                    self._complain(_failure_text(outcome))

    def fail(self, failure: CommandFailed) -> None:
        """Leave the telling to `main`, which does it for every command."""

    def decline(self, job: JobId, problem: Problem) -> None:
        """Tell why one job cannot be gone on with."""
        if self._is_new(problem):
            self._turns.do(partial(self._complain_aside, problem.as_text()))

    def warn(self, problem: Problem) -> None:
        """Tell what does not keep the command from going on."""
        if self._is_new(problem):
            for line in problem.as_text().splitlines():
                self._turns.say(visible(line))

    def _is_new(self, problem: Problem) -> bool:
        """Whether it is to be told: one disk may keep many jobs from going on."""
        is_new = problem not in self._told
        self._told.add(problem)
        return is_new

    def note(self, line: str) -> None:
        """Tell what was done."""
        self._turns.say(visible(line))

    def quiet(self) -> AbstractContextManager[None]:
        """Keep lines, results and progress back for a while."""
        return self._turns.quiet()

    def tell_answer(self, question: Question, action: str, words: str) -> None:
        """Tell what was asked and how it was answered."""
        asked = one_line(question.message or question.method, 400)
        self._turns.say(f"{one_line(question.server)} asks ({question.kind}): {asked}")
        if question.problem:
            self._turns.say(f"  wrong with it: {one_line(question.problem, 2000)}")
        self._turns.say(f"  {_ANSWERED[action]}: {one_line(words, 2000)}")

    def tell_sign_in(self, sign_in: SignIn) -> None:
        """Tell at which page to sign in, its host apart: it comes from the server."""
        for line in sign_in_lines(sign_in):
            self._turns.say(line)

    def interrupt(self) -> None:
        """Tell what the user can do while the server takes its time."""
        self._turns.say("Cancelling. Ctrl+C again leaves at once.")

    def terminate(self) -> None:
        """Tell why it ends, since it was not the user's Ctrl+C."""
        self._turns.say("Asked by a signal to end: leaving at once.")

    def leave(self) -> None:
        """Tell nothing: who wants to be gone needs no words."""

    async def animate(self) -> None:
        """Keep the meter moving."""
        await self._meter.animate()

    def close(self) -> None:
        """Show the last state of every job."""
        self._meter.close()

    def _part(self, fact: RequestAnswered, frames: Sequence[Frame]) -> None:
        """Print the result of an attempt after which more may follow, before it does."""
        job = None if fact.request is None else self._book.job_of(fact.request)
        raw = next((frame.raw for frame in frames if frame.number == fact.number), b"")
        if job is None or fact.sender is not Side.SERVER or is_error(fact.result):
            return
        self._printed[job] = raw
        self._turns.do(partial(self._answer_aside, raw))

    def _answer_aside(self, raw: bytes) -> None:
        with self._meter.aside():
            self._answer(self._text_of(raw))

    def _answer(self, text: str) -> None:
        is_for_eyes = self._output.is_terminal
        self._output.text(visible(text, keep_line_ends=True) if is_for_eyes else text)

    def _complain(self, text: str) -> None:
        self._errors.text(visible(text.rstrip("\n"), keep_line_ends=True) + "\n")

    def _complain_aside(self, text: str) -> None:
        with self._meter.aside():
            self._complain(text)

    def _notification(self, fact: NotificationReceived) -> None:
        if fact.method != LOG_MESSAGE or fact.sender is not Side.SERVER:
            return
        level = fact.params.get("level")
        if level not in LOG_LEVELS or LOG_LEVELS.index(level) >= self._least_logged:
            logger, data = fact.params.get("logger"), fact.params.get("data")
            self._turns.say(words.log_line(level, logger, data))

    def _unreadable(self, fact: UnreadableReceived) -> None:
        """Tell of lines that are no messages: a server that prints to its standard output."""
        self._unreadable_count += 1
        if self._unreadable_count <= _MOST_UNREADABLE:
            self._turns.say(f"The server wrote a line that is no message: {one_line(fact.problem)}")
        if self._unreadable_count == _MOST_UNREADABLE:
            self._turns.say("Further lines of the kind are not told of.")


def _failure_text(outcome: Outcome) -> str:
    """Why a call did not succeed; the server's code and data where it gave them."""
    failure = outcome.failure
    if failure is None:
        return "The call ended without a result."
    code = "" if failure.code is None else f" {failure.code}"
    head = f"The server answered with error{code}: " if failure.where == "server" else ""
    data = "" if failure.data is None else f"\n{as_json(shown_data(failure.data))}"
    return f"{head}{failure.message}{data}"
