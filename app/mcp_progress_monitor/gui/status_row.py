"""A row in the status bar, beside the counts: what was just done, with buttons to go on from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QStatusBar, QToolButton, QWidget

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import ElidedLabel, plain_tip
from mcp_progress_monitor.gui.common.layout import in_row
from mcp_progress_monitor.gui.theme import GAP_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SHOWN_MS: Final = 15_000
"""How long a row stays; WCAG 2.2 asks for more time than needed to read it."""
_NAME: Final = 60


def row_button(row: QWidget) -> QToolButton:
    """Create a button of a row, still without a text."""
    button = QToolButton(row)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


class StatusRow(QWidget):
    """A text with buttons, shown for a while.

    A message of the status bar itself would be painted over the counts.
    """

    def __init__(self, topic: str, status: QStatusBar) -> None:
        super().__init__(status)
        self._label = ElidedLabel(self)
        self._label.describe(topic)
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._timer.timeout.connect(self.settle)
        status.insertWidget(0, self)
        self.hide()  # a status bar shows its widgets

    @property
    def text(self) -> str:
        return "" if self.isHidden() else self._label.text()

    def say(self, text: str, tip: str = "") -> None:
        """Show a text, which is never cut."""
        self._label.set_text(text, text)
        self.setToolTip(plain_tip(tip))
        self.show()
        self._timer.start()

    @Slot()
    def settle(self) -> None:
        """Hide the row, as its time is over or another one follows."""
        self._timer.stop()
        self.hide()


class SavedRow(StatusRow):
    """Says what was saved, and opens it."""

    def __init__(self, status: QStatusBar, report: Callable[[ErrorDetails], None]) -> None:
        super().__init__("Saved", status)
        self._report = report
        self._path: Path | None = None
        self._open, self._folder = row_button(self), row_button(self)
        self._open.setText("Open")
        self._open.setToolTip("Open the file in the default program")
        self._folder.setText("Show in folder")
        self._folder.setToolTip("Open the folder of the file")
        self._open.clicked.connect(self._on_open_clicked)
        self._folder.clicked.connect(self._on_folder_clicked)
        in_row((self._label, 1), self._open, self._folder, of=self, margins=0, spacing=GAP_S)

    def say(self, text: str, tip: str = "") -> None:
        """Show a text without file actions."""
        self._offer(None, text, tip)

    def offer(self, path: Path, about: str) -> None:
        """Show that `path` was saved, and `about` how."""
        name, place = one_line(path.name, _NAME), one_line(str(path))
        self._offer(path, f"Saved {name}, {about}", place)

    def _offer(self, path: Path | None, text: str, tip: str) -> None:
        self._path = path
        for button in (self._open, self._folder):
            button.setVisible(path is not None)
        super().say(text, tip)

    @Slot()
    def _on_open_clicked(self) -> None:
        if self._path is not None:
            self._open_path(self._path)

    @Slot()
    def _on_folder_clicked(self) -> None:
        if self._path is not None:
            self._open_path(self._path.parent)

    def _open_path(self, path: Path) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self._report(ErrorDetails("No default program is set for this kind of file", str(path)))
