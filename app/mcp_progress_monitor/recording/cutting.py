"""From lines to chunks of frames: the same `Framer` makes them as of a live stream's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.protocol.facts import Side, UnreadableReceived
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.framing import Framer, may_be_batch
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.recording.format import HEADER, NUMBER, escaped, unescaped_in_slices
from mcp_progress_monitor.recording.lines import LONGEST_LINE
from mcp_progress_monitor.recording.parts import read_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.recording.faults import Faults
    from mcp_progress_monitor.recording.lines import Block
    from mcp_progress_monitor.recording.names import Source
    from mcp_progress_monitor.recording.numbering import Numbers
    from mcp_progress_monitor.recording.parts import RecordingPart
    from mcp_progress_monitor.recording.stamps import Stamp

MOST_FRAMES: Final = 256
"""Frames of a chunk, but for the elements of a batch: a live stream is cut so as well."""
_MOST_SIZE: Final = (1 << 32) - 1
WRONG_NUMBER: Final = "A frame's number cannot be right: it is numbered otherwise"
_FRAMERS_KEPT: Final = 4096
_LINES_AT_ONCE: Final = 1000
"""Lines that are no frames, between two pauses: some two milliseconds."""
_QUOTED: Final = 120
_DIGITS: Final = 10


class Chunk(NamedTuple):
    """Frames of one connection and channel that follow each other, as `Columns.take` wants them.

    `facts` is None but for frames that are not to be read, because their bytes are not here.
    """

    frames: Sequence[Frame]
    offsets: Sequence[int]
    sizes: Sequence[int]
    is_escaped: Sequence[bool] | None
    part: int
    facts: Sequence[Fact] | None = None

    def until(self, at: float) -> tuple[Chunk, Chunk | None]:
        """The frames up to a time, at least one of them, and the others."""
        later = (row for row, frame in enumerate(self.frames) if row and frame.at > at)
        row = next(later, len(self.frames))
        if row == len(self.frames):
            return self, None
        return self._some(slice(None, row)), self._some(slice(row, None))

    def _some(self, rows: slice) -> Chunk:
        is_escaped = None if self.is_escaped is None else self.is_escaped[rows]
        frames, offsets, sizes = self.frames[rows], self.offsets[rows], self.sizes[rows]
        return Chunk(frames, offsets, sizes, is_escaped, self.part, self.facts)


class Framers:
    """A framer for each connection, for as many as are used at a time."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._framers: dict[str, Framer] = {}

    def of(self, connection: str) -> Framer:
        """The framer of a connection."""
        framer = self._framers.get(connection)
        if framer is None:
            if len(self._framers) >= _FRAMERS_KEPT:
                self._framers.clear()
            framer = self._framers[connection] = Framer(connection, self._numbers)
        return framer


class _Run(NamedTuple):
    """Frames' bytes of one source that follow each other, with their places in the file."""

    source: Source
    raws: list[bytes]
    offsets: list[int]
    whens: list[float]
    ats: list[float]

    def add(self, stamp: Stamp, lines: Sequence[bytes], offset: int) -> None:
        """Take in lines of one stamp, the first of them at `offset`."""
        _, when, at, length = stamp
        _, raws, offsets, whens, ats = self
        for line in lines:
            raws.append(line[length:])
            offsets.append(offset + length)
            whens.append(when)
            ats.append(at)
            offset += len(line) + 1

    def part(self, begin: int, end: int) -> _Run:
        """Some of them."""
        source, raws, offsets, whens, ats = self
        some = slice(begin, end)
        return _Run(source, raws[some], offsets[some], whens[some], ats[some])

    @property
    def is_plain(self) -> bool:
        """Whether each line is one frame of ordinary size, its bytes as they stand."""
        _, channel, _, is_escaped = self.source
        if is_escaped or max(map(len, self.raws)) > OVERSIZED:
            return False
        return channel is not Channel.RECEIVED or not any(map(may_be_batch, self.raws))


