"""The lists at the side: filters with counts, and servers."""

import functools
import operator
from typing import Any

import pytest
from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    Qt,
)
from PySide6.QtGui import QAction, QFontMetrics, QGuiApplication, QHelpEvent, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QStyleOptionViewItem, QToolButton, QToolTip
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.common.commands import Command, Commands
from mcp_progress_monitor.gui.common.row_painting import wrapped
from mcp_progress_monitor.gui.jobs.filter_model import GroupsModel, JobFilter, JobGroup
from mcp_progress_monitor.gui.jobs.filters import GroupDelegate, JobFilterEdit, JobFilters
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.menus import LevelMenu, ResourceMenu
from mcp_progress_monitor.gui.servers.model import ServerRow, ServersModel
from mcp_progress_monitor.gui.servers.server_list import MANY, ServerList, face_of
from mcp_progress_monitor.gui.theme import ACTIVE, FOCUSED, SELECTED, UNDER_MOUSE, Appearance
from mcp_progress_monitor.gui.window_commands import ADD_COMMAND
from mcp_progress_monitor.protocol.offers import Resource
from mcp_progress_monitor.snapshots.servers import (
    Health,
    ResourceUpdates,
    Retry,
    ServerState,
    SignIn,
)
from mcp_progress_monitor.snapshots.settings import ServerSettings
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import asked, heard
from tests.job_stand_ins import FakeJobs, job
from tests.server_stand_ins import FakeServers, server

PLAIN = Qt.KeyboardModifier.NoModifier
_FLAGS = FOCUSED | UNDER_MOUSE | SELECTED | ACTIVE


@pytest.fixture
def jobs() -> JobsModel:
    model = JobsModel()
    model.set_source(FakeJobs(job(id=1), job(id=2, state=JobState.DONE)))
    return model


@pytest.fixture
def filters(qtbot: QtBot, jobs: JobsModel, appearance: Appearance) -> JobFilters:
    made = JobFilters(GroupsModel(jobs, jobs), appearance)
    return expose(qtbot, made)


@pytest.fixture
def source() -> FakeServers:
    return FakeServers(
        server("up", state=ServerState.CONNECTED),
        server("down"),
        server("bad", state=ServerState.FAILED, error=ErrorDetails("<b>Not found</b>")),
    )


@pytest.fixture
def servers(qtbot: QtBot, source: FakeServers, appearance: Appearance) -> ServerList:
    model = ServersModel()
    model.set_source(source)
    made = ServerList(model, appearance, Commands())
    model.setParent(made)
    return expose(qtbot, made, 200, 300)


def choose(servers: ServerList, row: int) -> None:
    # Whatever keys were held last: the view's own `setCurrentIndex` goes by them.
    wanted = QItemSelectionModel.SelectionFlag.ClearAndSelect
    servers.view.selectionModel().setCurrentIndex(servers.view.model().index(row, 0), wanted)
    servers.activateWindow()
    servers.view.setFocus()


def model_of(servers: ServerList) -> ServersModel:
    model = servers.shown.sourceModel()
    assert isinstance(model, ServersModel)
    return model


def menu_of(qtbot: QtBot, servers: ServerList, row: int | None) -> list[str]:
    view = servers.view
    place = QPoint(5, view.height() - 5)
    if row is not None:
        place = view.visualRect(view.model().index(row, 0)).center()
    view.customContextMenuRequested.emit(place)
    menu = next(menu for menu in servers.findChildren(QMenu) if menu.isVisible())
    qtbot.addWidget(menu)
    texts = [action.text().replace("&", "") for action in menu.actions() if action.text()]
    menu.close()
    return texts


