"""Every question of a server gets its answer: from the file, a rule, from the user, or a no.

Questions come at any time and several at once. File and rules answer at once; the user is asked
one question after the other. A question that needs no answer any more ends its prompt.
"""

from __future__ import annotations

import asyncio
import collections
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from mcp_progress_monitor.cli.asking.keyboard import HungUpError
from mcp_progress_monitor.cli.asking.prompts import prompt
from mcp_progress_monitor.cli.asking.replies import refusal
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.questions import BY_RULE, Accept, Decline, Dismiss, Refused
from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.cli.asking.dialogue import Dialogue
    from mcp_progress_monitor.cli.asking.means import Means
    from mcp_progress_monitor.cli.asking.rules import Ruled
    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.monitor import Update
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.questions import Answer, Kind, Question
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_NOBODY: Final = (
    "nobody can be asked. Run this on a terminal without --json, or give answers with --answer FILE"
)
_RULE: Final = "as the rule says that is set for this server in the window"
_NAME: Final = 40


class QuestionBook(Protocol):
    """What is asked of the monitor; `monitor.Monitor` fits."""

    def questions(self) -> Sequence[Question]:
        """The open questions, oldest first."""

    def question(self, question: int) -> Question | None:
        """One, open or lately ended; None when there is none of that id."""

    def answer(self, question: int, answer: Answer) -> tuple[str, ...]:
        """Answer one; `ProblemError` when it is not open, or the answer does not fit.

        Returns what of the answer could not be checked.
        """

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """The job now."""


def _no_rule(_question: Question) -> None:
    """Nothing is set for any server."""


