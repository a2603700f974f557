"""What can be done with a row of Traffic: filters, jumps, marks, notes, copies."""

import json

import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QInputDialog,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.common.controls import ElidedLabel
from mcp_progress_monitor.gui.common.json_view import FilterRequest, JsonTree
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.commands import MESSAGE_COMMANDS
from mcp_progress_monitor.gui.traffic.details import MessagesDialog, NoteEditor
from mcp_progress_monitor.gui.traffic.model import TrafficModel, TrafficNotes
from mcp_progress_monitor.gui.traffic.pane import TrafficPane
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.frames import Channel
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import heard
from tests.gui.lone_commands import asked
from tests.gui.traffic.session import TrafficSession
from tests.gui.traffic.test_related_jobs import Jobs

_CONTROL = Qt.KeyboardModifier.ControlModifier
_SHIFT = Qt.KeyboardModifier.ShiftModifier
_ALT = Qt.KeyboardModifier.AltModifier
BY_NAME = {each.id.partition(".")[2]: each for each in MESSAGE_COMMANDS}
_TASK = {"id": 9, "result": {"task": {"taskId": "t-1", "status": "working"}}}


@pytest.fixture
def session() -> TrafficSession:
    """Places 0, 2, 4, 6 are of a call with token "a", 1, 3, 5 of one with token 7; 10 is a job's.

    7 is a line of stderr, 8 a task's.
    """
    session = TrafficSession()
    session.called(1, "a")
    session.called(2, 7)
    session.ticked("a")
    session.ticked(7)
    session.ticked("a", 2)
    session.answered(2)
    session.answered(1)
    session.logged("done")
    session.said({"id": 9, "method": "tools/call", "params": {"task": {}}}, Channel.SENT)
    session.called(10, "of job 1")
    session.said(_TASK)
    return session


@pytest.fixture
def model(session: TrafficSession, qtbot: QtBot) -> TrafficModel:
    """The rows of the session."""
    return TrafficModel(session.timeline, _requests_of)


@pytest.fixture
def pane(qtbot: QtBot, model: TrafficModel) -> TrafficPane:
    """The pane in a small window."""
    appearance = Appearance(QGuiApplication.palette(), resource("icons"))
    made = TrafficPane(model, Jobs(), appearance, Commands(), notes=TrafficNotes(parent=model))
    expose(qtbot, made, 900, 600)
    made.activateWindow()
    return made


def _requests_of(job: int) -> set[int]:
    return {10} if job == 1 else set()


def _stand_on(pane: TrafficPane, row: int, column: TrafficColumn = TrafficColumn.SUMMARY) -> None:
    pane.view.setFocus()
    pane.view.setCurrentIndex(pane.view.model().index(row, column))


def _do(pane: TrafficPane, name: str) -> None:
    pane.controller.actions[BY_NAME[name]].trigger()


def _places(pane: TrafficPane, model: TrafficModel, qtbot: QtBot) -> list[int]:
    qtbot.waitUntil(lambda: not model.unsearched)
    return [model.place(row) for row in range(model.rowCount())]


def _status(pane: TrafficPane) -> str:
    (status,) = pane.bar.findChildren(ElidedLabel)
    return status.text()


def _press_escape() -> None:
    focus = QApplication.focusWidget()
    assert focus is not None
    QTest.keyClick(focus, Qt.Key.Key_Escape)


def _said(pane: TrafficPane) -> list[str]:
    return [pane.notice] if pane.notice else []


@pytest.mark.parametrize(
    ("row", "what", "text", "places"),
    [
        (2, "token", "token == a", [0, 2, 4, 6]),
        (3, "token", "token == 7", [1, 3, 5]),
        (6, "request", "request == 1", [0, 2, 4, 6]),
        (10, "task", "task == t-1", [10]),
        (9, "job", "job == 1", [9]),
    ],
)
def test_what_a_message_belongs_to_is_followed(
    pane: TrafficPane,
    model: TrafficModel,
    qtbot: QtBot,
    row: int,
    what: str,
    text: str,
    places: list[int],
) -> None:
    _stand_on(pane, row)
    _do(pane, what)
    assert pane.bar.filter().text == text
    assert _places(pane, model, qtbot) == places
    assert pane.bar.recent.texts[0] == text


