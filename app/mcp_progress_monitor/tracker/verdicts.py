"""What the end of an attempt means for a job that can be resumed, or for its becoming one.

Source: the resume draft, and the project's decisions on it: a usable token on a success makes the
job resumable; a reply without the key completes it; -32602 refuses the token; any other end keeps
the last token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

from mcp_progress_monitor.protocol.tasks import live_task
from mcp_progress_monitor.tracker import marks
from mcp_progress_monitor.tracker.endings import Ending
from mcp_progress_monitor.tracker.snapshot import Failure, JobState

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import RequestAnswered

INVALID_PARAMS: Final = -32602
"""The JSON-RPC code with which a server refuses a resume token."""

REFUSED: Final = "refused"
INTERRUPTED: Final = "interrupted"
"""Outcomes of attempts for which there is no state of a job."""

_UNUSABLE: Final = (
    "The server's new resume token is not a string with content, so that it cannot be sent. "
    "The one before is kept."
)
_TASK: Final = "The server made a task of the request, which is not gone on with by itself"


class Verdict(NamedTuple):
    """How an attempt ended, and what that makes of its job.

    `ending` is the job's, `outcome` the attempt's alone. `token` is a new one to go on with;
    `is_complete` means that the chain is over and its tokens have expired. `is_by_hand` means that
    the result asks for something else first: it is never resumed automatically.
    """

    ending: Ending
    outcome: JobState | str
    token: str | None = None
    is_complete: bool = False
    is_by_hand: bool = False


def is_usable(token: Any) -> TypeGuard[str]:
    """Whether a server's `nextResumeToken` can be sent back: a string with content."""
    return isinstance(token, str) and bool(token)


def of_answer(answer: RequestAnswered, plain: Ending, *, in_chain: bool) -> Verdict | None:
    """What a reply means; `plain` is its ending if there were no resuming.

    `in_chain` says that the job has a token already. None when no chain is concerned.
    """
    if answer.error is not None or (answer.result or {}).get("isError") is True:
        return _of_error(answer, plain) if in_chain else None
    token = answer.next_resume_token
    if is_usable(token):
        return _resumable(answer, plain, token)
    if not in_chain:
        return None
    if token is None:
        return Verdict(plain, plain.state, is_complete=True)
    return stopped(Ending(JobState.FAILED, Failure("local", _UNUSABLE)))


def stopped(plain: Ending) -> Verdict:
    """An attempt that ended without a reply to go on from: the last token stays usable."""
    return Verdict(plain._replace(state=JobState.RESUMABLE), plain.state)


def _of_error(answer: RequestAnswered, plain: Ending) -> Verdict:
    code = None if plain.failure is None else plain.failure.code
    if answer.error is not None and plain.state is JobState.FAILED and code == INVALID_PARAMS:
        return Verdict(plain, REFUSED)
    if answer.error is None and answer.next_resume_token is None:
        return Verdict(plain, plain.state, is_complete=True)
    return stopped(plain)


def _resumable(answer: RequestAnswered, plain: Ending, token: str) -> Verdict:
    if plain.mark is None and live_task(answer.result or {}) is not None:
        plain = Ending(plain.state, Failure("local", _TASK), marks.UNFINISHED)
    is_by_hand = plain.mark == marks.UNFINISHED
    ending = plain._replace(state=JobState.RESUMABLE)
    return Verdict(ending, JobState.RESUMABLE, token, is_by_hand=is_by_hand)
