"""The colours of a terminal on this window's ground: readable in light and dark alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtGui import QColor, QFont, QTextCharFormat

from mcp_progress_monitor.widgets.appearance import Appearance, Tone, contrast, mixed

if TYPE_CHECKING:
    from mcp_progress_monitor.models.ansi import Colour, Style

LEAST_CONTRAST: Final = 4.5  # WCAG 2.2, 1.4.3
_STEPS: Final = 10
_DIMMED: Final = 0.45
_REMEMBERED: Final = 2_000
_SIXTEEN: Final = (
    *("#202020", "#c4282f", "#1f8a4c", "#a86a00", "#2f6fd0", "#9a3fb5", "#11808f", "#c8c8c8"),
    *("#707070", "#e5484d", "#30a46c", "#d69a1c", "#5b93ea", "#bf6bd8", "#2ba9b8", "#f4f4f4"),
)
"""Black, red, green, yellow, blue, magenta, cyan, white; then the same, brighter."""
_BOLD: Final = QFont.Weight.DemiBold


class StderrColours:
    """Makes the format of a style, once for each; words can be read whatever a server chose."""

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance
        self._formats: dict[Style, QTextCharFormat] = {}

    def forget(self) -> None:
        """Make formats anew: the window has other colours."""
        self._formats.clear()

    def format(self, style: Style) -> QTextCharFormat:
        """The format of text in `style`."""
        made = self._formats.get(style)
        if made is None:
            if len(self._formats) >= _REMEMBERED:
                self._formats.clear()
            made = self._formats[style] = self._made(style)
        return made

    def toned(self, tone: Tone) -> QTextCharFormat:
        """The format of our own words."""
        made = QTextCharFormat()
        made.setForeground(self._appearance.colour(tone))
        return made

    def _made(self, style: Style) -> QTextCharFormat:
        ink, ground = self._pair(style)
        made = QTextCharFormat()
        made.setForeground(ink)
        if ground is not None:
            made.setBackground(ground)
        if style.is_bold:
            made.setFontWeight(_BOLD)
        made.setFontItalic(style.is_italic)
        made.setFontUnderline(style.is_underlined)
        made.setFontStrikeOut(style.is_struck)
        return made

    def _pair(self, style: Style) -> tuple[QColor, QColor | None]:
        """The colour of text, and that behind it; None is the view's own."""
        base, text = self._appearance.ground(Tone.TEXT, 0.0), self._appearance.colour(Tone.TEXT)
        ink, ground = _colour(style.foreground), _colour(style.background)
        wanted = text if ink is None else ink
        behind = base if ground is None else ground
        if style.is_reversed:
            wanted, behind = behind, wanted
            ground = behind
        if style.is_dim:
            wanted = mixed(wanted, behind, _DIMMED)
        return _readable(wanted, behind), ground


def _colour(colour: Colour | None) -> QColor | None:
    if colour is None:
        return None
    return QColor(_SIXTEEN[colour]) if isinstance(colour, int) else QColor(*colour)


def _readable(ink: QColor, ground: QColor) -> QColor:
    """`ink`, moved towards black or white until it can be read on `ground`."""
    ends = QColor("#000000"), QColor("#ffffff")
    end = max(ends, key=lambda one: contrast(one, ground))
    for step in range(_STEPS + 1):
        moved = mixed(ink, end, step / _STEPS)
        if contrast(moved, ground) >= LEAST_CONTRAST:
            return moved
    return end
