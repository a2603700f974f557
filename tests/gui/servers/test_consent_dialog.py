"""Nothing from a file runs before the user has seen and ticked it."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.catalogue.trust import EarlierApproval
from mcp_progress_monitor.gui.servers.consent import ConsentDialog
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

_DEFINITIONS = (
    StdioDefinition(name="db", command="python", args=("-m", "my db"), env={"API_KEY": "hush"}),
    StdioDefinition(name="crawler", command="node", args=("crawl.js",)),
)


def _dialog(qtbot: QtBot) -> ConsentDialog:
    dialog = ConsentDialog("/tmp/servers.json", _DEFINITIONS)  # noqa: S108  # only shown
    qtbot.addWidget(dialog)
    return dialog


def _texts(item: QTreeWidgetItem) -> list[str]:
    children = (item.child(row) for row in range(item.childCount()))
    return [child.text(1) for child in children if child is not None]


def test_nothing_is_ticked_at_first_and_nothing_can_be_started(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot)
    assert dialog.approved() == ()
    starts = [b for b in dialog.findChildren(QPushButton) if "Start" in b.text()]
    assert [button.isEnabled() for button in starts] == [False]


def test_the_exact_command_is_shown_with_names_of_variables_and_no_values(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot)
    item = dialog.tree.topLevelItem(0)
    assert item is not None
    texts = _texts(item)
    assert "python -m 'my db'" in texts
    assert "API_KEY" in texts
    assert not any("hush" in text for text in texts)


def test_the_consent_dialog_lists_what_changed_since_the_approval(qtbot: QtBot) -> None:
    changes = ("arguments", "hidden value of API_KEY changed")
    dialog = ConsentDialog("f", _DEFINITIONS[:1], earlier=[EarlierApproval(changes)])
    qtbot.addWidget(dialog)
    item = dialog.tree.topLevelItem(0)
    assert item is not None
    assert _texts(item)[0] == "\n".join(changes)
    said = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "You approved a different definition of this server before." in said


def test_of_several_those_that_changed_are_marked(qtbot: QtBot) -> None:
    dialog = ConsentDialog("f", _DEFINITIONS, earlier=[None, EarlierApproval(())])
    qtbot.addWidget(dialog)
    first, second = (dialog.tree.topLevelItem(row) for row in range(2))
    assert first is not None
    assert second is not None
    assert second.childCount() == first.childCount() + 1
    assert _texts(second)[0] == "a different definition"
    said = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "they have changed" in said


def test_only_what_is_ticked_is_handed_over(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot)
    item = dialog.tree.topLevelItem(1)
    assert item is not None
    item.setCheckState(0, Qt.CheckState.Checked)
    heard: list[tuple[StdioDefinition, ...]] = []
    dialog.servers_approved.connect(heard.append)
    dialog.accept()
    assert heard == [(_DEFINITIONS[1],)]


def test_of_alternatives_one_is_started_each_shown_with_its_place(qtbot: QtBot) -> None:
    dialog = ConsentDialog("", _DEFINITIONS, sources=("Cursor, a.json", "Claude Code, b.json"))
    qtbot.addWidget(dialog)
    assert dialog.approved() == ()
    for row, source in enumerate(("Cursor, a.json", "Claude Code, b.json")):
        item = dialog.tree.topLevelItem(row)
        assert item is not None
        assert _texts(item)[0] == source
        item.setCheckState(0, Qt.CheckState.Checked)
        assert dialog.approved() == (_DEFINITIONS[row],)
    said = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "Select the one to start." in said


def _one(qtbot: QtBot, definition: StdioDefinition) -> ConsentDialog:
    dialog = ConsentDialog("a file", [definition])
    qtbot.addWidget(dialog)
    return dialog


def test_a_single_server_needs_no_tick_and_return_does_not_start_it(qtbot: QtBot) -> None:
    dialog = _one(qtbot, _DEFINITIONS[0])
    heard: list[tuple[StdioDefinition, ...]] = []
    dialog.servers_approved.connect(heard.append)
    dialog.show()
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert heard == []
    _one(qtbot, _DEFINITIONS[0]).accept()
    dialog.accept()
    assert heard == [(_DEFINITIONS[0],)]


def test_no_end_of_a_long_command_is_hidden(qtbot: QtBot) -> None:
    arguments = ("--harmless", "x" * 500, "y" * 500, "; rm -rf ~")
    dialog = _one(qtbot, StdioDefinition(name="long", command="sh", args=arguments))
    dialog.show()
    item = dialog.tree.topLevelItem(0)
    assert item is not None
    command = _texts(item)[0]
    assert command.replace("\n", "") == f"sh --harmless {'x' * 500} {'y' * 500} '; rm -rf ~'"
    assert max(map(len, command.split("\n"))) <= 68
    assert dialog.tree.textElideMode() is Qt.TextElideMode.ElideNone
    child = item.child(0)
    assert child is not None
    height = dialog.tree.visualItemRect(child).height()
    assert height >= dialog.fontMetrics().lineSpacing() * len(command.split("\n")) * 0.9


def test_the_end_of_a_command_higher_than_the_window_can_be_scrolled_to(qtbot: QtBot) -> None:
    dialog = _one(qtbot, StdioDefinition(name="long", command="sh", args=("x" * 4000, "; evil")))
    dialog.show()
    bar = dialog.tree.verticalScrollBar()
    item = dialog.tree.topLevelItem(0)
    child = None if item is None else item.child(0)
    assert child is not None
    room = dialog.tree.viewport().height()
    ends = set()
    for value in range(bar.maximum() + 1):
        bar.setValue(value)
        ends.add(dialog.tree.visualItemRect(child).bottom())
    assert any(0 < end < room for end in ends)
    assert "4,012 characters" in child.text(0)


def test_nothing_hides_behind_blanks(qtbot: QtBot) -> None:
    args = ("safe" + " " * 4000 + "; evil", "a\u3000b", "two  blanks")
    dialog = _one(qtbot, StdioDefinition(name="wide", command="sh", args=args))
    item = dialog.tree.topLevelItem(0)
    assert item is not None
    shown = _texts(item)[0].replace("\n", "")
    assert shown == r"sh 'safe[4,000 spaces]; evil' 'a\u3000b' 'two  blanks'"


def test_a_long_name_takes_no_room_from_what_is_run(qtbot: QtBot) -> None:
    text = "word " * 40
    definitions = [
        StdioDefinition(name=name, command="python", args=(text,)) for name in ("a", "b" * 60)
    ]
    dialog = ConsentDialog("servers.json", definitions)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.tree.columnWidth(0) < dialog.tree.fontMetrics().horizontalAdvance("b" * 40)
    assert dialog.tree.horizontalScrollBar().maximum() == 0


def test_words_that_are_meant_to_deceive_are_made_visible(qtbot: QtBot) -> None:
    evil = StdioDefinition(name="<b>a</b>\u202e", command="sh", args=("\x1b[2J",))
    dialog = _one(qtbot, evil)
    item = dialog.tree.topLevelItem(0)
    assert item is not None
    assert item.text(0) == "<b>a</b>\\u202e"
    assert "\\x1b[2J" in _texts(item)[0]


def test_questions_for_the_same_are_known_by_their_key(qtbot: QtBot) -> None:
    same = _DEFINITIONS[0].model_copy(update={"name": "other"})
    other = _DEFINITIONS[0].model_copy(update={"args": ("other",)})
    assert _one(qtbot, _DEFINITIONS[0]).keys == _one(qtbot, same).keys
    assert _one(qtbot, _DEFINITIONS[0]).keys != _one(qtbot, other).keys


def _start(dialog: ConsentDialog) -> QPushButton:
    (start,) = [b for b in dialog.findChildren(QPushButton) if "start" in b.text().lower()]
    return start


def test_a_changed_server_is_shown_anew_and_no_click_meant_for_the_old_one_starts_it(
    qtbot: QtBot,
) -> None:
    dialog = _one(qtbot, _DEFINITIONS[1])
    other = _DEFINITIONS[1].model_copy(update={"args": ("other.js",)})
    dialog.keep("a file", [other])
    item = dialog.tree.topLevelItem(0)
    assert item is not None
    assert "node other.js" in _texts(item)
    expected = "crawler was changed. Review the new definition before you start it."
    assert dialog.news.text() == expected
    assert not _start(dialog).isEnabled()
    dialog.keep("a file", [other])
    assert _start(dialog).isEnabled()
    assert dialog.news.text() == expected
    assert dialog.approved() == (other,)


def test_of_several_servers_only_those_that_changed_are_unchecked(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot)
    for row in range(2):
        item = dialog.tree.topLevelItem(row)
        assert item is not None
        item.setCheckState(0, Qt.CheckState.Checked)
    other = _DEFINITIONS[0].model_copy(update={"command": "other"})
    dialog.keep(dialog.origin, [other, _DEFINITIONS[1]])
    assert dialog.approved() == (_DEFINITIONS[1],)


def test_removed_servers_leave_the_question(qtbot: QtBot) -> None:
    dialog = _dialog(qtbot)
    dialog.keep(dialog.origin, _DEFINITIONS[:1])
    assert dialog.news.text() == "crawler was removed or disabled."
    assert dialog.definitions == _DEFINITIONS[:1]
    dialog.keep(dialog.origin, [])
    assert "db was removed or disabled." in dialog.news.text()
    assert any("nothing left to start" in label.text() for label in dialog.findChildren(QLabel))
    assert not _start(dialog).isEnabled()


def test_a_revoked_approval_is_no_longer_mentioned(qtbot: QtBot) -> None:
    dialog = ConsentDialog("f", _DEFINITIONS[:1], earlier=[EarlierApproval(("command",))])
    qtbot.addWidget(dialog)
    dialog.keep("f", _DEFINITIONS[:1], earlier=[None])
    assert not any("You approved" in label.text() for label in dialog.findChildren(QLabel))
    assert not dialog.news.text()
