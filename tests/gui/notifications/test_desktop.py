"""Notifications reach the desktop's service and its clicks come back; there is a way without."""

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.notifications.desktop import BusHere, DesktopNotifier, TaskBarButton
from mcp_progress_monitor.gui.notifications.events import Notice, NoticeAction

NOTICE = Notice("export failed", "db\n<b>a & b</b>", 7, is_urgent=False)


class FakeBus(QObject):
    """Answers at once, as instructed; a service without an answer is not there."""

    signalled = Signal(str, object)

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        self.answers = answers
        self.calls: list[tuple[Any, ...]] = []

    def call(
        self,
        service: str,
        method: str,
        signature: str | None = None,
        body: tuple[Any, ...] = (),
        answered: Callable[[Any], object] | None = None,
    ) -> None:
        self.calls.append((method, *body))
        if answered is not None:
            answered(self.answers.get(method))

    def emit_signal(self, source: str, name: str, signature: str, body: Any) -> None:
        self.calls.append((source, name, *body))


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


def notifier(window: QWidget, bus: Any) -> DesktopNotifier:
    return DesktopNotifier(window, lambda: bus)


def test_a_notice_is_sent_and_a_click_on_it_names_its_job(qtbot: QtBot, window: QWidget) -> None:
    bus = FakeBus(GetCapabilities=(["body", "body-markup", "actions"],), Notify=(41,))
    desktop = notifier(window, bus)
    desktop.show(NOTICE, has_sound=False)
    sent = bus.calls[1]
    assert sent[0] == "Notify"
    assert sent[4:7] == ("export failed", "db\n&lt;b&gt;a &amp; b&lt;/b&gt;", ["default", "Show"])
    assert sent[7]["suppress-sound"] == ("b", True)
    with qtbot.assertNotEmitted(desktop.clicked):
        bus.signalled.emit("ActionInvoked", (40, "default"))
    with qtbot.waitSignal(desktop.clicked) as clicked:
        bus.signalled.emit("ActionInvoked", (41, "default"))
    assert clicked.args == [7]


def test_a_button_is_sent_where_the_service_has_buttons(qtbot: QtBot, window: QWidget) -> None:
    notice = NOTICE._replace(action=NoticeAction.REISSUE)
    plain = FakeBus(GetCapabilities=(["body"],), Notify=(1,))
    notifier(window, plain).show(notice, has_sound=False)
    assert plain.calls[1][6] == ["default", "Show"]
    bus = FakeBus(GetCapabilities=(["body", "actions"],), Notify=(41,))
    desktop = notifier(window, bus)
    desktop.show(notice, has_sound=False)
    assert bus.calls[1][6] == ["default", "Show", "REISSUE", "Re-issue"]
    with qtbot.assertNotEmitted(desktop.acted):
        bus.signalled.emit("ActionInvoked", (41, "ANSWER"))
    with qtbot.waitSignal(desktop.acted) as acted:
        bus.signalled.emit("ActionInvoked", (41, "REISSUE"))
    assert acted.args == [NoticeAction.REISSUE, 7]


def test_without_markup_the_text_is_sent_as_it_is_and_the_sound_when_wanted(
    window: QWidget,
) -> None:
    bus = FakeBus(GetCapabilities=(["body"],), Notify=(1,))
    desktop = notifier(window, bus)
    desktop.show(NOTICE, has_sound=True)
    desktop.show(NOTICE, has_sound=True)
    assert [call[0] for call in bus.calls] == ["GetCapabilities", "Notify", "Notify"]
    assert bus.calls[1][5] == "db\n<b>a & b</b>"
    assert "sound-name" in bus.calls[1][7]


def test_what_is_still_shown_is_taken_back_when_the_user_comes(window: QWidget) -> None:
    bus = FakeBus(GetCapabilities=([],), Notify=(5,))
    desktop = notifier(window, bus)
    desktop.show(NOTICE, has_sound=False)
    desktop.withdraw()
    assert bus.calls[-1] == ("CloseNotification", 5)
    desktop.show(NOTICE, has_sound=False)
    bus.signalled.emit("NotificationClosed", (5, 2))
    desktop.withdraw()
    assert [call[0] for call in bus.calls].count("CloseNotification") == 1


def test_the_token_of_a_click_lets_the_window_come_to_the_front(
    window: QWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_ACTIVATION_TOKEN", raising=False)
    bus = FakeBus(GetCapabilities=([],), Notify=(5,))
    notifier(window, bus).show(NOTICE, has_sound=False)
    bus.signalled.emit("ActivationToken", (5, "abc"))
    assert os.environ.pop("XDG_ACTIVATION_TOKEN") == "abc"


@pytest.mark.parametrize("bus", [None, FakeBus(), FakeBus(GetCapabilities=([],))])
def test_without_a_service_the_task_bar_calls_for_attention(
    window: QWidget, bus: FakeBus | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerted: list[QWidget] = []
    monkeypatch.setattr(QApplication, "alert", alerted.append)
    monkeypatch.setattr(QApplication, "beep", lambda: alerted.append(window))
    notifier(window, bus).show(NOTICE, has_sound=False)
    assert alerted == [window]
    notifier(window, bus).show(NOTICE, has_sound=True)
    assert len(alerted) == 3


def test_the_tray_icon_shows_it_where_there_is_no_service(qtbot: QtBot, window: QWidget) -> None:
    class Tray(QObject):
        messageClicked = Signal()  # noqa: N815  # Qt's
        shown: Any = None

        def isSystemTrayAvailable(self) -> bool:
            return True

        def supportsMessages(self) -> bool:
            return True

        def icon(self) -> str:
            return "icon"

        def showMessage(self, *shown: Any) -> None:
            self.shown = shown

    tray: Any = Tray()
    desktop = notifier(window, None)
    desktop.set_tray(tray)
    desktop.show(NOTICE, has_sound=False)
    assert tray.shown[:2] == ("export failed", "db\n<b>a & b</b>")
    with qtbot.waitSignal(desktop.clicked) as clicked:
        tray.messageClicked.emit()
    assert clicked.args == [7]


def test_progress_and_count_go_to_the_task_bar_when_they_change() -> None:
    bus: Any = FakeBus()
    button = TaskBarButton(lambda: bus)
    button.show(0, None)
    assert bus.calls == []
    for share in (0.5, 0.5004, 0.51):
        button.show(1, share)
    assert [call[3]["progress"] for call in bus.calls] == [("d", 0.5), ("d", 0.51)]
    assert bus.calls[0][2] == "application://mcp-progress-monitor.desktop"
    button.show(0, None)
    assert bus.calls[-1][3]["progress-visible"] == ("b", False)


def test_elsewhere_the_count_is_qts_badge(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    monkeypatch.setattr(QGuiApplication, "setBadgeNumber", lambda _self, count: shown.append(count))
    button = TaskBarButton(lambda: None)
    button.show(2, 0.5)
    assert shown == [2]


def test_only_linux_has_a_session_bus(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = QObject()
    here = BusHere(owner)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert here() is None
    monkeypatch.setattr(sys, "platform", "linux")
    assert here() is here()
