"""The one palette: colours, spacing and icons, light or dark, and the user's choice of theme.

Every colour of the window is a `Tone` of `Appearance`, derived from the palette in use. Icons are
drawn when they are first shown: drawing all of them in every size and mode took 5 % of the time
until the window is there.
"""

from __future__ import annotations

import enum
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QByteArray, QObject, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QColor,
    QFont,
    QFontDatabase,
    QGuiApplication,
    QIcon,
    QIconEngine,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.gui.user_settings import AppearanceSettings
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from PySide6.QtWidgets import QMenu

    from mcp_progress_monitor.gui.user_settings import UserSettings
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


def pixel_ratio(painter: QPainter) -> float:
    """Device pixels for each logical one, where `painter` paints.

    Without `painter.device()`, for which PySide makes fifty classes: 10 ms before the window shows.
    """
    return abs(painter.deviceTransform().m11()) or 1.0


class Drawing(NamedTuple):
    """An icon's SVG (with `currentColor`), its tone, and the colours in use by tone.

    The colours change with the theme. None is the tone of disabled icons.
    """

    svg: bytes
    tone: Tone
    colours: Mapping[Tone | None, QColor]


class DrawnIcon(QIconEngine):
    """The engine of a `QIcon`, which owns it; caches pixmaps.

    It draws in the colours of now: widgets keep their icons when the theme changes.
    """

    def __init__(self, drawing: Drawing) -> None:
        super().__init__()
        self._drawing = drawing
        self._drawn: dict[tuple[int, int], QPixmap] = {}
        _keep(self)

    def clone(self) -> QIconEngine:
        """Another one, for a copy of the `QIcon` that is changed; nothing here changes one."""
        return DrawnIcon(self._drawing)

    def pixmap(self, size: QSize, mode: QIcon.Mode, _state: QIcon.State) -> QPixmap:
        """The drawing in `size` pixels of the screen, as large as fits a square."""
        side = min(size.width(), size.height())
        if side < 1:  # a row that is squeezed to nothing
            return QPixmap()
        is_disabled = mode is QIcon.Mode.Disabled
        colour = self._drawing.colours[None if is_disabled else self._drawing.tone]
        key = (side, colour.rgba())
        if key not in self._drawn:
            self._drawn[key] = drawn(self._drawing.svg, colour, side)
        return self._drawn[key]

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Paint the drawing in the middle of `rect`, sharp on any screen."""
        ratio = pixel_ratio(painter)
        pixmap = QPixmap(self.pixmap(rect.size() * ratio, mode, state))
        if pixmap.isNull():
            return
        pixmap.setDevicePixelRatio(ratio)
        side = round(pixmap.width() / ratio)
        place = QRect(0, 0, side, side)
        place.moveCenter(rect.center())
        painter.drawPixmap(place.topLeft(), pixmap)


def _keep(engine: DrawnIcon) -> None:
    """Never let Python free what Qt deletes: a kilobyte for each icon and palette.

    Python's collector would take an engine apart under the `QIcon` that has it (seen as a crash).
    """
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))


def drawn(svg: bytes, colour: QColor, side: int) -> QPixmap:
    pixmap = QPixmap(QSize(side, side))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer = QSvgRenderer(QByteArray(svg.replace(b"currentColor", colour.name().encode())))
    renderer.render(painter, QRectF(0, 0, side, side))
    painter.end()
    return pixmap


GAP_S: Final = 4
GAP: Final = 8
GAP_L: Final = 12
"""Spacing in device-independent pixels: within a group, between things, around panes."""


# Flags of `QStyle.StateFlag` as numbers: combining and comparing flags is slow in Python, and is
# done for every row painted; to create `QStyle` and its 600 values takes 8 ms.
FOCUSED: Final = 0x100
UNDER_MOUSE: Final = 0x2000
SELECTED: Final = 0x8000
ACTIVE: Final = 0x10000


class RowGrounds(NamedTuple):
    """The grounds of rows in all lists and tables; every tone can be read on each of them."""

    plain: QColor
    hovered: QColor
    selected: QColor
    behind: QColor  # selected, in a view that has not the focus

    def of(self, state: int) -> QColor:
        """The ground of a row by its flags of `QStyle.StateFlag`."""
        if state & SELECTED:
            return self.selected if state & ACTIVE else self.behind
        return self.hovered if state & UNDER_MOUSE else self.plain


class Tone(enum.Enum):
    """The meaning of a colour; an icon or a word always says the same."""

    __hash__ = object.__hash__  # an enumeration's own runs in Python; painting asks thousands

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

_STATE_ICONS: Final = {
    state: "state-" + state.value.lower().replace(" ", "-") for state in JobState
}

LEVEL_TONES: Final = {Level.ERROR: Tone.BAD, Level.WARNING: Tone.WARNING, Level.NOTE: Tone.MUTED}
"""How grave a finding is."""

_SIGNALS: Final = {
    False: {Tone.GOOD: "#1f8a4c", Tone.WARNING: "#a86a00", Tone.BAD: "#c4282f"},
    True: {Tone.GOOD: "#5cc48d", Tone.WARNING: "#e3ad48", Tone.BAD: "#f37f7f"},
}
_CONTRAST: Final = 4.5  # WCAG 2.2, 1.4.3
_HIGH_CONTRAST: Final = 7.0  # 1.4.6, where the ground is black as in themes of high contrast


def tone_of(job: JobSnapshot) -> Tone:
    """The tone of a job: its state's, but quiet where the user wanted it to end."""
    is_wanted = job.failure is not None and job.failure.is_wanted and job.state is JobState.LOST
    if job.is_slow:
        return Tone.WARNING
    return Tone.MUTED if is_wanted else STATE_TONES[job.state]


