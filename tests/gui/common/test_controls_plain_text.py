"""Server text where Qt would guess markup, and column widths."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QTextDocument

from mcp_progress_monitor.gui.common.controls import plain_tip, typed_text
from mcp_progress_monitor.gui.jobs.table import fitted


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


def test_columns_shrink_alike_down_to_six_tenths() -> None:
    assert fitted({0: 200, 3: 100}, 240) == {0: 160, 3: 80}
    assert fitted({0: 200, 3: 100}, 10) == {0: 120, 3: 60}
    assert fitted({}, 10) == {}


@pytest.mark.parametrize("text", ["no\u00a0break", "two\nlines", " \u2009thin", "emoji \U0001f600"])
def test_what_was_typed_comes_out_of_a_document_exactly(text: str) -> None:
    document = QTextDocument()
    document.setPlainText(text)
    assert typed_text(document) == text
