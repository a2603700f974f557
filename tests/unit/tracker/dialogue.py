"""A dialogue on a wire, read by a conversation and a tracker: jobs as messages make them."""

import collections
from typing import Any

from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.facts import Fact
from mcp_progress_monitor.protocol.frames import FactRun
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobDetail, JobSnapshot, JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.protocol.wire import as_bytes, notification, request, result

MOMENTS = {"createdAt": "2025-11-25T10:30:00Z", "lastUpdatedAt": "2025-11-25T10:40:00Z"}


def nested(status: str = "working", identity: str = "T", **more: Any) -> dict[str, Any]:
    """A task of 2025-11-25."""
    return {"taskId": identity, "status": status, **MOMENTS, "ttl": 60_000, **more}


def flat(status: str = "working", identity: str = "T", **more: Any) -> dict[str, Any]:
    """A task of the extension of 2026-07-28."""
    return {"taskId": identity, "status": status, **MOMENTS, "ttlMs": 60_000, **more}


class Dialogue:
    """Both ends of the connections of one server. The clock starts at 0 and is set by hand."""

    def __init__(self, tracker: Tracker | None = None) -> None:
        self.tracker = Tracker() if tracker is None else tracker
        self.now = 0.0
        self.ids = 0
        self.facts: list[Fact] | None = None
        """All facts, where they are to be kept."""
        self.changes: collections.deque[ChangeSet] = collections.deque(maxlen=50)
        self._numbers = FrameNumbers()
        self._connections = 0
        self.connect()

    def connect(self) -> None:
        """Go on with a new connection."""
        self._connections += 1
        self.connection = f"s#{self._connections}"
        self._framer = Framer(self.connection, self._numbers)
        self._conversation = Conversation(self.connection)

    def reconnect(self) -> None:
        """Lose the connection and go on with a new one."""
        self.event("closed")
        self.connect()

    def send(self, message: dict[str, Any]) -> int:
        """Let the client write; the number of the frame."""
        frame = self._framer.sent(as_bytes(message), 1e9 + self.now, self.now)
        self._apply(self._conversation.read([frame]))
        return frame.number

    def receive(self, *messages: dict[str, Any] | list[dict[str, Any]]) -> int:
        """Let the server write; the number of the last frame."""
        lines = [as_bytes(message) for message in messages]
        frames = self._framer.received(lines, 1e9 + self.now, self.now)
        self._apply(self._conversation.read(frames))
        return frames[-1].number

    def is_token_active(self, token: object) -> bool:
        """Whether an open request of ours has `token`."""
        return self._conversation.is_token_active(token)

    def event(self, name: str, **fields: object) -> None:
        frame = self._framer.event(name, 1e9 + self.now, self.now, **fields)
        self._apply(self._conversation.read([frame]))

    def _apply(self, facts: FactRun) -> None:
        if self.facts is not None:
            self.facts += facts
        self.changes.append(self.tracker.apply(facts, self.now))

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.changes.append(self.tracker.tick(self.now))

    def ask(self, method: str, **params: Any) -> int:
        """Let the client make a request with a new id; the number of its frame."""
        self.ids += 1
        return self.send(request(self.ids, method, **params))

    def call(self, token: object = "a", **params: Any) -> int:  # noqa: S107 - no password
        """Call a tool."""
        given = {"name": "export", **params}
        return self.ask("tools/call", **given, _meta={"progressToken": token})

    def reply(self, **members: Any) -> int:
        """Answer the newest request of the client."""
        return self.receive(result(self.ids, **members))

    def refuse(self, code: int, message: str = "no") -> int:
        """Answer the newest request of the client with an error."""
        failure = {"code": code, "message": message}
        return self.receive({"jsonrpc": "2.0", "id": self.ids, "error": failure})

    def begin(self, *, is_flat: bool = False, **more: Any) -> int:
        """Call a tool that becomes the task "T"; the number of the call's frame."""
        made = self.call() if is_flat else self.call(task={"ttl": 60_000})
        if is_flat:
            self.reply(resultType="task", **flat(**more))
        else:
            self.reply(task=nested(**more))
        return made

    def poll(self, task: dict[str, Any]) -> int:
        """Ask for a task, which the server states."""
        self.ask("tasks/get", taskId="T")
        return self.reply(**task)

    def tell(self, task: dict[str, Any]) -> int:
        """Let the server notify of a task."""
        return self.receive(notification("notifications/tasks/status", **task))

    def job(self, made: int) -> JobSnapshot:
        """The snapshot of a request's job, now."""
        job = self.tracker.job_of(made)
        assert job is not None
        snapshot = self.tracker.snapshot(job, self.now)
        assert snapshot is not None
        return snapshot

    def state(self, made: int) -> JobState:
        return self.job(made).state

    def detail(self, made: int) -> JobDetail:
        detail = self.tracker.detail(self.job(made).id, self.now)
        assert detail is not None
        return detail

    def marks(self, made: int) -> dict[str, int]:
        """How often each mark was seen, by key."""
        return {mark.key: mark.count for mark in self.job(made).marks}

    def texts(self, made: int) -> list[str]:
        """What the marks of a job say."""
        return [mark.text for mark in self.job(made).marks]

    def failure(self, made: int) -> str:
        """Why a job did not succeed."""
        failure = self.job(made).failure
        return "" if failure is None else failure.message
