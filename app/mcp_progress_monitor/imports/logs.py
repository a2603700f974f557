"""Other programs' logs of sessions: mcpsnoop (as of 0.9), mcp-rec (as of 0.1), Claude Desktop.

mcpsnoop writes an envelope per line: `session_id`, `server_label`, `seq`, `ts`, `direction` (`c2s`,
`s2c`, `stderr`, `meta`), `transport`, and the message in `raw` or, if it is not JSON, in `text`.
mcp-rec writes `ts`, `dir` (`client->server` or `server->client`) and `msg`.

Claude Desktop writes `mcp.log` for all servers, and `mcp-server-NAME.log`. A line is `TIME [NAME]
[LEVEL] TEXT`, in `mcp.log` with name and level swapped; since 2025-06 most end in `{ metadata:
undefined }`. `Message from client:` and `Message from server:` precede the message or, since
1.24012 (2026-07), by its method, its id and the names of its members. Lines without a time are the
server's standard error, or the rest of an object printed on several lines.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_progress_monitor.imports.recording import epoch_of
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.protocol.messages import INITIALIZE
from mcp_progress_monitor.protocol.secrets import shown_arguments
from mcp_progress_monitor.recording.reader import read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from typing import Any

    from mcp_progress_monitor.imports.recording import ImportedRecording

_TIME: Final = rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)"
_LEVEL: Final = rb"\[(?:debug|info|warn|warning|error)\]"
_LINE: Final = re.compile(
    _TIME + rb" (?=\[)(?:" + _LEVEL + rb" )?(?:\[([^\]\r\n]{1,200})\] )?(?:" + _LEVEL + rb" )?(.*)",
    re.DOTALL,
)
_MESSAGE: Final = re.compile(r"Message from (client|server): (.*)", re.DOTALL)
_OUTLINE: Final = re.compile(
    r'(?:method="([^"]{1,500})" ?)?(?:id=("[^"]{0,500}"|-?\d{1,18}) ?)?(params|result|error)?'
)
_METADATA: Final = re.compile(r" \{ metadata: .{0,10000}\}$", re.DOTALL)
_STARTED: Final = "Initializing server"
_CLOSED: Final = "Server transport closed"
_INTENDED: Final = ("Shutting down server", "intentional shutdown")
_HEAD_LINES: Final = 200
_LONGEST_NAME: Final = 200
_SERVERS: Final = 1000
_OPEN_IDS: Final = 10_000

_NO_BYTES: Final = "The exact bytes of messages: the client logged their parsed content"
_NO_END: Final = "The exit codes of servers"
_NO_CONTENT: Final = (
    "The content of messages: this version of the client logs only methods and ids, so parameters "
    "and results are empty"
)
_CUT: Final = "Messages that are not complete in the log"
_TOO_LONG: Final = "Lines that are too long"


def is_claude_log(head: bytes) -> bool:
    lines = head.split(b"\n")[:_HEAD_LINES]
    texts = [found[3] for line in lines if (found := _LINE.fullmatch(line.strip())) is not None]
    marks = (b"Message from ", _STARTED.encode(), b"MCP server", b"Server started and connected")
    return any(text.startswith(marks[:2]) or marks[2] in text or marks[3] in text for text in texts)


def read_claude_log(file: FileIO, recording: ImportedRecording) -> Iterator[None]:
    recording.miss(_NO_BYTES)
    recording.miss(_NO_END)
    log = _Log(recording)
    for line in _lines(file, recording, _TOO_LONG):
        log.take(line.removesuffix(b"\r"))
        yield


class _Run:
    """One run of a server: its connection, and the client's requests without a reply."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.open_ids: set[str] = set()
        self.has_messages = False
        self.is_over = False


class _Server:
    """A server and its runs, of which two may be open at a time, one per window of the client."""

    def __init__(self, name: str, recording: ImportedRecording) -> None:
        self._name = name
        self._recording = recording
        self._count = 0
        self._runs: list[_Run] = []  # the two newest, the newest last
        self._is_intended = False

    @property
    def newest(self) -> _Run:
        """The newest run, which lines are about unless they show otherwise; it may be over."""
        return self._runs[-1] if self._runs else self._begin()

    def record(self, raw: bytes, message: dict[str, Any], *, is_client: bool) -> None:
        """Record a message in the run that it fits."""
        id_ = json.dumps(message["id"]) if "id" in message else None
        is_reply = "method" not in message
        if not is_client:
            waiting = (run for run in self._runs if is_reply and id_ in run.open_ids)
            run = next(waiting, self.newest)
            run.open_ids.discard(id_ or "")
            self._recording.received(run.name, raw)
            return
        run = self._unused_run() if message.get("method") == INITIALIZE else self.newest
        run.has_messages = True
        if id_ is not None and not is_reply and len(run.open_ids) < _OPEN_IDS:
            run.open_ids.add(id_)
        self._recording.sent(run.name, raw)

    def note(self, text: str) -> None:
        if text.startswith(_STARTED):
            self._begin()
        elif any(each in text for each in _INTENDED):
            self._is_intended = True
        run = self.newest
        if not text.startswith(_CLOSED) or run.is_over:
            self._recording.event(run.name, "client_log", text=text)
            return
        run.is_over = True
        self._recording.event(
            run.name,
            "closed",
            reason=text,
            exit_code=None,
            signal=None,
            ended_by="client" if self._is_intended else "server",
            wanted=self._is_intended,
        )

    def _begin(self) -> _Run:
        self._count += 1
        run = _Run(f"{self._name}#{self._count}")
        self._runs = [*self._runs[-1:], run]
        self._is_intended = False
        self._recording.event(run.name, "opened", client="Claude Desktop")
        return run

    def _unused_run(self) -> _Run:
        """The run that a handshake starts: the oldest one without messages."""
        unused = (run for run in self._runs if not (run.has_messages or run.is_over))
        return next(unused, None) or self._begin()


