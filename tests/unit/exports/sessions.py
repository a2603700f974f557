"""Sessions without servers: messages said one by one, read as live ones are."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import Frame, server_name
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.http_events import BodyNotes
from mcp_progress_monitor.protocol.sse import SseParser
from mcp_progress_monitor.recording.timeline import Timeline
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from mcp_progress_monitor.tracker.snapshot import JobId
from mcp_progress_monitor.tracker.tracker import Jobs, Tracker

PROGRESS_TOKEN = "prog-1"
BEGUN_WHEN = 1_795_190_467.123


class Memory:
    """The bytes of a part, in memory."""

    def __init__(self) -> None:
        self.all = bytearray()

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self.all[offset : offset + size])


class SessionJobs(Jobs):
    """The jobs of a session, which may be one that was cut off."""

    def __init__(
        self, tracker: Tracker, now: Callable[[], float], requests: dict[JobId, set[int]]
    ) -> None:
        super().__init__(tracker, now)
        self._requests = requests
        self.has_ended = False

    @property
    def is_ended(self) -> bool:
        return self.has_ended

    def requests_of(self, job: JobId) -> frozenset[int]:
        return frozenset(self._requests.get(job, ()))


class Session:
    """A source of exports. `at` is its clock: seconds since its begin, set by the test."""

    def __init__(self, connection: str = "local-db#1") -> None:
        self.timeline = Timeline()
        self.updates: list[Update] = []
        self.at = 0.0
        self.connection = connection
        self._memory = Memory()
        self.timeline.add_part(1, self._memory)
        self._tracker = Tracker()
        self._conversation = Conversation(connection)
        self._framer = Framer(connection, FrameNumbers())
        self._requests: dict[JobId, set[int]] = {}
        self.jobs = SessionJobs(self._tracker, self.now, self._requests)
        self.servers = self

    # What a test says

    def opened(self, **fields: Any) -> None:
        detail = {"command": "python", "args": ["server.py"], "cwd": None, "env": [], "pid": 7}
        self._take([self._framer.event("opened", *self._now(), **(detail | fields))])

    def closed(self, reason: str, exit_code: int | None, **fields: Any) -> None:
        event = self._framer.event(
            "closed", *self._now(), reason=reason, exit_code=exit_code, **fields
        )
        self._take([event])

    def asked(self, method: str, params: dict[str, Any], request_id: int = 1) -> int:
        """Send a request; returns the number of its frame."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        frame = self._framer.sent(json.dumps(message).encode(), *self._now())
        self._take([frame])
        return frame.number

    def called(
        self, tool: str, token: Any = PROGRESS_TOKEN, request_id: int = 1, **arguments: Any
    ) -> int:
        """Send a `tools/call`; without a token if that is None."""
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        params = {"name": tool, "arguments": arguments, **meta}
        return self.asked("tools/call", params, request_id)

    def reported(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._take([self._framer.sent(json.dumps(message).encode(), *self._now())])

    def ticked(self, progress: float, token: Any = PROGRESS_TOKEN, **params: Any) -> None:
        params = {"progressToken": token, "progress": progress, **params}
        self.heard({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def answered(self, result: dict[str, Any], request_id: int = 1) -> None:
        self.heard({"jsonrpc": "2.0", "id": request_id, "result": result})

    def replied(self, result: dict[str, Any], request_id: int) -> None:
        """Send the answer to a request of the server."""
        message = {"jsonrpc": "2.0", "id": request_id, "result": result}
        self._take([self._framer.sent(json.dumps(message).encode(), *self._now())])

    def refused(self, code: int, message: str, request_id: int = 1, **fields: Any) -> None:
        error = {"code": code, "message": message, **fields}
        self.heard({"jsonrpc": "2.0", "id": request_id, "error": error})

    def heard(self, message: Any) -> None:
        """Receive a message, or a line of any bytes."""
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._take(self._framer.received([raw], *self._now()))

    def printed(self, line: str | bytes) -> None:
        """Receive a line of standard error."""
        raw = line if isinstance(line, bytes) else line.encode()
        self._take([self._framer.stderr(raw, *self._now())])

    def timed_out(self, request: int, message: str) -> None:
        self._take([self._framer.event("timed_out", *self._now(), request=request, text=message)])

    # What exports read

    def now(self) -> float:
        self._tracker.tick(self.at)
        return self.at

    def snapshots(self) -> list[ServerSnapshot]:
        name = server_name(self.connection)
        definition = StdioDefinition(name=name, command="python", args=("server.py",))
        return [ServerSnapshot(name, definition, self.connection, ServerState.CONNECTED)]

    def _now(self) -> tuple[float, float]:
        return BEGUN_WHEN + self.at, self.at

    def _take(self, frames: Sequence[Frame]) -> None:
        facts = self._conversation.read(frames)
        offsets, sizes = [], []
        for frame in frames:
            offsets.append(len(self._memory.all))
            sizes.append(len(frame.raw))
            self._memory.all += frame.raw
        self.timeline.columns.take(frames, facts, 1, offsets, sizes)
        changes = self._tracker.apply(facts, self.at)
        self.timeline.mark(changes.marked)
        for fact in facts:
            job = self._tracker.job_of(fact.number)
            if job is not None:
                self._requests.setdefault(job, set()).add(fact.number)
        self.updates.append(Update(frames, facts, changes))


class HttpSession(Session):
    """A session over HTTP: messages come on exchanges, reported as a transport tells them."""

    def __init__(self, connection: str = "remote#1") -> None:
        super().__init__(connection)
        self.exchange = 0
        self._teller = BodyNotes()

    def happened(self, name: str, **fields: Any) -> None:
        """Tell an event of the connection."""
        self._take([self._framer.event(name, *self._now(), **fields)])

    def posted(self, message: int | None = None, **fields: Any) -> int:
        """Begin an exchange; its number."""
        self.exchange += 1
        reported = {
            "exchange": self.exchange,
            "method": "POST",
            "url": "http://127.0.0.1:8080/mcp",
            "headers": [["Content-Type", "application/json"], ["Accept", "text/event-stream"]],
            "purpose": "message",
            **({} if message is None else {"message": message}),
        }
        self.happened("http_request", **(reported | fields))
        return self.exchange

    def responded(self, exchange: int, kind: str, status: int = 200, **fields: Any) -> None:
        """Begin the response."""
        reported = {"reason": "OK", "version": "HTTP/1.1", "headers": [["Content-Type", kind]]}
        happened = {"exchange": exchange, "status": status, "after_s": 0.1, **reported}
        self.happened("http_response", **(happened | fields))

    def streamed(self, exchange: int, chunk: bytes) -> None:
        """Receive whole events of a stream."""
        events = SseParser(1 << 30).feed(chunk)
        reported = self._teller.report_events(exchange, events)
        if reported:
            self.happened("http_events", exchange=exchange, events=reported)
        for event in events:
            if event.is_message:
                self.heard(event.data)

    def came(self, exchange: int, body: bytes) -> None:
        """Receive a body that is one message."""
        reported = self._teller.report_body(exchange)
        self.happened("http_events", exchange=exchange, events=reported)
        self.heard(body)

    def ended(self, exchange: int, size: int = 0, reason: str = "complete") -> None:
        """End an exchange."""
        self.happened("http_ended", exchange=exchange, bytes=size, reason=reason)
