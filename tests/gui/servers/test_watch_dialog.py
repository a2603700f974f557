"""Which servers of clients are watched: ticked, shown as changes, and only then asked for."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTreeWidgetItem
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE, CURSOR
from mcp_progress_monitor.catalogue.tap_install import ClientServer
from mcp_progress_monitor.catalogue.taps import EntryTap, Launch
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.servers.watch_dialog import WatchDialog, WatchRequest
from mcp_progress_monitor.gui.theme import Appearance
from tests.gui.exposure import expose


def server(name: str, *, is_on: bool = False, why_not: str = "") -> ClientServer:
    tap = EntryTap(sys.executable, 3) if is_on else None
    return ClientServer(
        CURSOR, Path("/h/mcp.json"), name, ("mcpServers", name), Launch("x"), tap, why_not
    )


PLAIN, ON = server("plain"), server("on", is_on=True)
WEB = server("web", why_not="it is reached by a URL")
OTHER = ClientServer(CLAUDE_CODE, Path("/h/.claude.json"), "<b>o</b>", ("x",), Launch("y"))


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance) -> WatchDialog:
    made = WatchDialog(appearance)
    qtbot.addWidget(made)
    made.show()
    return made


def children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    found = (item.child(row) for row in range(item.childCount()))
    return [each for each in found if each is not None]


def previews(dialog: WatchDialog) -> list[WatchRequest]:
    heard: list[WatchRequest] = []
    dialog.preview_requested.connect(heard.append)
    return heard


def test_servers_are_shown_by_file_with_a_tick_for_each_that_is_watched(
    dialog: WatchDialog,
) -> None:
    dialog.show_servers([PLAIN, ON, WEB, OTHER], {ON.key: [0.0]}, [])
    root = dialog.tree.invisibleRootItem()
    assert [top.text(0) for top in children(root)] == ["Cursor", "Claude Code"]
    first = children(children(root)[0])
    assert [each.text(0) for each in first] == ["plain", "on", "web"]
    assert [each.checkState(0) for each in first[:2]] == [
        Qt.CheckState.Unchecked,
        Qt.CheckState.Checked,
    ]
    assert not first[2].flags() & Qt.ItemFlag.ItemIsUserCheckable
    assert "cannot be watched" in first[2].text(1)
    assert first[1].text(1).startswith("watched, running since")


def test_who_records_nothing_is_reported_what_that_means(dialog: WatchDialog) -> None:
    dialog.show_servers([PLAIN], {}, [], is_recorded=False)
    assert "Recording is turned off" in dialog.about.text()
    dialog.show_servers([PLAIN], {}, [])
    assert "Recording is turned off" not in dialog.about.text()


def test_each_tick_asks_for_the_changes(dialog: WatchDialog) -> None:
    heard = previews(dialog)
    dialog.show_servers([PLAIN, ON], {}, [])
    dialog.set_ticked("plain", is_on=True)
    dialog.set_ticked("on", is_on=False)
    dialog.set_ticked("plain", is_on=False)
    assert heard == [
        WatchRequest(),
        WatchRequest((PLAIN,)),
        WatchRequest((PLAIN,), (ON,)),
        WatchRequest((), (ON,)),
    ]


def test_nothing_is_changed_before_the_changes_were_shown(
    dialog: WatchDialog, qtbot: QtBot
) -> None:
    heard: list[WatchRequest] = []
    dialog.change_requested.connect(heard.append)
    dialog.show_servers([PLAIN], {}, [])
    dialog.set_ticked("plain", is_on=True)
    button = dialog.change
    assert not button.isEnabled()
    dialog.show_preview(WatchRequest(), [])  # of what was ticked before
    assert not button.isEnabled()
    dialog.show_preview(WatchRequest((PLAIN,)), ["-a", "+b\x1b[31m"], ["Restart it."])
    assert dialog.note.text() == "After the change: Restart it."
    assert dialog.preview.toPlainText() == "-a\n+b\\x1b[31m"
    assert button.text() == "&Change 1 server"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert heard == [WatchRequest((PLAIN,))]
    assert not button.isEnabled()


def test_the_server_that_it_was_opened_for_is_ticked(dialog: WatchDialog) -> None:
    dialog.show_servers([PLAIN, ON, WEB], {}, [], wanted=[PLAIN, ON, WEB])
    assert dialog.request() == WatchRequest((PLAIN,))
    assert [item.text(0) for item in dialog.tree.selectedItems()] == ["plain"]


def test_a_server_that_is_watched_can_be_unticked(dialog: WatchDialog) -> None:
    dialog.show_servers([PLAIN, ON], {}, [], wanted=[ON])
    assert dialog.request() == WatchRequest()
    assert "Untick it to stop watching" in dialog.note.text()


def test_why_a_server_cannot_be_ticked_is_reported(dialog: WatchDialog) -> None:
    dialog.show_servers([PLAIN, WEB], {}, [], wanted=[WEB])
    assert dialog.request() == WatchRequest()
    assert dialog.note.text() == "web: it is reached by a URL."


def test_what_is_missing_or_unreadable_is_reported(dialog: WatchDialog) -> None:
    dialog.show_servers([], {}, [])
    assert "No servers of known clients" in dialog.note.text()
    dialog.show_servers([PLAIN], {}, [], is_missing=True)
    assert "No client on this computer has this server" in dialog.note.text()
    dialog.show_servers([PLAIN], {}, [ErrorDetails("It is no JSON", "/h/f.json")])
    assert "It is no JSON (/h/f.json)" in dialog.note.text()


def test_a_refusal_and_an_outcome_are_shown(dialog: WatchDialog) -> None:
    dialog.show_servers([PLAIN], {}, [])
    dialog.show_refusal(ErrorDetails("The file has changed in the meantime"))
    assert dialog.note.text() == "The file has changed in the meantime"
    dialog.show_done("Watched\nRestart it.")
    assert dialog.note.text() == "Watched\nRestart it."
    dialog.show_done("Watched", ErrorDetails("The disk is full"))
    assert dialog.note.text() == "Watched\nThe disk is full"


def test_the_current_server_says_what_can_be_done_about_it(dialog: WatchDialog) -> None:
    dialog.show_servers([PLAIN, WEB], {}, [])
    (top,) = children(dialog.tree.invisibleRootItem())
    dialog.tree.setCurrentItem(children(top)[1])
    assert dialog.note.text() == "web: it is reached by a URL."


def test_progress_is_requested_where_the_client_does_not_ask(dialog: WatchDialog) -> None:
    dialog.show_servers([PLAIN], {}, [], wanted=[PLAIN])
    heard = previews(dialog)
    dialog.requests_progress.click()
    assert heard == [WatchRequest((PLAIN,), (), requests_progress=True)]
    assert dialog.requests_progress.toolTip()


def test_enter_changes_no_file(qtbot: QtBot, appearance: Appearance) -> None:
    dialog = WatchDialog(appearance)
    expose(qtbot, dialog)
    assert not dialog.change.isDefault()
