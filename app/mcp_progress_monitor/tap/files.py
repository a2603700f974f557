"""The recording's file: where it is, the lock beside it, its header and lines (format 2)."""

from __future__ import annotations

import errno
import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp_progress_monitor.tap.about import About

_SUFFIX = ".mcprec"
_PART_FOLDERS = ("recordings", "live")
_ALLOWED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_BARE = _ALLOWED | frozenset("#:@/~")
"""Characters that need no quoting in the name of a connection."""
_LONGEST = 57  # characters of a name within a file name, which may be followed by `-99`
_NAMES = 100
_LOCK_S = 1.0
_POLL_S = 0.005
_FLAGS = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | os.O_APPEND
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
)
_NEW = "" if sys.platform == "win32" else ".new"
"""The suffix of a file until its header is written; Windows cannot rename open files."""
_HIDDEN = "***"
_SMALL = 64 * 1024
_LEAST_PART = 1024 * 1024  # no part is limited to less


def change_of(number: int, raw: bytes) -> dict[str, object]:
    """The fields of an event with a request as the client wrote it, beside the changed one."""
    return {
        "actions": ["request-progress"],
        "from": "client",
        "message": number,
        "passed": 1,
        "rules": [],
        "by": "--request-progress",
        "sent": raw.decode(),
    }


