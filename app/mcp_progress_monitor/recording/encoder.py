"""From frames to the lines of a recording, and where in them each frame's bytes stand."""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.protocol.frame import Channel, Frame
from mcp_progress_monitor.protocol.framing import may_be_batch
from mcp_progress_monitor.protocol.runs import FrameRun
from mcp_progress_monitor.recording.format import NUMBER, escaped, prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

_raw_of = itemgetter(5)
_UNKNOWN: Final = -1
_CLOSED: Final = b'{"event":"closed"'


class Encoded(NamedTuple):
    """The lines of some frames, and where each frame's bytes begin and how many they are.

    `is_escaped` tells of each whether its line feeds are escaped; None when nothing is.
    """

    lines: bytes
    offsets: list[int]
    sizes: list[int]
    is_escaped: list[bool] | None = None


class _Batch:
    """A batch's line, within which its elements are found one after the other."""

    def __init__(self, part: int, offset: int, raw: bytes, *, is_escaped: bool) -> None:
        self.part = part
        self.is_escaped = is_escaped
        self._offset = offset
        self._raw = raw
        self._done = raw.find(b"[") + 1

    def place(self, element: bytes) -> tuple[int, int] | None:
        """Where the next element stands in the part, and its size; None if it is not the next."""
        raw = escaped(element) if self.is_escaped else element
        found = self._raw.find(raw, self._done)
        if found < 0:
            return None
        self._done = found + len(raw)
        return self._offset + found, len(raw)


