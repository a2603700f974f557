"""Light, dark, or as the system has it: the user's choice, remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu

    from mcp_progress_monitor.shell.preferences import Preferences

_KEY: Final = "appearance"
_BASES: Final = {
    # button, window, base, text, accent
    "dark": ("#3d3d42", "#222225", "#2c2c30", "#e6e6e8", "#3d8fd1"),
    "light": ("#efefef", "#efefef", "#ffffff", "#1a1a1a", "#2a6fa8"),
}
_LINES: Final = "#a0a0a8"
_WITH_BOXES: Final = ("QListWidget", "QTreeWidget", "QCheckBox", "QRadioButton")
"""Classes of widgets that draw boxes to be ticked, and paint no window: but for their headers, and
the corner between two scroll bars that a table is likely to have."""
_SCHEMES: Final = {
    "system": Qt.ColorScheme.Unknown,
    "light": Qt.ColorScheme.Light,
    "dark": Qt.ColorScheme.Dark,
}


class SchemeChoice(QObject):
    """Three exclusive actions; the chosen one is applied at once and kept."""

    def __init__(self, preferences: Preferences, parent: QObject) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._group = QActionGroup(self)
        words = {
            "system": self.tr("As the &system"),
            "light": self.tr("&Light"),
            "dark": self.tr("&Dark"),
        }
        chosen = preferences.json_of(_KEY).get("scheme", "system")
        for name in _SCHEMES:
            action = QAction(words[name], self)
            action.setCheckable(True)
            action.setData(name)
            action.setChecked(name == chosen)
            self._group.addAction(action)
        self._group.triggered.connect(self._on_triggered)
        self._apply(chosen if isinstance(chosen, str) else "system")

    def add_to(self, menu: QMenu) -> None:
        """Offer the choice in `menu`."""
        menu.addActions(self._group.actions())

    def choose(self, name: str) -> None:
        """Choose "system", "light" or "dark"."""
        for action in self._group.actions():
            if action.data() == name:
                action.trigger()

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        name = str(action.data())
        self._preferences.keep_json(_KEY, {"scheme": name})
        self._apply(name)

    def _apply(self, name: str) -> None:
        scheme = _SCHEMES.get(name, Qt.ColorScheme.Unknown)
        QGuiApplication.styleHints().setColorScheme(scheme)
        # A desktop without a theme of its own ignores the wish: then the palette is ours.
        QGuiApplication.setPalette(QPalette())
        if name in _BASES and is_dark(QGuiApplication.palette()) != (name == "dark"):
            palette = _palette(*_BASES[name])
            QGuiApplication.setPalette(palette)
            if name == "dark":
                _outline(palette)


def is_dark(palette: QPalette) -> bool:
    """Whether text is lighter than its ground."""
    text, base = palette.color(QPalette.ColorRole.Text), palette.color(QPalette.ColorRole.Base)
    return text.lightnessF() > base.lightnessF()


def _outline(palette: QPalette) -> None:
    """Let empty boxes be seen on a dark ground: their lines are drawn darker than the window."""
    lines = QPalette(palette)
    lines.setColor(QPalette.ColorRole.Window, QColor(_LINES))
    for name in _WITH_BOXES:
        QApplication.setPalette(lines, name)  # type: ignore[arg-type]  # bytes are refused
    QApplication.setPalette(palette, "QHeaderView")  # type: ignore[arg-type]


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
        roles.Link: link,
        roles.HighlightedText: "#ffffff",
    }.items():
        palette.setColor(role, QColor(colour))
    faint = QColor(text)
    faint.setAlphaF(0.45)
    for role in (roles.Text, roles.WindowText, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, faint)
    faint.setAlphaF(0.55)
    palette.setColor(roles.PlaceholderText, faint)
    return palette
