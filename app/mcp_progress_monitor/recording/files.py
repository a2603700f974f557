"""The files of a recording: their headers, the stamps of frames, and what is damaged."""

from __future__ import annotations

import contextlib
import datetime
import functools
import math
import os
import re
import stat
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.recording.format import HEADER, LINE_FORMATS, NOW, NUMBER, SUFFIX, VERSION
from mcp_progress_monitor.recording.index import FrameSource
from mcp_progress_monitor.recording.timeline import FileBytes

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.recording.format import LineFormat


class _Fault(NamedTuple):
    error: ErrorDetails
    times: int


class RecordingFaults:
    """Faults found while a recording is read: the first of each kind, and their number.

    A kind is the text of `what`, which never contains anything from the file.
    """

    def __init__(self) -> None:
        self._faults: dict[str, _Fault] = {}

    def note(self, what: str, where: str, hint: str = "", detail: str = "") -> None:
        """Count one more case; the place and details of the first are kept."""
        known = self._faults.get(what)
        if known is None:
            self._faults[what] = _Fault(ErrorDetails(what, where, hint, detail), 1)
        else:
            self._faults[what] = known._replace(times=known.times + 1)

    @property
    def errors(self) -> list[ErrorDetails]:
        """One error for each kind, in the order of their first cases."""
        return [_error_of(fault) for fault in self._faults.values()]


def _error_of(fault: _Fault) -> ErrorDetails:
    error, times = fault
    if times == 1:
        return error
    more = f"{formatting.count(times - 1, 'more case')} in this recording"
    detail = f"{error.detail}\n{more}" if error.detail else more
    return error._replace(detail=detail)


_CHANNELS: Final = {
    b">": Channel.SENT,
    b"<": Channel.RECEIVED,
    b"!": Channel.STDERR,
    b"*": Channel.EVENT,
}
_SOURCES_KEPT: Final = 4096
_MICRO: Final = 1_000_000
# The named tuple's own constructor would double the time of every line.
_new = tuple.__new__


class FrameStamp(NamedTuple):
    """The line's prefix: the source and time of a frame, and the prefix's `length` in bytes.

    `when` is seconds since the epoch, `at` monotonic seconds.
    """

    source: FrameSource
    when: float
    at: float
    length: int


class StampReader:
    """Reads the stamps of one part.

    Equal sources are the same object. Times are whole microseconds, so that the floats come back
    exactly as written.
    """

    def __init__(self, form: LineFormat, base_us: int) -> None:
        """Read lines of `form`; monotonic times count from `base_us` microseconds."""
        self._form = form
        self._match = form.pattern.match
        self._base_us = base_us
        self._second = b""
        self._second_us = 0
        self._sources: dict[tuple[bytes, bytes], FrameSource] = {}

    def read(self, line: bytes) -> FrameStamp | None:
        """The stamp of a line; None if the line is not a frame."""
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
        return _new(FrameStamp, (source, when, at, found.end()))

    def _turn(self, second: bytes) -> bool:
        """Parse a new second; whether it is a valid time."""
        try:
            epoch_s = self._form.epoch_s(second)
        except ValueError:
            return False
        self._second, self._second_us = second, epoch_s * _MICRO
        return True

    def _source(self, name: bytes, mark: bytes) -> FrameSource:
        if len(self._sources) >= _SOURCES_KEPT:
            self._sources.clear()
        source = FrameSource(
            self._form.connection(name),
            _CHANNELS[mark[:1]],
            is_complete=b"~" not in mark,
            is_escaped=b"+" in mark,
        )
        self._sources[name, mark] = source
        return source


_LONGEST_HEADER: Final = 64 * 1024
_MISSING_SHOWN: Final = 50
_MOST_PARTS: Final = 10_000
_COARSE_NS: Final = 2_000_000_000  # file systems round the time of a change to so much
_NAME: Final = re.compile(r"(?P<base>.+?)(?:\.\d{1,6})?" + re.escape(SUFFIX), re.DOTALL)
_NEWER_HINT: Final = "Update this program to open it."
_BOM: Final = b"\xef\xbb\xbf"
_EDITED: Final = (
    "Save it as UTF-8 without a byte order mark and with Unix line endings (LF), or open "
    "the original."
)
_FOREIGN_HINT: Final = (
    f"Recordings are files written by this program, with names that end in {SUFFIX}. HAR files, "
    "and logs of mcpsnoop, mcp-rec and Claude Desktop can be opened as well."
)


class RecordingPart(NamedTuple):
    """One file of a recording.

    `number` counts from 1, in the order in which parts were written. `fields` are the header's,
    `begin` is the earliest place of the first frame, `base_us` the origin of its monotonic times,
    in microseconds. `first` is the number of its first frame, None if it is not stated.
    """

    path: Path
    fields: JsonObject
    version: int
    number: int
    first: int | None
    base_us: int
    begin: int
    size: int

    @property
    def stamps(self) -> StampReader:
        return StampReader(LINE_FORMATS[self.version], self.base_us)


