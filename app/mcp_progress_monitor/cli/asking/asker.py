"""Answers server questions: from the answer file, by a rule, by the user, or by declining."""

from __future__ import annotations

import asyncio
import collections
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from mcp_progress_monitor.cli.asking.terminal import Dialogue, HungUpError, terminal_of_user
from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.paths import SERVER_SETTINGS
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.snapshots.definitions import in_all_eras
from mcp_progress_monitor.snapshots.questions import (
    BY_RULE,
    Accept,
    Decline,
    Dismiss,
    Refused,
    refusal,
)
from mcp_progress_monitor.snapshots.settings import (
    UNCHANGED,
    QuestionRule,
    QuestionRules,
    ServerSettings,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_progress_monitor.cli.asking.answer_file import AnswerFile
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.questions.questions import Questions
    from mcp_progress_monitor.snapshots.limits import LogLevel
    from mcp_progress_monitor.snapshots.questions import Answer, Kind, Question
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

KINDS: Final[tuple[Kind, ...]] = ("sampling", "form", "url", "roots")


class RuledAnswer(NamedTuple):
    """A rule's answer to a question, and the time in which the user may answer first."""

    answer: Answer
    delay_s: float


class WindowRules(SettingsFile):
    """The rules and roots of all servers as set in the window, read once and never written.

    The log level set in the window does not apply: commands have an option for it (`log_level`).
    For a kind of question that the answer file may answer, `of` returns no rule, so that the file
    takes precedence; `automatic` returns the rule for questions that it does not answer.
    """

    def __init__(
        self, folder: Path | None, answers: AnswerFile | None, log_level: LogLevel | None = None
    ) -> None:
        """Read the rules from the data folder, if any. `log_level` is requested from servers."""
        super().__init__(None if folder is None else folder / SERVER_SETTINGS)
        self._path = None  # changes last only as long as the command
        self._answers = answers
        self._log_level = log_level
        self._made: dict[str, ServerSettings] = {}

    def put(self, fingerprint: str, settings: ServerSettings) -> None:
        self._made.clear()
        super().put(fingerprint, settings)

    def of(self, fingerprint: str) -> ServerSettings:
        """As above; made once, as every snapshot of a server has them."""
        if fingerprint not in self._made:
            self._made[fingerprint] = self._as_allowed(self._settings_of(fingerprint))
        return self._made[fingerprint]

    def _as_allowed(self, settings: ServerSettings) -> ServerSettings:
        rules = {kind: self._rule_or_ask(kind, settings.rules.of(kind)) for kind in KINDS}
        rules_now = QuestionRules(**rules)
        return ServerSettings(rules=rules_now, roots=settings.roots, log_level=self._log_level)

    def automatic(self, fingerprint: str, kind: Kind) -> RuledAnswer | None:
        """The rule's answer to a kind of question; None if the user must be asked."""
        settings = self._settings_of(fingerprint)
        answer = settings.rules.automatic(kind, settings.roots)
        return None if answer is None else RuledAnswer(answer, settings.rules.of(kind).delay_s)

    def _settings_of(self, fingerprint: str) -> ServerSettings:
        """The settings of a server in any era, so that `--era` does not change them."""
        found = map(super().of, in_all_eras(fingerprint))
        return next((each for each in found if each != UNCHANGED), UNCHANGED)

    def _rule_or_ask(self, kind: Kind, rule: QuestionRule) -> QuestionRule:
        """The rule, or one that asks, so that the answer file comes first."""
        if self._answers is None or not self._answers.may_answer(kind):
            return rule
        is_open_first = rule.mode != "undeclared" and rule.delay_s > 0
        return rule if is_open_first else QuestionRule()


class AnswerMeans(NamedTuple):
    """The sources of answers: the file, then the user if there is a terminal."""

    answers: AnswerFile | None = None
    dialogue: Dialogue | None = None


NO_MEANS = AnswerMeans()  # every question is declined


def means_of(path: Path | None, *, as_json: bool) -> AnswerMeans:
    """The `--answers` file, and the terminal unless `as_json`.

    `CommandFailed` if the file is invalid.
    """
    answers = None
    if path is not None:
        from mcp_progress_monitor.cli.asking.answer_file import read_answers  # late: few use it

        answers = read_answers(path)
    keyboard = None if as_json else terminal_of_user()
    dialogue = None if keyboard is None else Dialogue(StandardOutput(sys.stderr), keyboard)
    return AnswerMeans(answers, dialogue)


_NOBODY: Final = (
    "no terminal to ask on. Run the command on a terminal without --json, or use --answers FILE"
)
_RULE: Final = "by this server's rule in the window"
_NAME: Final = 40


class Asker:
    """Answers questions while `run` runs; `on_update` must receive all updates."""

    def __init__(
        self,
        questions: Questions,
        snapshot: Callable[[JobId], JobSnapshot | None],
        front: Front,
        means: AnswerMeans,
        ruled: Callable[[Question], RuledAnswer | None] = lambda _question: None,
    ) -> None:
        """Take answers from `means`, and report those given without the user to `front`.

        `snapshot` looks up jobs; `ruled` is the window's rule for a question that the answer file
        does not answer.
        """
        self._questions = questions
        self._snapshot = snapshot
        self._ruled = ruled
        self._front = front
        self._answers = means.answers
        self._dialogue = means.dialogue
        self._seen: set[int] = set()
        self._queue: collections.deque[Question] = collections.deque()
        self._changed = anyio.Event()
        self._turn_added = anyio.Event()
        self._prompt = _Prompt()
        self._is_stopped = False

    def on_update(self, update: Update) -> None:
        """Look for new questions, and end the prompt if its question no longer needs an answer."""
        if not update.questions:
            return
        self._changed.set()
        for question in map(self._questions.find, sorted(update.questions)):
            if question is not None and is_reported_rule(question):
                self._report_ruled(question)
        asked = self._prompt.question
        if asked is not None and asked.id in update.questions and not self._is_open(asked):
            self._prompt.scope.cancel()

    async def run(self) -> None:
        self._prompt.loop = asyncio.get_running_loop()
        async with anyio.create_task_group() as group:
            group.start_soon(self._ask_in_turn)
            while True:
                for question in self._questions.open():
                    if question.id not in self._seen:
                        self._seen.add(question.id)
                        self._consider(question)
                await self._changed.wait()
                self._changed = anyio.Event()

    def interrupt(self) -> bool:
        """Cancel the question at the prompt; False when there is none. For a signal handler."""
        return self._prompt.interrupt()

    def stop(self) -> None:
        """Stop asking: cancel open questions and those that follow."""
        self._is_stopped = True
        self._prompt.interrupt()
        while self._queue:
            self._dismiss(self._queue.popleft())

    def report_unused(self) -> None:
        unused = [] if self._answers is None else self._answers.unused()
        if self._answers is not None and unused:
            what = "Some answers matched no question"
            hint = "An answer is used only if its kind, message, fields and key all match."
            self._front.warn(ErrorDetails(what, self._answers.name, hint, ", ".join(unused)))

    def _consider(self, question: Question) -> None:
        if self._is_stopped:
            self._dismiss(question)
        elif not self._answered_by_file(question) and not self._answered_by_rule(question):
            self._pass_on(question)

    def _answered_by_rule(self, question: Question) -> bool:
        """Answer by a rule unless the user may answer first; returns whether it succeeded."""
        found = self._ruled(question)
        if found is None or (found.delay_s and self._dialogue is not None):
            return False
        if self._give(question, found.answer) is not None:
            return False
        self._report(question, found.answer, _RULE)
        return True

    def _report_ruled(self, question: Question) -> None:
        found = self._ruled(question)
        if found is not None:
            self._report(question, found.answer, _RULE)

    def _answered_by_file(self, question: Question) -> bool:
        found = None if self._answers is None else self._answers.take(question)
        if self._answers is None or found is None:
            return False
        where = f"{self._answers.name}, {found.path}"
        error = self._give(question, found.answer)
        if error is None:
            self._report(question, found.answer, f"by {where}")
            return True
        if not self._is_open(question):
            return True
        what = "An answer from the file does not fit its question"
        self._front.warn(ErrorDetails(what, where, detail=error.detail or error.what))
        reasons = "; ".join((error.detail or error.what).splitlines())
        self._pass_on(question, f"the answer in {where} does not fit: {reasons}")
        return True

    def _pass_on(self, question: Question, why: str = "") -> None:
        """Queue the question for the user or, without a terminal, decline it."""
        if self._dialogue is not None:
            self._queue.append(question)
            self._turn_added.set()
        else:
            self._decline(question, why or self._no_answer(question))

    def _no_answer(self, question: Question) -> str:
        if self._answers is None:
            return _NOBODY
        missing = self._answers.missing(question)
        names = f": its fields lack {', '.join(missing)}" if missing else ""
        return f"no matching answer in {self._answers.name}{names}"

    def _decline(self, question: Question, why: str) -> None:
        answer = refusal(question.kind)
        if self._give(question, answer) is None:
            self._report(question, answer, why)

    def _dismiss(self, question: Question) -> None:
        answer = dismissal(question.kind)
        if self._give(question, answer) is None:
            self._report(question, answer, "together with the call")

    def _give(self, question: Question, answer: Answer) -> ErrorDetails | None:
        """Answer a question; returns the error if the answer is invalid."""
        try:
            unchecked = self._questions.answer(question.id, answer)
        except UserError as error:
            return error.details
        if unchecked:
            what = "The answer was sent, but could not be fully validated"
            self._front.warn(ErrorDetails(what, question.server, detail="\n".join(unchecked)))
        return None

    def _report(self, question: Question, answer: Answer, text: str) -> None:
        self._front.report_answer(question, action_of(answer), text)

    def _is_open(self, question: Question) -> bool:
        return any(other.id == question.id for other in self._questions.open())

    # At the terminal

    async def _ask_in_turn(self) -> None:
        while True:
            await self._turn_added.wait()
            self._turn_added = anyio.Event()
            while self._queue:
                question = self._queue.popleft()
                if self._dialogue is not None and self._is_open(question):
                    with self._front.quiet():
                        await self._ask(question, self._dialogue)

    async def _ask(self, question: Question, dialogue: Dialogue) -> None:
        """Ask until there is a valid answer or the server no longer needs one."""
        earlier: JsonObject = {}
        while self._is_open(question):
            answer = await self._ask_once(question, dialogue, earlier)
            if answer is None:
                dialogue.break_off("The server no longer needs an answer.")
                return
            error = self._give(question, answer)
            if error is None:
                return
            dialogue.say(error.as_text())
            earlier = answer.content if isinstance(answer, Accept) else {}

    async def _ask_once(
        self, question: Question, dialogue: Dialogue, earlier: JsonObject
    ) -> Answer | None:
        """The user's answer; None if the server no longer needs one."""
        from mcp_progress_monitor.cli.asking.prompts import prompt  # late: most servers never ask

        answer: Answer | None = None
        try:
            with self._prompt.begin(question) as scope:
                answer = await prompt(question, dialogue, self._call_name(question), earlier)
        except HungUpError:
            dialogue.say("Cancelled: end of input.")
            return dismissal(question.kind)
        finally:
            was_interrupted = self._prompt.end()
        if scope.cancelled_caught and was_interrupted:
            hint = "" if self._is_stopped else " Press Ctrl+C again to cancel the call."
            dialogue.break_off(f"Cancelled the question.{hint}")
            return dismissal(question.kind)
        return answer

    def _call_name(self, question: Question) -> str:
        """The name of the tool or other target of the question's call, if known."""
        job = None if question.job is None else self._snapshot(question.job)
        if job is not None and job.parent is not None:
            job = self._snapshot(job.parent)
        return "" if job is None or job.method == question.method else one_line(job.name, _NAME)


class _Prompt:
    """The question being asked on the terminal, which a signal handler may cancel."""

    def __init__(self) -> None:
        self.question: Question | None = None
        self.scope = anyio.CancelScope()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._is_interrupted = False

    def begin(self, question: Question) -> anyio.CancelScope:
        self.question, self._is_interrupted = question, False
        self.scope = anyio.CancelScope()
        return self.scope

    def end(self) -> bool:
        self.question = None
        return self._is_interrupted

    def interrupt(self) -> bool:
        if self.question is None or self._is_interrupted or self.loop is None:
            return False
        self._is_interrupted = True
        self.loop.call_soon_threadsafe(self.scope.cancel)
        return True


def is_reported_rule(question: Question) -> bool:
    """Return whether a rule has answered a question; requests for roots are not worth reporting."""
    return question.ended == BY_RULE and question.kind != "roots"


def dismissal(kind: Kind) -> Answer:
    return Dismiss() if kind in {"form", "url"} else refusal(kind)


def action_of(answer: Answer) -> str:
    """The action of an answer, as in JSON events."""
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
