"""The session's D-Bus on Linux: notifications, progress in the task bar, inhibiting sleep.

PySide's QtDBus cannot send an unsigned number from Python (6.11), which a notification needs. So
messages are encoded by jeepney and sent through a Qt socket, which never blocks.
"""

from __future__ import annotations

import itertools
import logging
import os
import time
from typing import TYPE_CHECKING, Any, Final

from jeepney import (
    DBusAddress,
    HeaderFields,
    MatchRule,
    Message,
    MessageType,
    Parser,
    message_bus,
    new_method_call,
    new_signal,
)
from jeepney.auth import AuthenticationError, Authenticator
from jeepney.bus import get_bus
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtNetwork import QLocalSocket

from mcp_progress_monitor.paths import APPLICATION

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Answered: TypeAlias = Callable[[tuple[Any, ...] | None], object]
    """Called with the body of a reply; with None after an error, or without a bus."""

_log = logging.getLogger(__name__)

_ADDRESSES: Final = {
    "notifications": DBusAddress(
        "/org/freedesktop/Notifications",
        bus_name="org.freedesktop.Notifications",
        interface="org.freedesktop.Notifications",
    ),
    "power": DBusAddress(
        "/org/freedesktop/PowerManagement/Inhibit",
        bus_name="org.freedesktop.PowerManagement",
        interface="org.freedesktop.PowerManagement.Inhibit",
    ),
    "gnome": DBusAddress(
        "/org/gnome/SessionManager",
        bus_name="org.gnome.SessionManager",
        interface="org.gnome.SessionManager",
    ),
    "launcher": DBusAddress(
        f"/{APPLICATION.replace('-', '_')}", interface="com.canonical.Unity.LauncherEntry"
    ),
}
"""Targets of calls, and sources of signals."""
_HEARD: Final = _ADDRESSES["notifications"]
_AGAIN_AFTER_S: Final = 60.0  # delay before connecting again after a failure


class SessionBus(QObject):
    """Calls and signals on the session bus; connects on first use."""

    signalled = Signal(str, object)
    """The name of a signal of the notification service, and its body as a tuple."""

    def __init__(self, parent: QObject | None = None, address: str | None = None) -> None:
        super().__init__(parent)
        self._address = address
        self._socket: QLocalSocket | None = None
        self._authenticator: Authenticator | None = None
        self._parser = Parser()
        self._serials = itertools.count(1)
        self._waiting: list[bytes] = []
        self._answers: dict[int, Answered] = {}
        self._failed_at = -_AGAIN_AFTER_S

    def call(
        self,
        service: str,
        method: str,
        signature: str | None = None,
        body: tuple[Any, ...] = (),
        answered: Answered | None = None,
    ) -> None:
        """Call a method of a service in `_ADDRESSES`; `answered` receives the reply."""
        self._send(new_method_call(_ADDRESSES[service], method, signature, body), answered)

    def emit_signal(self, source: str, name: str, signature: str, body: tuple[Any, ...]) -> None:
        """Broadcast a signal from a source in `_ADDRESSES` ("launcher")."""
        self._send(new_signal(_ADDRESSES[source], name, signature, body), None)

    def close(self) -> None:
        self._fail("")

    def _send(self, message: Message, answered: Answered | None) -> None:
        if self._socket is None and not self._connect():
            if answered is not None:
                answered(None)
            return
        serial = next(self._serials)
        if answered is not None:
            self._answers[serial] = answered
        self._write(message.serialise(serial))

    def _write(self, data: bytes) -> None:
        if self._socket is not None and self._authenticator is None:
            self._socket.write(data)
        else:
            self._waiting.append(data)

    def _connect(self) -> bool:
        if time.monotonic() - self._failed_at < _AGAIN_AFTER_S:
            return False
        place = self._place()
        if not place:
            self._failed_at = time.monotonic()
            return False
        socket = self._socket = QLocalSocket(self)
        if place.startswith("\0"):
            socket.setSocketOptions(QLocalSocket.SocketOption.AbstractNamespaceOption)
        self._authenticator = Authenticator()
        self._parser = Parser()
        self._waiting.clear()
        socket.connected.connect(self._on_connected)
        socket.readyRead.connect(self._on_readable)
        socket.errorOccurred.connect(self._on_error)
        rule = MatchRule(type="signal", path=_HEARD.object_path, interface=_HEARD.interface)
        for message in (message_bus.Hello(), message_bus.AddMatch(rule)):
            self._waiting.append(message.serialise(next(self._serials)))
        socket.connectToServer(place.removeprefix("\0"))
        return self._socket is not None

    def _place(self) -> str:
        """The address of the bus: a path, or an abstract name after a zero; empty without a bus."""
        try:
            return str(get_bus(self._address or "SESSION"))
        except (KeyError, RuntimeError, ValueError):
            runtime = os.environ.get("XDG_RUNTIME_DIR", "")
            path = os.path.join(runtime, "bus") if runtime else ""  # noqa: PTH118
            return path if os.path.exists(path) else ""  # noqa: PTH110  # any error: it is not there

    @Slot()
    def _on_connected(self) -> None:
        self._authenticate(b"")

    @Slot()
    def _on_readable(self) -> None:
        if self._socket is None:
            return
        data = bytes(self._socket.readAll().data())
        if self._authenticator is not None:
            self._authenticate(data)
            return
        self._parser.add_data(data)
        try:
            while (message := self._parser.get_next_message()) is not None:
                self._receive(message)
        except (ValueError, TypeError, KeyError, IndexError) as error:  # malformed or unsupported
            self._fail(repr(error))

    def _authenticate(self, data: bytes) -> None:
        authenticator, socket = self._authenticator, self._socket
        if authenticator is None or socket is None:
            return
        try:
            authenticator.feed(data)
        except AuthenticationError as error:
            self._fail(str(error))
            return
        if authenticator.authenticated:
            self._authenticator = None
            socket.write(b"BEGIN\r\n" + b"".join(self._waiting))
            self._waiting.clear()
        else:
            socket.write(authenticator.data_to_send() or b"")

    def _receive(self, message: Message) -> None:
        header = message.header
        body = message.body if isinstance(message.body, tuple) else ()
        if header.message_type is MessageType.signal:
            self.signalled.emit(str(header.fields.get(HeaderFields.member, "")), body)
            return
        answered = self._answers.pop(header.fields.get(HeaderFields.reply_serial, 0), None)
        if answered is not None:
            answered(body if header.message_type is MessageType.method_return else None)

    @Slot()
    def _on_error(self) -> None:
        self._fail("" if self._socket is None else self._socket.errorString())

    def _fail(self, why: str) -> None:
        """Disconnect from the bus, and answer all pending calls."""
        socket, self._socket = self._socket, None
        if socket is None:
            return
        if why:
            _log.info("the session bus cannot be used: %s", why)
        self._failed_at = time.monotonic()
        self._authenticator = None
        socket.blockSignals(True)
        socket.abort()
        socket.deleteLater()
        answers, self._answers = self._answers, {}
        for answered in answers.values():
            answered(None)
