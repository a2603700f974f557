"""A job in words: what its row, its pane and a screen reader say, from one snapshot."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor import text
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_LIMIT: Final = 400  # characters: wider than any column, cheap to measure
SILENT_AFTER_S: Final = 2.0
"""A running job without a tick for so long says when the last one came."""
_GIVEN_UP: Final = frozenset({JobState.CANCELLED, JobState.TIMED_OUT, JobState.LOST})
_ANSWERED: Final = frozenset({JobState.DONE, JobState.FAILED})
_CENTURY_S: Final = 3.2e9
_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def tr(words: str) -> str:
    """Translate in the context of jobs."""
    return QCoreApplication.translate("Jobs", words)


def line(words: str) -> str:
    """Server text for one line: control and direction characters visible, bounded."""
    return text.one_line(words, _LIMIT)


def wire(value: object) -> str:
    """An id or a token as it is on the wire: strings bare, digits not grouped, bounded."""
    if isinstance(value, str):
        return line(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return text.number(value).replace(",", "")
    return text.summary({"": value}).removeprefix("=")


def state_word(state: JobState) -> str:
    """The state's name in the user's language."""
    return tr(state.value)


def name(job: JobSnapshot) -> str:
    """Tool title or method."""
    return line(job.name) or line(job.method)


def direction(job: JobSnapshot) -> str:
    """`"from the server"` for what a server asks of us; nothing for what we ask."""
    return tr("from the server") if job.sender is Side.SERVER else ""


def cause(job: JobSnapshot) -> str:
    """That several jobs may have made a server ask this, where that is so."""
    words = tr("The server does not say which of the running jobs it is for")
    return words if job.parent_is_unclear else ""


def summary(job: JobSnapshot) -> str:
    """The second line under the name: who asks, if that is the server, and the arguments."""
    return " · ".join(part for part in (direction(job), line(job.summary)) if part)


def token(job: JobSnapshot) -> str:
    """The progress token as it is on the wire: strings bare, "none" when there is none."""
    return tr("no token") if job.token is None else wire(job.token)


def percent(job: JobSnapshot) -> str:
    """`"63.2 %"`, or nothing when there is no honest fraction."""
    return "" if job.fraction is None else text.percent(job.fraction)


def count(job: JobSnapshot) -> str:
    """`"632 / 1,000"`, `"4,812"` without a total, or nothing before the first tick."""
    return text.amount(job.progress, job.total)


def amount(job: JobSnapshot) -> str:
    """What stands beside the bar: the percentage, else the count."""
    return percent(job) or count(job)


def rate(job: JobSnapshot) -> str:
    """`"12/s"`, or nothing while unknown."""
    return "" if job.rate is None else text.rate(job.rate)


def time_left(job: JobSnapshot) -> str:
    """`"31 s left"`, or nothing while unknown."""
    return "" if job.eta_s is None or job.state.is_over else text.time_left(job.eta_s)


def elapsed(job: JobSnapshot) -> str:
    """How long the job runs, in whole seconds; how long it ran, exactly."""
    if job.state.is_over:
        return text.duration(job.elapsed_s)
    return text.duration(math.floor(job.elapsed_s)) if job.elapsed_s >= 1 else ""


def last_tick(job: JobSnapshot) -> str:
    """`"last tick 2 s ago"`, that there was none yet, or nothing when the job is over."""
    is_untold = job.last_tick_at is None and job.task is not None  # it states, and may not tick
    if job.state.is_over or is_untold:
        return ""
    return tr("no tick yet") if job.last_tick_at is None else text.last_tick(job.silent_s)


def ticks(job: JobSnapshot) -> str:
    """`"812 ticks"`; nothing where an earlier run of the program had them, and did not count."""
    if not (job.tick_count > 0 or job.progress is None):
        return ""
    words = text.count(job.tick_count, "tick")
    late = tr("{} late").format(text.number(job.late_count))
    return f"{words}, {late}" if job.late_count else words


def attempts(job: JobSnapshot) -> str:
    """`"attempt 7"` while that is under way, `"7 attempts"` after it; nothing for the first."""
    if job.attempt_count < 2:
        return ""
    if job.state.is_over:
        return text.count(job.attempt_count, "attempt")
    return tr("attempt {}").format(text.number(job.attempt_count))


def age(seconds: float) -> str:
    """How old something is, in its largest unit: `"12 s"`, `"4 min"`, `"3 h"`, `"2 d"`."""
    unit = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    return f"{text.number(max(math.floor(seconds), 0) // unit[1])} {unit[0]}"


def saved(job: JobSnapshot) -> str:
    """`"saved 4 min ago"`, by the computer's own clock; nothing where no token is kept."""
    if job.saved_when is None:
        return ""
    return tr("saved {} ago").format(age(time.time() - job.saved_when))


def next_attempt(job: JobSnapshot) -> str:
    """`"attempt 8 in 4 s"` while automatic resuming waits; nothing otherwise."""
    if job.next_attempt_at is None or job.state is not JobState.RESUMABLE:
        return ""
    number = text.number(job.attempt_count + 1)
    left_s = math.ceil(job.next_attempt_at - time.monotonic())
    if left_s <= 0:
        return tr("attempt {} follows").format(number)
    return tr("attempt {number} in {time}").format(number=number, time=text.duration(left_s))


