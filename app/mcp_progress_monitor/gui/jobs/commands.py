"""The commands on jobs: which states allow each, and where they are offered."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import Qt

from mcp_progress_monitor.gui.common.commands import Command, Takes, Words
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import CALLS
from mcp_progress_monitor.snapshots.limits import Limit
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import watched as watched_texts
from mcp_progress_monitor.wording.jobs import is_left_at_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_CANCELLABLE: Final = frozenset({JobState.RUNNING, JobState.STALLED, JobState.NEEDS_YOU})


def is_cancellable(job: JobSnapshot) -> bool:
    """True if `job` can be cancelled, or its automatic resuming stopped.

    We answer a server's request, we do not cancel it.
    """
    if job.sender is Side.SERVER or is_watched(job):
        return False
    is_waiting = job.state is JobState.RESUMABLE and job.is_automatic
    is_out_of_reach = job.task is not None and not job.task.is_ours_to_cancel
    return is_waiting or (job.state in _CANCELLABLE and not is_out_of_reach)


def is_watched(job: JobSnapshot) -> bool:
    """Return whether `job` is another client's: nothing can be sent for it here."""
    return job.watched_client is not None


def has_broken_stream(job: JobSnapshot) -> bool:
    """Return whether the reply to `job` is due on an HTTP stream that broke at least once."""
    return (
        not is_watched(job)
        and job.sender is Side.CLIENT
        and not job.state.is_over
        and job.stream is not None
    )


def is_answerable(job: JobSnapshot) -> bool:
    """True if `job` waits for an answer of the user, or is itself the question."""
    if is_watched(job):
        return False
    is_question = job.sender is Side.SERVER and not job.state.is_over
    return is_question or bool(job.questions) or job.state is JobState.NEEDS_YOU


def is_resumable(job: JobSnapshot) -> bool:
    return job.can_resume or job.can_resume_here


def may_be_picked_up(job: JobSnapshot) -> bool:
    """Return whether `job` is a task left on its server, which may still know it."""
    if is_watched(job):
        return False
    return is_left_at_server(job) and job.task is not None and job.task.ttl_left_s != 0


def is_kept(job: JobSnapshot) -> bool:
    """Return whether removing `job` would lose its resume token."""
    return job.state is JobState.RESUMABLE or is_left_at_server(job)


def is_repeatable(job: JobSnapshot) -> bool:
    """True if the request of `job` can be written as a program: a client's that was seen here."""
    return job.sender is Side.CLIENT and job.request > 0


def is_callable(job: JobSnapshot) -> bool:
    """True if a command line makes the call of `job`: one of ours, and of a kind that we make."""
    return not is_watched(job) and job.sender is Side.CLIENT and job.method in CALLS


def is_removable(job: JobSnapshot) -> bool:
    """Return whether `job` is over and can be removed without losing anything."""
    return job.state.is_over and not is_kept(job)


def may_resume_automatically(job: JobSnapshot) -> bool:
    """Return whether automatic resuming can be chosen for `job`: it is ours, and not done."""
    is_waiting = job.state is JobState.RESUMABLE and (job.can_resume or job.is_automatic)
    is_ours = job.sender is Side.CLIENT and not is_watched(job)
    return is_ours and (is_waiting or not job.state.is_over)


def _is_reissuable(job: JobSnapshot) -> bool:
    return job.is_reissuable


def _is_over(job: JobSnapshot) -> bool:
    return job.state.is_over


def _has_result(job: JobSnapshot) -> bool:
    return job.reply_size is not None


def has_gone_wrong(job: JobSnapshot) -> bool:
    """Return whether there is something to report: an unexpected failure, or findings."""
    return bool(job.marks) or (job.failure is not None and not job.failure.is_wanted)


def _has_token(job: JobSnapshot) -> bool:
    return job.token is not None


def _has_ticks(job: JobSnapshot) -> bool:
    return job.tick_count > 0


def _is_automatic(job: JobSnapshot) -> bool:
    return job.is_automatic


def _why_read_only(job: JobSnapshot) -> Words | None:
    """Nothing can be sent for another client's job."""
    client = job.watched_client
    return None if client is None else Words(why=watched_texts.why_read_only(client))


def _resume_here(job: JobSnapshot) -> Words | None:
    client = job.watched_client
    if client is None or not is_resumable(job):
        return _why_read_only(job)
    return Words("&Resume here", watched_texts.resume_here(client))


def _here(text: str, tip: Callable[[str], str]) -> Callable[[JobSnapshot], Words | None]:
    """The words for another client's job, whose request is sent on a connection of ours."""

    def words(job: JobSnapshot) -> Words | None:
        client = job.watched_client
        if client is None:
            return None
        why = "" if job.is_reissuable else watched_texts.why_read_only(client)
        return Words(text, tip(client), why)

    return words


_WINDOW: Final = Qt.ShortcutContext.WindowShortcut

