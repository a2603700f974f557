"""Reads a recording: chunks of frames, in their order, from all its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import JsonObject, Side, UnreadableReceived
from mcp_progress_monitor.protocol.frames import Channel, FactRun, Frame
from mcp_progress_monitor.protocol.framing import may_be_batch
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.recording.files import (
    RecordingFaults,
    first_stamp,
    last_stamp,
    parts_of,
    read_header,
    read_now,
)
from mcp_progress_monitor.recording.format import (
    FROM,
    HEADER,
    NOW,
    NUMBER,
    OVER,
    escaped,
    unescaped_in_slices,
)
from mcp_progress_monitor.recording.numbering import FrameNumbering, renumbered
from mcp_progress_monitor.recording.sources import (
    Framers,
    StreamPlace,
    StreamSource,
    StreamSources,
    run_that_is_over,
)
from mcp_progress_monitor.recording.timeline import FileBytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from io import FileIO
    from pathlib import Path

    from mcp_progress_monitor.recording.files import FrameStamp, RecordingPart
    from mcp_progress_monitor.recording.index import FrameSource
    from mcp_progress_monitor.recording.sources import Named

__all__ = ["Chunk", "FileBytes", "RecordingReader"]

BLOCK_BYTES: Final = 1024 * 1024
LONGEST_LINE: Final = 128 * 1024 * 1024  # a longer line is never in memory as a whole
HEAD_BYTES: Final = 64 * 1024  # how much of such a line is kept


class Block(NamedTuple):
    """Consecutive lines without their line feeds; the first begins at `offset`.

    With `size`, it is one line of so many bytes, of which only the head is here. `is_ended` is
    False for a last line without a line feed.
    """

    offset: int
    lines: list[bytes]
    size: int | None = None
    is_ended: bool = True


class _Rest:
    """The beginning of an incomplete line, kept up to a bound."""

    def __init__(self, longest: int) -> None:
        self.size = 0
        self._longest = longest
        self._pieces: list[bytes] = []

    @property
    def is_too_long(self) -> bool:
        return self.size > self._longest

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self._pieces and self.is_too_long:
            piece = b""
            del self._pieces[1:]
        if piece:
            self._pieces.append(piece)

    def take(self) -> bytes:
        """Return the line, or its head if it is too long, and start a new one."""
        whole = b"".join(self._pieces)
        line = whole[:HEAD_BYTES] if self.is_too_long else whole
        self._pieces.clear()
        self.size = 0
        return line


class LineBlocks:
    """Cuts file contents into blocks of whole lines, whatever the sizes of the reads."""

    def __init__(self, offset: int, longest: int = LONGEST_LINE) -> None:
        """Begin at `offset`; of a line with more than `longest` bytes only the head is kept."""
        self._offset = offset
        self._rest = _Rest(longest)

    def feed(self, data: bytes) -> Iterator[Block | None]:
        """Add bytes; yields the lines that they complete, or None if there are none."""
        rest = self._rest
        end = data.find(b"\n")
        if end < 0:
            rest.add(data)
            yield None
            return
        if rest.size:
            rest.add(data[:end])
            block = _ended(rest, self._offset)
            self._offset += (block.size or len(block.lines[0])) + 1
            yield block
            data = data[end + 1 :]
        lines = data.split(b"\n")
        rest.add(lines.pop())
        if lines:
            block = Block(self._offset, lines)
            self._offset += len(data) - rest.size
            yield block

    def end(self) -> Block | None:
        """The last line if it has no line feed; else None."""
        return (
            _ended(self._rest, self._offset)._replace(is_ended=False) if self._rest.size else None
        )


def read_blocks(
    file: FileIO, offset: int, longest: int = LONGEST_LINE, at_once: int = BLOCK_BYTES
) -> Iterator[Block | None]:
    """Read lines from `offset` on, `at_once` bytes at a time; None as a pause within a long line.

    `OSError` if reading fails.
    """
    file.seek(offset)
    blocks = LineBlocks(offset, longest)
    while data := file.read(at_once):
        yield from blocks.feed(data)
    rest = blocks.end()
    if rest is not None:
        yield rest


def _ended(rest: _Rest, offset: int) -> Block:
    size = rest.size if rest.is_too_long else None
    return Block(offset, [rest.take()], size)


MOST_FRAMES: Final = 256
"""Frames of a chunk, except the elements of a batch: live streams are cut in the same way."""
_MOST_SIZE: Final = (1 << 32) - 1
WRONG_NUMBER: Final = "Invalid frame number; frames are renumbered"
_FLOOD: Final = 32  # lines with one stamp that form a chunk of their own
_LINES_AT_ONCE: Final = 1000  # lines that are not frames between two pauses: about two milliseconds
_QUOTED: Final = 120
_DIGITS: Final = 10


class Chunk(NamedTuple):
    """Consecutive frames of one connection and channel, as `Columns.take` needs them.

    `facts` is None except for frames that are not read, because their bytes are not here.
    """

    frames: Sequence[Frame]
    offsets: Sequence[int]
    sizes: Sequence[int]
    is_escaped: Sequence[bool] | None
    part: int
    facts: FactRun | None = None

    def until(self, at: float) -> tuple[Chunk, Chunk | None]:
        """The frames up to a time, at least one of them, and the rest."""
        later = (row for row, frame in enumerate(self.frames) if row and frame.at > at)
        row = next(later, len(self.frames))
        if row == len(self.frames):
            return self, None
        return self._some(slice(None, row)), self._some(slice(row, None))

    def _some(self, rows: slice) -> Chunk:
        is_escaped = None if self.is_escaped is None else self.is_escaped[rows]
        frames, offsets, sizes = self.frames[rows], self.offsets[rows], self.sizes[rows]
        return Chunk(frames, offsets, sizes, is_escaped, self.part, self.facts)


class _Run(NamedTuple):
    """Consecutive bytes of one source, with their places in the file."""

    source: FrameSource
    raws: list[bytes]
    offsets: list[int]
    whens: list[float]
    ats: list[float]

    def add(self, stamp: FrameStamp, lines: Sequence[bytes], offset: int) -> None:
        _, when, at, length = stamp
        _, raws, offsets, whens, ats = self
        for line in lines:
            raws.append(line[length:])
            offsets.append(offset + length)
            whens.append(when)
            ats.append(at)
            offset += len(line) + 1

    def part(self, begin: int, end: int) -> _Run:
        source, raws, offsets, whens, ats = self
        some = slice(begin, end)
        return _Run(source, raws[some], offsets[some], whens[some], ats[some])

    @property
    def is_of_one_moment(self) -> bool:
        """True if these are many messages of a server, as one read returned them."""
        _, channel, is_complete, is_escaped = self.source
        return (
            len(self.raws) >= _FLOOD
            and channel is Channel.RECEIVED
            and is_complete
            and not is_escaped
            and len(set(self.ats)) == 1
            and len(set(self.whens)) == 1
        )

    @property
    def is_plain(self) -> bool:
        """True if each line is one frame of ordinary size, with unchanged bytes."""
        _, channel, _, is_escaped = self.source
        if is_escaped or max(map(len, self.raws)) > OVERSIZED:
            return False
        return channel is not Channel.RECEIVED or not any(map(may_be_batch, self.raws))


class Cutter:
    """Cuts the blocks of one part; reports lines that are not frames, or obeys directives."""

    def __init__(
        self,
        part: RecordingPart,
        framers: Framers,
        numbers: FrameNumbering,
        faults: RecordingFaults,
        sources: StreamSources,
    ) -> None:
        """Number the frames of `part` with `numbers`, which `framers` use as well.

        `sources` are the recordings in it, if it is a stream of them.
        """
        self._part = part
        self._sources = sources
        self._source: StreamSource | None = None
        self._now = (0.0, 0.0)  # wall and monotonic time in a stream
        self._read = part.stamps.read
        self._framers = framers
        self._numbers = numbers
        self._faults = faults

    def cut(self, block: Block) -> Iterator[Chunk | None]:
        """The chunks of a block; None as a pause if there is none for long."""
        if block.size is not None:
            yield from self._huge(block, block.size)
        elif block.is_ended or self._is_whole(block):
            yield from self._cut(block)

    def _cut(self, block: Block) -> Iterator[Chunk | None]:
        run: _Run | None = None
        passed = 0
        for stamp, lines, offset in self._groups(block):
            is_flood = len(lines) >= _FLOOD
            if run is not None and (is_flood or stamp is None or run.source is not stamp.source):
                yield from self._made(run)
                run = None
            if stamp is None and lines[0].startswith(OVER):
                yield from self._end_source(lines[0], offset)
                continue
            if stamp is None:
                self._note(lines[0], offset)
                passed += 1
                if passed % _LINES_AT_ONCE == 0:
                    yield None
                continue
            run = run or _Run(stamp.source, [], [], [], [])
            run.add(stamp, lines, offset)
            if is_flood:  # read separately, in a third of the time: see `FrameRun`
                yield from self._made(run)
                run = None
        if run is not None:
            yield from self._made(run)
        elif passed:
            yield None  # many blocks may contain only such lines

    def _groups(self, block: Block) -> Iterator[tuple[FrameStamp | None, list[bytes], int]]:
        """Lines with the same bytes before the message, and the offset of the first.

        A flood has hundreds of lines of one stamp, which is parsed once. A line that is not a frame
        is a group of its own, without a stamp.
        """
        lines, offset, place = block.lines, block.offset, 0
        count = len(lines)
        while place < count:
            line = lines[place]
            stamp = self._read(line)  # which a header within the file may change
            until = place + 1
            if stamp is not None:
                known = line[: stamp[3]]
                while until < count and lines[until].startswith(known):
                    until += 1
            group = lines[place:until]
            yield stamp, group, offset
            offset += len(line) + 1 if until == place + 1 else sum(map(len, group)) + len(group)
            place = until

    def _made(self, run: _Run) -> Iterator[Chunk | None]:
        for begin in range(0, len(run.raws), MOST_FRAMES):
            is_whole = len(run.raws) <= MOST_FRAMES
            part = run if is_whole else run.part(begin, begin + MOST_FRAMES)
            if part.is_plain:
                yield self._plain(part)
                continue
            for place in range(len(part.raws)):
                yield from self._careful(part.part(place, place + 1))

    def _plain(self, run: _Run) -> Chunk:
        (connection, channel, is_complete, is_escaped), raws = run.source, run.raws
        framer = self._framers.of(connection)
        if run.is_of_one_moment:
            frames = framer.run(raws, run.whens[0], run.ats[0])
        else:
            frames = framer.again(channel, raws, run.whens, run.ats, is_complete=is_complete)
        escapes = [True] * len(raws) if is_escaped else None
        sizes = list(map(len, raws))
        if self._source is not None and channel is Channel.EVENT:
            number_of = self._source.numbers.number_of
            frames = [renumbered(frame, number_of) for frame in frames]
            if any(b'"closed"' in raw for raw in raws):
                self._source.open.pop(connection, None)
        return Chunk(frames, run.offsets, sizes, escapes, self._part.number)

    def _careful(self, run: _Run) -> Iterator[Chunk | None]:
        """The chunks of one line that is large, escaped, or a batch."""
        source, (on_disk,), (offset,), (when,), (at,) = run
        raw = (yield from unescaped_in_slices(on_disk)) if source.is_escaped else on_disk
        if source.channel is not Channel.RECEIVED or not may_be_batch(raw):
            chunk = self._plain(run._replace(raws=[raw]))
            yield chunk._replace(sizes=[len(on_disk)])
            return
        framer = self._framers.of(source.connection)
        begin = 0
        for frames in framer.received_in_slices([raw], when, at, is_complete=source.is_complete):
            stretches = []
            for frame in frames:
                part = escaped(frame.raw) if source.is_escaped else frame.raw
                begin = max(on_disk.find(part, begin), begin)
                stretches.append((offset + begin, len(part)))
                begin += 0 if frame.part is None else len(part)
            yield self._batch(frames, stretches, source) if frames else None

    def _batch(
        self, frames: Sequence[Frame], stretches: Sequence[tuple[int, int]], source: FrameSource
    ) -> Chunk:
        """A batch line, or some of its elements in their order."""
        offsets, sizes = [begin for begin, _ in stretches], [size for _, size in stretches]
        escapes = [True] * len(frames) if source.is_escaped else None
        return Chunk(frames, offsets, sizes, escapes, self._part.number)

    def _huge(self, block: Block, size: int) -> Iterator[Chunk]:
        """A frame of which only the head is known."""
        line, offset = block.lines[0], block.offset
        stamp = self._read(line)
        if stamp is None:
            self._note(line, offset)
            return
        finding = Finding(rules.LONG_LINE, (formatting.size(size), formatting.size(LONGEST_LINE)))
        what, where = "A line is too long to read", self._place(offset)
        self._faults.note(what, where, detail=finding.text)
        source, when, at, length = stamp
        framer = self._framers.of(source.connection)
        raw, is_complete = line[length:], source.is_complete and block.is_ended
        frames = framer.again(source.channel, [raw], [when], [at], is_complete=is_complete)
        sender = Side.CLIENT if source.channel is Channel.SENT else Side.SERVER
        fact = UnreadableReceived(
            frames[0].number, frames[0].connection, at, when, sender, "too long", (finding,)
        )
        sizes = [min(size - length, _MOST_SIZE)]
        escapes = [True] if source.is_escaped else None
        facts = FactRun.of([fact])
        yield Chunk(frames, [offset + length], sizes, escapes, self._part.number, facts)

    def _is_whole(self, block: Block) -> bool:
        """Return whether the last line is complete although it has no line feed."""
        line = block.lines[0]
        stamp = self._read(line)
        if stamp is not None and stamp.source.channel is not Channel.STDERR:
            raw = line[stamp.length :]
            is_whole = len(raw) <= OVERSIZED and _is_json(raw)
        else:
            is_whole = line.startswith(b"#")
        if not is_whole:
            self._faults.note(
                "The recording ends in the middle of a line, which was skipped",
                self._place(block.offset),
                "The program that wrote it was interrupted, or is still writing.",
                _quoted(line),
            )
        return is_whole

    def _note(self, line: bytes, offset: int) -> None:
        """Handle a line that is not a frame."""
        if line.startswith(NUMBER):
            self._go_to(line.removeprefix(NUMBER).strip(), offset)
        elif line.startswith(HEADER):
            self._begin_again(line, offset)
        elif line.startswith(FROM):
            self._enter(line)
        elif line.startswith(NOW) and (now := read_now(line)) is not None:
            self._now = now.when, now.at
        elif not line.startswith(b"#"):
            self._faults.note(
                "A line that is not a frame was skipped",
                self._place(offset),
                "Lines may be removed from a recording, but not edited.",
                _quoted(line),
            )

    def _go_to(self, typed: bytes, offset: int) -> None:
        is_number = len(typed) <= _DIGITS and typed.isdigit()
        if not (is_number and self._numbers.go_to(int(typed))):
            self._faults.note(WRONG_NUMBER, self._place(offset), detail=_quoted(typed))

    def _begin_again(self, line: bytes, offset: int) -> None:
        """Another recording follows in the same file, for example after `cat`."""
        try:
            part = read_header(self._part.path, line, self._part.size)
        except UserError as error:
            self._faults.note(error.details.what, self._place(offset), error.details.hint)
            return
        self._read = part.stamps.read
        if self._source is not None:
            self._source.begin(part)
            self._read = self._source.read
        if part.first is not None:
            self._go_to(b"%d" % part.first, offset)

    def _enter(self, line: bytes) -> None:
        """The lines of another recording follow."""
        found = StreamPlace.read(line)
        if found is None:
            return
        source = self._source = self._sources.of(found.run)
        self._framers, self._numbers, self._read = source.framers, source.numbers, source.read

    def _end_source(self, line: bytes, offset: int) -> Iterator[Chunk]:
        """End what a recording in the stream left open, by the event of the line."""
        source = self._sources.known(run_that_is_over(line))
        event = line.find(b"{")
        if source is None or event < 0:
            return
        when, at = self._now
        for connection in list(source.open):
            framer = source.framers.of(connection)
            frames = framer.again(Channel.EVENT, [line[event:]], [when], [at], is_complete=True)
            sizes = [len(line) - event]
            yield Chunk(frames, [offset + event], sizes, None, self._part.number)
        source.open.clear()

    def _place(self, offset: int) -> str:
        return f"{self._part.path}, byte {offset + 1:,}"


def _is_json(raw: bytes) -> bool:
    try:
        read_value(raw)
    except TooDeepError:
        return True
    except NotJsonError:
        return False
    return True


def _quoted(line: bytes) -> str:
    return formatting.one_line(line[:_QUOTED].decode(errors="replace"), _QUOTED)


def _ignored(_connection: str, _number_of: Callable[[int], int | None]) -> None:
    """Take note of no name."""


class RecordingReader:
    """Reads a recording once, from its first part to its last, in bounded memory.

    Damaged parts are skipped and reported in `errors`; only opening raises errors for the
    content. Iterating yields the chunks; `slices` also yields None after every few milliseconds of
    work without one.
    """

    def __init__(self, path: Path, on_named: Named = _ignored) -> None:
        """Open the run of the file at `path`.

        In a stream of recordings, `on_named` is called with the name of each connection and a
        function that returns the number of a frame from that in its own recording. `UserError` if
        it cannot be read, is not a recording, or is of a newer version.
        """
        self._faults = RecordingFaults()
        self._on_named = on_named
        self._sources = StreamSources(FrameNumbering(self._note_clash), on_named)
        self.is_waiting = False
        """Whether more may follow later, in a recording that is still being written."""
        self.parts: list[RecordingPart] = parts_of(path, self._faults)  # the files, in their order
        self.read_bytes = 0
        self.total_bytes = sum(part.size for part in self.parts)

    @property
    def header(self) -> JsonObject:
        """The fields of the oldest part's header; empty when it has none."""
        return self.parts[0].fields

    @property
    def errors(self) -> list[ErrorDetails]:
        """The faults found so far: one for each kind, with their count."""
        return self._faults.errors

    def first(self) -> FrameStamp | None:
        return next(filter(None, map(first_stamp, self.parts)), None)

    def last(self) -> FrameStamp | None:
        return next(filter(None, map(last_stamp, reversed(self.parts))), None)

    def __iter__(self) -> Iterator[Chunk]:
        return (chunk for chunk in self.slices() if chunk is not None)

    def slices(self) -> Iterator[Chunk | None]:
        """The chunks, and None as a pause."""
        numbers = FrameNumbering(self._note_clash)
        framers = Framers(numbers)
        sources = self._new_sources(numbers)
        done = 0
        for part in self.parts:
            if part.first is not None and not numbers.go_to(part.first):
                self._faults.note(WRONG_NUMBER, str(part.path), detail=f"first: {part.first}")
            cutter = Cutter(part, framers, numbers, self._faults, sources)
            yield from self._part(part, cutter, done)
            done += part.size
            self.read_bytes = done
            yield None

    def tap_of(self, server: str) -> JsonObject:
        """The description of the tap that recorded a server, from the header of its recording."""
        return as_object(self._sources.fields_of(server, self.header).get("tap"))

    def _new_sources(self, numbers: FrameNumbering) -> StreamSources:
        """The recordings in this one, from its beginning."""
        self._sources = StreamSources(numbers, self._on_named)
        return self._sources

    def _note_clash(self) -> None:
        self._faults.note(WRONG_NUMBER, str(self.parts[0].path))

    def _part(self, part: RecordingPart, cutter: Cutter, done: int) -> Iterator[Chunk | None]:
        try:
            with part.path.open("rb", buffering=0) as file:
                for block in read_blocks(file, part.begin):
                    self.read_bytes = min(done + file.tell(), self.total_bytes)
                    if block is None:
                        yield None
                    else:
                        yield from cutter.cut(block)
        except OSError as error:
            self._faults.note(
                "Cannot read the rest of the recording",
                str(part.path),
                "Check the disk, then reopen the recording.",
                error.strerror or str(error),
            )
