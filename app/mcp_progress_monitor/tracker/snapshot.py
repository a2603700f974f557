"""The data for views: immutable snapshots of jobs, and changes since the last ones."""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcp_progress_monitor.protocol.facts import Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.protocol.facts import (
        JsonObject,
        PartReceived,
        ProgressReceived,
        RequestAnswered,
    )

JobId: TypeAlias = int  # counts up from 1 for each tracker, in order of the jobs' start


class JobState(enum.Enum):
    """The states of a job, as the window names them."""

    __hash__ = object.__hash__  # an enumeration's own runs in Python, for each row painted

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
        return self not in _ACTIVE


_ACTIVE = frozenset({JobState.RUNNING, JobState.STALLED, JobState.NEEDS_YOU, JobState.CANCELLING})


class ViolationCount(NamedTuple):
    """A violation of a job: a stable `key`, and how often it was seen.

    Keys: not-increasing, above-total, after-end, late-delivery, after-cancel, wrong-type, total-
    changed, total-not-positive, late-result, duplicate-reply … (see `findings/rules.py`). `finding`
    is the first case, `first` the number of its frame.
    """

    key: str
    finding: Finding
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a mark
    first: int

    @property
    def text(self) -> str:
        return self.finding.text


class Phase(NamedTuple):
    """A stretch of progress under one message: its beginning and end (`at`), and its ticks.

    If messages differ in numbers, `message` is their common part.
    """

    message: str
    began_at: float
    ended_at: float | None
    tick_count: int


class ChartPoint(NamedTuple):
    """An interval of a job's progress for a chart: its last tick's time, lowest, highest, last."""

    at: float
    low: float
    high: float
    last: float


class Failure(NamedTuple):
    """Why a job did not succeed.

    `where` is server or local; `code` is the JSON-RPC code, if any. `is_wanted` says that the user
    caused it, other than by a cancel: nothing went wrong. `outlook` is the end of the message that
    soon is no longer true: what happens next.
    """

    where: str
    message: str
    code: int | None = None
    data: object = None
    is_wanted: bool = False
    outlook: str = ""

    @property
    def lasting(self) -> str:
        """The message without what happens next."""
        return self.message.removesuffix(f". {self.outlook}") if self.outlook else self.message


class TaskSnapshot(NamedTuple):
    """A job's task, as last reported by its server.

    `status` is as received. `ttl_left_s` counts down to `expires_at` (monotonic seconds) and stays
    at 0; both are None if the task is kept without limit, or that is unknown. `poll_count` is how
    often its state was requested, `polled_s` how long ago it was last reported. `is_ours_to_cancel`
    says that `tasks/cancel` can be sent: our request began it and it has not ended. Unless
    `is_followed`, its connection is gone, or it was found on disk and its server has not been asked
    yet.
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
    """A change of a task: its reported state from `at` (monotonic seconds) on.

    `how` is the kind of message that reported it, as in `TaskStated.how`; `number` is its frame's
    number, None for one found on disk.
    """

    status: str
    message: str | None
    at: float
    how: str
    number: int | None = None


class StreamStep(NamedTuple):
    """The HTTP stream of a request broke, or was resumed, at `at` (monotonic seconds).

    `number` is the frame that says so. `attempt` counts the tries to resume it, from the event
    after `last_event_id`, the next of them `retry_s` later; `away_s` is how long it was broken when
    it was resumed. What is unknown, or not tried, is None.
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
    """The state of a job's HTTP stream.

    It broke `since_s` ago or, if it is open, `newest` happened then. `retry_in_s` counts down to
    the next try; None if none is due.
    """

    is_broken: bool
    since_s: float
    broken_count: int
    resumed_count: int
    newest: StreamStep
    retry_in_s: float | None = None


class Clocks(NamedTuple):
    """Both limits of a call at one moment: seconds left, and the limits; None is off.

    `is_suspended` says that they are held because a question to the user is open. A limit that the
    user turned off is the one ending in `_off_s`, so that it can be turned on again.
    """

    idle_left_s: float | None
    total_left_s: float | None
    is_suspended: bool
    idle_s: float | None
    total_s: float | None
    idle_off_s: float | None = None
    total_off_s: float | None = None


