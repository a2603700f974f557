"""One window per recording: opening it again brings that window to the front.

Each window is a process of its own, so they meet at a local socket in the data folder, which is
the user's alone.
"""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from mcp_progress_monitor.path_checks import absolute

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER: Final = "windows"
_LONGEST: Final = 100  # bytes of a socket's path: systems allow 104 or 108
_CONNECT_MS: Final = 500
_ANSWER_MS: Final = 2000  # a window that hangs does not answer; then there is another one
_ANSWER: Final = b"here"


class SingleInstance(QObject):
    """Listens for other processes that open the same recording."""

    wanted = Signal()  # somebody opened the recording again

    def __init__(self, recording: Path, data_dir: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connected)
        name = _name(recording, data_dir, is_new=True)
        if name and not self._server.listen(name):
            # Nobody answers there, or this window would not be: a process that was killed left it.
            QLocalServer.removeServer(name)
            self._server.listen(name)

    @property
    def is_listening(self) -> bool:
        """Whether others can find this window; without that it is one of several."""
        return self._server.isListening()

    def close(self) -> None:
        self._server.close()

    @Slot()
    def _on_connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.write(_ANSWER)
            socket.flush()
            self.wanted.emit()


def brought_to_front(recording: Path, data_dir: Path) -> bool:
    """Bring the window that shows `recording` to the front; False when there is none."""
    name = _name(recording, data_dir)
    if not name:
        return False
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(_CONNECT_MS):
        return False
    is_there = socket.waitForReadyRead(_ANSWER_MS) and bytes(socket.readAll().data()) == _ANSWER
    socket.abort()
    return is_there


def _name(recording: Path, data_dir: Path, *, is_new: bool = False) -> str:
    """The socket's name; empty where there can be none. `is_new` makes its folder."""
    key = hashlib.sha256(str(absolute(recording).resolve()).encode(errors="surrogateescape"))
    digest = key.hexdigest()[:16]
    if sys.platform == "win32":
        user = hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]
        return f"mcp-progress-monitor-{user}-{digest}"
    folder = data_dir / _FOLDER
    path = str(folder / digest)
    if len(path.encode(errors="surrogateescape")) > _LONGEST:
        return ""
    if is_new:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return ""
    return path
