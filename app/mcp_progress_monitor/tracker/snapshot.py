"""What views read: immutable snapshots of jobs, and what changed since the last ones."""

from __future__ import annotations

import dataclasses
import enum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.facts import (
        JsonObject,
        ProgressReceived,
        RequestAnswered,
        Side,
    )

JobId: TypeAlias = int
"""Counts up from 1 for each tracker, in order of the jobs' start."""


class JobState(enum.Enum):
    """The states of a job, as the window names them."""

    RUNNING = "Running"
    STALLED = "Stalled"
    NEEDS_YOU = "Needs you"
    CANCELLING = "Cancelling"
    RESUMABLE = "Resumable"
    DONE = "Done"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    TIMED_OUT = "Timed out"
    LOST = "Lost"

    @property
    def is_over(self) -> bool:
        """Whether no more is expected of the job."""
        return self not in _GOING_ON


_GOING_ON = frozenset({JobState.RUNNING, JobState.STALLED, JobState.NEEDS_YOU, JobState.CANCELLING})


class ViolationCount(NamedTuple):
    """Something irregular about a job: a stable `key`, and how often it was seen.

    Keys: not-increasing, above-total, after-end, late-delivery, after-cancel, wrong-type,
    total-changed, total-not-positive, late-result, duplicate-reply … (see `marks.py`).
    `finding` is the first case, `first` the number of the frame that showed it.
    """

    key: str
    finding: Finding
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a mark
    first: int

    @property
    def text(self) -> str:
        """The sentence about the first case."""
        return self.finding.text


class Phase(NamedTuple):
    """A stretch of progress under one message: when it began and ended (`at`), ticks within.

    Where messages differed in numbers, `message` is what they have in common.
    """

    message: str
    began_at: float
    ended_at: float | None
    tick_count: int


class ChartPoint(NamedTuple):
    """A stretch of a job's progress for a chart: its last tick's time, lowest, highest, last."""

    at: float
    low: float
    high: float
    last: float


class Failure(NamedTuple):
    """Why a job did not succeed: `where` is server or local; `code` the JSON-RPC code if any.

    `is_wanted` says that the user brought it about, other than by a cancel: nothing went wrong.
    """

    where: str
    message: str
    code: int | None = None
    data: object = None
    is_wanted: bool = False


class TaskSnapshot(NamedTuple):
    """The task that a job has become, as its server last stated it.

    `status` is as received. `ttl_left_s` counts down to `expires_at` (monotonic seconds) and stays
    at 0; both are None when the task is kept without limit, or that is not known. `poll_count` is
    how often its state was asked for, `polled_s` how long ago that was told last.
    `is_ours_to_cancel` says that `tasks/cancel` can be sent: our request began it and it is not
    over. Without `is_followed` nobody hears of it now: its connection is gone, or it was found on
    disk and its server has not been asked yet.
    """

    id: str
    status: str
    message: str | None = None
    poll_ms: int | float | None = None
    ttl_left_s: float | None = None
    expires_at: float | None = None
    poll_count: int = 0
    is_ours_to_cancel: bool = False
    is_followed: bool = True
    created: str | None = None
    polled_s: float | None = None


class TaskStep(NamedTuple):
    """A change in a task's course: what it was stated to be from `at` (monotonic seconds) on.

    `how` is the kind of message that said so, as in `TaskStated.how`; `number` its frame's number,
    None for what was found on disk.
    """

    status: str
    message: str | None
    at: float
    how: str
    number: int | None = None


class StreamStep(NamedTuple):
    """The HTTP stream of a request broke, or was taken up again, at `at` (monotonic seconds).

    `number` is the frame that tells it. `attempt` counts the tries to take it up, from the event
    after `last_event_id`, the next of them `retry_s` later; `away_s` is how long it was broken
    when it was taken up. What is not known, or not tried, is None.
    """

    is_broken: bool
    at: float
    number: int
    reason: str = ""
    last_event_id: str | None = None
    attempt: int | None = None
    retry_s: float | None = None
    away_s: float | None = None


class StreamSnapshot(NamedTuple):
    """How a job's HTTP stream stands: `since_s` ago it broke or, where it runs, `newest` happened.

    `retry_in_s` counts down to the next try; None where none is due.
    """

    is_broken: bool
    since_s: float
    broken_count: int
    resumed_count: int
    newest: StreamStep
    retry_in_s: float | None = None