class JobSnapshot(NamedTuple):
    """One job at one moment, cheap enough to make ten times a second for every visible row.

    Times named `_at` are monotonic seconds, `_when` wall seconds since the epoch. Unknown is None.
    `fraction` is 0.0 to 1.0, and None if the bar must be busy: total missing, not positive, or
    clearly exceeded. `eta_s` is None if unknown, also once it ran out, and `math.inf` beyond 100
    days. If it is uncertain, `eta_span_s` is its interval. `sparks` are the recent rates, each a
    share of the highest; empty if they are not meaningful.

    A resumed job is one job: `attempt_count` requests, `chain` the id of its saved chain.
    `can_resume` is True exactly if resuming would be tried; `resume_note` says why it stopped;
    `saved_when` is when its newest token was received, and `saved_s` how long ago in a recording,
    whose time is not that of the computer. With `is_automatic` it is resumed
    automatically, at `next_attempt_at` if it waits for that.

    `parent` is the job on whose behalf the other side asks this; None also if that is ambiguous,
    which is `parent_is_unclear`. `questions` are the numbers of the frames with questions to the
    user for this job: requests of the server, or replies that require input; `question` is the text
    of the oldest one, empty if it has none. `cancel_state` is empty without a cancel, else
    "requested" (by the user), "sent" (to the server), "confirmed" (by it, or by its silence) or
    "ignored" (a result arrived nevertheless). `cancel_s` is how long ago it was requested or sent
    while it is pending; if it was ignored, how long after it the result arrived.

    `watched_client` is the client that made it, None for our own jobs: nothing may be sent for a
    watched one on its connection. With `can_resume_here` its newest token would be valid on a
    connection of ours. `begun_by` is the client that made the first attempt of a job that is
    resumed here. `clocks` are not derived from the wire: None unless we wait for the end of the
    call, and so None in a recording. `stream` is None unless an HTTP stream of the job has broken.
    `part_count` events of a stream, or partial results, were received. `usual_s` is the median
    duration of its tool's calls that ended well, beyond `slow_after_s` it is slower than usual.
    `traceparent` is the valid W3C trace context of its newest request.
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
    saved_s: float | None = None
    parent: JobId | None = None
    parent_is_unclear: bool = False
    task: TaskSnapshot | None = None
    questions: tuple[int, ...] = ()
    question: str = ""
    cancel_state: str = ""
    cancel_s: float | None = None
    clocks: Clocks | None = None
    stream: StreamSnapshot | None = None
    watched_client: str | None = None
    can_resume_here: bool = False
    begun_by: str | None = None
    eta_span_s: tuple[float, float] | None = None
    sparks: tuple[float, ...] = ()
    part_count: int = 0
    usual_s: float | None = None
    slow_after_s: float | None = None
    traceparent: str | None = None

    @property
    def is_slow(self) -> bool:
        """True if it runs for longer than 19 of 20 calls of its tool did."""
        is_running = self.state is JobState.RUNNING and self.slow_after_s is not None
        return is_running and self.elapsed_s > (self.slow_after_s or 0.0)

    @property
    def is_reissuable(self) -> bool:
        """True if its request can be sent again from here: another client's after its end."""
        is_ended_call = self.sender is Side.CLIENT and self.state.is_over
        return self.watched_client is None or is_ended_call


class AttemptSnapshot(NamedTuple):
    """One request of a resumed job; `number` counts from 1.

    `ended_when` is None while it runs, and if its end was not observed. `outcome` is the state it
    ended in, or a text for it; `request` the number of its frame, None if that was sent before this
    program started; `detail` says more about its end. `client` is the other client that made it,
    None for our own.
    """

    number: int
    started_when: float
    ended_when: float | None
    outcome: JobState | str
    request: int | None = None
    tick_count: int = 0
    detail: str = ""
    client: str | None = None


class ServerRequestSnapshot(NamedTuple):
    """A question in a message about a job of ours, and its answer.

    `number` is the frame that asked, `key` the question's name in it. `answer` is the result as we
    sent it at `answered_at`; None if there is none yet, or it was never sent.
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
    """The details of one job, created when its pane is open.

    `params` is the request's, `answer` the reply that ended it (None while it runs or if it was
    lost); `ticks` the newest ones; `chart` the whole history, thinned; `phases` oldest first, of
    which `dropped_phases` older ones are no longer kept, `pauses` the times between attempts, as
    its other times monotonic: `WorkClock` translates them. `attempts` are those of the resume
    chain, oldest first; `resume_token` is its newest token, hidden by views until it is revealed.
    `marked` has the findings of `ticks`, by their frame's number. `task_steps` are the newest
    changes of its task, oldest first; `children` the jobs that the other side requested on its
    behalf; `round_trips` how often a reply required input first, and `server_requests` the newest
    questions of such replies, oldest first. `stream_steps` are the newest events of its HTTP
    streams, `parts` the newest parts of its outcome before the reply, oldest first.
    """

    snapshot: JobSnapshot
    params: JsonObject
    answer: RequestAnswered | None
    ticks: Sequence[ProgressReceived]
    chart: Sequence[ChartPoint]
    phases: Sequence[Phase]
    pauses: Sequence[tuple[float, float]] = ()
    dropped_phases: int = 0
    attempts: Sequence[AttemptSnapshot] = ()
    resume_token: str | None = None
    marked: Mapping[int, tuple[Finding, ...]] = MappingProxyType({})
    task_steps: Sequence[TaskStep] = ()
    children: Sequence[JobId] = ()
    round_trips: int = 0
    server_requests: Sequence[ServerRequestSnapshot] = ()
    stream_steps: Sequence[StreamStep] = ()
    parts: Sequence[PartReceived] = ()


class ChainStep(NamedTuple):
    """How an attempt of a resumable job ended, to be saved before it is shown.

    `chain` is the id in the store, None for a chain that is not stored. `token` is a new one to
    save; `is_complete` says that the chain has ended and is to be deleted; else `outcome` says how
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
    """Changes of one `apply` or `tick`.

    `added` and `removed` are in order; `progressed` jobs had ticks or any other change to their
    snapshot; `moved` are those of them whose state changed. `ticks` has one entry for every
    `ProgressReceived`, in wire order: (job or None, that job's tick count after it, the fact);
    without a job the count is 0. A job in `removed` is in none of the other sets. `steps` are for
    the code that saves tokens: the jobs in them are shown as running until each is answered with
    `Chains.note_saved`. `marked` has a message's findings, by its frame's number; messages without
    a violation have no entry. `lapsed` are jobs that ended, or whose attempt did, by the clock:
    nobody needs to wait for their reply.
    """

    added: tuple[JobId, ...] = ()
    removed: tuple[JobId, ...] = ()
    progressed: frozenset[JobId] = frozenset()
    moved: frozenset[JobId] = frozenset()
    ticks: Sequence[tuple[JobId | None, int, ProgressReceived]] = ()
    steps: Sequence[ChainStep] = ()
    marked: Mapping[int, tuple[Finding, ...]] = MappingProxyType({})
    lapsed: tuple[JobId, ...] = ()
