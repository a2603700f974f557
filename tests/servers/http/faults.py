"""Faults over HTTP: error statuses, redirects, endless and huge replies, late batches."""

import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from mcp_progress_monitor.demo.wire import RequestId, encode, result_reply, text_result
from tests.servers.http.handler import JSON, Handler
from tests.servers.options import Options

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Welcome</title></head>
<body><h1>It works!</h1><p>This is a web site. Nobody speaks MCP here.</p></body>
</html>
"""

_BLOCK: Final = 65_536
_COMMENT: Final = b": " + b"." * 1_021 + b"\n"
_COMMENTS: Final = _COMMENT * (_BLOCK // len(_COMMENT))
_PAUSE_S: Final = 0.01


class Faults:
    """Faults that replace the endpoint's reply to a request."""

    def __init__(self, options: Options) -> None:
        """Fail as the options say."""
        self._options = options
        self._passes_left = options.fail_after
        self._fails_left = options.fail_times or None
        self._lock = threading.Lock()

    def answer(self, handler: Handler) -> bool:
        """Reply with a fault if one is due; return whether it was."""
        if self._options.no_mcp or self._options.profile == "rubbish":
            _close_with(handler, HTTPStatus.OK, {}, _PAGE.encode(), "text/html; charset=utf-8")
        elif self._options.profile == "silent":
            _stay_silent(handler)
        elif self._options.redirect is not None:
            where = {"Location": self._options.redirect}
            _close_with(handler, HTTPStatus.TEMPORARY_REDIRECT, where)
        elif self._options.fail and self._is_due():
            self._fail(handler)
        else:
            return False
        return True

    def _is_due(self) -> bool:
        with self._lock:
            if self._passes_left:
                self._passes_left -= 1
                return False
            if self._fails_left is None:
                return True
            is_due = self._fails_left > 0
            self._fails_left -= is_due
            return is_due

    def _fail(self, handler: Handler) -> None:
        headers = {}
        if self._options.retry_after_s is not None:
            headers["Retry-After"] = f"{self._options.retry_after_s:g}"
        status = self._options.fail
        text = f"The demo server replies with {status}, as requested.\n"
        _close_with(handler, HTTPStatus(status), headers, text.encode(), "text/plain")


def endless(handler: Handler, kind: str, headers: dict[str, str]) -> None:
    """Reply with an endless event stream without messages."""
    handler.begin_stream(headers)
    handler.write_chunk(b"data: " if kind == "event" else b"\n")
    block = b"." * _BLOCK if kind == "event" else _COMMENTS
    while True:
        handler.write_chunk(block)
        if kind != "event":
            time.sleep(_PAUSE_S)


def huge(handler: Handler, request_id: RequestId, size: int, *, is_event: bool) -> None:
    """Reply to a call with a result of about `size` bytes."""
    whole = encode(result_reply(request_id, text_result("~")))[:-1]
    head, tail = whole.split(b"~")
    if is_event:
        handler.begin_stream()
        handler.write_chunk(b"event: message\ndata: " + head)
        for block in _blocks(size):
            handler.write_chunk(block)
        handler.write_chunk(tail + b"\n\n")
        return handler.end_stream()
    handler.begin_body(HTTPStatus.OK, len(head) + size + len(tail), JSON)
    for block in (head, *_blocks(size), tail):
        handler.wfile.write(block)
    return None


def _blocks(size: int) -> list[bytes]:
    """Return `size` bytes; the blocks are the same object."""
    block = b"x" * _BLOCK
    return [block] * (size // _BLOCK) + [b"x" * (size % _BLOCK)]


def _stay_silent(handler: Handler) -> None:
    """Keep the connection open without a reply until the client disconnects."""
    handler.close_connection = True
    gone = threading.Event()
    if handler.headers.get("Content-Length"):
        handler.body()
    with handler.hangups.watched(handler.connection, gone.set):
        gone.wait()


def _close_with(
    handler: Handler,
    status: HTTPStatus,
    headers: dict[str, str],
    body: bytes = b"",
    kind: str = JSON,
) -> None:
    """Reply after reading the request's body; otherwise the client may not get the reply."""
    if handler.headers.get("Content-Length"):
        handler.body()
    handler.reply(status, body, kind, headers)


_MARK = b'"method":"notifications/progress"'


def as_batch(late: list[bytes], messages: Sequence[bytes], *, keeps_some: bool) -> list[bytes]:
    """Return the messages of a reply: those in `late`, then `messages`.

    With `keeps_some`, a third of the ticks, at least one, moves to `late`, for the next reply.
    """
    due = [*late, *messages]
    late.clear()
    ticks = [index for index, message in enumerate(messages) if _MARK in message]
    if keeps_some and ticks:
        kept = {len(due) - len(messages) + index for index in ticks[-max(1, len(ticks) // 3) :]}
        late.extend(due[index] for index in sorted(kept))
        due = [message for index, message in enumerate(due) if index not in kept]
    return due
