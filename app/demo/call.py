"""One request being served: what a tool sees of the connection."""

import threading
import time
from pathlib import Path
from typing import Final, Literal

from app.demo.eras import Dialect
from app.demo.messages import (
    INVALID_PARAMS,
    JsonObject,
    RequestId,
    RpcError,
    error_reply,
    progress_notification,
    result_reply,
)
from app.demo.questions import Questions
from app.demo.wire import Wire

ProgressToken = str | int
OnCancel = Literal["stop", "ignore", "error", "result"]
ON_CANCEL: Final[tuple[OnCancel, ...]] = ("stop", "ignore", "error", "result")


class CancelledCallError(Exception):
    """The client cancelled the call, or went away."""


class Call:
    """A request between its arrival and its reply.

    Every tool runs in a thread of its own and may block. A cancellation reaches it as
    `CancelledCallError` out of the next `sleep`, which is why tools wait with nothing else.
    """

    def __init__(
        self,
        wire: Wire,
        questions: Questions,
        dialect: Dialect,
        request_id: RequestId,
        method: str,
        params: JsonObject,
        state_dir: Path,
    ) -> None:
        """Serve request `request_id` in `dialect`; what must outlive us goes to `state_dir`.

        Raises:
            RpcError: The progress token is neither a string nor an integer.
        """
        self.wire = wire
        self.questions = questions
        self.dialect = dialect
        self.id = request_id
        self.method = method
        self.params = params
        self.state_dir = state_dir
        self.result_meta: JsonObject = {}
        """What goes into the `_meta` of the result, beside what is there."""
        self.token = _progress_token(params)
        self.on_cancel: OnCancel = "stop"
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Note the client's wish; what comes of it depends on `on_cancel`."""
        self._cancelled.set()

    def sleep(self, seconds: float) -> None:
        """Wait, or only look whether the call was cancelled when `seconds` is 0.

        Raises:
            CancelledCallError: The client cancelled the call and it listens to that.
        """
        if self.on_cancel == "ignore":
            time.sleep(seconds)
        elif self._cancelled.wait(seconds):
            raise CancelledCallError

    def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send one tick, unless the client gave no token."""
        params: JsonObject = {"progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self.dialect.has_messages:
            params["message"] = message
        self.progress_with(params)

    def progress_with(self, params: JsonObject) -> None:
        """Send one tick with exactly these members beside the token, unless there is no token."""
        if self.token is not None:
            self.wire.send(progress_notification({"progressToken": self.token, **params}))

    def reply(self, result: JsonObject) -> None:
        """Send the result. Whoever calls it twice answers twice."""
        self.wire.send(self.result_message(result))

    def result_message(self, result: JsonObject) -> JsonObject:
        """Return the reply as it would be sent, for the tools that wrap it in something."""
        if self.result_meta:
            result = {**result, "_meta": {**result.get("_meta", {}), **self.result_meta}}
        return result_reply(self.id, self.dialect.dress(self.method, result))

    def fail(self, error: RpcError) -> None:
        """Send a JSON-RPC error in place of a result."""
        self.wire.send(error_reply(self.id, error))


def _progress_token(params: JsonObject) -> ProgressToken | None:
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if isinstance(token, bool) or not isinstance(token, str | int | None):
        raise RpcError(INVALID_PARAMS, "progressToken must be a string or an integer")
    return token
