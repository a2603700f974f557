"""Sessions, their events and their running calls, kept in a folder so that they outlive a server.

`SESSION/setup.jsonl` has the messages that made the session what it is; `SESSION/STREAM.jsonl` has
the messages that began an exchange, then a line for each message that was sent, and `end` at its
end. Each line is written before anybody sees what it says, and a line without its end counts as
never written: a server may be killed at any moment.
"""

import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from mcp_progress_monitor.demo.resumption import has_locked

_SETUP: Final = "setup"
_SUFFIX: Final = ".jsonl"
_END: Final = b"end"
_DAY_S: Final = 86_400
_POLL_S: Final = 0.02
_LOCKED_S: Final = 2.0


class FolderTakenError(Exception):
    """Another server works with the folder."""


class Journal:
    """One file of lines that is only ever added to."""

    def __init__(self, file: Path, *, has_ended: bool = False) -> None:
        """Add to that file, which is made if need be, for the user alone; unless it `has_ended`."""
        self._path = file
        self._lock = threading.Lock()
        self._file: int | None = None
        if not has_ended:
            self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def add(self, lines: Sequence[bytes]) -> None:
        """Write lines, all at once."""
        with self._lock:
            if self._file is not None:
                _write(self._file, b"".join([line + b"\n" for line in lines]))

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def end(self) -> None:
        """Note that nothing more will come."""
        self.add([_END])
        self.close()

    def delete(self) -> None:
        """Keep nothing any more."""
        self.close()
        self._path.unlink(missing_ok=True)


class Kept:
    """What is kept of one session."""

    def __init__(self, folder: Path) -> None:
        """Keep it in that folder, which is made if need be."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._setup = Journal(folder / f"{_SETUP}{_SUFFIX}")
        self._journals = {_SETUP: self._setup}

    def add_setup(self, line: bytes) -> None:
        """Keep a message that made the session what it is."""
        self._setup.add([line])

    def setup(self) -> list[bytes]:
        """Return the messages that made the session what it is."""
        return _lines(self._folder / f"{_SETUP}{_SUFFIX}")

    def journal(self, stream: str, *, has_ended: bool = False) -> Journal:
        """Return the journal of a stream, to add to unless it `has_ended`."""
        journal = Journal(self._folder / f"{stream}{_SUFFIX}", has_ended=has_ended)
        self._journals[stream] = journal
        return journal

    def drop(self, stream: str) -> None:
        """Keep nothing of a stream any more."""
        if journal := self._journals.pop(stream, None):
            journal.delete()

    def streams(self) -> Iterator[tuple[str, list[bytes], bool]]:
        """Yield each stream's name, its lines, and whether it has ended, the oldest first."""
        files = [file for file in self._folder.glob(f"*{_SUFFIX}") if file.stem != _SETUP]
        for file in sorted(files, key=lambda file: (len(file.stem), file.stem)):
            lines = _lines(file)
            has_ended = lines[-1:] == [_END]
            yield file.stem, lines[:-1] if has_ended else lines, has_ended

    def close(self) -> None:
        """Write no more."""
        for journal in list(self._journals.values()):
            journal.close()

    def delete(self) -> None:
        """Keep nothing any more."""
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Archive:
    """The sessions of all servers before us; one server has the folder at a time."""

    def __init__(self, folder: Path) -> None:
        """Take the folder.

        Raises:
            FolderTakenError: Another server has it.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + _LOCKED_S
        while not has_locked(self._lock):
            if time.monotonic() >= deadline:
                raise FolderTakenError(f"another server works with {folder}; end it first")
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Leave the folder to the next server."""
        os.close(self._lock)

    def session(self, session_id: str) -> Kept:
        """Return what is kept of a session, or where to keep it from now on."""
        return Kept(self._folder / session_id)

    def sessions(self) -> list[str]:
        """Return the ids of all sessions of the last day, and drop the others."""
        folders = [folder for folder in self._folder.iterdir() if folder.is_dir()]
        for folder in folders:
            if _touched(folder) < time.time() - _DAY_S:
                shutil.rmtree(folder, ignore_errors=True)
        return [folder.name for folder in sorted(folders, key=_touched) if folder.exists()]


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _touched(folder: Path) -> float:
    return max((file.stat().st_mtime for file in folder.iterdir()), default=0.0)


def _lines(file: Path) -> list[bytes]:
    """Return the whole lines of a file, and cut off a line that was not finished."""
    data = file.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(file, whole)
    return data[:whole].split(b"\n")[:-1]
