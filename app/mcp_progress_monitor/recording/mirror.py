"""The recordings of another machine, copied from its stream into files that can be followed here.

The files are the same to the byte, so that whatever connection brings a stream, what is already
there is recognised by its place. Everything in a stream counts as hostile: its sizes are bounded.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting, private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.files import began_of, now_line, read_header, read_now
from mcp_progress_monitor.recording.folder import RecordingsFolder, part_path
from mcp_progress_monitor.recording.format import HEADER, OVER, SUFFIX
from mcp_progress_monitor.recording.reader import LONGEST_LINE
from mcp_progress_monitor.recording.sources import StreamPlace, run_that_is_over
from mcp_progress_monitor.recording.spool import spool_error

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_BANNER: Final = 64 * 1024
"""Bytes that a shell on another machine may print before a recording begins."""
MOST_BYTES: Final = 8 * 1024**3
MOST_FILES: Final = 20_000
_MOST_RUNS: Final = 10_000
_QUOTED: Final = 300
_SLEPT_S: Final = 5.0
"""A smaller difference between clocks is that of two connections' delays."""
_HEADER: Final = re.compile(rb"^" + re.escape(HEADER) + rb"[^\n]*\n", re.MULTILINE)
_LONGEST_HEADER: Final = 64 * 1024
_DIRECTIVE: Final = re.compile(rb"^#(?:from|over|now) [^\n]{0,200}\n", re.MULTILINE)
_STREAM_HINT: Final = "The command must end with: mcp-progress-monitor tap stream"


class MirroredRecording:
    """One recording of another machine: its file here, and whether it has ended there."""

    def __init__(self, folder: Path, place: StreamPlace, shift_s: float) -> None:
        self.path = _part_path(folder, place)
        self.shift_s = shift_s
        """Difference from its monotonic times to those of this machine, in seconds."""
        self.is_over = False
        self.is_read = False
        self.is_seen = True  # on the current connection
        self.is_begun = False
        self.have = place._replace(offset=0)
        """The place up to which it is here."""

    def has_ended(self) -> bool:
        """Return whether it has ended there; its follower asks after reading all that is here."""
        self.is_read = self.is_over
        return self.is_over