class _Log:
    """The lines of a log."""

    def __init__(self, recording: ImportedRecording) -> None:
        self._recording = recording
        self._servers: dict[str, _Server] = {}
        self._last = ""
        self._is_in_object = False

    def take(self, line: bytes) -> None:
        found = _LINE.fullmatch(line)
        if found is None:
            self._take_undated(line)
            return
        self._recording.at(epoch_of(found[1].decode()))
        name = (found[2] or self._last.encode() or b"server").decode(errors="replace")
        self._last = name = name[:_LONGEST_NAME].replace("#", "-")
        text = found[3].decode(errors="replace")
        self._is_in_object = text.endswith("{")
        server = self._server(name)
        message = _MESSAGE.fullmatch(text)
        if message is None:
            server.note(_METADATA.sub("", text))
        else:
            self._record(server, message[2], is_client=message[1] == "client")

    def _take_undated(self, line: bytes) -> None:
        if self._is_in_object:
            self._is_in_object = not line.startswith(b"}")
        elif line and self._last:
            self._recording.stderr(self._server(self._last).newest.name, line)

    def _record(self, server: _Server, text: str, *, is_client: bool) -> None:
        if not text.startswith(("{", "[")):
            message = _from_outline(text)
            if message:
                self._recording.miss(_NO_CONTENT)
                server.record(encode(message), message, is_client=is_client)
            else:
                self._recording.miss(_CUT, 1)
            return
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            self._recording.miss(_CUT, 1)
            return
        server.record(text[:end].encode(errors="replace"), as_object(value), is_client=is_client)

    def _server(self, name: str) -> _Server:
        known = self._servers.get(name)
        if known is None:
            if len(self._servers) >= _SERVERS:
                self._servers.clear()
            known = self._servers[name] = _Server(name, self._recording)
        return known


def _from_outline(text: str) -> dict[str, Any]:
    """A message made of a logged method and id; empty if `text` is not an outline."""
    found = _OUTLINE.match(text)
    if found is None or not (found[1] or found[2]):
        return {}
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if found[2]:
        message["id"] = json.loads(found[2])
    if found[1]:
        return {**message, "method": found[1]}
    if found[3] == "error":
        return {**message, "error": {"code": 0, "message": "The message is not in the log"}}
    return {**message, "result": {}}


_CONNECTIONS: Final = 100_000
_UNREADABLE: Final = "Lines that are not records of this format"
_REFORMATTED: Final = "The exact bytes of messages: they were reformatted, with the same content"
_NO_PROCESS_END: Final = "How and when the server's process ended"
_NO_HTTP: Final = "The HTTP requests and responses around the messages"
_NO_STDERR: Final = "The server's standard error"
_NO_COMMAND: Final = "The server's command"
_SHORTENED: Final = "The ends of long messages, which were truncated"
_REDACTED: Final = "Values in messages, which were redacted"
_DROPPED: Final = "Messages that were dropped because they arrived too fast"
_BATCHES: Final = "Batches: their messages were recorded one by one"
_NO_JSON: Final = "_unparsed"


class _Snooped(msgspec.Struct):
    """One line of mcpsnoop."""

    direction: str
    session_id: str = ""
    server_label: str = ""
    seq: int = 0
    ts: str = ""
    transport: str = ""
    raw: msgspec.Raw = msgspec.Raw(b"")
    text: str = ""
    conn_id: str = ""
    batch: bool = False
    truncated: bool = False
    redacted: bool = False


class _SessionMeta(msgspec.Struct):
    """The command with which mcpsnoop started a server."""

    command: list[str]
    cwd: str | None = None


class _Recorded(msgspec.Struct):
    """One line of mcp-rec."""

    dir: str
    msg: msgspec.Raw
    ts: float | None = None


class _Unparsed(msgspec.Struct):
    """A line that is not JSON, as mcp-rec writes it."""

    is_unparsed: bool = msgspec.field(name=_NO_JSON)
    raw: str = msgspec.field(name="_raw")


_snooped: Final = msgspec.json.Decoder(_Snooped)
_recorded: Final = msgspec.json.Decoder(_Recorded)
_unparsed: Final = msgspec.json.Decoder(_Unparsed)
_meta: Final = msgspec.json.Decoder(_SessionMeta)
_ERRORS: Final = (msgspec.MsgspecError, ValueError, RecursionError)


