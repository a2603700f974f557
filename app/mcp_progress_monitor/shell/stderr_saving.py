"""Saving the lines of standard error that are shown as a plain text file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QFileDialog

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.shell.aio import Tasks
    from mcp_progress_monitor.shell.main_window import MainWindow


class StderrSaving(QObject):
    """Asks where to, and writes; a child of the window."""

    def __init__(self, window: MainWindow, tasks: Tasks) -> None:
        super().__init__(window)
        self._window = window
        self._tasks = tasks
        self._turn = anyio.Lock()
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
        """Write what is shown now; a file of that name is replaced only by a whole one."""
        words = self._window.stderr_pane.plain_text()
        self._tasks.start(f"save {name}", self._save, Path(name), words)

    async def _save(self, path: Path, words: Callable[[], str]) -> None:
        """Write in a thread, in the order of the wishes; also when the program is being ended."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                await anyio.to_thread.run_sync(_write, path, words)


def _write(path: Path, words: Callable[[], str]) -> None:
    from mcp_progress_monitor.exports.private_file import (
        PrivateFile,  # at the first use, like all of exports
    )

    with PrivateFile(path) as file:
        file.write(words().encode(errors="replace"))
