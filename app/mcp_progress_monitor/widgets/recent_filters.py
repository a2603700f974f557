"""The filters used last, for using them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST: Final = 20
_LONGEST: Final = 4_000
"""Characters of a filter that is remembered."""
_SHOWN: Final = 90


class RecentFilters(QToolButton):
    """A button with a menu of filters, the last one first; each is there once."""

    chosen = Signal(object)
    """The text of the filter wanted again."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._texts: list[str] = []
        self._menu = QMenu(self)
        self._menu.triggered.connect(self._on_triggered)
        self.setMenu(self._menu)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setAccessibleName(self.tr("Recent filters"))
        self.setToolTip(self.tr("Filters used last"))
        self._show()

    @property
    def texts(self) -> Sequence[str]:
        """The filters, the last one first."""
        return self._texts

    def add(self, text: str) -> None:
        """Put a filter first."""
        text = text.strip()
        if text and len(text) <= _LONGEST:
            others = [other for other in self._texts if other != text]
            self._texts = [text, *others][:MOST]
            self._show()

    def restore(self, texts: object) -> None:
        """Take up remembered filters; what is none is left out."""
        found: Iterable[object] = texts if isinstance(texts, list) else ()
        self._texts = []
        for text in [text for text in found if isinstance(text, str)][MOST - 1 :: -1]:
            self.add(text)
        self._show()

    def _show(self) -> None:
        self._menu.clear()
        for text in self._texts:
            action = self._menu.addAction(one_line(text, _SHOWN).replace("&", "&&"))
            action.setData(text)
        if not self._texts:
            self._menu.addAction(self.tr("No filter was used yet")).setEnabled(False)

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        self.chosen.emit(action.data())
