"""A note is written beside the recording, and kept only if the user says so."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.traffic.details import LONGEST, NoteEditor


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    """What the widget under test is placed on."""
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def editor(parent: QWidget) -> NoteEditor:
    """An editor of the note on message 1,204."""
    made = NoteEditor(1_204, "before", parent)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    made.show()
    return made


def _text(editor: NoteEditor) -> QPlainTextEdit:
    edit = editor.findChild(QPlainTextEdit)
    assert isinstance(edit, QPlainTextEdit)
    return edit


def _button(editor: NoteEditor, message: str) -> QPushButton:
    return next(b for b in editor.findChildren(QPushButton) if message in b.text())


def test_a_note_is_saved_as_it_was_typed(editor: NoteEditor, qtbot: QtBot) -> None:
    assert "1,204" in editor.windowTitle()
    assert not editor.isModal()
    _text(editor).setPlainText(" <b>slow</b>\nhere\u00a0too ")
    with qtbot.waitSignal(editor.saved) as saved:
        QTest.keyClick(_text(editor), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert saved.args == [1_204, "<b>slow</b>\nhere\u00a0too"]
    assert not editor.isVisible()


def test_a_note_is_left_as_it_was(editor: NoteEditor, qtbot: QtBot) -> None:
    _text(editor).setPlainText("other")
    with qtbot.assertNotEmitted(editor.saved):
        _button(editor, "Cancel").click()
    assert not editor.isVisible()


def test_a_note_has_an_end_and_that_is_reported(editor: NoteEditor, qtbot: QtBot) -> None:
    _text(editor).setPlainText("x" * (LONGEST + 2))
    label = editor.findChild(QLabel)
    assert isinstance(label, QLabel)
    assert label.text() == "2 characters too many"
    assert not _button(editor, "Save").isEnabled()
    with qtbot.assertNotEmitted(editor.saved):
        QTest.keyClick(_text(editor), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    _text(editor).setPlainText("x" * LONGEST)
    assert _button(editor, "Save").isEnabled()
    assert not label.isVisible()