def open_part(path: Path) -> RecordingPart:
    """Read the header of a file.

    A file without a header whose first line is a frame is an excerpt of a recording, made for
    example with `grep`.

    Raises:
        UserError: the file does not exist, cannot be read, or is not a recording that this
            version
            of the program can read.
    """
    try:
        is_file = not _is_stream(path)
        head, size = _beginning(path) if is_file else (b"", 0)
    except OSError as error:
        what = "The recording cannot be read"
        hint = "Check the path and its permissions."
        raise UserError(
            ErrorDetails(what, str(path), hint, error.strerror or str(error))
        ) from error
    if not is_file:
        what, hint = "The recording is not a regular file", "Save it as a file and open that."
        raise UserError(ErrorDetails(what, str(path), hint))
    if not head:
        raise UserError(ErrorDetails("The recording is empty", str(path), _FOREIGN_HINT))
    line, feed, _ = head.partition(b"\n")
    bare = line.removeprefix(_BOM).removesuffix(b"\r")
    if bare.startswith(HEADER) and bare != line:
        raise UserError(ErrorDetails("The recording was modified by an editor", str(path), _EDITED))
    if not line.startswith(HEADER):
        return _without_header(path, line, size)
    if not feed and size > len(head):
        raise UserError(
            ErrorDetails("The recording's header is incomplete", str(path), _FOREIGN_HINT)
        )
    return read_header(path, line, size)


def _is_stream(path: Path) -> bool:
    """True if it is a pipe or a device: opening one may block, and it can be read only once."""
    mode = path.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))  # opening a folder fails


def _beginning(path: Path) -> tuple[bytes, int]:
    """The bytes of a possible header, and the size of the file."""
    with path.open("rb") as file:
        head = file.read(_LONGEST_HEADER)
        return head, file.seek(0, 2)


def read_header(path: Path, line: bytes, size: int) -> RecordingPart:
    """Parse a header line; `UserError` as for `open_part`."""
    try:
        fields = as_object(read_value(line.removeprefix(HEADER)).value)
    except (NotJsonError, TooDeepError) as error:
        what = "The recording's header cannot be read"
        raise UserError(ErrorDetails(what, str(path), _FOREIGN_HINT, str(error))) from error
    version = fields.get("version")
    if type(version) is not int or version not in LINE_FORMATS:
        raise UserError(_of_version(version, path))
    number, first = _natural(fields.get("part")), _natural(fields.get("first"))
    base_us = _micros(fields.get("at"))
    begin = min(len(line) + 1, size)
    return RecordingPart(path, fields, version, number or 1, first, base_us, begin, size)


def _without_header(path: Path, line: bytes, size: int) -> RecordingPart:
    for version, form in sorted(LINE_FORMATS.items(), reverse=True):
        if line.startswith(NUMBER) or StampReader(form, 0).read(line) is not None:
            return RecordingPart(path, {}, version, 1, None, 0, 0, size)
    raise UserError(ErrorDetails("This is not a recording", str(path), _FOREIGN_HINT))


def _of_version(version: object, path: Path) -> ErrorDetails:
    if type(version) is int and VERSION < version < 1 << 32:
        what = (
            f"The recording has version {version}; this program supports versions up to {VERSION}"
        )
        return ErrorDetails(what, str(path), _NEWER_HINT)
    return ErrorDetails("The recording's version cannot be read", str(path), _FOREIGN_HINT)


def _natural(value: object) -> int | None:
    is_natural = type(value) is int and 0 < value < 1 << 32
    return value if is_natural else None  # type: ignore[return-value]  # it is an int


def _micros(value: object) -> int:
    if type(value) is int:
        value = float(value) if abs(value) < 1 << 60 else 0.0
    is_sound = type(value) is float and math.isfinite(value) and abs(value) < 1e15
    return round(value * 1_000_000) if is_sound else 0  # type: ignore[operator]  # a float


def parts_of(path: Path, faults: RecordingFaults) -> list[RecordingPart]:
    """All parts of the run that a file belongs to, oldest first.

    `UserError` for the file itself; faults of the others go to `faults`.
    """
    given = open_part(path)
    run = given.fields.get("run")
    if not given.fields:
        faults.note(
            "The recording has no header",
            str(path),
            "It was cut out of another recording: frames are renumbered, and times start at zero.",
        )
    if not isinstance(run, str):
        return [given]
    found = {given.number: given}
    for beside in _beside(path):
        part = _opened(beside, faults)
        if part is not None and part.fields.get("run") == run:
            found.setdefault(part.number, part)
    parts = [found[number] for number in sorted(found)]
    _note_missing(parts, faults)
    return parts


