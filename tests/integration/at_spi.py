"""The window as a screen reader has it: the tree of accessible objects on a real AT-SPI bus."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcp_progress_monitor import qt_libraries
from screen import virtual_screen

_LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
_ACCESSIBLE = "org.a11y.atspi.Accessible"
_COMPONENT = "org.a11y.atspi.Component"
_FOCUSABLE, _SHOWING = 11, 25
"""Of AtspiStateType."""
_MOST_CELLS = 200

Reference = tuple[str, str]
"""A bus name and a path."""


class Seen(NamedTuple):
    """One accessible object that is showing."""

    role: str
    name: str
    description: str
    is_focusable: bool
    reference: Reference


def needed() -> list[str]:
    """What the machine lacks for this."""
    programs = ("dbus-daemon", "Xvfb")
    missing = [program for program in programs if shutil.which(program) is None]
    missing += [] if any(map(_exists, _LAUNCHERS)) else ["at-spi2-core"]
    return missing + qt_libraries.missing(["xcb"])


def _exists(path: str) -> bool:
    return Path(path).exists()


@contextmanager
def desktop(environ: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the variables of a session with a screen, a bus, and AT-SPI."""
    daemon = ["dbus-daemon", "--session", "--print-address=1", "--nofork", "--nopidfile"]
    with virtual_screen(environ) as screen:
        bus = subprocess.Popen(daemon, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert bus.stdout is not None
            address = bus.stdout.readline().strip()
            yield {
                **screen,
                "DBUS_SESSION_BUS_ADDRESS": address,
                "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            }
        finally:
            bus.terminate()
            bus.communicate()


class Reader:
    """Reads the tree of the programs on a desktop."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        blocking = pytest.importorskip("jeepney.io.blocking")
        session = blocking.open_dbus_connection(environ["DBUS_SESSION_BUS_ADDRESS"])
        self._bus = session
        path = ("org.a11y.Bus", "/org/a11y/bus")
        address = self._call(path, "org.a11y.Bus", "GetAddress")[0]
        self._bus = blocking.open_dbus_connection(address)
        session.close()

    def close(self) -> None:
        """Leave the bus."""
        self._bus.close()

    def windows(self) -> list[Reference]:
        """The programs that are there."""
        return self._children(("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root"))

    def seen(self, root: Reference) -> Iterator[Seen]:
        """Everything that is showing below `root`, of large tables the first cells."""
        role = self._call(root, _ACCESSIBLE, "GetRoleName")[0]
        first, second = self._call(root, _ACCESSIBLE, "GetState")[0]
        states = first | second << 32
        if not states >> _SHOWING & 1 and role != "application":
            return
        name, description = (self._property(root, each) for each in ("Name", "Description"))
        yield Seen(role, name, description, bool(states >> _FOCUSABLE & 1), root)
        for child in self._children(root)[:_MOST_CELLS]:
            yield from self.seen(child)

    def extents(self, of: Reference) -> tuple[int, int, int, int]:
        """Where it is on the screen: left, top, width and height."""
        left, top, width, height = self._call(of, _COMPONENT, "GetExtents", 0)[0]
        return left, top, width, height

    def _children(self, of: Reference) -> list[Reference]:
        children = self._call(of, _ACCESSIBLE, "GetChildren")[0]
        return [(name, path) for name, path in children if not path.endswith("/null")]

    def _property(self, of: Reference, name: str) -> str:
        properties = "org.freedesktop.DBus.Properties"
        return str(self._call(of, properties, "Get", _ACCESSIBLE, name)[0][1])

    def _call(self, of: Reference, interface: str, member: str, *arguments: str | int) -> Any:
        from jeepney import DBusAddress, MessageType, new_method_call

        address = DBusAddress(of[1], of[0], interface)
        types = "".join("s" if isinstance(each, str) else "u" for each in arguments)
        message = new_method_call(address, member, types or None, arguments)
        reply = self._bus.send_and_get_reply(message, timeout=10)
        if reply.header.message_type is MessageType.error:
            raise LookupError(f"{member} of {of}: {reply.body}")
        return reply.body
