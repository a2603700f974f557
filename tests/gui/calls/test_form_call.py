"""A new call is chosen, filled in, checked and asked for."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.call import AutoResume, Call, CallSeries
from mcp_progress_monitor.gui.calls.form import CallDialog, CallForm
from mcp_progress_monitor.gui.calls.memory import SavedCall
from mcp_progress_monitor.gui.calls.shelf import CopyForm, SaveCallDialog, SavedCallsDialog
from mcp_progress_monitor.gui.confirmations import SeriesQuestion
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.offers import Prompt, PromptArgument, Resource, Tool
from mcp_progress_monitor.protocol.peer import AUTO
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.limits import USUAL
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.gui.exposure import expose

_DEFINITION = StdioDefinition(name="db", command="db")
_SCHEMA = {
    "type": "object",
    "properties": {"rows": {"type": "integer", "minimum": 1}},
    "required": ["rows"],
}
_DB = ServerSnapshot(
    "db",
    _DEFINITION,
    tools=(
        Tool("export", "Export", "<b>Writes</b> a file", _SCHEMA, "optional", {}),
        Tool("crawl", None, None, {"type": "object"}, "forbidden", {}),
    ),
    resources=(Resource("file:///a", "a", None, None, None, None, {}),),
    prompts=(Prompt("ask", None, None, (PromptArgument("topic", None, None, False),), {}),),
    state=ServerState.CONNECTED,
)
_OTHER = ServerSnapshot("other", _DEFINITION, state=ServerState.CONNECTED)


@pytest.fixture
def dialog(qtbot: QtBot) -> CallDialog:
    """The window with two servers, the first one chosen."""
    made = CallDialog(Appearance(QGuiApplication.palette(), resource("icons")))
    made.form.set_servers([_DB, _OTHER])
    return expose(qtbot, made)


@pytest.fixture
def form(dialog: CallDialog) -> CallForm:
    """The form in the window."""
    return dialog.form


@pytest.fixture
def calls(dialog: CallDialog) -> list[Call]:
    """What was asked for."""
    made: list[Call] = []
    dialog.form.series_requested.connect(lambda series: made.extend(series.calls))
    return made


def _named(form: CallForm, kind: type[QWidget], name: str) -> QWidget:
    controls: list[QWidget] = form.findChildren(kind)
    return next(each for each in controls if each.accessibleName() == name)


def _box(form: CallForm, name: str) -> QComboBox:
    found = _named(form, QComboBox, name)
    assert isinstance(found, QComboBox)
    return found


def _line(form: CallForm, name: str) -> QLineEdit:
    found = _named(form, QLineEdit, name)
    assert isinstance(found, QLineEdit)
    return found


def _button(form: CallForm, message: str) -> QPushButton:
    return next(b for b in form.findChildren(QPushButton) if b.text().replace("&", "") == message)


def _select_offer(form: CallForm, row: int) -> None:
    offers = _named(form, QListView, "What the server offers")
    assert isinstance(offers, QListView)
    offers.setCurrentIndex(offers.model().index(row, 0))


def _spin(form: CallForm, name: str) -> QSpinBox:
    found = _named(form, QSpinBox, name)
    assert isinstance(found, QSpinBox)
    return found


def _ask_for_sets(form: CallForm) -> None:
    """Ask for a file of argument sets, as with the button; none is chosen in the dialog."""
    form.options.sets_requested.emit()
    dialog = form.findChild(QFileDialog)
    assert dialog is not None
    dialog.close()


def _chosen(form: CallForm) -> str | None:
    return None if form.offer is None else form.offer.name


def _says(form: CallForm, message: str) -> bool:
    labels = form.findChildren(QLabel)
    return any(message in each.text() for each in labels if each.isVisibleTo(form))


def test_a_call_goes_out_as_entered_and_the_form_stays(
    dialog: CallDialog, form: CallForm, calls: list[Call]
) -> None:
    QTest.keyClicks(_line(form, "rows"), "5")
    QTest.keyClick(form, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    params = {"name": "export", "arguments": {"rows": 5}}
    assert calls == [Call("db", "tools/call", params)]
    assert dialog.isVisible()
    assert not dialog.isModal()
    assert _says(form, "Sent 1 call")


def test_what_does_not_fit_is_shown_and_not_sent_unless_the_user_insists(
    form: CallForm, calls: list[Call]
) -> None:
    form.send()
    assert calls == []
    assert _says(form, "rows: this is required")
    assert _button(form, "Send anyway").isVisible()
    _button(form, "Send anyway").click()
    assert calls[0].params == {"name": "export", "arguments": {}}


def test_broken_json_cannot_be_sent(form: CallForm, calls: list[Call]) -> None:
    editor = form.form.editor.findChild(QPlainTextEdit)
    assert isinstance(editor, QPlainTextEdit)
    editor.setPlainText("{")
    form.send()
    assert calls == []
    assert not _button(form, "Send anyway").isVisible()


@pytest.mark.parametrize(
    ("kind", "text", "token"),
    [("Automatic", "", AUTO), ("None", "", None), ("Custom string", "", ""),
     ("Custom string", "7", "7"), ("Custom integer", "0", 0), ("Custom integer", "-12", -12)],
)  # fmt: skip
def test_every_token_can_be_chosen(
    form: CallForm, calls: list[Call], kind: str, text: str, token: object
) -> None:
    form.form.set_value({"rows": 1})
    _box(form, "Progress token").setCurrentText(kind)
    _line(form, "Custom token").setText(text)
    form.send()
    assert calls[0].token == token
    assert type(calls[0].token) is type(token)


def test_a_token_that_is_no_integer_is_named(form: CallForm, calls: list[Call]) -> None:
    form.form.set_value({"rows": 1})
    _box(form, "Progress token").setCurrentText("Custom integer")
    _line(form, "Custom token").setText("1.5")
    form.send()
    assert calls == []
    assert _says(form, "Custom token: enter a whole number")


def test_limits_are_seconds_off_or_as_usual(form: CallForm, calls: list[Call]) -> None:
    form.form.set_value({"rows": 1})
    for idle, total in (("0", "2.5"), ("off", " Off "), ("", "")):
        _line(form, "Idle timeout in seconds").setText(idle)
        _line(form, "Total timeout in seconds").setText(total)
        form.send()
    limits = [(call.idle_timeout_s, call.total_timeout_s) for call in calls]
    assert limits == [(None, 2.5), (None, None), (USUAL, USUAL)]


@pytest.mark.parametrize("entered", ["soon", "-1", "NaN", "Infinity", "1e300", "86400001"])
@pytest.mark.parametrize("name", ["Idle timeout in seconds", "Total timeout in seconds"])
def test_what_is_no_limit_is_refused_with_a_message(
    form: CallForm, calls: list[Call], name: str, entered: str
) -> None:
    form.form.set_value({"rows": 1})
    _line(form, name).setText(entered)
    form.send()
    assert calls == []
    assert _says(form, name)


def test_the_usual_limits_are_those_of_the_server_and_the_kind(form: CallForm) -> None:
    assert _line(form, "Idle timeout in seconds").placeholderText() == "1800 (default)"
    assert _line(form, "Total timeout in seconds").placeholderText() == "off (default)"
    _box(form, "What to call").setCurrentIndex(1)
    assert _line(form, "Idle timeout in seconds").placeholderText() == "60 (default)"
    limits = {"idle_timeout_s": 90.0, "total_timeout_s": 7200.0}
    own = _DEFINITION.model_copy(update=limits)
    form.set_servers([_DB._replace(definition=own)])
    assert _line(form, "Idle timeout in seconds").placeholderText() == "90 (default)"
    assert _line(form, "Total timeout in seconds").placeholderText() == "7200 (default)"


def test_a_call_is_resumed_automatically_if_that_is_chosen_and_that_is_remembered(
    form: CallForm, calls: list[Call]
) -> None:
    form.form.set_value({"rows": 1})
    form.send()
    automatic = next(b for b in form.findChildren(QCheckBox) if "automatically" in b.text())
    automatic.click()
    form.send()
    assert [call.auto_resume for call in calls] == [None, AutoResume()]
    state = form.state()
    automatic.click()
    form.restore(state)
    assert automatic.isChecked()


def test_a_call_is_made_several_times_but_not_with_one_token(
    form: CallForm, calls: list[Call]
) -> None:
    form.form.set_value({"rows": 1})
    repeats = form.findChild(QSpinBox)
    assert isinstance(repeats, QSpinBox)
    repeats.setValue(3)
    form.send()
    assert len(calls) == 3
    _box(form, "Progress token").setCurrentText("Custom string")
    _line(form, "Custom token").setText("abc")
    form.send()
    assert len(calls) == 3
    assert _says(form, "cannot share a custom token")
    allow = next(b for b in form.findChildren(QCheckBox) if b.text() == "Allow a duplicate token")
    allow.click()
    form.send()
    assert len(calls) == 6
    assert calls[-1].allow_duplicate_token


def test_tools_are_searched(form: CallForm) -> None:
    _line(form, "Search by name, title and description").setText("crawl")
    offers = _named(form, QListView, "What the server offers")
    assert isinstance(offers, QListView)
    assert offers.model().rowCount() == 1
    offers.setCurrentIndex(offers.model().index(0, 0))
    assert form.offer is not None
    assert form.offer.name == "crawl"


def test_what_was_looked_for_is_what_is_sent(form: CallForm, calls: list[Call]) -> None:
    form.form.set_value({"rows": 5})
    search = _line(form, "Search by name, title and description")
    search.setFocus()
    QTest.keyClicks(search, "cra")
    QTest.keyClick(search, Qt.Key.Key_Down)
    QTest.keyClick(search, Qt.Key.Key_Up)
    _button(form, "Send").click()
    assert [call.params["name"] for call in calls] == ["crawl"]
    assert _says(form, "crawl")
    search.clear()
    QTest.keyClicks(search, "export")
    assert form.form.value() == {"rows": 5}  # a search goes by it, and back again
    _button(form, "Send").click()
    assert calls[-1].params == {"name": "export", "arguments": {"rows": 5}}


def test_enter_in_the_search_goes_on_to_the_arguments(
    dialog: CallDialog, form: CallForm, calls: list[Call]
) -> None:
    search = _line(form, "Search by name, title and description")
    search.setText("export")
    search.setFocus()
    QTest.keyClick(search, Qt.Key.Key_Return)
    assert calls == []
    assert form.form.isAncestorOf(dialog.focusWidget())


def test_a_whole_name_is_chosen_before_those_that_contain_it(form: CallForm) -> None:
    tools = [Tool(name, None, None, {}, "forbidden", {}) for name in ("ask_form", "ask")]
    form.set_servers([_DB._replace(tools=tuple(tools))])
    _line(form, "Search by name, title and description").setText("ask")
    assert form.offer is not None
    assert form.offer.name == "ask"


def test_part_of_a_name_selects_the_listed_tool_never_what_was_typed(
    form: CallForm, calls: list[Call]
) -> None:
    search = _line(form, "Search by name, title and description")
    for part in ("craw", "expo", "port", "awl"):
        search.clear()
        QTest.keyClicks(search, part)
        assert form.offer is not None
        assert form.offer.is_listed
        assert part in form.offer.name
    QTest.keyClick(form, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert [call.params["name"] for call in calls] == ["crawl"]


def test_a_name_that_nothing_matches_is_sent_only_once_selected(
    form: CallForm, calls: list[Call]
) -> None:
    search = _line(form, "Search by name, title and description")
    QTest.keyClicks(search, "secret")
    assert form.offer is None
    assert _says(form, "No match.")
    assert not _button(form, "Send").isEnabled()
    form.send()
    assert calls == []
    QTest.keyClick(search, Qt.Key.Key_Down)
    form.send()
    assert [call.params["name"] for call in calls] == ["secret"]


def test_an_unlisted_name_stays_selected_when_the_lists_change(form: CallForm) -> None:
    _line(form, "Search by name, title and description").setText("export")
    crawl, more = _DB.tools[1], Tool("more", None, None, {}, "forbidden", {})
    form.set_servers([_DB._replace(tools=(crawl,)), _OTHER])
    assert _chosen(form) is None  # the server no longer lists the tool
    _select_offer(form, 0)
    form.set_servers([_DB._replace(tools=(crawl, more)), _OTHER])
    assert _chosen(form) == "export"


def test_what_is_found_nowhere_is_not_sent(form: CallForm, calls: list[Call]) -> None:
    form.set_servers([])
    _line(form, "Search by name, title and description").setText("nothing of the kind")
    assert form.offer is None
    assert not _button(form, "Send").isEnabled()


def test_reopening_the_form_clears_the_search_and_the_message(form: CallForm) -> None:
    search = _line(form, "Search by name, title and description")
    search.setText("crawl")
    form.send()
    assert _says(form, "Sent 1 call")
    form.begin()
    assert search.text() == ""
    assert not _says(form, "Sent 1 call")
    assert form.offer is not None
    assert form.offer.name == "crawl"
    search.setText("secret_tool")  # which is shown by nothing but this search
    _select_offer(form, 0)
    form.begin()
    assert search.text() == "secret_tool"


def test_opened_it_takes_the_name_of_a_tool_and_enter_sends_nothing(
    dialog: CallDialog, calls: list[Call]
) -> None:
    dialog.form.begin()
    typed_into = dialog.focusWidget()
    assert typed_into is _line(dialog.form, "Search by name, title and description")
    QTest.keyClicks(typed_into, "crawl")
    QTest.keyClick(typed_into, Qt.Key.Key_Return)
    assert dialog.form.offer is not None
    assert dialog.form.offer.name == "crawl"
    assert calls == []


def test_resources_and_prompts_can_be_asked_for(form: CallForm, calls: list[Call]) -> None:
    _box(form, "What to call").setCurrentText("Resources")
    form.send()
    _box(form, "What to call").setCurrentText("Prompts")
    form.send()
    assert [(call.method, call.params) for call in calls] == [
        ("resources/read", {"uri": "file:///a"}),
        ("prompts/get", {"name": "ask", "arguments": {}}),
    ]


def test_the_last_arguments_come_back_for_each_tool(form: CallForm, qtbot: QtBot) -> None:
    form.form.set_value({"rows": 7})
    form.send()
    assert form.choose("db", "tools/call", "crawl")
    assert form.choose("db", "tools/call", "export")
    assert form.form.value() == {"rows": 7}
    state = json.loads(json.dumps(form.state()))
    other = CallForm(Appearance(QGuiApplication.palette(), resource("icons")))
    qtbot.addWidget(other)
    other.restore(state)
    other.set_servers([_OTHER, _DB])
    assert other.form.value() == {"rows": 7}
    other.restore({"options": 7, "kind": "x", "server": [], "arguments": 1})


def test_a_call_is_filled_in_for_editing(form: CallForm, calls: list[Call]) -> None:
    assert form.choose("db", "tools/call", "export", {"rows": 3}, token=7)
    form.send()
    assert calls == [Call("db", "tools/call", {"name": "export", "arguments": {"rows": 3}}, 7)]
    assert not form.choose("db", "tools/call", "")
    assert not form.choose("gone", "tools/call", "export")
    assert not form.choose("db", "ping", "export")


def test_what_is_entered_survives_changes_of_the_servers(form: CallForm) -> None:
    QTest.keyClicks(_line(form, "rows"), "5")
    form.set_servers([_OTHER, _DB])
    assert form.form.value() == {"rows": 5}
    form.set_servers([_OTHER])
    assert form.offer is None
    assert not _button(form, "Send").isEnabled()
    assert _says(form, "lists nothing of this kind")
    form.set_servers([])
    assert _says(form, "Connect to a server, then")


def test_server_text_is_plain_and_says_what_a_tool_can(form: CallForm) -> None:
    assert _says(form, "<b>Writes</b> a file\nCan run as a task.")
    labels = [each for each in form.findChildren(QLabel) if "Writes" in each.text()]
    assert all(each.textFormat() is Qt.TextFormat.PlainText for each in labels)


def test_the_window_fits_a_small_screen(dialog: CallDialog) -> None:
    hint = dialog.minimumSizeHint()
    assert hint.width() <= 900
    assert hint.height() <= 600


def _tabbed(start: QWidget, count: int) -> list[QWidget]:
    """The controls that Tab reaches from `start`, one after the other."""
    found: list[QWidget] = []
    at = start
    while len(found) < count:
        following = at.nextInFocusChain()
        assert following is not None
        at = following
        if at.focusPolicy() & Qt.FocusPolicy.TabFocus and at.isVisible() and at.isEnabled():
            found.append(at)
    return found


def test_tab_goes_through_the_arguments_before_the_buttons(form: CallForm) -> None:
    offers = _named(form, QListView, "What the server offers")
    reached = _tabbed(offers, 20)
    rows, send = _line(form, "rows"), _button(form, "Send")
    close = next(b for b in form.window().findChildren(QPushButton) if b.text() == "&Close")
    shelf = [each.text() for each in reached[:3] if isinstance(each, QPushButton)]
    assert shelf == ["Recent", "Saved", "Copy as"]
    assert reached.index(rows) == 3
    assert reached.index(rows) < reached.index(send) < reached.index(close)
    fold = next(each for each in form.options.findChildren(QToolButton))
    fold.click()
    reached = _tabbed(offers, 20)
    assert reached.index(rows) < reached.index(_box(form, "Progress token")) < reached.index(send)


def test_what_is_added_to_the_arguments_has_its_place_in_the_tab_order(form: CallForm) -> None:
    schema = {
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": {"type": "string"}},
            "last": {"type": "string"},
        },
        "required": ["names", "last"],
    }
    tool = Tool("many", None, None, schema, "forbidden", {})
    form.set_servers([_DB._replace(tools=(tool,))])
    form.form.set_value({"names": ["a", "b"], "last": "c"})
    add = next(b for b in form.form.findChildren(QPushButton) if "Add" in b.text())
    add.click()
    reached = _tabbed(_named(form, QListView, "What the server offers"), 25)
    lines = [each for each in reached if isinstance(each, QLineEdit)]
    assert [line.text() for line in lines[:4]] == ["a", "b", "", "c"]


def test_a_tool_that_the_server_does_not_list_is_called_by_its_name(
    form: CallForm, calls: list[Call]
) -> None:
    _line(form, "Search by name, title and description").setText("secret_tool")
    offers = _named(form, QListView, "What the server offers")
    assert isinstance(offers, QListView)
    assert offers.model().rowCount() == 1
    offers.setCurrentIndex(offers.model().index(0, 0))
    assert _says(form, "Not listed by the server")
    form.form.set_value({"depth": 3})
    form.send()
    assert calls == [Call("db", "tools/call", {"name": "secret_tool", "arguments": {"depth": 3}})]


def test_the_name_of_an_unlisted_tool_can_be_typed_on(form: CallForm) -> None:
    search = _line(form, "Search by name, title and description")
    search.setText("secret")
    _select_offer(form, 0)
    form.form.set_value({"depth": 3})
    search.setText("secret_tool")
    assert form.offer is not None
    assert form.offer.name == "secret_tool"
    assert form.form.value() == {"depth": 3}


def test_a_job_of_an_unlisted_tool_is_edited_and_sent_again(
    form: CallForm, calls: list[Call]
) -> None:
    assert form.choose("db", "tools/call", "gone", {"x": 1})
    form.send()
    assert calls == [Call("db", "tools/call", {"name": "gone", "arguments": {"x": 1}})]


def test_a_server_that_is_not_connected_is_reported_and_can_be_connected(
    form: CallForm, calls: list[Call], qtbot: QtBot
) -> None:
    form.form.set_value({"rows": 5})
    gone = _DB._replace(state=ServerState.CLOSED, tools=())
    form.set_servers([gone, _OTHER])
    assert _says(form, "Cannot call db: Disconnected.")
    assert not _button(form, "Send").isEnabled()
    assert "Cannot call" in _button(form, "Send").toolTip()
    form.send()
    assert calls == []
    with qtbot.waitSignal(form.connect_requested) as signal:
        _button(form, "Connect").click()
    assert signal.args == ["db"]
    form.set_servers([gone._replace(state=ServerState.CONNECTING), _OTHER])
    assert not _button(form, "Connect").isVisible()
    form.set_servers([_DB, _OTHER])
    assert not _says(form, "Cannot call")
    assert form.form.value() == {"rows": 5}
    form.send()
    assert len(calls) == 1


def test_a_job_of_a_server_that_is_not_connected_can_be_edited(form: CallForm) -> None:
    form.set_servers([_OTHER, ServerSnapshot("late", _DEFINITION)])
    assert form.choose("late", "tools/call", "export", {"rows": 3})
    assert _button(form, "Connect").isVisible()
    late = _DB._replace(name="late")
    form.set_servers([_OTHER, late])
    assert form.offer is not None
    assert form.offer.is_listed
    assert form.form.value() == {"rows": 3}


_TASKS = _DB._replace(
    revision="2025-11-25", capabilities={"tasks": {"requests": {"tools": {"call": {}}}}}
)


def test_a_call_as_a_task_is_asked_for_and_remembered_for_its_tool(
    dialog: CallDialog, calls: list[Call]
) -> None:
    form = dialog.form
    form.set_servers([_TASKS])
    form.choose("db", "tools/call", "export", {"rows": 3})
    form.options.task.choice.setCurrentIndex(1)
    form.options.task.ttl.setText("90")
    form.send()
    assert [(call.as_task, call.task_ttl_ms) for call in calls] == [(True, 90_000.0)]
    form.choose("db", "tools/call", "crawl", {})
    assert not form.options.task.choice.isEnabled()
    form.send()
    assert (calls[-1].as_task, calls[-1].task_ttl_ms) == (None, None)
    state = json.loads(json.dumps(form.state()))
    form.choose("db", "tools/call", "export")
    assert form.options.task.state() == {"as_task": True, "ttl_s": "90"}
    form.choose("db", "tools/call", "crawl")
    form.restore(state)
    form.choose("db", "tools/call", "export")
    assert form.options.task.state() == {"as_task": True, "ttl_s": "90"}


def test_a_time_to_live_that_is_none_is_reported_before_anything_is_sent(
    dialog: CallDialog, calls: list[Call]
) -> None:
    form = dialog.form
    form.set_servers([_TASKS])
    form.choose("db", "tools/call", "export", {"rows": 3})
    form.options.task.ttl.setText("-1")
    form.send()
    assert calls == []


def _menu(form: CallForm, message: str) -> dict[str, QAction]:
    """The entries of a menu beside the form, as it opens."""
    menu = _button(form, message).menu()
    assert menu is not None
    menu.aboutToShow.emit()
    return {each.text(): each for each in menu.actions()}


def test_earlier_arguments_of_a_tool_are_filled_in_again(form: CallForm) -> None:
    for rows in ("5", "6"):
        form.form.set_value({"rows": int(rows)})
        form.send()
    recent = _menu(form, "Recent")
    assert [*recent] == ['{"rows": 6}', '{"rows": 5}']
    recent['{"rows": 5}'].trigger()
    assert form.form.value() == {"rows": 5}


def test_a_call_is_saved_by_title_and_folder_and_opened_again(form: CallForm, qtbot: QtBot) -> None:
    form.form.set_value({"rows": 7})
    with qtbot.waitSignal(form.saved_changed):
        _menu(form, "Saved")["Save this call…"].trigger()
        dialog = form.findChild(SaveCallDialog)
        assert dialog is not None
        dialog.findChild(QLineEdit).setText("Seven & more")  # type: ignore[union-attr]
        dialog.findChild(QComboBox).setEditText("Exports")  # type: ignore[union-attr]
        dialog.accept()
    form.choose("db", "tools/call", "crawl")
    saved = _menu(form, "Saved")["Exports"].menu()
    assert isinstance(saved, QMenu)
    (entry,) = saved.actions()
    assert entry.text() == "Seven && more"
    entry.trigger()
    assert form.offer is not None
    assert (form.offer.name, form.form.value()) == ("export", {"rows": 7})


def test_saved_calls_are_renamed_and_deleted(form: CallForm) -> None:
    for title in ("One", "Two"):
        form.saved.save(SavedCall("", title, "db", "tools/call", "export", {}))
    dialog = SavedCallsDialog(form.saved, form)
    table = dialog.findChild(QTreeWidget)
    assert table is not None

    def first() -> QTreeWidgetItem:
        item = table.topLevelItem(0)
        assert item is not None
        return item

    first().setText(0, "Two")  # taken: it stays as it was
    assert [call.title for call in form.saved] == ["One", "Two"]
    first().setText(1, "Folder")
    assert [(call.folder, call.title) for call in form.saved] == [("", "Two"), ("Folder", "One")]
    first().setSelected(True)
    next(b for b in dialog.findChildren(QPushButton) if b.text() == "&Delete").click()
    assert [call.title for call in form.saved] == ["One"]


def test_a_saved_call_of_a_server_that_is_gone_says_so(form: CallForm) -> None:
    form.saved.save(SavedCall("", "Old", "gone", "tools/call", "export", {}))
    _menu(form, "Saved")["Old"].trigger()
    assert _says(form, "no server is named gone")


def test_each_argument_set_is_a_call_added_to_what_the_form_has(
    form: CallForm, calls: list[Call]
) -> None:
    form.form.set_value({"rows": 1, "to": "a"})
    _ask_for_sets(form)
    form.set_argument_sets([{"rows": 2}, {"rows": 3, "to": "b"}], "sets.csv")
    form.send()
    made = [call.params["arguments"] for call in calls]
    assert made == [{"rows": 2, "to": "a"}, {"rows": 3, "to": "b"}]


def test_a_set_that_does_not_fit_is_named(form: CallForm, calls: list[Call]) -> None:
    _ask_for_sets(form)
    form.set_argument_sets([{"rows": 2}, {"rows": 0}, {"rows": 3}], "sets.csv")
    form.send()
    assert calls == []
    assert _says(form, "set 2: rows: 0 is less than the minimum of 1")
    _button(form, "Send anyway").click()
    assert len(calls) == 3


def test_sets_repeats_and_resuming_belong_to_their_tool(form: CallForm, calls: list[Call]) -> None:
    form.form.set_value({"rows": 1})
    _ask_for_sets(form)
    form.set_argument_sets([{"rows": 2}, {"rows": 3}], "sets.csv")
    _spin(form, "Number of calls").setValue(2)
    automatic = next(b for b in form.findChildren(QCheckBox) if "automatically" in b.text())
    automatic.click()
    assert _button(form, "Send 4 calls").isVisible()
    _line(form, "Search by name, title and description").setText("crawl")
    assert not automatic.isChecked()
    _button(form, "Send").click()
    assert [(call.params["name"], call.auto_resume) for call in calls] == [("crawl", None)]
    _line(form, "Search by name, title and description").setText("export")
    _button(form, "Send 4 calls").click()
    assert [call.params["name"] for call in calls[1:]] == ["export"] * 4
    assert calls[-1].auto_resume == AutoResume()


def test_sets_and_repeats_end_when_the_form_is_opened_again(form: CallForm) -> None:
    form.form.set_value({"rows": 1})
    _ask_for_sets(form)
    form.set_argument_sets([{"rows": 2}, {"rows": 3}], "sets.csv")
    _spin(form, "Number of calls").setValue(2)
    form.begin()
    assert _button(form, "Send").isVisible()
    assert _spin(form, "Number of calls").value() == 1
    _line(form, "Search by name, title and description").setText("crawl")
    _line(form, "Search by name, title and description").setText("export")
    assert _button(form, "Send").isVisible()


def test_sets_that_are_read_late_go_to_the_tool_they_were_chosen_for(form: CallForm) -> None:
    _ask_for_sets(form)
    search = _line(form, "Search by name, title and description")
    search.setText("crawl")
    form.set_argument_sets([{"rows": 2}, {"rows": 3}], "sets.csv")
    assert _button(form, "Send").isVisible()
    search.setText("export")
    assert _button(form, "Send 2 calls").isVisible()


def test_a_hundred_calls_are_sent_only_after_a_question(
    qtbot: QtBot, form: CallForm, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.gui.common.dialog_watch._INTERVAL_MS", 10)
    form.form.set_value({"rows": 1})
    _spin(form, "Number of calls").setValue(99)
    form.send()
    assert len(calls) == 99
    calls.clear()
    _spin(form, "Number of calls").setValue(3000)
    form.send()
    question = form.findChild(SeriesQuestion)
    assert question is not None
    assert question.text() == "Send 3,000 calls of export to db?"
    assert calls == []
    question.reject()
    assert calls == []
    form.send()
    question.accept()
    assert len(calls) == 3000
    assert _says(form, "Sent 0 of 3,000 calls")
    form.send()
    form.set_servers([_DB._replace(state=ServerState.CLOSED)])
    qtbot.waitUntil(lambda: not form.findChildren(SeriesQuestion))
    assert len(calls) == 3000


def test_every_set_is_checked_before_any_is_sent(form: CallForm, calls: list[Call]) -> None:
    _ask_for_sets(form)
    form.set_argument_sets([*[{"rows": 1}] * 98, {"rows": 0}], "sets.csv")
    form.send()
    assert calls == []
    assert _says(form, "set 99: rows: 0 is less than the minimum of 1")


def test_sets_that_cannot_be_checked_in_time_are_not_sent(
    form: CallForm, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.gui.calls.form._CHECK_S", -1.0)
    _ask_for_sets(form)
    form.set_argument_sets([{"rows": 1}, {"rows": 0}], "sets.csv")
    form.send()
    assert calls == []
    assert _says(form, "Only 1 of 2 sets checked")
    _button(form, "Send anyway").click()
    assert len(calls) == 2


def test_repeats_so_many_at_once_with_a_pause(dialog: CallDialog, form: CallForm) -> None:
    made: list[CallSeries] = []
    form.series_requested.connect(made.append)
    form.form.set_value({"rows": 1})
    for name, value in (("Number of calls", 9), ("Calls at once", 2)):
        _spin(form, name).setValue(value)
    pause = _named(form, QDoubleSpinBox, "Pause in seconds")
    assert isinstance(pause, QDoubleSpinBox)
    pause.setValue(1.5)
    fold = next(each for each in form.options.findChildren(QToolButton))
    assert fold.text() == "Options: 9 times, 2 at once, pause 1.5 s"
    form.send()
    assert [(len(series.calls), *series[1:]) for series in made] == [(9, 2, 1.5)]
    form.show_series(3, 9)
    assert _says(form, "Sent 3 of 9 calls")
    with_stop = _button(form, "Stop")
    assert with_stop.isVisible()
    form.show_series(9, 9)
    assert not with_stop.isVisible()


def test_a_call_is_copied_with_what_the_form_has(form: CallForm, qtbot: QtBot) -> None:
    form.form.set_value({"rows": 4})
    with qtbot.waitSignal(form.copy_requested) as asked:
        _menu(form, "Copy as")["Command line"].trigger()
    copy_form, server, offer, arguments = asked.args or []
    assert (copy_form, server.name, offer.name) == (CopyForm.COMMAND_LINE, "db", "export")
    assert arguments == {"rows": 4}
