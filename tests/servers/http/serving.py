"""Runs a server over HTTP: its routes, its port, its threads, its shutdown."""

import errno
import io
import signal
import socketserver
import ssl
import sys
import time
from http import HTTPStatus
from types import FrameType
from typing import Any, Final

from mcp_progress_monitor.demo.wire import Wire
from tests.servers.http.endpoint import STREAM, Endpoint, OlderEndpoint
from tests.servers.http.faults import Faults
from tests.servers.http.handler import Handler, Hangups, check_origin, refused
from tests.servers.http.journal import FolderTakenError
from tests.servers.http.oauth import AuthorizationServer, Gate
from tests.servers.http.sessions import Sessions, restore
from tests.servers.options import Options
from tests.servers.server import run

_ENDPOINT: Final = "/mcp"


class Site:
    """The routes of one server."""

    def __init__(self, options: Options, sessions: Sessions) -> None:
        """Create the endpoints for the options."""
        self.entrance = STREAM if options.sse else _ENDPOINT
        """The path for clients to connect to."""
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


_HOST: Final = "127.0.0.1"
_INTERRUPTED: Final = 130
_FAILED: Final = 1


class _StoppedError(BaseException):
    """Ends the process after SIGTERM.

    Not an `Exception`: `socketserver` would swallow one raised while it accepts a connection.
    """


class _UnusableError(Exception):
    """An option cannot be used; the message says why."""


class HttpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Accepts connections, each in a daemon thread."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = sys.platform != "win32"  # there, processes would share the port
    request_queue_size = 512

    def __init__(self, site: Site, port: int, tls: ssl.SSLContext | None) -> None:
        """Listen on a local port, 0 for any free one; with TLS if `tls` is given.

        Raises:
            OSError: The port is not available.
        """
        self.site = site
        self.tls = tls
        self.hangups = Hangups()
        super().__init__((_HOST, port), Handler)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection; its thread does the TLS handshake, which may take long."""
        connection, address = super().get_request()
        if self.tls is not None:
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients, and write one line for any other error."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            sys.stderr.write(f"demo server: {type(error).__name__}: {error}\n")


def serve(options: Options, port: int) -> int:
    """Serve until a signal arrives; return the exit code."""
    _handle_signals(options)
    try:
        time.sleep(options.start_delay_s)
        return _serve(options, port)
    except _StoppedError:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        time.sleep(options.shutdown_delay_s)
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED


def _handle_signals(options: Options) -> None:
    handler = signal.SIG_IGN if options.ignores_sigterm else _stop
    signal.signal(signal.SIGTERM, handler)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _StoppedError


def _serve(options: Options, port: int) -> int:
    if options.profile == "exit":
        return run(options, Wire(io.BytesIO(), io.FileIO(1, "w", closefd=False)))
    try:
        tls = _tls(options)
        sessions = Sessions(options)
        site = Site(options, sessions)
        server = HttpServer(site, port, tls)
        for session in sessions.restored():
            restore(session)
    except (_UnusableError, FolderTakenError) as error:
        sys.stderr.write(f"demo server: {error}\n")
        return _FAILED
    except OSError as error:
        sys.stderr.write(f"demo server: {_why(error, port)}\n")
        return _FAILED
    with server:
        scheme, real_port = "http" if tls is None else "https", server.server_address[1]
        sys.stderr.write(f"Listening on {scheme}://{_HOST}:{real_port}{site.entrance}\n")
        sys.stderr.flush()
        server.serve_forever()
    return 0


def _tls(options: Options) -> ssl.SSLContext | None:
    if not options.tls:
        return None
    certificate, key = options.tls
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        text = f"cannot serve https with {certificate} and {key}: {error}"
        raise _UnusableError(text) from error
    return context


def _why(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use by another program; name another one, or 0 for any"
    return f"cannot listen on port {port}: {error.strerror}"
