"""What was removed can be undone for a while, and is final after that."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMainWindow, QToolButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui import status_row
from mcp_progress_monitor.gui.undo import UndoOffer


@pytest.fixture
def window(qtbot: QtBot) -> QMainWindow:
    made = QMainWindow()
    qtbot.addWidget(made)
    made.statusBar()
    made.resize(600, 300)
    made.show()
    return made


def test_the_offer_names_what_was_removed_and_undoes_it_once(window: QMainWindow) -> None:
    offer = UndoOffer(window)
    done: list[str] = []
    assert not offer.isVisible()
    offer.offer("Removed <b>.", lambda: done.append("undone"), lambda: done.append("final"))
    assert offer.isVisible()
    assert offer.text == "Removed <b>."
    QTest.mouseClick(offer.findChildren(QToolButton)[0], Qt.MouseButton.LeftButton)
    offer.action.trigger()
    assert done == ["undone"]
    assert not offer.isVisible()


def test_the_key_undoes_it_as_well(window: QMainWindow) -> None:
    offer = UndoOffer(window)
    window.menuBar().addMenu("Jobs").addAction(offer.action)
    done: list[str] = []
    offer.offer("Removed a.", lambda: done.append("undone"))
    window.activateWindow()
    QTest.qWaitForWindowActive(window)
    QTest.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert done == ["undone"]


def test_a_removal_is_final_after_the_next_one_or_the_time_limit(
    qtbot: QtBot, window: QMainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_row, "SHOWN_MS", 1)
    offer = UndoOffer(window)
    done: list[str] = []
    offer.offer("Removed a.", lambda: done.append("a undone"), lambda: done.append("a final"))
    offer.offer("Removed b.", lambda: done.append("b undone"), lambda: done.append("b final"))
    assert done == ["a final"]
    qtbot.waitUntil(lambda: len(done) == 2)
    assert done == ["a final", "b final"]
    assert not offer.isVisible()
    offer.undo()
    assert done == ["a final", "b final"]
