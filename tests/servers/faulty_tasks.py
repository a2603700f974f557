"""Tasks that break rules, and that a later server can continue."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcp_progress_monitor.demo.tasks import State, Task, Terms
from mcp_progress_monitor.demo.tool import TaskTraits
from mcp_progress_monitor.demo.wire import JsonObject, Wire

_AS_WANTED: Final = "as_wanted"


@dataclass(slots=True)
class Faults:
    """The ways in which one task breaks the rules; none of them by default."""

    distort: Callable[[JsonObject], JsonObject] | None = None
    """Changes each shape before it is sent."""
    polls_until_forgotten: int | None = None
    has_early_result: JsonObject | None = None
    """What is given for a result while there is none."""
    ignores_cancel: bool = False
    known_as: str | None = None
    """An id that it may share with other tasks."""
    is_of_other_era: bool = False
    """Whether the answer that begins it has the shape of the other era."""


class FaultyTask(Task):
    """A task with faults, of which each change can be saved."""

    def __init__(self, task_id: str, terms: Terms, wire: Wire, subscriptions: Any) -> None:
        """Begin without faults."""
        super().__init__(task_id, terms, wire, subscriptions)
        self.faults = Faults()
        self.on_change: Callable[[], None] | None = None
        """Saves the state where it outlives the server."""
        self.has_client = True
        """Whether the client has heard of the task on this connection."""
        self._polls = 0

    def restore(self, saved: JsonObject) -> None:
        """Take the state that a server before us saved."""
        self.created = saved["created"]
        self.state = State(**saved["state"])
        if self.state.input_requests:  # asked again by the tool, under the same keys
            self.state.input_requests = {}
            self.state.answers.pop()
            self.state.status = "working"
        self.has_client = False

    @property
    def is_gone(self) -> bool:
        """Whether nobody may know it any more: expired, or forgotten as a fault."""
        limit = self.faults.polls_until_forgotten
        return (limit is not None and self._polls > limit) or super().is_gone

    def polled(self) -> None:
        """Count a `tasks/get`."""
        self._polls += 1

    def shape(self) -> JsonObject:
        """Return the task as `tasks/get` tells it, distorted."""
        with self.lock:
            shape = super().shape()
            return shape if self.faults.distort is None else self.faults.distort(shape)

    def created_result(self) -> JsonObject:
        """Return the result that begins the task, perhaps in the shape of the other era."""
        with self.lock:
            bare = self._bare()
            if self.faults.distort is not None:
                bare = self.faults.distort(bare)
        if self.terms.is_core != self.faults.is_of_other_era:
            return {"task": bare}
        return {**bare, "resultType": "task"}

    def stop(self) -> None:
        """Ask the work to stop, unless cancels are ignored."""
        if not self.faults.ignores_cancel:
            super().stop()

    def change(self, status: str, message: str = "", **payload: Any) -> bool:
        """Take another state if there may be one, and if it is not an ignored cancel."""
        if status == "cancelled" and self.faults.ignores_cancel:
            return False
        return super().change(status, message, **payload)

    def touch(self) -> None:
        """Note that something changed, and save it."""
        super().touch()
        if self.on_change is not None:
            self.on_change()

    def notify(self) -> None:
        """Notify a client that has heard of the task on this connection."""
        if self.has_client or not self.terms.is_core:
            super().notify()

    def _payload(self) -> JsonObject:
        if payload := super()._payload():
            return payload
        return {"result": early} if (early := self.faults.has_early_result) else {}


@dataclass(frozen=True, slots=True)
class FaultyTraits(TaskTraits):
    """How calls of a tool become tasks against the rules, and with which faults."""

    becomes: Literal["as_wanted", "never", "always"] = _AS_WANTED
    """Whether the tool keeps to what client and revision want, or breaks the rules."""
    prepare: Callable[[FaultyTask, Any], None] | None = field(default=None)
    """Gives a new task its faults before anybody hears of it; gets the arguments, too."""

    @property
    def may_be_task(self) -> bool:
        """Whether a call can become a task at all."""
        by_support = self.support in {"optional", "required"}
        return by_support if self.becomes == _AS_WANTED else self.becomes == "always"


def prepare(traits: TaskTraits | None, task: FaultyTask, arguments: JsonObject) -> None:
    """Give a task the faults that its tool wants."""
    if isinstance(traits, FaultyTraits) and traits.prepare is not None:
        traits.prepare(task, arguments)
