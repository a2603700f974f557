"""The sessions of clients, and one for all clients that need none.

Revisions with a handshake give each client a session: a server, its streams, and a stream for
messages that belong to no request. In 2026-07-28 requests are independent, so one server serves all
of them: tasks, rounds of questions and changed lists are shared, and IDs are unique per exchange.
"""

import itertools
import json
import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from mcp_progress_monitor.demo.tools import progress
from mcp_progress_monitor.demo.wire import INTERNAL_ERROR, RpcError, encode, error_reply
from tests.servers.faulty_tasks import TaskStore, store_in
from tests.servers.http.journal import Archive, Journal, SessionFiles
from tests.servers.http.streams import HttpWire, Manner, Stream, numbered
from tests.servers.options import Options
from tests.servers.server import make_server

_SETUP: Final = frozenset(
    {
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    }
)
"""The messages that set up a session."""
_ASIDE: Final = {"sse": "nothing", "json": "all but replies", "batch": "requests"}
"""For each kind of reply, the messages that cannot be sent with it."""
_MOST_SESSIONS: Final = 1_000
_MOST_ENDED_STREAMS: Final = 32
"""The number of a session's streams that can be replayed after their end."""
GENERAL: Final = "general"


class Session:
    """One server with its streams."""

    def __init__(
        self,
        session_id: str,
        options: Options,
        store: TaskStore,
        *,
        is_shared: bool = False,
        files: SessionFiles | None = None,
    ) -> None:
        """Serve one client, or with `is_shared` all that need no session.

        With `files`, the session outlives the process.
        """
        self.id = session_id
        self.is_shared = is_shared
        resumable = options.is_resumable and not is_shared
        self.files = files
        self.manner = Manner(resumable, options.retry_ms)
        self._break_after = options.break_after
        self.general = Stream(GENERAL, self.manner, keeps=True)
        if is_shared:
            self.general.end()  # it cannot be subscribed to
        elif files is not None:
            journal = files.journal(GENERAL)
            self.general.keep, self.general.on_end = journal.add, journal.close
        self.late: list[bytes] = []
        """Progress to be sent with the next reply (`--late-batch`)."""
        self._wire = HttpWire(self.general, _ASIDE[options.reply])
        self.server = make_server(options, self._wire, store, has_many_clients=is_shared)
        self._numbers = itertools.count(1)
        self._streams = {GENERAL: self.general}
        self._ended: deque[str] = deque()
        self._lock = threading.Lock()

    def new_stream(self, request: bytes, *, is_call: bool) -> Stream:
        """Return a stream for the exchange that `request` starts; streams of calls may be cut."""
        with self._lock:
            name = f"s{next(self._numbers)}"
        journal = None if self.files is None else self.files.journal(name)
        if journal is not None:
            journal.add([request])
        stream = self._stream(name, journal)
        stream.break_after = self._break_after if is_call else 0
        return stream

    def restored_stream(self, name: str, *, has_ended: bool) -> Stream:
        """Return a stream that an earlier server started."""
        if name[1:].isdecimal():
            self._numbers = itertools.count(max(next(self._numbers), int(name[1:]) + 1))
        files = self.files
        journal = None if files is None else files.journal(name, has_ended=has_ended)
        return self._stream(name, journal)

    def _stream(self, name: str, journal: Journal | None) -> Stream:
        stream = Stream(name, self.manner)
        if self.manner.is_resumable:
            with self._lock:
                self._streams[name] = stream
            stream.keep = None if journal is None else journal.add
            stream.on_end = partial(self._on_stream_end, name, journal)
        return stream

    def set_up(self, message: object) -> None:
        """Save a message if it sets up the session."""
        if self.files is not None and isinstance(message, dict) and message.get("method") in _SETUP:
            self.files.add_setup(json.dumps(message).encode())

    def find(self, event_id: str) -> tuple[Stream, int] | None:
        """Return the stream and the number of an event ID; None if it is unknown."""
        named = numbered(event_id)
        if named is None or named[0] not in self._streams:
            return None
        stream, number = self._streams[named[0]], named[1]
        return (stream, number) if number <= stream.count else None

    def leave(self) -> None:
        """Stop all work without recording its end, so that the next server continues it."""
        for stream in list(self._streams.values()):
            stream.keep = stream.on_end = None
        if self.files is not None:
            self.files.close()
        self.server.close()
        for stream in list(self._streams.values()):
            stream.end()

    def close(self) -> None:
        """End all work and all streams."""
        self.server.cancel_all()
        for stream in list(self._streams.values()):
            stream.end()
        if self.files is not None:
            self.files.delete()

    def _on_stream_end(self, name: str, journal: Journal | None) -> None:
        """Keep an ended stream for replay, and drop the oldest one if there are too many."""
        if journal is not None:
            journal.end()
        with self._lock:
            self._ended.append(name)
            if len(self._ended) <= _MOST_ENDED_STREAMS:
                return
            oldest = self._ended.popleft()
            self._streams.pop(oldest, None)
        if self.files is not None:
            self.files.drop(oldest)


