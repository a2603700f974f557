"""How a job ends: what a reply, a lost connection or a time limit makes of it, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.protocol.facts import (
    CallEnded,
    ConnectionClosed,
    JsonObject,
    RequestAnswered,
    Side,
)
from mcp_progress_monitor.protocol.task_state import TaskStatus
from mcp_progress_monitor.tracker import marks
from mcp_progress_monitor.tracker.snapshot import Failure, JobState

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.task import Task

WORDS_LIMIT: Final = 2000
"""Most characters of a server's words that a failure carries; the answer keeps the whole."""

LONGEST_WAY_S: Final = 5.0
"""Seconds that we may have heard of a task after its server began to count its time to live."""

_NO_QUESTIONS: Final = re.compile(
    r"server-to-client requests? (?:is|are) not available"
    r"|server-initiated requests? (?:is|are) unavailable"
    r"|no back-channel for server-initiated requests",
    re.IGNORECASE,
)
"""How servers of 2026-07-28 refuse what their own code asks the client: the TypeScript SDK, FastMCP
4, the Python SDK 2."""


class Ending(NamedTuple):
    """A job's last state, why it failed, and a mark's key if the reply itself is irregular."""

    state: JobState
    failure: Failure | None = None
    mark: str | None = None


def of_answer(answer: RequestAnswered) -> Ending:
    """What a reply to an open request that nobody gave up makes of its job."""
    if answer.error is not None:
        return _failed(failure_of_error(answer.sender, answer.error))
    result = answer.result or {}
    if result.get("isError") is True:
        # A tool that reports its own error does as it should: a failure, nothing irregular.
        return _failed(Failure("server", _words_of_tool(result)))
    kind = result.get("resultType", "complete")
    if kind != "complete":
        words = (
            f"The server did not finish: its result is of type {text.one_line(str(kind), 60)!r}, "
            "which asks for a further step. The whole result is kept with the job."
        )
        return Ending(JobState.FAILED, Failure("local", words), marks.UNFINISHED)
    return Ending(JobState.DONE)


def _failed(failure: Failure) -> Ending:
    """The end of a job in its server's words, with a mark where these call for advice."""
    is_question = failure.where == "server" and _NO_QUESTIONS.search(failure.message)
    return Ending(JobState.FAILED, failure, marks.NO_QUESTIONS if is_question else None)


def failure_of_error(sender: Side, error: JsonObject) -> Failure:
    """A JSON-RPC error in its sender's words, with its code where that is an integer."""
    message, code = error.get("message"), error.get("code")
    is_code = isinstance(code, int) and not isinstance(code, bool)
    words = message if isinstance(message, str) and message else "An error without a message"
    where = "server" if sender is Side.SERVER else "local"
    shown = text.elide(words, WORDS_LIMIT)
    return Failure(where, shown, code if is_code else None, error.get("data"))


