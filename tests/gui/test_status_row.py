"""The status row shows saved files beside the counts, and opens them."""

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel, QMainWindow, QToolButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui import status_row
from mcp_progress_monitor.gui.status_row import SavedRow

_PATH = Path("/tmp/a") / "night.html"  # noqa: S108  # only shown


@pytest.fixture
def window(qtbot: QtBot) -> QMainWindow:
    made = QMainWindow()
    qtbot.addWidget(made)
    made.resize(900, 300)
    made.statusBar().addWidget(QLabel("1 of 1 connected · 38 msg/s", made), 1)
    made.show()
    return made


def _no_error(error: ErrorDetails) -> None:
    raise AssertionError(error)


def _buttons(row: SavedRow) -> dict[str, QToolButton]:
    return {each.text(): each for each in row.findChildren(QToolButton) if each.isVisible()}


def test_what_was_saved_covers_no_counts_and_goes_after_a_while(
    qtbot: QtBot, window: QMainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_row, "SHOWN_MS", 50)
    row = SavedRow(window.statusBar(), _no_error)
    row.offer(_PATH, "without secrets")
    qtbot.waitUntil(lambda: row.width() > 0)
    counts = next(
        each for each in window.statusBar().findChildren(QLabel) if "msg/s" in each.text()
    )
    assert counts.isVisible()
    assert window.statusBar().currentMessage() == ""
    qtbot.waitUntil(lambda: not row.geometry().intersects(counts.geometry()))
    assert (row.text, row.toolTip()) == ("Saved night.html, without secrets", str(_PATH))
    qtbot.waitUntil(lambda: not row.isVisible())
    assert row.text == ""


def test_a_saved_file_is_opened_and_shown_in_its_folder(
    window: QMainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    reported: list[ErrorDetails] = []

    def open_url(url: QUrl) -> bool:
        opened.append(url.toLocalFile())
        return len(opened) == 1

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    row = SavedRow(window.statusBar(), reported.append)
    row.offer(_PATH, "without secrets")
    _buttons(row)["Open"].click()
    assert reported == []
    _buttons(row)["Show in folder"].click()
    assert list(map(Path, opened)) == [_PATH, _PATH.parent]
    assert [error.where for error in reported] == [str(_PATH.parent)]


def test_what_is_no_file_has_no_buttons(window: QMainWindow) -> None:
    row = SavedRow(window.statusBar(), _no_error)
    row.offer(_PATH, "without secrets")
    row.say("Copied")
    assert row.text == "Copied"
    assert _buttons(row) == {}
