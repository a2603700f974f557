"""Marks and notes that a user set on frames: a small file beside the recording."""

from __future__ import annotations

import bisect
import json
import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.recording.folder import run_of
from mcp_progress_monitor.recording.format import SUFFIX as RECORDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SUFFIX: Final = ".notes.json"
_VERSION: Final = 1
_LARGEST: Final = 64 * 1024 * 1024  # most bytes of the file; nobody writes so many notes

_Stamp = tuple[int, int, int]


class _StoredNote(NamedTuple):
    is_marked: bool
    text: str


_NOTHING: Final = _StoredNote(is_marked=False, text="")


class _UnusableError(Exception):
    """The file exists but cannot be parsed; the message says why."""


def notes_path(recording: Path) -> Path:
    """The path of the notes on a recording: beside its first part, whichever part is given."""
    is_named_so = recording.suffix == RECORDING
    first = run_of(recording) + RECORDING if is_named_so else recording.name
    return recording.with_name(first + SUFFIX)


class Notes:
    """The marks and notes on one recording; with `path` None they are kept in memory.

    Every change is on disk when its call returns. If another program has changed the file, it is
    read again first, so that two windows on one recording do not undo each other's notes. If
    reading or writing fails, `error` says so and everything continues in memory; an invalid file
    is never overwritten.
    """

    def __init__(self, path: Path | None) -> None:
        self.error: ErrorDetails | None = None
        self._path = path
        self._stamp: _Stamp | None = None
        self._entries: dict[int, _StoredNote] = {}
        self._numbers: list[int] = []
        self._reread()

    def is_marked(self, number: int) -> bool:
        return self._entries.get(number, _NOTHING).is_marked

    def note(self, number: int) -> str:
        return self._entries.get(number, _NOTHING).text

    @property
    def numbers(self) -> Sequence[int]:
        return self._numbers

    def after(self, number: int) -> int | None:
        at = bisect.bisect_right(self._numbers, number)
        return self._numbers[at] if at < len(self._numbers) else None

    def before(self, number: int) -> int | None:
        at = bisect.bisect_left(self._numbers, number)
        return self._numbers[at - 1] if at else None

    def set_marked(self, numbers: Iterable[int], *, is_marked: bool) -> None:
        self._reread()
        for number in numbers:
            self._put(number, _StoredNote(is_marked, self.note(number)))
        self._save()

    def set_note(self, number: int, text: str) -> None:
        self._reread()
        self._put(number, _StoredNote(self.is_marked(number), text))
        self._save()

    def _put(self, number: int, entry: _StoredNote) -> None:
        is_known = number in self._entries
        if entry == _NOTHING:
            if is_known:
                del self._entries[number]
                self._numbers.remove(number)
            return
        self._entries[number] = entry
        if not is_known:
            bisect.insort(self._numbers, number)

    def _reread(self) -> None:
        if self._path is None:
            return
        try:
            stamp = _stamp_of(self._path)
            if stamp is None or stamp == self._stamp:
                return
            entries = _read(self._path)
        except (OSError, _UnusableError) as error:
            self._go_on_in_memory(self._path, error)
            return
        self._stamp = stamp
        self._entries = entries
        self._numbers = sorted(entries)

    def _go_on_in_memory(self, path: Path, error: Exception) -> None:
        self._path = None
        self.error = ErrorDetails(
            "Cannot read the notes on this recording",
            str(path),
            "New marks and notes are kept in memory until the program exits, and the file is "
            "left unchanged. Move it away or repair it, then open the recording again",
            _text_of(error),
        )

    def _save(self) -> None:
        if self._path is None:
            return
        try:
            _write(self._path, self._entries)
            self._stamp = _stamp_of(self._path)
            self.error = None
        except OSError as error:
            self.error = ErrorDetails(
                "Cannot save marks and notes",
                str(self._path),
                "They are kept in memory until the program exits, and saving is retried with the "
                "next change. Free some disk space, or make the folder writable",
                _text_of(error),
            )


def _text_of(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _stamp_of(path: Path) -> _Stamp | None:
    """The identity of the file's content; None without a file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> dict[int, _StoredNote]:
    if not stat.S_ISREG(path.stat().st_mode):
        raise _UnusableError("it is not a regular file")  # opening a pipe may block forever
    with path.open("rb") as file:
        raw = file.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise _UnusableError(f"it is larger than {_LARGEST:,} bytes")
    try:
        members = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _UnusableError(f"it is not valid JSON: {error}") from error
    frames = members.get("frames") if isinstance(members, dict) else None
    if not isinstance(frames, dict):
        raise _UnusableError('it has no "frames" object')
    version = members.get("version")
    if version != _VERSION:
        raise _UnusableError(
            f"it has version {version!r:.40}; this program supports version {_VERSION}"
        )
    return dict(_entry(number, fields) for number, fields in frames.items())


def _entry(number: str, fields: Any) -> tuple[int, _StoredNote]:
    is_number = number.isascii() and number.isdecimal() and len(number) <= 18
    if not is_number or not isinstance(fields, dict):
        raise _UnusableError(f"invalid entry {number!r:.40}")
    text = fields.get("note", "")
    if not isinstance(text, str):
        raise _UnusableError(f"the note on message {number} is not a string")
    return int(number), _StoredNote(fields.get("mark") is True, text)


def _write(path: Path, entries: dict[int, _StoredNote]) -> None:
    """Replace the whole file, or leave the old one unchanged."""
    if not entries:
        path.unlink(missing_ok=True)
        return
    frames = {
        str(number): {"mark": entry.is_marked, "note": entry.text}
        for number, entry in sorted(entries.items())
    }
    text = json.dumps({"version": _VERSION, "frames": frames}, ensure_ascii=True, indent=1)
    # Beside a recording that is being written, waiting for the disk would block the window.
    private_file.put(path, text.encode("ascii"), waits_for_disk=False)
