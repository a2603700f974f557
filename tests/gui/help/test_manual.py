"""The manual in the window: every page opens, links lead somewhere, words are found."""

import pytest
from PySide6.QtCore import QUrl
from pytestqt.qtbot import QtBot

from mcp_progress_monitor import paths
from mcp_progress_monitor.gui.help.manual import ManualWindow, pages


@pytest.fixture
def manual(qtbot: QtBot) -> ManualWindow:
    made = ManualWindow()
    qtbot.addWidget(made)
    return made


def shown(manual: ManualWindow) -> list[str]:
    rows = range(manual.list.count())
    return [item.text() for row in rows if not (item := manual.list.item(row)).isHidden()]


def test_every_page_of_the_manual_is_listed_and_has_text(manual: ManualWindow) -> None:
    files = {page.path for page in pages(paths.manual())}
    assert files == set(paths.manual().rglob("*.md"))
    for row in range(manual.list.count()):
        manual.list.setCurrentRow(row)
        assert len(manual.page.toPlainText()) > 200


def test_a_link_leads_to_its_page_and_place(manual: ManualWindow) -> None:
    manual.page.anchorClicked.emit(QUrl("recordings.md#replay"))
    assert manual.list.currentItem().text().startswith("Recordings")
    assert manual.page.textCursor().block().text() == "Replay"


def test_pages_are_found_by_their_text(manual: ManualWindow) -> None:
    manual.search.setText("claude desktop")
    assert 0 < len(shown(manual)) < manual.list.count()
    assert manual.list.currentItem().text() in shown(manual)
    manual.search.setText("Server")
    manual.search.returnPressed.emit()
    first = manual.page.textCursor().position()
    assert manual.page.textCursor().selectedText().casefold() == "server"
    manual.search.returnPressed.emit()
    assert manual.page.textCursor().position() != first