class Cutter:
    """Cuts the blocks of one part; what is no frame is noted or, as a directive, obeyed."""

    def __init__(
        self, part: RecordingPart, framers: Framers, numbers: Numbers, faults: Faults
    ) -> None:
        """Number what stands in `part` by `numbers`, which `framers` take theirs from."""
        self._part = part
        self._read = part.stamps.read
        self._framers = framers
        self._numbers = numbers
        self._faults = faults

    def cut(self, block: Block) -> Iterator[Chunk | None]:
        """The chunks of a block; None as a pause, wherever it gives none for long."""
        if block.size is not None:
            yield from self._huge(block, block.size)
        elif block.is_ended or self._is_whole(block):
            yield from self._cut(block)

    def _cut(self, block: Block) -> Iterator[Chunk | None]:
        run: _Run | None = None
        passed = 0
        for stamp, lines, offset in self._groups(block):
            if run is not None and (stamp is None or run.source is not stamp.source):
                yield from self._made(run)
                run = None
            if stamp is None:
                self._note(lines[0], offset)
                passed += 1
                if passed % _LINES_AT_ONCE == 0:
                    yield None
                continue
            run = run or _Run(stamp.source, [], [], [], [])
            run.add(stamp, lines, offset)
        if run is not None:
            yield from self._made(run)
        elif passed:
            yield None  # blocks of nothing but such lines may follow each other

    def _groups(self, block: Block) -> Iterator[tuple[Stamp | None, list[bytes], int]]:
        """Lines that begin with the same bytes up to the message, and where the first begins.

        A flood has hundreds of lines of one stamp, which is read once. A line that is no frame
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
        """The chunks of a run."""
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
        frames = framer.again(channel, raws, run.whens, run.ats, is_complete=is_complete)
        escapes = [True] * len(raws) if is_escaped else None
        sizes = list(map(len, raws))
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
        self, frames: Sequence[Frame], stretches: Sequence[tuple[int, int]], source: Source
    ) -> Chunk:
        """A batch line or some of its elements, which stand in it in their order."""
        offsets, sizes = [begin for begin, _ in stretches], [size for _, size in stretches]
        escapes = [True] * len(frames) if source.is_escaped else None
        return Chunk(frames, offsets, sizes, escapes, self._part.number)

    def _huge(self, block: Block, size: int) -> Iterator[Chunk]:
        """A frame that is known by its head alone."""
        line, offset = block.lines[0], block.offset
        stamp = self._read(line)
        if stamp is None:
            self._note(line, offset)
            return
        words = f"{text.size(size)} long, and lines up to {text.size(LONGEST_LINE)} are read"
        self._faults.note("A line is too long to be read", self._place(offset), detail=words)
        source, when, at, length = stamp
        framer = self._framers.of(source.connection)
        raw, is_complete = line[length:], source.is_complete and block.is_ended
        frames = framer.again(source.channel, [raw], [when], [at], is_complete=is_complete)
        sender = Side.CLIENT if source.channel is Channel.SENT else Side.SERVER
        fact = UnreadableReceived(
            frames[0].number, source.connection, at, when, sender, "too long", words
        )
        sizes = [min(size - length, _MOST_SIZE)]
        escapes = [True] if source.is_escaped else None
        yield Chunk(frames, [offset + length], sizes, escapes, self._part.number, [fact])

    def _is_whole(self, block: Block) -> bool:
        """Whether the last line is all there, although the file ends before its line feed."""
        line = block.lines[0]
        stamp = self._read(line)
        if stamp is not None and stamp.source.channel is not Channel.STDERR:
            raw = line[stamp.length :]
            is_whole = len(raw) <= OVERSIZED and _is_json(raw)
        else:
            is_whole = line.startswith(b"#")
        if not is_whole:
            self._faults.note(
                "The recording ends within a line, which is left out",
                self._place(block.offset),
                "The program that wrote it was ended, or is still writing.",
                _quoted(line),
            )
        return is_whole

    def _note(self, line: bytes, offset: int) -> None:
        """Take a line that is no frame."""
        if line.startswith(NUMBER):
            self._go_to(line.removeprefix(NUMBER).strip(), offset)
        elif line.startswith(HEADER):
            self._begin_again(line, offset)
        elif not line.startswith(b"#"):
            self._faults.note(
                "A line is no frame, and is left out",
                self._place(offset),
                "Lines of a recording can be taken out, but not changed.",
                _quoted(line),
            )

    def _go_to(self, words: bytes, offset: int) -> None:
        is_number = len(words) <= _DIGITS and words.isdigit()
        if not (is_number and self._numbers.go_to(int(words))):
            self._faults.note(WRONG_NUMBER, self._place(offset), detail=_quoted(words))

    def _begin_again(self, line: bytes, offset: int) -> None:
        """Another recording follows in the same file, as `cat` makes it."""
        try:
            part = read_header(self._part.path, line, self._part.size)
        except ProblemError as error:
            self._faults.note(error.problem.what, self._place(offset), error.problem.hint)
            return
        self._read = part.stamps.read
        if part.first is not None:
            self._go_to(b"%d" % part.first, offset)

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
    return text.one_line(line[:_QUOTED].decode(errors="replace"), _QUOTED)
