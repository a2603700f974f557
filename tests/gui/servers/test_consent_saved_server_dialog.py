"""A saved job starts no command that the user has not seen and agreed to."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.servers.consent import SavedServerDialog
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

ERROR = ErrorDetails("The server of this job is not known <b>any more</b>", "db")
SAVED = StdioDefinition(
    name="db", command="python", args=("-m", "my db", "\u202e"), env={"KEY": "hush"}, cwd="/srv"
)


def dialog_of(qtbot: QtBot, now: StdioDefinition | None = None) -> SavedServerDialog:
    made = SavedServerDialog(ERROR, SAVED, now)
    qtbot.addWidget(made)
    return made


def lines(dialog: SavedServerDialog) -> list[str]:
    return dialog.text.toPlainText().splitlines()


def test_the_exact_command_folder_and_names_are_shown_and_no_values(qtbot: QtBot) -> None:
    shown = lines(dialog_of(qtbot))
    assert "Command: python -m 'my db' '\\u202e'" in shown
    assert "Folder: /srv" in shown
    assert "Variables: KEY" in shown
    assert "hush" not in str(shown)


def test_a_server_that_was_changed_is_compared_with_what_it_is_now(qtbot: QtBot) -> None:
    now = SAVED.model_copy(update={"args": ("-m", "other"), "env": {"KEY": "new"}})
    shown = lines(dialog_of(qtbot, now))
    place = shown.index("Command differs")
    assert shown[place + 1].strip() == "saved: python -m 'my db' '\\u202e'"
    assert shown[place + 2].strip() == "now:   python -m other"
    assert "Folder: /srv" in shown
    assert "Variable values differ" in shown
    assert "hush" not in str(shown)


def test_no_part_of_a_long_command_is_out_of_sight(qtbot: QtBot) -> None:
    long = SAVED.model_copy(update={"args": ("/srv/" + "x" * 400,)})
    dialog = SavedServerDialog(ERROR, long)
    qtbot.addWidget(dialog)
    dialog.open()
    assert dialog.text.horizontalScrollBar().maximum() == 0


def test_approving_reports_each_job_once(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot)
    for job in (4, 7, 4):
        dialog.add_job(job)
    with qtbot.waitSignal(dialog.saved_server_approved) as signal:
        dialog.use.click()
    assert signal.args == [(4, 7)]


@pytest.mark.parametrize("key", [Qt.Key.Key_Escape, Qt.Key.Key_Return])
def test_neither_escape_nor_enter_starts_anything(qtbot: QtBot, key: Qt.Key) -> None:
    dialog = dialog_of(qtbot)
    dialog.open()
    with qtbot.assertNotEmitted(dialog.saved_server_approved):
        QTest.keyClick(dialog, key)
    assert not dialog.isVisible()


def test_words_of_the_error_are_plain_text(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot)
    labels = [label for label in dialog.findChildren(QLabel) if label.text()]
    assert any("<b>any more</b>" in label.text() for label in labels)
    assert {label.textFormat() for label in labels} == {Qt.TextFormat.PlainText}


def test_the_comparison_follows_the_server(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot)
    now = SAVED.model_copy(update={"args": ("-m", "other")})
    dialog.keep([], now)
    assert "Command differs" in lines(dialog)
    assert dialog.news.text() == "db was changed while this question was open."
    dialog.keep([], SAVED)
    assert "Command differs" not in lines(dialog)
    assert "has its saved definition again" in dialog.news.text()
    dialog.keep([], None)
    assert "was removed from the list" in dialog.news.text()
