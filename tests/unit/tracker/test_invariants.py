"""What holds for every sequence of facts, and for a very long one."""

import gc
import math
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.facts import (
    ConnectionClosed,
    Fact,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.frames import FactRun
from mcp_progress_monitor.protocol.messages import RELATED_TASK
from mcp_progress_monitor.tracker.rows import RowLimits
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.findings import finding
from tests.unit.protocol.wire import JSON, notification, progress, request, result
from tests.unit.tracker.dialogue import Dialogue, flat, nested
from tests.unit.tracker.story import Story
from tests.unit.tracker.test_estimate_fraction import NUMBERS

META = {"_meta": {RELATED_TASK: {"taskId": "T"}}}
_OURS = (
    "*/app/mcp_progress_monitor/tracker/*",
    "*/app/mcp_progress_monitor/protocol/*",
    "<string>",
)
_REQUESTS = st.sampled_from([1, 2, 3, 4, 5])
_RESUME = st.sampled_from([None, "t1", "t2", "", 3])
_KNOWN = st.one_of(st.none(), _REQUESTS)
_NUMBER = st.integers(1000, 10**6)
_AT = st.floats(0, 1000)
_SIDE = st.sampled_from(Side)
_STANDING = st.sampled_from(RequestStanding)
_VIOLATIONS = st.sampled_from([(), (), (), (finding("odd"),)])
_SMALL = st.one_of(st.integers(-2, 12), st.floats(-2, 12), NUMBERS)
_CONNECTION = st.sampled_from(["s#1", "s#2"])
_OBJECT = st.dictionaries(
    st.sampled_from(["isError", "content", "resultType", "message", "code"]),
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda children: st.lists(children, max_size=3),
        max_leaves=5,
    ),
)

_MADE = st.builds(
    RequestMade, _REQUESTS, _CONNECTION, _AT, _AT, _SIDE, st.integers(0, 9),
    st.sampled_from(["tools/call", "ping"]), _OBJECT, st.sampled_from([None, "a", 0, 1.5, []]),
    _RESUME, _VIOLATIONS,
)  # fmt: skip
_ANSWERED = st.builds(
    RequestAnswered, _NUMBER, _CONNECTION, _AT, _AT, _SIDE, st.integers(0, 9), _KNOWN, _STANDING,
    st.none() | _OBJECT, st.none() | _OBJECT, _RESUME, st.integers(0, 10**6), _VIOLATIONS,
)  # fmt: skip
_CANCELLED = st.builds(
    RequestCancelled, _NUMBER, _CONNECTION, _AT, _AT, _SIDE, st.integers(0, 9), _KNOWN, _STANDING,
    st.none() | st.text(max_size=5), _VIOLATIONS,
)  # fmt: skip
_CLOSED = st.builds(
    ConnectionClosed, _NUMBER, _CONNECTION, _AT, _AT, st.text(max_size=5), st.none() | st.integers()
)
_TICK = st.builds(
    ProgressReceived, _NUMBER, _CONNECTION, _AT, _AT, _SIDE, st.just("a"), _KNOWN, _STANDING,
    st.none() | _SMALL, st.none() | _SMALL, st.none() | st.text(max_size=6), _VIOLATIONS,
)  # fmt: skip
_FACTS: st.SearchStrategy[Fact] = st.one_of(
    _MADE, _TICK, _TICK, _TICK, _ANSWERED, _CANCELLED, _CLOSED
)


@given(
    st.lists(st.lists(_FACTS, max_size=10), max_size=6),
    st.lists(_AT, min_size=8, max_size=8),
    st.booleans(),
)
def test_no_sequence_of_facts_breaks_the_tracker(
    chunks: list[list[Fact]], times: list[float], saves: bool
) -> None:
    tracker = Tracker(RowLimits(ended=2, resting=1), saves=saves)
    for chunk, now in zip(chunks, times, strict=False):
        before = set(tracker.jobs())
        changes = tracker.apply(FactRun.of(chunk), now)
        after = set(tracker.jobs())
        reported = [fact for fact in chunk if isinstance(fact, ProgressReceived)]
        assert [fact for _, _, fact in changes.ticks] == reported
        assert (before | set(changes.added)) - set(changes.removed) == after
        assert changes.moved <= changes.progressed <= after
        for job in after:
            _check_job(tracker, job, now)
        for step in changes.steps:
            tracker.chains.note_saved(step.job, None if step.is_complete else step.job)
        assert tracker.chains.size <= len(tracker.jobs())
        assert tracker.tick(now).progressed <= after | before