def test_a_message_that_belongs_to_nothing_is_not_followed(pane: TrafficPane) -> None:
    _stand_on(pane, 7)
    for what, message in (("token", "no progress token"), ("request", "not belong to a request")):
        _do(pane, what)
        assert message in _said(pane)[0]
    assert pane.bar.filter().text == ""


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (TrafficColumn.METHOD, "method == notifications/progress"),
        (TrafficColumn.KIND, "kind == progress"),
        (TrafficColumn.KEY, "token == a"),
        (TrafficColumn.SERVER, "server == demo"),
        (TrafficColumn.DIRECTION, "dir == received"),
    ],
)
def test_a_cell_filters_by_its_value_and_excludes_it(
    pane: TrafficPane, model: TrafficModel, qtbot: QtBot, column: TrafficColumn, text: str
) -> None:
    _stand_on(pane, 2, column)
    QTest.keyClick(pane.view, Qt.Key.Key_Return, _CONTROL)
    assert pane.bar.filter().text == text
    found = _places(pane, model, qtbot)
    assert 2 in found
    pane.set_filter(pane.bar.filter()._replace(text=""))
    _stand_on(pane, 2, column)
    QTest.keyClick(pane.view, Qt.Key.Key_Return, _CONTROL | _SHIFT)
    left = _places(pane, model, qtbot)
    assert sorted([*found, *left]) == list(range(11))


def test_a_cell_without_a_value_says_so(pane: TrafficPane) -> None:
    _stand_on(pane, 2, TrafficColumn.SUMMARY)
    _do(pane, "filter")
    assert "Choose a value in the tree" in _said(pane)[0]


def test_a_value_of_the_tree_narrows_the_filter(
    pane: TrafficPane, model: TrafficModel, qtbot: QtBot
) -> None:
    pane.set_filter(pane.bar.filter()._replace(text="token == 7 or token == a"))
    request = FilterRequest(("params", "progress"), 2, is_excluded=True)
    pane.details.filter_requested.emit(request)
    assert _places(pane, model, qtbot) == [0, 1, 2, 3, 5, 6]


def test_a_number_that_nobody_can_write_is_no_filter(pane: TrafficPane) -> None:
    pane.details.filter_requested.emit(FilterRequest(("params", "n"), 10**5_000, is_excluded=False))
    assert "cannot be used" in _said(pane)[0]
    assert pane.bar.filter().text == ""


def test_keys_jump_within_an_exchange(pane: TrafficPane) -> None:
    _stand_on(pane, 2)
    for key, row in (
        (Qt.Key.Key_Down, 4),
        (Qt.Key.Key_End, 6),
        (Qt.Key.Key_Up, 4),
        (Qt.Key.Key_Home, 0),
    ):
        QTest.keyClick(pane.view, key, _ALT)
        assert pane.view.currentIndex().row() == row
    QTest.keyClick(pane.view, Qt.Key.Key_Up, _ALT)
    assert "first message of its exchange" in _said(pane)[0]
    assert pane.view.currentIndex().row() == 0


def test_jumps_are_offered_for_messages_of_an_exchange_alone(pane: TrafficPane) -> None:
    _stand_on(pane, 7)
    buttons = [b for b in pane.details.findChildren(QToolButton) if "Jump" in b.toolTip()]
    assert len(buttons) == 4
    assert not any(button.isEnabled() for button in buttons)
    _stand_on(pane, 0)
    assert all(button.isEnabled() for button in buttons)
    next(button for button in buttons if "reply" in button.toolTip()).click()
    assert pane.view.currentIndex().row() == 6


def test_a_jump_to_a_row_that_a_filter_hides_shows_it_in_the_details(pane: TrafficPane) -> None:
    pane.set_filter(pane.bar.filter()._replace(text="kind == request"))
    _stand_on(pane, 0)
    _do(pane, "jump_reply")
    assert pane.details.frame is not None
    assert pane.details.frame.number == 7
    assert "not among the visible rows" in _said(pane)[0]
    _do(pane, "jump_previous")
    assert pane.details.frame.number == 5