class Sessions:
    """All sessions of the process, and the shared one for requests without a session."""

    def __init__(self, options: Options) -> None:
        """Start without sessions.

        Raises:
            FolderTakenError: Another server uses the folder of the sessions.
        """
        self._options = options
        self._archive: Archive | None = None
        if options.is_resumable and options.state_dir is not None:
            self._archive = Archive(options.state_dir / "http")
        self._store = store_in(options.state_dir)
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self.shared = Session("", options, self._store, is_shared=True)

    def new(self) -> Session:
        """Return a new session, to be registered by `add`."""
        return self._make(secrets.token_urlsafe(16))

    def restored(self) -> Iterator[Session]:
        """Register and yield each session of an earlier server, without its content."""
        for session_id in [] if self._archive is None else self._archive.sessions():
            session = self._make(session_id)
            self.add(session)
            yield session

    def _make(self, session_id: str) -> Session:
        files = None if self._archive is None else self._archive.session(session_id)
        return Session(session_id, self._options, self._store, files=files)

    def add(self, session: Session) -> None:
        """Register a session, and remove the oldest one if there are too many."""
        with self._lock:
            self._sessions[session.id] = session
            is_full = len(self._sessions) > _MOST_SESSIONS
            oldest = next(iter(self._sessions))
        if is_full:
            self.remove(oldest)

    def get(self, session_id: str) -> Session | None:
        """Return a session; None if the ID is unknown."""
        with self._lock:
            return self._sessions.get(session_id)

    def leave(self) -> None:
        """Stop all work; the next server can continue it."""
        with self._lock:
            sessions = [self.shared, *self._sessions.values()]
        for session in sessions:
            session.leave()
        if self._archive is not None:
            self._archive.close()

    def remove(self, session_id: str) -> bool:
        """End a session; return whether there was one."""
        with self._lock:
            session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()
        return session is not None


_STEADY: Final = frozenset(tool.name for tool in progress.TOOLS)
_LOST: Final = "The server was restarted and cannot continue this request"


def restore(session: Session) -> None:
    """Restore a session from its files, and continue its calls."""
    files = session.files
    if files is None:
        return
    for line in files.setup():
        session.server.receive(line, Stream("setup", session.manner))
    for name, lines, has_ended in list(files.streams()):
        if name == GENERAL:
            session.general.restore(lines)
        elif lines:
            stream = session.restored_stream(name, has_ended=has_ended)
            stream.restore(lines[1:])
            _continue(session, stream, lines[0], lines[1:], has_ended=has_ended)


def _continue(
    session: Session, stream: Stream, request: bytes, sent: list[bytes], *, has_ended: bool
) -> None:
    message = _json(request)
    unanswered = _ids(message) - _answered(sent)
    stream.hold()
    is_open = bool(unanswered) and not has_ended
    if is_open and _is_steady(message):
        stream.to_skip = len(sent)
        session.server.receive(request, stream)
    elif is_open:
        error = RpcError(INTERNAL_ERROR, _LOST)
        stream.put([encode(error_reply(each, error))[:-1] for each in unanswered])
    stream.release()


def _is_steady(message: Any) -> bool:
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return False
    params = message.get("params")
    return isinstance(params, dict) and params.get("name") in _STEADY and "task" not in params


def _ids(message: Any) -> set[Any]:
    """Return the IDs of all requests in a body."""
    members = message if isinstance(message, list) else [message]
    return {
        member["id"]
        for member in members
        if isinstance(member, dict) and "method" in member and isinstance(_id(member), str | int)
    }


def _answered(lines: Iterable[bytes]) -> set[Any]:
    replies = (_json(line) for line in lines if b'"method"' not in line[:60])
    return {
        _id(reply)
        for reply in replies
        if isinstance(reply, dict) and isinstance(_id(reply), str | int)
    }


def _id(message: dict[str, Any]) -> Any:
    return message.get("id")


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
