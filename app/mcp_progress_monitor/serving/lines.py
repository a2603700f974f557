"""The lines of a recording: read from any place on, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.lenient_json import (
    NotJsonError,
    TooDeepError,
    array_parts,
    read_value,
)
from mcp_progress_monitor.recording.files import (
    RecordingFaults,
    missing_details,
    parts_of,
    read_header,
)
from mcp_progress_monitor.recording.format import HEADER, unescaped
from mcp_progress_monitor.recording.reader import read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Channel


class Place(NamedTuple):
    """Where a line begins: a part of the recording, counted from 0, and an offset in bytes."""

    part: int
    offset: int


class RecordedLine(NamedTuple):
    """One line; `at` is its monotonic time in seconds, `raw` its bytes as they were received."""

    place: Place
    connection: str
    channel: Channel
    at: float
    raw: bytes

    def messages(self) -> list[RecordedMessage]:
        """The messages of the line: one, those of a batch, or none if it is no JSON-RPC."""
        return [message for message in messages_in(self.raw) if message is not None]


class RecordedMessage(NamedTuple):
    """A message with its exact bytes."""

    raw: bytes
    members: JsonObject

    @property
    def method(self) -> str:
        method = self.members.get("method")
        return method if isinstance(method, str) else ""

    @property
    def params(self) -> JsonObject:
        return as_object(self.members.get("params"))

    @property
    def id(self) -> Any:
        return self.members.get("id")

    @property
    def is_request(self) -> bool:
        return bool(self.method) and self.id is not None

    @property
    def is_reply(self) -> bool:
        return "result" in self.members or "error" in self.members


def messages_in(raw: bytes) -> list[RecordedMessage | None]:
    """Decode a message, or the messages of a batch; None for each that is not an object."""
    is_batch = raw.lstrip()[:1] == b"["
    return [_message(part) for part in ((array_parts(raw) or [raw]) if is_batch else [raw])]


def _message(raw: bytes) -> RecordedMessage | None:
    try:
        value = read_value(raw).value
    except (NotJsonError, TooDeepError):
        return None
    return RecordedMessage(raw, value) if isinstance(value, dict) else None


class RecordedLines:
    """All files of one recording, as lines."""

    def __init__(self, path: Path) -> None:
        """Open the recording that `path` is part of; `UserError` if it cannot be read."""
        self._faults = RecordingFaults()
        self._parts = parts_of(path, self._faults)
        self.path = path

    @property
    def errors(self) -> list[ErrorDetails]:
        return [*missing_details(self._parts[0].fields), *self._faults.errors]

    def read(
        self, begin: Place | None = None, phrase: bytes = b""
    ) -> Iterator[RecordedLine | None]:
        """The lines from `begin` on that have `phrase`, and None as a pause after every block."""
        first = Place(0, 0) if begin is None else begin
        for number in range(first.part, len(self._parts)):
            offset = first.offset if number == first.part else 0
            try:
                yield from self._of_part(number, offset, phrase)
            except OSError as error:
                why = error.strerror or str(error)
                what = "Cannot read the rest of the recording"
                self._faults.note(what, str(self._parts[number].path), "Check the disk.", why)
                return

    def _of_part(self, number: int, offset: int, phrase: bytes) -> Iterator[RecordedLine | None]:
        part = self._parts[number]
        read = part.stamps.read
        with part.path.open("rb", buffering=0) as file:
            for block in read_blocks(file, max(offset, part.begin)):
                lines = () if block is None or block.size is not None else block.lines
                begin = 0 if block is None else block.offset
                for line in lines:
                    at, begin = begin, begin + len(line) + 1
                    if phrase not in line and line[:1] != b"#":
                        continue
                    if line.startswith(HEADER):  # another recording follows, as after `cat`
                        try:
                            read = read_header(part.path, line, part.size).stamps.read
                        except UserError as error:
                            self._faults.note(error.details.what, str(part.path))
                        continue
                    stamp = read(line)
                    if stamp is None or not stamp.source.is_complete:
                        continue
                    raw = line[stamp.length :]
                    source = stamp.source
                    raw = unescaped(raw) if source.is_escaped else raw
                    place = Place(number, at)
                    yield RecordedLine(place, source.connection, source.channel, stamp.at, raw)
                yield None
