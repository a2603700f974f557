"""Tasks: their states, their wire format, and notifications about changes.

There are two formats: the core feature of revision 2025-11-25 ("Tasks"), and the extension
`io.modelcontextprotocol/tasks` of 2026-07-28 (ext-tasks, specification 2026-07-28). Everything
about a task is sent under its lock, so that no "working" is sent after its end.
"""

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.demo.questions import Subscriptions, checked_responses
from mcp_progress_monitor.demo.wire import (
    JsonObject,
    RpcError,
    Wire,
    notification,
    progress_notification,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ENDS: Final = frozenset({"completed", "failed", "cancelled"})
RELATED: Final = "io.modelcontextprotocol/related-task"


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a task from its creation."""

    is_core: bool  # whether it is of revision 2025-11-25 and not of the extension
    ttl_ms: int | None  # how long it is kept after its creation, None for ever
    poll_ms: int = 500


@dataclass(slots=True)
class State:
    """The changing state of a task, sufficient to resume it."""

    status: str = "working"
    message: str = ""
    result: JsonObject | None = None
    error: JsonObject | None = None
    input_requests: JsonObject = field(default_factory=dict)
    updated: float = 0.0
    checkpoint: int = 0  # finished steps, which are not repeated
    answers: list[JsonObject] = field(default_factory=list)
    """The replies of each round of questions, by key."""


class Task:
    """A call that continues after its reply."""

    def __init__(
        self, task_id: str, terms: Terms, wire: Wire, subscriptions: Subscriptions
    ) -> None:
        self.id = task_id
        self.terms = terms
        self.created = time.time()  # seconds since the epoch
        self.state = State(message="Begun", updated=self.created)
        self.cancel: Callable[[], None] | None = None  # requests the work to stop
        self.lock = threading.RLock()
        self._result_waiters = 0
        self._wire = wire
        self._subscriptions = subscriptions

    @property
    def has_ended(self) -> bool:
        with self.lock:
            return self.state.status in ENDS

    @property
    def is_gone(self) -> bool:
        ttl_ms = self.terms.ttl_ms
        return ttl_ms is not None and time.time() > self.created + ttl_ms / 1000

    @property
    def related(self) -> JsonObject:
        return {RELATED: {"taskId": self.id}}

    @property
    def is_awaited(self) -> bool:
        """True if a `tasks/result` is open, on which questions may be sent."""
        return self._result_waiters > 0

    def awaited(self, by: int) -> None:
        """Count the open requests for the result: 1 for one more, -1 for one less."""
        with self.lock:
            self._result_waiters += by

    def stop(self) -> None:
        if self.cancel is not None:
            self.cancel()

    def shape(self) -> JsonObject:
        with self.lock:
            shape = self._bare()
            if not self.terms.is_core:
                shape.update(self._payload())
            return shape

    def created_result(self) -> JsonObject:
        with self.lock:
            bare = self._bare()
        return {"task": bare} if self.terms.is_core else {**bare, "resultType": "task"}

    def change(self, status: str, message: str = "", **payload: Any) -> bool:
        """Change the status unless the task has ended; `payload` sets members of the state."""
        with self.lock:
            if self.has_ended or self.is_gone:
                return False
            self.force(status, message, **payload)
            return True

    def force(self, status: str, message: str = "", **payload: Any) -> None:
        """Change the status in any case, and send a notification."""
        with self.lock:
            self.state.status, self.state.message = status, message
            for name, value in payload.items():
                setattr(self.state, name, value)
            self.touch()
            self.notify()

    def finish(self, result: JsonObject) -> None:
        """End with a result; an error result means `failed` in the core feature only."""
        is_failure = self.terms.is_core and result.get("isError", False)
        text = "The tool failed" if result.get("isError") else "Done"
        self.change("failed" if is_failure else "completed", text, result=result)

    def fail(self, error: RpcError) -> None:
        self.change("failed", error.message, error=error.body())

    def report(self, token: str | int | None, params: JsonObject) -> bool:
        """Report progress unless the task has ended; return whether it is still running."""
        with self.lock:
            if self.has_ended or self.is_gone:
                return False
            self.state.message = str(params.get("message", self.state.message))
            self.touch()
            if not self.terms.is_core:
                self.notify()
            elif token is not None:
                tick = {"progressToken": token, **params, "_meta": self.related}
                self._wire.announce(progress_notification(tick))
            return True

    def ask(self, requests: JsonObject) -> None:
        """Wait for answers; for the extension, they arrive with `tasks/update`."""
        with self.lock:
            self.state.answers.append({})
            shown = {} if self.terms.is_core else requests
            self.change("input_required", "Waiting for your answer", input_requests=shown)

    def answered(self, replies: JsonObject) -> None:
        """Continue with the replies to the newest questions."""
        with self.lock:
            self.state.answers[-1] = replies
            self.change("working", "Received your answer")

    @property
    def given(self) -> JsonObject | None:
        """The replies to the newest questions; None while some are open."""
        with self.lock:
            return None if self.state.input_requests else self.state.answers[-1]

    def deliver(self, responses: object) -> None:
        """Accept answers to open questions, and continue when none is left.

        Raises:
            RpcError: They have a wrong type.
        """
        with self.lock:
            answers = checked_responses(self.state.input_requests, responses)
            if self.has_ended or not answers:
                return
            self.state.answers[-1].update(answers)
            rest = {k: v for k, v in self.state.input_requests.items() if k not in answers}
            if rest:
                self.state.input_requests = rest
                self.touch()
            else:
                self.change("working", "Received your answer", input_requests={})

    def touch(self) -> None:
        self.state.updated = max(time.time(), self.state.updated)

    def notify(self) -> None:
        """Send the task's status to the client, if it wants notifications."""
        with self.lock:
            if not self.terms.is_core:
                self._subscriptions.notify("taskIds", self.id, "notifications/tasks", self.shape)
            else:
                self._wire.announce(notification("notifications/tasks/status", self.shape()))

    def _bare(self) -> JsonObject:
        unit = "" if self.terms.is_core else "Ms"
        shape: JsonObject = {
            "taskId": self.id,
            "status": self.state.status,
            "createdAt": _iso(self.created),
            "lastUpdatedAt": _iso(self.state.updated),
            f"ttl{unit}": self.terms.ttl_ms,
            f"pollInterval{unit}": self.terms.poll_ms,
        }
        if self.state.message:
            shape["statusMessage"] = self.state.message
        return shape

    def _payload(self) -> JsonObject:
        if self.state.status == "input_required":
            return {"inputRequests": self.state.input_requests}
        if self.state.status == "failed":
            return {"error": self.state.error}
        if self.state.status == "completed":
            return {"result": self.state.result}
        return {}


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


class Store:
    """Tasks by id, the oldest first, in memory."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._lock = threading.Lock()

    def add(self, task: Task) -> None:
        with self._lock:
            self._tasks[task.id] = task

    def get(self, task_id: str, *, is_core: bool) -> Task | None:
        with self._lock:
            task = self._tasks.get(task_id)
        if task is None or task.terms.is_core != is_core:
            return None
        if task.is_gone:
            self.delete(task)
            return None
        return task

    def all(self, *, is_core: bool) -> list[Task]:
        with self._lock:
            ids = list(self._tasks)
        tasks = [self.get(task_id, is_core=is_core) for task_id in ids]
        return sorted((t for t in tasks if t is not None), key=lambda task: task.created)

    def delete(self, task: Task) -> None:
        """Delete an expired task, and stop its work."""
        with self._lock:
            self._tasks.pop(task.id, None)
        if task.cancel is not None:
            task.cancel()