OPEN: Final = Command(
    "jobs.open", "&Open", icon="info", keys=("Return",), fixed_keys=("Enter",), takes=Takes.CURRENT
)
ANSWER: Final = Command(
    "jobs.answer",
    "&Answer…",
    "Show the question of the job, or the oldest one",
    icon="answer",
    keys=("Ctrl+Shift+A",),
    where=_WINDOW,
    takes=Takes.ANY,
    applies=is_answerable,
    words=_why_read_only,
    live_only=True,
)
CANCEL: Final = Command(
    "jobs.cancel",
    "&Cancel",
    "Cancel the selected jobs",
    icon="cancel",
    keys=("Ctrl+.",),
    where=_WINDOW,
    takes=Takes.MANY,
    applies=is_cancellable,
    words=_why_read_only,
    one_tip="Cancel this job",
    fixed_keys=("Del",),
    live_only=True,
)
RESUME: Final = Command(
    "jobs.resume",
    "&Resume",
    "Resume the selected jobs where they stopped",
    icon="resume",
    keys=("Ctrl+R",),
    where=_WINDOW,
    takes=Takes.MANY,
    applies=is_resumable,
    words=_resume_here,
    one_tip="Resume this job where it stopped",
    live_only=True,
)
PICK_UP: Final = Command(
    "jobs.pick-up",
    "Follow tas&k",
    "Resume tracking tasks still running on their servers",
    icon="resume",
    keys=("Ctrl+Alt+P",),
    where=_WINDOW,
    takes=Takes.MANY,
    applies=may_be_picked_up,
    words=_why_read_only,
    one_tip="Resume tracking this task, still running on its server",
    live_only=True,
)
AUTOMATIC: Final = Command(
    "jobs.automatic",
    "Resume a&utomatically",
    "Resume after every stop until the job is done or fails",
    keys=("Ctrl+Alt+R",),
    where=_WINDOW,
    takes=Takes.MANY,
    applies=may_resume_automatically,
    is_on=_is_automatic,
    words=_why_read_only,
    live_only=True,
)
RECONNECT: Final = Command(
    "jobs.reconnect",
    "Reco&nnect stream",
    "Reconnect the HTTP stream that carries the reply",
    icon="again",
    takes=Takes.MANY,
    applies=has_broken_stream,
    words=_why_read_only,
    live_only=True,
)
REISSUE: Final = Command(
    "jobs.reissue",
    "Re-&issue",
    "Send the requests of the selected jobs again from the start",
    icon="again",
    keys=("Ctrl+Shift+R",),
    where=_WINDOW,
    takes=Takes.MANY,
    applies=_is_reissuable,
    words=_here("Re-&issue here", watched_texts.reissue_here),
    one_tip="Send the request again from the start",
    live_only=True,
)
EDIT: Final = Command(
    "jobs.edit",
    "&Edit and re-issue…",
    "Edit the request and send it as a new one",
    icon="new-call",
    keys=("Ctrl+E",),
    where=_WINDOW,
    takes=Takes.CURRENT,
    applies=_is_reissuable,
    words=_here("&Edit and re-issue here…", watched_texts.edit_here),
    live_only=True,
)
FOLLOW: Final = Command(
    "jobs.follow",
    "&Follow in Traffic",
    "Show the messages of the job in Traffic",
    icon="log",
    keys=("Ctrl+Shift+L",),
    where=_WINDOW,
    takes=Takes.CURRENT,
)
COMPARE: Final = Command(
    "jobs.compare",
    "Co&mpare…",
    "Compare the two selected jobs: durations, phases, rates",
    takes=Takes.TWO,
)
FINDINGS: Final = Command(
    "jobs.findings",
    "Show fi&ndings",
    "Show the rules that this job's messages violate",
    icon="warning",
    takes=Takes.CURRENT,
)
COPY_REQUEST: Final = Command("jobs.request", "Copy re&quest", icon="copy", takes=Takes.CURRENT)
COPY_RESULT: Final = Command(
    "jobs.result",
    "Copy re&sult",
    icon="copy",
    keys=("Ctrl+Shift+C",),
    takes=Takes.CURRENT,
    applies=_has_result,
)
COPY_TOKEN: Final = Command(
    "jobs.token",
    "Copy &token",
    icon="copy",
    keys=("Ctrl+C",),
    takes=Takes.CURRENT,
    applies=_has_token,
)
COPY_TRACE: Final = Command(
    "jobs.traceparent",
    "Copy t&raceparent",
    "Copy the trace context that the request carries",
    icon="copy",
    takes=Takes.CURRENT,
    applies=attrgetter("traceparent"),
)
OPEN_TRACE: Final = Command(
    "jobs.trace",
    "Open tra&ce",
    "Open the trace of the job at the address in Settings, Telemetry",
    icon="link",
    takes=Takes.CURRENT,
    applies=attrgetter("traceparent"),
)
COPY_SNIPPET: Final = Command(
    "jobs.snippet",
    "Copy as Pyt&hon snippet",
    "Copy a Python program that repeats the request, without secrets",
    icon="copy",
    takes=Takes.CURRENT,
    applies=is_repeatable,
)
COPY_COMMAND: Final = Command(
    "jobs.command",
    "Copy as command &line",
    "Copy an mcp-progress-monitor command that makes the call, without secrets",
    takes=Takes.CURRENT,
    applies=is_callable,
    words=_why_read_only,
    live_only=True,
)
COPY_CURL: Final = Command(
    "jobs.curl",
    "Copy as curl comman&d",
    "Copy a curl command that makes the call over HTTP, without secrets",
    takes=Takes.CURRENT,
    applies=is_callable,
    words=_why_read_only,
    live_only=True,
)
COPY_ISSUE: Final = Command(
    "jobs.issue",
    "Cop&y as issue",
    "Copy versions, messages, findings and standard error as Markdown, without secrets",
    icon="copy",
    takes=Takes.CURRENT,
    applies=has_gone_wrong,
)
REPORT: Final = Command(
    "jobs.report",
    "Sa&ve report…",
    "Save a report of the job as a single HTML page",
    icon="save",
    keys=("Ctrl+S",),
    where=_WINDOW,
    takes=Takes.CURRENT,
)
TICKS: Final = Command(
    "jobs.ticks",
    "Save ticks as CS&V…",
    "Save every tick of the job as CSV",
    takes=Takes.CURRENT,
    applies=_has_ticks,
)
REMOVE: Final = Command(
    "jobs.remove",
    "Re&move",
    icon="remove",
    keys=("Shift+Del",),
    takes=Takes.MANY,
    applies=_is_over,
    live_only=True,
)
FORGET: Final = Command(
    "jobs.forget",
    "For&get…",
    "Delete the resume tokens of the selected jobs",
    icon="clear",
    takes=Takes.MANY,
    applies=is_kept,
    live_only=True,
)