class Clocks(NamedTuple):
    """Both clocks at one moment: seconds left and the limits they count down from; None is off.

    `is_suspended` says that they stand still, because a question to the user is open.
    """

    idle_left_s: float | None
    total_left_s: float | None
    is_suspended: bool
    idle_s: float | None
    total_s: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class JobSnapshot:
    """One job at one moment, cheap enough to make ten times a second for every visible row.

    Times named `_at` are monotonic seconds, `_when` wall seconds since the epoch. Unknown is
    None. `fraction` is 0.0 to 1.0 and None when the bar must be busy: total missing, not
    positive, or clearly exceeded. `eta_s` is None when unknown, also once it ran out, and
    `math.inf` beyond 100 days.

    A job that was resumed is one job: `attempt_count` requests, `chain` the id of what is stored
    of it. `can_resume` is True exactly when resuming would be tried; `resume_note` says why it
    stopped; `saved_when` is when its newest token was received. With `is_automatic` it is gone on
    with by itself, at `next_attempt_at` if it waits for that.

    `parent` is the job that made the other side ask this; None as well when several may have,
    which is `parent_is_unclear`.
    `questions` are the numbers of the frames that ask something of the user for this job: requests
    of the server, or replies that require input. `cancel_state` is empty while nobody cancelled,
    else "requested" (by the user), "sent" (to the server), "confirmed" (by it, or by its silence)
    or "ignored" (a result came all the same). `cancel_s` is how long ago that was requested or
    sent, while it goes on; and how long after it the result came that ignored it.
    `watched_client` is the client that made it where that is not us, and None for our own jobs:
    nothing may be sent for a watched one on its connection. With `can_resume_here` its newest
    token is saved, and would do on a connection of ours.
    `clocks` is no part of what the wire tells: None unless we wait for the end of the call, so
    also in a recording. `stream` is None while no HTTP stream of the job has broken.
    """

    id: JobId
    connection: str
    server: str
    sender: Side
    request: int
    request_id: str | int | float | None
    method: str
    name: str
    summary: str
    token: object
    state: JobState
    progress: int | float | None
    total: int | float | None
    fraction: float | None
    message: str | None
    tick_count: int
    late_count: int
    rate: float | None
    eta_s: float | None
    started_at: float
    started_when: float
    ended_at: float | None
    elapsed_s: float
    last_tick_at: float | None
    silent_s: float
    stall_after_s: float | None
    marks: tuple[ViolationCount, ...]
    failure: Failure | None
    reply_size: int | None
    chain: int | None = None
    attempt_count: int = 1
    resume_note: str = ""
    can_resume: bool = False
    is_automatic: bool = False
    next_attempt_at: float | None = None
    saved_when: float | None = None
    parent: JobId | None = None
    parent_is_unclear: bool = False
    task: TaskSnapshot | None = None
    questions: tuple[int, ...] = ()
    cancel_state: str = ""
    cancel_s: float | None = None
    clocks: Clocks | None = None
    stream: StreamSnapshot | None = None
    watched_client: str | None = None
    can_resume_here: bool = False


class AttemptSnapshot(NamedTuple):
    """One request of a job that was gone on with; `number` counts from 1.

    `ended_when` is None while it runs, and when nobody was there to look at the clock. `outcome`
    is the state it ended in, or words for it; `request` the number of its frame, None when that
    was sent before this program was started; `detail` says more about its end.
    """

    number: int
    started_when: float
    ended_when: float | None
    outcome: JobState | str
    request: int | None = None
    tick_count: int = 0
    detail: str = ""


class ServerRequestSnapshot(NamedTuple):
    """A question that came in a message about a job of ours, and what was answered.

    `number` is the frame that asked, `key` the question's name in it. `answer` is the result as we
    sent it at `answered_at`; None while there is none, or where it was never sent.
    """

    number: int
    key: str
    method: str
    params: JsonObject
    at: float
    when: float
    answer: object = None
    answered_at: float | None = None


class JobDetail(NamedTuple):
    """The longer story of one job, made when its pane is open.

    `params` is the request's, `answer` the reply that ended it (None while it runs or when it
    was lost); `ticks` the newest ones; `chart` the whole course, thinned; `phases` oldest first,
    of which `dropped_phases` older ones are no longer kept. `attempts` are those of the resume
    chain, oldest first; `resume_token` is its newest token, which views hide until asked for it.
    `marked` tells what is wrong with a tick of `ticks`, by its frame's number.

    `task_course` are the newest changes of its task, oldest first; `children` the jobs that the
    other side asked for because of it; `rounds` how often a reply required input first, and
    `asked` the newest questions of such replies, oldest first. `stream_course` are the newest
    breaks of its HTTP streams and what became of them, oldest first.
    """

    snapshot: JobSnapshot
    params: JsonObject
    answer: RequestAnswered | None
    ticks: Sequence[ProgressReceived]
    chart: Sequence[ChartPoint]
    phases: Sequence[Phase]
    dropped_phases: int = 0
    attempts: Sequence[AttemptSnapshot] = ()
    resume_token: str | None = None
    marked: Mapping[int, tuple[Finding, ...]] = MappingProxyType({})
    task_course: Sequence[TaskStep] = ()
    children: Sequence[JobId] = ()
    rounds: int = 0
    asked: Sequence[ServerRequestSnapshot] = ()
    stream_course: Sequence[StreamStep] = ()


class ChainStep(NamedTuple):
    """How an attempt of a resumable job ended: to be put on disk before anyone sees it.

    `chain` is the id in the store, None for a chain that is not stored. `token` is a new one to
    save; `is_complete` says that the chain is over and is to be deleted; else `outcome` says how
    the attempt stopped, and `reason` why. `when` is the attempt's end, wall seconds.
    """

    job: JobId
    chain: int | None
    request: int
    token: str | None
    is_complete: bool
    outcome: JobState | str
    reason: str
    when: float


class ChangeSet(NamedTuple):
    """What one `apply` or `tick` did.

    `added` and `removed` in order; `progressed` jobs had ticks or any other change to their
    snapshot; `moved` is the part of them whose state changed. `ticks` has one entry for every
    `ProgressReceived`, in wire order: (job or None, that job's tick count after it, the fact);
    the count is 0 where there is no job. A job in `removed` is in none of the other sets. `steps`
    are for whoever keeps tokens: the jobs in them are shown as running until each is answered
    with `Chains.note_saved`. `marked` tells what is wrong with a message, by its frame's number;
    it has no entry for a message that breaks no rule. `lapsed` are jobs that ended, or whose
    attempt did, by time alone: whoever waits for a reply is to be let go.
    """

    added: tuple[JobId, ...] = ()
    removed: tuple[JobId, ...] = ()
    progressed: frozenset[JobId] = frozenset()
    moved: frozenset[JobId] = frozenset()
    ticks: Sequence[tuple[JobId | None, int, ProgressReceived]] = ()
    steps: Sequence[ChainStep] = ()
    marked: Mapping[int, tuple[Finding, ...]] = MappingProxyType({})
    lapsed: tuple[JobId, ...] = ()
