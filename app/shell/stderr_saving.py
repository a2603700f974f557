"""Saving the lines of standard error that are shown as a plain text file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QFileDialog

from app.problem import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.problem import Problem
    from app.shell.main_window import MainWindow


class StderrSaving(QObject):
    """Asks where to, and writes; a child of the window."""

    def __init__(self, window: MainWindow, tell: Callable[[Problem], None]) -> None:
        super().__init__(window)
        self._window = window
        self._tell = tell
        window.late.stderr.when_made(self._join)

    def _join(self) -> None:
        self._window.stderr_pane.save_requested.connect(self.ask)

    @Slot()
    def ask(self) -> None:
        """Ask for a file's name."""
        dialog = QFileDialog(self._window, self.tr("Save standard error"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([self.tr("Text (*.txt *.log)"), self.tr("All files (*)")])
        dialog.setDefaultSuffix("txt")
        dialog.selectFile("stderr.txt")
        dialog.fileSelected.connect(self.save)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    @Slot(str)
    def save(self, name: str) -> None:
        """Write what is shown; a file of that name is replaced only by a whole one."""
        from app.exports.private_file import PrivateFile  # at the first use, like all of exports

        words = self._window.stderr_pane.plain_text()
        try:
            with PrivateFile(Path(name)) as file:
                file.write(words.encode(errors="replace"))
        except ProblemError as error:
            self._tell(error.problem)
