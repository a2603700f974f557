"""A queue in memory shared by two processes: its contents outlive the process that filled it.

A client may kill a tap right after the last reply. Whatever the tap has passed on is in the ring
by then, and another process writes it.
"""

from __future__ import annotations

import _thread
import mmap
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Record(NamedTuple):
        """An entry: which lane it belongs to, its kind, when it was read, and its bytes."""

        lane: int
        kind: int
        at: float
        data: bytes


DATA, CHANGED, LOST, CLOSED = range(4)
"""Kinds of entries: bytes that passed, a line that passed with more in it than was read, bytes that
were dropped, the end of the session."""
MARKS = "><!*"
"""The lanes, each with its counter in `Ring`."""
_HEAD, _BASE, _CLOSING, _UNTIL = range(4)
"""Counters that the filling process writes. Each is 8 bytes, which are stored at once."""
_LOSING = 4
_TAIL, _DONE, _LIMIT, _ASLEEP, _REFUSED = range(8, 13)
"""Counters that the emptying process writes."""
_COUNTERS = 16
_COUNTER = 8
_RECORD = struct.Struct("=BBxxId")
_HEADER = _RECORD.size
_STEP = 256
"""Entries take multiples of this: no more of them fit than a process can keep as objects."""
_TAKEN = _HEADER + _STEP - 1
_SPARE = 1024 * 1024
"""Room beyond the limit for entries that must not be dropped."""


