"""Light, dark, or as the system has it: the user's choice, remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu

    from app.shell.preferences import Preferences

_KEY: Final = "appearance"
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
