"""Ticks that come in a run make of the jobs what they make of them one by one."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import FactRun, Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.tracker.job import TICKS_KEPT
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobDetail
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.findings import texts_of
from tests.unit.protocol.wire import call, error, notification, progress, result

TOKENS = ("a", "b", 7)
GRACE_S = 5.0
_identities = st.integers(0, len(TOKENS) - 1)
_odd = st.one_of(
    st.builds(progress, st.sampled_from([*TOKENS, "nobody's"]), st.integers(-5, 300)),
    st.builds(progress, st.sampled_from(TOKENS), st.integers(0, 9), total=st.integers(-1, 300)),
    st.builds(result, _identities),
    st.builds(error, _identities),
)

_rising = st.one_of(
    st.builds(progress, st.sampled_from(TOKENS), st.integers(200, 300), _meta=st.just({"a": 1})),
    st.just(notification("notifications/message", level="info", data="x")),
    st.just(notification("notifications/cancelled", requestId=0)),
)


@st.composite
def _ticks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Some ticks of all tokens in turn that rise, as a rule; with messages or none."""
    first, step = draw(st.integers(0, 200)), draw(st.sampled_from([1, 1, 0.5, 0]))
    totals: list[dict[str, float]] = [{}, {"total": 250}, {"total": 250.0}, {"total": 30}]
    more = draw(st.sampled_from(totals))
    arguments: list[dict[str, str]] = draw(
        st.sampled_from([[{}], [{"message": "one"}, {"message": "two"}, {}]])
    )
    tokens = draw(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=3, unique=True))
    return [
        progress(tokens[n % len(tokens)], first + n * step, **more, **arguments[n % len(arguments)])
        for n in range(draw(st.integers(8, 30)))
    ]


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("received"), _ticks()),
        st.tuples(st.just("received"), _ticks()),
        st.tuples(st.just("received"), st.lists(_odd, min_size=1, max_size=2)),
        st.tuples(st.just("received"), st.builds(list.__add__, _ticks(), st.lists(_odd))),
        st.tuples(st.just("received"), st.lists(_odd | _rising, min_size=8, max_size=20)),
        st.tuples(st.just("cancelled"), _identities),
        st.tuples(st.just("waited"), st.sampled_from([0.01, 0.06, GRACE_S, 20.0])),
    ),
    max_size=12,
)


class Side:
    """One of two that hear the same: chunks, or message by message without plain ticks."""

    def __init__(self, *, has_runs: bool) -> None:
        self.tracker = Tracker(cancel_grace_s=GRACE_S)
        self.now = 1.0
        self._has_runs = has_runs
        self._framer, self._conversation = Framer("s#1", FrameNumbers()), Conversation("s#1")
        for number, token in enumerate(TOKENS):
            self.send(call(number, token))

    def send(self, message: dict[str, Any]) -> ChangeSet:
        return self._take([self._framer.sent(encode(message), 1e9 + self.now, self.now)])

    def receive(self, messages: Sequence[dict[str, Any]]) -> ChangeSet:
        frames = self._framer.run(list(map(encode, messages)), 1e9 + self.now, self.now)
        if self._has_runs:
            return self._take(frames)
        return _together([self._take([frame]) for frame in frames])

    def _take(self, frames: Sequence[Frame]) -> ChangeSet:
        facts = self._conversation.read(frames)
        if not self._has_runs:
            facts = FactRun((), list(facts), [0] * len(facts))
        return self.tracker.apply(facts, self.now)

    def play(self, step: tuple[str, Any]) -> ChangeSet:
        match step:
            case "received", messages:
                return self.receive(messages)
            case "cancelled", identity:
                return self.send(notification("notifications/cancelled", requestId=identity))
            case _, seconds:
                self.now += seconds
                return self.tracker.tick(self.now)

    def details(self) -> list[JobDetail | None]:
        """All jobs, but for their phases: of a flood's messages, some are compared."""
        later = self.now + 3.0
        found = [self.tracker.detail(job, later) for job in self.tracker.jobs()]
        return [None if each is None else each._replace(phases=()) for each in found]


def _together(several: Sequence[ChangeSet]) -> ChangeSet:
    """Merge several change sets into one."""
    ticks = [tick for each in several for tick in each.ticks]
    marked = {number: found for each in several for number, found in each.marked.items()}
    progressed = frozenset().union(*(each.progressed for each in several))
    moved = frozenset().union(*(each.moved for each in several))
    lapsed = tuple(job for each in several for job in each.lapsed)
    return ChangeSet((), (), progressed, moved, ticks or (), (), marked, lapsed)


@given(_steps)
def test_a_run_does_to_jobs_what_its_ticks_do_one_by_one(steps: list[tuple[str, Any]]) -> None:
    fast, slow = Side(has_runs=True), Side(has_runs=False)
    for step in steps:
        changes, expected = fast.play(step), slow.play(step)
        assert changes == expected
        assert repr(changes.ticks) == repr(expected.ticks)  # of 1 and 1.0
        assert fast.details() == slow.details()


def test_plain_ticks_are_taken_in_a_run() -> None:
    side = Side(has_runs=True)
    changes = side.receive([progress(TOKENS[n % 3], n + 1, total=999) for n in range(900)])
    assert len(changes.ticks) == 900
    assert [changes.ticks[n][:2] for n in (0, 1, -1)] == [(1, 1), (2, 1), (3, 300)]
    [first, *_] = side.details()
    assert first is not None
    assert first.snapshot.tick_count == 300
    assert [tick.progress for tick in first.ticks] == list(range(301, 901, 3))[-TICKS_KEPT:]
    assert first.marked == {}


def test_a_tick_of_a_run_that_breaks_a_rule_is_marked_and_the_next_are_not() -> None:
    side = Side(has_runs=True)
    changes = side.receive([progress("a", n) for n in (1, 2, 3, 2, 3, 4, 5, 6)])
    [(number, text)] = texts_of(changes.marked).items()
    assert number == changes.ticks[3][2].number
    assert text == "Progress did not increase: 2 after 3"


def test_a_cancel_that_met_with_silence_ends_its_job_before_a_run_is_taken() -> None:
    side = Side(has_runs=True)
    side.send(notification("notifications/cancelled", requestId=0))
    side.now += GRACE_S
    changes = side.receive([progress("b", n) for n in range(8)])
    assert changes.lapsed == (1,)
    assert 1 in changes.moved
