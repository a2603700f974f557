"""The folder of recordings: names, locks, and pruning."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import is_there
from mcp_progress_monitor.process_lock import CHECK_S, is_held, process_lock
from mcp_progress_monitor.recording.format import HEADER, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Collection

    from filelock import FileLock

    from mcp_progress_monitor.recording.settings import RecordingSettings

_PART: Final = re.compile(rf"(?P<run>.+?)(?:\.(?P<part>[1-9]\d{{0,8}}))?{re.escape(SUFFIX)}")
LIVE: Final = "live"  # the subfolder where taps write their recordings
_STAMP: Final = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-p\d+"
_OURS: Final = re.compile(rf"{_STAMP}(?:-\d+)?")
"""Names of recordings that this program made automatically; only those are pruned."""
_OF_TAPS: Final = re.compile(rf"{_STAMP}-[A-Za-z0-9._-]{{1,60}}")
"""The same for those in `LIVE`; they end in a server's name, which never looks like a part."""
_BESIDE: Final = ".notes.json"
_UNFINISHED: Final = f"{SUFFIX}.new"
"""The suffix of a tap's file until that has its header; left by a tap that was killed early."""
_DAY_S: Final = 24 * 3600
_PATIENCE_S: Final = 1.0
_HEADER_BYTES: Final = 4096


class RecordingEntry(NamedTuple):
    """One run of the program on disk: its parts, oldest first, and their total size.

    `path` is the oldest existing part; `begun_when` and `changed_when` are wall time.
    """

    path: Path
    paths: tuple[Path, ...]
    size: int
    begun_when: float
    is_in_use: bool
    changed_when: float = 0.0


class _File(NamedTuple):
    """One part on disk; `run` is the common prefix of the paths of all parts."""

    path: Path
    run: Path
    part: int
    size: int
    changed_when: float


