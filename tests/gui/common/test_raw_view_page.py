"""Bytes are shown whole, page after page, nothing invisible left in them."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.common.raw_view import page_at, page_before


def test_invalid_bytes_and_control_characters_are_escaped_and_marked() -> None:
    page = page_at(b"ok\x1b\xff!", 0)
    assert page.text == r"ok\x1b\xff!"
    assert [page.text[start:end] for start, end in page.escapes] == [r"\x1b", r"\xff"]


def test_visible_text_of_other_scripts_stays() -> None:
    page = page_at("über 日本".encode(), 0)
    assert (page.text, page.escapes) == ("über 日本", ())


def test_line_ends_stay_where_lines_are_wanted() -> None:
    assert page_at(b"a\nb", 0).text == r"a\nb"
    assert page_at(b"a\nb", 0, keep_lines=True).text == "a\nb"


@given(st.text(), st.integers(4, 12))
def test_pages_end_between_characters_and_hold_everything(text: str, size: int) -> None:
    raw = text.encode(errors="replace")
    pos, parts = 0, []
    while pos < len(raw):
        page = page_at(raw, pos, size=size)
        assert page.end > pos
        parts.append(raw[page.start : page.end].decode())
        pos = page.end
    assert "".join(parts).encode() == raw


@given(st.binary(min_size=1), st.integers(4, 12))
def test_going_back_reaches_the_beginning(raw: bytes, size: int) -> None:
    pos = len(raw)
    while pos:
        page = page_before(raw, pos, size=size)
        assert page.end == pos
        assert page.start < pos
        pos = page.start