class RunFile:
    """The file of one run, created by the first `write`, and again if it was deleted or moved."""

    def __init__(self, about: About) -> None:
        self.path = ""  # where it is, or was meant to be
        self._about = about
        self._began, self._base = about.began
        connection = quoted(f"{about.name}#1")
        self._ends = {mark: f"{connection} {mark} ".encode() for mark in "><!*"}
        self._run = ""
        self._run_id = ""
        self._parts: list[str] = []
        self._numbers = 1
        self._known_limits: tuple[int, int] | None = None
        self._descriptor = -1
        self._lock = -1
        self._size = 0
        self._second = -1
        self._stamp = b""
        self._opened = self.event("opened", self._opening())

    def write(self, pieces: Iterable[bytes]) -> None:
        """Append all pieces or none.

        Raises:
            OSError: they could not be written.
            ValueError: the path is invalid.
        """
        if self._descriptor >= 0 and not self._is_there():
            self.close()
        if self._descriptor < 0:
            self._open()
        elif self._size > _LEAST_PART and self._size > self._limits()[0]:
            self._next_part()
        self._append(pieces)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._unlock()

    def event(self, name: str, fields: Mapping[str, object]) -> bytes:
        """An event's line without its prefix."""
        text = json.dumps({"event": name, **fields}, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="replace") + b"\n"

    def prefix(self, mark: str, when: float, at: float) -> bytes:
        """The prefix of a line that was read at wall time `when` and monotonic time `at`."""
        second = int(when)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)).encode()
        return b"%b.%06dZ %.6f %b" % (
            self._stamp,
            (when - second) * 1_000_000,
            at - self._base,
            self._ends[mark],
        )

    def _opening(self) -> dict[str, object]:
        about = self._about
        try:
            arguments = list(about.rest.shown_arguments(about.command[1:]))
        except Exception:  # noqa: BLE001  # the program was removed: secrets cannot be recognised
            arguments = [_HIDDEN for _ in about.command[1:]]
        try:
            folder: str | None = os.getcwd()  # noqa: PTH109  # pathlib takes long to import
        except OSError:  # it was deleted
            folder = None
        return {
            "command": about.command[0],
            "args": arguments,
            "cwd": folder,
            "env": sorted(about.variables),
            "pid": about.pid,
            "parent": about.tap_pid,
        }

    def _header(self, part: int) -> bytes:
        started = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self._began))
        tap: dict[str, object] = {
            "client": self._about.client,
            "pid": self._about.tap_pid,
            "parent": self._about.client_pid,
            "transport": "stdio",
        }
        if self._about.script is not None:
            tap["script"] = self._about.script
        if self._about.requests_progress:
            tap["requests_progress"] = True
        fields: dict[str, object] = {
            "version": 2,
            "program": f"mcp-progress-monitor {self._about.rest.version}",
            "started": f"{started}.{int(self._began % 1 * 1_000_000):06d}+00:00",
            "at": round(self._base, 6),
            "first": 1,
            "part": part,
            "run": self._run_id,
            "tap": tap,
        }
        if part > 1:  # unknown, since the elements of batches are numbered too
            del fields["first"]
        line = json.dumps(fields, ensure_ascii=False).encode(errors="replace")
        return b"#mcp-recording " + line + b"\n"

    def _open(self) -> None:
        """Create the file under a free name, with its header and first event."""
        folder = self._folder()
        stamp = time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self._began))
        base = os.path.join(folder, f"{stamp}-p{self._about.tap_pid}-{file_name(self._about.name)}")  # noqa: PTH118
        for number in range(1, _NAMES):
            self._run = base if number == 1 else f"{base}-{number}"
            self.path = self._run + _SUFFIX
            if self._claim():
                break
        else:
            raise FileExistsError(errno.EEXIST, "No file name is free", self.path)
        self._parts, self._numbers = [], 1
        self._run_id = os.urandom(16).hex()
        opened = self.prefix("*", self._began, self._base) + self._opened
        try:
            self._begin(self.path, self._header(1) + opened)
        except OSError:
            self._unlock()
            raise

    def _begin(self, path: str, head: bytes) -> None:
        """Create a file, which gets its name once it has a header, and write to it."""
        descriptor = os.open(path + _NEW, _FLAGS, 0o600)
        try:
            _write_all(descriptor, head)
            if _NEW:
                os.rename(path + _NEW, path)  # noqa: PTH104  # pathlib takes long to import
        except OSError:
            os.close(descriptor)
            _deleted(path + _NEW)
            raise
        self.path, self._size, self._descriptor = path, len(head), descriptor
        self._parts.append(path)

    def _next_part(self) -> None:
        """Start the next part, and delete the oldest ones beyond the limit."""
        written, self._numbers = self._descriptor, self._numbers + 1
        self._begin(f"{self._run}.{self._numbers}{_SUFFIX}", self._header(self._numbers))
        os.close(written)
        part, most = self._limits()
        while len(self._parts) > 1 and len(self._parts) * part > most:
            _deleted(self._parts.pop(0))

    def _limits(self) -> tuple[int, int]:
        """The most bytes of a part, and of all parts."""
        if self._known_limits is None:
            try:
                self._known_limits = self._about.rest.limits()
            except Exception:  # noqa: BLE001  # the program was removed; the session continues
                self._known_limits = (sys.maxsize, sys.maxsize)
        return self._known_limits

    def _folder(self) -> str:
        data = self._about.rest.data_dir()
        self.path = data
        _make_folder(data)
        for name in _PART_FOLDERS:
            data = self.path = os.path.join(data, name)  # noqa: PTH118
            _make_folder(data)
        return data

    def _claim(self) -> bool:
        """Take the lock of the run; returns whether it and the name were free."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        lock = os.open(f"{self._run}.lock", flags, 0o600)
        if not _locked(lock):
            os.close(lock)
            return False
        self._lock = lock
        if os.path.lexists(self.path):
            self._unlock()
            return False
        return True

    def _unlock(self) -> None:
        if self._lock < 0:
            return
        is_deleted = _deleted(f"{self._run}.lock")
        os.close(self._lock)
        self._lock = -1
        if not is_deleted:  # on Windows, an open file cannot be deleted
            _deleted(f"{self._run}.lock")

    def _is_there(self) -> bool:
        """Return whether the file still exists: writing to a deleted file succeeds."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._descriptor))  # noqa: PTH116
        except OSError:
            return False

    def _append(self, pieces: Iterable[bytes]) -> None:
        size = self._size
        try:
            for block in _blocks(pieces):
                _write_all(self._descriptor, block)
                size += len(block)
        except OSError:
            os.ftruncate(self._descriptor, self._size)  # half a line would corrupt the next
            raise
        self._size = size


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer pieces, without copying large ones."""
    small: list[bytes] = []
    for piece in pieces:
        if len(piece) < _SMALL:
            small.append(piece)
            continue
        if small:
            yield b"".join(small)
            small.clear()
        yield piece
    if small:
        yield b"".join(small)


def _make_folder(path: str) -> None:
    """Create a folder and its missing parents, each for its owner only, whatever the umask."""
    parent = os.path.dirname(path)  # noqa: PTH120  # pathlib takes long to import
    if parent not in (path, "") and not os.path.exists(parent):  # noqa: PTH110
        _make_folder(parent)
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102
    except FileExistsError:
        if not os.path.isdir(path):  # noqa: PTH112
            raise


def file_name(name: str) -> str:
    """A name as part of a file name, without a trailing `.3`, which would be a part number."""
    reduced = "".join(letter if letter in _ALLOWED else "-" for letter in name)[:_LONGEST]
    stem, dot, number = reduced.rpartition(".")
    return f"{stem}-{number}" if dot and number.isdigit() else reduced


def quoted(name: str) -> str:
    """A connection's name, quoted as in `recording.format`."""
    data = name.encode(errors="surrogatepass")
    return "".join(chr(byte) if chr(byte) in _BARE else f"%{byte:02X}" for byte in data)


def _locked(descriptor: int) -> bool:
    """Lock a file, waiting while another program checks the lock."""
    until = time.monotonic() + _LOCK_S
    while not _is_taken(descriptor):
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_S)
    return True


if sys.platform == "win32":

    def _is_taken(descriptor: int) -> bool:
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _is_taken(descriptor: int) -> bool:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # the file system has no locks
            return True
        return True


def _deleted(path: str) -> bool:
    try:
        os.unlink(path)  # noqa: PTH108  # pathlib takes long to import
    except OSError:
        return False
    return True
