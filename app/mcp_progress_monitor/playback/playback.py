"""A recording in place of live servers: the same facts, jobs and updates, at the reader's pace."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.playback.connections import Connections
from mcp_progress_monitor.playback.servers import Servers
from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.framing import may_be_batch
from mcp_progress_monitor.recording.reader import FileBytes, RecordingReader
from mcp_progress_monitor.recording.timeline import Timeline
from mcp_progress_monitor.tracker.overview import Overview
from mcp_progress_monitor.tracker.rows import Rows
from mcp_progress_monitor.tracker.snapshot import Changes
from mcp_progress_monitor.tracker.tracker import Tracker
from mcp_progress_monitor.updates import Listeners, Update

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from mcp_progress_monitor.protocol.facts import Fact, JsonObject
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.recording.reader import Chunk
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId, JobSnapshot

RUNNING_KEPT: Final = 100_000
"""Jobs without an end that are listed: a hostile file may have any number of them."""
_TICK_S: Final = 1.0
_SMALL: Final = 32
"""Frames from which on a chunk is taken in alone …"""
_TOGETHER: Final = 256
"""… and how many of smaller ones are at one go, or a few more."""
_WIRE: Final = frozenset({Channel.SENT, Channel.RECEIVED})
_FOR_EVER: Final = float("inf")
_NOTHING: Final = Changes()


class Playback(Overview):
    """The reading side of `Monitor`, fed by a file. Nothing is read before it is asked for.

    Every frame takes the way that a live one takes: `Framer`, `Conversation`, `Tracker`,
    `Timeline`, then one synchronous `Update`. Time is the recording's. Positions are seconds since
    the first frame.
    """

    def __init__(self, path: Path) -> None:
        """Open the recording that `path` is part of; `ProblemError` when it cannot be read."""
        self.path = path
        self.timeline = Timeline()
        self._reader = RecordingReader(path)
        for part in self._reader.parts:
            self.timeline.add_part(part.number, FileBytes(part.path))
        first, last = self._reader.first(), self._reader.last()
        self._begin_at = 0.0 if first is None else first.at
        self._begun_when = None if first is None else first.when
        self._end_at = self._begin_at if last is None else max(last.at, self._begin_at)
        self._listeners = Listeners()
        self._begin()

    def _begin(self) -> None:
        self.is_loaded = False
        """Whether all of the recording is here."""
        self._servers = Servers()
        self._rows = Rows(running_kept=RUNNING_KEPT)
        super().__init__(Tracker(self._rows, self._servers.key_of), self.now)
        self._connections = Connections()
        self._now = self._ticked_at = self._begin_at
        self._chunk: Chunk | None = None
        self._slices = self._reader.slices()
        self._reading: Iterator[None] | None = None

    # What there is

    @property
    def problems(self) -> list[Problem]:
        """What of the recording is not sound, as far as it has been read."""
        problems = [*self._reader.problems, *self._connections.problems, *self._servers.problems]
        running = len(self._rows.running) if self.is_ended else 0
        if running:
            problems.insert(0, _cut_off(running, self.path))
        dropped = self._tracker.dropped_count
        if dropped:
            what = "The recording has more jobs than are listed: the oldest are in its log alone"
            problems.append(Problem(what, str(self.path), detail=text.count(dropped, "job")))
        return problems

    @property
    def header(self) -> JsonObject:
        """What the recording says of itself: version, program, started, run …; or nothing."""
        return self._reader.header

    @property
    def first_path(self) -> Path:
        """The oldest part of the recording that is there: what is kept beside it is beside that."""
        return self._reader.parts[0].path

    @property
    def size(self) -> int:
        """Bytes of all parts of the recording together."""
        return self._reader.total_bytes

    @property
    def begun_when(self) -> float | None:
        """Wall time of the first frame; None when that is not known."""
        return self._begun_when

    @property
    def length_s(self) -> float:
        """Seconds from the first frame to the last."""
        return max(self._end_at, self._now) - self._begin_at

    @property
    def position_s(self) -> float:
        """How far into the recording `now` is."""
        return self._now - self._begin_at

    @property
    def progress(self) -> float:
        """How much of the file has been read, 0.0 to 1.0."""
        total = self._reader.total_bytes
        return 1.0 if self.is_loaded or not total else min(self._reader.read_bytes / total, 1.0)

    def now(self) -> float:
        """Monotonic seconds of the recording."""
        return self._now

    @property
    def is_ended(self) -> bool:
        """Whether all has been taken in: what runs then, nobody counts on."""
        return self.is_loaded and self._chunk is None and self._reading is None

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """A job now; None when there is none of that id, or no more."""
        found = super().snapshot(job)
        return None if found is None else self._as_of_end(found)

    def detail(self, job: JobId) -> JobDetail | None:
        """The longer story of a job; None when there is none of that id, or no more."""
        found = super().detail(job)
        return None if found is None else found._replace(snapshot=self._as_of_end(found.snapshot))

    def _as_of_end(self, job: JobSnapshot) -> JobSnapshot:
        """No speed and no time left of what the recording does not go on with."""
        if job.state.is_over or not self.is_ended:
            return job
        return dataclasses.replace(job, rate=None, eta_s=None)

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        """Call `listener` for every update until the returned function is called."""
        return self._listeners.add(listener)

    def questions(self) -> tuple[Question, ...]:
        """None: those of a recording were answered then, and are told of with their jobs."""
        return ()

    def servers(self) -> list[ServerSnapshot]:
        """All servers, in the order in which they were first heard of."""
        return self._servers.snapshots()

    def server(self, name: str) -> ServerSnapshot:
        """One server; `ProblemError` when there is none of that name."""
        return self._servers.snapshot(name)

    # Going on

    def advance(self, budget_s: float) -> bool:
        """Read on for about so long, whatever time that was in the recording.

        True while there is more.
        """
        return self._work(_FOR_EVER, budget_s)

    def play_until(self, at_s: float, budget_s: float = 0.05) -> bool:
        """Go on to a position, but work no longer than about `budget_s`.

        True while there is more of the recording. Where time did not suffice, `position_s` tells
        how far it went, and the next call goes on.
        """
        until = self._begin_at + at_s
        is_more = self._work(until, budget_s)
        if is_more and (self._chunk is not None) and self._time_of(self._chunk) > until:
            self._pass(max(self._now, until))
        return is_more

    def step(self) -> bool:
        """Go on by the frames of the next moment. True while there is more."""
        self._read_out()
        chunk = self._found()
        if chunk is not None:
            head, self._chunk = chunk.until(chunk.frames[0].at)
            self._take(head)
            self._read_out()
        return self._found() is not None

    def restart(self) -> None:
        """Go back to the beginning: all jobs and frames go, and come again as it is read."""
        gone, names = tuple(self._tracker.jobs()), self._servers.names()
        self.timeline.clear()
        self._begin()
        self._listeners.tell(Update(changes=Changes(removed=gone), servers=names))

    def _work(self, until: float, budget_s: float) -> bool:
        deadline = time.perf_counter() + budget_s
        while self._turn(until):
            if time.perf_counter() >= deadline:
                return not self.is_ended
        return not self.is_ended

    def _turn(self, until: float) -> bool:
        """Do a few milliseconds' work; False when there is nothing to do up to `until`."""
        if self._reading is not None:
            self._read_on()
            return True
        chunk = self._peek()
        if chunk is None:
            return not self.is_loaded
        if self._time_of(chunk) > until:
            return False
        if until == _FOR_EVER:
            self._chunk = None
            self._take_some(chunk)
        else:
            head, self._chunk = chunk.until(until)
            self._take(head)
        return True

    def _take_some(self, chunk: Chunk) -> None:
        """Take in a chunk with the small ones behind it.

        Where connections speak in turns each frame is a chunk, and telling of each takes twice as
        long as reading it. What is known of jobs is the same however facts are divided.
        """
        together, count = [chunk], len(chunk.frames)
        most = _TOGETHER if self._goes_along(chunk) else 0
        while count < most:
            following = next(self._slices, None)
            if following is None:
                break
            if following.part != chunk.part or not self._goes_along(following):
                self._chunk = following
                break
            together.append(following)
            count += len(following.frames)
        if len(together) == 1:
            self._take(chunk)
        else:
            self._apply_all(together)

    def _goes_along(self, chunk: Chunk) -> bool:
        """Whether a chunk is small, and nothing in it changes what the next ones mean."""
        frame = chunk.frames[0]
        return (
            len(chunk.frames) < _SMALL
            and chunk.facts is None
            and chunk.is_escaped is None
            and frame.channel in _WIRE
            and frame.is_complete
            and frame.part is None
            and not may_be_batch(frame.raw)
            and self._servers.knows(frame.connection)
            and not self._connections.is_large(chunk.frames)
        )

    def _peek(self) -> Chunk | None:
        """The next chunk; None as a pause, and at the end."""
        if self._chunk is None and not self.is_loaded:
            try:
                self._chunk = next(self._slices)
            except StopIteration:
                self._end()
        return self._chunk

    def _found(self) -> Chunk | None:
        """The next chunk, however long it takes to find one; None at the end."""
        while self._peek() is None and not self.is_loaded:
            pass
        return self._chunk

    def _time_of(self, chunk: Chunk) -> float:
        """When a chunk is due: a time that lies beyond the end is that of the end."""
        return min(chunk.frames[0].at, self._end_at)

    def _take(self, chunk: Chunk) -> None:
        """Take in a chunk: at once, or in slices from now on."""
        if chunk.facts is not None:
            self._apply(chunk, chunk.facts)
            return
        conversation = self._connections.of(chunk.frames[0].connection)
        if self._connections.is_large(chunk.frames):
            self._reading = self._in_slices(chunk, conversation.read_in_slices(chunk.frames))
        else:
            self._apply(chunk, conversation.read(chunk.frames))

    def _in_slices(self, chunk: Chunk, slices: Iterator[list[Fact]]) -> Iterator[None]:
        facts: list[Fact] = []
        for found in slices:
            facts += found
            yield
        self._apply(chunk, facts)

    def _read_on(self) -> None:
        if self._reading is not None and next(self._reading, self) is self:
            self._reading = None

    def _read_out(self) -> None:
        while self._reading is not None:
            self._read_on()

    def _apply(self, chunk: Chunk, facts: Sequence[Fact]) -> None:
        """Take in what a chunk means, as `Monitor` does with what a connection saw."""
        frames, offsets, sizes, is_escaped, part, _ = chunk
        self.timeline.columns.take(frames, facts, part, offsets, sizes, is_escaped=is_escaped)
        self._now = max(self._now, min(frames[-1].at, self._end_at))
        changes = self._tracker.apply(facts, self._now)
        self.timeline.mark(changes.marked)
        servers = self._servers.take(frames, facts)
        self._publish(frames, facts, changes, servers)

    def _apply_all(self, chunks: Sequence[Chunk]) -> None:
        """Do for many small chunks of one part what `_apply` does for each, at one go."""
        frames: list[Frame] = []
        facts: list[Fact] = []
        offsets: list[int] = []
        sizes: list[int] = []
        read = []
        for chunk in chunks:
            found = self._connections.of(chunk.frames[0].connection).read(chunk.frames)
            read.append((chunk.frames, found))
            frames += chunk.frames
            facts += found
            offsets += chunk.offsets
            sizes += chunk.sizes
            self._now = max(self._now, min(chunk.frames[-1].at, self._end_at))
        self.timeline.columns.take(frames, facts, chunks[0].part, offsets, sizes, is_mixed=True)
        changes = self._tracker.apply(facts, self._now)
        self.timeline.mark(changes.marked)
        servers: frozenset[str] = frozenset()
        for some, of_some in read:
            servers |= self._servers.take(some, of_some)
        self._publish(frames, facts, changes, servers)

    def _pass(self, now: float) -> None:
        """Let time pass without a frame."""
        self._now = now
        if now - self._ticked_at >= _TICK_S:
            self._tick()

    def _tick(self) -> None:
        self._ticked_at = self._now
        changes = self._tracker.tick(self._now)
        if changes != _NOTHING:
            self._publish(changes=changes)

    def _end(self) -> None:
        self.is_loaded = True
        self._now = max(self._now, self._end_at)
        self._tick()
        cut_off = frozenset(job.id for job in self._rows.running.values())
        if cut_off:
            self._publish(changes=Changes(progressed=cut_off))

    def _publish(
        self,
        frames: Sequence[Frame] = (),
        facts: Sequence[Fact] = (),
        changes: Changes = _NOTHING,
        servers: frozenset[str] = frozenset(),
    ) -> None:
        self._listeners.tell(Update(frames, facts, changes, servers))


def _cut_off(running: int, path: Path) -> Problem:
    verb = "was" if running == 1 else "were"
    return Problem(
        f"The recording ends here while {text.count(running, 'job')} {verb} running",
        str(path),
        "The program that wrote it was ended, or is still writing: what became of them is not in "
        "it.",
    )
