"""A recording in place of live servers: the same facts, jobs and updates, at a chosen pace."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.engine.recorded_chunks import ChunkReceiver, TakenChunk
from mcp_progress_monitor.engine.recorded_servers import RecordedServers
from mcp_progress_monitor.engine.updates import Listeners, Update
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.recording.files import missing_details
from mcp_progress_monitor.recording.growing import GrowingRecording
from mcp_progress_monitor.recording.reader import Chunk, FileBytes, RecordingReader
from mcp_progress_monitor.recording.timeline import Timeline
from mcp_progress_monitor.store.watched import UNKNOWN_CLIENT
from mcp_progress_monitor.tracker.rows import RowLimits
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobDetail, JobId, JobSnapshot
from mcp_progress_monitor.tracker.tracker import Jobs, Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.playback.following import FollowedRecording
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.recording.files import RecordingPart
    from mcp_progress_monitor.snapshots.questions import Question

RUNNING_KEPT: Final = 100_000
"""The most unfinished jobs listed: a hostile file may have any number of them."""
_TICK_S: Final = 1.0
_FOR_EVER: Final = float("inf")


class Playback:
    """The reading side of `Engine`, fed by a file.

    Reads only what is requested. Every frame passes the same objects as a live one: `Framer`,
    `Conversation`, `Tracker`, `Timeline`, then one synchronous `Update`. Time is the recording's.
    Positions are seconds since the first frame.
    """

    def __init__(
        self,
        path: Path,
        followed: FollowedRecording | None = None,
        imported_from: Path | None = None,
    ) -> None:
        """Open the recording that `path` is part of; `UserError` if it cannot be read.

        With `followed`, it is still being written and read as it grows. `imported_from` is the
        user's file that it was converted from.
        """
        self.path = imported_from or path
        self._imported_from = imported_from
        self.timeline = Timeline()
        self._followed = followed
        self._reader = (
            RecordingReader(path, self.timeline.note_numbering)
            if followed is None
            else GrowingRecording(
                path,
                followed.is_over,
                on_part=self._add_part,
                on_named=self.timeline.note_numbering,
            )
        )
        for part in self._reader.parts:
            self._add_part(part)
        self._last_frame_at = time.monotonic()
        first, last = self._reader.first(), self._reader.last()
        begun_us = self._reader.parts[0].base_us
        self._begin_at = begun_us / 1e6 if first is None else first.at
        self._begun_when = None if first is None else first.when
        self._end_at = self._begin_at if last is None else max(last.at, self._begin_at)
        self._listeners = Listeners()
        self.servers: Final = RecordedServers()
        self.questions: Final = NoQuestions()
        self.jobs: Final = RecordedJobs(self.now, lambda: self.is_ended)
        self._begin()

    def _add_part(self, part: RecordingPart) -> None:
        self.timeline.add_part(part.number, FileBytes(part.path))

    def _begin(self) -> None:
        self.is_loaded = False  # whether the whole recording has been read
        self.servers.clear()
        limits = RowLimits(running=RUNNING_KEPT)
        self._tracker = Tracker(limits, self.servers.key_of, self._client_of)
        self.jobs.restart(self._tracker)
        self._receiver = ChunkReceiver(self.servers, self._on_taken)
        self._now = self._ticked_at = self._begin_at
        self._chunk: Chunk | None = None
        self._slices = self._reader.slices()

    def _client_of(self, connection: str) -> str | None:
        """The client whose connection a tap recorded; None if we were the client."""
        name = server_name(connection)
        tap = self._reader.tap_of(name)
        return (self.servers.client_name(name, tap) or UNKNOWN_CLIENT) if tap else None

    # What there is

    @property
    def errors(self) -> list[ErrorDetails]:
        found = () if self._followed is None else self._followed.errors()
        connections = self._receiver.connections
        errors = [*found, *self._reader.errors, *connections.errors, *self.servers.errors]
        running = self._tracker.open_count if self.is_ended else 0
        if running:
            errors.insert(0, _cut_off(running, self.path))
        errors += missing_details(self.header, str(self.path))
        errors[:0] = _of_tap(self.header.get("tap"), self.path)
        dropped = self._tracker.dropped_count
        if dropped:
            what = "The recording has too many jobs to list. The oldest are shown only in Traffic"
            errors.append(
                ErrorDetails(what, str(self.path), detail=formatting.count(dropped, "job"))
            )
        return errors

    @property
    def is_imported(self) -> bool:
        """True if it was converted from another program's file."""
        return self._imported_from is not None

    @property
    def header(self) -> JsonObject:
        """The recording's header: version, program, started, run …; empty without one."""
        return self._reader.header

    @property
    def first_path(self) -> Path:
        """The oldest existing part of the recording; files about the recording are beside it."""
        return self._imported_from or self._reader.parts[0].path

    def part_path(self, number: int) -> Path | None:
        return next((part.path for part in self._reader.parts if part.number == number), None)

    @property
    def recorded_path(self) -> Path:
        """The recording itself, as of an engine that writes one."""
        return self.path

    @property
    def size(self) -> int:
        return self._reader.total_bytes

    @property
    def begun_when(self) -> float | None:
        """Wall time of the first frame; None if it is not known."""
        return self._begun_when

    @property
    def length_s(self) -> float:
        return max(self._end_at, self._now) - self._begin_at

    @property
    def position_s(self) -> float:
        return self._now - self._begin_at

    @property
    def is_following(self) -> bool:
        """True if everything written so far has been read, and more may be appended."""
        is_waiting = self._reader.is_waiting and self._chunk is None
        return is_waiting and not (self.is_loaded or self._receiver.is_reading)

    @property
    def progress(self) -> float:
        total = self._reader.total_bytes
        return 1.0 if self.is_loaded or not total else min(self._reader.read_bytes / total, 1.0)

    def now(self) -> float:
        return self._now

    @property
    def is_ended(self) -> bool:
        """True if all has been read; jobs still running then have no known end."""
        return self.is_loaded and self._chunk is None and not self._receiver.is_reading

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        """Call `listener` for every update until the returned function is called."""
        return self._listeners.add(listener)

    # Playing

    def advance(self, budget_s: float) -> bool:
        """Read for about `budget_s`, regardless of the recording's time; True while there is more.

        At the end of a growing recording, time continues.
        """
        is_more = self._work(_FOR_EVER, budget_s)
        if self.is_following:
            silent_s = time.monotonic() - self._last_frame_at
            self._pass(max(self._now, self._end_at + silent_s))
        return is_more

    def play_until(self, at_s: float, budget_s: float = 0.05) -> bool:
        """Play up to a position, for at most about `budget_s`; True while there is more.

        If that did not suffice, the next call continues from `position_s`.
        """
        until = self._begin_at + at_s
        is_more = self._work(until, budget_s)
        if is_more and (self._chunk is not None) and self._time_of(self._chunk) > until:
            self._pass(max(self._now, until))
        return is_more

    def step(self) -> bool:
        """Play all frames that have the next time; True while there is more."""
        self._receiver.finish_reading()
        chunk = self._found()
        if chunk is not None:
            head, self._chunk = chunk.until(chunk.frames[0].at)
            self._receiver.take(head)
            self._receiver.finish_reading()
        return self._found() is not None or not self.is_loaded

    def restart(self) -> None:
        """Go back to the start: remove all jobs and frames, to read them again."""
        removed, names = tuple(self._tracker.jobs()), frozenset(self.servers.names())
        self.timeline.clear()
        self._begin()
        self._listeners.publish(Update(changes=ChangeSet(removed=removed), servers=names))

    def _work(self, until: float, budget_s: float) -> bool:
        deadline = time.perf_counter() + budget_s
        while self._turn(until):
            if time.perf_counter() >= deadline:
                return not self.is_ended
        return not self.is_ended

    def _turn(self, until: float) -> bool:
        """Do a few milliseconds' work; False when there is nothing to do up to `until`."""
        if self._receiver.is_reading:
            self._receiver.read_on()
            return True
        chunk = self._peek()
        if chunk is None:
            return not (self.is_loaded or self._reader.is_waiting)
        if self._time_of(chunk) > until:
            return False
        if until == _FOR_EVER:
            self._chunk = self._receiver.take_many(chunk, self._slices)
        else:
            head, self._chunk = chunk.until(until)
            self._receiver.take(head)
        return True

    def _peek(self) -> Chunk | None:
        if self._chunk is None and not self.is_loaded:
            try:
                self._chunk = next(self._slices)
            except StopIteration:
                self._end()
        return self._chunk

    def _found(self) -> Chunk | None:
        """The next chunk, however long reading it takes; None if there is none yet."""
        while self._peek() is None and not (self.is_loaded or self._reader.is_waiting):
            pass
        return self._chunk

    def _time_of(self, chunk: Chunk) -> float:
        """The time of a chunk, at most that of the end."""
        return min(chunk.frames[0].at, self._end_at)

    def _on_taken(self, taken: TakenChunk) -> None:
        """Process the facts of a chunk, as `Engine` does for a live connection."""
        frames, facts = taken.frames, taken.facts
        self.timeline.columns.take(
            frames, facts, taken.part, taken.offsets, taken.sizes, is_escaped=taken.is_escaped
        )
        if self._followed is not None:
            self._note_end(frames)
        self._now = max(self._now, min(frames[-1].at, self._end_at))
        changes = self._tracker.apply(facts, self._now)
        self.timeline.mark(changes.marked)
        self._listeners.publish(Update(frames, facts, changes, taken.servers))

    def _note_end(self, frames: Sequence[Frame]) -> None:
        self._last_frame_at = time.monotonic()
        if self._begun_when is None:
            self._begun_when, self._begin_at = frames[0].when, frames[0].at
            self._now = self._ticked_at = self._end_at = self._begin_at
        self._end_at = max(self._end_at, frames[-1].at)

    def _pass(self, now: float) -> None:
        self._now = now
        if now - self._ticked_at >= _TICK_S:
            self._tick()

    def _tick(self) -> None:
        self._ticked_at = self._now
        changes = self._tracker.tick(self._now)
        if changes != ChangeSet():
            self._listeners.publish(Update(changes=changes))

    def _end(self) -> None:
        self.is_loaded = True
        self._now = max(self._now, self._end_at)
        self._tick()
        cut_off = self._tracker.running
        if cut_off:
            self._listeners.publish(Update(changes=ChangeSet(progressed=cut_off)))


