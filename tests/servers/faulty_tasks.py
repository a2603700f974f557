"""Tasks that violate rules, and that a later server can continue from a file for each."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from mcp_progress_monitor.demo.resumption import has_locked
from mcp_progress_monitor.demo.tasks import State, Store, Task, Terms
from mcp_progress_monitor.demo.tool import TaskTraits
from mcp_progress_monitor.demo.wire import JsonObject, Wire

_AS_REQUIRED: Final = "as_required"


@dataclass(slots=True)
class Faults:
    """The ways in which one task violates the rules; none by default."""

    distort: Callable[[JsonObject], JsonObject] | None = None
    """Changes the task object before it is sent."""
    polls_until_forgotten: int | None = None
    has_early_result: JsonObject | None = None
    """The result to return while the task is running."""
    ignores_cancel: bool = False
    known_as: str | None = None
    """An ID that it may share with other tasks."""
    is_of_other_era: bool = False
    """Whether the reply that creates it has the format of the other era."""


class FaultyTask(Task):
    """A task with faults; each of its changes can be saved."""

    def __init__(self, task_id: str, terms: Terms, wire: Wire, subscriptions: Any) -> None:
        """Start without faults."""
        super().__init__(task_id, terms, wire, subscriptions)
        self.faults = Faults()
        self.on_change: Callable[[], None] | None = None
        """Saves the state so that it outlives the server."""
        self.has_client = True
        """Whether the client knows the task on this connection."""
        self._polls = 0

    def restore(self, saved: JsonObject) -> None:
        """Restore the state that an earlier server saved."""
        self.created = saved["created"]
        self.state = State(**saved["state"])
        if self.state.input_requests:  # asked again by the tool, under the same keys
            self.state.input_requests = {}
            self.state.answers.pop()
            self.state.status = "working"
        self.has_client = False

    @property
    def is_gone(self) -> bool:
        """Whether it is no longer known: expired, or forgotten as a fault."""
        limit = self.faults.polls_until_forgotten
        return (limit is not None and self._polls > limit) or super().is_gone

    def polled(self) -> None:
        """Count a `tasks/get`."""
        self._polls += 1

    def shape(self) -> JsonObject:
        """Return the task object of `tasks/get`, with its fault."""
        with self.lock:
            shape = super().shape()
            return shape if self.faults.distort is None else self.faults.distort(shape)

    def created_result(self) -> JsonObject:
        """Return the result that creates the task, possibly in the format of the other era."""
        with self.lock:
            bare = self._bare()
            if self.faults.distort is not None:
                bare = self.faults.distort(bare)
        if self.terms.is_core != self.faults.is_of_other_era:
            return {"task": bare}
        return {**bare, "resultType": "task"}

    def stop(self) -> None:
        """Stop the work, unless cancels are ignored."""
        if not self.faults.ignores_cancel:
            super().stop()

    def change(self, status: str, message: str = "", **payload: Any) -> bool:
        """Change the state if that is allowed and not an ignored cancel."""
        if status == "cancelled" and self.faults.ignores_cancel:
            return False
        return super().change(status, message, **payload)

    def touch(self) -> None:
        """Record a change, and save it."""
        super().touch()
        if self.on_change is not None:
            self.on_change()

    def notify(self) -> None:
        """Notify a client that knows the task on this connection."""
        if self.has_client or not self.terms.is_core:
            super().notify()

    def _payload(self) -> JsonObject:
        if payload := super()._payload():
            return payload
        return {"result": early} if (early := self.faults.has_early_result) else {}


@dataclass(frozen=True, slots=True)
class FaultyTraits(TaskTraits):
    """How calls of a tool become tasks, possibly against the rules, and with which faults."""

    becomes: Literal["as_required", "never", "always"] = _AS_REQUIRED
    """Whether calls become tasks as client and revision require, or against the rules."""
    prepare: Callable[[FaultyTask, Any], None] | None = field(default=None)
    """Sets the faults of a new task, given the call's arguments."""

    @property
    def may_be_task(self) -> bool:
        """Whether a call can become a task at all."""
        by_support = self.support in {"optional", "required"}
        return by_support if self.becomes == _AS_REQUIRED else self.becomes == "always"