def groups_of(filters: JobFilters) -> list[str]:
    model = filters.view.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def test_groups_without_jobs_are_left_out_but_the_first_three(
    qtbot: QtBot, filters: JobFilters, jobs: JobsModel
) -> None:
    assert groups_of(filters) == ["All", "Running", "Needs you", "Finished"]
    every = [JobState.STALLED, JobState.RESUMABLE, JobState.FAILED, JobState.NEEDS_YOU]
    source = FakeJobs(*(job(id=at, state=state) for at, state in enumerate(every, 3)))
    jobs.set_source(source)
    assert groups_of(filters) == [
        group.value for group in JobGroup if group is not JobGroup.FINISHED
    ]
    view = filters.view
    last = view.model().index(view.model().rowCount() - 1, 0)
    qtbot.waitUntil(lambda: view.viewport().rect().contains(view.visualRect(last)))


def test_the_chosen_group_stays_without_jobs_until_another_is_chosen(
    qtbot: QtBot, filters: JobFilters, jobs: JobsModel
) -> None:
    filters.select(JobGroup.FINISHED)
    jobs.set_source(FakeJobs(job(id=1)))
    assert filters.view.currentIndex().data() == "Finished"
    with qtbot.waitSignal(filters.group_selected) as emitted:
        QTest.keyClick(filters.view, Qt.Key.Key_Up)
    assert emitted.args == [JobGroup.NEEDS_YOU]
    qtbot.waitUntil(lambda: groups_of(filters) == ["All", "Running", "Needs you"])
    assert filters.view.currentIndex().data() == "Needs you"


def test_choosing_a_group_by_keyboard_tells_it(qtbot: QtBot, filters: JobFilters) -> None:
    filters.activateWindow()
    filters.view.setFocus()
    with qtbot.waitSignal(filters.group_selected) as emitted:
        QTest.keyClick(filters.view, Qt.Key.Key_Down)
    assert emitted.args == [JobGroup.RUNNING]


def test_choosing_a_group_by_mouse_tells_it(qtbot: QtBot, filters: JobFilters) -> None:
    place = filters.view.visualRect(filters.view.model().index(3, 0)).center()
    with qtbot.waitSignal(filters.group_selected) as emitted:
        QTest.mouseClick(filters.view.viewport(), Qt.MouseButton.LeftButton, PLAIN, place)
    assert emitted.args == [JobGroup.FINISHED]


def test_a_group_has_the_flags_that_qt_gives_its_row(
    qtbot: QtBot, filters: JobFilters, appearance: Appearance
) -> None:
    found: list[tuple[int, int]] = []

    class Compared(GroupDelegate):
        def paint(
            self,
            _painter: QPainter,
            option: QStyleOptionViewItem,
            index: QModelIndex | QPersistentModelIndex,
        ) -> None:
            found.append((int(option.state.value) & _FLAGS, self.state(index)))

    view = filters.view
    view.setItemDelegate(Compared(appearance, view))
    view.viewport().grab()
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    view.viewport().grab()
    view.setCurrentIndex(view.model().index(2, 0))
    QTest.mouseMove(view.viewport(), view.visualRect(view.model().index(3, 0)).center())
    qtbot.waitUntil(view.viewport().underMouse)
    view.viewport().grab()

    assert all(by_qt == ours for by_qt, ours in found), found
    assert functools.reduce(operator.or_, (by_qt for by_qt, _ in found)) == _FLAGS


def test_the_field_filters_jobs_and_escape_empties_it(
    qtbot: QtBot, jobs: JobsModel, appearance: Appearance
) -> None:
    shown = JobFilter(jobs, jobs)
    field = JobFilterEdit(appearance)
    qtbot.addWidget(field)
    field.textChanged.connect(shown.set_text)
    QTest.keyClicks(field, "no such job")
    assert shown.rowCount() == 0
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert (field.text(), shown.rowCount()) == ("", 2)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_enter_opens_a_server(servers: ServerList, row: int) -> None:
    choose(servers, row)
    said = asked(servers, on_servers.OPEN)
    QTest.keyClick(servers.view, Qt.Key.Key_Return)
    assert said == [("up", "down", "bad")[row]]


def test_delete_asks_for_the_removal(servers: ServerList) -> None:
    choose(servers, 1)
    said = asked(servers, on_servers.REMOVE)
    QTest.keyClick(servers.view, Qt.Key.Key_Delete)
    assert said == ["down"]


