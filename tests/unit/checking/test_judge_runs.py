"""What a run of messages breaks is what its messages break one by one."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.checking.judge import SessionJudge
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import FactRun, Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.protocol.wire import call, notification, progress, result

TOKENS = ("a", "b", "c")
_ticks = st.builds(
    progress,
    st.sampled_from(TOKENS),
    st.integers(0, 30),
    total=st.sampled_from([20, 20, 20, 20, 0]),
)
_some = st.one_of(
    _ticks,
    _ticks,
    _ticks,
    st.just(notification("notifications/message", level="info", data="x")),
    st.just(notification("notifications/tools/list_changed")),
    st.just(progress("a", 1, message="\x07")),
    st.builds(result, st.integers(0, len(TOKENS) - 1)),
)
_flood = st.builds(
    lambda tokens, first: [progress(tokens[n % len(tokens)], first + n) for n in range(120)],
    st.lists(st.sampled_from(TOKENS), min_size=1, max_size=3, unique=True),
    st.integers(0, 900),
)
_chunks = st.lists(
    st.tuples(
        st.sampled_from([0.01, 0.3, 0.6, 1.2, 40.0]),
        st.one_of(st.lists(_some, min_size=1, max_size=40), _flood),
    ),
    max_size=8,
)


class Session:
    """Tracker and judge of one connection, fed with chunks, or message by message."""

    def __init__(self, *, has_runs: bool) -> None:
        self._has_runs = has_runs
        self._framer, self._conversation = Framer("s#1", FrameNumbers()), Conversation("s#1")
        self._tracker = Tracker()
        self.judge = SessionJudge(self._tracker.job_of)
        for number, token in enumerate(TOKENS):
            self._take([self._framer.sent(encode(call(number, token)), 1e9, 1.0)])

    def receive(self, messages: Sequence[dict[str, Any]], at: float) -> list[object]:
        """The frames with grave findings, and all results so far."""
        frames = self._framer.run(list(map(encode, messages)), 1e9 + at, at)
        grave: set[int] = set()
        for some in [frames] if self._has_runs else [[frame] for frame in frames]:
            self._take(some)
            grave |= self.judge.results.error_frames()
        results = [
            (r.rule, r.by, r.job, r.request, r.finding, r.count)
            # Which of the ticks of a moment are too many is not said.
            + (() if r.rule == rules.TICK_FLOOD.id else (r.frames, r.last))
            for r in self.judge.results
        ]
        return [sorted(grave), sorted(results, key=repr)]

    def _take(self, frames: Sequence[Frame]) -> None:
        facts = self._conversation.read(frames)
        if not self._has_runs:
            facts = FactRun((), list(facts), [0] * len(facts))
        self.judge.take(frames, facts, self._tracker.apply(facts, 0.0).marked)


@given(_chunks)
def test_a_run_breaks_what_its_messages_break(
    chunks: list[tuple[float, list[dict[str, Any]]]],
) -> None:
    fast, slow, at = Session(has_runs=True), Session(has_runs=False), 2.0
    for pause_s, messages in chunks:
        at += pause_s
        assert fast.receive(messages, at) == slow.receive(messages, at)


def test_ticks_that_fall_are_counted_in_each_run_for_each_job() -> None:
    session = Session(has_runs=True)
    for at in (2.0, 2.1, 2.2):
        session.receive([progress(token, n) for n in (9, 8, 7, 6, 5) for token in ("a", "b")], at)
    counts = {r.job: r.count for r in session.judge.results if r.rule == rules.NOT_INCREASING.id}
    assert counts == {1: 12, 2: 12}
