"""Notices when a client hangs up while nothing is being written to it."""

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Final

_LOOK_EVERY_S: Final = 0.5
"""Where the system does not tell a waiting selector of new sockets, this often."""


class Hangups:
    """One thread that watches all sockets on which long answers are being given."""

    def __init__(self) -> None:
        """Begin to watch."""
        self._selector = selectors.DefaultSelector()
        self._ours, self._wake = socket.socketpair()  # some selectors cannot wait for nothing
        self._selector.register(self._ours, selectors.EVENT_READ, None)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="hang-ups", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Watch nothing any more."""
        self._wake.close()
        self._thread.join()
        self._selector.close()
        self._ours.close()

    @contextlib.contextmanager
    def watched(self, connection: socket.socket, on_hang_up: Callable[[], None]) -> Iterator[None]:
        """Call `on_hang_up` once the client is gone, as long as the context is open."""
        with self._lock:
            self._selector.register(connection, selectors.EVENT_READ, on_hang_up)
        try:
            yield
        finally:
            self._forget(connection)

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select(_LOOK_EVERY_S):
                if key.fileobj is self._ours:
                    return
                if isinstance(key.fileobj, socket.socket):
                    self._look(key.fileobj, key.data)

    def _look(self, connection: socket.socket, on_hang_up: Callable[[], None]) -> None:
        """See whether the client is gone, or has only begun with its next request."""
        self._forget(connection)
        if _is_gone(connection):
            on_hang_up()

    def _forget(self, connection: socket.socket) -> None:
        with self._lock, contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(connection)


def _is_gone(connection: socket.socket) -> bool:
    """Whether the other end was closed; what is encrypted is taken as a farewell."""
    flags = getattr(socket, "MSG_DONTWAIT", 0) | socket.MSG_PEEK
    try:
        return connection.recv(1, flags) == b""
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        return True
