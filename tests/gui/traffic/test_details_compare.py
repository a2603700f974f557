"""Two messages are compared, and which they are stands above."""

from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.traffic.details import MessagesDialog


def test_the_dialog_says_which_messages_differ_and_where(
    qtbot: QtBot, appearance: Appearance
) -> None:
    dialog = MessagesDialog(("no. 3", "<b>no. 9"), ("[1]", "[2]"), appearance)
    qtbot.addWidget(dialog)
    assert [each.text() for each in dialog.findChildren(QLabel)] == ["- no. 3", "+ <b>no. 9"]
    assert dialog.text.toPlainText().splitlines()[1:] == ["-[1]", "+[2]"]
