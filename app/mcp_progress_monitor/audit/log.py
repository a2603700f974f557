"""The log of what agents read: a private file for each process that answers one.

Each line is a JSON object. A damaged line costs nothing but itself, and a process writes no other
file than its own, so that any number of them run at once.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from mcp_progress_monitor import __version__, private_file
from mcp_progress_monitor.audit.access import FOLDER
from mcp_progress_monitor.path_checks import PathKind, is_folder, path_kind
from mcp_progress_monitor.process_lock import CHECK_S, is_held, process_lock
from mcp_progress_monitor.validation import Validated, without_plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from filelock import FileLock

_SUFFIX: Final = ".jsonl"
_LOCK: Final = ".lock"
_MOST_BYTES: Final = 128 * 1024
"""Size of a file above which the older half of its readings is removed."""
_MOST_FILES: Final = 40
_MOST_READ: Final = 2 * _MOST_BYTES
"""More than a file of ours has: the rest of a file is not ours."""
_PATIENCE_S: Final = 1.0
_OPENED: Final = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_APPEND
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)  # only on Windows
)


class Beginning(Validated):
    """The process began; without `servers`, the agent may read all.

    With `acts`, it may also act on those that the user approved.
    """

    kind: Literal["began"] = "began"
    when: float
    pid: int
    version: str = __version__
    servers: tuple[str, ...] = ()
    acts: bool = False
    removed: int = 0
    """Readings that were removed because the file was full."""


class AgentName(Validated):
    """The name that the agent gave itself."""

    kind: Literal["client"] = "client"
    when: float
    name: str
    title: str = ""
    version: str = ""


class Reading(Validated):
    """One answer, or a refusal: the tool or URI, and the servers and jobs in the answer."""

    kind: Literal["read"] = "read"
    when: float
    what: str
    arguments: str = ""
    servers: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    size: int = 0
    """Bytes of the answer."""
    outcome: Literal["answered", "failed", "cancelled", "refused"] = "answered"
    missed: int = 0
    """Readings before this one that could not be logged."""


class Ending(Validated):
    """The process ended; one that was killed leaves none."""

    kind: Literal["ended"] = "ended"
    when: float


_Line = Beginning | AgentName | Reading | Ending


class AuditLog:
    """Writes what one process let its agent read. No method fails, whatever the disk does.

    A data folder that does not exist is not created: there is nothing to read in it.
    """

    def __init__(self, data_dir: Path, servers: Iterable[str] = (), *, acts: bool = False) -> None:
        self._folder = data_dir / FOLDER
        self._beginning = Beginning(
            when=time.time(), pid=os.getpid(), servers=tuple(sorted(servers)), acts=acts
        )
        stamp = time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self._beginning.when))
        part = int(self._beginning.when % 1 * 1_000_000)
        run = f"{stamp}-{part:06d}-p{os.getpid()}"
        self._path = self._folder / f"{run}{_SUFFIX}"
        self._name: AgentName | None = None
        self._is_name_due = False
        self._missed = 0
        self._is_torn = False
        self._lock: FileLock | None = None
        self._writing = threading.Lock()

    def begin(self) -> None:
        """Create the file, which tells that this process runs, and delete the oldest of others."""
        if self._append(()):
            _prune(self._folder)

    def note_name(self, name: AgentName) -> None:
        """Write the agent's name, or later with the next line that can be written."""
        self._name, self._is_name_due = name, True
        self._append(())

    def note(self, reading: Reading) -> None:
        missed = self._missed
        if self._append([reading.model_copy(update={"missed": missed})]):
            self._missed -= missed  # others may have been missed while the disk hung
        else:
            self._missed += 1

    def end(self) -> None:
        self._append([Ending(when=time.time())])
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._lock.release()
                _lock_path(self._path).unlink(missing_ok=True)

    def _append(self, lines: Iterable[_Line]) -> bool:
        """Add lines to the file, with its head if it is new; False if they are not there."""
        if not self._writing.acquire(blocking=False):  # the disk hangs
            return False
        try:
            return self._appended(lines)
        except OSError:
            return False
        finally:
            self._writing.release()

    def _open(self) -> int:
        """Open the file, and lock it if this has not been done; `OSError` if that fails."""
        if self._lock is None and is_folder(self._folder.parent):
            private_file.make_folder(self._folder)
            lock = process_lock(_lock_path(self._path))
            with contextlib.suppress(NotImplementedError):  # the file system has no locks
                lock.acquire(timeout=_PATIENCE_S, poll_interval=CHECK_S)
                self._lock = lock
        return os.open(self._path, _OPENED, 0o600)

    def _appended(self, lines: Iterable[_Line]) -> bool:
        content = b"".join(map(_written, lines))
        file = self._open()
        try:
            size = os.fstat(file).st_size
            beginning = self._beginning if size == 0 else None
            name = self._name if size == 0 or self._is_name_due else None
            head = filter(None, (beginning, name))
            content = b"".join(map(_written, head)) + content
            if self._is_torn:
                content = b"\n" + content
            self._is_torn = True
            self._is_torn = os.write(file, content) != len(content)
            self._is_name_due &= self._is_torn
        finally:
            os.close(file)
        if size + len(content) > _MOST_BYTES:
            with contextlib.suppress(OSError):  # as long as a window on Windows reads it
                self._shorten()
        return not self._is_torn

    def _shorten(self) -> None:
        """Remove the older half of the readings, and count them."""
        content = self._path.read_bytes()
        kept = content[-_MOST_BYTES // 2 :].partition(b"\n")[2]
        removed = len(_readings(content)) - len(_readings(kept))
        beginning = self._beginning.model_copy(
            update={"removed": self._beginning.removed + removed}
        )
        head = [beginning, *filter(None, [self._name])]
        private_file.put(self._path, b"".join(map(_written, head)) + kept, waits_for_disk=False)
        self._beginning = beginning


class AuditedAgent(NamedTuple):
    """A process with what it let its agent read, the oldest reading first.

    `name` is None until the agent has given one. `ended_when` is None while it runs, and for a
    process that was killed; `damaged` counts lines that cannot be read.
    """

    path: Path
    is_live: bool
    beginning: Beginning
    name: AgentName | None = None
    readings: tuple[Reading, ...] = ()
    ended_when: float | None = None
    damaged: int = 0


def live_count(data_dir: Path) -> int:
    """Count the processes that answer agents now. `OSError` if the folder cannot be read."""
    return sum(is_held(_lock_path(path), CHECK_S) for path in _logs(data_dir / FOLDER))


class AuditReader:
    """Reads the logs of all processes, each again only when it has changed."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER
        self._known: dict[Path, tuple[tuple[int, int], AuditedAgent]] = {}

    def read(self) -> list[AuditedAgent]:
        """Return all agents, those that began last first.

        Raises:
            OSError: the folder cannot be read.
        """
        found: dict[Path, tuple[tuple[int, int], AuditedAgent]] = {}
        for path in _logs(self._folder):
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                about = path.stat()
                state = about.st_size, about.st_mtime_ns
                known = self._known.get(path)
                agent = known[1] if known and known[0] == state else _agent(path)
                is_live = is_held(_lock_path(path), CHECK_S)
                found[path] = state, agent._replace(is_live=is_live)
        self._known = found
        agents = [agent for _, agent in found.values()]
        return sorted(agents, key=lambda agent: agent.beginning.when, reverse=True)


def remove_ended(data_dir: Path) -> None:
    """Delete the logs of agents that have ended; suppresses what cannot be deleted."""
    with contextlib.suppress(OSError):
        for path in _logs(data_dir / FOLDER):
            _remove(path)


def _agent(path: Path) -> AuditedAgent:
    """Read a log. One that cannot be opened is an agent without readings, and damaged."""
    unknown = Beginning(when=_changed_when(path), pid=0)
    agent = AuditedAgent(path, is_live=False, beginning=unknown)
    try:
        if path_kind(path) is PathKind.OTHER:  # reading a pipe would block forever
            return agent._replace(damaged=1)
        with path.open("rb") as file:
            content = file.read(_MOST_READ)
    except FileNotFoundError:
        raise
    except OSError:
        return agent._replace(damaged=1)
    readings: list[Reading] = []
    for line in _lines(content):
        match line:
            case Beginning():
                agent = agent._replace(beginning=line)
            case AgentName():
                agent = agent._replace(name=line)
            case Reading():
                readings.append(line)
            case Ending():
                agent = agent._replace(ended_when=line.when)
            case None:
                agent = agent._replace(damaged=agent.damaged + 1)
    return agent._replace(readings=tuple(readings))


def _lines(content: bytes) -> Iterator[_Line | None]:
    """Each line; None for a damaged one. The last may not be whole yet."""
    adapter = _adapter()
    *whole, _ = content.split(b"\n")
    for raw in whole:
        if not raw.strip():
            continue
        try:
            yield adapter.validate_json(raw)
        except ValidationError:
            yield None


@functools.cache
def _adapter() -> TypeAdapter[_Line]:
    with without_plugins():
        return TypeAdapter(Annotated[_Line, Field(discriminator="kind")])


def _readings(content: bytes) -> list[_Line | None]:
    return [line for line in _lines(content) if isinstance(line, Reading)]


def _written(line: Validated) -> bytes:
    return line.model_dump_json().encode() + b"\n"


def _logs(folder: Path) -> list[Path]:
    """Return the logs of a folder by name, oldest first; empty if the folder does not exist."""
    try:
        with os.scandir(folder) as entries:
            return sorted(folder / each.name for each in entries if each.name.endswith(_SUFFIX))
    except FileNotFoundError:
        return []


def _prune(folder: Path) -> None:
    for path in _logs(folder)[:-_MOST_FILES]:
        _remove(path)


def _remove(path: Path) -> None:
    lock = _lock_path(path)
    if not is_held(lock, CHECK_S):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            lock.unlink(missing_ok=True)


def _lock_path(path: Path) -> Path:
    return path.with_suffix(_LOCK)


def _changed_when(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
