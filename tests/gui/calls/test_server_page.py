"""A server's page: what it offers is found, described, and called by one click or key."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.calls.offers import OfferKind
from mcp_progress_monitor.gui.calls.server_page import OfferDelegate, ServerPage
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.facts import NotificationReceived, Side
from mcp_progress_monitor.protocol.messages import CALL_TOOL, GET_PROMPT, LIST_TOOLS
from mcp_progress_monitor.protocol.offers import (
    EventType,
    Prompt,
    PromptArgument,
    Resource,
    Skill,
    Tool,
)
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from tests.gui.jobs.job_lists import heard

SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {"type": "integer", "description": "How many"},
        "mode": {"enum": ["a", "b"]},
        "odd": True,
        "either": {"type": ["string", "null"], "title": "Either"},
    },
    "required": ["rows"],
}
RAW = {"name": "export", "inputSchema": SCHEMA}
SERVER = ServerSnapshot(
    "local",
    StdioDefinition(name="local", command="x"),
    state=ServerState.CONNECTED,
    revision="2025-11-25",
    server_info={"name": "db", "version": "2"},
    instructions="Use <b>export</b>.\nThen wait.",
    tools=(
        Tool("export", "Export rows", "Writes <b>rows</b>.", SCHEMA, "forbidden", RAW),
        Tool("crawl", None, None, {}, "forbidden", {"name": "crawl"}),
    ),
    resources=(Resource("file:///a", "a", None, None, None, None, {}),),
    prompts=(Prompt("ask", None, "Asks.", (PromptArgument("q", None, None, True),), {}),),
)
Called = list[tuple[str, str, str]]


@pytest.fixture
def page(qtbot: QtBot, appearance: Appearance) -> ServerPage:
    made = ServerPage(appearance)
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show_server(SERVER)
    with qtbot.waitExposed(made):
        made.show()
    made.activateWindow()
    return made


@pytest.fixture
def called(page: ServerPage) -> Called:
    found: Called = []
    page.call_requested.connect(lambda *call: found.append(call))
    return found


def names(page: ServerPage) -> list[str]:
    offers = [page.offers.offer(row) for row in range(page.offers.rowCount())]
    return [offer.name for offer in offers if offer is not None]


def press_button(page: ServerPage, row: int) -> None:
    """Click where the button of a row is painted."""
    delegate = page.list.itemDelegate()
    assert isinstance(delegate, OfferDelegate)
    option = QStyleOptionViewItem()
    page.list.initViewItemOption(option)
    option.rect = page.list.visualRect(page.offers.index(row))
    place = QPoint(delegate.button(option).center())
    none = Qt.KeyboardModifier.NoModifier
    QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, none, place)


def test_the_server_itself_is_shown_as_it_declared_itself(page: ServerPage) -> None:
    page.kinds.setCurrentIndex(page.kinds.count() - 1)
    assert page.about.isVisible()
    assert not page.list.isVisible()
    rows = [page.about.model().index(row, 0) for row in range(page.about.model().rowCount())]
    assert [row.data() for row in rows] == ["serverInfo", "protocolVersion", "instructions"]
    page.kinds.setCurrentIndex(0)
    assert names(page) == ["export", "crawl"]
    assert page.list.isVisible()


def test_a_recordings_tools_cannot_be_called(qtbot: QtBot, appearance: Appearance) -> None:
    page = ServerPage(appearance, is_read_only=True)
    qtbot.addWidget(page)
    page.show_server(SERVER)
    with qtbot.waitExposed(page):
        page.show()
    called = heard(page.call_requested)
    page.list.activated.emit(page.list.currentIndex())
    place = page.list.visualRect(page.list.currentIndex()).center()
    place.setX(page.list.viewport().width() - 20)
    button, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mouseClick(page.list.viewport(), button, none, place)
    assert called == []
    assert not page.details.call.isVisible()
    assert page.details.arguments.rowCount() == 4
    page.show_server(SERVER._replace(state=ServerState.CLOSED, tools=()))
    assert not page.connect_button.isVisible()
    assert page.empty.text() == "The recording has no list of its tools."


def test_what_a_watched_client_never_listed_is_not_counted(page: ServerPage) -> None:
    page.show_server(SERVER._replace(tools=(), unlisted=frozenset({LIST_TOOLS})))
    page.kinds.setCurrentIndex(0)
    assert page.kinds.tabText(0) == "Tools"
    assert page.empty.text() == "The client has not listed the server's tools."
    page.show_server(SERVER._replace(tools=()))
    assert (page.kinds.tabText(0), page.empty.text()) == ("Tools 0", "The server lists no tools.")


def test_tools_prompts_and_resources_are_counted_and_listed(page: ServerPage) -> None:
    places = filter(page.kinds.isTabVisible, range(page.kinds.count()))
    tabs = [page.kinds.tabText(place) for place in places]
    assert tabs == ["Tools 2", "Prompts 1", "Resources 1", "About"]
    assert names(page) == ["export", "crawl"]
    page.kinds.setCurrentIndex(1)
    assert names(page) == ["ask"]
    page.kinds.setCurrentIndex(2)
    assert names(page) == ["file:///a"]


def test_description_arguments_and_schema_are_shown_as_text(page: ServerPage) -> None:
    assert page.details.description.toPlainText() == "Writes <b>rows</b>."
    model = page.details.arguments
    cells = [[model.index(row, column).data() for column in range(4)] for row in range(4)]
    assert cells == [
        ["rows", "integer", "yes", "How many"],
        ["mode", "choice", "", ""],
        ["odd", "", "", ""],
        ["either", "string or null", "", "Either"],
    ]
    assert page.details.definition.value == RAW
    assert "<b>export</b>" in page.instructions.text()


def test_a_changed_definition_is_shown_with_its_difference(page: ServerPage) -> None:
    change = "description:\n- Writes.\n+ Writes <b>rows</b>.\x1b"
    page.show_server(SERVER._replace(tool_changes=(("export", change),)))
    shown = page.details.description.toPlainText()
    assert shown.startswith(
        "Changed since the last session:\ndescription:\n- Writes.\n+ Writes <b>"
    )
    assert shown.endswith("\n\nWrites <b>rows</b>.")
    assert "\x1b" not in shown
    page.list.setCurrentIndex(page.offers.index(1))
    assert "Changed" not in page.details.description.toPlainText()


def test_the_button_of_each_row_calls_it(page: ServerPage, called: Called) -> None:
    press_button(page, 1)
    assert called == [("local", CALL_TOOL, "crawl")]
    page.details.call.click()
    assert called[1:] == [("local", CALL_TOOL, "crawl")]


def test_enter_calls_what_is_chosen(page: ServerPage, called: Called) -> None:
    page.kinds.setCurrentIndex(1)
    page.list.setFocus()
    QTest.keyClick(page.list, Qt.Key.Key_Return)
    assert called == [("local", GET_PROMPT, "ask")]


def test_a_click_beside_the_button_calls_nothing(page: ServerPage, called: Called) -> None:
    place = page.list.visualRect(page.offers.index(1)).topLeft() + QPoint(30, 10)
    none = Qt.KeyboardModifier.NoModifier
    QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, none, place)
    assert called == []
    assert page.details.title.text() == "crawl  (about 15 tokens)"


def test_searching_narrows_and_says_when_nothing_is_left(page: ServerPage) -> None:
    page.search.setText("rows")
    assert names(page) == ["export"]
    page.search.setText("zzz")
    assert page.empty.text() == "No tool matches."
    assert page.empty.isVisible()
    assert not page.details.isVisible()


def test_escape_empties_the_search_then_leads_back(qtbot: QtBot, page: ServerPage) -> None:
    page.search.setText("rows")
    QTest.keyClick(page.search, Qt.Key.Key_Escape)
    assert page.search.text() == ""
    with qtbot.waitSignal(page.back_requested):
        QTest.keyClick(page.list, Qt.Key.Key_Escape)


def test_a_new_list_keeps_what_is_chosen(page: ServerPage) -> None:
    page.list.setCurrentIndex(page.offers.index(1))
    more = Tool("about", None, None, {}, "forbidden", {})
    page.show_server(SERVER._replace(tools=(more, *SERVER.tools)))
    assert names(page) == ["about", "export", "crawl"]
    assert page.list.currentIndex().row() == 2


def test_a_server_that_is_gone_cannot_be_called_but_connected(
    qtbot: QtBot, page: ServerPage, called: Called
) -> None:
    page.show_server(SERVER._replace(state=ServerState.CLOSED))
    press_button(page, 0)
    assert called == []
    assert not page.details.call.isEnabled()
    with qtbot.waitSignal(page.connect_requested) as asked:
        page.connect_button.click()
    assert asked.args == ["local"]


def test_a_server_without_tools_begins_with_what_it_has(
    qtbot: QtBot, appearance: Appearance
) -> None:
    page = ServerPage(appearance)
    qtbot.addWidget(page)
    page.show_server(SERVER._replace(tools=()))
    assert page.kinds.currentIndex() == 1
    offer = page.offers.offer(0)
    assert offer is not None
    assert offer.kind is OfferKind.PROMPT


def test_the_page_fits_a_small_window(page: ServerPage) -> None:
    least = page.minimumSizeHint()
    assert least.width() <= 500
    assert least.height() <= 260


def _event(name: str, number: int) -> NotificationReceived:
    params = {"name": name, "eventId": f"evt-{number}", "data": {"text": "<b>x</b>"}}
    head = (number, "local#1", 1.0, 1e9, Side.SERVER)
    return NotificationReceived(*head, "notifications/events/event", params, ())


def test_types_of_events_are_listed_with_the_latest_events_of_the_chosen_one(
    page: ServerPage, called: Called
) -> None:
    assert not page.kinds.isTabVisible(3)
    types = (EventType("build.finished", None, "A <b>build</b>", SCHEMA, {"name": "build"}),)
    page.show_server(SERVER._replace(events=types))
    assert page.kinds.tabText(3) == "Events 1"
    page.kinds.setCurrentIndex(3)
    assert names(page) == ["build.finished"]
    assert page.details.latest.rowCount() == 0
    reported = (_event("build.finished", 1), _event("other", 2), _event("build.finished", 3))
    page.show_server(SERVER._replace(events=types, latest_events=reported))
    rows = [page.details.latest.index(row, 1).data() for row in range(2)]
    assert rows[0].startswith('name="build.finished" data={text: "<b>x</b>"} eventId="evt-3"')
    assert "evt-1" in rows[1]
    assert page.details.latest.rowCount() == 2
    press_button(page, 0)
    assert called == [("local", "events/stream", "build.finished")]


def test_skills_are_listed_by_address_and_read_by_it(page: ServerPage, called: Called) -> None:
    skills = (Skill("skill://refunds/SKILL.md", "refunds", "Step <b>by</b> step", {"a": 1}),)
    page.show_server(SERVER._replace(skills=skills))
    page.kinds.setCurrentIndex(4)
    assert page.details.description.toPlainText() == "Step <b>by</b> step"
    assert not page.details.tabs.isTabVisible(2)
    press_button(page, 0)
    assert called == [("local", "skills/get", "skill://refunds/SKILL.md")]
