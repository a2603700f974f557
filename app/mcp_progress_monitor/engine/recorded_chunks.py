"""Reads chunks of a recording, complete or growing, into facts."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import Channel, FactRun, Frame, raws_of
from mcp_progress_monitor.protocol.framing import may_be_batch
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.engine.recorded_servers import RecordedServers
    from mcp_progress_monitor.protocol.outline import Slices
    from mcp_progress_monitor.recording.reader import Chunk

CONNECTIONS_KEPT: Final = 4096
"""Connections whose open requests are remembered; beyond that, the least recent are dropped."""


class RecordedConnections:
    """Finds the conversation of a connection. Bounded: a file may name millions of them."""

    def __init__(self) -> None:
        self._conversations: collections.OrderedDict[str, Conversation] = collections.OrderedDict()
        self._dropped = 0

    @property
    def errors(self) -> list[ErrorDetails]:
        """Reports of connections that were dropped before their end."""
        if not self._dropped:
            return []
        what = f"The recording has more than {CONNECTIONS_KEPT:,} open connections at a time"
        detail = f"Replies and progress of {self._dropped:,} of them may lack their requests."
        return [ErrorDetails(what, detail=detail)]

    def names(self) -> tuple[str, ...]:
        """The remembered connections."""
        return tuple(self._conversations)

    def of(self, connection: str) -> Conversation:
        """The conversation that reads a connection's frames."""
        known = self._conversations.get(connection)
        if known is not None:
            self._conversations.move_to_end(connection)
            return known
        made = self._conversations[connection] = Conversation(connection)
        if len(self._conversations) > CONNECTIONS_KEPT:
            _, oldest = self._conversations.popitem(last=False)
            self._dropped += bool(oldest.open_requests or oldest.open_tokens)
        return made

    @staticmethod
    def is_large(frames: Sequence[Frame]) -> bool:
        """Return whether one of the frames takes long to read."""
        return max(map(len, raws_of(frames)), default=0) > OVERSIZED


_SMALL: Final = 32  # chunks of at least so many frames are read alone …
TOGETHER: Final = 256  # … and smaller ones in groups of about so many frames
_WIRE: Final = frozenset({Channel.SENT, Channel.RECEIVED})


class TakenChunk(NamedTuple):
    """Frames with their facts, their places, and the servers that they changed."""

    frames: Sequence[Frame]
    facts: FactRun
    offsets: Sequence[int]
    sizes: Sequence[int]
    is_escaped: Sequence[bool] | None
    part: int
    servers: frozenset[str]


def _as_it_is(frames: Sequence[Frame]) -> Sequence[Frame]:
    return frames


class ChunkReceiver:
    """Reads the chunks of a recording into facts, and passes both to its owner.

    Large messages take several turns: while `is_reading`, call `read_on` before the next chunk.
    """

    def __init__(
        self,
        servers: RecordedServers,
        sink: Callable[[TakenChunk], None],
        as_read: Callable[[Sequence[Frame]], Sequence[Frame]] = _as_it_is,
    ) -> None:
        """`servers` learn from every chunk; `as_read` maps frames before facts are made of them.

        Results go to `sink`.
        """
        self.connections: Final = RecordedConnections()
        self._servers = servers
        self._sink = sink
        self._as_read = as_read
        self._reading: Iterator[None] | None = None

    @property
    def is_reading(self) -> bool:
        return self._reading is not None

    def read_on(self) -> None:
        if self._reading is not None and next(self._reading, self) is self:
            self._reading = None

    def finish_reading(self) -> None:
        """Read the rest of a large message."""
        while self._reading is not None:
            self.read_on()

    def take(self, chunk: Chunk) -> None:
        """Read a chunk, or begin to read it in slices."""
        if chunk.facts is not None:
            self._apply(chunk, chunk.facts)
            return
        conversation = self.connections.of(chunk.frames[0].connection)
        frames = self._as_read(chunk.frames)
        if self.connections.is_large(frames):
            self._reading = self._in_slices(chunk, conversation.read_in_slices(frames))
        else:
            self._apply(chunk, conversation.read(frames))

    def take_many(self, chunk: Chunk, slices: Iterator[Chunk | None]) -> Chunk | None:
        """Read a chunk with the small ones after it; return the first that cannot be joined.

        Where connections alternate, each frame is a chunk, and publishing each takes twice as long
        as reading it. The jobs are the same however facts are divided.
        """
        together, count = [chunk], len(chunk.frames)
        most = TOGETHER if self._can_join(chunk) else 0
        left = None
        while count < most:
            following = next(slices, None)
            if following is None:
                break
            if following.part != chunk.part or not self._can_join(following):
                left = following
                break
            together.append(following)
            count += len(following.frames)
        if len(together) == 1:
            self.take(chunk)
        else:
            self._apply_all(together)
        return left

    def _can_join(self, chunk: Chunk) -> bool:
        """Return whether a chunk is small, and does not change what the next ones mean."""
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
            and not self.connections.is_large(chunk.frames)
        )

    def _in_slices(self, chunk: Chunk, reading: Slices[FactRun]) -> Iterator[None]:
        self._apply(chunk, (yield from reading))

    def _apply(self, chunk: Chunk, facts: FactRun) -> None:
        """Pass on a chunk with its facts."""
        frames, offsets, sizes, is_escaped, part, _ = chunk
        servers = self._servers.take(frames, facts)
        self._sink(TakenChunk(frames, facts, offsets, sizes, is_escaped, part, servers))

    def _apply_all(self, chunks: Sequence[Chunk]) -> None:
        """Do `_apply` for many small chunks of one part at once."""
        frames: list[Frame] = []
        facts: list[FactRun] = []
        offsets: list[int] = []
        sizes: list[int] = []
        servers: frozenset[str] = frozenset()
        for chunk in chunks:
            some = self._as_read(chunk.frames)
            found = self.connections.of(some[0].connection).read(some)
            servers |= self._servers.take(chunk.frames, found)
            frames += chunk.frames
            facts.append(found)
            offsets += chunk.offsets
            sizes += chunk.sizes
        part = chunks[0].part
        together = FactRun.joined(facts)
        self._sink(TakenChunk(frames, together, offsets, sizes, None, part, servers))
