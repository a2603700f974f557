"""All tasks of a server, in a folder if they are to outlive it."""

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from mcp_progress_monitor.demo.locks import has_locked
from mcp_progress_monitor.demo.messages import JsonObject
from mcp_progress_monitor.demo.tasks.task import State, Task, Terms

_LOOK_EVERY_S: Final = 0.02
_LOCKED_S: Final = 2.0

Origin = JsonObject
"""The request a task began with, as far as it is needed to go on with it: plain data."""


class Store:
    """Tasks by id, the oldest first; one that expired is gone with its file.

    A folder belongs to one server at a time. One that does not get it within two seconds keeps
    its tasks to itself.
    """

    def __init__(self, folder: Path | None) -> None:
        """Keep a file for each task in `folder`, or none."""
        self._folder = folder
        self._is_taken = False
        self._lock_file: int | None = None
        self._tasks: dict[str, Task] = {}
        self._lock = threading.Lock()

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

    def add(self, task: Task, origin: Origin) -> None:
        """Keep a task from now on, each change of it included."""

        def save() -> None:
            if folder := self._folder:
                _write(folder / f"{task.id}.json", {"task": record(task), "origin": origin})

        with self._lock:
            self._tasks[task.id] = task
        with task.lock:
            task.on_change = save
            save()

    def get(self, task_id: str, *, is_core: bool) -> Task | None:
        """Return a task of that era, None if there is none or not any more."""
        with self._lock:
            shared = [task for task in self._tasks.values() if task.faults.known_as == task_id]
            task = shared[-1] if shared else self._tasks.get(task_id)
        if task is None or task.terms.is_core != is_core:
            return None
        if task.is_gone:
            self._delete(task)
            return None
        return task

    def all(self, *, is_core: bool) -> list[Task]:
        """Return all tasks of that era, the oldest first."""
        with self._lock:
            ids = list(self._tasks)
        tasks = [self.get(task_id, is_core=is_core) for task_id in ids]
        return sorted((t for t in tasks if t is not None), key=lambda task: task.created)

    def close(self) -> None:
        """Leave the folder to the next server; nothing more is written to it."""
        with self._lock:
            self._folder = None
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def _delete(self, task: Task) -> None:
        with self._lock:
            self._tasks.pop(task.id, None)
        with task.lock:
            task.on_change = None
            if folder := self._folder:
                (folder / f"{task.id}.json").unlink(missing_ok=True)
        if task.cancel is not None:
            task.cancel()


def record(task: Task) -> JsonObject:
    """Return what is kept of a task."""
    return {
        "id": task.id,
        "created": task.created,
        "terms": asdict(task.terms),
        "state": asdict(task.state),
    }


def restore(saved: JsonObject, task: Task) -> Task:
    """Give a new task the state of a saved one."""
    task.state = State(**saved["state"])
    if task.state.input_requests:  # asked again by the tool, under the same keys
        task.state.input_requests = {}
        task.state.answers.pop()
        task.state.status = "working"
    task.has_client = False
    return task


def terms_of(saved: JsonObject) -> Terms:
    """Return the terms of a saved task."""
    return Terms(**saved["terms"])


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
        time.sleep(_LOOK_EVERY_S)
    return file
