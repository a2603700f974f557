"""Going on with sessions that a server before us left.

Restored are: the session with its revision, its log level and its subscriptions; the events of all
its streams, to be replayed; and running calls of the tools that report steadily, which are made
again from their start without waiting and without sending what was sent, and go on from there. All
other running requests are answered with an error.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from mcp_progress_monitor.demo.http.sessions import GENERAL, Session
from mcp_progress_monitor.demo.http.streams import Stream
from mcp_progress_monitor.demo.messages import INTERNAL_ERROR, RpcError, encode, error_reply
from mcp_progress_monitor.demo.tools import steady

_STEADY: Final = frozenset(tool.name for tool in steady.TOOLS)
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
