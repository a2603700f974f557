"""Reading what stands before a frame's bytes, by the hundred thousand: see `format`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.recording.names import Source

if TYPE_CHECKING:
    from mcp_progress_monitor.recording.versions import Form

_CHANNELS: Final = {
    b">": Channel.SENT,
    b"<": Channel.RECEIVED,
    b"!": Channel.STDERR,
    b"*": Channel.EVENT,
}
_SOURCES_KEPT: Final = 4096
_MICRO: Final = 1_000_000
# Skips the named tuple's own constructor, which takes as long again for every line.
_new = tuple.__new__


class Stamp(NamedTuple):
    """What stands before a frame: whence and when it came, and its own `length` in bytes.

    `when` is seconds since the epoch, `at` monotonic seconds.
    """

    source: Source
    when: float
    at: float
    length: int


class Stamps:
    """Reads the stamps of one part. Sources are the same objects as long as they are known.

    Times are whole microseconds, so that the very floats come back that were written.
    """

    def __init__(self, form: Form, base_us: int) -> None:
        """Read lines of `form`; monotonic times count from `base_us` microseconds."""
        self._form = form
        self._match = form.pattern.match
        self._base_us = base_us
        self._second = b""
        self._second_us = 0
        self._sources: dict[tuple[bytes, bytes], Source] = {}

    def read(self, line: bytes) -> Stamp | None:
        """The stamp of a line; None when the line is no frame."""
        found = self._match(line)
        if found is None:
            return None
        second, micros, seconds, rest, name, mark = found.groups()
        if second != self._second and not self._turn(second):
            return None
        source = self._sources.get((name, mark))
        if source is None:
            source = self._source(name, mark)
        when = (self._second_us + int(micros)) / _MICRO
        at = (self._base_us + int(seconds + rest)) / _MICRO
        return _new(Stamp, (source, when, at, found.end()))

    def _turn(self, second: bytes) -> bool:
        """Take a new second; whether it is a time at all."""
        try:
            epoch_s = self._form.epoch_s(second)
        except ValueError:
            return False
        self._second, self._second_us = second, epoch_s * _MICRO
        return True

    def _source(self, name: bytes, mark: bytes) -> Source:
        if len(self._sources) >= _SOURCES_KEPT:
            self._sources.clear()
        source = Source(
            self._form.connection(name),
            _CHANNELS[mark[:1]],
            is_complete=b"~" not in mark,
            is_escaped=b"+" in mark,
        )
        self._sources[name, mark] = source
        return source