def is_left_at_server(job: JobSnapshot) -> bool:
    """Whether the job is a task that may go on at its server while nobody hears of it."""
    return job.task is not None and not job.task.is_followed and not job.state.is_over


def task_left(job: JobSnapshot) -> str:
    """`"kept 4 min 12 s more"` of a task, by the second; nothing where there is no known limit."""
    left_s = None if job.task is None else job.task.ttl_left_s
    if left_s is None or left_s > _CENTURY_S:
        return ""
    if left_s <= 0:
        return tr("its time to live is over")
    return tr("kept {} more").format(text.duration(math.ceil(left_s)))


def moment(when: float) -> str:
    """A wall time: without its date if that is today's."""
    dated = text.date_and_clock(when)
    is_today = dated[:10] == text.date_and_clock(time.time())[:10]
    return text.clock(when) if is_today else dated


def status(job: JobSnapshot) -> str:
    """The second line under the state: rate, time left, elapsed; or how it ended."""
    if job.state is JobState.RESUMABLE:
        parts = [next_attempt(job) or saved(job), "" if next_attempt(job) else attempts(job)]
    elif is_left_at_server(job):
        parts = [task_left(job) or tr("can be picked up")]
    elif job.state.is_over:
        return ", ".join(part for part in (cancelling(job), elapsed(job), ticks(job)) if part)
    elif job.silent_s >= SILENT_AFTER_S or job.tick_count == 0:
        parts = [_urgent(job), attempts(job), last_tick(job), elapsed(job)]
    else:
        parts = [_urgent(job), attempts(job), rate(job), time_left(job), elapsed(job)]
    return " · ".join(part for part in parts if part)


def _urgent(job: JobSnapshot) -> str:
    """What of a running job is read first: how its cancel stands, or that its time runs out."""
    return cancelling(job) or near_limit(job)


def near_limit(job: JobSnapshot) -> str:
    """`"idle limit in 42 s"` when that is soon, else nothing."""
    if job.near_limit is None:
        return ""
    words = tr("idle limit in {}") if job.near_limit.what == "idle" else tr("total limit in {}")
    return words.format(text.duration(math.ceil(job.near_limit.left_s)))


def cancelling(job: JobSnapshot) -> str:
    """`"sent 3 s ago"`, or `"but the result came 2 s later"`; nothing when there is no cancel."""
    if job.cancel_state == "ignored":
        return _ignored(job)
    if job.state is not JobState.CANCELLING:
        return ""
    if job.cancel_state != "sent" or job.cancel_s is None:
        return tr("not sent yet")
    ago = text.duration(math.floor(job.cancel_s))
    if job.task is not None:
        return tr("asked to stop, still working · {}").format(ago)
    return tr("sent {} ago").format(ago)


def _ignored(job: JobSnapshot) -> str:
    """What a result did to a cancel: it came too late to count, or it counted."""
    if job.state not in _GIVEN_UP:
        return tr("the cancel was ignored") if job.state in _ANSWERED else ""
    if job.cancel_s is None:
        return tr("but the result came")
    return tr("but the result came {} later").format(text.duration(job.cancel_s))


def full_state(job: JobSnapshot) -> str:
    """The state's name with what became of a cancel: `"Cancelling: sent 3 s ago"`."""
    word, how = state(job), cancelling(job)
    if job.state is JobState.CANCELLED and job.cancel_state == "confirmed":
        is_told = job.failure is not None and job.failure.where == "server"
        how = tr("confirmed by the server") if is_told else tr("the server was silent")
    if not how:
        return word
    return f"{word}, {how}" if job.cancel_state == "ignored" else f"{word}: {how}"


def state(job: JobSnapshot) -> str:
    """The state's name, and that a resumable job goes on by itself."""
    if job.state is JobState.RESUMABLE and job.is_automatic:
        return tr("Resumable, automatic")
    if is_left_at_server(job):
        return tr("Left at its server")
    return state_word(job.state)


def message(job: JobSnapshot) -> str:
    """The server's newest words: why it failed or stopped, else its progress message."""
    if job.state is JobState.RESUMABLE:
        return line(job.resume_note or job.message or "")
    if job.failure is not None:
        is_ours = job.failure.where == "local"
        return _in_one(job.failure.message) if is_ours else line(job.failure.message)
    return line(job.message or "")


def _in_one(words: str) -> str:
    """Our own words, of several lines, in one."""
    lines = (each.strip() for each in words[: 2 * _LIMIT].split("\n"))
    return line(" · ".join(each for each in lines if each))


def marks(job: JobSnapshot) -> str:
    """All irregularities in one line each, or nothing."""
    return "\n".join(mark(one.text, one.count) for one in job.marks)


def mark(words: str, times: int) -> str:
    """One irregularity and how often it was seen."""
    return line(words) if times == 1 else f"{line(words)} ({text.number(times)} x)"


def spoken(job: JobSnapshot) -> str:
    """The whole row as one sentence, for screen readers and as a plain tool tip."""
    is_task = "" if job.task is None else tr("task")
    who = (name(job), is_task, direction(job), line(job.server))
    parts = (*who, state(job), amount(job), message(job))
    return ", ".join(part for part in (*parts, status(job)) if part)
