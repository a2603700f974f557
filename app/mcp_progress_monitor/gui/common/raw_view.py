"""Exact bytes, one page at a time, with everything invisible made visible."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QTextCursor, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QTextEdit, QWidget

from mcp_progress_monitor.formatting import number, size, visible
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, monospaced

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE: Final = 32 * 1024  # bytes of one page; laying out such a line takes some tens of milliseconds

_UNUSUAL = re.compile(r"[^\x20-\x7e]")
_CONTINUATION: Final = range(0x80, 0xC0)
_FIRST_ESCAPED: Final = 0xDC80
_LAST_ESCAPED: Final = 0xDCFF


class RawPage(NamedTuple):
    """The bytes `start` to `end` as `text`.

    `escapes` are the ranges of the text that represent something else: an invisible character, or a
    byte that is not valid UTF-8.
    """

    start: int
    end: int
    text: str
    escapes: tuple[tuple[int, int], ...]


def page_at(raw: bytes, start: int, *, keep_lines: bool = False, size: int = PAGE) -> RawPage:
    """Return the page of `raw` that begins at byte `start`; it never ends within a character.

    With `keep_lines` line ends and tabs are kept, for text of many lines.
    """
    end = min(start + size, len(raw))
    back = 0
    while end < len(raw) and back < 3 and raw[end] in _CONTINUATION:
        end, back = end - 1, back + 1
    text, escapes = _readable(raw[start:end], "\n\t" if keep_lines else "")
    return RawPage(start, end, text, escapes)


def page_before(raw: bytes, start: int, *, keep_lines: bool = False, size: int = PAGE) -> RawPage:
    """Return the page that ends where the one at `start` begins."""
    begin = max(0, start - size)
    back = 0
    while begin and back < 3 and raw[begin] in _CONTINUATION:
        begin, back = begin - 1, back + 1
    text, escapes = _readable(raw[begin:start], "\n\t" if keep_lines else "")
    return RawPage(begin, start, text, escapes)


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


_MARKED_AT_MOST: Final = 1_000


class RawView(QWidget):
    """A read-only page of text above two buttons that turn the pages of a large message.

    Showing a page costs the same however large the message is. Escapes for a control or direction
    character, or for an invalid byte, are set apart by colour.
    """

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._raw = b""
        self._keep_lines = False
        self._page = RawPage(0, 0, "", ())
        self._text = QPlainTextEdit(self)
        self._text.setReadOnly(True)
        self._text.setUndoRedoEnabled(False)
        self._text.setTabChangesFocus(True)
        self._text.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self._text.setAccessibleName("Exact bytes of the message")
        self._where = QLabel(self)
        self._previous = QPushButton("Show previous", self)
        self._previous.setToolTip("Show the previous part of the message")
        self._previous.clicked.connect(self._on_previous_clicked)
        self._more = QPushButton("Show more", self)
        self._more.setToolTip("Show the next part of the message")
        self._more.clicked.connect(self._on_more_clicked)
        self._appearance.changed.connect(self._on_appearance_changed)
        self._lay_out()
        self._use_font()
        self.show_bytes(b"")

    @property
    def text(self) -> str:
        """The visible page."""
        return self._page.text

    def show_bytes(self, raw: bytes, *, keep_lines: bool = False) -> None:
        """Show `raw` from its beginning; `keep_lines` for text of many lines."""
        self._raw = raw
        self._keep_lines = keep_lines
        self._show(page_at(raw, 0, keep_lines=keep_lines))

    def show_span(self, start: int, end: int) -> None:
        """Turn to the page with the byte `start`, and select the bytes up to `end`."""
        page = page_at(self._raw, 0, keep_lines=self._keep_lines)
        while page.end <= start < len(self._raw):
            page = page_at(self._raw, page.end, keep_lines=self._keep_lines)
        self._show(page)
        cursor = self._text.textCursor()
        cursor.setPosition(self._place_of(start))
        cursor.setPosition(self._place_of(min(end, page.end)), QTextCursor.MoveMode.KeepAnchor)
        self._text.setTextCursor(cursor)
        self._text.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _place_of(self, byte: int) -> int:
        """Return where a byte of the page is in its text, as Qt counts: in units of UTF-16."""
        before = self._raw[self._page.start : byte]
        text, _ = _readable(before, "\n\t" if self._keep_lines else "")
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange):
            self._use_font()

    def _lay_out(self) -> None:
        self._bar = QWidget(self)
        pages = QHBoxLayout(self._bar)
        pages.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        pages.addWidget(self._previous)
        pages.addWidget(self._more)
        pages.addWidget(self._where, 1)
        in_column((self._text, 1), self._bar, of=self, margins=0, spacing=0)

    def _use_font(self) -> None:
        self._text.setFont(monospaced(self.font()))

    def _show(self, page: RawPage) -> None:
        self._page = page
        self._text.setPlainText(page.text)
        self._mark_escapes()
        total = len(self._raw)
        self._bar.setVisible(page.start > 0 or page.end < total)
        self._previous.setEnabled(page.start > 0)
        self._more.setEnabled(page.end < total)
        self._where.setText(
            f"bytes {number(min(page.start + 1, page.end))} to {number(page.end)} of "
            f"{number(total)} ({size(total)})"
        )

    def _mark_escapes(self) -> None:
        self._text.setExtraSelections(list(self._selections()))

    def _selections(self) -> Iterator[QTextEdit.ExtraSelection]:
        colour = self._appearance.colour(Tone.WARNING)
        ground = self._appearance.ground(Tone.WARNING, 0.15)
        for start, end in self._page.escapes[:_MARKED_AT_MOST]:
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self._text.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            selection.cursor = cursor
            selection.format.setForeground(colour)
            selection.format.setBackground(ground)
            yield selection

    @Slot()
    def _on_previous_clicked(self) -> None:
        self._show(page_before(self._raw, self._page.start, keep_lines=self._keep_lines))

    @Slot()
    def _on_more_clicked(self) -> None:
        self._show(page_at(self._raw, self._page.end, keep_lines=self._keep_lines))

    @Slot()
    def _on_appearance_changed(self) -> None:
        self._mark_escapes()