def state_icon(state: JobState) -> str:
    return _STATE_ICONS[state]


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


def _readable(colour: QColor, base: QColor, text: QColor, *grounds: QColor) -> QColor:
    """`colour`, moved towards the text colour until it can be read on `base` and other grounds."""
    wanted = _HIGH_CONTRAST if base == Qt.GlobalColor.black else _CONTRAST
    for step in range(21):
        moved = mixed(colour, text, step / 20)
        is_read = all(contrast(moved, ground) >= _CONTRAST for ground in grounds)
        if is_read and contrast(moved, base) >= wanted:
            return moved
    return text


class _Shares(NamedTuple):
    """How much of the text colour, or else of the accent, is in the ground of a row."""

    hovered: float
    selected: float
    behind: float


_USUAL: Final = _Shares(hovered=0.05, selected=0.18, behind=0.13)
_STRONG: Final = _Shares(hovered=0.12, selected=0.30, behind=0.20)


def row_grounds(palette: QPalette) -> RowGrounds:
    """The grounds of rows in the colours of `palette`; stronger ones on black."""
    active, roles = QPalette.ColorGroup.Active, QPalette.ColorRole
    base, text = palette.color(active, roles.Base), palette.color(active, roles.Text)
    accent = _readable(palette.color(active, roles.Accent), base, text)
    shares = _STRONG if base == Qt.GlobalColor.black else _USUAL
    return RowGrounds(
        base,
        mixed(base, text, shares.hovered),
        mixed(base, accent, shares.selected),
        mixed(base, accent, shares.behind),
    )


