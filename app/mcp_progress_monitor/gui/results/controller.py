"""Copies, saves and opens parts of results, and reads the resources that they link to."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.image_view import decoded_image
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.common.warning_box import WarningBox
from mcp_progress_monitor.gui.common.web_pages import open_page
from mcp_progress_monitor.gui.results import commands
from mcp_progress_monitor.gui.results.table import table_rows
from mcp_progress_monitor.protocol.messages import READ_RESOURCE
from mcp_progress_monitor.wording.questions import url_parts
from mcp_progress_monitor.wording.results import PartKind, ResultPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.engine.calls import Calls
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.results.commands import ShownPart
    from mcp_progress_monitor.gui.status_row import SavedRow
    from mcp_progress_monitor.tracker.snapshot import JobId


_AWAITED_S: Final = 5.0  # how long a user waits for a resource
_ROW_SHOWN_S: Final = 0.2
"""New rows are shown within this time (see `Feed`)."""


class ResultsController(QObject):
    """Carries out the commands on parts of results."""

    def __init__(
        self,
        parent: QWidget,
        tasks: BackgroundTasks,
        report: Callable[[ErrorDetails], None],
        row: SavedRow,
        open_job: Callable[[JobId], object],
        calls: Calls | None,
    ) -> None:
        """`row` says what was saved or copied; without `calls`, as in a recording, none are made.

        `open_job` shows a job in the window.
        """
        super().__init__(parent)
        self._open_job = open_job
        self._calls = calls
        self._parent = parent
        self._tasks = tasks
        self._report = report
        self._row = row
        self._folder: Path | None = None

    @carries_out(commands.READ)
    def read(self, shown: ShownPart) -> None:
        """Request the resource of a link, as the server wrote its URI."""
        call = Call(shown.server, READ_RESOURCE, {"uri": shown.part.source})
        if self._calls is not None:
            self._tasks.start("read a linked resource", self._read, self._calls, call)

    @carries_out(commands.COPY)
    def copy(self, shown: ShownPart) -> None:
        part, clipboard = shown.part, QGuiApplication.clipboard()
        if part.kind is PartKind.IMAGE:
            image, why = decoded_image(part.value)
            if image.isNull():
                self._report(ErrorDetails("Cannot copy the image", shown.server, why))
                return
            clipboard.setImage(image)
        else:
            clipboard.setText(content_of(part, "\t").decode(errors="replace"))
        self._row.say(f"Copied {part.title}")

    @carries_out(commands.SAVE)
    def ask_to_save(self, shown: ShownPart) -> None:
        """Ask where to save a part; its server's name for it is only offered."""
        part = shown.part
        dialog = SavePartDialog(part, self._parent)
        dialog.file_chosen.connect(self.save)
        open_dialog(dialog)

    @Slot(object, object)
    def save(self, part: ResultPart, path: Path) -> None:
        self._tasks.start(f"save {path.name}", self._save, part, path)

    @carries_out(commands.OPEN)
    def open(self, shown: ShownPart) -> None:
        """Open a copy in a private folder with the system's program for its kind."""
        part = shown.part
        image, why = decoded_image(part.value) if part.kind is PartKind.IMAGE else (None, "")
        if image is not None and image.isNull():  # what we refuse may harm others as well
            self._report(ErrorDetails("Cannot open the image", shown.server, why))
        elif part.opened_as:
            self._tasks.start("open a part of a result", self._open, part)

    @Slot(str)
    def ask_to_open_page(self, url: str) -> None:
        """Ask before a link of a rendered text is opened in the browser."""
        parts = url_parts(url)
        if parts.refusal:
            self._report(ErrorDetails("Cannot open the page", parts.shown[:200], parts.refusal))
            return
        question = PageQuestion(url, self._parent)
        question.page_confirmed.connect(self._on_page_confirmed)
        open_dialog(question)

    def close(self) -> None:
        """Delete the copies that were opened."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _read(self, calls: Calls, call: Call) -> None:
        """Read a resource and show it, if the user has hardly had time for anything else."""
        outcome = await calls.make(call)
        if outcome.job is not None and outcome.duration_s < _AWAITED_S:
            await anyio.sleep(_ROW_SHOWN_S)
            self._open_job(outcome.job)

    async def _save(self, part: ResultPart, path: Path) -> None:
        await anyio.to_thread.run_sync(_write, part, path)
        self._row.offer(path, "as the server sent it")

    async def _open(self, part: ResultPart) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="mcp-progress-monitor-"))  # only ours
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        stem = part.file_name.removesuffix(f".{part.opened_as}")
        path = folder / f"{stem}.{part.opened_as}"
        await anyio.to_thread.run_sync(_write, part, path)
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            what = "No default program is set for this kind of file"
            self._report(
                ErrorDetails(what, path.name, "Save it and open it in a program of your choice.")
            )

    @Slot(str)
    def _on_page_confirmed(self, url: str) -> None:
        error = open_page(url)
        if error is not None:
            self._report(error)


def content_of(part: ResultPart, separator: str = ",") -> bytes:
    """The bytes of a part as a file; a table has its cells divided by `separator`.

    Raises:
        ValueError: it is not base64.
    """
    if part.kind is not PartKind.TABLE:
        return part.content()
    from mcp_progress_monitor.exports.ticks import csv_rows  # late: seldom needed

    return csv_rows(table_rows(part.value), separator)


def _write(part: ResultPart, path: Path) -> None:
    from mcp_progress_monitor.exports.options import OutputFile

    try:
        content = content_of(part)
    except ValueError as error:
        raise UserError(ErrorDetails("Cannot save it", part.title, detail=str(error))) from error
    with OutputFile(path) as file:
        file.write(content)


class SavePartDialog(QFileDialog):
    """Asks for a file for one part."""

    file_chosen = Signal(object, object)
    """The `ResultPart` and the `Path`."""

    def __init__(self, part: ResultPart, parent: QWidget) -> None:
        super().__init__(parent, "Save part of the result")
        self._part = part
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self.setNameFilters([f"*.{part.suffix}", "All files (*)"])
        self.setDefaultSuffix(part.suffix)
        self.selectFile(part.file_name)
        self.accepted.connect(self._on_accepted)

    @Slot()
    def _on_accepted(self) -> None:
        for name in self.selectedFiles()[:1]:
            self.file_chosen.emit(self._part, Path(name))


_ADDRESS: Final = 600  # characters that are shown; `url_parts` refuses addresses beyond some more
_LINE: Final = 70  # Qt does not break an address


class PageQuestion(WarningBox):
    """Asks whether to open a page; shows its host and its whole address."""

    page_confirmed = Signal(str)

    def __init__(self, url: str, parent: QWidget | None = None) -> None:
        super().__init__("Open link", parent)
        self._url = url
        parts = url_parts(url)
        shown = formatting.elide(parts.shown, _ADDRESS)
        lines = [f"Open a page of {parts.host[:_LINE]} in your browser?", ""]
        lines += [shown[at : at + _LINE] for at in range(0, len(shown), _LINE)]
        self.setText("\n".join((*lines, *parts.warnings)))
        button = self.addButton("&Open in browser", self.ButtonRole.AcceptRole)
        button.setAutoDefault(False)
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self.accepted.connect(self._on_accepted)

    @Slot()
    def _on_accepted(self) -> None:
        self.page_confirmed.emit(self._url)