def is_mcpsnoop(line: bytes) -> bool:
    try:
        found = _snooped.decode(line)
    except _ERRORS:
        return False
    return bool(found.session_id) and found.direction in {"c2s", "s2c", "stderr", "meta"}


def is_mcp_rec(line: bytes) -> bool:
    try:
        return _recorded.decode(line).dir in {"client->server", "server->client"}
    except _ERRORS:
        return False


def read_mcpsnoop(file: FileIO, recording: ImportedRecording) -> Iterator[None]:
    recording.miss(_REFORMATTED)
    recording.miss(_NO_PROCESS_END)
    sessions = _SnoopedSessions(recording)
    for line in _records(file, recording):
        try:
            found = _snooped.decode(line)
            raw = bytes(found.raw)
        except _ERRORS:
            recording.miss(_UNREADABLE, 1)
            continue
        recording.at(epoch_of(found.ts))
        sessions.take(found, raw)
        yield


class _SnoopedSessions:
    """The connections of a log: a server may have many clients, each with its own ids."""

    def __init__(self, recording: ImportedRecording) -> None:
        self._recording = recording
        self._connections: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._seqs: dict[str, int] = {}

    def take(self, found: _Snooped, raw: bytes) -> None:
        recording = self._recording
        self._note_gap(found)
        for is_so, what in (
            (found.truncated, _SHORTENED),
            (found.redacted, _REDACTED),
            (found.batch, _BATCHES),
        ):
            if is_so:
                recording.miss(what, 1)
        connection = self._connection(found)
        match found.direction:
            case "meta":
                self._open(connection, raw)
            case "stderr":
                recording.stderr(connection, found.text.encode(errors="replace"))
            case "c2s":
                recording.sent(connection, raw or found.text.encode(errors="replace"))
            case "s2c":
                message = raw or found.text.encode(errors="replace")
                recording.received(connection, message, is_complete=not found.truncated)
            case _:
                recording.miss(_UNREADABLE, 1)

    def _connection(self, found: _Snooped) -> str:
        key = (found.session_id, found.conn_id)
        known = self._connections.get(key)
        if known is None:
            if len(self._connections) >= _CONNECTIONS:
                self._connections.clear()
            label = (found.server_label or "mcpsnoop")[:_LONGEST_NAME].replace("#", "-")
            self._counts[label] = self._counts.get(label, 0) + 1
            known = self._connections[key] = f"{label}#{self._counts[label]}"
            if found.transport == "http":
                self._recording.miss(_NO_HTTP)
            if found.direction != "meta":
                self._recording.event(known, "opened", transport=found.transport)
        return known

    def _open(self, connection: str, raw: bytes) -> None:
        try:
            meta = _meta.decode(raw)
        except _ERRORS:
            meta = _SessionMeta([])
        command = meta.command[0] if meta.command else ""
        args = list(shown_arguments(meta.command[1:]))
        self._recording.event(
            connection, "opened", command=command, args=args, cwd=meta.cwd, env=[]
        )

    def _note_gap(self, found: _Snooped) -> None:
        last = self._seqs.get(found.session_id)
        if last is not None and found.seq > last + 1:
            self._recording.miss(_DROPPED, found.seq - last - 1)
        if len(self._seqs) >= _CONNECTIONS:
            self._seqs.clear()
        self._seqs[found.session_id] = found.seq


def read_mcp_rec(file: FileIO, recording: ImportedRecording) -> Iterator[None]:
    for what in (_REFORMATTED, _NO_PROCESS_END, _NO_STDERR, _NO_COMMAND):
        recording.miss(what)
    connection = "mcp-rec#1"
    is_open = False
    for line in _records(file, recording):
        try:
            found = _recorded.decode(line)
        except _ERRORS:
            recording.miss(_UNREADABLE, 1)
            continue
        recording.at(found.ts)
        if not is_open:
            is_open = True
            recording.event(connection, "opened")
        raw = _raw_of(bytes(found.msg))
        match found.dir:
            case "client->server":
                recording.sent(connection, raw)
            case "server->client":
                recording.received(connection, raw)
            case _:
                recording.miss(_UNREADABLE, 1)
        yield


def _raw_of(message: bytes) -> bytes:
    """A message, or the original line if it was not JSON."""
    if _NO_JSON.encode() not in message:
        return message
    try:
        found = _unparsed.decode(message)
    except _ERRORS:
        return message
    return found.raw.encode(errors="replace") if found.is_unparsed else message


def _records(file: FileIO, recording: ImportedRecording) -> Iterator[bytes]:
    """The lines of a file that are not empty."""
    for line in _lines(file, recording, _UNREADABLE):
        bare = line.removeprefix(b"\xef\xbb\xbf").strip()
        if bare:
            yield bare


def _lines(file: FileIO, recording: ImportedRecording, too_long: str) -> Iterator[bytes]:
    """The lines of a file; those that are `too_long` are counted as missing."""
    for block in read_blocks(file, 0):
        if block is not None and block.size is not None:
            recording.miss(too_long, 1)
        elif block is not None:
            yield from block.lines