class RecordingsFolder:
    """Names recordings, lists them, and deletes those that are too old or exceed the limit.

    A program holds a system lock as long as it writes a recording, so that no other one deletes it;
    the system releases the lock however its holder ends. The recordings of taps, in the subfolder
    `LIVE`, are listed and count as well.
    """

    def __init__(self, path: Path, watched_as: str = "") -> None:
        """With `watched_as`, new recordings are in `LIVE`, under that name, as those of taps."""
        self.path = path
        self._watched_as = watched_as
        self._lock: FileLock | None = None
        self._own: Path | None = None

    def new_path(self, when: float) -> Path:
        """Return the path of a run that begins at `when` (wall time); nothing is there yet."""
        name, folder = f"{_stamp(when)}-p{os.getpid()}", self.path
        if self._watched_as:
            name, folder = f"{name}-{self._watched_as}", self.path / LIVE
        number, path = 1, folder / f"{name}{SUFFIX}"
        while is_there(path) or is_there(_lock_path(_run_path(path))):
            number += 1
            path = folder / f"{name}-{number}{SUFFIX}"
        return path

    def begin(self, path: Path) -> None:
        """Create the folder and lock the run at `path`, which this program writes.

        Raises:
            OSError: the folder cannot be created, or another program writes that run.
        """
        private_file.make_folder(path.parent)
        self._own = _run_path(path)
        lock = process_lock(_lock_path(self._own))
        with contextlib.suppress(NotImplementedError):  # the file system has no locks
            lock.acquire(timeout=_PATIENCE_S, poll_interval=CHECK_S)
            self._lock = lock

    def end(self) -> None:
        """Release the run that this program wrote."""
        if self._lock is not None and self._own is not None:
            lock, self._lock = self._lock, None
            with contextlib.suppress(OSError):
                lock.release()
                _lock_path(self._own).unlink(missing_ok=True)

    def entries(self) -> list[RecordingEntry]:
        """All recordings, oldest first; empty if the folder cannot be read."""
        runs: dict[Path, list[_File]] = {}
        for file in self._files():
            runs.setdefault(file.run, []).append(file)
        return sorted(map(self._entry, runs.values()), key=_begun_when)

    def prune(
        self, settings: RecordingSettings, now_when: float, written: Path | None = None
    ) -> list[Path]:
        """Delete what is older or larger than `settings` allow, oldest parts first.

        Returns the deleted files. Recordings that other programs write are kept, and files that the
        user put here under another name. Of this program's own run everything may be deleted except
        `written`, the growing part.
        """
        now = [file for file in self._files() if file.path != written]
        oldest_first = sorted((file for file in now if _is_ours(file)), key=_age_order)
        total = sum(file.size for file in now) + _size_of(written)
        pruned: list[Path] = []
        is_written = functools.cache(self._is_written_elsewhere)  # most prunings delete nothing
        for file in oldest_first:
            is_old = now_when - file.changed_when > settings.keep_days * _DAY_S
            if not (is_old or total > settings.keep_bytes) or is_written(file.run):
                continue
            if _deleted(file.path):
                pruned.append(file.path)
                total -= file.size
        self._sweep(now_when)
        return pruned

    def written(self, known: Collection[Path] = (), since: float | None = None) -> list[Path]:
        """The recordings that other programs are writing, without those `known`; oldest first.

        Only recordings with a lock file are checked, however many there are. With `since` (wall
        time), those of them that began later and have ended are included.
        """
        found: list[Path] = []
        followed = {_run_path(path) for path in known}
        with contextlib.suppress(OSError):
            names = {entry.name for entry in os.scandir(self.path) if _is_plain(entry)}
            began = "~" if since is None else _stamp(since)
            for run, path in _oldest_parts(self.path, names).items():
                if run in followed:
                    continue
                is_in_use = _lock_path(run).name in names and self.is_written(path)
                if is_in_use or (path.name >= began and _is_settled(path)):
                    found.append(path)
        return sorted(found, key=lambda path: path.name)

    def ended(self, known: Collection[str] = ()) -> list[tuple[Path, ...]]:
        """The parts of each recording that nobody writes, without those of the names `known`.

        The oldest is first, of recordings and of parts. A recording's name is that of its first.
        """
        runs: dict[Path, list[_File]] = {}
        for file in _files_in(self.path):
            runs.setdefault(file.run, []).append(file)
        found: list[tuple[Path, ...]] = []
        for run, files in runs.items():
            files.sort(key=lambda file: file.part)
            if files[0].path.name in known:
                continue
            # A tap locks its run before it names the file, which a scan may find first.
            if not is_there(_lock_path(run)) or not self._is_written_elsewhere(run):
                found.append(tuple(file.path for file in files))
        return sorted(found, key=lambda parts: parts[0].name)

    def is_written(self, path: Path) -> bool:
        """Return whether another program writes the recording at `path`: one try, without waiting.

        Another program that checks at the same moment counts as a writer.
        """
        return is_held(_lock_path(_run_path(path)))

    def delete(self, entry: RecordingEntry) -> None:
        """Delete a recording with all its parts and notes.

        Raises:
            UserError: a program writes it, or it cannot be deleted.
        """
        if self._is_written(_run_path(entry.path)):
            hint = "Close the window or stop the command that is recording it."
            raise UserError(
                ErrorDetails("The recording is still being written", str(entry.path), hint)
            )
        try:
            for path in entry.paths:
                path.unlink(missing_ok=True)
                path.with_name(path.name + _BESIDE).unlink(missing_ok=True)
        except OSError as error:
            what, hint = "Cannot delete the recording", "Check the permissions of its folder."
            raise UserError(
                ErrorDetails(what, str(entry.path), hint, error.strerror or str(error))
            ) from error
        self._sweep(time.time())

    def _files(self) -> list[_File]:
        return [*_files_in(self.path), *_files_in(self.path / LIVE)]

    def _entry(self, files: list[_File]) -> RecordingEntry:
        files.sort(key=lambda file: file.part)
        first = files[0]
        return RecordingEntry(
            first.path,
            tuple(file.path for file in files),
            sum(file.size for file in files),
            _started(first),
            self._is_written(first.run),
            max(file.changed_when for file in files),
        )

    def _is_written(self, run: Path) -> bool:
        is_own = self._lock is not None and run == self._own
        return is_own or self._is_written_elsewhere(run)

    def _is_written_elsewhere(self, run: Path) -> bool:
        """Return whether another program writes a run; in doubt, it does."""
        if self._lock is not None and run == self._own:
            return False
        return is_held(_lock_path(run), CHECK_S)

    def _sweep(self, now_when: float) -> None:
        """Delete notes of deleted recordings, and remains of a crash: locks, unfinished parts."""
        runs = {file.run for file in self._files()}
        for path in (*_beside(self.path), *_beside(self.path / LIVE)):
            with contextlib.suppress(OSError):
                run = _run_beside(path)
                if run is None or not _is_name_of_ours(run):
                    continue
                if run in runs and not path.name.endswith(_UNFINISHED):
                    continue
                is_fresh = now_when - _changed_when(path, now_when) < _PATIENCE_S * 60
                if not is_fresh and not self._is_written(run):
                    _deleted(path)