def _check_job(tracker: Tracker, job: int, now: float) -> None:
    """What holds for the picture of any job."""
    detail = tracker.detail(job, now)
    assert detail is not None
    snapshot = detail.snapshot
    assert snapshot.fraction is None or 0.0 <= snapshot.fraction <= 1.0
    assert snapshot.rate is None or math.isfinite(snapshot.rate)
    assert snapshot.eta_s is None or snapshot.eta_s >= 0
    assert snapshot.elapsed_s >= 0
    assert snapshot.silent_s >= 0
    assert len(detail.ticks) == min(snapshot.tick_count, 200)
    assert 0 <= snapshot.late_count <= snapshot.tick_count
    assert snapshot.state.is_over == (snapshot.ended_at is not None)
    assert not snapshot.can_resume or detail.resume_token
    if snapshot.tick_count > snapshot.late_count and snapshot.progress is not None:
        assert detail.chart[-1].low <= detail.chart[-1].last <= detail.chart[-1].high


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(-50, 1000)), min_size=1, max_size=60))
def test_the_chart_of_a_job_has_the_extremes_of_all_its_ticks(
    course: list[tuple[float, int]],
) -> None:
    story = Story()
    request = story.call()
    for gap, value in course:
        story.now += gap
        story.tick(request, value)
    chart, values = story.detail(request).chart, [value for _, value in course]
    assert min(point.low for point in chart) == min(values)
    assert max(point.high for point in chart) == max(values)
    assert chart[-1].last == values[-1]
    assert story.job(request).tick_count == len(course)


def _calls(story: Story, count: int) -> None:
    """Calls from request to reply, each with progress; every tenth fails in another way."""
    for place in range(count):
        request = story.call(f"token {place}")
        for value in (1, 2, 2):
            story.now += 0.1
            story.tick(request, value, 2, f"step {value}")
        if place % 10:
            story.reply(request)
        else:
            story.cancel(request)
            story.now += 10
            story.tracker.tick(story.now)
            story.tick(request, 3, 2)
        story.tell(story.progress(None, 1))


def _traced_bytes(story: Story) -> int:
    """Traced memory without what only the story remembers."""
    story.forget_standings()
    return _bytes_of_ours()


def _bytes_of_ours() -> int:
    """Bytes that tracker and protocol hold, without the interpreter's free lists.

    Named tuples are made in a file of no name. What other tests have left running is not counted.
    """
    gc.collect()
    found = tracemalloc.take_snapshot().filter_traces(
        [tracemalloc.Filter(inclusive=True, filename_pattern=pattern) for pattern in _OURS]
    )
    return sum(trace.size for trace in found.traces)


@pytest.fixture
def _traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.requirement("FR-5")
@pytest.mark.usefixtures("_traced")
def test_calls_leave_nothing_behind_but_their_bounded_rows() -> None:
    """A million calls are these, over and over: growth by a single reference would show."""
    story = Story(Tracker(RowLimits(ended=50)))
    _calls(story, 700)
    before = _traced_bytes(story)
    _calls(story, 1000)
    after = _traced_bytes(story)
    assert story.tracker.open_count == 0
    assert len(story.tracker.jobs()) == 50
    assert story.tracker.dropped_count == 1650
    assert after - before < 1000 * 4  # the slack is for the allocator: no pointer has four bytes


def _dealings(wire: Dialogue, count: int) -> None:
    """Tasks, rounds and questions from their begin to their end, each in its own way."""
    for place in range(count):
        wire.now += 1
        wire.call(f"t{place}", task={})
        wire.reply(task=nested("working", f"T{place}"))
        wire.receive(request(place, "elicitation/create"))
        wire.send(result(place, action="accept"))
        wire.tell(nested("input_required", f"T{place}"))
        wire.tell(nested("completed", f"T{place}"))
        wire.call(f"r{place}")
        wire.reply(resultType="input_required", inputRequests={"k": {}}, requestState=f"s{place}")
        wire.call(f"r{place}", requestState=f"s{place}", inputResponses={"k": {}})
        wire.reply(content=[])


@pytest.mark.usefixtures("_traced")
def test_tasks_rounds_and_questions_leave_nothing_behind() -> None:
    wire = Dialogue(Tracker(RowLimits(ended=50)))
    sizes = []
    for _ in range(3):
        _dealings(wire, 60)
        wire.reconnect()  # what a conversation remembers is bounded by more than these
        sizes.append(_bytes_of_ours())
    assert wire.tracker.open_count == 0
    assert len(wire.tracker.jobs()) == 50
    assert sizes[-1] - sizes[-2] < 60 * 4


@pytest.mark.usefixtures("_traced")
def test_removed_jobs_leave_nothing_behind() -> None:
    story = Story()
    sizes = []
    for _ in range(3):
        _calls(story, 300)
        story.tracker.remove(story.tracker.jobs())
        sizes.append(_traced_bytes(story))
    assert story.tracker.jobs() == ()
    assert sizes[-1] - sizes[0] < 600 * 4