def _beside(path: Path) -> list[Path]:
    """Files in the same folder whose names mark them as parts of the same recording."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        return []
    try:
        changed_ns, now_ns = path.parent.stat().st_mtime_ns, time.time_ns()
        is_settled = changed_ns < now_ns - _COARSE_NS
        by_base = _by_base(path.parent, changed_ns if is_settled else now_ns)
    except OSError:
        return []
    beside = by_base.get(named["base"], ())
    return sorted(path.with_name(name) for name in beside if name != path.name)[:_MOST_PARTS]


@functools.lru_cache(maxsize=1)
def _by_base(folder: Path, _stamp_ns: int) -> dict[str, list[str]]:
    """The recordings in a folder by their names without part numbers.

    Kept until the folder changes: a thousand live recordings in it are opened one by one.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in os.listdir(folder):  # noqa: PTH208
        named = _NAME.fullmatch(name)
        if named is not None:
            found[named["base"]].append(name)
    return found


def _opened(path: Path, faults: RecordingFaults) -> RecordingPart | None:
    try:
        return open_part(path)
    except UserError as error:
        details = error.details
        faults.note("A part of the recording was skipped", str(path), details.hint, details.what)
        return None


def _note_missing(parts: list[RecordingPart], faults: RecordingFaults) -> None:
    expected = 1
    for part in parts:
        if part.number != expected:
            missing = f"part {expected}" + ("" if part.number == expected + 1 else " and others")
            faults.note(
                "A part of the recording is missing",
                str(parts[0].path.parent),
                "The oldest parts are deleted when recordings exceed their size limit.",
                f"{missing}, before {part.path.name}",
            )
        expected = part.number + 1


_NEAR: Final = 64 * 1024
_FAR: Final = 4 * 1024 * 1024


def first_stamp(part: RecordingPart) -> FrameStamp | None:
    """The stamp of the first frame; None if there is none within some kilobytes."""
    read = part.stamps.read
    head = FileBytes(part.path).read(part.begin, _NEAR)
    for line in head.split(b"\n"):
        if line.startswith(HEADER):  # of a recording in a stream, with its own origin of times
            with contextlib.suppress(UserError):
                read = read_header(part.path, line, part.size).stamps.read
        elif (stamp := read(line)) is not None:
            return stamp
    return None


def last_stamp(part: RecordingPart) -> FrameStamp | None:
    """The stamp of the last frame; None if there is none within some megabytes.

    The last line counts although it may be incomplete. In a stream, its newest time counts.
    """
    read, source = part.stamps.read, FileBytes(part.path)
    if "stream" in part.fields:
        read = read_now
    for reach in (_NEAR, _FAR):
        begin = max(part.begin, part.size - reach)
        lines = source.read(begin, part.size - begin).split(b"\n")
        if begin > part.begin:
            del lines[0]  # it may be the end of a longer line
        found = next(filter(None, map(read, reversed(lines))), None)
        if found is not None or begin == part.begin:
            return found
    return None


def began_of(header: JsonObject) -> tuple[float, float] | None:
    """Wall and monotonic time at which a recording began; None if its header has no valid one."""
    try:
        when = datetime.datetime.fromisoformat(header["started"]).timestamp()
        datetime.datetime.fromtimestamp(when, datetime.UTC)  # in UTC it may be beyond the calendar
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
    return when, _micros(header.get("at")) / _MICRO


def now_line(when: float, at: float) -> bytes:
    """The line of a stream that says what time it is: `#now 2026-11-28T05:10:13.000000Z 12.5`."""
    moment = datetime.datetime.fromtimestamp(round(when, 6), datetime.UTC)
    return NOW + f"{moment.isoformat('T', 'microseconds')[:26]}Z {at:.6f}\n".encode()


def read_now(line: bytes) -> FrameStamp | None:
    """The times of a `now_line`; None for another line."""
    found = _NOW.fullmatch(line)
    if found is None:
        return None
    try:
        when = datetime.datetime.fromisoformat(found[1].decode()).timestamp()
    except (ValueError, OverflowError):
        return None
    return FrameStamp(_CLOCK, when, float(found[2]), len(line))


_CLOCK: Final = FrameSource("", Channel.EVENT)
_NOW: Final = re.compile(
    re.escape(NOW) + rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) (-?\d{1,12}\.\d{6})\s*"
)


def missing_details(header: JsonObject, where: str = "") -> list[ErrorDetails]:
    """An error with the details that an imported file lacks, from the header of its recording."""
    fields = as_object(header.get("imported"))
    source, missing = fields.get("from"), fields.get("missing")
    if not isinstance(source, str) or not isinstance(missing, list):
        return []
    lines = [each for each in missing[:_MISSING_SHOWN] if isinstance(each, str)]
    what = f"Imported from {formatting.one_line(source)}; some details are missing"
    return [ErrorDetails(what, where, detail="\n".join(lines))]
