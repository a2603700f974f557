"""The filter field suggests, takes suggestions by key, and shows where a mistake is."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.filtering.completion import Candidate, Completion
from mcp_progress_monitor.gui.common.filter_field import FilterField
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource
from tests.gui.exposure import expose

_TERMS = ("method", "message", "token", "params")


def _complete(text: str, cursor: int) -> Completion:
    """Terms that begin with what stands before the cursor."""
    start = text.rfind(" ", 0, cursor) + 1
    begun = text[start:cursor]
    found = [Candidate(word, f"the {word}") for word in _TERMS if word.startswith(begun)]
    return Completion(start, cursor, found)


class _Form(QWidget):
    """The field, and another one to go to."""

    def __init__(self) -> None:
        super().__init__()
        appearance = Appearance(QGuiApplication.palette(), resource("icons"))
        self.field = FilterField(_complete, appearance, self)
        self.other = QLineEdit(self)
        column = QVBoxLayout(self)
        column.addWidget(self.field)
        column.addWidget(self.other)


@pytest.fixture
def form(qtbot: QtBot) -> _Form:
    """A form with the field in focus."""
    made = _Form()
    expose(qtbot, made)
    made.activateWindow()
    made.field.setFocus()
    return made


def _offered(field: FilterField) -> list[str]:
    model = field.popup.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def test_typing_suggests_what_fits_and_what_it_means(form: _Form) -> None:
    QTest.keyClicks(form.field, "me")
    assert form.field.popup.isVisible()
    assert _offered(form.field) == ["method", "message"]
    assert form.field.popup.model().index(0, 1).data() == "the method"
    QTest.keyClicks(form.field, "x")
    assert not form.field.popup.isVisible()


def test_down_and_enter_take_a_suggestion_and_go_on(form: _Form) -> None:
    QTest.keyClicks(form.field, "me")
    QTest.keyClick(form.field, Qt.Key.Key_Down)
    QTest.keyClick(form.field, Qt.Key.Key_Down)
    QTest.keyClick(form.field, Qt.Key.Key_Return)
    assert form.field.text() == "message "
    assert form.field.cursorPosition() == len("message ")
    assert form.field.popup.isVisible()


def test_tab_takes_the_first_and_moves_on_when_nothing_is_offered(form: _Form) -> None:
    QTest.keyClicks(form.field, "tok")
    QTest.keyClick(form.field, Qt.Key.Key_Tab)
    assert form.field.text() == "token "
    assert form.field.hasFocus()
    QTest.keyClick(form.field, Qt.Key.Key_Escape)
    QTest.keyClick(form.field, Qt.Key.Key_Tab)
    assert form.other.hasFocus()


def test_enter_without_a_choice_means_the_text_as_it_is(form: _Form, qtbot: QtBot) -> None:
    QTest.keyClicks(form.field, "me")
    with qtbot.waitSignal(form.field.confirmed):
        QTest.keyClick(form.field, Qt.Key.Key_Return)
    assert form.field.text() == "me"
    assert not form.field.popup.isVisible()


def test_escape_puts_the_suggestions_away_and_down_brings_them_back(form: _Form) -> None:
    QTest.keyClicks(form.field, "me")
    QTest.keyClick(form.field, Qt.Key.Key_Escape)
    assert not form.field.popup.isVisible()
    assert form.field.text() == "me"
    QTest.keyClick(form.field, Qt.Key.Key_Down)
    assert form.field.popup.isVisible()


def test_the_suggestions_go_with_the_focus(form: _Form) -> None:
    QTest.keyClicks(form.field, "me")
    form.other.setFocus()
    assert not form.field.popup.isVisible()


def test_a_field_that_is_emptied_suggests_nothing(form: _Form) -> None:
    form.field.setClearButtonEnabled(True)
    QTest.keyClicks(form.field, "meth")
    clear = form.field.findChild(QToolButton)
    assert clear is not None
    QTest.mouseClick(clear, Qt.MouseButton.LeftButton)
    assert not form.field.text()
    assert not form.field.popup.isVisible()
    QTest.keyClick(form.field, Qt.Key.Key_M)
    QTest.keyClick(form.field, Qt.Key.Key_Backspace)
    assert not form.field.popup.isVisible()
    QTest.keyClick(form.field, Qt.Key.Key_Down)
    assert form.field.popup.isVisible()


def test_a_press_elsewhere_hides_the_suggestions_and_has_its_effect(
    form: _Form, qtbot: QtBot
) -> None:
    button = QPushButton("Elsewhere", form)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # as the tabs of panes
    button.show()
    QTest.keyClicks(form.field, "meth")
    assert form.field.popup.isVisible()
    with qtbot.waitSignal(button.clicked):
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not form.field.popup.isVisible()


def test_a_press_in_the_field_keeps_the_suggestions(form: _Form) -> None:
    QTest.keyClicks(form.field, "meth")
    QTest.mouseClick(form.field, Qt.MouseButton.LeftButton)
    assert form.field.popup.isVisible()


def test_suggestions_do_not_stay_where_the_window_was(form: _Form, qtbot: QtBot) -> None:
    QTest.keyClicks(form.field, "meth")
    form.move(form.pos() + QPoint(40, 30))
    qtbot.waitUntil(lambda: not form.field.popup.isVisible())


def test_suggestions_stay_while_the_layout_moves_the_field_by_a_pixel(form: _Form) -> None:
    QTest.keyClicks(form.field, "m")
    assert form.field.popup.isVisible()
    place = form.field.pos()
    form.field.move(place.x(), place.y() + 1)
    assert form.field.popup.isVisible()
    form.field.move(place.x(), place.y() + form.field.height())
    assert not form.field.popup.isVisible()


def test_a_suggestion_replaces_the_word_within_a_text(form: _Form) -> None:
    form.field.setText("😀 tok more")
    form.field.setCursorPosition(len("😀 tok".encode("utf-16-le")) // 2)
    QTest.keyClick(form.field, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(form.field, Qt.Key.Key_Tab)
    assert form.field.text() == "😀 token more"
    assert form.field.cursorPosition() == len("😀 token".encode("utf-16-le")) // 2


def test_a_mouse_click_takes_a_suggestion(form: _Form) -> None:
    QTest.keyClicks(form.field, "me")
    popup = form.field.popup
    place = popup.visualRect(popup.model().index(1, 0)).center()
    QTest.mouseClick(popup.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert form.field.text() == "message "


def test_a_server_cannot_hide_anything_in_a_suggestion(form: _Form, qtbot: QtBot) -> None:
    appearance = Appearance(QGuiApplication.palette(), resource("icons"))
    seen = Candidate('"a\u202eb"', "seen")
    field = FilterField(lambda _text, _cursor: Completion(0, 0, [seen]), appearance, form)
    qtbot.addWidget(field)
    field.show()
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert _offered(field) == [r'"a\u202eb"']
    QTest.keyClick(field, Qt.Key.Key_Tab)
    assert field.text() == '"a\u202eb" '


def _ground(field: FilterField) -> QColor:
    return field.palette().color(QPalette.ColorRole.Base)


def _mistake(field: FilterField) -> tuple[int, int] | None:
    return field.mistake


def _reds(field: FilterField) -> int:
    """How many pixels of the field are clearly red, as the underline is."""
    image = field.grab().toImage()
    points = [(x, y) for x in range(4, image.width() - 4) for y in range(4, image.height() - 4)]
    colours = [image.pixelColor(x, y) for x, y in points]
    return sum(c.red() > c.green() + 70 and c.red() > c.blue() + 70 for c in colours)


def test_a_mistake_is_red_and_underlined_until_the_text_is_another(form: _Form) -> None:
    form.field.setText("method = x")
    before = _ground(form.field)
    form.field.show_mistake((7, 1))
    assert _mistake(form.field) == (7, 1)
    assert _ground(form.field) != before
    one = _reds(form.field)
    form.field.show_mistake((0, 10))
    assert _reds(form.field) > one > 0
    form.field.setText("method == x")
    assert _mistake(form.field) is None
    assert _ground(form.field) == before
    assert _reds(form.field) == 0


def test_a_mistake_at_the_end_underlines_the_last_character(form: _Form) -> None:
    form.field.setText("😀 ==")
    form.field.show_mistake((4, 0))
    assert _reds(form.field) > 0
    assert form.field.text() == "😀 =="


def test_the_chosen_suggestion_stands_out_as_where_the_focus_is(form: _Form, qtbot: QtBot) -> None:
    popup = form.field.popup
    colours = popup.palette()
    colours.setColor(QPalette.ColorGroup.Inactive, QPalette.ColorRole.Highlight, QColor("#aabbcc"))
    popup.setPalette(colours)
    popup.offer([Candidate("method", ""), Candidate("message", "")], QPoint(10, 10))
    qtbot.waitExposed(popup)
    popup.take_key(Qt.Key.Key_Down)
    place = popup.visualRect(popup.currentIndex())
    image = popup.viewport().grab().toImage()
    wanted = popup.palette().color(QPalette.ColorGroup.Active, QPalette.ColorRole.Highlight)
    assert image.pixelColor(place.right() - 3, place.top() + 2).name() == wanted.name()
