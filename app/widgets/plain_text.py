"""Server text in places where Qt would guess rich text."""

from __future__ import annotations

import html
from typing import Final

_LIMIT: Final = 2000


def plain_tip(words: str) -> str:
    """`words` for a tool tip, bounded, as rich text in which nothing of `words` is markup.

    A tool tip has no plain mode: Qt renders whatever looks like markup, images included.
    """
    shown = words if len(words) <= _LIMIT else words[:_LIMIT] + "…"
    lines = html.escape(shown).replace("\n", "<br>")
    return f"<qt>{lines}</qt>" if shown else ""
