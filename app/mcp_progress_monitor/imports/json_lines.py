"""Session logs in JSON Lines: those of mcpsnoop (as of 0.9) and of mcp-rec (as of 0.1).

mcpsnoop writes an envelope per line: `session_id`, `server_label`, `seq`, `ts`, `direction` (`c2s`,
`s2c`, `stderr`, `meta`), `transport`, and the message in `raw` or, if it is not JSON, in `text`.
mcp-rec writes `ts`, `dir` (`client->server` or `server->client`) and `msg`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_progress_monitor.imports.recording import epoch_of
from mcp_progress_monitor.protocol.secrets import shown_arguments
from mcp_progress_monitor.recording.reader import read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    from mcp_progress_monitor.imports.recording import ImportedRecording

_LONGEST_NAME: Final = 200
_CONNECTIONS: Final = 100_000
_UNREADABLE: Final = "Lines that are not records of this format"
_NO_BYTES: Final = "The exact bytes of messages: they were reformatted, with the same content"
_NO_END: Final = "How and when the server's process ended"
_NO_HTTP: Final = "The HTTP requests and responses around the messages"
_NO_STDERR: Final = "The server's standard error"
_NO_COMMAND: Final = "The server's command"
_CUT: Final = "The ends of long messages, which were truncated"
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
    """What mcp-rec writes for a line that is not JSON."""

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
    recording.miss(_NO_BYTES)
    recording.miss(_NO_END)
    sessions = _SnoopedSessions(recording)
    for line in _lines(file, recording):
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
            (found.truncated, _CUT),
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
    for what in (_NO_BYTES, _NO_END, _NO_STDERR, _NO_COMMAND):
        recording.miss(what)
    connection = "mcp-rec#1"
    is_open = False
    for line in _lines(file, recording):
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


def _lines(file: FileIO, recording: ImportedRecording) -> Iterator[bytes]:
    """The lines of a file that are not empty; those that are too long are counted as missing."""
    for block in read_blocks(file, 0):
        if block is None:
            continue
        if block.size is not None:
            recording.miss(_UNREADABLE, 1)
            continue
        for line in block.lines:
            bare = line.removeprefix(b"\xef\xbb\xbf").strip()
            if bare:
                yield bare
