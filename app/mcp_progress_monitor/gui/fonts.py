"""Loads the program's own fonts on systems without any, where each letter would be a box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtGui import QFont, QFontDatabase, QFontMetrics

from mcp_progress_monitor import paths

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

_LETTER: Final = "A"
_OWN: Final = {"Sans Serif": "Noto Sans", "Serif": "Noto Sans", "monospace": "Noto Sans Mono"}
"""The font for each name that Qt gives even where it has none."""


def ensure_fonts(application: QApplication) -> None:
    """Load the program's fonts if the system's default font has no letters.

    The list of families is no proof: on Linux, Qt names generic families that have no font.
    """
    if QFontMetrics(application.font()).inFont(_LETTER):
        return
    for file in sorted(paths.resource("fonts").glob("*.ttf")):
        QFontDatabase.addApplicationFont(str(file))
    for generic, family in _OWN.items():
        QFont.insertSubstitution(generic, family)
    font = application.font()
    font.setFamily(_OWN["Sans Serif"])
    application.setFont(font)
