"""The dialog before a server is restarted on save: files, calls, and a warning."""

import os
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.save_loops import SavePlan
from mcp_progress_monitor.engine.source_files import MOST_FILES, SOURCES
from mcp_progress_monitor.gui.servers.save_dialog import SaveDialog
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.offers import Tool
from mcp_progress_monitor.snapshots.definitions import FileWatch, StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot
from tests.gui.exposure import expose

FILES = FileWatch(is_on=True, paths=("/srv/src",), patterns=SOURCES)
READ = Call("s", "tools/call", {"name": "read", "arguments": {}})
DROP = Call("s", "tools/call", {"name": "drop", "arguments": {}})


def tool(name: str, **hints: bool) -> Tool:
    return Tool(name, None, None, {}, "", {"name": name, "annotations": hints})


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance) -> SaveDialog:
    definition = StdioDefinition(name="s", command="x")
    tools = (tool("read", readOnlyHint=True), tool("drop"), tool("add", destructiveHint=False))
    server = ServerSnapshot("s", definition, tools=tools)
    saved = (("Read it", (READ,)), ("All in nightly", (READ, DROP)))
    return expose(qtbot, SaveDialog(server, FILES, saved, appearance))


def test_it_watches_once_the_files_are_counted(dialog: SaveDialog) -> None:
    assert not dialog.watch.isEnabled()
    dialog.show_count(FILES, 12)
    assert dialog.watch.isEnabled()
    assert dialog.found.text() == "12 source files"


def test_without_files_a_folder_has_to_be_chosen(dialog: SaveDialog) -> None:
    dialog.show_count(FILES, 0)
    assert not dialog.watch.isEnabled()
    assert "Choose the folder" in dialog.found.text()


def test_too_many_files_are_refused(dialog: SaveDialog) -> None:
    dialog.show_count(FILES, MOST_FILES + 1)
    assert not dialog.watch.isEnabled()
    assert dialog.found.text() == "More than 5,000 files. Choose a smaller folder."


def test_another_folder_is_counted_and_an_earlier_count_does_not_matter(
    qtbot: QtBot, dialog: SaveDialog
) -> None:
    with qtbot.waitSignal(dialog.count_requested) as asked:
        dialog.paths.setText("/srv/other")
    assert asked.args is not None
    assert asked.args[0].paths == ("/srv/other",)
    dialog.show_count(FILES, 12)
    assert not dialog.watch.isEnabled()


@pytest.mark.parametrize(("place", "names"), [(0, ["drop"]), (1, []), (2, ["drop"]), (3, [])])
def test_it_warns_of_tools_that_may_destroy(
    dialog: SaveDialog, place: int, names: list[str]
) -> None:
    dialog.again.setCurrentIndex(place)
    assert dialog.warning.isVisible() == bool(names)
    assert all(name in dialog.warning.text() for name in names)
    assert "read" not in dialog.warning.text().replace("read-only", "")
    assert "add" not in dialog.warning.text()


@pytest.mark.parametrize(("place", "calls"), [(0, None), (1, (READ,)), (2, (READ, DROP)), (3, ())])
def test_the_plan_is_what_was_chosen(
    qtbot: QtBot, dialog: SaveDialog, place: int, calls: Any
) -> None:
    dialog.again.setCurrentIndex(place)
    dialog.show_count(FILES, 1)
    with qtbot.waitSignal(dialog.plan_accepted) as accepted:
        dialog.watch.click()
    assert accepted.args == ["s", SavePlan(FILES, calls)]


def test_several_places_are_divided_as_in_a_path(dialog: SaveDialog) -> None:
    dialog.paths.setText(os.pathsep.join((str(Path("/a")), " ", str(Path("/b")))))
    assert dialog.files.paths == (str(Path("/a")), str(Path("/b")))


def test_a_saved_call_of_a_tool_that_is_not_listed_is_warned_of(
    qtbot: QtBot, appearance: Appearance
) -> None:
    server = ServerSnapshot("s", StdioDefinition(name="s", command="x"))
    saved = (("Drop it", (DROP,)), ("Read it", (Call("s", "resources/read", {"uri": "a:b"}),)))
    dialog = expose(qtbot, SaveDialog(server, FILES, saved, appearance))
    dialog.again.setCurrentIndex(1)
    assert "drop" in dialog.warning.text()
    dialog.again.setCurrentIndex(2)
    assert not dialog.warning.isVisible()