def _stamp(when: float) -> str:
    """The beginning of the names of recordings that begin at a wall time."""
    return time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(when))


def _is_settled(path: Path) -> bool:
    """Return whether nothing was added for a while, so that it is not about to be locked."""
    return _changed_when(path, time.time()) < time.time() - _PATIENCE_S


def _lock_path(run: Path) -> Path:
    return run.with_name(f"{run.name}.lock")


def _run_path(path: Path) -> Path:
    """The common prefix of the paths of all parts of a run."""
    return path.with_name(run_of(path))


def _oldest_parts(folder: Path, names: Collection[str]) -> dict[Path, Path]:
    """The first existing part of each run, among the names of files in a folder."""
    found: dict[Path, tuple[int, Path]] = {}
    for name in names:
        part = _PART.fullmatch(name)
        if part is not None:
            numbered = int(part["part"] or 1), folder / name
            run = _run_path(folder / name)
            found[run] = min(numbered, found.get(run, numbered))
    return {run: path for run, (_, path) in found.items()}


def _files_in(folder: Path) -> list[_File]:
    """The recordings in a folder, part by part; empty if it cannot be read."""
    found: list[_File] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = _PART.fullmatch(entry.name)
            with contextlib.suppress(OSError):
                if name is not None and entry.is_file(follow_symlinks=False):
                    about, path = entry.stat(), Path(entry.path)
                    part, run = int(name["part"] or 1), _run_path(path)
                    found.append(_File(path, run, part, about.st_size, about.st_mtime))
    return found


def _is_plain(entry: os.DirEntry[str]) -> bool:
    """Return whether it is a file itself: a link may lead anywhere, and opening a pipe blocks."""
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _beside(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(folder.iterdir())
    return []


def part_path(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_name(f"{run_of(path)}.{number}{SUFFIX}")


def run_of(path: Path) -> str:
    found = _PART.fullmatch(path.name)
    return path.name if found is None else found["run"]


def _is_ours(file: _File) -> bool:
    return _is_name_of_ours(file.run)


def _is_name_of_ours(run: Path) -> bool:
    is_of_tap = run.parent.name == LIVE and _OF_TAPS.fullmatch(run.name) is not None
    return is_of_tap or _OURS.fullmatch(run.name) is not None


def _run_beside(path: Path) -> Path | None:
    """The run that a lock, a file of notes or an unfinished part belongs to."""
    if path.name.endswith(".lock"):
        return path.with_name(path.name.removesuffix(".lock"))
    if path.name.endswith(SUFFIX + _BESIDE):
        return _run_path(path.with_name(path.name.removesuffix(_BESIDE)))
    if path.name.endswith(_UNFINISHED):
        return _run_path(path.with_suffix(""))
    return None


def _started(file: _File) -> float:
    """Return when a run began, from its header; else the time of its last change."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        with file.path.open("rb") as stream:
            line = stream.readline(_HEADER_BYTES)
        if line.startswith(HEADER):
            return datetime.fromisoformat(json.loads(line[len(HEADER) :])["started"]).timestamp()
    return file.changed_when


def _deleted(path: Path) -> bool:
    """Delete a file; whether it no longer exists."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _size_of(path: Path | None) -> int:
    with contextlib.suppress(OSError):
        return 0 if path is None else path.stat().st_size
    return 0


def _changed_when(path: Path, default: float) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return default


def _age_order(file: _File) -> tuple[float, Path, int]:
    return file.changed_when, file.run, file.part


def _begun_when(entry: RecordingEntry) -> tuple[float, Path]:
    return entry.begun_when, entry.path