class Asker:
    """Answers questions for as long as `run` runs; `on_update` is to be told of all updates."""

    def __init__(
        self,
        book: QuestionBook,
        front: Front,
        means: Means,
        ruled: Callable[[Question], Ruled | None] = _no_rule,
    ) -> None:
        """Answers come from `means`, what is done without the user is told to `front`.

        `ruled` says what the user has set in the window for a question that the file of answers is
        not for.
        """
        self._book = book
        self._ruled = ruled
        self._front = front
        self._answers = means.answers
        self._dialogue = means.dialogue
        self._seen: set[int] = set()
        self._turn: collections.deque[Question] = collections.deque()
        self._news = anyio.Event()
        self._next = anyio.Event()
        self._prompt = _Prompt()
        self._is_stopped = False

    def on_update(self, update: Update) -> None:
        """Look for new questions, and end the prompt of one that is over."""
        if not update.questions:
            return
        self._news.set()
        for question in map(self._book.question, sorted(update.questions)):
            if question is not None and is_told_rule(question):
                self._tell_ruled(question)
        asked = self._prompt.question
        if asked is not None and asked.id in update.questions and not self._is_open(asked):
            self._prompt.scope.cancel()

    async def run(self) -> None:
        """Answer until cancelled."""
        self._prompt.loop = asyncio.get_running_loop()
        async with anyio.create_task_group() as group:
            group.start_soon(self._ask_in_turn)
            while True:
                for question in self._book.questions():
                    if question.id not in self._seen:
                        self._seen.add(question.id)
                        self._consider(question)
                await self._news.wait()
                self._news = anyio.Event()

    def interrupt(self) -> bool:
        """Cancel the question at the prompt; False when there is none. For a signal handler."""
        return self._prompt.interrupt()

    def stop(self) -> None:
        """Ask no more: what is open, and what comes, is turned away from."""
        self._is_stopped = True
        self._prompt.interrupt()
        while self._turn:
            self._turn_away(self._turn.popleft())

    def tell_unused(self) -> None:
        """Tell of answers in the file that no question was for."""
        unused = [] if self._answers is None else self._answers.unused()
        if self._answers is not None and unused:
            what = "No question was asked that these answers are for"
            hint = "Look at their conditions: kind, message, fields and key must all hold."
            self._front.warn(Problem(what, self._answers.name, hint, ", ".join(unused)))

    def _consider(self, question: Question) -> None:
        if self._is_stopped:
            self._turn_away(question)
        elif not self._answered_by_file(question) and not self._answered_by_rule(question):
            self._pass_on(question)

    def _answered_by_rule(self, question: Question) -> bool:
        """Whether a rule has answered, or will when the user has had the time that it leaves."""
        found = self._ruled(question)
        if found is None or (found.delay_s and self._dialogue is not None):
            return False
        if self._give(question, found.answer) is not None:
            return False
        self._tell(question, found.answer, _RULE)
        return True

    def _tell_ruled(self, question: Question) -> None:
        """Tell of a question that its rule has answered before anybody was asked, or in time."""
        found = self._ruled(question)
        if found is not None:
            self._tell(question, found.answer, _RULE)

    def _answered_by_file(self, question: Question) -> bool:
        found = None if self._answers is None else self._answers.take(question)
        if self._answers is None or found is None:
            return False
        where = f"{self._answers.name}, {found.path}"
        problem = self._give(question, found.answer)
        if problem is None:
            self._tell(question, found.answer, f"as {where} says")
            return True
        if not self._is_open(question):
            return True
        what = "An answer does not fit the question that it is for"
        self._front.warn(Problem(what, where, detail=problem.detail or problem.what))
        misfits = "; ".join((problem.detail or problem.what).splitlines())
        self._pass_on(question, f"the answer in {where} does not fit: {misfits}")
        return True

    def _pass_on(self, question: Question, why: str = "") -> None:
        """Have the user asked, or say no for them."""
        if self._dialogue is not None:
            self._turn.append(question)
            self._next.set()
        else:
            self._say_no(question, why or self._no_answer(question))

    def _no_answer(self, question: Question) -> str:
        if self._answers is None:
            return _NOBODY
        missing = self._answers.missing(question)
        names = f", whose fields do not have {', '.join(missing)}" if missing else ""
        return f"no answer in {self._answers.name} is for it{names}"

    def _say_no(self, question: Question, why: str) -> None:
        answer = refusal(question.kind)
        if self._give(question, answer) is None:
            self._tell(question, answer, why)

    def _turn_away(self, question: Question) -> None:
        answer = turning_away(question.kind)
        if self._give(question, answer) is None:
            self._tell(question, answer, "as the call is")

    def _give(self, question: Question, answer: Answer) -> Problem | None:
        """Answer a question; the problem if it is not to be answered so."""
        try:
            unchecked = self._book.answer(question.id, answer)
        except ProblemError as error:
            return error.problem
        if unchecked:
            what = "The answer was sent, but could not be checked completely"
            self._front.warn(Problem(what, question.server, detail="\n".join(unchecked)))
        return None

    def _tell(self, question: Question, answer: Answer, words: str) -> None:
        self._front.tell_answer(question, action_of(answer), words)

    def _is_open(self, question: Question) -> bool:
        return any(other.id == question.id for other in self._book.questions())

    # At the terminal

    async def _ask_in_turn(self) -> None:
        while True:
            await self._next.wait()
            self._next = anyio.Event()
            while self._turn:
                question = self._turn.popleft()
                if self._dialogue is not None and self._is_open(question):
                    with self._front.quiet():
                        await self._ask(question, self._dialogue)

    async def _ask(self, question: Question, dialogue: Dialogue) -> None:
        """Ask until there is an answer that fits, or none is needed any more."""
        earlier: JsonObject = {}
        while self._is_open(question):
            answer = await self._prompted(question, dialogue, earlier)
            if answer is None:
                dialogue.break_off("The server does not need an answer any more.")
                return
            problem = self._give(question, answer)
            if problem is None:
                return
            dialogue.say(problem.as_text())
            earlier = answer.content if isinstance(answer, Accept) else {}

    async def _prompted(
        self, question: Question, dialogue: Dialogue, earlier: JsonObject
    ) -> Answer | None:
        """What the user says; None once the question needs no answer any more."""
        answer: Answer | None = None
        try:
            with self._prompt.begin(question) as scope:
                answer = await prompt(question, dialogue, self._call(question), earlier)
        except HungUpError:
            dialogue.say("Cancelled: there is no more input.")
            return turning_away(question.kind)
        finally:
            was_interrupted = self._prompt.end()
        if scope.cancelled_caught and was_interrupted:
            hint = "" if self._is_stopped else " Ctrl+C again cancels the call."
            dialogue.break_off(f"The question is cancelled.{hint}")
            return turning_away(question.kind)
        return answer

    def _call(self, question: Question) -> str:
        """The name of what is called, if it is known for which call the question is."""
        job = None if question.job is None else self._book.snapshot(question.job)
        if job is not None and job.parent is not None:
            job = self._book.snapshot(job.parent)
        return "" if job is None or job.method == question.method else one_line(job.name, _NAME)


class _Prompt:
    """The question at the terminal now, which a signal handler may cancel."""

    def __init__(self) -> None:
        self.question: Question | None = None
        self.scope = anyio.CancelScope()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._is_interrupted = False

    def begin(self, question: Question) -> anyio.CancelScope:
        """The scope to ask in."""
        self.question, self._is_interrupted = question, False
        self.scope = anyio.CancelScope()
        return self.scope

    def end(self) -> bool:
        """Nobody is asked any more; whether that was the user's wish."""
        self.question = None
        return self._is_interrupted

    def interrupt(self) -> bool:
        if self.question is None or self._is_interrupted or self.loop is None:
            return False
        self._is_interrupted = True
        self.loop.call_soon_threadsafe(self.scope.cancel)
        return True


def is_told_rule(question: Question) -> bool:
    """Whether a rule has answered what the user would want to know; folders are no news."""
    return question.ended == BY_RULE and question.kind != "roots"


def turning_away(kind: Kind) -> Answer:
    """Neither yes nor no, in the way that questions of this kind have for it."""
    return Dismiss() if kind in {"form", "url"} else refusal(kind)


def action_of(answer: Answer) -> str:
    """An answer in one word, for scripts."""
    match answer:
        case Accept():
            return "accept"
        case Decline():
            return "decline"
        case Dismiss():
            return "cancel"
        case Refused():
            return "refuse"
        case _:
            return "result"
