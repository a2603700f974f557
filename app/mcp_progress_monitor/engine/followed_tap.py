"""One recording that a tap is writing, read like the traffic of a live connection."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.engine.recorded_chunks import ChunkReceiver, TakenChunk
from mcp_progress_monitor.engine.recorded_servers import RecordedServers
from mcp_progress_monitor.protocol.facts import ConnectionClosed
from mcp_progress_monitor.protocol.frames import Channel, Frame, server_name
from mcp_progress_monitor.recording.files import began_of
from mcp_progress_monitor.recording.folder import run_of
from mcp_progress_monitor.recording.growing import GrowingRecording
from mcp_progress_monitor.recording.numbering import SharedNumbering, renumbered
from mcp_progress_monitor.recording.sources import WatchedName, as_tap
from mcp_progress_monitor.recording.timeline import FileBytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.framing import FrameNumbers
    from mcp_progress_monitor.recording.files import RecordingPart
    from mcp_progress_monitor.recording.reader import Chunk

_CLOCKS_DIFFER_S: Final = 5.0


class Elsewhere(NamedTuple):
    """The machine of a tap, by its name here; `shift_s` is what to add to its monotonic times.

    `is_reached` returns whether what it records there comes here now.
    """

    machine: str
    shift_s: Callable[[], float]
    is_reached: Callable[[], bool]


class Tap:
    """One recording that a tap writes, followed to its end.

    Its servers are renamed to `NAME@PID`: two clients may run the same server, and so may we.
    """

    def __init__(
        self,
        path: Path,
        is_over: Callable[[], bool],
        numbers: FrameNumbers,
        clock: Clock,
        sink: Callable[[Tap, TakenChunk], None],
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Read the recording at `path`, whose header is complete, until `is_over`.

        Results go to `sink`. `elsewhere` is the machine that it was copied from. `UserError` if it
        cannot be read.
        """
        self.path = path
        self.machine: Final = "" if elsewhere is None else elsewhere.machine
        self._elsewhere = elsewhere
        self.source: Final = FileBytes(path)
        self.servers: Final = RecordedServers()
        self.labels: Final[dict[str, str]] = {}
        """The name given to the tap, by the server's name here."""
        self.read_until: float | None = None
        """Time of the newest frame that was read, monotonic seconds."""
        self.is_ended = False
        self.serial = 1  # distinguishes taps whose process id was reused
        self._clock = clock
        self.numbers: Final = SharedNumbering(numbers)
        self._recording = GrowingRecording(
            path, is_over, numbers=self.numbers, name_of=self._name_of, shift_us=self._shift_us
        )
        self._sink = sink
        self._slices: Iterator[Chunk | None] = self._recording.slices()
        self._chunk: Chunk | None = None
        self._receiver = ChunkReceiver(self.servers, self._on_taken, self._renumbered)
        self._closed: set[str] = set()
        self._shifts: dict[int, int] = {}
        self._parent: str | None = None

    @property
    def about(self) -> JsonObject:
        """The header's description of the tap."""
        return as_tap(self._recording.header)

    @property
    def is_reached(self) -> bool:
        """False while the connection to its machine is lost."""
        return self._elsewhere is None or self._elsewhere.is_reached()

    @property
    def owner(self) -> str:
        """The process id of the tap, or else the name of the recording."""
        pid = self.about.get("pid")
        return str(pid) if type(pid) is int else run_of(self.path)

    @property
    def parent_name(self) -> str:
        """The program that started the tap; empty if the system does not reveal it."""
        parent = self.about.get("parent")
        if type(parent) is not int or self._parent is not None or self.machine:
            return self._parent or ""
        self._parent = ""
        with contextlib.suppress(OSError):  # Linux only; asked once
            self._parent = Path(f"/proc/{parent}/comm").read_text(errors="replace").strip()
        return self._parent

    @property
    def began_when(self) -> float | None:
        began = began_of(self._recording.header)
        return None if began is None else began[0]

    @property
    def is_behind(self) -> bool:
        """True if more can be read at once."""
        is_waiting = self._recording.is_waiting and self._chunk is None
        return not (self.is_ended or (is_waiting and not self._receiver.is_reading))

    @property
    def open_connections(self) -> list[str]:
        return [name for name in self._receiver.connections.names() if name not in self._closed]

    def read(self, budget_s: float) -> bool:
        """Read on for about `budget_s`; whether more can be read at once."""
        deadline = time.perf_counter() + budget_s
        while not self.is_ended:
            if not self._turn():
                return False
            if time.perf_counter() >= deadline:
                return self.is_behind
        return False

    def _turn(self) -> bool:
        """Work for a few milliseconds; False once everything available was read."""
        if self._receiver.is_reading:
            self._receiver.read_on()
            return True
        if self._chunk is None:
            try:
                self._chunk = next(self._slices)
            except StopIteration:
                self.is_ended = True
                return False
        if self._chunk is None:
            return not self._recording.is_waiting
        chunk, self._chunk = self._chunk, None
        self._chunk = self._receiver.take_many(chunk, self._slices)
        return True

    def _renumbered(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        """Frames whose events name requests by the numbers used here."""
        if frames[0].channel is not Channel.EVENT:
            return frames
        return [renumbered(frame, self.numbers.number_of) for frame in frames]

    def _name_of(self, connection: str) -> str:
        """The name used here for a connection of the recording."""
        name = WatchedName.of(connection, self.owner, self.serial)
        self.labels[server_name(name.connection)] = name.label
        return name.connection

    def _shift_us(self, part: RecordingPart) -> int:
        """The offset from a recording's times to our monotonic clock, in microseconds.

        It changes when a machine, this or another, has slept while the other one did not.
        """
        if self._elsewhere is not None:
            return round(self._elsewhere.shift_s() * 1e6)
        if part.number not in self._shifts:
            self._shifts[part.number] = self._shift_here_us(part)
        return self._shifts[part.number]

    def _shift_here_us(self, part: RecordingPart) -> int:
        """The offset of a part that was written on this machine.

        A tap with a lock runs on this machine, so its monotonic clock is ours. If that is
        impossible, because more time has passed by it than by the wall clock, the wall clock
        decides.
        """
        began = began_of(part.fields)
        if began is None:
            return 0
        began_when, began_at = began
        passed_s = self._clock.wall() - began_when
        by_ours_s = self._clock.monotonic() - began_at
        if -_CLOCKS_DIFFER_S < by_ours_s < passed_s + _CLOCKS_DIFFER_S:
            return 0
        return round((by_ours_s - passed_s) * 1e6)

    def _on_taken(self, taken: TakenChunk) -> None:
        self.read_until = taken.frames[-1].at
        if taken.frames[0].channel is Channel.EVENT:
            closed = (fact for fact in taken.facts if isinstance(fact, ConnectionClosed))
            self._closed.update(fact.connection for fact in closed)
        self._sink(self, taken)
