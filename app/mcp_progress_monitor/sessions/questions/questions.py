"""Open questions from servers, until each is answered or withdrawn; their progress."""

from __future__ import annotations

import collections
import enum
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.messages import PROGRESS_TOKEN
from mcp_progress_monitor.sessions.questions.answers import check_answer
from mcp_progress_monitor.snapshots.questions import BY_RULE, Answer, Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.connection.clocks import Hold

_MOST_A_SECOND: Final = 10
_WINDOW_S: Final = 1.0


class AnswerPhase(enum.Enum):
    """The phase of answering a question."""

    SHOWING = enum.auto()
    WAITING = enum.auto()
    CHECKING = enum.auto()
    DONE = enum.auto()


_SAMPLING: Final = {
    AnswerPhase.WAITING: "Awaiting approval",
    AnswerPhase.CHECKING: "Processing",
    AnswerPhase.DONE: "Done",
}
_ELICITATION: Final = {
    AnswerPhase.SHOWING: "Displaying form",
    AnswerPhase.WAITING: "Awaiting input",
    AnswerPhase.CHECKING: "Validating",
    AnswerPhase.DONE: "Done",
}
_TEXTS: Final = {"sampling": _SAMPLING, "form": _ELICITATION, "url": _ELICITATION}


class AnswerProgress:
    """The phases of one question, as progress notifications.

    Time is passed in. Values increase in any order: an invalid answer leads back to waiting, each
    step of which covers half of the remaining distance. At most ten a second are sent, one of which
    is reserved for the end; the others are dropped, since a later one says more.
    """

    def __init__(self, token: object, kind: str) -> None:
        """Report a question of `kind` under `token`; nothing without a token."""
        is_token = isinstance(token, str | int) and not isinstance(token, bool)
        self._token = token
        self._text = _TEXTS.get(kind, {}) if is_token else {}
        self._order = list(self._text)
        self._last = 0.0
        self._sent: collections.deque[float] = collections.deque(maxlen=_MOST_A_SECOND)
        self._is_over = False

    def enter(self, phase: AnswerPhase, at: float) -> JsonObject | None:
        """The notification's parameters for `phase`; None if none is due."""
        text = self._text.get(phase)
        if text is None or self._is_over or not self._has_room(phase, at):
            return None
        value = self._value(phase)
        if not self._last < value:
            return None
        self._last = value
        self._is_over = phase is AnswerPhase.DONE
        self._sent.append(at)
        return {
            PROGRESS_TOKEN: self._token,
            "progress": int(value) if value.is_integer() else value,
            "total": len(self._order),
            "message": text,
        }

    def end(self) -> None:
        """Report nothing more: the reply was sent, or none is due."""
        self._is_over = True

    def _value(self, phase: AnswerPhase) -> float:
        nominal = float(self._order.index(phase) + 1)
        total = float(len(self._order))
        return nominal if nominal > self._last else self._last + (total - self._last) / 2

    def _has_room(self, phase: AnswerPhase, at: float) -> bool:
        recent = sum(1 for sent in self._sent if at - sent < _WINDOW_S)
        return recent < _MOST_A_SECOND - (phase is not AnswerPhase.DONE)


_ENDED_KEPT: Final = 200


class Pending:
    """An open question, as seen by the task that waits for its answer."""

    def __init__(self, question: Question, on_phase: Callable[[AnswerPhase], None]) -> None:
        """Begin to wait; `on_phase` is called when an answer is checked or rejected."""
        self.question = question
        self.on_phase = on_phase
        self.answer: Answer | None = None  # the answer; None also if none is needed
        self._over = anyio.Event()

    @property
    def is_open(self) -> bool:
        return not self._over.is_set()

    async def answered(self) -> Answer | None:
        await self._over.wait()
        return self.answer

    def settle(self, answer: Answer | None) -> None:
        self.answer = answer
        self._over.set()


class Questions:
    """All open questions of all servers, and the newest closed ones."""

    def __init__(
        self, on_change: Callable[[frozenset[int]], None], hold: Callable[[Question], Hold]
    ) -> None:
        """`on_change` receives the ids of questions that opened, closed or changed.

        While one is open, the clocks that `hold` finds for it are held.
        """
        self._on_change = on_change
        self._hold = hold
        self._newest = 0
        self._open: dict[int, Pending] = {}
        self._holds: dict[int, Hold] = {}
        self._ended: collections.OrderedDict[int, Question] = collections.OrderedDict()

    def open(self) -> tuple[Question, ...]:
        return tuple(pending.question for pending in self._open.values())

    def find(self, question: int) -> Question | None:
        pending = self._open.get(question)
        return self._ended.get(question) if pending is None else pending.question

    def next_id(self) -> int:
        self._newest += 1
        return self._newest

    def ask(self, pending: Pending) -> None:
        identity = pending.question.id
        self._open[identity] = pending
        self._holds[identity] = self._hold(pending.question)
        self._on_change(frozenset({identity}))

    def note_ruled(self, question: Question) -> None:
        """Report a question that a rule has answered without asking the user."""
        self._keep(question._replace(ended=BY_RULE))
        self._on_change(frozenset({question.id}))

    def answer(self, question: int, answer: Answer, why: str = "answered") -> tuple[str, ...]:
        """Answer an open question; `why` says how it ended.

        Returns what of the answer could not be checked; empty if everything was.

        Raises:
            UserError: the question is not open, or the answer does not fit it: each violation
                has the
                path of its field. The question then stays open.
        """
        pending = self._open.get(question)
        if pending is None:
            raise UserError(self._gone(question))
        pending.on_phase(AnswerPhase.CHECKING)
        found, unchecked = check_answer(pending.question, answer)
        if found:
            pending.on_phase(AnswerPhase.WAITING)
            what = "The answer does not match the question"
            hint = "Correct the answer, or decline the question."
            raise UserError(ErrorDetails(what, pending.question.server, hint, "\n".join(found)))
        self._end(pending, why, answer)
        return unchecked

    def withdraw(self, question: int, why: str) -> None:
        """End a question that no longer needs an answer; nothing if it has ended."""
        pending = self._open.get(question)
        if pending is not None:
            self._end(pending, why, None)

    def complete(self, connection: str, elicitation: str) -> None:
        """Record that the server reported the completion of a URL question."""
        everyone = [*self._ended.values(), *(pending.question for pending in self._open.values())]
        found = [
            each
            for each in everyone
            if (each.connection, each.kind) == (connection, "url")
            and each.params.get("elicitationId") == elicitation
        ]
        for question in found:
            self._replace(question._replace(is_complete=True))
        if found:
            self._on_change(frozenset(question.id for question in found))

    def _replace(self, question: Question) -> None:
        if question.id in self._open:
            self._open[question.id].question = question
        else:
            self._ended[question.id] = question

    def _end(self, pending: Pending, why: str, answer: Answer | None) -> None:
        question = pending.question._replace(ended=why)
        del self._open[question.id]
        self._holds.pop(question.id).release()
        self._keep(question)
        pending.settle(answer)
        self._on_change(frozenset({question.id}))

    def _keep(self, question: Question) -> None:
        self._ended[question.id] = question
        if len(self._ended) > _ENDED_KEPT:
            self._ended.popitem(last=False)

    def _gone(self, question: int) -> ErrorDetails:
        ended = self._ended.get(question)
        if ended is None:
            return ErrorDetails("Question not found", f"question {question}")
        return ErrorDetails(f"The question is no longer open: {ended.ended}", ended.server)