def test_only_a_server_that_is_up_can_be_disconnected(servers: ServerList) -> None:
    said = asked(servers, on_servers.DISCONNECT)
    for row in (1, 0):
        choose(servers, row)
        QTest.keyClick(servers.view, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert said == ["up"]


def test_the_menu_offers_what_can_work(qtbot: QtBot, servers: ServerList) -> None:
    choose(servers, 0)
    looks = [
        "Show jobs",
        "Show in Traffic",
        "Connection doctor",
        "Show stderr",
        "Show findings",
        "Copy details",
    ]
    settings = ["Rules for questions…", "Folders (roots)…", "Log level", "Let an agent read this…"]
    up = ["Disconnect", "Restart", "Restart on save and call again…"]
    assert menu_of(qtbot, servers, 0) == [*up, *looks, *settings]
    choose(servers, 1)
    assert menu_of(qtbot, servers, 1) == ["Connect", *looks, *settings, "Remove"]
    adding = ["Add a server…", "By URL…", "Import…", "Export…", "Watch another client's…"]
    assert menu_of(qtbot, servers, None) == adding


def test_details_are_copied_as_text(servers: ServerList) -> None:
    choose(servers, 2)
    QTest.keyClick(servers.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "bad: Failed\nrun-bad --fast\n<b>Not found</b>"


def test_the_button_adds_a_server(qtbot: QtBot, servers: ServerList) -> None:
    button = next(one for one in servers.findChildren(QToolButton) if one.accessibleName())
    added = asked(servers, ADD_COMMAND)
    button.click()
    QTest.keyClick(servers.view, Qt.Key.Key_Insert)
    assert added == [(), ()]


def test_an_error_is_never_markup_in_a_tool_tip(qtbot: QtBot, servers: ServerList) -> None:
    place = servers.view.visualRect(servers.view.model().index(2, 0)).center()
    event = QHelpEvent(QEvent.Type.ToolTip, place, servers.view.viewport().mapToGlobal(place))
    servers.view.viewportEvent(event)
    assert "&lt;b&gt;Not found&lt;/b&gt;" in QToolTip.text()
    QToolTip.hideText()
    qtbot.wait(1)


@pytest.mark.parametrize("state", list(ServerState))
def test_every_state_can_be_painted(
    servers: ServerList, source: FakeServers, state: ServerState
) -> None:
    before = servers.grab().toImage()
    source.held[1] = source.held[1]._replace(state=state, tools=())
    model = model_of(servers)
    model.apply(frozenset({"down"}))
    is_same = servers.grab().toImage() == before
    assert is_same is (state is ServerState.IDLE)


def test_what_is_known_of_a_server_fits_into_two_lines_at_the_first_width(
    servers: ServerList,
) -> None:
    font = servers.font()
    lines = wrapped("33 tools · 2026-07-28 · stdio", font, 150, 2)
    metrics = QFontMetrics(font)
    assert len(lines) == 2
    assert " ".join(lines) == "33 tools · 2026-07-28 · stdio"
    assert all(metrics.horizontalAdvance(line) <= 150 for line in lines)


def test_text_beyond_the_last_line_stays_on_it_to_be_elided(servers: ServerList) -> None:
    text = "This program could not be started because it is not there " * 4
    first, rest = wrapped(text, servers.font(), 150, 2)
    assert f"{first} {rest}" == text.strip()
    assert wrapped("", servers.font(), 150, 2) == ()


def test_a_row_has_room_for_name_and_two_lines(servers: ServerList) -> None:
    height = servers.view.visualRect(servers.view.model().index(0, 0)).height()
    assert height >= 2.6 * servers.fontMetrics().height()


def action_of(servers: ServerList, message: str) -> QAction:
    return next(a for a in servers.findChildren(QAction) if a.text().replace("&", "") == message)


def test_rules_and_folders_of_the_chosen_server_are_asked_for(servers: ServerList) -> None:
    choose(servers, 1)
    said = asked(servers, on_servers.RULES), asked(servers, on_servers.ROOTS)
    action_of(servers, "Rules for questions…").trigger()
    action_of(servers, "Folders (roots)…").trigger()
    assert said == (["down"], ["down"])


def test_the_log_level_that_is_asked_for_is_ticked_and_another_can_be_chosen(
    qtbot: QtBot, servers: ServerList, source: FakeServers
) -> None:
    chatty = ServerSettings(log_level="debug")
    source.held[0] = source.held[0]._replace(own_settings=chatty)
    model = model_of(servers)
    model.apply(frozenset({"up"}))
    choose(servers, 0)
    menu_of(qtbot, servers, 0)
    levels = servers.findChild(LevelMenu)
    assert isinstance(levels, LevelMenu)
    ticked = [action.text() for action in levels.actions() if action.isChecked()]
    assert ticked == ["debug"]
    for message, level in (("error", "error"), ("Server default", None)):
        with qtbot.waitSignal(servers.log_level_requested) as emitted:
            action_of(servers, message).trigger()
        assert emitted.args == ["up", level]


def test_tasks_and_resources_are_offered_where_the_server_offers_them(
    qtbot: QtBot, servers: ServerList, source: FakeServers
) -> None:
    resource = Resource("demo://a&b", "a", None, None, None, None, {})
    source.held[0] = source.held[0]._replace(
        revision="2025-11-25",
        capabilities={"tasks": {"list": {}}, "resources": {"subscribe": True}},
        resources=(resource,),
        resource_updates=(ResourceUpdates("demo://a&b", 2, 1.7e9),),
    )
    model_of(servers).apply(frozenset({"up"}))
    choose(servers, 0)
    assert {"Resource updates", "Tasks on the server…"} <= set(menu_of(qtbot, servers, 0))
    subscribed, listed = heard(servers.subscription_requested), asked(servers, on_servers.TASKS)
    menu = servers.findChild(ResourceMenu)
    assert menu is not None
    (action,) = menu.actions()
    assert action.text().startswith("demo://a&&b\t2 updates, ")
    assert not action.isChecked()
    action.trigger()
    next(
        each for each in servers.view.actions() if each.text() == "&Tasks on the server…"
    ).trigger()
    assert (subscribed, listed) == ([("up", "demo://a&b", True)], ["up"])


def keep(servers: ServerList, *names: str, **changes: Any) -> None:
    model_of(servers).set_catalogue(
        {name: CatalogueEntry(server(name).definition, **changes) for name in names}
    )


def test_several_servers_are_connected_and_disconnected_at_once(servers: ServerList) -> None:
    connected = asked(servers, on_servers.CONNECT)
    disconnected = asked(servers, on_servers.DISCONNECT)
    servers.view.selectAll()
    action_of(servers, "Connect").trigger()
    action_of(servers, "Disconnect").trigger()
    assert (connected, disconnected) == (["down", "bad"], ["up"])
    assert not action_of(servers, "Connection doctor").isEnabled()


@pytest.mark.parametrize(
    ("text", "command", "expected"),
    [
        ("Edit…", on_servers.EDIT, "down"),
        ("Clone", on_servers.CLONE, "down"),
        ("Connection doctor", on_servers.DOCTOR, "down"),
        ("Show stderr", on_servers.STDERR, "down"),
        ("Disable", on_servers.DISABLE, "down"),
        ("Connect at start", on_servers.AT_START, ("down", True)),
        ("Move up", on_servers.UP, "down"),
        ("Move down", on_servers.DOWN, "down"),
    ],
)
def test_each_request_about_a_saved_server_is_reported(
    servers: ServerList, text: str, command: Command, expected: object
) -> None:
    keep(servers, "up", "down", "bad")
    choose(servers, 1)
    said = asked(servers, command)
    action_of(servers, text).trigger()
    assert said == [expected]


def test_servers_are_moved_by_keys_within_their_like(servers: ServerList) -> None:
    keep(servers, "up", "down")
    up, down = asked(servers, on_servers.UP), asked(servers, on_servers.DOWN)
    for row in range(3):
        choose(servers, row)
        for key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            QTest.keyClick(servers.view, key, Qt.KeyboardModifier.ControlModifier)
    assert (up, down) == (["down"], ["up"])


def test_a_server_that_is_not_saved_can_be_kept(servers: ServerList) -> None:
    keep(servers, "up")
    choose(servers, 1)
    said = asked(servers, on_servers.KEEP)
    QTest.keyClick(
        servers.view,
        Qt.Key.Key_S,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier,
    )
    assert said == ["down"]


def test_what_can_be_done_follows_the_state_of_the_selected_server(
    servers: ServerList, source: FakeServers
) -> None:
    choose(servers, 1)
    assert action_of(servers, "Connect").isEnabled()
    source.held[1] = source.held[1]._replace(state=ServerState.CONNECTING)
    model_of(servers).apply(frozenset({"down"}))
    assert not action_of(servers, "Connect").isEnabled()
    assert action_of(servers, "Restart").isEnabled()


def test_a_server_that_waits_can_be_left_alone(qtbot: QtBot, servers: ServerList) -> None:
    source = FakeServers(server("a", state=ServerState.WAITING, retry=Retry(1, 5, 0.0)))
    model_of(servers).set_source(source)
    choose(servers, 0)
    assert menu_of(qtbot, servers, 0)[:2] == ["Connect", "Stop restarting"]
    said = asked(servers, on_servers.DISCONNECT)
    action_of(servers, "Stop restarting").trigger()
    assert said == ["a"]


def test_tab_goes_from_the_filter_to_what_it_found(servers: ServerList) -> None:
    model_of(servers).set_source(FakeServers(*(server(f"s{number}") for number in range(50))))
    servers.show()
    servers.filter.setFocus()
    QTest.keyClick(servers.filter, Qt.Key.Key_Tab)
    assert servers.focusWidget() is servers.view
    QTest.keyClick(servers.view, Qt.Key.Key_Backtab)
    assert servers.focusWidget() is servers.filter


def test_a_server_that_waits_for_its_turn_can_be_left_out(
    qtbot: QtBot, servers: ServerList
) -> None:
    model_of(servers).set_source(FakeServers(server("a")))
    model_of(servers).set_turns(frozenset("a"))
    choose(servers, 0)
    assert menu_of(qtbot, servers, 0)[:2] == ["Connect", "Stop waiting"]
    said = asked(servers, on_servers.DISCONNECT)
    action_of(servers, "Stop waiting").trigger()
    assert said == ["a"]


def test_many_servers_can_be_filtered_and_escape_shows_all(
    servers: ServerList, source: FakeServers
) -> None:
    assert servers.filter.isHidden()
    source.held += [server(f"number-{at}") for at in range(MANY)]
    model_of(servers).apply(frozenset({each.name for each in source.held}))
    assert not servers.filter.isHidden()
    QTest.keyClicks(servers.filter, "NUMBER-1")
    shown = [servers.shown.index(row, 0).data() for row in range(servers.shown.rowCount())]
    assert shown == ["number-1", "number-10", "number-11"]
    choose(servers, 0)
    assert not action_of(servers, "Move up").isEnabled()
    QTest.keyClick(servers.filter, Qt.Key.Key_Escape)
    assert servers.shown.rowCount() == MANY + 3


@pytest.mark.parametrize(
    ("changes", "icon"),
    [
        ({"sign_in": SignIn("a", "https://x")}, "server-sign-in"),
        ({"health": Health(0.0, 0.1)}, "server-silent"),
        ({"error": ErrorDetails("No list")}, "server-connected"),
    ],
)
def test_what_needs_the_user_is_seen_in_the_icon_and_in_the_colour_of_the_text(
    changes: dict[str, Any], icon: str
) -> None:
    face = face_of(ServerRow(server("a", state=ServerState.CONNECTED, **changes)))
    assert (face.icon, face.is_trouble) == (icon, True)
