"""What breaks a rule in a message, in words, for the place in the log where it happened.

A job's `Marks` say what it met with over its whole life; here each message speaks for itself, and
so do those that belong to no job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    OutputChecked,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    Standing,
    TaskStated,
    UnreadableReceived,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import Fact

_OF_TICK: Final = {
    Standing.ANSWERED: "Progress came after the request was answered",
    Standing.CANCELLED: "Progress came after the request was cancelled",
    Standing.UNKNOWN: "The progress token belongs to no request",
    Standing.IN_BATCH: "Progress came behind the reply, in the same batch",
    Standing.ELSEWHERE: "Progress came after the reply, in another HTTP response",
    Standing.GIVEN_UP: "Progress came after this side had ended the request",
}
_OF_CANCEL: Final = {
    Standing.ANSWERED: "The request had been answered when it was cancelled",
    Standing.CANCELLED: "The request had been cancelled before",
    Standing.UNKNOWN: "The cancelled request is not known",
    Standing.GIVEN_UP: "This side had ended the request when it was cancelled",
}


def irregularities(fact: Fact) -> str:
    """What is wrong with `fact` as far as it tells itself; empty when nothing is."""
    reader = _READERS.get(type(fact))
    return "" if reader is None else reader(fact)


def _of_message(fact: RequestMade | NotificationReceived | TaskStated) -> str:
    return "; ".join(fact.problems)


def _of_progress(fact: ProgressReceived) -> str:
    return _joined(_OF_TICK.get(fact.standing, ""), fact.problems)


def _of_cancel(fact: RequestCancelled) -> str:
    return _joined(_OF_CANCEL.get(fact.standing, ""), fact.problems)


def _of_answer(fact: RequestAnswered) -> str:
    """An error in reply to a cancelled request confirms the cancel: nothing is wrong with it."""
    words = ""
    if fact.standing is Standing.UNKNOWN and not fact.problems:
        words = "The reply is to no request that is known"
    elif fact.standing is Standing.ANSWERED:
        words = "A further reply came to a request that was already answered"
    elif fact.standing is Standing.CANCELLED and fact.error is None:
        words = "The result came after the request was cancelled"
    elif fact.standing is Standing.GIVEN_UP:
        words = "The reply came after this side had ended the request"
    return _joined(words, fact.problems)


def _of_unreadable(fact: UnreadableReceived) -> str:
    return fact.problem


def _of_output(fact: OutputChecked) -> str:
    return "; ".join(fact.problems)


def _joined(words: str, problems: tuple[str, ...]) -> str:
    return "; ".join((words, *problems)) if words else "; ".join(problems)


_READERS: Final[dict[type, Callable[[Any], str]]] = {
    RequestMade: _of_message,
    NotificationReceived: _of_message,
    TaskStated: _of_message,
    ProgressReceived: _of_progress,
    RequestCancelled: _of_cancel,
    RequestAnswered: _of_answer,
    UnreadableReceived: _of_unreadable,
    OutputChecked: _of_output,
}