def _words_of_tool(result: JsonObject) -> str:
    """The text blocks of a tool's error result; what to look at when there are none."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    words = "\n".join(block for block in map(_text_of_block, blocks) if block)
    return text.elide(words, WORDS_LIMIT) or "The tool reported an error without words"


def _text_of_block(block: Any) -> str:
    """The text of one content block, empty for other kinds."""
    words = block.get("text") if isinstance(block, dict) else None
    return words[: WORDS_LIMIT + 1] if isinstance(words, str) else ""


def of_close(closed: ConnectionClosed, task: Task | None = None) -> Ending:
    """What the end of its connection makes of a job that waits for a reply, or of its `task`."""
    left = "" if task is None else f". {_left_behind(task, closed.at)}"
    left += f". {closed.outlook}" if closed.outlook else ""
    if closed.is_wanted:
        missing = "the reply had not come yet" if task is None else "its task was not over yet"
        words = f"{closed.reason or 'The connection was closed'}; {missing}{left}"
        return Ending(JobState.LOST, Failure("local", words, is_wanted=True))
    code = "" if closed.exit_code is None else f" (exit code {closed.exit_code})"
    reason = f": {closed.reason}" if closed.reason else ""
    missing = "the reply" if task is None else "its task was over"
    words = f"The connection ended before {missing}{reason}{code}{left}"
    return Ending(JobState.LOST, Failure("local", words))


def _left_behind(task: Task, now: float) -> str:
    """What may become of a task that nobody hears of any more."""
    name = text.one_line(task.id, 60)
    expires_at = task.expires_at
    if expires_at is None:
        return f"The task {name} may still run at the server, which tells no limit to its keeping"
    left_s = expires_at - now
    if left_s <= 0:
        return f"The task {name} may still run at the server, though its time to live is over"
    until = text.duration(left_s)
    return f"The task {name} may still run at the server, until its time to live is over ({until})"


def of_task(task: Task, reason: str | None) -> Ending:
    """What its task's terminal status makes of a job, where its result tells no more.

    `reason` is why the user cancelled, None if that was not done.
    """
    if task.status == TaskStatus.COMPLETED:
        return Ending(JobState.DONE)
    words = text.elide(task.message or "", WORDS_LIMIT)
    if task.status == TaskStatus.CANCELLED:
        where = "local" if reason is not None else "server"
        return Ending(JobState.CANCELLED, Failure(where, words or reason or "Cancelled"))
    return _failed(Failure("server", words or "The task failed without a message"))


def of_forgotten_task(task: Task, error: JsonObject, at: float, asked_at: float) -> Ending:
    """What it makes of a job that its server does not know its task any more.

    The task was asked for at `asked_at`, and its server counts from somewhere between that and the
    moment at which we heard of it.
    """
    failure = failure_of_error(Side.SERVER, error)
    expires_at = task.expires_at
    heard_late_s = min(max((task.began_at or asked_at) - asked_at, 0.0), LONGEST_WAY_S)
    if expires_at is None or at < expires_at - heard_late_s:
        return Ending(JobState.FAILED, failure)
    words = f"The task's time to live is over, and the server has forgotten it: {failure.message}"
    return Ending(JobState.LOST, failure._replace(message=words))


def of_expired_task() -> Ending:
    """What it makes of a job that nobody asked for its task until that may be forgotten."""
    words = "The task's time to live is over: the server need not know it any more"
    return Ending(JobState.LOST, Failure("local", words))


def of_silence(task: Task | None, reason: str | None) -> Ending:
    """What no answer to a cancel makes of a job: it is confirmed, though a task may still run."""
    if task is None:
        return of_cancel(None, reason)
    words = f"{reason or 'Cancelled'}; the server did not answer, and the task may still run"
    return Ending(JobState.CANCELLED, Failure("local", words))


def of_call_ended(fact: CallEnded) -> Ending:
    """What it makes of a job that this side goes on with it no more."""
    state = _OUTCOMES.get(fact.outcome, JobState.FAILED)
    return Ending(state, Failure("local", fact.text or state.value))


_OUTCOMES: Final = {
    "lost": JobState.LOST,
    "failed": JobState.FAILED,
    "cancelled": JobState.CANCELLED,
    "timed_out": JobState.TIMED_OUT,
}


def of_timeout(words: str) -> Ending:
    """What running out of time makes of a job; `words` say what was outstanding and since when."""
    return Ending(JobState.TIMED_OUT, Failure("local", words))


def of_cancel(answer: RequestAnswered | None, reason: str | None) -> Ending:
    """What a cancel makes of a job, once a reply confirmed it or silence had lasted long enough."""
    if answer is not None and answer.error is not None:
        return Ending(JobState.CANCELLED, failure_of_error(answer.sender, answer.error))
    mark = None if answer is None else marks.LATE_RESULT
    return Ending(JobState.CANCELLED, Failure("local", reason or "Cancelled"), mark)