def _cut_off(running: int, path: Path) -> ErrorDetails:
    verb = "was" if running == 1 else "were"
    return ErrorDetails(
        f"The recording ends here while {formatting.count(running, 'job')} {verb} running",
        str(path),
        "The program that wrote the recording exited early or is still writing. The outcome of "
        "these jobs is not recorded.",
    )


def _of_tap(tap: Any, path: Path) -> list[ErrorDetails]:
    """A note that a tap changed messages: by a script, or to ask for progress."""
    if as_object(tap).get("requests_progress") is True:
        what = "The tap asked for progress where the client did not"
        hint = (
            "These tokens begin with mcp-progress-monitor: and their progress was not forwarded to"
            ' the client. The "changed" events contain the requests as the client sent them.'
        )
        return [ErrorDetails(what, str(path), hint)]
    script = as_object(tap).get("script")
    if not isinstance(script, str):
        return []
    what = f"Changed by the script {formatting.one_line(script)}"
    hint = 'The lines show what the tap forwarded. The events "changed" hold what was sent.'
    return [ErrorDetails(what, str(path), hint)]


class RecordedJobs(Jobs):
    """The jobs of a recording, up to the position that was read."""

    def __init__(self, now: Callable[[], float], has_ended: Callable[[], bool]) -> None:
        """`now` is the recording's time; `has_ended` returns whether all of it has been read."""
        super().__init__(Tracker(), now)
        self._has_ended = has_ended

    def restart(self, tracker: Tracker) -> None:
        self._tracker = tracker

    @property
    def is_ended(self) -> bool:
        """True if all has been read; jobs still running then have no known end."""
        return self._has_ended()

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        found = super().snapshot(job)
        return None if found is None else self._as_of_end(found)

    def detail(self, job: JobId) -> JobDetail | None:
        found = super().detail(job)
        return None if found is None else found._replace(snapshot=self._as_of_end(found.snapshot))

    def _as_of_end(self, job: JobSnapshot) -> JobSnapshot:
        """The snapshot in the recording's time, without what only a running job has at its end."""
        if job.saved_when is not None:
            when = job.started_when + self._now() - job.started_at
            job = job._replace(saved_s=max(when - job.saved_when, 0.0))
        if job.state.is_over or not self.is_ended:
            return job
        return job._replace(rate=None, eta_s=None, eta_span_s=None, sparks=())


class NoQuestions:
    """No open questions: those of a recording are shown with their jobs."""

    def open(self) -> tuple[Question, ...]:
        return ()

    def find(self, _question: int) -> Question | None:
        return None
