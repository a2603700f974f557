"""Server text where Qt would guess markup, and column widths."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QTextDocument
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.controls import EmptyNote, plain_tip, typed_text
from mcp_progress_monitor.gui.jobs.table import fitted
from mcp_progress_monitor.gui.theme import Appearance, contrast


def test_a_tip_reads_as_what_was_sent() -> None:
    sent = "<img src='file:///etc/passwd'> & <b>bold</b>\nsecond line"
    document = QTextDocument()
    document.setHtml(plain_tip(sent))
    assert document.toPlainText() == sent


def test_a_tip_is_bounded_and_nothing_makes_no_tip() -> None:
    assert len(plain_tip("x" * 100_000)) < 2100
    assert plain_tip("") == ""


def test_columns_keep_their_widths_where_there_is_room() -> None:
    assert fitted({0: 200, 3: 100}, 300) == {0: 200, 3: 100}


def test_columns_shrink_alike_down_to_a_least_share() -> None:
    assert fitted({0: 200, 3: 100}, 240) == {0: 160, 3: 80}
    assert fitted({0: 200, 3: 100}, 10) == {0: 90, 3: 45}
    assert fitted({}, 10) == {}


@pytest.mark.parametrize("text", ["no\u00a0break", "two\nlines", " \u2009thin", "emoji \U0001f600"])
def test_what_was_typed_comes_out_of_a_document_exactly(text: str) -> None:
    document = QTextDocument()
    document.setPlainText(text)
    assert typed_text(document) == text


def test_the_note_of_an_empty_pane_can_be_read_in_every_theme(
    qtbot: QtBot, appearance: Appearance
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    note = EmptyNote("Nothing <b>yet", appearance, parent)
    for base, text in (("#ffffff", "#000000"), ("#1d1f22", "#e4e6e9")):
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Base, QColor(base))
        palette.setColor(QPalette.ColorRole.Text, QColor(text))
        appearance.follow(palette)
        assert contrast(note.palette().color(QPalette.ColorRole.WindowText), QColor(base)) >= 4.5
    assert note.textFormat() is Qt.TextFormat.PlainText
