"""Who talks to us: clients with a session of their own, and all those that need none.

Revisions with a handshake give each client a session: a server, its streams, and a stream for what
belongs to no request. In 2026-07-28 requests stand alone, so one server is there for all of them:
tasks, rounds of questions and lists that changed are shared, and ids are unique for each exchange.
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
from tests.servers.http.journal import Archive, Journal, Kept
from tests.servers.http.streams import HttpWire, Manner, Stream, numbered
from tests.servers.options import Options
from tests.servers.profiles import make_server
from tests.servers.saved_tasks import TaskStore, store_in

_SETUP: Final = frozenset(
    {
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    }
)
"""The messages that make a session what it is."""
_ASIDE: Final = {"sse": "nothing", "json": "all but replies", "batch": "requests"}
"""What cannot go where the reply goes, for each way of replying."""
_MOST_SESSIONS: Final = 1_000
_MOST_ENDED_STREAMS: Final = 32
"""So many of a session can still be replayed after their end."""
GENERAL: Final = "news"


class Session:
    """One server with its streams."""

    def __init__(
        self,
        session_id: str,
        options: Options,
        store: TaskStore,
        *,
        is_shared: bool = False,
        kept: Kept | None = None,
    ) -> None:
        """Serve one client, or with `is_shared` all that need no session.

        What is to outlive the process is kept in `kept`.
        """
        self.id = session_id
        self.is_shared = is_shared
        resumable = options.is_resumable and not is_shared
        self.kept = kept
        self.manner = Manner(resumable, options.retry_ms)
        self._break_after = options.break_after
        self.general = Stream(GENERAL, self.manner, keeps=True)
        if is_shared:
            self.general.end()  # nobody could listen to it
        elif kept is not None:
            journal = kept.journal(GENERAL)
            self.general.keep, self.general.on_end = journal.add, journal.close
        self.late: list[bytes] = []
        """Progress that is still to be delivered, with the next reply (`--reply batch`)."""
        self._wire = HttpWire(self.general, _ASIDE[options.reply])
        self.server = make_server(options, self._wire, store, has_many_clients=is_shared)
        self._numbers = itertools.count(1)
        self._streams = {GENERAL: self.general}
        self._ended: deque[str] = deque()
        self._lock = threading.Lock()

    def new_stream(self, request: bytes, *, is_call: bool) -> Stream:
        """Return a stream for the exchange that `request` begins; that of a call may be cut."""
        with self._lock:
            name = f"s{next(self._numbers)}"
        journal = None if self.kept is None else self.kept.journal(name)
        if journal is not None:
            journal.add([request])
        stream = self._stream(name, journal)
        stream.break_after = self._break_after if is_call else 0
        return stream

    def restored_stream(self, name: str, *, has_ended: bool) -> Stream:
        """Return a stream that a server before us began."""
        if name[1:].isdecimal():
            self._numbers = itertools.count(max(next(self._numbers), int(name[1:]) + 1))
        kept = self.kept
        journal = None if kept is None else kept.journal(name, has_ended=has_ended)
        return self._stream(name, journal)

    def _stream(self, name: str, journal: Journal | None) -> Stream:
        stream = Stream(name, self.manner)
        if self.manner.is_resumable:
            with self._lock:
                self._streams[name] = stream
            stream.keep = None if journal is None else journal.add
            stream.on_end = partial(self._forget_later, name, journal)
        return stream

    def set_up(self, message: object) -> None:
        """Keep a message if it makes the session what it is."""
        if self.kept is not None and isinstance(message, dict) and message.get("method") in _SETUP:
            self.kept.add_setup(json.dumps(message).encode())

    def find(self, event_id: str) -> tuple[Stream, int] | None:
        """Return the stream and the number that an event id names, if there are such."""
        named = numbered(event_id)
        if named is None or named[0] not in self._streams:
            return None
        stream, number = self._streams[named[0]], named[1]
        return (stream, number) if number <= stream.count else None

    def leave(self) -> None:
        """Stop all work without noting that it has ended."""
        for stream in list(self._streams.values()):
            stream.keep = stream.on_end = None
        if self.kept is not None:
            self.kept.close()
        self.server.close()
        for stream in list(self._streams.values()):
            stream.end()

    def close(self) -> None:
        """End all work and all streams."""
        self.server.cancel_all()
        for stream in list(self._streams.values()):
            stream.end()
        if self.kept is not None:
            self.kept.delete()

    def _forget_later(self, name: str, journal: Journal | None) -> None:
        """Keep a stream that has ended for those who missed its end, but not for ever."""
        if journal is not None:
            journal.end()
        with self._lock:
            self._ended.append(name)
            if len(self._ended) <= _MOST_ENDED_STREAMS:
                return
            oldest = self._ended.popleft()
            self._streams.pop(oldest, None)
        if self.kept is not None:
            self.kept.drop(oldest)


class Sessions:
    """All sessions of the process, and the one thing for all requests without."""

    def __init__(self, options: Options) -> None:
        """Have no session yet.

        Raises:
            FolderTakenError: Another server has the folder of the sessions.
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
        """Return a session that is known from `add` on."""
        return self._make(secrets.token_urlsafe(16))

    def restored(self) -> Iterator[Session]:
        """Yield each session that a server before us left, as yet without what it had."""
        for session_id in [] if self._archive is None else self._archive.sessions():
            session = self._make(session_id)
            self.add(session)
            yield session

    def _make(self, session_id: str) -> Session:
        kept = None if self._archive is None else self._archive.session(session_id)
        return Session(session_id, self._options, self._store, kept=kept)

    def add(self, session: Session) -> None:
        """Know a session; the oldest is forgotten when there are too many."""
        with self._lock:
            self._sessions[session.id] = session
            is_full = len(self._sessions) > _MOST_SESSIONS
            oldest = next(iter(self._sessions))
        if is_full:
            self.remove(oldest)

    def get(self, session_id: str) -> Session | None:
        """Return a session, None if there is none of that id."""
        with self._lock:
            return self._sessions.get(session_id)

    def leave(self) -> None:
        """Stop all work, and leave what is kept to the next server."""
        with self._lock:
            sessions = [self.shared, *self._sessions.values()]
        for session in sessions:
            session.leave()
        if self._archive is not None:
            self._archive.close()

    def remove(self, session_id: str) -> bool:
        """End a session and tell whether there was one."""
        with self._lock:
            session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()
        return session is not None


_STEADY: Final = frozenset(tool.name for tool in progress.TOOLS)
_LOST: Final = "The server was started again meanwhile and cannot go on with this request"


def restore(session: Session) -> None:
    """Give a new session what is kept under its id, and go on with its calls."""
    kept = session.kept
    if kept is None:
        return
    for line in kept.setup():
        session.server.receive(line, Stream("setup", session.manner))
    for name, lines, has_ended in list(kept.streams()):
        if name == GENERAL:
            session.general.restore(lines)
        elif lines:
            stream = session.restored_stream(name, has_ended=has_ended)
            stream.restore(lines[1:])
            _go_on(session, stream, lines[0], lines[1:], has_ended=has_ended)


def _go_on(
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
    """Return the ids of all requests in a body."""
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
