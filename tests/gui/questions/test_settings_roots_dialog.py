"""The folders a server may use."""

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.questions.settings import RootsDialog, as_folder, as_uri
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.settings import Root
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import heard

ROOTS = (Root(uri="file:///srv/my%20data", name="Data"), Root(uri="file://host/share"))


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance) -> RootsDialog:
    made = RootsDialog("demo", ROOTS, appearance)
    return expose(qtbot, made)


def shown_text(dialog: RootsDialog, row: int, column: int) -> str:
    item = dialog.table.item(row, column)
    assert item is not None
    return item.text()


def test_folders_of_this_machine_are_shown_as_paths(dialog: RootsDialog) -> None:
    assert [shown_text(dialog, row, 0) for row in (0, 1)] == ["/srv/my data", "file://host/share"]
    assert shown_text(dialog, 0, 1) == "Data"


def test_folders_that_are_not_touched_stay_as_they_are(dialog: RootsDialog) -> None:
    said = heard(dialog.roots_chosen)
    dialog.accept()
    assert said == [("demo", ROOTS)]


def test_a_path_becomes_an_address_and_an_empty_line_nothing(dialog: RootsDialog) -> None:
    said = heard(dialog.roots_chosen)
    dialog.table.selectAll()
    remove = next(b for b in dialog.findChildren(QPushButton) if "Remove" in b.text())
    remove.click()
    dialog.add("/srv/a b", "")
    dialog.add("", "nameless")
    dialog.accept()
    assert said == [("demo", (Root(uri="file:///srv/a%20b"),))]


@pytest.mark.parametrize("entered", ["relative/path", "https://example.com/"])
def test_what_is_no_folder_is_reported_and_nothing_is_saved(
    dialog: RootsDialog, entered: str
) -> None:
    said = heard(dialog.roots_chosen)
    dialog.add(entered, "")
    dialog.accept()
    assert said == []
    assert "file://" in dialog.note.text()


@pytest.mark.parametrize(
    "uri", ["file:///a%2Fb", "file:///srv?x", "file://[", "https://a/", "file:///a%E2%80%AEb"]
)
def test_a_uri_that_no_path_can_represent_is_shown_as_a_uri(uri: str) -> None:
    assert as_folder(uri) == uri


def test_a_path_and_its_address_are_two_words_for_one(isolated_home: object) -> None:
    assert as_folder(as_uri("/srv/ä ö")) == "/srv/ä ö"
    assert as_uri("~") == as_uri(str(isolated_home))
