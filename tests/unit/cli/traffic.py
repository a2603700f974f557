"""Updates as the monitor publishes them, made from raw lines by the real wire and tracker."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.snapshots.questions import Question
from mcp_progress_monitor.tracker.tracker import Jobs, Tracker


class Traffic:
    """A connection to a server `demo` that says what a test puts into its mouth.

    Its clock stands at `now`, in seconds, and moves when a test moves it.
    """

    recorded_path: Path | None = None

    def __init__(self) -> None:
        self.now = 100.0
        self._framer = Framer("demo#1", FrameNumbers())
        self._conversation = Conversation("demo#1")
        self._tracker = Tracker()
        self.open_questions: list[Question] = []
        self.ended: list[Question] = []
        self.jobs = Jobs(self._tracker, lambda: self.now)
        self.questions = self

    def open(self) -> Sequence[Question]:
        """What is asked now: nothing, until a test says so."""
        return self.open_questions

    def find(self, question: int) -> Question | None:
        """One of those, or of those that are over."""
        found = (each for each in (*self.open_questions, *self.ended) if each.id == question)
        return next(found, None)

    def opened(self, revision: str) -> Update:
        """We shook hands."""
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        request["params"] = {"protocolVersion": revision}
        self._update([self._framer.sent(json.dumps(request).encode(), self.now, self.now)])
        result = {
            "protocolVersion": revision,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "Demo"},
        }
        return self.received({"jsonrpc": "2.0", "id": 1, "result": result})

    def called(self, token: Any = "a", request_id: int = 7) -> Update:  # noqa: S107
        """We called a tool."""
        params: dict[str, Any] = {"name": "burst", "arguments": {}}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
        return self._update([self._framer.sent(json.dumps(message).encode(), self.now, self.now)])

    def sent(self, request_id: int, method: str, params: dict[str, Any]) -> Update:
        """We made some other request."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        return self._update([self._framer.sent(json.dumps(message).encode(), self.now, self.now)])

    def resumed(self, resume_token: str, request_id: int) -> Update:
        """We went on with a call."""
        meta = {"progressToken": "a", "resumeToken": resume_token}
        params = {"name": "burst", "arguments": {}, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
        return self._update([self._framer.sent(json.dumps(message).encode(), self.now, self.now)])

    def cancelled(self, request_id: int = 7) -> Update:
        """We gave a request up."""
        message = notice("notifications/cancelled", requestId=request_id)
        return self._update([self._framer.sent(json.dumps(message).encode(), self.now, self.now)])

    def received(self, *lines: bytes | dict[str, Any]) -> Update:
        """The server wrote these lines, in one chunk."""
        raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        return self._update(self._framer.received(raw, self.now, self.now))

    def stderr(self, line: bytes) -> Update:
        """The server wrote to its standard error."""
        return self._update([self._framer.stderr(line, self.now, self.now)])

    def closed(self, reason: str, exit_code: int | None) -> Update:
        """The connection ended."""
        frame = self._framer.event("closed", self.now, self.now, reason=reason, exit_code=exit_code)
        return self._update([frame])

    def _update(self, frames: Sequence[Frame]) -> Update:
        facts = self._conversation.read(frames)
        return Update(frames, facts, self._tracker.apply(facts, self.now))


def tick(token: Any, progress: Any, **more: Any) -> dict[str, Any]:
    """A progress notification."""
    params = {"progressToken": token, "progress": progress, **more}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def notice(method: str, **params: Any) -> dict[str, Any]:
    """Any other notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}