def test_marks_are_put_on_rows_and_gone_through(pane: TrafficPane, model: TrafficModel) -> None:
    before = pane.view.grab().toImage()
    for row in (2, 7):
        _stand_on(pane, row)
        QTest.keyClick(pane.view, Qt.Key.Key_M, _CONTROL)
    _stand_on(pane, 0)
    assert pane.view.grab().toImage() != before
    assert model.is_marked(2)
    QTest.keyClick(pane.view, Qt.Key.Key_F2)
    assert pane.view.currentIndex().row() == 2
    QTest.keyClick(pane.view, Qt.Key.Key_F2)
    assert pane.view.currentIndex().row() == 7
    QTest.keyClick(pane.view, Qt.Key.Key_F2)
    assert "No more marks" in _said(pane)[0]
    QTest.keyClick(pane.view, Qt.Key.Key_F2, _SHIFT)
    assert pane.view.currentIndex().row() == 2
    spoken = model.index(2, TrafficColumn.SUMMARY).data(Qt.ItemDataRole.AccessibleTextRole)
    assert str(spoken).startswith("Marked. ")


def test_a_note_is_written_shown_and_spoken(pane: TrafficPane, model: TrafficModel) -> None:
    _stand_on(pane, 3)
    QTest.keyClick(pane.view, Qt.Key.Key_M, _CONTROL | _SHIFT)
    editor = pane.findChild(NoteEditor)
    assert isinstance(editor, NoteEditor)
    assert not editor.isModal()
    edit = editor.findChild(QPlainTextEdit)
    assert isinstance(edit, QPlainTextEdit)
    edit.setPlainText("<b>slow</b>\u202e")
    next(each for each in editor.findChildren(QPushButton) if "Save" in each.text()).click()
    assert model.note_of(3) == "<b>slow</b>\u202e"
    (shown,) = [each for each in pane.details.findChildren(QLabel) if "slow" in each.text()]
    assert shown.text() == r"Note: <b>slow</b>\u202e"
    assert shown.textFormat() is Qt.TextFormat.PlainText
    assert shown.isVisible()
    _stand_on(pane, 4)
    assert not shown.isVisible()


def test_a_call_is_copied_as_a_snippet_by_its_requests_number(
    pane: TrafficPane, qtbot: QtBot
) -> None:
    _stand_on(pane, 6)
    with qtbot.waitSignal(pane.controller.snippet_requested) as asked:
        _do(pane, "copy_python")
    assert asked.args == [1]
    _stand_on(pane, 7)
    with qtbot.assertNotEmitted(pane.controller.snippet_requested):
        _do(pane, "copy_python")


def test_the_job_of_a_message_is_opened_and_export_asked_for(
    pane: TrafficPane, qtbot: QtBot
) -> None:
    _stand_on(pane, 9)
    opened = heard(pane.controller.job_wanted)
    exported = asked(pane.controller.actions.commands, BY_NAME["export"])
    QTest.keyClick(pane.view, Qt.Key.Key_J, _CONTROL)
    assert opened == [1]
    _do(pane, "export")
    assert exported == [()]
    _stand_on(pane, 7)
    _do(pane, "show_job")
    assert opened == [1]
    assert "not belong to a job" in _said(pane)[0]


def test_the_menu_offers_what_can_be_done_and_leaves_the_keys_working(pane: TrafficPane) -> None:
    _stand_on(pane, 7)
    pane.view.customContextMenuRequested.emit(QPoint(5, 5))
    menus = [menu for menu in pane.view.findChildren(QMenu) if menu.isVisible()]
    assert len(menus) == 1
    offered = {action.text() for action in menus[0].actions() if action.isEnabled()}
    assert {"Mark", "Note…", "Copy as line"} <= offered
    assert not {"Follow this token", "Follow this request", "Show in job"} & offered
    menus[0].close()
    assert pane.controller.actions[BY_NAME["token"]].isEnabled()


