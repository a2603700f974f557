"""What is said of a recording: once, plainly, and within the window's width."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.recordings.bars import RecordingBanner
from mcp_progress_monitor.gui.theme import Appearance
from tests.gui.exposure import expose

CUT = ErrorDetails("The end of the recording is cut off", "line 12")


@pytest.fixture
def banner(qtbot: QtBot, appearance: Appearance) -> RecordingBanner:
    made = RecordingBanner(Path("/tmp/<b>night.mcprec"), appearance)  # noqa: S108
    expose(qtbot, made, 900, 30)
    made.show_facts(1_700_000_000.0, 252.0, 12_345_678)
    return made


def shown_text(banner: RecordingBanner) -> str:
    return " ".join(label.text() for label in banner.findChildren(QLabel) if label.isVisible())


def test_name_date_length_and_size_are_reported(banner: RecordingBanner) -> None:
    said = shown_text(banner)
    for part in ("<b>night.mcprec", "2023-11-1", "4 min 12 s", "12.3 MB", "read-only"):
        assert part in said
    assert not banner.details.isVisible()


def test_a_date_that_is_not_known_is_said_to_be_so(banner: RecordingBanner) -> None:
    banner.show_facts(None, 0.0, 0)
    assert "date unknown" in shown_text(banner)


def test_all_of_it_is_plain_text(banner: RecordingBanner) -> None:
    formats = {label.textFormat() for label in banner.findChildren(QLabel) if label.text()}
    assert formats == {Qt.TextFormat.PlainText}


def test_the_first_error_is_shown_and_the_others_are_counted(
    qtbot: QtBot, banner: RecordingBanner
) -> None:
    banner.show_errors([CUT])
    assert CUT.what in shown_text(banner)
    assert banner.details.text() == "Details"
    banner.show_errors([CUT, ErrorDetails("Other"), ErrorDetails("Third")])
    assert "2 more" in banner.details.text()
    with qtbot.waitSignal(banner.errors_opened) as signal:
        banner.details.click()
    assert signal.args == [(CUT, ErrorDetails("Other"), ErrorDetails("Third"))]


def test_a_narrow_window_cuts_text_and_does_not_grow(qtbot: QtBot, banner: RecordingBanner) -> None:
    banner.show_errors([ErrorDetails("x" * 5000)])
    assert banner.minimumSizeHint().width() < 500
    banner.resize(500, 30)
    qtbot.waitUntil(lambda: "…" in shown_text(banner))
