"""Timelines in memory, made the way that live ones are, and searches through them."""

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.filtering.search import Search, compiled
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.facts import Fact
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.recording.format import escaped
from mcp_progress_monitor.recording.timeline import Timeline

WHEN = 1_800_000_000.0
"""Wall time at monotonic time 0."""


class Memory:
    """The bytes of a part."""

    def __init__(self) -> None:
        self.content = bytearray()

    def read(self, offset: int, size: int) -> bytes:
        """See `recording.timeline.Bytes`."""
        return bytes(self.content[offset : offset + size])


class Entry(NamedTuple):
    """A frame, and the first fact that it states, if it states any."""

    frame: Frame
    fact: Fact | None


class Log:
    """A timeline that grows by messages of some connections; `entries` are what went in."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.entries: list[Entry] = []
        self.at = 0.0
        self._numbers = FrameNumbers()
        self._ends: dict[str, tuple[Framer, Conversation]] = {}
        self.part = 0
        self._memory = Memory()
        self.begin_part()

    def __repr__(self) -> str:
        return "\n".join(f"{each.frame.at} {each.frame.raw!r} {each.fact}" for each in self.entries)

    def begin_part(self) -> None:
        """Let what comes go to another part."""
        self.part += 1
        self._memory = Memory()
        self.timeline.add_part(self.part, self._memory)

    def skip_numbers(self, count: int) -> None:
        """Leave out some numbers of frames."""
        if count:
            self._numbers.take(count)

    def receive(self, *messages: object, connection: str = "demo#1", dt: float = 0.0) -> None:
        """Take lines of a server, all in one chunk, `dt` seconds after what came before."""
        self.at = round(self.at + dt, 6)
        lines = [as_bytes(message) for message in messages]
        frames = self._framer(connection).received(lines, WHEN + self.at, self.at)
        self._take(connection, frames)

    def send(self, message: object, *, connection: str = "demo#1", dt: float = 0.0) -> int:
        """Take a message of ours; its number."""
        self.at = round(self.at + dt, 6)
        frame = self._framer(connection).sent(as_bytes(message), WHEN + self.at, self.at)
        self._take(connection, [frame])
        return frame.number

    def stderr(self, line: bytes, *, connection: str = "demo#1") -> None:
        """Take a line of standard error."""
        self._take(connection, [self._framer(connection).stderr(line, WHEN + self.at, self.at)])

    def event(self, name: str, *, connection: str = "demo#1", **fields: object) -> None:
        """Take an event of a connection."""
        framer = self._framer(connection)
        self._take(connection, [framer.event(name, WHEN + self.at, self.at, **fields)])

    def call(
        self,
        identity: object,
        token: object = None,
        dt: float = 0.0,
        *,
        connection: str = "demo#1",
        **params: Any,
    ) -> int:
        """Take a tool call of ours; its number."""
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        message = {"jsonrpc": "2.0", "id": identity, "method": "tools/call"}
        whole = {**message, "params": {"name": "export", **params, **meta}}
        return self.send(whole, connection=connection, dt=dt)

    def ask(self, identity: object, token: object, dt: float = 0.0) -> None:
        """Take a request of the server."""
        params = {"_meta": {"progressToken": token}}
        self.receive({"jsonrpc": "2.0", "id": identity, "method": "x", "params": params}, dt=dt)

    def tick(
        self,
        token: object,
        progress: object,
        dt: float = 0.0,
        *,
        connection: str = "demo#1",
        **params: Any,
    ) -> None:
        """Take a progress notification."""
        members = {"progressToken": token, "progress": progress, **params}
        message = notification("notifications/progress", **members)
        self.receive(message, connection=connection, dt=dt)

    def tell(self, token: object, progress: object, dt: float = 0.0) -> None:
        """Take a progress notification of ours, on a request of the server."""
        params = {"progressToken": token, "progress": progress}
        self.send(notification("notifications/progress", **params), dt=dt)

    def reply(self, identity: object, dt: float = 0.0, **result: Any) -> None:
        """Take a result."""
        self.receive({"jsonrpc": "2.0", "id": identity, "result": result}, dt=dt)

    def search(self, text: str = "", place: int = 0, **chosen: Any) -> Search:
        """A search that has not begun."""
        wanted = TrafficFilter(text=text, **chosen)
        return Search(self.timeline, compiled(wanted, self.timeline, no_requests), place)

    def found(self, text: str = "", **chosen: Any) -> list[int]:
        """The places that a filter shows."""
        return all_of(self.search(text, **chosen))

    def _framer(self, connection: str) -> Framer:
        if connection not in self._ends:
            ends = Framer(connection, self._numbers), Conversation(connection)
            self._ends[connection] = ends
        return self._ends[connection][0]

    def _take(self, connection: str, frames: Sequence[Frame]) -> None:
        facts = self._ends[connection][1].read(frames)
        first: dict[int, Fact] = {}
        for fact in facts:
            first.setdefault(fact.number, fact)
        offsets, sizes, escapes = [], [], []
        content = self._memory.content
        for frame in frames:
            written = escaped(frame.raw) if b"\n" in frame.raw else frame.raw
            offsets.append(len(content))
            sizes.append(len(written))
            escapes.append(written is not frame.raw)
            content += b"prefix " + written + b"\n"
            offsets[-1] += len(b"prefix ")
            self.entries.append(Entry(frame, first.get(frame.number)))
        kept = escapes if any(escapes) else None
        self.timeline.columns.take(frames, facts, self.part, offsets, sizes, is_escaped=kept)


def no_requests(_job: int) -> Collection[int]:
    """The requests of a job that is not there."""
    return ()


def all_of(search: Search, budget_s: float = 1.0) -> list[int]:
    """Run a search to its end."""
    found: list[int] = []
    while search.left:
        found += search.run(budget_s)
    return found


def as_bytes(message: object) -> bytes:
    """A message as JSON, unless it is bytes already."""
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def notification(method: str, **params: Any) -> dict[str, Any]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def error(identity: object, code: object, message: str = "no") -> dict[str, Any]:
    """An error reply."""
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}
