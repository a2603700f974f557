"""Server text in places where Qt would guess rich text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PySide6.QtGui import QTextDocument

_LIMIT: Final = 2000
_SHORT: Final = 120
"""Qt breaks only rich text into lines."""
_SPECIAL: Final = frozenset("<>&\n")


def plain_tip(words: str) -> str:
    """`words` for a tool tip, bounded: nothing of them is markup.

    A tool tip has no plain mode: Qt renders whatever looks like markup, images included. So what
    could look like that, and what needs several lines, becomes rich text that says the same.
    Every tip that is not spelled out in the source goes through here; an architecture test sees
    to that.
    """
    if len(words) <= _SHORT and not _SPECIAL & frozenset(words):
        return words
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
