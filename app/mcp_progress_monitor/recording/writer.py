"""Writes a recording: frames become lines, lines go to files, in a separate thread."""

from __future__ import annotations

import contextlib
import datetime
import errno
import itertools
import os
import queue
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import anyio

from mcp_progress_monitor import __version__
from mcp_progress_monitor.protocol.frames import Channel, Frame, are_alike, raws_of
from mcp_progress_monitor.protocol.framing import may_be_batch
from mcp_progress_monitor.recording.folder import RecordingsFolder, part_path
from mcp_progress_monitor.recording.format import NUMBER, escaped, header, prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.recording.settings import RecordingSettings

_UNKNOWN: Final = -1
_CLOSED: Final = b'{"event":"closed"'


class Encoded(NamedTuple):
    """The encoded lines of some frames, with the offset and size of each frame's bytes.

    `is_escaped` says for each whether its line feeds are escaped; None when none are.
    """

    lines: bytes
    offsets: list[int]
    sizes: list[int]
    is_escaped: list[bool] | None = None


class _Batch:
    """A batch's line, in which its elements are located one after the other."""

    def __init__(self, part: int, offset: int, raw: bytes, *, is_escaped: bool) -> None:
        self.part = part
        self.is_escaped = is_escaped
        self._offset = offset
        self._raw = raw
        self._done = raw.find(b"[") + 1

    def place(self, element: bytes) -> tuple[int, int] | None:
        """The offset of the next element in the part, and its size; None if it is not the next."""
        raw = escaped(element) if self.is_escaped else element
        found = self._raw.find(raw, self._done)
        if found < 0:
            return None
        self._done = found + len(raw)
        return self._offset + found, len(raw)


