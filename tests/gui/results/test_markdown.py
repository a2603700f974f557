"""Markdown of a server rendered: nothing is fetched or run, and links show where they lead."""

import time

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.results.markdown import MOST, MarkdownView, may_be_rendered
from mcp_progress_monitor.gui.theme import Appearance


@pytest.fixture
def view(qtbot: QtBot, appearance: Appearance) -> MarkdownView:
    made = MarkdownView(appearance)
    qtbot.addWidget(made)
    made.resize(600, 300)
    made.show()
    return made


def test_headings_lists_and_tables_are_rendered(view: MarkdownView) -> None:
    view.show_markdown("# Title\n\n- **one**\n\n| a | b |\n| - | - |\n| 1 | 2 |\n")
    text = view.toPlainText()
    assert "Title" in text
    assert not set("#*|") & set(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[bank](https://evil.example/x)", "bank (https://evil.example/x)"),
        ("[a **b** c](https://e.example)", "a b c (https://e.example)"),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
        ("![logo](https://e.example/a.png)", "[image: https://e.example/a.png]"),
        ("![x](file:///etc/passwd)", "[image: file:///etc/passwd]"),
        ("[a](http://b.example/\u202egpj)", "a (http://b.example/\\u202egpj)"),
        ("a\u202eb", "a\\u202eb"),
        ("<b>x</b><script>y</script>", "<b>x</b><script>y</script>"),
        ('<img src="https://e.example/a.png">', '<img src="https://e.example/a.png">'),
    ],
)
def test_nothing_hides_where_it_leads(view: MarkdownView, text: str, shown: str) -> None:
    view.show_markdown(text)
    assert view.toPlainText().strip() == shown


def test_two_links_side_by_side_are_two(view: MarkdownView) -> None:
    view.show_markdown("[a](http://a.example)[b](http://b.example) ![c](d)[e](http://e.example)")
    assert view.toPlainText().strip() == (
        "a (http://a.example)b (http://b.example) [image: d]e (http://e.example)"
    )


def test_no_image_is_loaded_whatever_its_address(view: MarkdownView) -> None:
    view.show_markdown("![x](data:image/png;base64,iVBORw0KGgo=) ![y](file:///etc/hostname)")
    kind = QTextDocument.ResourceType.ImageResource.value
    for address in ("data:image/png;base64,iVBORw0KGgo=", "file:///etc/hostname", "https://a"):
        assert view.document().resource(kind, QUrl(address)) is None
        assert view.loadResource(kind, QUrl(address)) is None


def test_a_click_on_a_link_opens_nothing_but_is_reported(view: MarkdownView, qtbot: QtBot) -> None:
    view.show_markdown("[a link that is long enough to be hit](https://e.example/a?b=c)")
    source = view.source()
    with qtbot.waitSignal(view.link_clicked) as clicked:
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(40, 14))
    assert clicked.args == ["https://e.example/a?b=c"]
    assert view.source() == source
    assert "hit" in view.toPlainText()


@pytest.mark.parametrize(
    "text",
    [
        "> " * 50 + "deep",
        "- " * 50 + "deep",
        "".join("  " * level + "- a\n" for level in range(300)),
        "|a" * 300 + "|\n" + "|-" * 300 + "|\n" + ("|x" * 300 + "|\n") * 10,
        "a\n\n" * 5_000,
    ],
    ids=["quotes", "lists", "indented", "table", "lines"],
)
def test_what_takes_qt_too_long_is_not_rendered(text: str) -> None:
    assert not may_be_rendered(text)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 1_000_000,
        "[a](http://x.example/y) " * 50_000,
        "![a](http://x.example/y) " * 50_000,
        "http://a.example/ " * 50_000,
        "[" * 100_000,
        "`" * 100_000,
        "*a **b " * 20_000,
        "[a](" + "x" * 100_000 + ")",
        "- a\n" * 1_900,
    ],
    ids=["prose", "links", "images", "addresses", "brackets", "ticks", "stars", "long", "list"],
)
def test_hostile_texts_are_rendered_soon(view: MarkdownView, text: str) -> None:
    assert may_be_rendered(text)
    begun = time.process_time()
    view.show_markdown(text)
    view.grab()
    assert time.process_time() - begun < 20  # they took minutes
    assert len(view.toPlainText()) < 4 * MOST
