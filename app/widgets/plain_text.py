"""Server text in places where Qt would guess rich text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PySide6.QtGui import QTextDocument

_LIMIT: Final = 2000


def plain_tip(words: str) -> str:
    """`words` for a tool tip, bounded, as rich text in which nothing of `words` is markup.

    A tool tip has no plain mode: Qt renders whatever looks like markup, images included.
    """
    if not words:
        return ""
    import html  # with all its entities: no start waits for them

    shown = words if len(words) <= _LIMIT else words[:_LIMIT] + "…"
    lines = html.escape(shown).replace("\n", "<br>")
    return f"<qt>{lines}</qt>"


def typed_text(document: QTextDocument) -> str:
    """The text of an input as typed, lines ended by line feeds.

    Qt's own `toPlainText` turns every no-break space into a plain one: a server would get
    another text than the user gave.
    """
    return document.toRawText().replace("\u2029", "\n").replace("\u2028", "\n")