class Encoder:
    """Encodes frames as `format` says. Elements of a batch have no line of their own."""

    def __init__(self, base: float, about: Mapping[str, Any] | None = None) -> None:
        """Times count from `base`, in monotonic seconds; `about` are more fields of headers."""
        self._base = base
        self._about = about or {}
        self._run = os.urandom(16).hex()
        self._next = 1  # the number of the next line unless it states another one
        self._batches: dict[str, _Batch] = {}
        self._stamp: tuple[object, ...] = ()
        self._prefix = b""

    def begin(self, first: int) -> None:
        self._next = first

    def header(self, part: int, first: int, when: float) -> bytes:
        """The header of the part with that number, which begins with the frame `first`."""
        return header(
            {
                "program": f"mcp-progress-monitor {__version__}",
                "started": datetime.datetime.fromtimestamp(when, datetime.UTC).isoformat(),
                "at": self._base,
                "first": first,
                "part": part,
                "run": self._run,
                **self._about,
            }
        )

    def owed(self, frames: Sequence[Frame], part: int) -> tuple[int, int]:
        """How many of the first frames are elements of a batch in an earlier part, and which part.

        Their bytes are there, so nothing needs to be written.
        """
        first = frames[0]
        batch = None if first.part is None else self._batches.get(first.connection)
        if batch is None or batch.part == part:
            return 0, part
        count = sum(1 for _ in itertools.takewhile(lambda frame: frame.part is not None, frames))
        return count, batch.part

    def encode(self, frames: Sequence[Frame], part: int, offset: int) -> Encoded:
        """Encode frames: consecutive ones that differ in their bytes alone with one join."""
        raws, place = raws_of(frames), 0
        pieces: list[bytes] = []
        offsets: list[int] = []
        sizes: list[int] = []
        escapes: list[bool] = []
        while place < len(frames):
            first, end = frames[place], place + 1
            element = None if first.part is None else self._place(first)
            if element is not None:
                begin, size, is_escaped = element
                offsets.append(begin)
                sizes.append(size)
            else:
                end, is_escaped = _alike_until(frames, raws, place), b"\n" in raws[place]
                some = raws[place:end]
                texts = list(map(escaped, some)) if is_escaped else some
                head, stamp = (
                    self._head(first.number),
                    self._prefix_of(first, is_escaped=is_escaped),
                )
                pieces += [head, stamp, (b"\n" + stamp).join(texts), b"\n"]
                offset += len(head) + len(stamp)
                lengths = list(map(len, texts))
                steps = map((len(stamp) + 1).__add__, lengths)
                offsets += itertools.accumulate(steps, initial=offset)
                offset = offsets.pop() - len(stamp)
                sizes += lengths
                self._note_written(first, texts[-1], part, offsets[-1], is_escaped=is_escaped)
                self._next = first.number + end - place
            escapes += [is_escaped] * (end - place)
            place = end
        if not pieces:
            self._next = _UNKNOWN  # numbers went to elements of an earlier batch
        return Encoded(b"".join(pieces), offsets, sizes, escapes if any(escapes) else None)

    def encode_oversized(
        self, frame: Frame, part: int, offset: int
    ) -> tuple[Sequence[bytes], Encoded]:
        """Encode one frame alone: its line in pieces, one of them its own bytes.

        They are not copied, which would take long for hundreds of megabytes; `lines` is empty.
        """
        is_escaped = b"\n" in frame.raw
        raw = escaped(frame.raw) if is_escaped else frame.raw
        head = self._head(frame.number) + self._prefix_of(frame, is_escaped=is_escaped)
        begin = offset + len(head)
        self._note_written(frame, raw, part, begin, is_escaped=is_escaped)
        self._next = frame.number + 1
        return (head, raw, b"\n"), Encoded(b"", [begin], [len(raw)], [True] if is_escaped else None)

    def _note_written(
        self, frame: Frame, raw: bytes, part: int, begin: int, *, is_escaped: bool
    ) -> None:
        """Note the last of the lines that begin with a frame: a batch's elements follow."""
        if frame.channel is Channel.EVENT and raw.startswith(_CLOSED):
            self._batches.pop(frame.connection, None)
        elif frame.channel is not Channel.RECEIVED or frame.part is not None:
            return
        elif may_be_batch(raw):
            self._batches[frame.connection] = _Batch(part, begin, raw, is_escaped=is_escaped)
        else:
            self._batches.pop(frame.connection, None)

    def _place(self, frame: Frame) -> tuple[int, int, bool] | None:
        """The location of an element's bytes; None, to write it, if its batch is unknown.

        The line is no longer needed after the last element.
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
        """The prefix of a frame's line, often the same as the last one's."""
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


def _alike_until(frames: Sequence[Frame], raws: Sequence[bytes], place: int) -> int:
    """The place up to which frames follow that differ from one in their bytes alone.

    Batches and events stand alone.
    """
    if are_alike(frames) and not place and b"\n" not in b"".join(raws):
        return len(frames)
    number, connection, channel, when, at, raw, part, is_complete = frames[place]
    if part is not None or channel is Channel.EVENT or may_be_batch(raw):
        return place + 1
    alike = connection, channel, when, at
    for end in range(place + 1, len(frames)):
        frame, other = frames[end], raws[end]
        is_next = frame.number - number == end - place and frame[1:5] == alike
        is_same = frame.is_complete is is_complete and (b"\n" in other) is (b"\n" in raw)
        if not (is_next and is_same) or frame.part is not None or may_be_batch(other):
            return end
    return len(frames)


_Result = TypeVar("_Result")


class Order:
    """One piece of work, and its outcome."""

    def __init__(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.work = work
        self.arguments = arguments
        loop: Any = anyio.lowlevel.current_token().native_token
        # Not `anyio.from_thread`: it waits for the loop, which may be waiting for this thread.
        self._call_soon = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
        self.done = anyio.Event()  # for the loop; set a moment after the work is done
        self.is_done = threading.Event()
        self.result: Any = None
        self.error: Exception | None = None

    def fulfil(self) -> None:
        """Do the work and notify the loop, if it is still there."""
        try:
            self.result = self.work(*self.arguments)
        except Exception as error:  # noqa: BLE001  # raised again where the work was ordered
            self.error = error
        self.is_done.set()
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits
            self._call_soon(self.done.set)


class DiskThread:
    """Runs jobs one after the other in a thread, which starts with the first.

    `anyio.to_thread` would do, but Python waits for its threads before it exits: an unreachable
    network drive would keep the program from ending.
    """

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def do(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        order = self.begin(work, *arguments)
        await order.done.wait()
        if order.error is not None:
            raise order.error
        result: _Result = order.result
        return result

    def begin(self, work: Callable[..., Any], *arguments: Any) -> Order:
        """Run `work` after what was begun before; called on the loop."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="recording", daemon=True)
            self._thread.start()
        order = Order(work, arguments)
        self._orders.put(order)
        return order

    def end(self) -> None:
        """End the thread after its queued work."""
        self._orders.put(None)

    def _serve(self) -> None:
        while (order := self._orders.get()) is not None:
            order.fulfil()
            del order


