"""A timeline in memory, and a Traffic model on it, that tests put frames into."""

from collections.abc import Sequence

from mcp_progress_monitor.gui.traffic.model import TrafficModel
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.recording.timeline import Timeline
from tests.findings import finding


class Memory:
    """Bytes of a part; counts how often they are read."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.reads = 0

    def read(self, offset: int, size: int) -> bytes:
        """As a file would."""
        self.reads += 1
        return self.raw[offset : offset + size]


class Tape:
    """A timeline that frames are put into, each batch a part of its own.

    The oldest parts go when there are more than `capacity` frames; the newest part stays.
    """

    def __init__(self, capacity: int = 1 << 60) -> None:
        self.timeline = Timeline()
        self.parts: list[Memory] = []
        self._capacity = capacity
        self._oldest = 0
        self._conversations: dict[str, Conversation] = {}

    def append(self, frames: Sequence[Frame]) -> None:
        """Enter frames as the newest, with the facts that a connection would read from them."""
        part = len(self.parts)
        self.parts.append(Memory(b"".join(frame.raw for frame in frames)))
        self.timeline.add_part(part, self.parts[-1])
        offset = 0
        for frame in frames:
            name = frame.connection
            conversation = self._conversations.setdefault(name, Conversation(name))
            facts = conversation.read([frame])
            self.timeline.columns.take([frame], facts, part, [offset], [len(frame.raw)])
            offset += len(frame.raw)
        while self.timeline.end - self.timeline.first > self._capacity and self._oldest < part:
            self.drop()

    def drop(self) -> None:
        """Let the oldest part go."""
        self.timeline.drop_part(self._oldest)
        self._oldest += 1


class TapedTraffic(TrafficModel):
    """A Traffic model that frames are appended to; `jobs` are the requests of jobs."""

    def __init__(self, capacity: int = 1 << 60, jobs: dict[int, set[int]] | None = None) -> None:
        self.tape = Tape(capacity)
        self.jobs = jobs or {}
        super().__init__(self.tape.timeline, self._requests)

    def frame(self, row: int, limit: int | None = None) -> Frame | None:
        """The frame of a row, with at most `limit` of its bytes."""
        is_row = 0 <= row < self.rowCount()
        return self.timeline.frame(self.place(row), limit) if is_row else None

    def append(self, frames: Sequence[Frame]) -> None:
        """Enter frames as the newest, and show them."""
        self.tape.append(frames)
        self.refresh()

    def break_rules(self, marked: dict[int, str]) -> None:
        """Mark frames that are there, as a source and its feed do."""
        self.timeline.mark(marked)
        self.mark({number: (finding(text),) for number, text in marked.items()})

    def _requests(self, job: int) -> set[int]:
        return self.jobs.get(job, set())
