"""Saves sessions, their events and their running calls, so that they outlive a server.

`SESSION/setup.jsonl` has the messages that set up the session. `SESSION/STREAM.jsonl` has the
request of an exchange, a line for each message sent, and finally `end`. The server may be killed at
any time, so each line is written before its message is sent, and an incomplete line is ignored.
"""

import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.servers.faulty_tasks import locked

_SETUP: Final = "setup"
_SUFFIX: Final = ".jsonl"
_END: Final = b"end"
_DAY_S: Final = 86_400


class FolderTakenError(Exception):
    """Another server uses the folder."""


class Journal:
    """An append-only file of lines."""

    def __init__(self, file: Path, *, has_ended: bool = False) -> None:
        """Open the file, creating it if necessary, unless the stream `has_ended`."""
        self._path = file
        self._lock = threading.Lock()
        self._file: int | None = None
        if not has_ended:
            self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def add(self, lines: Sequence[bytes]) -> None:
        """Append lines in one write."""
        with self._lock:
            if self._file is not None:
                _write(self._file, b"".join([line + b"\n" for line in lines]))

    def close(self) -> None:
        """Close the file for writing."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def end(self) -> None:
        """Mark the stream as ended."""
        self.add([_END])
        self.close()

    def delete(self) -> None:
        """Close and delete it."""
        self.close()
        self._path.unlink(missing_ok=True)


class SessionFiles:
    """The saved files of one session."""

    def __init__(self, folder: Path) -> None:
        """Use this folder, creating it if necessary."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._setup = Journal(folder / f"{_SETUP}{_SUFFIX}")
        self._journals = {_SETUP: self._setup}

    def add_setup(self, line: bytes) -> None:
        """Save a message that sets up the session."""
        self._setup.add([line])

    def setup(self) -> list[bytes]:
        """Return the messages that set up the session."""
        return _lines(self._folder / f"{_SETUP}{_SUFFIX}")

    def journal(self, stream: str, *, has_ended: bool = False) -> Journal:
        """Return the journal of a stream, writable unless it `has_ended`."""
        journal = Journal(self._folder / f"{stream}{_SUFFIX}", has_ended=has_ended)
        self._journals[stream] = journal
        return journal

    def drop(self, stream: str) -> None:
        """Delete the journal of a stream."""
        if journal := self._journals.pop(stream, None):
            journal.delete()

    def streams(self) -> Iterator[tuple[str, list[bytes], bool]]:
        """Yield each stream's name, its lines, and whether it has ended, oldest first."""
        files = [file for file in self._folder.glob(f"*{_SUFFIX}") if file.stem != _SETUP]
        for file in sorted(files, key=lambda file: (len(file.stem), file.stem)):
            lines = _lines(file)
            has_ended = lines[-1:] == [_END]
            yield file.stem, lines[:-1] if has_ended else lines, has_ended

    def close(self) -> None:
        """Close the file for writing."""
        for journal in list(self._journals.values()):
            journal.close()

    def delete(self) -> None:
        """Close and delete it."""
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Archive:
    """The sessions of earlier servers; one server uses the folder at a time."""

    def __init__(self, folder: Path) -> None:
        """Lock the folder.

        Raises:
            FolderTakenError: Another server uses it.
        """
        self._folder = folder
        lock = locked(folder)
        if lock is None:
            raise FolderTakenError(f"another server uses {folder}; stop it first")
        self._lock = lock

    def close(self) -> None:
        """Release the folder for the next server."""
        os.close(self._lock)

    def session(self, session_id: str) -> SessionFiles:
        """Return the saved files of a session, which may be new."""
        return SessionFiles(self._folder / session_id)

    def sessions(self) -> list[str]:
        """Return the IDs of all sessions of the last day, and delete the others."""
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
    """Return the complete lines of a file, and truncate an incomplete one."""
    data = file.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(file, whole)
    return data[:whole].split(b"\n")[:-1]