_STATUS = st.sampled_from(
    ["working", "input_required", "completed", "failed", "cancelled", "odd", ""]
)


_EXTRA = st.dictionaries(
    st.sampled_from(["result", "error", "inputRequests", "statusMessage", "ttl", "ttlMs", "_meta"]),
    st.one_of(JSON, st.dictionaries(st.sampled_from(["k", "isError", "code", "message"]), JSON)),
)


_STEP = st.sampled_from(
    [
        "call", "created", "created flat", "get", "result", "cancel", "update", "list", "status",
        "error", "question", "answer", "progress", "notice", "give up", "close", "wait", "retry",
        "input",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(_STEP, _STATUS, _EXTRA), max_size=25), st.booleans())
def test_no_order_of_task_messages_breaks_anything(
    steps: list[tuple[str, str, dict[str, Any]]], saves: bool
) -> None:
    wire = Dialogue(Tracker(RowLimits(ended=3), saves=saves))
    wire.begin()
    for step, status, extra in steps:
        _take_step(wire, step, status, extra)
        for saved in wire.changes[-1].steps:
            wire.tracker.chains.note_saved(saved.job, saved.job)
        for job in wire.tracker.jobs():
            wire.tracker.note_task_saved(job)
            _check_dealings(wire, job)
    wire.event("closed")
    assert wire.tracker.open_count == 0


@given(st.lists(st.tuples(_STEP, _STATUS, _EXTRA), max_size=15))
def test_a_recording_shows_the_same_tasks_and_questions(
    steps: list[tuple[str, str, dict[str, Any]]],
) -> None:
    wire = Dialogue()
    wire.facts = []
    wire.begin()
    for step, status, extra in steps:
        if step != "wait":  # the ticks of the clock are no facts
            _take_step(wire, step, status, extra)
    again = Tracker()
    again.apply(FactRun.of(wire.facts), wire.now)
    assert again.jobs() == wire.tracker.jobs()
    for job in again.jobs():
        assert again.detail(job, wire.now) == wire.tracker.detail(job, wire.now)


def _take_step(wire: Dialogue, step: str, status: str, extra: dict[str, Any]) -> None:
    wire.now += 1
    if step in {"get", "cancel", "update", "result", "list"}:
        wire.ask(f"tasks/{step}", taskId="T", inputResponses=extra)
        stated = {**nested(status), **extra}
        wire.reply(**{"result": extra, "list": {"tasks": [stated, extra]}}.get(step, stated))
        return
    _OTHER_STEPS[step](wire, status, extra)


_OTHER_STEPS: dict[str, Callable[[Dialogue, str, dict[str, Any]], object]] = {
    "call": lambda wire, _, __: wire.call("a", task={}),
    "created": lambda wire, status, extra: wire.reply(task={**nested(status), **extra}),
    "created flat": lambda wire, status, extra: wire.reply(
        **{**flat(status), **extra, "resultType": "task"}
    ),
    "error": lambda wire, _, __: (wire.ask("tasks/get", taskId="T"), wire.refuse(-32602)),
    "status": lambda wire, status, extra: wire.tell({**nested(status), **extra}),
    "question": lambda wire, _, __: wire.receive(request("q", "elicitation/create", **META)),
    "answer": lambda wire, _, extra: wire.send(result("q", **extra)),
    "progress": lambda wire, _, extra: wire.receive(progress("a", len(extra))),
    "input": lambda wire, _, extra: wire.reply(**{**extra, "resultType": "input_required"}),
    "retry": lambda wire, _, extra: wire.call("a", inputResponses=extra),
    "notice": lambda wire, _, __: wire.send(notification("notifications/cancelled", requestId=1)),
    "give up": lambda wire, _, __: wire.event("cancel_requested", request=1),
    "close": lambda wire, _, __: wire.reconnect(),
    "wait": lambda wire, _, __: wire.wait(10),
}


def _check_dealings(wire: Dialogue, job: int) -> None:
    """What holds for any job, whatever was said of it."""
    detail = wire.tracker.detail(job, wire.now)
    assert detail is not None
    snapshot = detail.snapshot
    assert snapshot.state.is_over == (snapshot.ended_at is not None)
    assert snapshot.cancel_state in {"", "requested", "sent", "confirmed", "ignored"}
    assert (snapshot.state is JobState.NEEDS_YOU) <= (
        snapshot.sender is Side.SERVER
        or bool(snapshot.questions)
        or (snapshot.task is not None and snapshot.task.status == "input_required")
    )
    task = snapshot.task
    assert task is None or task.ttl_left_s is None or task.ttl_left_s >= 0
    assert task is None or not (task.is_ours_to_cancel and snapshot.state.is_over)
    assert task is not None or not detail.task_steps
    for child in detail.children:
        found = wire.tracker.snapshot(child, wire.now)
        assert found is not None
        assert found.parent == job
