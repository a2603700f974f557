"""The transport of revision 2024-11-05: one event stream for all, and an address to post to.

Source: 2024-11-05, basic, transports, "HTTP with SSE": the stream's first event, `endpoint`, names
the address; whatever the server says comes on the stream.
"""

from http import HTTPStatus
from typing import Final

from mcp_progress_monitor.demo.http.checks import EVENT_STREAM, check_accept, refused
from mcp_progress_monitor.demo.http.handler import Handler
from mcp_progress_monitor.demo.http.pages import query_of
from mcp_progress_monitor.demo.http.sessions import Sessions

STREAM: Final = "/sse"
_POSTS: Final = "/messages"


class OlderEndpoint:
    """Serves clients of the older transport: a session lasts as long as its stream."""

    def __init__(self, sessions: Sessions) -> None:
        """Keep them there."""
        self._sessions = sessions

    def answer(self, handler: Handler) -> None:
        """Serve one request.

        Raises:
            RefusedError: It cannot be served.
        """
        if (handler.command, handler.route) == ("GET", STREAM):
            self._listen(handler)
        elif (handler.command, handler.route) == ("POST", _POSTS):
            self._post(handler)
        elif handler.route in {STREAM, _POSTS}:
            handler.close_connection = True
            allowed = "GET" if handler.route == STREAM else "POST"
            handler.reply(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": allowed})
        else:
            raise refused(HTTPStatus.NOT_FOUND, f"Nothing here: the stream is at {STREAM}")

    def _listen(self, handler: Handler) -> None:
        check_accept(handler.headers, EVENT_STREAM)
        session = self._sessions.new()
        self._sessions.add(session)
        opening = f"event: endpoint\ndata: {_POSTS}?session_id={session.id}\n\n"
        try:
            handler.stream(session.general.attach(), opening=opening.encode())
        finally:
            self._sessions.remove(session.id)

    def _post(self, handler: Handler) -> None:
        body = handler.body()
        session = self._sessions.get(query_of(handler).get("session_id", ""))
        if session is None:
            raise refused(HTTPStatus.NOT_FOUND, "There is no such session, or not any more")
        handler.reply(HTTPStatus.ACCEPTED, b"Accepted", "text/plain")
        session.server.receive(body)
