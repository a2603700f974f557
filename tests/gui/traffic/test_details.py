"""The details: facts, note and job of a message; large ones are bounded and never waited for."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QTabWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding, Rule
from mcp_progress_monitor.gui.common.controls import ElidedLabel
from mcp_progress_monitor.gui.common.json_view import JsonTree
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.traffic.details import RAW_SHOWN, MessageDetails, place_of_fault
from mcp_progress_monitor.gui.traffic.model import TrafficNotes
from mcp_progress_monitor.paths import resource
from tests.gui.exposure import expose
from tests.gui.traffic.session import TrafficSession
from tests.gui.traffic.test_related_jobs import Jobs


@pytest.fixture
def notes(qtbot: QtBot) -> TrafficNotes:
    """Notes in memory."""
    return TrafficNotes()


@pytest.fixture
def details(qtbot: QtBot, notes: TrafficNotes) -> MessageDetails:
    """The details on their own, as small as they may be."""
    appearance = Appearance(QGuiApplication.palette(), resource("icons"))
    made = MessageDetails(Jobs(), notes, appearance)
    return expose(qtbot, made, 380, 300)


def _labels(details: MessageDetails) -> list[str]:
    shown = [label for label in details.findChildren(QLabel) if label.isVisible()]
    return [label.accessibleName() or label.text() for label in shown]  # all of a cut line


def _tabs(details: MessageDetails) -> QTabWidget:
    tabs = details.findChild(QTabWidget)
    assert isinstance(tabs, QTabWidget)
    return tabs


def _tree(details: MessageDetails) -> JsonTree:
    tree = details.findChild(JsonTree)
    assert isinstance(tree, JsonTree)
    return tree


def test_facts_stand_over_the_message(details: MessageDetails) -> None:
    session = TrafficSession()
    session.called(1)
    place = session.answered(1)
    assert details.show_place(session.timeline, place, delta="+0.100")
    assert any("(+0.100\u00a0s)" in text and "took 100 ms" in text for text in _labels(details))
    (line,) = [each for each in details.findChildren(ElidedLabel) if "took" in each.text()]
    assert line.height() < 2 * line.fontMetrics().height(), "one line, however narrow"
    assert "took 100 ms" in line.toolTip()


def test_the_value_at_fault_is_selected_and_in_sight(details: MessageDetails) -> None:
    session = TrafficSession()
    details.resize(380, 200)
    params = {"progressToken": 7, "more": {str(n): n for n in range(50)}, "progress": 6}
    message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    place = session.said(json.dumps(message).encode())
    found = (Finding(rules.NOT_INCREASING, (6, 8)),)
    details.show_place(session.timeline, place, mark=found[0].text, findings=found)
    tree = _tree(details)
    assert tree.currentIndex().siblingAtColumn(1).data() == "6"
    assert tree.viewport().rect().contains(tree.visualRect(tree.currentIndex()))


@pytest.mark.parametrize(
    ("rule", "arguments", "place"),
    [
        (rules.NOT_INCREASING, (6, 8), (1, 2)),
        (rules.TOTAL_CHANGED, (None, 8), ()),
        (rules.UNKNOWN_TOKEN, (), (1, 0, 0)),
        (rules.NUMBER_TYPE, ("progress", "x"), (1, 2)),
        (rules.NOT_JSON, ("a", "b"), ()),
    ],
)
def test_the_member_at_fault_is_found(
    rule: Rule, arguments: tuple[object, ...], place: tuple[int, ...]
) -> None:
    meta = {"_meta": {"progressToken": 7}, "message": "a", "progress": 6}
    value = {"method": "m", "params": meta}
    assert place_of_fault(value, [Finding(rule, arguments)]) == place
    assert place_of_fault([], [Finding(rule, arguments)]) == ()


def test_a_message_that_is_gone_changes_nothing(details: MessageDetails) -> None:
    session = TrafficSession()
    session.called(1)
    details.show_place(session.timeline, 0)
    before = details.frame
    assert not details.show_place(session.timeline, 99)
    assert details.frame is before
    assert details.place == 0


def test_of_a_huge_message_the_beginning_is_shown_and_all_of_the_tree(
    details: MessageDetails, qtbot: QtBot
) -> None:
    session = TrafficSession()
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"big":"' + b"x" * 9_000_000 + b'","end":"here"}}'
    place = session.said(raw)
    details.show_place(session.timeline, place)
    assert details.frame is not None
    assert len(details.frame.raw) == RAW_SHOWN
    assert details.message is None
    _tabs(details).setCurrentIndex(1)
    assert any(text.startswith("Showing the first 2.0 MB of 9.0 MB") for text in _labels(details))
    qtbot.waitUntil(lambda: details.message is not None)
    _tabs(details).setCurrentIndex(0)
    index = _tree(details).model().index(2, 0)
    assert _tree(details).model().index(1, 1, index).data() == '"here"'


def test_another_message_ends_the_reading_of_a_huge_one(
    details: MessageDetails, qtbot: QtBot
) -> None:
    session = TrafficSession()
    huge = session.said(b'["' + b"x" * 9_000_000 + b'"]')
    small = session.called(1)
    details.show_place(session.timeline, huge)
    details.show_place(session.timeline, small)
    message = details.message
    assert message is not None
    assert message.value["id"] == 1
    qtbot.wait(20)
    assert details.message is message
    assert not any(text.startswith("Showing the first") for text in _labels(details))


def test_a_note_and_a_mark_are_shown_as_they_come(
    details: MessageDetails, notes: TrafficNotes
) -> None:
    session = TrafficSession()
    details.show_place(session.timeline, session.called(1))
    notes.set_note(1, "two\nlines\u202e")
    assert "Note: two\nlines\\u202e" in _labels(details)
    notes.toggle([1])
    assert "Marked. Note: two\nlines\\u202e" in _labels(details)
    notes.set_note(1, "")
    notes.toggle([1])
    assert not any("Note" in text or "Marked" in text for text in _labels(details))


def test_the_tree_is_searched_beside_its_tab(details: MessageDetails) -> None:
    session = TrafficSession()
    details.show_place(
        session.timeline, session.called(1, "a", arguments={"deep": {"n": "needle"}})
    )
    field = next(e for e in details.findChildren(QLineEdit) if e.placeholderText())
    assert field.isVisible()
    QTest.keyClicks(field, "NEEDLE")
    assert _tree(details).currentIndex().data() == "n"
    _tabs(details).setCurrentIndex(1)
    assert not field.isEnabled()


def test_a_value_of_the_tree_asks_for_a_filter(details: MessageDetails, qtbot: QtBot) -> None:
    session = TrafficSession()
    details.show_place(session.timeline, session.called(5))
    tree = _tree(details)
    tree.setCurrentIndex(tree.model().index(1, 0))
    details.activateWindow()
    tree.setFocus()
    with qtbot.waitSignal(details.filter_requested) as asked:
        QTest.keyClick(tree, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert asked.args is not None
    assert (asked.args[0].keys, asked.args[0].value) == (("id",), 5)


def test_the_job_is_known_before_a_huge_message_is_read(
    details: MessageDetails, qtbot: QtBot
) -> None:
    session = TrafficSession()
    for _ in range(9):
        session.logged("before")
    session.called(7, "abc")
    place = session.said(b'{"jsonrpc":"2.0","id":7,"result":{"big":"' + b"x" * 9_000_000 + b'"}}')
    details.show_place(session.timeline, place)
    assert details.message is None
    with qtbot.waitSignal(details.job_opened) as opened:
        details.open_job()
    assert opened.args == [1]