def prepare(traits: TaskTraits | None, task: FaultyTask, arguments: JsonObject) -> None:
    """Set the faults of a task as its tool defines."""
    if isinstance(traits, FaultyTraits) and traits.prepare is not None:
        traits.prepare(task, arguments)


_POLL_S: Final = 0.02
_LOCKED_S: Final = 2.0


Origin = JsonObject
"""The parts of a task's original request that are needed to continue it, as JSON."""


class TaskStore(Store):
    """Tasks of a test server, some of which may share an ID."""

    def saved(self) -> Iterable[tuple[JsonObject, Origin]]:
        """Return the tasks that an earlier process left; only the first call returns any."""
        return ()

    def keep(self, task: FaultyTask, _origin: Origin) -> None:
        """Add a task."""
        self.add(task)

    def get(self, task_id: str, *, is_core: bool) -> Task | None:
        """Return a task of an era, the newest of those that share the ID."""
        with self._lock:
            shared = [
                task.id
                for task in self._tasks.values()
                if isinstance(task, FaultyTask) and task.faults.known_as == task_id
            ]
        return super().get(shared[-1] if shared else task_id, is_core=is_core)

    def close(self) -> None:
        """Stop saving tasks for the next server."""


class SavedStore(TaskStore):
    """Tasks with a file for each, which is deleted when the task expires.

    A folder belongs to one server at a time. A server that cannot lock it within two seconds does
    not save its tasks.
    """

    def __init__(self, folder: Path) -> None:
        """Save each task in `folder`."""
        super().__init__()
        self._folder: Path | None = folder
        self._is_opened = False
        self._lock_file: int | None = None

    def saved(self) -> Iterator[tuple[JsonObject, Origin]]:
        """Lock the folder and yield the tasks that an earlier process left in it."""
        if self._folder is None or self._is_opened:
            return
        self._is_opened = True
        self._lock_file = locked(self._folder)
        if self._lock_file is None:
            self._folder = None
            return
        for file in sorted(self._folder.glob("*.json")):
            saved = json.loads(file.read_bytes())
            yield saved["task"], saved["origin"]

    def keep(self, task: FaultyTask, origin: Origin) -> None:
        """Add a task, and save it whenever it changes."""

        def save() -> None:
            if folder := self._folder:
                _write(folder / f"{task.id}.json", {"task": _record(task), "origin": origin})

        super().keep(task, origin)
        with task.lock:
            task.on_change = save
            save()

    def close(self) -> None:
        """Release the folder for the next server; nothing more is written to it."""
        with self._lock:
            self._folder = None
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None

    def delete(self, task: Task) -> None:
        """Delete a task and its file, and stop its work."""
        with task.lock:
            if isinstance(task, FaultyTask):
                task.on_change = None
            if folder := self._folder:
                (folder / f"{task.id}.json").unlink(missing_ok=True)
        super().delete(task)


def store_in(state_dir: Path | None) -> TaskStore:
    """Return a store that saves tasks in a folder, if any."""
    return TaskStore() if state_dir is None else SavedStore(state_dir / "tasks")


def _record(task: Task) -> JsonObject:
    return {
        "id": task.id,
        "created": task.created,
        "terms": asdict(task.terms),
        "state": asdict(task.state),
    }


def _write(file: Path, content: JsonObject) -> None:
    """Replace a file atomically: if the server is killed, the old file or the new one remains."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(content), encoding="utf-8")
    new.replace(file)


def locked(folder: Path) -> int | None:
    """Create a folder and lock it; return the open lock file, or None if another server has it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _LOCKED_S
    while not has_locked(file):
        if time.monotonic() >= deadline:
            os.close(file)
            return None
        time.sleep(_POLL_S)
    return file
