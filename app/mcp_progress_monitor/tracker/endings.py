"""How a job ends: what a reply, a lost connection or a time limit means for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import (
    CallEnded,
    ConnectionClosed,
    JsonObject,
    RequestAnswered,
    Side,
)
from mcp_progress_monitor.protocol.messages import TaskStatus
from mcp_progress_monitor.tracker.snapshot import Failure, JobState

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.job_parts import JobTask

TEXT_LIMIT: Final = 2000
"""Most characters of a server's message in a failure; the answer has all of it."""

LONGEST_WAY_S: Final = 5.0
"""Seconds within which we learn of a task after its server began to count its time to live."""

_NO_QUESTIONS: Final = re.compile(
    r"server-to-client requests? (?:is|are) not available"
    r"|server-initiated requests? (?:is|are) unavailable"
    r"|no back-channel for server-initiated requests",
    re.IGNORECASE,
)
"""How servers of 2026-07-28 refuse requests that their own code sends.

These are the TypeScript SDK, FastMCP 4 and the Python SDK 2.
"""


class JobEnding(NamedTuple):
    """A job's last state, why it failed, and the violations of the reply itself."""

    state: JobState
    failure: Failure | None = None
    finding: Finding | None = None


def of_answer(answer: RequestAnswered) -> JobEnding:
    if answer.error is not None:
        return _failed(failure_of_error(answer.sender, answer.error))
    result = answer.result or {}
    if result.get("isError") is True:
        # A tool that reports its own error is correct: a failure, not a violation.
        return _failed(Failure("server", _text_of_tool(result)))
    kind = result.get("resultType", "complete")
    if kind != "complete":
        text = (
            "The server did not finish: its result has the type "
            f"{formatting.one_line(str(kind), 60)!r}, which requires a further step. The whole "
            "result is kept with the job."
        )
        return JobEnding(
            JobState.FAILED, Failure("local", text), Finding(rules.UNFINISHED, (text,))
        )
    return JobEnding(JobState.DONE)


def _failed(failure: Failure) -> JobEnding:
    """The end of a job in its server's words, with a finding if these call for advice."""
    is_question = failure.where == "server" and _NO_QUESTIONS.search(failure.message)
    return JobEnding(JobState.FAILED, failure, Finding(rules.SERVER_ASKS) if is_question else None)


def failure_of_error(sender: Side, error: JsonObject) -> Failure:
    """A JSON-RPC error in its sender's words, with its code if that is an integer."""
    message, code = error.get("message"), error.get("code")
    is_code = isinstance(code, int) and not isinstance(code, bool)
    text = message if isinstance(message, str) and message else "Error without a message"
    where = "server" if sender is Side.SERVER else "local"
    shown = formatting.elide(text, TEXT_LIMIT)
    return Failure(where, shown, code if is_code else None, error.get("data"))


