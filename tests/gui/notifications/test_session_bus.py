"""The session bus is joined with the first call, hears what it should, and may be missing."""

import sys
from typing import Any

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("the session bus is Linux's", allow_module_level=True)

from collections.abc import Iterator
from pathlib import Path

from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageType,
    Parser,
    new_error,
    new_method_return,
    new_signal,
)
from PySide6.QtCore import QObject
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.notifications.session_bus import SessionBus

SERVICE = DBusAddress("/org/freedesktop/Notifications", interface="org.freedesktop.Notifications")


class FakeBus(QObject):
    """A bus with one service, which answers `Notify` with 7 and refuses all else."""

    def __init__(self, path: Path, auth: bytes = b"OK 1234\r\n") -> None:
        super().__init__()
        self.address = f"unix:path={path}"
        self.heard: list[Message] = []
        self.said = b""
        self.is_silent = False
        self._auth = auth
        self._parser = Parser()
        self._serial = 0
        self.peer: QLocalSocket | None = None
        self._server = QLocalServer(self)
        assert self._server.listen(str(path))
        self._server.newConnection.connect(self._on_connected)

    def _on_connected(self) -> None:
        self.peer = self._server.nextPendingConnection()
        self.peer.readyRead.connect(self._on_readable)

    def _on_readable(self) -> None:
        assert self.peer is not None
        data = bytes(self.peer.readAll().data())
        if b"BEGIN\r\n" not in self.said:
            self.said += data
            if b"BEGIN\r\n" not in data:
                self.peer.write(self._auth)
                return
            data = data.partition(b"BEGIN\r\n")[2]
        for message in self._parser.feed(data):
            self._answer(message)

    def _answer(self, message: Message) -> None:
        self.heard.append(message)
        if self.is_silent or message.header.message_type is not MessageType.method_call:
            return
        member = message.header.fields[HeaderFields.member]
        if member == "Notify":
            self.say(new_method_return(message, "u", (7,)))
        elif member not in {"Hello", "AddMatch"}:
            self.say(new_error(message, "org.example.No"))

    def say(self, message: Message) -> None:
        assert self.peer is not None
        self._serial += 1
        self.peer.write(message.serialise(self._serial))

    def members(self) -> list[Any]:
        return [message.header.fields[HeaderFields.member] for message in self.heard]


@pytest.fixture
def fake(qapp: object, tmp_path: Path) -> Iterator[FakeBus]:
    made = FakeBus(tmp_path / "bus")
    yield made
    made.deleteLater()


NOTIFY = ("app", 0, "", "title", "body", ["default", "Show"], {"urgency": ("y", 1)}, -1)


def test_a_call_is_answered_and_signals_are_heard(qtbot: QtBot, fake: FakeBus) -> None:
    bus = SessionBus(fake, fake.address)
    answers: list[Any] = []
    bus.call("notifications", "Notify", "susssasa{sv}i", NOTIFY, answers.append)
    qtbot.waitUntil(lambda: len(answers) == 1)
    assert answers == [(7,)]
    assert fake.said.startswith(b"\0AUTH EXTERNAL ")
    assert fake.members() == ["Hello", "AddMatch", "Notify"]
    assert fake.heard[-1].header.fields[HeaderFields.signature] == "susssasa{sv}i"
    assert fake.heard[-1].body == NOTIFY
    with qtbot.waitSignal(bus.signalled) as heard:
        fake.say(new_signal(SERVICE, "ActionInvoked", "us", (7, "default")))
    assert heard.args == ["ActionInvoked", (7, "default")]
    bus.emit_signal("launcher", "Update", "sa{sv}", ("application://a", {"count": ("x", 2)}))
    qtbot.waitUntil(lambda: fake.members()[-1] == "Update")
    bus.close()


def test_an_error_is_answered_with_none(qtbot: QtBot, fake: FakeBus) -> None:
    bus = SessionBus(fake, fake.address)
    answers: list[Any] = []
    bus.call("notifications", "GetCapabilities", answered=answers.append)
    qtbot.waitUntil(lambda: answers == [None])


def test_without_a_bus_every_call_is_answered_at_once(qapp: object, tmp_path: Path) -> None:
    owner = QObject()
    bus = SessionBus(owner, f"unix:path={tmp_path / 'none'}")
    answers: list[Any] = []
    for _ in range(2):
        bus.call("notifications", "Notify", "susssasa{sv}i", NOTIFY, answers.append)
    assert answers == [None, None]


@pytest.mark.parametrize("last_line", [b"", b"l\x01garbage" * 9])
def test_a_bus_that_goes_or_talks_nonsense_leaves_no_call_waiting(
    qtbot: QtBot, fake: FakeBus, last_line: bytes
) -> None:
    bus = SessionBus(fake, fake.address)
    answers: list[Any] = []
    bus.call("notifications", "Notify", "susssasa{sv}i", NOTIFY, answers.append)
    qtbot.waitUntil(lambda: answers == [(7,)])
    fake.is_silent = True
    bus.call("notifications", "Notify", "susssasa{sv}i", NOTIFY, answers.append)
    qtbot.waitUntil(lambda: fake.members().count("Notify") == 2)
    assert fake.peer is not None
    fake.peer.write(last_line)
    fake.peer.disconnectFromServer()
    qtbot.waitUntil(lambda: answers == [(7,), None])


def test_a_bus_that_does_not_let_us_in_is_left(qtbot: QtBot, tmp_path: Path) -> None:
    fake = FakeBus(tmp_path / "bus", b"REJECTED\r\n")
    bus = SessionBus(fake, fake.address)
    answers: list[Any] = []
    bus.call("notifications", "Notify", "susssasa{sv}i", NOTIFY, answers.append)
    qtbot.waitUntil(lambda: answers == [None])


def test_the_address_may_be_missing_from_the_environment(
    qapp: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    owner = QObject()
    answers: list[Any] = []
    SessionBus(owner).call("notifications", "GetCapabilities", answered=answers.append)
    assert answers == [None]
