"""A request being served, as a tool sees it, and the state shared by the calls of one client.

Sources: "Logging" of the handshake revisions (`logging/setLevel`), and of 2026-07-28, where a
request without a level gets no log messages.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.demo.eras import LOG_LEVEL_STAMP, Dialect
from mcp_progress_monitor.demo.questions import (
    InputRequiredError,
    Questions,
    Replay,
    Rounds,
    Subscriptions,
)
from mcp_progress_monitor.demo.wire import (
    INVALID_PARAMS,
    JsonObject,
    RequestId,
    RpcError,
    Wire,
    error_reply,
    notification,
    progress_notification,
    result_reply,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.demo.tasks import Task

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""From the least to the most severe (RFC 5424)."""


class LogLevel:
    """The lowest level to send, by default the least severe."""

    def __init__(self) -> None:
        self._lowest = 0

    def set(self, level: object) -> None:
        """Serve `logging/setLevel`.

        Raises:
            RpcError: The level is unknown.
        """
        self._lowest = severity(level)

    def wants(self, level: str) -> bool:
        return severity(level) >= self._lowest


def severity(level: object) -> int:
    """Return the rank of a level.

    Raises:
        RpcError: The level is unknown.
    """
    if level not in LEVELS:
        raise RpcError(INVALID_PARAMS, f"Unknown log level {level!r}. Known: {', '.join(LEVELS)}")
    return LEVELS.index(str(level))


@dataclass(frozen=True, slots=True)
class Connection:
    """One client, and its state."""

    wire: Wire
    questions: Questions
    subscriptions: Subscriptions
    state_dir: Path
    rounds: Rounds = field(default_factory=Rounds)
    log_level: LogLevel = field(default_factory=LogLevel)
    extras: set[str] = field(default_factory=set)
    """The lists (`tools`, `resources`, `prompts`) that currently have an extra entry."""
    counts: dict[str, int] = field(default_factory=dict)
    """The number of updates of each resource, by URI."""


ProgressToken = str | int
_MANY_ROUNDS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})


class CancelledCallError(Exception):
    """The client cancelled the call or disconnected."""


class RefusedError(Exception):
    """Ends a tool with an error result that says why it cannot run."""


class Call:
    """A request between its arrival and its reply.

    Every tool runs in its own thread and may block. A cancellation raises `CancelledCallError`
    from `sleep`, which is why tools wait only with that.
    """

    def __init__(
        self,
        connection: Connection,
        dialect: Dialect,
        request_id: RequestId,
        method: str,
        params: JsonObject,
    ) -> None:
        """Serve request `request_id` in `dialect`.

        Raises:
            RpcError: The progress token or log level is invalid, or the state of an earlier round
                was changed.
        """
        self.connection = connection
        self.wire = connection.wire
        self.questions = connection.questions
        self.dialect = dialect
        self.id = request_id
        self.method = method
        self.params = params
        self.state_dir = connection.state_dir  # the folder for state that outlives the server
        self.result_meta: JsonObject = {}
        """Additional members for the `_meta` of the result."""
        self.token = _progress_token(params)
        self.replay = Replay(_answers(connection, dialect, method, params))
        """The client's answers in earlier rounds."""
        self.task: Task | None = None  # the task that the call has become, if any
        self._log_level = _log_level(params)
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End the call at its next `sleep`."""
        self._cancelled.set()

    def sleep(self, seconds: float) -> None:
        """Wait, or with `seconds` of 0 only check for a cancellation.

        Raises:
            CancelledCallError: The client cancelled the call.
        """
        if self._cancelled.wait(seconds):
            raise CancelledCallError

    def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send one tick if the client sent a token."""
        params: JsonObject = {"progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self.dialect.has_messages:
            params["message"] = message
        self.progress_with(params)

    def progress_with(self, params: JsonObject) -> None:
        """Send one tick with exactly these members and the token, if there is one.

        A task keeps its token until it ends (2025-11-25); a task of the extension has no progress
        except its status message.

        Raises:
            CancelledCallError: The task has ended meanwhile.
        """
        if self.task is not None:
            if not self.task.report(self.token, params):
                raise CancelledCallError
        elif self.token is not None:
            self.wire.send(progress_notification({"progressToken": self.token, **params}))

    def log(self, level: str, data: object, logger: str) -> None:
        """Send a log message if the client wants this level."""
        if self._wants_log(level):
            params: JsonObject = {"level": level, "logger": logger, "data": data}
            if self.task is not None:
                params["_meta"] = self.task.related
            self.wire.send(notification("notifications/message", params))

    def _wants_log(self, level: str) -> bool:
        if not self.dialect.is_per_request:
            return self.connection.log_level.wants(level)
        return self._log_level is not None and severity(level) >= self._log_level

    def asking(self, asked: InputRequiredError) -> JsonObject:
        rounds, before = self.connection.rounds, self.replay.before
        return rounds.ask(self.method, self.params, before, asked)

    def reply(self, result: JsonObject) -> None:
        """Send the result; a second call sends a second reply."""
        self.wire.send(self.result_message(result))

    def result_message(self, result: JsonObject) -> JsonObject:
        """Return the reply as it would be sent."""
        if self.result_meta:
            result = {**result, "_meta": {**result.get("_meta", {}), **self.result_meta}}
        return result_reply(self.id, self.dialect.dress(self.method, result))

    def fail(self, error: RpcError) -> None:
        self.wire.send(error_reply(self.id, error))

    def push(self, message: object) -> None:
        """Send a message of this request, from any thread."""
        self.wire.send(message)


def _log_level(params: JsonObject) -> int | None:
    meta = params.get("_meta")
    if not isinstance(meta, dict) or LOG_LEVEL_STAMP not in meta:
        return None
    return severity(meta[LOG_LEVEL_STAMP])


def _answers(
    connection: Connection, dialect: Dialect, method: str, params: JsonObject
) -> tuple[JsonObject, ...]:
    if not dialect.is_per_request or method not in _MANY_ROUNDS:
        return ()
    return connection.rounds.answers(method, params)


def _progress_token(params: JsonObject) -> ProgressToken | None:
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if isinstance(token, bool) or not isinstance(token, str | int | None):
        raise RpcError(INVALID_PARAMS, "progressToken must be a string or an integer")
    return token


Method = Callable[[Call], JsonObject | None]
"""Serves a call and returns its result, or None if it replies itself or never."""
