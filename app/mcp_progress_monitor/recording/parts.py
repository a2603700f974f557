"""The files that make up a recording, each with its header: found beside the one that is opened."""

from __future__ import annotations

import math
import re
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.recording.format import HEADER, NUMBER, SUFFIX, VERSION
from mcp_progress_monitor.recording.stamps import Stamps
from mcp_progress_monitor.recording.versions import FORMS

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.recording.faults import Faults

_LONGEST_HEADER: Final = 64 * 1024
_MOST_PARTS: Final = 10_000
_NAME: Final = re.compile(r"(?P<base>.+?)(?:\.\d{1,6})?" + re.escape(SUFFIX), re.DOTALL)
_NEWER_HINT: Final = "Update this program to open it."
_BOM: Final = b"\xef\xbb\xbf"
_EDITED: Final = (
    "Save it as UTF-8 without a byte order mark and with line ends as on Unix (LF), or open the "
    "original."
)
_FOREIGN_HINT: Final = f"Recordings are files that end in {SUFFIX}, written by this program."


class RecordingPart(NamedTuple):
    """One file of a recording. `number` counts from 1, in the order in which parts were written.

    `fields` are the header's, `begin` is where the first frame may stand, `base_us` what its
    monotonic times count from, in microseconds. `first` is the number of its first frame, None
    when it is not told.
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
    def stamps(self) -> Stamps:
        """A new reader of this part's stamps."""
        return Stamps(FORMS[self.version], self.base_us)


def open_part(path: Path) -> RecordingPart:
    """Read the header of a file.

    A file without one whose first line is a frame is a recording that something was cut out of,
    as with `grep`.

    Raises:
        ProblemError: there is no such file, it cannot be read, or it is no recording that this
            version of the program can read.
    """
    try:
        is_file = not _is_stream(path)
        head, size = _beginning(path) if is_file else (b"", 0)
    except OSError as error:
        what = "The recording cannot be read"
        hint = "Check the path and its permissions."
        raise ProblemError(Problem(what, str(path), hint, error.strerror or str(error))) from error
    if not is_file:
        what, hint = "The recording is no ordinary file", "Save it as a file and open that."
        raise ProblemError(Problem(what, str(path), hint))
    if not head:
        raise ProblemError(Problem("The recording is empty", str(path), _FOREIGN_HINT))
    line, feed, _ = head.partition(b"\n")
    bare = line.removeprefix(_BOM).removesuffix(b"\r")
    if bare.startswith(HEADER) and bare != line:
        raise ProblemError(Problem("The recording was changed by an editor", str(path), _EDITED))
    if not line.startswith(HEADER):
        return _without_header(path, line, size)
    if not feed and size > len(head):
        raise ProblemError(Problem("The recording's header has no end", str(path), _FOREIGN_HINT))
    return read_header(path, line, size)


def _is_stream(path: Path) -> bool:
    """Whether it is a pipe or a device: opening one may wait for ever, and it is read but once."""
    mode = path.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))  # a folder is refused by opening it


def _beginning(path: Path) -> tuple[bytes, int]:
    """The bytes that a header may take, and the size of the file."""
    with path.open("rb") as file:
        head = file.read(_LONGEST_HEADER)
        return head, file.seek(0, 2)


def read_header(path: Path, line: bytes, size: int) -> RecordingPart:
    """What a header line says of the frames behind it; `ProblemError` as of `open_part`."""
    try:
        fields = as_object(read_value(line.removeprefix(HEADER)).value)
    except (NotJsonError, TooDeepError) as error:
        what = "The recording's header cannot be read"
        raise ProblemError(Problem(what, str(path), _FOREIGN_HINT, str(error))) from error
    version = fields.get("version")
    if type(version) is not int or version not in FORMS:
        raise ProblemError(_of_version(version, path))
    number, first = _natural(fields.get("part")), _natural(fields.get("first"))
    base_us = _micros(fields.get("at"))
    begin = min(len(line) + 1, size)
    return RecordingPart(path, fields, version, number or 1, first, base_us, begin, size)


def _without_header(path: Path, line: bytes, size: int) -> RecordingPart:
    for version, form in sorted(FORMS.items(), reverse=True):
        if line.startswith(NUMBER) or Stamps(form, 0).read(line) is not None:
            return RecordingPart(path, {}, version, 1, None, 0, 0, size)
    raise ProblemError(Problem("This is no recording", str(path), _FOREIGN_HINT))


def _of_version(version: object, path: Path) -> Problem:
    if type(version) is int and VERSION < version < 1 << 32:
        what = f"The recording is of version {version}, and versions up to {VERSION} are known"
        return Problem(what, str(path), _NEWER_HINT)
    return Problem("The recording's version cannot be read", str(path), _FOREIGN_HINT)


def _natural(value: object) -> int | None:
    is_natural = type(value) is int and 0 < value < 1 << 32
    return value if is_natural else None  # type: ignore[return-value]  # it is an int


def _micros(value: object) -> int:
    if type(value) is int:
        value = float(value) if abs(value) < 1 << 60 else 0.0
    is_sound = type(value) is float and math.isfinite(value) and abs(value) < 1e15
    return round(value * 1_000_000) if is_sound else 0  # type: ignore[operator]  # a float


def parts_of(path: Path, faults: Faults) -> list[RecordingPart]:
    """All parts of the run that a file belongs to, oldest first.

    `ProblemError` for the file itself; what is wrong with the others goes to `faults`.
    """
    given = open_part(path)
    run = given.fields.get("run")
    if not given.fields:
        faults.note(
            "The recording has no header",
            str(path),
            "It was cut out of another one: frames are numbered anew, times count from zero.",
        )
    if not isinstance(run, str):
        return [given]
    found = {given.number: given}
    for beside in _beside(path):
        part = _opened(beside, faults)
        if part is not None and part.fields.get("run") == run:
            found.setdefault(part.number, part)
    parts = [found[number] for number in sorted(found)]
    _tell_missing(parts, faults)
    return parts


def _beside(path: Path) -> list[Path]:
    """Files in the same folder whose names say that they are parts of the same recording."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        return []
    base = re.escape(named["base"])
    part = re.compile(rf"{base}(?:\.\d{{1,6}})?{re.escape(SUFFIX)}")
    try:
        beside = [other for other in path.parent.iterdir() if part.fullmatch(other.name)]
    except OSError:
        return []
    return sorted(other for other in beside if other.name != path.name)[:_MOST_PARTS]


def _opened(path: Path, faults: Faults) -> RecordingPart | None:
    try:
        return open_part(path)
    except ProblemError as error:
        problem = error.problem
        faults.note("A part of the recording is not read", str(path), problem.hint, problem.what)
        return None


def _tell_missing(parts: list[RecordingPart], faults: Faults) -> None:
    expected = 1
    for part in parts:
        if part.number != expected:
            missing = f"part {expected}" + ("" if part.number == expected + 1 else " and others")
            faults.note(
                "A part of the recording is missing",
                str(parts[0].path.parent),
                "Old parts are deleted when recordings take more room than they may.",
                f"{missing}, before {part.path.name}",
            )
        expected = part.number + 1
