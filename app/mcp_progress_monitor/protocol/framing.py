"""Splits a stream into numbered frames: at line feeds, and batches into their elements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameRun, Part
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, encode
from mcp_progress_monitor.protocol.lenient_json import (
    NotJsonError,
    TooDeepError,
    array_parts,
    read_value,
)
from mcp_progress_monitor.protocol.outline import array_elements

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

_FRAMES_AT_A_TIME = 64
"""Lines and elements of batches framed at once."""
_ELEMENTS_AT_A_TIME = 384
"""Elements of batches framed at once: they are handled in parts, as those of runs are."""
RUN_LINES = 1024
"""Most lines of a run: 2 to 4 ms of work for ticks."""
_RUN_PARTS = 8
"""In how many parts a run is handled at most, about: nothing is sent before its end."""
_LEAST_RUN = 8  # fewer lines are cheaper one by one
# Bounded: a hundred megabytes of white space would block the loop.
_MAY_BE_BATCH = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r]{0,65536}+\[")
_BEGIN_BATCH = frozenset({b"[", b" ", b"\t", b"\r", b"\xef"})
# Skips the named tuple's own constructor, which doubles the time of every line.
_new = tuple.__new__


def may_be_batch(raw: bytes) -> bool:
    """Return whether a line of a server begins with a bracket, so that it may be a batch."""
    return raw[:1] != b"{" and _MAY_BE_BATCH.match(raw) is not None


class FrameNumbers:
    """Numbers frames, from 1, for the whole program: created once and shared."""

    def __init__(self, first: int = 1) -> None:
        self._next = first

    def take(self, count: int = 1) -> int:
        first = self._next
        self._next += count
        return first


class LineSplitter:
    """Splits a byte stream at line feeds, whatever its chunks, in time linear in its length."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._held:
            self._held.append(lines[0])
            lines[0] = b"".join(self._held)
            self._held.clear()
        if rest:
            self._held.append(rest)
        return lines

    def flush(self) -> bytes | None:
        """At the end of the stream: return an incomplete line, None if there is none."""
        if not self._held:
            return None
        line = b"".join(self._held)
        self._held.clear()
        return line


