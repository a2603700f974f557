"""Colours, spacing and icons, all taken from the palette, in light and dark alike."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QPalette, QPixmap

from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.widgets.drawn_icon import Drawing, DrawnIcon, drawn

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

GAP_S: Final = 4
GAP: Final = 8
GAP_L: Final = 12
"""Spacing in device-independent pixels: within a group, between things, around panes."""


class Tone(enum.Enum):
    """What a colour says. Never said by colour alone: an icon or a word stands beside it."""

    TEXT = "text"
    MUTED = "muted"
    ACCENT = "accent"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


STATE_TONES: Final = {
    JobState.RUNNING: Tone.ACCENT,
    JobState.STALLED: Tone.WARNING,
    JobState.NEEDS_YOU: Tone.WARNING,
    JobState.CANCELLING: Tone.MUTED,
    JobState.RESUMABLE: Tone.ACCENT,
    JobState.DONE: Tone.GOOD,
    JobState.FAILED: Tone.BAD,
    JobState.CANCELLED: Tone.MUTED,
    JobState.TIMED_OUT: Tone.BAD,
    JobState.LOST: Tone.BAD,
}

_SIGNALS: Final = {
    False: {Tone.GOOD: "#1f8a4c", Tone.WARNING: "#a86a00", Tone.BAD: "#c4282f"},
    True: {Tone.GOOD: "#5cc48d", Tone.WARNING: "#e3ad48", Tone.BAD: "#f37f7f"},
}
_CONTRAST: Final = 4.5  # WCAG 2.2, 1.4.3


def tone_of(job: JobSnapshot) -> Tone:
    """The tone of a job: its state's, but quiet where the user wanted it to end."""
    is_wanted = job.failure is not None and job.failure.is_wanted and job.state is JobState.LOST
    return Tone.MUTED if is_wanted else STATE_TONES[job.state]


def state_icon(state: JobState) -> str:
    """The name of the icon that draws `state`."""
    return "state-" + state.value.lower().replace(" ", "-")


def mixed(one: QColor, other: QColor, share: float) -> QColor:
    """`one` with `share` (0 to 1) of `other` in it."""
    keep = 1.0 - share
    return QColor.fromRgbF(
        one.redF() * keep + other.redF() * share,
        one.greenF() * keep + other.greenF() * share,
        one.blueF() * keep + other.blueF() * share,
    )


def contrast(one: QColor, other: QColor) -> float:
    """The contrast ratio of two colours, 1 to 21, as WCAG 2.2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: QColor) -> float:
    red, green, blue = (_linear(part) for part in (colour.redF(), colour.greenF(), colour.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _readable(colour: QColor, base: QColor, text: QColor) -> QColor:
    """`colour`, moved towards the text colour until it can be read on `base`."""
    for step in range(11):
        moved = mixed(colour, text, step / 10)
        if contrast(moved, base) >= _CONTRAST:
            return moved
    return text


class Appearance(QObject):
    """Answers "which colour, which icon" for every pane; built once and passed down.

    `icons` is the folder of the SVG drawings. Panes call `follow` when their palette changes;
    the first call of a new palette emits `changed`, after which icons must be asked for again.
    """

    changed = Signal()

    def __init__(self, palette: QPalette, icons: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = icons
        self._drawings: dict[str, bytes] = {}
        self._palette = QPalette(palette)
        self._colours: dict[Tone, QColor] = {}
        self._grounds: dict[tuple[Tone, float], QColor] = {}
        self._pixmaps: dict[tuple[str, Tone, int, float], QPixmap] = {}
        self._icons: dict[tuple[str, Tone], QIcon] = {}
        self._derive()

    @property
    def is_dark(self) -> bool:
        """Whether text is lighter than its ground; `colorScheme()` is unknown on many desktops."""
        return self._base().lightnessF() < self._text().lightnessF()

    def follow(self, palette: QPalette) -> None:
        """Take the colours of `palette`; does nothing when they are in use already."""
        if palette == self._palette:
            return
        self._palette = QPalette(palette)
        self._derive()
        self.changed.emit()

    def colour(self, tone: Tone) -> QColor:
        """The colour of `tone`, readable as text on the palette's base."""
        return self._colours[tone]

    def ground(self, tone: Tone, strength: float) -> QColor:
        """The base colour with `strength` (0 to 1) of `tone` in it: tracks, badges, selections."""
        key = (tone, strength)
        if key not in self._grounds:
            self._grounds[key] = mixed(self._base(), self._colours[tone], strength)
        return self._grounds[key]

    def line(self) -> QColor:
        """The colour of hairlines between rows and panes."""
        return self.ground(Tone.TEXT, 0.12)

    def icon(self, name: str, tone: Tone = Tone.TEXT) -> QIcon:
        """The drawing `name` in the colour of `tone`, in whatever size is asked of it."""
        key = (name, tone)
        if key not in self._icons:
            chosen = self._palette.color(QPalette.ColorRole.HighlightedText)
            faint = self.ground(Tone.TEXT, 0.35)
            drawing = Drawing(self._drawing(name), self._colours[tone], chosen, faint)
            self._icons[key] = QIcon(DrawnIcon(drawing))
        return self._icons[key]

    def pixmap(self, name: str, tone: Tone, side: int, ratio: float = 1.0) -> QPixmap:
        """The drawing `name`, `side` device-independent pixels square, sharp at `ratio`."""
        key = (name, tone, side, ratio)
        if key not in self._pixmaps:
            pixmap = drawn(self._drawing(name), self._colours[tone], round(side * ratio))
            pixmap.setDevicePixelRatio(ratio)
            self._pixmaps[key] = pixmap
        return self._pixmaps[key]

    def _derive(self) -> None:
        base, text = self._base(), self._text()
        signals = {tone: QColor(name) for tone, name in _SIGNALS[self.is_dark].items()}
        accent = self._palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.Accent)
        self._colours = {
            tone: _readable(colour, base, text)
            for tone, colour in ({Tone.ACCENT: accent} | signals).items()
        }
        self._colours[Tone.TEXT] = text
        self._colours[Tone.MUTED] = _readable(mixed(text, base, 0.42), base, text)
        self._grounds.clear()
        self._pixmaps.clear()
        self._icons.clear()

    def _base(self) -> QColor:
        return self._palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.Base)

    def _text(self) -> QColor:
        return self._palette.color(QPalette.ColorGroup.Active, QPalette.ColorRole.Text)

    def _drawing(self, name: str) -> bytes:
        if name not in self._drawings:
            self._drawings[name] = (self._folder / f"{name}.svg").read_bytes()
        return self._drawings[name]


def monospaced(size_of: QFont) -> QFont:
    """The system's fixed-width font in the size of another font."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(size_of.pointSizeF())
    return font


def emphasised(font: QFont) -> QFont:
    """The same font, heavier."""
    heavy = QFont(font)
    heavy.setWeight(QFont.Weight.DemiBold)
    return heavy
