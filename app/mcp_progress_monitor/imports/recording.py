"""The recording that an import makes: frames with the times of their source."""

from __future__ import annotations

import datetime
import tempfile
from typing import IO, TYPE_CHECKING, Final, Self

from mcp_progress_monitor import __version__, formatting
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer, may_be_batch
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.recording.format import header
from mcp_progress_monitor.recording.writer import Encoder, Writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp_progress_monitor.protocol.frames import Frame

_EARLIEST: Final = 0.0
_LATEST: Final = 4_102_444_800.0  # the year 2100: a later time is not that of a session
_CONNECTIONS: Final = 10_000
_BLOCK: Final = 1024 * 1024


class ImportedRecording:
    """Collects frames in a temporary file, from which `save` makes a recording.

    Times never go back: a frame dated earlier than the one before gets that one's time.
    """

    waiting_bytes = 0
    is_gathering = False

    def __init__(self, source: str) -> None:
        """`source` is the name of the imported format for the user."""
        self.source = source
        self.numbers = FrameNumbers()
        self.is_empty = True  # whether nothing was taken
        self.clock = Clock(monotonic=lambda: self._when, wall=lambda: self._when)
        self._when = _EARLIEST
        self._started: float | None = None
        self._encoder = Encoder(0.0)
        self._framers: dict[str, Framer] = {}
        self._missing: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._file: IO[bytes] = tempfile.TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def at(self, when: float | None) -> None:
        """Set the time of what follows, in seconds since the epoch; None if it is unknown."""
        if when is not None and _EARLIEST < when < _LATEST:
            self._when = max(self._when, round(when, 6))
            self._started = self._when if self._started is None else self._started

    def sent(self, connection: str, raw: bytes) -> None:
        self.take([self._framer(connection).sent(raw, self._when, self._when)])

    def received(self, connection: str, raw: bytes, *, is_complete: bool = True) -> None:
        framer = self._framer(connection)
        if may_be_batch(raw):
            stamp = (self._when, self._when)
            for frames in framer.received_in_slices([raw], *stamp, is_complete=is_complete):
                self.take(frames)
        else:
            self.take(framer.received([raw], self._when, self._when, is_complete=is_complete))

    def stderr(self, connection: str, line: bytes) -> None:
        self.take([self._framer(connection).stderr(line, self._when, self._when)])

    def event(self, connection: str, name: str, **fields: object) -> None:
        self.take([self._framer(connection).event(name, self._when, self._when, **fields)])

    def take(self, frames: Sequence[Frame]) -> None:
        if not frames:
            return
        self.is_empty = False
        if len(frames) == 1 and len(frames[0].raw) > OVERSIZED and frames[0].part is None:
            for piece in self._encoder.encode_oversized(frames[0], 1, 0)[0]:
                self._file.write(piece)
        else:
            self._file.write(self._encoder.encode(frames, 1, 0).lines)

    def hand_over(self) -> None:
        """Do nothing: frames are written immediately."""

    def miss(self, what: str, count: int = 0) -> None:
        """Note something that the source lacks; with `count`, how many times."""
        self._missing[what] = self._missing.get(what, 0) + count

    @property
    def missing(self) -> list[str]:
        """The parts that the source lacks, in sentences."""
        return [
            what if not count else f"{what} ({formatting.number(count)})"
            for what, count in self._missing.items()
        ]

    def save(self, path: Path, original: Path) -> None:
        """Write the recording of the file `original` to the new private file `path`.

        `OSError` if that fails; then no file is left behind.
        """
        started = datetime.datetime.fromtimestamp(self._started or _EARLIEST, datetime.UTC)
        fields = {
            "program": f"mcp-progress-monitor {__version__}",
            "started": started.isoformat(),
            "at": 0.0,
            "first": 1,
            "part": 1,
            "imported": {"from": self.source, "file": original.name, "missing": self.missing},
        }
        self._file.seek(0)
        writer = Writer()
        try:
            writer.write(path, [header(fields)])
            while block := self._file.read(_BLOCK):
                writer.write(path, [block])
        except OSError:
            writer.discard()
            raise
        writer.close()

    def _framer(self, connection: str) -> Framer:
        framer = self._framers.get(connection)
        if framer is None:
            if len(self._framers) >= _CONNECTIONS:
                self._framers.clear()
            framer = self._framers[connection] = Framer(connection, self.numbers)
        return framer


def epoch_of(text: str) -> float | None:
    """Parse an ISO 8601 time, in UTC unless it has an offset; None for anything else."""
    try:
        moment = datetime.datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None
