"""What every pane needs to open alone, and what tests of whole programs need."""

import gc
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource
from tests.integration.forked import fork_servers

fork_servers()

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests that hang end by a thread: no signal is handled while Qt waits for events."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.timeout(120, method="thread"))


@pytest.fixture
def appearance(qapp: QApplication) -> Iterator[Appearance]:
    made = Appearance(qapp.palette(), resource("icons"))
    yield made
    made.deleteLater()


@pytest.fixture(autouse=True, scope="session")
def _empty_clipboard() -> Iterator[None]:
    """Leave nothing of Python's on the clipboard: Qt deletes it when there is no Python any more.

    The whole run would then end with a crash, after all its tests have passed.
    """
    yield
    if QGuiApplication.instance() is not None:
        QGuiApplication.clipboard().clear()


@pytest.fixture(autouse=True, scope="module")
def _tidied() -> Iterator[None]:
    """Collect what a module left behind in the thread of its widgets."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """Let no thread collect widgets: Python's collector runs in whatever thread allocates.

    Seen as a crash while a module was imported in a thread. The program does the same.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def _loop_goes_on(qapp: QApplication) -> None:
    """Let no window that goes away end the loop of a test, as the program does."""
    qapp.setQuitOnLastWindowClosed(False)


@pytest.fixture(autouse=True)
def _gone(qapp: QApplication) -> Iterator[None]:
    """Delete what a test has let go: no event loop comes by that would.

    A window that was not closed because it asks first would be at the front of all later tests, and
    be painted and searched in each.
    """
    yield
    if (focused := qapp.focusWidget()) is not None:
        focused.clearFocus()  # a field that is deleted with the focus says that it was left
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(autouse=True)
def _hands_off() -> Iterator[None]:
    """Release what a test left pressed: the next one's clicks and keys would mean something else.

    `QTest.mouseDClick` sends no release to a widget, and `QTest.keyClick` none of Ctrl to a widget
    that its key has closed. Qt then goes on with the button or the modifier held: a view drags
    where it is clicked, and selects more where it is to select another row.
    """
    yield
    held = QGuiApplication.mouseButtons()
    if held or QGuiApplication.keyboardModifiers():
        nobody = QWidget()
        for button in (each for each in Qt.MouseButton if each & held):
            QTest.mouseRelease(nobody, button)
        QTest.keyRelease(nobody, Qt.Key.Key_Control)
        nobody.deleteLater()


def _runs_programs(request: pytest.FixtureRequest) -> bool:
    return bool({"until_quit", "running"} & vars(request.module).keys())


@pytest.fixture(autouse=True)
def _hooks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program takes the process's hooks for its own: they are given back."""
    if _runs_programs(request):
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)
        monkeypatch.setattr(signal, "signal", print)


@pytest.fixture(autouse=True)
def _collected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Collect a program where its timers can be stopped: in the thread that it ran in.

    Left to itself Python's collector may come by within a step of another thread, such as the next
    program's recorder: the timers then stay, and go off in what is gone (seen as a crash).
    """
    if not _runs_programs(request):
        yield
        return
    # The tests themselves are frozen: where a program thawed them, each look would take 0.1 s.
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
    yield
    gc.collect()
