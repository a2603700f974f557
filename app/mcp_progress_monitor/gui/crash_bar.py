"""Offers reports of this program's failures that are new since the last start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from mcp_progress_monitor.crash_reports import reports
from mcp_progress_monitor.formatting import count, visible
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row, order_tabs
from mcp_progress_monitor.gui.theme import monospaced

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp_progress_monitor.gui.preferences import Preferences

_OFFERED: Final = "crash/offered"
_MOST_CHARACTERS: Final = 200_000
_FIRST_SIZE: Final = QSize(720, 460)


class CrashBar(QFrame):
    """Announces reports, and shows the newest."""

    def __init__(self, found: Sequence[Path], parent: QWidget) -> None:
        """`found` are the reports, at least one, the oldest first."""
        super().__init__(parent)
        self._found = tuple(found)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName("Crash reports")
        reported = count(len(found), "error report")
        text = f"The program closed unexpectedly. It saved {reported}, with secrets removed."
        label = QLabel(text, self)
        label.setWordWrap(True)
        show = QPushButton("Sho&w report…", self)
        show.setToolTip("Show the newest report")
        show.clicked.connect(self._on_show)
        dismiss = QPushButton("Dismiss", self)
        dismiss.setToolTip("Dismiss the notice and keep the reports")
        dismiss.clicked.connect(self.hide)
        in_row((label, 1), show, dismiss, of=self, margins=(10, 6, 8, 6))
        order_tabs(self)

    @Slot()
    def _on_show(self) -> None:
        dialog = CrashReportDialog(self._found[-1], self.window())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
        self.hide()


class CrashReportDialog(QDialog):
    """One report as plain text, to be reviewed before it is shared."""

    def __init__(self, path: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Error report")
        self._path = path
        intro = QLabel("Please attach this report to an issue. Read it first.", self)
        intro.setWordWrap(True)
        self.text: Final = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setAccessibleName("Error report")
        self.text.setFont(monospaced(self.font()))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setPlainText(_read(path))
        buttons = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        for text, why, act in (
            ("&Copy", "Copy the whole report", self._on_copy),
            ("&Open folder", "Show the folder with the reports", self._on_folder),
            ("&Delete", "Delete this report", self._on_delete),
        ):
            button = buttons.addButton(text, QDialogButtonBox.ButtonRole.ActionRole)
            button.setToolTip(plain_tip(why))
            button.setAutoDefault(False)
            button.clicked.connect(act)
        buttons.rejected.connect(self.reject)
        in_column(intro, (self.text, 1), buttons, of=self)
        fit_to_screen(self, _FIRST_SIZE)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())

    @Slot()
    def _on_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path.parent)))

    @Slot()
    def _on_delete(self) -> None:
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            self.text.setPlainText(f"Cannot delete {self._path}: {error.strerror}")
        else:
            self.accept()


def offer_reports(parent: QWidget, folder: Path, preferences: Preferences) -> CrashBar | None:
    """A bar if there are reports that were not offered yet; each is offered once."""
    newest = str(preferences.json_of(_OFFERED).get("newest", ""))
    found = [path for path in reports(folder) if path.stem > newest]
    if not found:
        return None
    preferences.keep_json(_OFFERED, {"newest": found[-1].stem})
    preferences.save()
    return CrashBar(found, parent)


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return visible(file.read(_MOST_CHARACTERS), keep_line_ends=True)
    except OSError as error:
        return f"Cannot read {path}: {error.strerror}"