class Appearance(QObject):
    """The colours and icons of every pane; built once and passed down.

    `icons` is the folder of the SVG drawings. Panes call `follow` when their palette changes;
    the first call of a new palette emits `changed`. Icons follow by themselves, pixmaps do not.
    """

    changed = Signal()

    def __init__(self, palette: QPalette, icons: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = icons
        self._drawings: dict[str, bytes] = {}
        self._palette = QPalette(palette)
        self._colours: dict[Tone | None, QColor] = {}
        """None is the tone of disabled icons; icons hold this very dictionary."""
        self._grounds: dict[tuple[Tone, float], QColor] = {}
        self._pixmaps: dict[tuple[str, Tone, int, float], QPixmap] = {}
        self._icons: dict[tuple[str, Tone], QIcon] = {}
        self._derive()

    @property
    def is_dark(self) -> bool:
        """True if text is lighter than its ground; `colorScheme()` is unknown on many desktops."""
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
        """The base colour with `strength` (0 to 1) of `tone` in it: tracks and badges."""
        key = (tone, strength)
        if key not in self._grounds:
            self._grounds[key] = mixed(self._base(), self._colours[tone], strength)
        return self._grounds[key]

    def row_ground(self, state: int) -> QColor:
        """The ground of a row by its flags of `QStyle.StateFlag`."""
        return self._rows.of(state)

    def line(self) -> QColor:
        return self.ground(Tone.TEXT, 0.12)

    def icon(self, name: str, tone: Tone = Tone.TEXT) -> QIcon:
        """The drawing `name` in the colour of `tone`, in whatever size is asked of it."""
        key = (name, tone)
        if key not in self._icons:
            self._icons[key] = QIcon(DrawnIcon(Drawing(self._drawing(name), tone, self._colours)))
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
        muted = mixed(text, base, 0.42)
        self._rows = row_grounds(self._palette)
        for tone, colour in ({Tone.ACCENT: accent, Tone.MUTED: muted} | signals).items():
            grounds = self._rows.selected, self._rows.hovered
            self._colours[tone] = _readable(colour, base, text, *grounds)
        self._colours |= {Tone.TEXT: text, None: mixed(base, text, 0.35)}
        self._grounds.clear()
        self._pixmaps.clear()

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


def smaller(font: QFont) -> QFont:
    """The same font for small print."""
    small = QFont(font)
    small.setPointSizeF(font.pointSizeF() * 0.92)
    return small


_BASES: Final = {
    # button, window, base, text, accent
    "dark": ("#3d3d42", "#222225", "#2c2c30", "#e6e6e8", "#3d8fd1"),
    "light": ("#efefef", "#efefef", "#ffffff", "#1a1a1a", "#2a6fa8"),
    "contrast": ("#454545", "#202020", "#000000", "#ffffff", "#ffd500"),
}
_LINES: Final = "#a0a0a8"
_WITH_BOXES: Final = ("QListWidget", "QTreeWidget", "QCheckBox", "QRadioButton")
"""Classes of widgets that draw boxes to be ticked, and paint no window: but for their headers, and
the corner between two scroll bars that a table is likely to have."""
_THEMES: Final = {
    "system": Qt.ColorScheme.Unknown,
    "light": Qt.ColorScheme.Light,
    "dark": Qt.ColorScheme.Dark,
    "contrast": Qt.ColorScheme.Dark,
}


class ThemeChoice(QObject):
    """Applies the theme of the settings; its exclusive actions choose another."""

    def __init__(self, settings: UserSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        self._group = QActionGroup(self)
        for name, title in AppearanceSettings.scheme.choices.items():
            action = QAction(title, self)
            action.setCheckable(True)
            action.setData(name)
            self._group.addAction(action)
        self._group.triggered.connect(self._on_triggered)
        settings.changed.connect(self._on_changed)
        self._has_outlines = False
        self._applied = ""
        self._on_changed()

    @property
    def chosen(self) -> str:
        return self._settings.of(AppearanceSettings).scheme

    def add_to(self, menu: QMenu) -> None:
        menu.addActions(self._group.actions())

    def choose(self, name: str) -> None:
        self._settings.set(AppearanceSettings.scheme, name)

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        self.choose(str(action.data()))

    @Slot()
    def _on_changed(self) -> None:
        if self.chosen != self._applied:
            self._applied = self.chosen
            for action in self._group.actions():
                action.setChecked(action.data() == self.chosen)
            self._apply(self.chosen)

    def _apply(self, name: str) -> None:
        scheme = _THEMES.get(name, Qt.ColorScheme.Unknown)
        QGuiApplication.styleHints().setColorScheme(scheme)
        # A desktop without a theme of its own ignores the wish: then the palette is ours.
        palette = QPalette()
        QGuiApplication.setPalette(palette)
        is_wanted_dark = scheme is Qt.ColorScheme.Dark
        is_other = is_dark(QGuiApplication.palette()) != is_wanted_dark
        is_ours = name in _BASES and (is_other or name == "contrast")
        if is_ours:
            palette = _palette(*_BASES[name])
            QGuiApplication.setPalette(palette)
        _deepen_selection(palette)
        self._has_outlines = is_ours and is_wanted_dark
        self.follow()

    def follow(self) -> None:
        """Give lists and tables their colours again: another palette of the desktop drops them."""
        used = QGuiApplication.palette()
        _dress(used, used, "QAbstractItemView", "QHeaderView")
        if self._has_outlines:
            _outline(used)


def _deepen_selection(palette: QPalette) -> None:
    """Let the words in selected rows and menus be read; Qt's own blue is too light for white.

    `palette` has the roles that are ours: the others go on following the desktop.
    """
    roles, used = QPalette.ColorRole, QGuiApplication.palette()
    ground, text = used.color(roles.Highlight), used.color(roles.HighlightedText)
    away = QColor(Qt.GlobalColor.black if text.lightnessF() > 0.5 else Qt.GlobalColor.white)
    better = _readable(ground, text, away)
    if better != ground:
        palette.setColor(roles.Highlight, better)
        QGuiApplication.setPalette(palette)


class TextSize(QObject):
    """Applies the size of text of the settings, in percent of the system's."""

    def __init__(self, settings: UserSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        self._usual = QApplication.font().pointSizeF()
        self._applied = 100
        self._on_changed()
        settings.changed.connect(self._on_changed)

    @Slot()
    def _on_changed(self) -> None:
        percent = self._settings.of(AppearanceSettings).percent
        if percent != self._applied:
            self._applied = percent
            font = QApplication.font()
            font.setPointSizeF(self._usual * percent / 100)
            QApplication.setFont(font)


def is_dark(palette: QPalette) -> bool:
    """Return whether text is lighter than its ground."""
    text, base = palette.color(QPalette.ColorRole.Text), palette.color(QPalette.ColorRole.Base)
    return text.lightnessF() > base.lightnessF()


def _dress(palette: QPalette, colours: QPalette, *names: str) -> None:
    """Let the views of Qt paint selected rows as ours do: tinted, under the usual colours."""
    rows, wanted = row_grounds(colours), QPalette(palette)
    group, roles = QPalette.ColorGroup, QPalette.ColorRole
    for of, ground in ((group.Active, rows.selected), (group.Inactive, rows.behind)):
        wanted.setColor(of, roles.Highlight, ground)
        wanted.setColor(of, roles.HighlightedText, colours.color(of, roles.Text))
    for name in names:
        QApplication.setPalette(wanted, name)  # type: ignore[arg-type]  # bytes are refused


def _outline(palette: QPalette) -> None:
    """Let empty boxes be seen on a dark ground: their lines are drawn darker than the window."""
    lines = QPalette(palette)
    lines.setColor(QPalette.ColorRole.Window, QColor(_LINES))
    _dress(lines, palette, *_WITH_BOXES)


def _contrast_of(one: str, other: str) -> float:
    return contrast(QColor(one), QColor(other))


def _palette(button: str, window: str, base: str, text: str, link: str) -> QPalette:
    """Qt derives the bevels from two colours; grounds and texts are set by hand."""
    palette = QPalette(QColor(button), QColor(window))
    roles = QPalette.ColorRole
    for role, colour in {
        roles.Base: base,
        roles.AlternateBase: window,
        roles.ToolTipBase: window,
        roles.Text: text,
        roles.WindowText: text,
        roles.ButtonText: text,
        roles.ToolTipText: text,
        roles.Highlight: link,
        roles.Accent: link,
        roles.Link: _readable(QColor(link), QColor(base), QColor(text)).name(),
        roles.HighlightedText: max("#ffffff", "#000000", key=partial(_contrast_of, link)),
    }.items():
        palette.setColor(role, QColor(colour))
    is_strong = base == "#000000"
    faint = QColor(text)
    faint.setAlphaF(0.7 if is_strong else 0.45)
    for role in (roles.Text, roles.WindowText, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, faint)
    # As faint as can be read: what a field would be must not look like what was entered.
    faint.setAlphaF(0.6 if is_strong else 0.55)
    palette.setColor(roles.PlaceholderText, faint)
    return palette
