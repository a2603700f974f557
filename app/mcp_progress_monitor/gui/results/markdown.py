"""Markdown from a server, rendered: nothing is fetched or run, and every target is shown.

Links show their target, images are replaced by their names, and HTML stays text. A link that is
clicked is only reported: whoever listens asks the user before it is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QUrl, Signal, Slot
from PySide6.QtGui import QGuiApplication, QTextBlock, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QTextBrowser, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.theme import Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST: Final = 32 * 1024
"""Characters that are rendered: laying out as many takes up to half a second."""
_LINES: Final = 2_000
_BARS: Final = 1_500  # Qt takes half a millisecond to lay out a cell of a table
_DEPTH: Final = 40  # marks of quotes and lists at the start of a line: Qt indents by each
_TARGETS: Final = 500  # links that can be clicked; others are plain text
_TARGET: Final = 200  # characters of a target
_FEATURES: Final = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)
_PARSED: Final = frozenset(" >-*+\t")


def may_be_rendered(text: str) -> bool:
    """Return whether `text` can be rendered quickly: large tables and deep nesting cannot."""
    lines = text[:MOST].split("\n")
    is_short = len(lines) <= _LINES and text.count("|", 0, MOST) <= _BARS
    return is_short and all(_depth(line) <= _DEPTH for line in lines)


def _depth(line: str) -> int:
    """Count the marks at the start of a line."""
    start = line[: len(line) - len(line.lstrip("".join(_PARSED)))]
    return sum(char not in " \t" for char in start) + len(start.expandtabs(4)) // 8


class MarkdownView(QTextBrowser):
    """Shows Markdown rendered."""

    link_clicked = Signal(str)
    """The address that would be opened."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._text = ""
        self.setFrameShape(self.Shape.NoFrame)
        self.setAccessibleName("Rendered text")
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setUndoRedoEnabled(False)
        self.anchorClicked.connect(self._on_anchor_clicked)
        appearance.changed.connect(self._on_recoloured)

    def show_markdown(self, text: str) -> None:
        """Render `text`, or its beginning."""
        self._text = text
        document = _InertDocument(self)
        document.setDefaultFont(self.font())
        shown = text if len(text) <= MOST else f"{text[:MOST]}\n\n…"
        document.setMarkdown(formatting.visible(shown, keep_line_ends=True), _FEATURES)
        self._make_plain(document)
        self.setDocument(document)

    def loadResource(self, _kind: int, _name: QUrl | str) -> Any:
        """Load nothing, whatever a text names."""
        return None

    def _make_plain(self, document: QTextDocument) -> None:
        """Replace images by their names, and add its target to each link."""
        muted = QTextCharFormat()
        muted.setForeground(self._appearance.colour(Tone.MUTED))
        link = QGuiApplication.palette().link()
        cursor = QTextCursor(document)
        found = list(_targets(document))
        cursor.beginEditBlock()
        for place, each in reversed(list(enumerate(found))):
            cursor.setPosition(each.start)
            cursor.setPosition(each.end, QTextCursor.MoveMode.KeepAnchor)
            target = formatting.one_line(each.target, _TARGET)
            if each.is_image:
                cursor.insertText(f"[image: {target}]", muted)
                continue
            form = QTextCharFormat()
            form.setForeground(link)
            if place >= _TARGETS:
                form.setAnchor(False)
                form.setAnchorHref("")
            cursor.mergeCharFormat(form)
            cursor.setPosition(each.end)
            cursor.insertText(f" ({target})", muted)
        cursor.endEditBlock()

    @Slot(QUrl)
    def _on_anchor_clicked(self, url: QUrl) -> None:
        self.link_clicked.emit(bytes(url.toEncoded().data()).decode("ascii", "replace"))

    @Slot()
    def _on_recoloured(self) -> None:
        if self._text:
            self.show_markdown(self._text)


class _InertDocument(QTextDocument):
    """A document that loads nothing: Qt's own decodes images from `data:` addresses."""

    def loadResource(self, _kind: int, _name: QUrl | str) -> Any:
        """Load nothing."""
        return None


class _Target(NamedTuple):
    """A link or an image from `start` to `end`."""

    start: int
    end: int
    target: str
    is_image: bool


def _targets(document: QTextDocument) -> Iterator[_Target]:
    """Find links and images in order; a link in several formats is one."""
    block: QTextBlock = document.begin()
    while block.isValid():
        last: _Target | None = None
        fragments = block.begin()
        while not fragments.atEnd():
            fragment = fragments.fragment()
            form, start = fragment.charFormat(), fragment.position()
            end = start + fragment.length()
            if last is not None and (last.target != form.anchorHref() or form.isImageFormat()):
                yield last
                last = None
            if form.isImageFormat():
                yield _Target(start, end, form.toImageFormat().name(), is_image=True)
            elif form.anchorHref():
                begin = start if last is None else last.start
                last = _Target(begin, end, form.anchorHref(), is_image=False)
            fragments += 1
        if last is not None:
            yield last
        block = block.next()
