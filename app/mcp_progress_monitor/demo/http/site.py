"""What lies where: the endpoint, and what stands in front of it."""

from http import HTTPStatus
from typing import Final

from mcp_progress_monitor.demo.http.access import Gate
from mcp_progress_monitor.demo.http.checks import check_origin, refused
from mcp_progress_monitor.demo.http.endpoint import Endpoint
from mcp_progress_monitor.demo.http.faults import Faults
from mcp_progress_monitor.demo.http.handler import Handler
from mcp_progress_monitor.demo.http.oauth import AuthorizationServer
from mcp_progress_monitor.demo.http.older import STREAM, OlderEndpoint
from mcp_progress_monitor.demo.http.sessions import Sessions
from mcp_progress_monitor.demo.options import Options

_ENDPOINT: Final = "/mcp"


class Site:
    """Everything below one address."""

    def __init__(self, options: Options, sessions: Sessions) -> None:
        """Build what the options want."""
        self.entrance = STREAM if options.sse else _ENDPOINT
        """The path that clients are to be told."""
        self._is_older = options.sse
        self._faults = Faults(options)
        self._issuer = AuthorizationServer(options) if options.oauth else None
        self._gate = Gate(options, self._issuer)
        self._older = OlderEndpoint(sessions)
        self._endpoint = Endpoint(options, sessions)

    def answer(self, handler: Handler) -> None:
        """Serve one request.

        Raises:
            RefusedError: It cannot be served.
        """
        check_origin(handler.headers)
        if self._issuer is not None and self._issuer.answer(handler):
            return
        if self._faults.answer(handler) or not self._gate.admits(handler):
            return
        if self._is_older:
            self._older.answer(handler)
        elif handler.route == _ENDPOINT:
            self._endpoint.answer(handler)
        else:
            raise refused(HTTPStatus.NOT_FOUND, f"Nothing here: the endpoint is {_ENDPOINT}")