JOB_MENU: Final = (
    (OPEN, ANSWER),
    (CANCEL, RESUME, PICK_UP, AUTOMATIC, RECONNECT),
    (REISSUE, EDIT, FOLLOW, COMPARE, FINDINGS, OPEN_TRACE),
    (COPY_REQUEST, COPY_RESULT, COPY_TOKEN, COPY_TRACE),
    (COPY_COMMAND, COPY_CURL, COPY_SNIPPET, COPY_ISSUE),
    (REPORT, TICKS),
    (REMOVE, FORGET),
)
"""The menu of a row, in groups: all commands on jobs."""
JOB_COMMANDS: Final = tuple(command for group in JOB_MENU for command in group)
JOBS_MENU: Final = (
    (OPEN, ANSWER, CANCEL),
    (RESUME, PICK_UP, AUTOMATIC, RECONNECT, REISSUE, EDIT, FOLLOW, COMPARE, FINDINGS),
    (REPORT, TICKS),
    (REMOVE, FORGET),
)
"""The groups of the window's menu *Jobs*, each beside commands of the window."""


class ClockCommands(NamedTuple):
    """The commands on one limit of the shown job."""

    limit: Limit
    one: Command
    ten: Command
    off: Command


def _clock(limit: Limit, key: str) -> ClockCommands:
    """Declare the commands on `limit`, whose keys all have `key`."""
    seconds_of, off_of = attrgetter(f"{limit.value}_s"), attrgetter(f"{limit.value}_off_s")
    name = f"{limit.value} timeout"

    def is_set(job: JobSnapshot) -> bool:
        return job.clocks is not None and seconds_of(job.clocks) is not None

    def is_off(job: JobSnapshot) -> bool:
        return job.clocks is not None and off_of(job.clocks) is not None

    def has_limit(job: JobSnapshot) -> bool:
        return is_set(job) or is_off(job)

    command = partial(Command, where=_WINDOW, takes=Takes.CURRENT, live_only=True)
    return ClockCommands(
        limit,
        command(
            f"job.{limit.value}-one", f"Extend the {name} by 1 minute", keys=(key,), applies=is_set
        ),
        command(
            f"job.{limit.value}-ten",
            f"Extend the {name} by 10 minutes",
            keys=(f"Shift+{key}",),
            applies=is_set,
        ),
        command(
            f"job.{limit.value}-off",
            f"Turn off the {name}",
            keys=(f"Ctrl+{key}",),
            applies=has_limit,
            is_on=is_off,
        ),
    )


IDLE_CLOCK: Final = _clock(Limit.IDLE, "F8")
TOTAL_CLOCK: Final = _clock(Limit.TOTAL, "F9")
CLOCK_COMMANDS: Final = (*IDLE_CLOCK[1:], *TOTAL_CLOCK[1:])
ROW_BUTTONS: Final = (ANSWER, RESUME, PICK_UP, CANCEL, REISSUE)
"""The commands with a button in rows of jobs."""


def row_buttons(job: JobSnapshot) -> tuple[Command, ...]:
    """The buttons in the row of `job`: *Re-issue* where it is over and nothing else applies."""
    found = tuple(each for each in ROW_BUTTONS[:-1] if each.applies(job))
    return found or ((REISSUE,) if job.state.is_over and job.is_reissuable else ())
