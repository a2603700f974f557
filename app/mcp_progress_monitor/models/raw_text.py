"""Bytes as text one can read and trust, page by page, so that 64 MB never freeze a view."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mcp_progress_monitor.text import visible

PAGE: Final = 32 * 1024
"""Bytes of one page; a view lays such a line out in some tens of milliseconds."""

_UNUSUAL = re.compile(r"[^\x20-\x7e]")
_CONTINUATION: Final = range(0x80, 0xC0)
_FIRST_ESCAPED: Final = 0xDC80
_LAST_ESCAPED: Final = 0xDCFF


class Page(NamedTuple):
    """The bytes `start` to `end` as `text`.

    `escapes` are the stretches of the text, as characters from and to, that stand for something
    else: an invisible character, or a byte that is no UTF-8.
    """

    start: int
    end: int
    text: str
    escapes: tuple[tuple[int, int], ...]


def page_at(raw: bytes, start: int, *, keep_lines: bool = False, size: int = PAGE) -> Page:
    """Return the page of `raw` that begins at byte `start`; it never ends within a character.

    With `keep_lines` line ends and tabs stay what they are, for text of many lines.
    """
    end = min(start + size, len(raw))
    back = 0
    while end < len(raw) and back < 3 and raw[end] in _CONTINUATION:
        end, back = end - 1, back + 1
    text, escapes = _readable(raw[start:end], "\n\t" if keep_lines else "")
    return Page(start, end, text, escapes)


def page_before(raw: bytes, start: int, *, keep_lines: bool = False, size: int = PAGE) -> Page:
    """Return the page that ends where the one at `start` begins."""
    begin = max(0, start - size)
    back = 0
    while begin and back < 3 and raw[begin] in _CONTINUATION:
        begin, back = begin - 1, back + 1
    text, escapes = _readable(raw[begin:start], "\n\t" if keep_lines else "")
    return Page(begin, start, text, escapes)


def _readable(raw: bytes, kept: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    text = raw.decode(errors="surrogateescape")
    parts: list[str] = []
    escapes: list[tuple[int, int]] = []
    length = done = 0
    for match in _UNUSUAL.finditer(text):
        character = match[0]
        shown = character if character in kept else _escaped(character)
        if shown == character:
            continue
        before = text[done : match.start()]
        parts += (before, shown)
        length += len(before)
        escapes.append((length, length + len(shown)))
        length += len(shown)
        done = match.end()
    parts.append(text[done:])
    return "".join(parts), tuple(escapes)


def _escaped(character: str) -> str:
    code = ord(character)
    if _FIRST_ESCAPED <= code <= _LAST_ESCAPED:
        return f"\\x{code - 0xDC00:02x}"
    return visible(character)
