"""The connections of a recording, and the recordings in a stream of many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.protocol.framing import Framer
from mcp_progress_monitor.recording.files import StampReader
from mcp_progress_monitor.recording.format import FROM, LINE_FORMATS, OVER, VERSION
from mcp_progress_monitor.recording.numbering import FrameNumbering, SharedNumbering

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.recording.files import RecordingPart

Named: TypeAlias = "Callable[[str, Callable[[int], int | None]], object]"
"""Takes a connection's name, and a function that maps numbers in its recording to those here."""

_FRAMERS_KEPT: Final = 4096
_SOURCES_KEPT: Final = 4096
_RUN: Final = 32  # digits of a recording's identity
_PLACE: Final = re.compile(re.escape(FROM) + rb"([0-9a-f]{32}) ([1-9]\d{0,8}) (\d{1,15})\s*")


def same_name(connection: str) -> str:
    """Leave a connection its name."""
    return connection


class Framers:
    """A framer for each connection, limited to the most recent ones."""

    def __init__(self, numbers: FrameNumbering, name_of: Callable[[str], str] = same_name) -> None:
        """Number frames by `numbers`; `name_of` renames the connections of the file."""
        self._numbers = numbers
        self._name_of = name_of
        self._framers: dict[str, Framer] = {}

    def of(self, connection: str) -> Framer:
        framer = self._framers.get(connection)
        if framer is None:
            if len(self._framers) >= _FRAMERS_KEPT:
                self._framers.clear()
            framer = Framer(self._name_of(connection), self._numbers)
            self._framers[connection] = framer
        return framer


class WatchedName(NamedTuple):
    """The name of a watched connection: `connection` is unique, `label` was given to its tap."""

    connection: str
    label: str

    @classmethod
    def of(cls, connection: str, owner: str, serial: int = 1) -> WatchedName:
        """Rename `NAME#1` to `NAME@OWNER#1`: two clients may run the same server.

        `owner` is the tap's process id; `serial` distinguishes those whose id was reused.
        """
        label, _, number = connection.rpartition("#")
        label = label or connection
        name = f"{label}@{owner}" + (f".{serial}" if serial > 1 else "")
        number = number if number.isdigit() else "1"
        if number != "1":  # each client session of an HTTP tap is a separate server
            name += f"/{number}"
        return cls(f"{name}#{number}", label)


class StreamPlace(NamedTuple):
    """Where the lines that follow in a stream stand: the recording, its part, and the byte."""

    run: str
    part: int
    offset: int

    @classmethod
    def read(cls, line: bytes) -> StreamPlace | None:
        """Parse `#from RUN PART OFFSET`; None for another line."""
        found = _PLACE.fullmatch(line)
        return None if found is None else cls(found[1].decode(), int(found[2]), int(found[3]))

    def __bytes__(self) -> bytes:
        return FROM + f"{self.run} {self.part} {self.offset}\n".encode()


def run_that_is_over(line: bytes) -> str:
    """The recording that `#over RUN EVENT` says has ended; the event is for those it left open."""
    return line.removeprefix(OVER)[:_RUN].decode(errors="replace")


class StreamSource:
    """One of the recordings in a stream."""

    def __init__(self, run: str, numbers: FrameNumbering, name_of: Callable[[str], str]) -> None:
        self.numbers: Final = SharedNumbering(numbers)
        self.framers: Final = Framers(self.numbers, name_of)
        self.fields: JsonObject = {}
        self.read = StampReader(LINE_FORMATS[VERSION], 0).read
        self.serial = 1
        self.open: Final[dict[str, None]] = {}
        """The connections in it whose end was not recorded, by their names in the file."""
        self._run = run

    @property
    def owner(self) -> str:
        """The process id of its tap, or else a part of its own."""
        pid = as_tap(self.fields).get("pid")
        return str(pid) if type(pid) is int else self._run[:8]

    def begin(self, part: RecordingPart) -> None:
        """Continue with the lines of a part, whose header was read."""
        self.fields = part.fields
        self.read = part.stamps.read


class StreamSources:
    """The recordings in a stream, by their identity; the most recent of them."""

    def __init__(self, numbers: FrameNumbering, on_named: Named) -> None:
        """Number all frames by `numbers`; `on_named` is called for each connection."""
        self._numbers = numbers
        self._on_named = on_named
        self._sources: dict[str, StreamSource] = {}
        self._by_server: dict[str, StreamSource] = {}

    def of(self, run: str) -> StreamSource:
        source = self._sources.get(run)
        if source is None:
            if len(self._sources) >= _SOURCES_KEPT:
                self._sources.clear()
                self._by_server.clear()

            def name_of(connection: str) -> str:
                self._sources[run].open[connection] = None
                return self._named(run, connection)

            source = self._sources[run] = StreamSource(run, self._numbers, name_of)
        return source

    def known(self, run: str) -> StreamSource | None:
        """The recording of an identity, if any of it was read."""
        return self._sources.get(run)

    def fields_of(self, server: str, default: JsonObject) -> JsonObject:
        """The header of the recording that has a server; `default` if it is in no other one."""
        source = self._by_server.get(server)
        return default if source is None else source.fields

    def _named(self, run: str, connection: str) -> str:
        source = self._sources[run]
        name = WatchedName.of(connection, source.owner, source.serial)
        while self._by_server.get(server_name(name.connection), source) is not source:
            source.serial += 1
            name = WatchedName.of(connection, source.owner, source.serial)
        self._by_server[server_name(name.connection)] = source
        self._on_named(name.connection, source.numbers.number_of)
        return name.connection


def as_tap(fields: JsonObject) -> dict[str, Any]:
    """The description of the tap in a header; empty without one."""
    found = fields.get("tap")
    return found if isinstance(found, dict) else {}