class Encoder:
    """Writes frames down as `format` says. Elements of a batch have no line but their batch's."""

    def __init__(self, base: float) -> None:
        """Times count from `base`, in monotonic seconds."""
        self._base = base
        self._next = 1
        """The number that the next line has if it does not say another one."""
        self._batches: dict[str, _Batch] = {}
        self._stamp: tuple[object, ...] = ()
        self._prefix = b""

    def begin(self, first: int) -> None:
        """A part begins, and its header says that its first frame has the number `first`."""
        self._next = first

    def owed(self, frames: Sequence[Frame], part: int) -> tuple[int, int]:
        """How many frames, from the first on, are elements of a batch in an earlier part; which.

        Their bytes stand there, so there is nothing to be written.
        """
        first = frames[0]
        batch = None if first.part is None else self._batches.get(first.connection)
        if batch is None or batch.part == part:
            return 0, part
        count = sum(1 for _ in itertools.takewhile(_is_element, frames))
        return count, batch.part

    def encode(self, frames: Sequence[Frame], part: int, offset: int) -> Encoded:
        """Write down frames of one connection, to be put into `part` at `offset`."""
        return self._encode_chunk(frames, offset) or self._encode_each(frames, part, offset)

    def encode_oversized(
        self, frame: Frame, part: int, offset: int
    ) -> tuple[Sequence[bytes], Encoded]:
        """Write down one frame by itself: its line in pieces, one of them its very bytes.

        They are not copied, which for hundreds of megabytes takes long; `lines` is empty.
        """
        head, raw, place = self._pieces_of(frame, part, offset)
        begin, size, is_escaped = place
        return (head, raw, b"\n"), Encoded(b"", [begin], [size], [True] if is_escaped else None)

    def _encode_chunk(self, frames: Sequence[Frame], offset: int) -> Encoded | None:
        """Write down what came in one chunk, with one join; None where lines differ in more."""
        raws = list(frames.raws) if type(frames) is FrameRun else _raws_of_chunk(frames)
        if raws is None:
            return None
        first = frames[0]
        sizes = list(map(len, raws))
        stamp = self._prefix_of(first, is_escaped=False)
        head = self._head(first.number) + stamp
        between = b"\n" + stamp
        raws[0] = head + raws[0]
        raws[-1] += b"\n"
        steps = map(len(between).__add__, sizes)
        offsets = list(itertools.accumulate(steps, initial=offset + len(head)))
        offsets.pop()
        self._next = first.number + len(raws)
        return Encoded(between.join(raws), offsets, sizes)

    def _encode_each(self, frames: Sequence[Frame], part: int, offset: int) -> Encoded:
        pieces: list[bytes] = []
        places: list[tuple[int, int, bool]] = []
        for frame in frames:
            place = None if frame.part is None else self._place(frame)
            if place is None:
                piece, place = self._line(frame, part, offset)
                pieces.append(piece)
                offset += len(piece)
            places.append(place)
        if not pieces:
            self._next = _UNKNOWN  # numbers went to elements of a batch that is further up
        offsets, sizes, escapes = map(list, zip(*places, strict=True))
        return Encoded(b"".join(pieces), offsets, sizes, escapes if any(escapes) else None)

    def _line(self, frame: Frame, part: int, offset: int) -> tuple[bytes, tuple[int, int, bool]]:
        """A frame's line, and where in it its bytes stand."""
        head, raw, place = self._pieces_of(frame, part, offset)
        return b"%b%b\n" % (head, raw), place

    def _pieces_of(
        self, frame: Frame, part: int, offset: int
    ) -> tuple[bytes, bytes, tuple[int, int, bool]]:
        """What of a frame's line stands before its bytes, these, and where they stand."""
        is_escaped = b"\n" in frame.raw
        raw = escaped(frame.raw) if is_escaped else frame.raw
        head = self._head(frame.number) + self._prefix_of(frame, is_escaped=is_escaped)
        self._next = frame.number + 1
        begin = offset + len(head)
        if frame.channel is Channel.RECEIVED and frame.part is None:
            self._note_batch(frame.connection, raw, part, begin, is_escaped=is_escaped)
        elif frame.channel is Channel.EVENT and raw.startswith(_CLOSED):
            self._batches.pop(frame.connection, None)
        return head, raw, (begin, len(raw), is_escaped)

    def _note_batch(
        self, connection: str, raw: bytes, part: int, begin: int, *, is_escaped: bool
    ) -> None:
        """Remember the last line of a connection if it may be a batch: its elements follow."""
        if may_be_batch(raw):
            self._batches[connection] = _Batch(part, begin, raw, is_escaped=is_escaped)
        else:
            self._batches.pop(connection, None)

    def _place(self, frame: Frame) -> tuple[int, int, bool] | None:
        """Where an element's bytes stand; None, so that it is written, if its batch is not known.

        The line is not needed any more after the last element.
        """
        batch = self._batches.get(frame.connection)
        found = None if batch is None else batch.place(frame.raw)
        if batch is None or found is None or frame.part is None:
            return None
        if frame.part.index == frame.part.count:
            del self._batches[frame.connection]
        self._next = frame.number + 1 if self._next == frame.number else _UNKNOWN
        return (*found, batch.is_escaped)

    def _head(self, number: int) -> bytes:
        return b"" if number == self._next else b"%b%d\n" % (NUMBER, number)

    def _prefix_of(self, frame: Frame, *, is_escaped: bool) -> bytes:
        """What stands before a frame's bytes: often the same as before the last one's."""
        _, connection, channel, when, at, _, _, is_complete = frame
        stamp = (connection, channel, when, at, is_complete, is_escaped)
        if stamp != self._stamp:
            self._prefix = prefix(
                connection,
                channel,
                when,
                at - self._base,
                is_complete=is_complete,
                is_escaped=is_escaped,
            )
            self._stamp = stamp
        return self._prefix


def _raws_of_chunk(frames: Sequence[Frame]) -> list[bytes] | None:
    """The bytes of frames that came in one chunk and are lines as they are; None for others."""
    if not _is_chunk(frames[0], frames[-1], len(frames)):
        return None
    if any([frame[6] is not None for frame in frames]):  # noqa: C419  # a list is faster
        return None
    raws = list(map(_raw_of, frames))
    # A fifth of the time that counting line feeds takes.
    return None if b"\n" in b"".join(raws) else raws


def _is_chunk(first: Frame, last: Frame, count: int) -> bool:
    """Whether frames are lines that a server wrote and that were read at once."""
    return (
        first.channel is Channel.RECEIVED
        and first.at == last.at
        and first.connection == last.connection
        and last.number - first.number == count - 1
        and last.is_complete
        and (count > 1 or first.raw[:1] == b"{")  # alone, another one may be a large batch
    )


def _is_element(frame: Frame) -> bool:
    return frame.part is not None
