"""Errors are shown as text, newest first, until dismissed."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.notice_bar import NoticeAction, NoticeBar
from tests.gui.exposure import expose

_FIRST = ErrorDetails("The server did not start", "my-server", "Check the command.", "exit code 3")
_SECOND = ErrorDetails("No such tool")


def _texts(bar: NoticeBar) -> list[str]:
    return [label.text() for label in bar.findChildren(QLabel)]


def test_it_hides_while_there_is_nothing_to_say(qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    assert bar.isHidden()


def test_the_newest_error_is_in_front_and_dismissing_shows_the_one_before(qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    bar.show_error(_FIRST)
    bar.show_error(_SECOND)
    assert _SECOND.what in _texts(bar)
    bar.findChildren(QPushButton)[0].click()
    assert "The server did not start — my-server" in _texts(bar)
    with qtbot.waitSignal(bar.emptied):
        bar.findChildren(QPushButton)[0].click()
    assert bar.isHidden()


def test_all_can_be_dismissed_at_once_where_there_are_several(qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    (every,) = (each for each in bar.findChildren(QPushButton) if "all" in each.text())
    bar.show_error(_FIRST)
    assert every.isHidden()
    bar.show_error(_SECOND)
    assert not every.isHidden()
    with qtbot.waitSignal(bar.emptied):
        every.click()
    assert bar.errors() == ()
    assert bar.isHidden()


def test_a_caret_in_the_evidence_stands_below_what_it_points_at(qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    bar.show_error(
        ErrorDetails("This is no JSON", "line 1, column 9", detail='{"iii": ]\n        ^')
    )
    (detail,) = (label for label in bar.findChildren(QLabel) if "^" in label.text())
    measure = detail.fontMetrics()
    assert measure.horizontalAdvance('{"iii": ') == measure.horizontalAdvance(" " * 8)


def test_tab_goes_through_the_buttons_as_they_stand(qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    bar.show_error(ErrorDetails("One"))
    bar.show_error(ErrorDetails("Two"), (NoticeAction("A", "", int), NoticeAction("B", "", int)))
    bar.set_doctor(bool)
    buttons = sorted(bar.findChildren(QPushButton), key=QWidget.x)
    buttons[0].setFocus()
    for button in buttons:
        assert bar.focusWidget() is button
        QTest.keyClick(button, Qt.Key.Key_Tab)


def test_the_same_error_again_does_not_pile_up(qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    for error in (_FIRST, _SECOND, _FIRST):
        bar.show_error(error)
    assert bar.errors() == (_SECOND, _FIRST)


def test_each_notice_offers_its_own_actions(qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    done: list[str] = []
    bar.show_error(_FIRST, (NoticeAction("Try again", "", partial(done.append, "again")),))
    (button,) = (each for each in bar.findChildren(QPushButton) if each.text() == "Try again")
    bar.show_error(_SECOND)
    assert button.isHidden()
    bar.show_error(ErrorDetails("News"), instead_of=_SECOND)
    assert [error.what for error in bar.errors()] == [_FIRST.what, "News"]
    bar.withdraw(ErrorDetails("News"))
    button.click()
    assert done == ["again"]
    bar.show_error(_SECOND, instead_of=ErrorDetails("gone"))
    assert bar.errors() == (_FIRST, _SECOND)


def test_server_text_is_plain_and_bounded(qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    bar.show_error(ErrorDetails("<b>bold</b>" + "x" * 100_000))
    labels = bar.findChildren(QLabel)
    assert all(label.textFormat() is Qt.TextFormat.PlainText for label in labels)
    assert max(len(label.text()) for label in labels) <= 1000


_LONG = ErrorDetails("What happened " * 40, "where", "Try this. " * 40, "a line of stderr\n" * 500)


def _bar_in(place: QWidget, qtbot: QtBot) -> NoticeBar:
    """A bar above something that takes what is left, as in the window."""
    column = QVBoxLayout(place)
    bar = NoticeBar(place)
    column.addWidget(bar)
    column.addWidget(QWidget(place), 1)
    expose(qtbot, place)
    return bar


def test_however_long_an_error_is_it_makes_no_window_grow(qtbot: QtBot) -> None:
    place = QWidget()
    place.resize(600, 120)
    bar = _bar_in(place, qtbot)
    bar.show_error(_LONG)
    qtbot.waitUntil(lambda: bar.height() > 10)
    line = bar.fontMetrics().lineSpacing()
    assert bar.minimumSizeHint().height() <= 5 * line
    assert place.height() == 120
    assert bar.minimumSizeHint().width() < 400


def test_all_of_a_long_error_can_be_scrolled_to(qtbot: QtBot) -> None:
    place = QWidget()
    place.resize(600, 500)
    bar = _bar_in(place, qtbot)
    bar.show_error(_LONG)
    (area,) = bar.findChildren(QScrollArea)
    scroll = area.verticalScrollBar()
    qtbot.waitUntil(lambda: scroll.maximum() > 400 * bar.fontMetrics().lineSpacing())
    assert bar.height() < 12 * bar.fontMetrics().lineSpacing()
    scroll.setValue(50)
    bar.show_error(_FIRST)
    qtbot.waitUntil(lambda: scroll.maximum() == 0)
    assert "exit code 3" in _texts(bar)
