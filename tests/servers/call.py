"""Calls of several clients, their tools' ways to take a cancellation, and the wires they share."""

import time
from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call, CancelledCallError
from mcp_progress_monitor.demo.tool import Tool, choice, integer, number, record
from mcp_progress_monitor.demo.wire import (
    REQUEST_CANCELLED,
    JsonObject,
    RpcError,
    Wire,
    text_result,
)


class SharedWire(Wire):
    """A wire with an owner for each request: the stream that gets all that belongs to it."""

    @property
    @abstractmethod
    def owner(self) -> object:
        """The owner that this thread serves."""

    @property
    @abstractmethod
    def is_catching_up(self) -> bool:
        """Whether this thread repeats work whose messages were sent before a restart."""

    @abstractmethod
    def serving(self, owner: object) -> AbstractContextManager[None]:
        """Serve `owner` in this thread within the context."""

    @abstractmethod
    def began(self, owner: object) -> None:
        """Note that a request of that owner is being served."""

    @abstractmethod
    def ended(self, owner: object) -> None:
        """Note that a request of that owner has ended; nothing more will be sent for it."""

    @abstractmethod
    def flush(self) -> None:
        """Wait until everything sent so far is written."""

    @abstractmethod
    def send_to(self, owner: object, message: object) -> None:
        """Send a message to `owner` from any thread."""


class FaultyCall(Call):
    """A call that may ignore its cancellation, and that may be repeated after a restart."""

    def __init__(self, *args: Any) -> None:
        """Serve a request of the owner that this thread serves."""
        super().__init__(*args)
        self.ignores_cancel = False
        self.owner = self.wire.owner if isinstance(self.wire, SharedWire) else None

    def sleep(self, seconds: float) -> None:
        """Wait unless this repeats work."""
        if isinstance(self.wire, SharedWire) and self.wire.is_catching_up:
            seconds = 0
        if self.ignores_cancel:
            time.sleep(seconds)
        else:
            super().sleep(seconds)

    def push(self, message: object) -> None:
        """Send a message to the owner of the request, from any thread."""
        if isinstance(self.wire, SharedWire):
            self.wire.send_to(self.owner, message)
        else:
            super().push(message)


ON_CANCEL: Final = ("stop", "ignore", "error", "result")
_CANCEL: Final = choice(
    "On cancellation: stop silently, ignore it, reply with an error, or reply with a result",
    *ON_CANCEL,
)
_TERMS: Final[dict[str, JsonObject]] = {
    "poll_ms": integer("Poll interval for a task's status, in ms", 500, 0, 3_600_000),
    "ttl_s": number("Seconds to keep a task; 0 lets the client choose", 0, 0, 86_400),
}
_PREPARED: Final = ("on_cancel", *_TERMS)


@dataclass(frozen=True, slots=True)
class FaultyTool(Tool):
    """A tool with arguments for its cancellation and, if it may be a task, for the task's terms."""

    @property
    def schema(self) -> JsonObject:
        """The input schema."""
        terms = _TERMS if self.tasks is not None and self.tasks.may_be_task else {}
        return record("", **self.arguments["properties"], **terms, on_cancel=_CANCEL)

    def serve(self, call: Call, completed: JsonObject) -> JsonObject | None:
        """Run with validated arguments."""
        on_cancel = completed["on_cancel"]
        if isinstance(call, FaultyCall) and on_cancel == "ignore":
            call.ignores_cancel = True
        own = {name: value for name, value in completed.items() if name not in _PREPARED}
        try:
            return Tool.serve(self, call, own)  # slots leave `super()` without its class
        except CancelledCallError:
            if on_cancel == "error":
                raise RpcError(REQUEST_CANCELLED, "Request cancelled") from None
            if on_cancel == "result":
                return text_result("Stopped early, as requested.")
            raise


def faulty(tool: Tool) -> FaultyTool:
    return FaultyTool(tool.run, tool.title, tool.description, tool.arguments, tool.tasks)


def write_in_pieces(wire: Wire, pieces: list[bytes], pause_s: float) -> None:
    """Write `pieces` with pauses, without anything else in between."""
    if isinstance(wire, SharedWire):  # events cannot be sent in parts
        time.sleep(pause_s * len(pieces))
        wire.send_bytes(b"".join(pieces))
        return
    with wire._lock:  # noqa: SLF001 - other writes wait
        for piece in pieces:
            wire._write_all(piece)  # noqa: SLF001
            time.sleep(pause_s)