def _text_of_tool(result: JsonObject) -> str:
    """The text blocks of a tool's error result; a default if there are none."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    text = "\n".join(block for block in map(_text_of_block, blocks) if block)
    return formatting.elide(text, TEXT_LIMIT) or "The tool reported an error without a message"


def _text_of_block(block: Any) -> str:
    """The text of one content block; empty for other kinds."""
    text = block.get("text") if isinstance(block, dict) else None
    return text[: TEXT_LIMIT + 1] if isinstance(text, str) else ""


BEFORE_REPLY: Final = "The connection ended before the reply"


def of_close(closed: ConnectionClosed, task: JobTask | None = None) -> JobEnding:
    """Return how a closed connection ends a job that waits for a reply, or its `task`."""
    left = "" if task is None else f". {_left_behind(task, closed.at)}"
    left += f". {closed.outlook}" if closed.outlook else ""
    if closed.is_wanted:
        missing = "the reply had not arrived" if task is None else "its task had not finished"
        text = f"{closed.reason or 'The connection was closed'}; {missing}{left}"
        return JobEnding(
            JobState.LOST, Failure("local", text, is_wanted=True, outlook=closed.outlook)
        )
    code = "" if closed.exit_code is None else f" (exit code {closed.exit_code})"
    reason = f": {closed.reason}" if closed.reason else ""
    missing = BEFORE_REPLY if task is None else "The connection ended before its task was finished"
    text = f"{missing}{reason}{code}{left}"
    return JobEnding(JobState.LOST, Failure("local", text, outlook=closed.outlook))


def _left_behind(task: JobTask, now: float) -> str:
    """Say what may happen to a task that is no longer followed."""
    name = formatting.one_line(task.id, 60)
    expires_at = task.expires_at
    if expires_at is None:
        return f"The task {name} may still be running on the server, which gave no time to live"
    left_s = expires_at - now
    if left_s <= 0:
        return (
            f"The task {name} may still be running on the server, although its time to live has "
            "expired"
        )
    until = formatting.duration(left_s)
    return (
        f"The task {name} may still be running on the server until its time to live expires "
        f"({until})"
    )


def of_task(task: JobTask, reason: str | None) -> JobEnding:
    """Return the ending that a task's terminal status means, unless its result says more.

    `reason` is why the user cancelled, None if that was not done.
    """
    if task.status == TaskStatus.COMPLETED:
        return JobEnding(JobState.DONE)
    text = formatting.elide(task.message or "", TEXT_LIMIT)
    if task.status == TaskStatus.CANCELLED:
        where = "local" if reason is not None else "server"
        return JobEnding(JobState.CANCELLED, Failure(where, text or reason or "Cancelled"))
    return _failed(Failure("server", text or "The task failed without a message"))


def of_forgotten_task(task: JobTask, error: JsonObject, at: float, asked_at: float) -> JobEnding:
    """The end of a job whose server no longer knows its task.

    The task was requested at `asked_at`. Its server counts from some time between that and the
    moment at which we learned of it.
    """
    failure = failure_of_error(Side.SERVER, error)
    expires_at = task.expires_at
    heard_late_s = min(max((task.began_at or asked_at) - asked_at, 0.0), LONGEST_WAY_S)
    if expires_at is None or at < expires_at - heard_late_s:
        return JobEnding(JobState.FAILED, failure)
    text = (
        f"The task's time to live has expired, and the server has discarded it: {failure.message}"
    )
    return JobEnding(JobState.LOST, failure._replace(message=text))


def of_expired_task() -> JobEnding:
    """The end of a job whose task was not polled until it may have been discarded."""
    text = "The task's time to live has expired: the server may have discarded it"
    return JobEnding(JobState.LOST, Failure("local", text))


def of_silence(task: JobTask | None, reason: str | None) -> JobEnding:
    """The end of a job whose cancel was not answered: confirmed, though a task may run."""
    if task is None:
        return of_cancel(None, reason)
    text = f"{reason or 'Cancelled'}; the server did not respond, and the task may still be running"
    return JobEnding(JobState.CANCELLED, Failure("local", text))


def of_call_ended(fact: CallEnded) -> JobEnding:
    state = _OUTCOMES.get(fact.outcome, JobState.FAILED)
    return JobEnding(state, Failure("local", fact.text or state.value))


_OUTCOMES: Final = {
    "lost": JobState.LOST,
    "failed": JobState.FAILED,
    "cancelled": JobState.CANCELLED,
    "timed_out": JobState.TIMED_OUT,
}


def of_timeout(text: str) -> JobEnding:
    """The end of a job that timed out; `text` says what was pending and since when."""
    return JobEnding(JobState.TIMED_OUT, Failure("local", text))


def of_cancel(answer: RequestAnswered | None, reason: str | None) -> JobEnding:
    """The end of a job after a cancel, confirmed by a reply or by silence."""
    if answer is not None and answer.error is not None:
        return JobEnding(JobState.CANCELLED, failure_of_error(answer.sender, answer.error))
    text = reason or "Cancelled"
    finding = None if answer is None else Finding(rules.RESULT_IGNORES_CANCEL, (text,))
    return JobEnding(JobState.CANCELLED, Failure("local", text), finding)
