"""A chunk does the same to all that is kept of a session, read as columns or message by message.

The latter by the general reader, and taken as facts of any kind.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.protocol.conversation import Conversation, Exchanges
from mcp_progress_monitor.protocol.frames import FactRun, Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.jsonrpc import decode_in_slices, encode
from mcp_progress_monitor.protocol.outline import finish
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.protocol.wire import call, notification, progress, request, result

TOKENS = ("a", "b:c", 7)
_rising = st.builds(
    progress,
    st.sampled_from(TOKENS),
    st.integers(1, 60),
    total=st.sampled_from([50, 50.0]),
    message=st.sampled_from(["one", "two: three", ""]),
)
_more = st.fixed_dictionaries({}, optional={"_meta": st.just({"x": 1}), "rate": st.floats(0, 9)})
_messages = st.one_of(
    _rising,
    _rising,
    st.builds(lambda more: progress("a", 9, **more), _more),
    st.builds(
        notification, st.just("notifications/message"), data=st.just("a"), level=st.just("i")
    ),
    st.builds(notification, st.sampled_from(["notifications/tools/list_changed", "x", "y/z"])),
    st.builds(
        progress, st.just("a"), st.sampled_from([1, 7, True]), total=st.sampled_from([None, 7])
    ),
    st.builds(result, st.integers(0, 5)),
    st.builds(request, st.integers(0, 3), st.just("ping")),
    st.builds(progress, st.sampled_from(["unknown", "7", None]), st.integers(0, 3)),
)
_EQUAL: list[dict[str, Any]] = [{"total": 50}, {"total": 50.0}, {}, {"total": 50.0}, {"total": 50}]
"""A total that is written in two ways, and left out."""
_batches = st.lists(_messages, min_size=1, max_size=20)
_lines = st.lists(
    st.one_of(
        st.builds(
            lambda comma, each: b"[" + comma.join(map(encode, each)) + b"]",
            st.sampled_from([b",", b", "]),
            _batches,
        ),
        _messages.map(encode),
        st.sampled_from([b"[INFO] started", b"[]", b"[1,{}]", b"", b"{"]),
    ),
    min_size=1,
    max_size=30,
)


class Session:
    """All that is kept of a session, as an engine and a window keep it."""

    def __init__(self, revision: str, *, at_once: bool) -> None:
        self.at_once = at_once
        self.tracker, self.recorder = Tracker(), Recorder()
        self.check = SessionChecker(self.tracker.job_of)
        self.conversation, self.exchanges = Conversation("s#1"), Exchanges()
        self.framer = Framer("s#1", FrameNumbers())
        self.kept: list[Any] = []
        asked = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {}}
        self.take([self._sent({**request(99, "initialize"), "params": asked})])
        agreed = {"protocolVersion": revision, "capabilities": {}, "serverInfo": {}}
        self.receive([encode({**result(99), "result": agreed})], 1.0)
        for number, token in enumerate(TOKENS):
            self.take([self._sent(call(number, token))])

    def _sent(self, message: Any) -> Frame:
        return self.framer.sent(encode(message), 1001.0, 1.0)

    def receive(self, lines: Sequence[bytes], at: float) -> None:
        for frames in self.framer.in_slices(lines, 1000.0 + at, at):
            self.take(frames)

    def take(self, frames: Sequence[Frame]) -> None:
        if self.at_once:
            for part, facts in self.conversation.read_parts(frames):
                self._keep(part, facts)
            return
        decoded = [finish(decode_in_slices(frame.raw)) for frame in frames]
        stated = list(chain.from_iterable(map(self.exchanges.state, frames, decoded)))
        self._keep(list(frames), FactRun((), stated, [0] * len(stated)))

    def _keep(self, frames: Sequence[Frame], facts: FactRun) -> None:
        changes = self.tracker.apply(facts, 9.0)
        self.recorder.take(frames, facts)
        self.recorder.mark(changes.marked)
        self.check.take(frames, facts, changes.marked)
        self.kept += [*facts, *changes.ticks, *changes.marked.items()]

    def _detail(self, job: JobId) -> JobDetail | None:
        """A job, but for its phases: of a flood's messages, some are compared."""
        found = self.tracker.detail(job, 9.0)
        return None if found is None else found._replace(phases=())

    def whole(self) -> dict[str, Any]:
        timeline = self.recorder.timeline
        places, columns = range(timeline.end), timeline.columns
        results = self.check.judge.results
        return {
            "facts": sorted(map(repr, self.kept)),
            "frames": timeline.frames(0, timeline.end),
            "index": [
                (timeline.kind(n), timeline.exchange(n), timeline.is_marked(n)) for n in places
            ],
            "columns": [
                (
                    *map(columns.methods.value, each.methods),
                    *map(columns.tokens.value, each.tokens),
                    *map(columns.sources.value, each.sources),
                    *each.offsets,
                    *each.sizes,
                    *each.ats,
                )
                for each in columns.segments
            ],
            "size": columns.end,
            "jobs": list(map(self._detail, self.tracker.jobs())),
            "results": sorted(repr((r.finding, r.by, r.job, r.count, r.frames)) for r in results),
            "rules": results.servers(),
        }


@settings(deadline=None, max_examples=25)
@given(
    st.lists(_lines, min_size=1, max_size=3),
    st.sampled_from(["2025-03-26", "2025-11-25", "2024-11-05"]),
)
@example([[encode(progress("a", n, **more)) for n, more in enumerate(_EQUAL)]], "2025-11-25")
def test_a_chunk_is_kept_as_its_messages_are_one_by_one(
    chunks: list[list[bytes]], revision: str
) -> None:
    fast, slow = Session(revision, at_once=True), Session(revision, at_once=False)
    for number, lines in enumerate(chunks):
        for session in (fast, slow):
            session.receive(lines, 2.0 + number)
    expected = slow.whole()
    for name, value in fast.whole().items():
        assert value == expected[name], name
