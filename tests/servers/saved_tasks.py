"""Tasks that outlive their server: a file for each in a folder."""

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from mcp_progress_monitor.demo.resumption import has_locked
from mcp_progress_monitor.demo.tasks import Store, Task
from mcp_progress_monitor.demo.wire import JsonObject
from tests.servers.faulty_tasks import FaultyTask

_POLL_S: Final = 0.02
_LOCKED_S: Final = 2.0


Origin = JsonObject
"""The request a task began with, as far as it is needed to continue it: plain data."""


class TaskStore(Store):
    """Tasks of a test server, some of which may share an id."""

    def saved(self) -> Iterable[tuple[JsonObject, Origin]]:
        """Return the tasks that a process before us left, once."""
        return ()

    def keep(self, task: FaultyTask, _origin: Origin) -> None:
        """Keep a task from now on."""
        self.add(task)

    def get(self, task_id: str, *, is_core: bool) -> Task | None:
        """Return a task of that era, the newest of those that share the id."""
        with self._lock:
            shared = [
                task.id
                for task in self._tasks.values()
                if isinstance(task, FaultyTask) and task.faults.known_as == task_id
            ]
        return super().get(shared[-1] if shared else task_id, is_core=is_core)

    def close(self) -> None:
        """Keep nothing any more for the next server."""


class SavedStore(TaskStore):
    """Tasks with a file for each; one that expired is gone with its file.

    A folder belongs to one server at a time. One that does not get it within two seconds keeps
    its tasks to itself.
    """

    def __init__(self, folder: Path) -> None:
        """Keep a file for each task in `folder`."""
        super().__init__()
        self._folder: Path | None = folder
        self._is_taken = False
        self._lock_file: int | None = None

    def saved(self) -> Iterator[tuple[JsonObject, Origin]]:
        """Take the folder, and yield each task that a process before us left in it, once."""
        if self._folder is None or self._is_taken:
            return
        self._is_taken = True
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock_file = _taken(self._folder / "lock")
        if self._lock_file is None:
            self._folder = None
            return
        for file in sorted(self._folder.glob("*.json")):
            saved = json.loads(file.read_bytes())
            yield saved["task"], saved["origin"]

    def keep(self, task: FaultyTask, origin: Origin) -> None:
        """Keep a task from now on, each change of it included."""

        def save() -> None:
            if folder := self._folder:
                _write(folder / f"{task.id}.json", {"task": _record(task), "origin": origin})

        super().keep(task, origin)
        with task.lock:
            task.on_change = save
            save()

    def close(self) -> None:
        """Leave the folder to the next server; nothing more is written to it."""
        with self._lock:
            self._folder = None
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def delete(self, task: Task) -> None:
        """Forget a task with its file, and stop its work."""
        with task.lock:
            if isinstance(task, FaultyTask):
                task.on_change = None
            if folder := self._folder:
                (folder / f"{task.id}.json").unlink(missing_ok=True)
        super().delete(task)


def store_in(state_dir: Path | None) -> TaskStore:
    """Return the tasks of a server with that folder, or those of one without."""
    return TaskStore() if state_dir is None else SavedStore(state_dir / "tasks")


def _record(task: Task) -> JsonObject:
    return {
        "id": task.id,
        "created": task.created,
        "terms": asdict(task.terms),
        "state": asdict(task.state),
    }


def _write(file: Path, content: JsonObject) -> None:
    """Replace a file as a whole: a server that dies here leaves the old one or the new."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(content), encoding="utf-8")
    new.replace(file)


def _taken(lock: Path) -> int | None:
    """Try to be the only server with this folder, as long as the file returned is open."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _LOCKED_S
    while not has_locked(file):
        if time.monotonic() >= deadline:
            os.close(file)
            return None
        time.sleep(_POLL_S)
    return file