_AT_ONCE: Final = 1024 * 1024  # bytes passed to the system at once
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Writer:
    """Appends to new files, readable only by their owner, one after the other."""

    def __init__(self) -> None:
        self.written = 0  # bytes that the last `write` put into the file, even if it failed
        self._path: Path | None = None
        self._descriptor = -1

    def write(self, path: Path, blobs: Sequence[bytes]) -> None:
        """Append to the file at `path`, which is created if it is not the last one.

        Raises:
            OSError: not everything could be written, or the file exists, or was deleted.
        """
        self.written = 0
        if path != self._path:
            self._open(path)
        self._check()
        for block in _blocks(blobs):
            self._write(memoryview(block))

    def close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def discard(self) -> None:
        self.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _open(self, path: Path) -> None:
        self.close()
        self._descriptor = os.open(path, _FLAGS, 0o600)
        self._path = path

    def _check(self) -> None:
        """Check that the file still exists: the system writes to deleted files as well."""
        if self._path is None or not os.path.samestat(
            self._path.stat(), os.fstat(self._descriptor)
        ):
            raise FileNotFoundError(errno.ENOENT, "The file was moved or replaced")

    def _write(self, view: memoryview) -> None:
        while view:
            size = os.write(self._descriptor, view[:_AT_ONCE])
            self.written += size
            view = view[size:]


def _blocks(blobs: Sequence[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer pieces, of bounded size except for single large ones."""
    gathered: list[bytes] = []
    size = 0
    for blob in blobs:
        if gathered and size + len(blob) > _AT_ONCE:
            yield b"".join(gathered)
            gathered, size = [], 0
        gathered.append(blob)
        size += len(blob)
    if gathered:
        yield b"".join(gathered)


class RunFiles:
    """Writes the parts of a run, one after the other, and prunes on request.

    Only its attributes and `written` may be read from other threads meanwhile.
    """

    def __init__(
        self, path: Path, folder: RecordingsFolder | None, settings: RecordingSettings
    ) -> None:
        """`path` is for the first part; with `folder` it is in that folder, and one of many."""
        self.path = path  # the first part's file: not the requested one if that was taken meanwhile
        self.current = path  # the current file, or the last one
        self._is_made = False
        self._folder = folder
        self._settings = settings
        self._writer = Writer()

    @property
    def written(self) -> int:
        """Bytes that the newest `write` has put into a file so far, even if it failed."""
        return self._writer.written

    def write(self, number: int, blobs: Sequence[bytes], when: float) -> None:
        """Append to a part, which is created if necessary, at `when` (wall time).

        Raises:
            OSError: not all could be written.
        """
        self._writer.written = 0
        if not self._is_made:
            self._make(when)
            self._is_made = True
        self.current = part_path(self.path, number)
        self._writer.write(self.current, blobs)

    def prune(self, when: float) -> list[Path]:
        """Delete recordings that are too old or too many by now; returns the deleted ones."""
        if self._folder is None:
            return []
        return self._folder.prune(self._settings, when, self.current)

    def end(self, discards: bool) -> None:
        """Close the file; with `discards`, delete it."""
        if discards:
            self._writer.discard()
        self._writer.close()
        if self._folder is not None:
            self._folder.end()

    def _make(self, when: float) -> None:
        """Claim the name; programs in two containers may have the same number."""
        if self._folder is None:
            return
        from filelock import Timeout  # late: not at startup

        try:
            self._folder.begin(self.path)
            if not self.path.exists():
                return
        except Timeout:
            pass
        self._folder.end()
        self.path = self._folder.new_path(when)
        self._folder.begin(self.path)