def test_much_is_copied_in_part_and_that_is_reported(
    pane: TrafficPane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.gui.traffic.controller.COPIED_BYTES", 200)
    pane.view.selectAll()
    _do(pane, "copy_raw")
    assert "of 11 rows" in _said(pane)[0]
    assert len(QGuiApplication.clipboard().text()) <= 201


def test_every_action_has_its_own_key_and_says_it(pane: TrafficPane) -> None:
    actions = {action.text(): action for action in [*pane.actions(), *pane.view.actions()]}
    keys = [key for action in actions.values() if (key := action.shortcut().toString())]
    assert len(keys) == len(set(keys)) >= 14
    for action in actions.values():
        assert action.shortcut().toString() in action.toolTip()


def test_following_a_job_and_searching_set_the_filter(
    pane: TrafficPane, model: TrafficModel, qtbot: QtBot
) -> None:
    pane.follow_job(1)
    assert _places(pane, model, qtbot) == [9]
    pane.search_for('"method": "tools/call"')
    assert _places(pane, model, qtbot) == [0, 1, 8, 9]


def test_recent_filters_are_remembered(pane: TrafficPane) -> None:
    pane.search_for("one")
    pane.restore(pane.state() | {"recent": ["two", *pane.state()["recent"]]})
    assert list(pane.bar.recent.texts) == ["two", "one"]
    pane.restore(pane.state() | {"kept": ["three"]})
    assert pane.state()["kept"] == ["three"]
    menu = pane.bar.recent.menu()
    assert isinstance(menu, QMenu)
    next(action for action in menu.actions() if action.data() == "three").trigger()
    assert pane.bar.filter().text == "three"
    assert menu.actions()[0].isChecked()


def test_a_pattern_that_is_too_slow_is_not_passed_over_in_silence(
    pane: TrafficPane, model: TrafficModel, session: TrafficSession, qtbot: QtBot
) -> None:
    session.answered(77, text="a" * 5_000 + "b")
    model.refresh()
    pane.set_filter(pane.bar.filter()._replace(text='result.text matches "(a|aa)+$"'))
    assert _places(pane, model, qtbot) == []
    assert model.undecided == 1
    assert any("too slow: 1 texts skipped" in each.text() for each in pane.bar.findChildren(QLabel))


def test_a_message_is_gone_to_by_its_number_also_where_a_filter_hides_it(
    pane: TrafficPane, model: TrafficModel, qtbot: QtBot
) -> None:
    pane.search_for("nothing has this")
    assert _places(pane, model, qtbot) == []
    _do(pane, "go_to")
    dialog = pane.findChild(QInputDialog)
    assert isinstance(dialog, QInputDialog)
    assert (dialog.intMinimum(), dialog.intMaximum()) == (1, 11)
    dialog.setIntValue(5)
    dialog.accept()
    assert pane.view.currentIndex().row() == 4
    assert pane.bar.filter().text == ""


@pytest.mark.parametrize(("text", "numbers"), [("", [2, 3, 4, 9]), ("kind == request", [2, 9])])
def test_only_selected_messages_are_exported_where_there_are_several(
    pane: TrafficPane, model: TrafficModel, qtbot: QtBot, text: str, numbers: list[int]
) -> None:
    pane.set_filter(TrafficFilter(text=text))
    rows = {
        model.timeline.number(place): row for row, place in enumerate(_places(pane, model, qtbot))
    }
    _stand_on(pane, rows[2])
    assert pane.wanted_for_export() == TrafficFilter(text=text)
    flags = QItemSelectionModel.SelectionFlag
    for number in numbers[1:]:
        pane.view.selectionModel().select(model.index(rows[number], 0), flags.Select | flags.Rows)
    wanted = pane.wanted_for_export()
    pane.view.clearSelection()
    pane.set_filter(wanted)
    shown = _places(pane, model, qtbot)
    assert [model.timeline.number(place) for place in shown] == numbers


def test_two_selected_messages_are_compared(pane: TrafficPane) -> None:
    _stand_on(pane, 2)
    _do(pane, "compare")
    assert "Select two messages" in _said(pane)[0]
    pane.view.selectionModel().select(
        pane.view.model().index(4, 0),
        QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows,
    )
    _do(pane, "compare")
    dialog = pane.findChild(MessagesDialog)
    assert isinstance(dialog, MessagesDialog)
    shown = dialog.text.toPlainText()
    assert '-    "progress": 1' in shown
    assert '+    "progress": 2' in shown
    facts = [each.text() for each in dialog.findChildren(QLabel)]
    assert "no. 3" in facts[0]
    assert "no. 5" in facts[1]
    dialog.close()


def test_the_time_between_selected_messages_is_reported(
    pane: TrafficPane, model: TrafficModel, qtbot: QtBot
) -> None:
    _stand_on(pane, 0)
    assert "selected" not in _status(pane)
    QTest.keyClick(pane.view, Qt.Key.Key_Down, _SHIFT)
    QTest.keyClick(pane.view, Qt.Key.Key_Down, _SHIFT)
    assert f"3 selected, {model.between_s(0, 2):,.3f} s" in _status(pane)
    assert model.between_s(0, 2) > 0
    pane.search_for("tools/call")
    assert _places(pane, model, qtbot) == [0, 1, 8, 9]
    assert "4 of 11 rows" in _status(pane)


def test_the_value_of_a_cell_is_copied(pane: TrafficPane) -> None:
    _stand_on(pane, 2, TrafficColumn.METHOD)
    _do(pane, "copy_value")
    assert QGuiApplication.clipboard().text() == "notifications/progress"


def test_the_request_of_a_job_is_edited_and_sent_again(pane: TrafficPane, qtbot: QtBot) -> None:
    _stand_on(pane, 9)
    edited = heard(pane.controller.edit_wanted)
    _do(pane, "edit")
    assert edited == [1]
    _stand_on(pane, 7)
    _do(pane, "edit")
    assert edited == [1]


def test_enter_leads_to_the_message_and_escape_back(pane: TrafficPane, qtbot: QtBot) -> None:
    _stand_on(pane, 2)
    QTest.keyClick(pane.view, Qt.Key.Key_Return)
    tree = pane.details.findChild(JsonTree)
    assert isinstance(tree, JsonTree)
    qtbot.waitUntil(tree.hasFocus)
    assert tree.currentIndex().isValid()
    QTest.keyClick(tree, Qt.Key.Key_Escape)
    assert pane.view.hasFocus()
    _stand_on(pane, 7)
    QTest.keyClick(pane.view, Qt.Key.Key_Return)
    assert not pane.view.hasFocus()
    _press_escape()
    assert pane.view.hasFocus()


def test_a_request_is_followed_by_one_key_and_left_by_another(
    pane: TrafficPane, model: TrafficModel, qtbot: QtBot
) -> None:
    _stand_on(pane, 2)
    QTest.keyClick(pane.view, Qt.Key.Key_T, _CONTROL | _SHIFT)
    assert _places(pane, model, qtbot) == [0, 2, 4, 6]
    _press_escape()
    assert model.rowCount() == 11
    assert pane.view.currentIndex().row() == 2
    assert pane.bar.recent.texts[0] == "request == 1"


def test_escape_empties_the_filter_then_leads_to_the_rows(
    pane: TrafficPane, model: TrafficModel, qtbot: QtBot
) -> None:
    _stand_on(pane, 4)
    pane.search_for('"progress": 2')
    assert _places(pane, model, qtbot) == [4]
    pane.bar.focus_search()
    _press_escape()
    qtbot.waitUntil(lambda: model.rowCount() == 11)
    assert pane.view.currentIndex().row() == 4  # what is around the found message
    _press_escape()
    assert pane.view.hasFocus()


def test_the_bytes_of_a_value_in_the_tree_are_selected(
    pane: TrafficPane, model: TrafficModel, session: TrafficSession
) -> None:
    place = model.rowCount()
    result = {"emoji": "\U0001f600\u202e", "far": ["x" * 40_000, 1.5]}
    message = {"jsonrpc": "2.0", "id": 77, "result": result}
    session.said(json.dumps(message, ensure_ascii=False).encode())
    model.refresh()
    _stand_on(pane, place)
    tree = pane.details.findChild(JsonTree)
    assert isinstance(tree, JsonTree)
    tree.setFocus()
    tree.go_to((2, 0))
    QTest.keyClick(tree, Qt.Key.Key_B, _CONTROL)
    assert _selected() == '"\U0001f600\\u202e"'
    tree.bytes_requested.emit(("result", "far", 1))  # on the second page
    assert _selected() == "1.5"
    tree.bytes_requested.emit(("id",))
    assert _selected() == "77"


def _selected() -> str:
    focus = QApplication.focusWidget()
    assert isinstance(focus, QPlainTextEdit)
    return focus.textCursor().selectedText()
