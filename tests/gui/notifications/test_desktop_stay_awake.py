"""While jobs run the computer stays awake, by whatever the system has for that."""

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QObject, QProcess

from mcp_progress_monitor.gui.notifications.desktop import StayAwake
from tests.gui.notifications.test_desktop import FakeBus


class Desktop(FakeBus):
    """Has only some services; answers when instructed."""

    def __init__(self, *services: str) -> None:
        super().__init__()
        self.services = services
        self.waiting: list[Callable[[], object]] = []

    def call(
        self,
        service: str,
        method: str,
        signature: str | None = None,
        body: tuple[Any, ...] = (),
        answered: Callable[[Any], object] | None = None,
    ) -> None:
        self.calls.append((service, method))
        if answered is not None:
            there = (7,) if service in self.services else None
            self.waiting.append(lambda: answered(there))

    def answer(self) -> None:
        """Answer what was asked."""
        while self.waiting:
            self.waiting.pop(0)()


@pytest.fixture(autouse=True)
def _linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")


def stay_awake(bus: Any) -> StayAwake:
    owner = QObject()
    made = StayAwake(lambda: bus, owner)
    bus.owner = owner  # for as long
    return made


@pytest.mark.parametrize(
    ("services", "calls"),
    [
        (("power", "gnome"), [("power", "Inhibit"), ("power", "UnInhibit")]),
        (("gnome",), [("power", "Inhibit"), ("gnome", "Inhibit"), ("gnome", "Uninhibit")]),
        ((), [("power", "Inhibit"), ("gnome", "Inhibit")]),
    ],
)
def test_the_first_service_that_agrees_is_asked_once_and_reported_the_end(
    services: tuple[str, ...], calls: list[tuple[str, str]]
) -> None:
    bus = Desktop(*services)
    awake = stay_awake(bus)
    for _ in range(3):
        awake.set_wanted(is_wanted=True)
        bus.answer()
    awake.set_wanted(is_wanted=False)
    awake.set_wanted(is_wanted=False)
    assert bus.calls == calls


def test_jobs_that_end_before_the_answer_hold_nothing_up() -> None:
    bus = Desktop("power")
    awake = stay_awake(bus)
    awake.set_wanted(is_wanted=True)
    awake.set_wanted(is_wanted=False)
    assert bus.calls == [("power", "Inhibit")]
    bus.answer()
    assert bus.calls[1:] == [("power", "UnInhibit")]


def test_the_next_jobs_before_the_answer_ask_no_second_time() -> None:
    bus = Desktop("power")
    awake = stay_awake(bus)
    for is_wanted in (True, False, True):
        awake.set_wanted(is_wanted=is_wanted)
    bus.answer()
    assert bus.calls == [("power", "Inhibit")]


def test_a_computer_without_a_session_bus_is_let_be() -> None:
    owner = QObject()
    awake = StayAwake(lambda: None, owner)
    awake.set_wanted(is_wanted=True)
    awake.set_wanted(is_wanted=False)


def test_macos_is_kept_awake_by_a_program_that_ends_with_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[list[str]] = []
    ended: list[QProcess] = []
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(
        QProcess, "start", lambda _self, name, arguments: started.append([name, *arguments])
    )
    monkeypatch.setattr(QProcess, "kill", lambda self: ended.append(self))
    owner = QObject()
    awake = StayAwake(lambda: None, owner)
    awake.set_wanted(is_wanted=True)
    assert started[0][:3] == ["caffeinate", "-i", "-w"]
    awake.set_wanted(is_wanted=False)
    assert len(started) == len(ended) == 1


def test_windows_is_reported_by_the_state_of_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        said: list[int] = []  # noqa: RUF012

        def SetThreadExecutionState(self, state: Any) -> None:
            self.said.append(state.value)

    class Windows:
        kernel32 = Kernel()

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "windll", Windows, raising=False)
    owner = QObject()
    awake = StayAwake(lambda: None, owner)
    awake.set_wanted(is_wanted=True)
    awake.set_wanted(is_wanted=False)
    assert Kernel.said == [0x80000001, 0x80000000]