class Ring:
    """Entries in order; `put` may be called by several threads, `take` by one.

    Processors may reorder memory accesses, which a lock prevents between entries and counters.
    """

    def __init__(self, limit: int) -> None:
        """`OSError` or `ValueError` if there is no memory for `limit` bytes of entries.

        With a limit of 0, nothing can be put.
        """
        self._limit = limit
        self._capacity = -(-limit // _STEP) * _STEP + _SPARE if limit else 0
        size = self._capacity + _COUNTERS * _COUNTER
        # Pages take memory once they are used.
        self._memory = mmap.mmap(-1, size) if limit else bytearray(size)
        self._counts = memoryview(self._memory)[self._capacity :].cast("Q")
        self._counts[_LIMIT] = limit
        self._head = self._base = 0
        self._pack = _RECORD.pack_into
        self._lock = _thread.allocate_lock()  # `threading` takes long to import
        self._fence = _thread.allocate_lock()

    # In the process that fills it

    @property
    def is_asleep(self) -> bool:
        """True if the other process has to be woken after a `put`."""
        return self._counts[_ASLEEP] != 0

    @property
    def is_refused(self) -> bool:
        """True if the disk currently refuses writes."""
        return bool(self._counts[_REFUSED])

    def set_awake(self) -> None:
        self._counts[_ASLEEP] = 0

    def has_room(self, size: int) -> bool:
        """Return whether an entry of `size` bytes fits within the limit."""
        return self._head - self._counts[_DONE] + _size(size) <= self._counts[_LIMIT]

    def put(self, lane: int, at: float, data: bytes, kind: int = DATA) -> bool:
        """Add an entry; returns whether there was room. Only data has to keep to the limit."""
        counts = self._counts
        length = len(data)
        size = (length + _TAKEN) & -_STEP
        with self._lock:
            head = self._head
            limit = counts[_LIMIT] if kind <= CHANGED else self._capacity
            if head - counts[_DONE] + size > limit:
                return False
            if head == counts[_TAIL]:  # start again, so that few pages are used
                self._base = counts[_BASE] = head
            place = (head - self._base) % self._capacity
            begin = place + _HEADER
            if begin + length <= self._capacity:
                self._pack(self._memory, place, lane, kind, length, at)
                self._memory[begin : begin + length] = data
            else:
                self._put_in_two(place, _RECORD.pack(lane, kind, length, at) + data)
            with self._fence:
                self._head = head = head + size
            counts[_HEAD] = head
        return True

    def _put_in_two(self, place: int, data: bytes) -> None:
        fitting = self._capacity - place
        self._memory[place : self._capacity] = data[:fitting]
        self._memory[: len(data) - fitting] = data[fitting:]

    def set_losing(self, lane: int, *, is_losing: bool) -> None:
        """Tell that the newest bytes of a lane were dropped, or that the gap has been put."""
        self._counts[_LOSING + lane] = is_losing

    def close(self, until_ns: int) -> None:
        """End the session; the other side may write until then (monotonic), or for ever if 0."""
        self._counts[_UNTIL] = until_ns
        self._counts[_CLOSING] = 1

    # In the process that empties it

    @property
    def is_empty(self) -> bool:
        return self._counts[_HEAD] == self._counts[_TAIL]

    @property
    def is_closing(self) -> bool:
        return bool(self._counts[_CLOSING])

    @property
    def until_ns(self) -> int:
        return self._counts[_UNTIL]

    def is_losing(self, lane: int) -> bool:
        return bool(self._counts[_LOSING + lane])

    def take(self, most: int) -> list[Record]:
        """Remove entries, until they are empty or have `most` bytes.

        They count as waiting until they are passed to `free`.
        """
        counts, found = self._counts, []
        head, tail = counts[_HEAD], counts[_TAIL]
        with self._fence:
            base = counts[_BASE]
        until = min(head, tail + most)
        while tail < until:
            place = (tail - base) % self._capacity
            lane, kind, length, at = _RECORD.unpack_from(self._memory, place)
            place += _HEADER
            data = self._memory[place : min(place + length, self._capacity)]
            if len(data) < length:
                data += self._memory[: length - len(data)]
            found.append((lane, kind, at, data))
            tail += _size(length)
        with self._fence:
            pass
        counts[_TAIL] = tail
        return found  # type: ignore[return-value]  # `typing` takes long to import

    def free(self, size: int) -> None:
        """Make room for as many bytes as `weight` returned for entries."""
        self._counts[_DONE] += size

    def set_asleep(self, *, is_asleep: bool) -> None:
        self._counts[_ASLEEP] = is_asleep

    def set_refused(self, limit: int | None) -> None:
        """Lower the limit while the disk refuses writes; None when it no longer does."""
        if self._counts[_LIMIT]:
            self._counts[_LIMIT] = self._limit if limit is None else limit
        self._counts[_REFUSED] = limit is not None

    # On both sides

    @property
    def is_given_up(self) -> bool:
        """True if no more data is accepted."""
        return not self._counts[_LIMIT]

    def give_up(self) -> None:
        self._counts[_LIMIT] = 0


def weight(data: bytes) -> int:
    """The room that an entry takes."""
    return _size(len(data))


def _size(length: int) -> int:
    return (length + _TAKEN) & -_STEP


class ChangedLine(bytes):
    """A line as it was passed on; `sent` is what was read, the `number`th message of its lane."""

    _HEADER = struct.Struct("=QII")
    number: int
    sent: bytes

    @classmethod
    def pack(cls, line: bytes, number: int, place: int, size: int) -> bytes:
        """An entry with a line to which `size` bytes at `place` were added."""
        return cls._HEADER.pack(number, place, size) + line

    @classmethod
    def unpack(cls, data: bytes) -> ChangedLine:
        line = cls(data[cls._HEADER.size :])
        line.number, place, size = cls._HEADER.unpack_from(data)
        line.sent = line[:place] + line[place + size :]
        return line


class Lost:
    """Bytes of one direction that were not recorded, and why."""

    __slots__ = ("is_cut", "messages", "size", "why")

    def __init__(self, why: str) -> None:
        self.why = why
        self.size = 0
        self.messages = 0
        self.is_cut = False  # whether the last message is incomplete

    def add(self, data: bytes | Lost) -> None:
        if isinstance(data, Lost):
            self.size += data.size
            self.messages += data.messages
            return
        self.size += len(data)
        self.messages += data.count(b"\n")
        self.is_cut = data[-1:] != b"\n"