class StreamMirror:
    """Copies the recordings of a stream, over as many connections as it takes."""

    def __init__(
        self,
        folder: Path,
        now: Callable[[], float],
        most_bytes: int = MOST_BYTES,
        most_files: int = MOST_FILES,
    ) -> None:
        """Write into `folder`, within limits; `now` is the monotonic time here."""
        self.recordings: Final[dict[str, MirroredRecording]] = {}
        self.begun: Final[list[MirroredRecording]] = []
        """Recordings whose header has come; whoever follows one takes it out."""
        self.host = ""
        """The other machine's name for itself; empty until it is known."""
        self.size = 0
        self._files = 0
        self._folder = folder
        self._now = now
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._since: tuple[float, float] | None = None
        self._distrusted: set[str] = set()
        self.begin()

    @property
    def has_begun(self) -> bool:
        """True once the current connection has brought the header of a stream."""
        return self._has_begun

    def begin(self) -> None:
        """A new connection begins."""
        self._rest = bytearray()
        self._has_begun = self._is_listed = False
        self._run: str | None = None
        self._place: StreamPlace | None = None
        self._shift_s = 0.0
        for recording in self.recordings.values():
            recording.is_seen = False

    def marks(self) -> bytes:
        """Say what is here, for `tap stream --marks`."""
        places = (
            bytes(recording.have)
            for run, recording in self.recordings.items()
            if run not in self._distrusted and not recording.is_over
        )
        since = b"" if self._since is None else now_line(*self._since)
        return b"".join((*places, since, b"\n"))

    def feed(self, data: bytes) -> None:
        """Take bytes of the stream.

        Raises:
            UserError: this is no stream, one of a newer version, or damaged. The rest of this
                connection is of no use; another one may be.
        """
        begin = len(self._rest)
        self._rest += data
        if not self._has_begun:
            if b"\n" not in data or not self._begun(self._rest.rfind(b"\n", 0, begin) + 1):
                self._limit_banner()
                return
            begin = 0
        end = self._rest.rfind(b"\n", begin)
        if end < 0:
            if len(self._rest) > LONGEST_LINE:
                raise self._error("A line of the stream is too long")
            return
        block = bytes(self._rest[: end + 1])
        del self._rest[: end + 1]
        at = 0
        for found in _DIRECTIVE.finditer(block):
            self._copy(block[at : found.start()])
            self._obey(found[0])
            at = found.end()
        self._copy(block[at:])

    def quoted(self) -> str:
        """The beginning of what was printed instead of a stream."""
        return formatting.one_line(bytes(self._rest[:_QUOTED]).decode(errors="replace"), _QUOTED)

    def _limit_banner(self) -> None:
        if len(self._rest) > LONGEST_BANNER:
            raise self._error("The command prints something else than a stream of recordings")

    def _begun(self, at: int) -> bool:
        """Skip what precedes the header, in the lines from `at` on; whether it was found."""
        found = _HEADER.search(self._rest, at)
        if found is None:
            return False
        line = bytes(found[0])
        if len(line) > _LONGEST_HEADER:
            raise self._error("The header of the stream is too long")
        fields = read_header(Path("stream"), line.rstrip(b"\n"), len(line)).fields
        about = fields.get("stream")
        if not isinstance(about, dict):
            raise self._error("The command prints a single recording")
        host = about.get("host")
        self.host = formatting.one_line(host, 100) if isinstance(host, str) else ""
        began = began_of(fields)
        if began is not None:
            self._set_shift(began[1])
            self._since = self._since or began
        del self._rest[: found.end()]
        self._has_begun = True
        return True

    def _set_shift(self, at: float) -> None:
        """Take the difference of the clocks from the time at which a connection began there.

        It changes when one machine slept. One that was restarted has ended its recordings.
        """
        self._shift_s = self._now() - at
        if self._since is None or at < self._since[1]:
            return
        for recording in self.recordings.values():
            if abs(recording.shift_s - self._shift_s) > _SLEPT_S:
                recording.shift_s = self._shift_s

    def _obey(self, line: bytes) -> None:
        now, place = read_now(line), StreamPlace.read(line)
        if now is not None:
            self._since = now.when, now.at
            self._end_unlisted()
        elif place is not None:
            self._enter(place)
        elif line.startswith(OVER):
            recording = self.recordings.get(run_that_is_over(line))
            if recording is not None:
                recording.is_over = True

    def _enter(self, place: StreamPlace) -> None:
        self._run, self._place = place.run, place
        recording = self.recordings.get(place.run)
        if recording is None:
            if len(self.recordings) >= _MOST_RUNS and not self._forget():
                raise self._error("The stream has too many recordings")
            recording = MirroredRecording(self._folder, place, self._shift_s)
            self.recordings[place.run] = recording
        recording.is_seen = True
        have = recording.have
        known = have.offset if place.part == have.part else 0
        if place.part >= have.part and place.offset > known:
            self._distrusted.add(place.run)  # is sent from its beginning next time
            raise self._error("The stream skips a part of a recording")

    def _end_unlisted(self) -> None:
        """All recordings of the machine were named: others are gone."""
        if not self._is_listed:
            self._is_listed = True
            for recording in self.recordings.values():
                recording.is_over |= not recording.is_seen

    def _copy(self, lines: bytes) -> None:
        """Append what is not here yet."""
        if not lines or self._run is None or self._place is None:
            return
        recording, place = self.recordings[self._run], self._place
        self._place = place._replace(offset=place.offset + len(lines))
        have = recording.have
        if place.part < have.part:
            return
        if place.part > have.part:
            have = place
        new = lines[have.offset - place.offset :]
        if not new:
            return
        while self.size + len(new) > self._most_bytes:
            if not self._forget():
                raise self._error(f"The stream has more than {formatting.size(self._most_bytes)}")
        try:
            if have.offset == 0:
                self._begin_file(recording, place, new)
            private_file.append(_part_path(self._folder, place), have.offset, new)
        except OSError as error:
            raise UserError(spool_error(error, self._folder)) from error
        self.size += len(new)
        recording.have = self._place

    def _begin_file(self, recording: MirroredRecording, place: StreamPlace, new: bytes) -> None:
        """Count a file, and list its recording with the first header. Lines always come whole."""
        while self._files >= self._most_files:
            if not self._forget():
                raise self._error("The stream has too many files")
        self._files += 1
        private_file.make_folder(recording.path.parent)
        if not recording.is_begun and new.startswith(HEADER):
            recording.is_begun, recording.path = True, _part_path(self._folder, place)
            self.begun.append(recording)

    def _forget(self) -> bool:
        """Delete the oldest recording that has ended and was read; False if there is none."""
        for run, recording in self.recordings.items():
            is_done = recording.is_read or (recording.is_over and not recording.is_begun)
            if is_done and run != self._run:
                break
        else:
            return False
        del self.recordings[run]
        for entry in RecordingsFolder(self._folder / run).entries():
            self.size -= entry.size
            self._files -= len(entry.paths)
        shutil.rmtree(self._folder / run, ignore_errors=True)
        return True

    def _error(self, what: str) -> UserError:
        return UserError(ErrorDetails(what, self.host, _STREAM_HINT, self.quoted()))


def _part_path(folder: Path, place: StreamPlace) -> Path:
    """A recording has a folder of its own: to open one lists what is beside it."""
    return part_path(folder / place.run / f"{place.run}{SUFFIX}", place.part)
