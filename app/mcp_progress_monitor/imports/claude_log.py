"""Claude Desktop's logs of MCP servers: `mcp.log` for all servers, and `mcp-server-NAME.log`.

A line is `TIME [NAME] [LEVEL] TEXT`, in `mcp.log` with name and level swapped; since 2025-06 most
end in `{ metadata: undefined }`. `Message from client:` and `Message from server:` are followed by
the message or, since 1.24012 (2026-07), by its method, its id and the names of its members. Lines
without a time are the server's standard error, or the rest of an object printed on several lines.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.imports.recording import epoch_of
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.protocol.messages import INITIALIZE
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
    for block in read_blocks(file, 0):
        if block is None:
            continue
        if block.size is not None:
            recording.miss(_TOO_LONG, 1)
            continue
        for line in block.lines:
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
    """A message made of a logged method and id; empty if `text` is no outline."""
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
