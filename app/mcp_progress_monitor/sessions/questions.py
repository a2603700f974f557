"""What servers ask the user: each open question until it is answered, or needs no answer.

Servers of the handshake era ask by requests of their own, those of 2026-07-28 by results that
require input. Both are a `Question` here. What they ask is untrusted plain text.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.answers import (
    Accept,
    Answer,
    Decline,
    Dismiss,
    Refused,
    Sampled,
    check_answer,
)
from mcp_progress_monitor.sessions.phases import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.call_clock import Hold
    from mcp_progress_monitor.tracker.snapshot import JobId

__all__ = [
    "Accept",
    "Answer",
    "Decline",
    "Dismiss",
    "Kind",
    "Pending",
    "Question",
    "Questions",
    "Refused",
    "Sampled",
]

Kind: TypeAlias = Literal["sampling", "form", "url", "roots"]
"""What is asked for: a model's answer, a form filled in, a page visited, the list of roots."""

BY_RULE: Final = "answered by its rule"
"""Why a question is over that a rule has answered, at once or after waiting for the user."""
_ENDED_KEPT: Final = 200


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """One thing that a server asks.

    `request` is the number of the frame that asks: the server's request, or in 2026-07-28 the reply
    that requires input, or states a task that does; then `key` names the question in it. `job` is
    the job that this frame belongs to: a job of the server's own, or the call that goes on.
    `params` are as received. `schema` is what the content of a form has to fit, None where the
    server gave none that could be one. `problem` says what is wrong with the question itself, empty
    when nothing is: it may be answered all the same, with any JSON object for a form.

    `is_complete`: the server says that the user has done on the page what was to be done there.
    `ended` says why the question is not open any more, empty while it is.
    """

    id: int
    server: str
    connection: str
    request: int
    key: str | None
    method: str
    kind: Kind
    message: str
    schema: JsonObject | None
    url: str | None
    params: JsonObject
    job: JobId | None
    asked_at: float
    asked_when: float
    problem: str = ""
    is_complete: bool = False
    ended: str = ""


class Pending:
    """An open question, for whoever waits for its answer."""

    def __init__(self, question: Question, on_phase: Callable[[Phase], None]) -> None:
        """Begin to wait; `on_phase` is told when an answer is checked, and when it was refused."""
        self.question = question
        self.on_phase = on_phase
        self.answer: Answer | None = None
        """What was answered, None also when nothing is to be."""
        self._over = anyio.Event()

    @property
    def is_open(self) -> bool:
        """Whether the question can be answered."""
        return not self._over.is_set()

    async def answered(self) -> Answer | None:
        """Wait for the answer; None when the question needs none any more."""
        await self._over.wait()
        return self.answer

    def settle(self, answer: Answer | None) -> None:
        """End the wait."""
        self.answer = answer
        self._over.set()


class Questions:
    """All questions that are open, of all servers, and the newest of those that were."""

    def __init__(
        self,
        on_change: Callable[[frozenset[int]], None],
        hold: Callable[[Question], Hold],
    ) -> None:
        """Call `on_change` with the ids of questions that came, went or changed.

        While one is open, the clocks that `hold` finds for it stand still.
        """
        self._on_change = on_change
        self._hold = hold
        self._newest = 0
        self._open: dict[int, Pending] = {}
        self._holds: dict[int, Hold] = {}
        self._ended: collections.OrderedDict[int, Question] = collections.OrderedDict()

    def open(self) -> tuple[Question, ...]:
        """Those that wait for an answer, oldest first."""
        return tuple(pending.question for pending in self._open.values())

    def find(self, question: int) -> Question | None:
        """One by its id, open or not; None when there is none, or no more."""
        pending = self._open.get(question)
        return self._ended.get(question) if pending is None else pending.question

    def next_id(self) -> int:
        """An id that no question had."""
        self._newest += 1
        return self._newest

    def ask(self, pending: Pending) -> None:
        """Take a question in, and tell of it."""
        identity = pending.question.id
        self._open[identity] = pending
        self._holds[identity] = self._hold(pending.question)
        self._on_change(frozenset({identity}))

    def note_ruled(self, question: Question) -> None:
        """Tell of a question that its rule has answered, so that nobody was ever asked."""
        self._keep(dataclasses.replace(question, ended=BY_RULE))
        self._on_change(frozenset({question.id}))

    def answer(self, question: int, answer: Answer, why: str = "answered") -> tuple[str, ...]:
        """Answer an open question; it has ended because of `why`.

        Returns what of the answer could not be checked, empty when everything was.

        Raises:
            ProblemError: the question is not open (any more), or the answer does not fit it: each
                misfit has the path of its field. The question then stays open.
        """
        pending = self._open.get(question)
        if pending is None:
            raise ProblemError(self._gone(question))
        pending.on_phase(Phase.CHECKING)
        found, unchecked = check_answer(pending.question, answer)
        if found:
            pending.on_phase(Phase.WAITING)
            what = "The answer does not fit the question"
            hint = "Correct what is named, or decline the question."
            raise ProblemError(Problem(what, pending.question.server, hint, "\n".join(found)))
        self._end(pending, why, answer)
        return unchecked

    def withdraw(self, question: int, why: str) -> None:
        """End a question that needs no answer any more; nothing if it is over."""
        pending = self._open.get(question)
        if pending is not None:
            self._end(pending, why, None)

    def complete(self, connection: str, elicitation: str) -> None:
        """Note that the user has done what a page was to be visited for."""
        everyone = [*self._ended.values(), *(pending.question for pending in self._open.values())]
        found = [
            each
            for each in everyone
            if (each.connection, each.kind) == (connection, "url")
            and each.params.get("elicitationId") == elicitation
        ]
        for question in found:
            self._replace(dataclasses.replace(question, is_complete=True))
        if found:
            self._on_change(frozenset(question.id for question in found))

    def _replace(self, question: Question) -> None:
        if question.id in self._open:
            self._open[question.id].question = question
        else:
            self._ended[question.id] = question

    def _end(self, pending: Pending, why: str, answer: Answer | None) -> None:
        question = dataclasses.replace(pending.question, ended=why)
        del self._open[question.id]
        self._holds.pop(question.id).release()
        self._keep(question)
        pending.settle(answer)
        self._on_change(frozenset({question.id}))

    def _keep(self, question: Question) -> None:
        self._ended[question.id] = question
        if len(self._ended) > _ENDED_KEPT:
            self._ended.popitem(last=False)

    def _gone(self, question: int) -> Problem:
        ended = self._ended.get(question)
        if ended is None:
            return Problem("There is no such question", f"question {question}")
        return Problem(f"The question is not open any more: {ended.ended}", ended.server)