class Framer:
    """Makes the frames of one connection.

    `when` is always wall time (seconds since the epoch), `at` monotonic time (seconds).
    """

    def __init__(self, connection: str, numbers: FrameNumbers) -> None:
        self.latest = (0.0, 0.0)  # `when` and `at` of the last message sent or event
        self._connection = connection
        self._numbers = numbers
        self._run_lines = RUN_LINES

    def note_parts(self, lines: int, parts: int) -> None:
        """Make the next runs as long as suits one of so many lines that was handled in parts."""
        if lines < _LEAST_RUN:
            return
        suitable = lines * _RUN_PARTS // parts if parts > 1 else 2 * self._run_lines
        self._run_lines = max(_FRAMES_AT_A_TIME, min(suitable, RUN_LINES))

    def received(
        self, lines: Sequence[bytes], when: float, at: float, *, is_complete: bool = True
    ) -> list[Frame]:
        """Frame lines of the server's output; a batch is followed by a frame for each element.

        A batch of many megabytes takes long: for lines of more than `jsonrpc.OVERSIZED` bytes
        use `received_in_slices`. `is_complete` is False for a last line without its line feed.
        """
        if any(_MAY_BE_BATCH.match(raw) for raw in [raw for raw in lines if raw[:1] != b"{"]):
            slices = self.received_in_slices(lines, when, at, is_complete=is_complete)
            return [frame for frames in slices for frame in frames]
        connection, channel, new = self._connection, Channel.RECEIVED, _new
        first = self._numbers.take(len(lines))
        return [
            new(Frame, (number, connection, channel, when, at, raw, None, is_complete))
            for number, raw in enumerate(lines, first)
        ]

    def run(self, lines: Sequence[bytes], when: float, at: float) -> Sequence[Frame]:
        """Frame whole lines as `received` does: in a run if they are many, and none is a batch."""
        if len(lines) < _LEAST_RUN or _run_length(lines) < len(lines):
            return self.received(lines, when, at)
        return FrameRun(self._numbers.take(len(lines)), self._connection, when, at, lines)

    def in_slices(
        self, lines: Sequence[bytes], when: float, at: float, *, is_complete: bool = True
    ) -> Iterator[Sequence[Frame]]:
        """Frame as many lines as can be handled at once: in runs, or some elements of a batch.

        A batch is a line, but may have thousands of elements: how many messages lines hold is
        unknown before it is split. A slice is empty while a batch is still being split.
        """
        start = 0
        while start < len(lines):
            part = lines[start : start + self._run_lines]
            count = _run_length(part)
            if count and is_complete:
                yield self.run(part[:count], when, at)
            else:
                count = min(len(part), _FRAMES_AT_A_TIME)
                yield from self._each(part[:count], when, at, is_complete=is_complete)
            start += count

    def _each(
        self, lines: Sequence[bytes], when: float, at: float, *, is_complete: bool
    ) -> Iterator[Sequence[Frame]]:
        """Frame some lines among which are batches, a few messages at a time."""
        held: list[Frame] = []
        for frames in self.received_in_slices(lines, when, at, is_complete=is_complete):
            held += frames
            while len(held) >= _FRAMES_AT_A_TIME or (held and not frames):
                yield held[:_FRAMES_AT_A_TIME]
                held = held[_FRAMES_AT_A_TIME:]
            if not frames:
                yield []
        if held:
            yield held

    def received_in_slices(
        self, lines: Sequence[bytes], when: float, at: float, *, is_complete: bool = True
    ) -> Iterator[list[Frame]]:
        """Like `received` in slices of a few milliseconds.

        The lists, some of them empty, make up the whole result, in order.
        """
        for raw in lines:
            # Split before anything is numbered: elements have the numbers after their batch's, even
            # if other connections frame messages meanwhile. Recordings rely on it.
            elements = yield from _split_batch(raw)
            number = self._numbers.take(1 + len(elements))
            stamp = (self._connection, Channel.RECEIVED, when, at)
            yield [Frame(number, *stamp, raw, None, is_complete)]
            count, new = len(elements), _new
            for begin in range(0, count, _ELEMENTS_AT_A_TIME):
                some = elements[begin : begin + _ELEMENTS_AT_A_TIME]
                yield [
                    new(Frame, (number + index, *stamp, element, new(Part, (index, count)), True))
                    for index, element in enumerate(some, begin + 1)
                ]

    def again(
        self,
        channel: Channel,
        raws: Sequence[bytes],
        whens: Sequence[float],
        ats: Sequence[float],
        *,
        is_complete: bool = True,
    ) -> list[Frame]:
        """Frame what was framed before and recorded, each with its own times.

        Batches are not split: see `may_be_batch` and `received_in_slices`.
        """
        connection, new = self._connection, _new
        first = self._numbers.take(len(raws))
        return [
            new(Frame, (number, connection, channel, when, at, raw, None, is_complete))
            for number, (raw, when, at) in enumerate(zip(raws, whens, ats, strict=True), first)
        ]

    def sent(self, raw: bytes, when: float, at: float) -> Frame:
        """Frame a message that we write to the server, without its line feed."""
        return self._frame(Channel.SENT, raw.removesuffix(b"\n"), when, at)

    def stderr(self, line: bytes, when: float, at: float) -> Frame:
        return self._frame(Channel.STDERR, line, when, at)

    def event(self, name: str, when: float, at: float, /, **fields: object) -> Frame:
        """Frame an event of the connection's life, a JSON object `{"event": name, …fields}`.

        Names: `opened` (command, args, cwd, env names, pid), `failed` (members of `ErrorDetails`),
        `closed` (reason, exit_code; wanted, where the end was asked for; forced, where a signal
        was needed; processes_left, where children outlived the server), `transport_changed`
        (transport, reason: another one is used than was asked for), `restarting` (reason, files,
        count: it ends, or begins, so that the server starts afresh), `definitions_changed` (tools,
        each with tool, parts, diff: since the server's last session). And what only this side
        knows of a request, by the number of its frame: `cancel_requested` (request, reason,
        grace_s), `timed_out` (request, text), `call_ended` (request, outcome, text),
        `output_checked` (request, problems, unchecked: of its result by the output schema of its
        tool), and of its
        HTTP stream `stream_broken` (request, reason, last_event_id, attempt, retry_s),
        `stream_resumed` (request, last_event_id, attempt), `stream_closed` (request, reason);
        `request_repeated` (request, reason, headers: the names of those that are others now).
        What HTTP did around the messages: `http_request`, `http_response`, `http_events` (see
        `protocol.http_events`), `http_body`, `http_ended`, each with its `exchange`.
        """
        raw = encode({"event": name, **fields})
        return self._frame(Channel.EVENT, raw, when, at)

    def _frame(self, channel: Channel, raw: bytes, when: float, at: float) -> Frame:
        self.latest = (when, at)
        return Frame(self._numbers.take(), self._connection, channel, when, at, raw)


def _run_length(lines: Sequence[bytes]) -> int:
    """Tell how many of the first lines can be a run: those before a batch or an oversized line."""
    firsts = {raw[:1] for raw in lines}
    if firsts.isdisjoint(_BEGIN_BATCH) and max(map(len, lines)) <= OVERSIZED:
        return len(lines)
    odd = (n for n, raw in enumerate(lines) if may_be_batch(raw) or len(raw) > OVERSIZED)
    return next(odd, len(lines))


def _split_batch(raw: bytes) -> Generator[list[Frame], None, list[bytes]]:
    """Split a batch line into its elements; none if it is no batch or not well-formed."""
    if not _MAY_BE_BATCH.match(raw):
        return []
    if len(raw) <= OVERSIZED and (parts := array_parts(raw)) is not None:
        return parts
    if not _is_sound(raw):
        return []
    slices = array_elements(raw)
    while True:
        try:
            next(slices)
        except StopIteration as stop:
            elements: list[bytes] = stop.value
            return elements
        except NotJsonError:
            return []
        yield []


def _is_sound(raw: bytes) -> bool:
    """True if a line that starts with a bracket may be a batch: some log lines start with one."""
    if len(raw) > OVERSIZED:
        return True
    try:
        read_value(raw)
    except NotJsonError:
        return False
    except TooDeepError:
        return True
    return True
