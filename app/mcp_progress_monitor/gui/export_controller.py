"""Exports a session, a job or standard error: asks for a file, writes in slices, reports."""

from __future__ import annotations

import contextlib
import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
import anyio.to_thread
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.exports.formats import (
    CSV,
    FORMATS,
    HTML,
    JSONL,
    ExportFormat,
    ExportOptions,
    export_chunks,
)
from mcp_progress_monitor.exports.options import ExportSource, FindingTexts
from mcp_progress_monitor.filtering.filter import FilterError
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.common.work_bar import WorkBar
from mcp_progress_monitor.gui.jobs import commands
from mcp_progress_monitor.gui.status_row import SavedRow
from mcp_progress_monitor.gui.window_commands import EXPORT
from mcp_progress_monitor.path_checks import file_name, is_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from PySide6.QtWidgets import QStatusBar

    from mcp_progress_monitor.exports.options import OnShare
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.filtering.filter import TrafficFilter
    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.console.pane import StderrPane
    from mcp_progress_monitor.gui.panes import LazyPane
    from mcp_progress_monitor.tracker.snapshot import JobId

_SLICE_S: Final = 0.008
_BLOCK: Final = 1024 * 1024


class ExportDialog(QFileDialog):
    """Asks for a file and its format, with or without secrets."""

    file_chosen = Signal(object, object, bool)
    """The `ExportOptions`, the `Path`, and whether to keep secrets."""

    def __init__(
        self, title: str, name: str, forms: Sequence[tuple[str, ExportOptions]], parent: QWidget
    ) -> None:
        super().__init__(parent, title)
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self._choices: dict[str, tuple[ExportOptions, bool]] = {}
        for secrets, with_secrets in (("", False), (", including secrets", True)):
            for text, request in forms:
                choice = f"{text}{secrets} (*.{request.form.key})"
                self._choices[choice] = (request, with_secrets)
        self.setNameFilters(list(self._choices))
        self.filterSelected.connect(self._on_filter_selected)
        self.accepted.connect(self._on_accepted)
        self._on_filter_selected(self.selectedNameFilter())
        self.selectFile(f"{name}.{forms[0][1].form.key}")

    @Slot(str)
    def _on_filter_selected(self, text: str) -> None:
        choice = self._choices.get(text)
        if choice is not None:
            self.setDefaultSuffix(choice[0].form.key)

    @Slot()
    def _on_accepted(self) -> None:
        choice = self._choices.get(self.selectedNameFilter())
        if choice is None:
            return
        request, with_secrets = choice
        for name in self.selectedFiles()[:1]:
            self.file_chosen.emit(request, _with_ending(Path(name), request.form), with_secrets)


def session_forms(
    title: str, wanted: TrafficFilter | None, *first: ExportFormat
) -> list[tuple[str, ExportOptions]]:
    """All formats with what to export of a session, in the dialog's order: `first`, then others."""
    forms = (*first, *(form for form in FORMATS if form not in first))
    return [(form.title, ExportOptions(form, wanted, title=title)) for form in forms]


class ExportController(QObject):
    """Saves or copies what the panes request, and reports it in the status bar."""

    saved = Signal(object)  # the `Path` of a saved file

    def __init__(
        self,
        parent: QWidget,
        status: QStatusBar,
        source: ExportSource,
        tasks: BackgroundTasks,
        report: Callable[[ErrorDetails], None],
        title: str,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._status = status
        self.row: Final = SavedRow(status, report)
        self._source = source
        self._tasks = tasks
        self._report = report
        self._title = title
        self._marks = FindingTexts()

    @Slot(object)
    def add_findings(self, marked: Mapping[int, tuple[Finding, ...]]) -> None:
        """Keep the findings of frames for exports (`Feed.frames_marked`)."""
        self._marks.add(marked)

    @carries_out(commands.REPORT)
    def ask_for_report(self, job: JobId) -> None:
        forms = [(HTML.title, ExportOptions(HTML, job=job))]
        self._ask("Save report", self._name_of(job, "report"), forms)

    @carries_out(commands.TICKS)
    def ask_for_ticks(self, job: JobId) -> None:
        forms = [("Ticks", ExportOptions(CSV, job=job))]
        self._ask("Save ticks", self._name_of(job, "ticks"), forms)

    @carries_out(EXPORT)
    def ask_for_session(self) -> None:
        """Save the whole session."""
        self._ask("Export session", self._stem(), session_forms(self._title, None, HTML))

    def ask_for_shown(self, wanted: TrafficFilter) -> None:
        """Save the messages of Traffic that match; a report contains their jobs."""
        title = "Export filtered or selected messages"
        self._ask(title, self._stem(), session_forms(self._title, wanted, JSONL, HTML))

    @carries_out(commands.COPY_SNIPPET)
    def copy_snippet_of(self, job: JobId) -> None:
        """Copy a program that makes the request of a job."""
        snapshot = self._source.jobs.snapshot(job)
        if snapshot is not None:
            self.copy_snippet(snapshot.request)

    @Slot(object)
    def copy_snippet(self, number: int) -> None:
        from mcp_progress_monitor.exports.redaction import Redaction  # as below
        from mcp_progress_monitor.exports.snippet import snippet

        try:
            code = snippet(self._source, number, Redaction())
        except UserError as error:
            self._report(error.details)
            return
        QGuiApplication.clipboard().setText(code)
        self.row.say("Copied the call as a Python program without secrets")

    @carries_out(commands.COPY_ISSUE)
    def copy_issue_of(self, job: JobId) -> None:
        """Copy a job that went wrong as the text of an issue."""
        self._tasks.start("copy as issue", self._copy_issue, job)

    async def _copy_issue(self, job: JobId) -> None:
        from mcp_progress_monitor.exports.issues import job_issue  # late, as above
        from mcp_progress_monitor.exports.redaction import Redaction

        snapshot = self._source.jobs.snapshot(job)
        if snapshot is None:
            return
        slices = job_issue(self._source, snapshot, Redaction())
        while True:
            try:
                next(slices)
            except StopIteration as found:
                QGuiApplication.clipboard().setText(found.value)
                self.row.say("Copied as an issue without secrets")
                return
            await anyio.lowlevel.checkpoint()

    def _name_of(self, job: JobId, what: str) -> str:
        snapshot = self._source.jobs.snapshot(job)
        name = "" if snapshot is None else snapshot.name
        return "-".join(filter(None, (file_name(name), str(job), what)))

    def _stem(self) -> str:
        return file_name(Path(self._title).stem) or "session"

    def _ask(self, title: str, name: str, forms: Sequence[tuple[str, ExportOptions]]) -> None:
        dialog = ExportDialog(title, name, forms, self._parent)
        dialog.file_chosen.connect(self.export)
        open_dialog(dialog)

    @Slot(object, object, bool)
    def export(self, request: ExportOptions, path: Path, with_secrets: bool = False) -> None:
        self._tasks.start(f"export {path.name}", self._export, request, path, with_secrets)

    async def _export(self, request: ExportOptions, path: Path, with_secrets: bool) -> None:
        # Importing the exporters takes 10 ms: only when needed.
        from mcp_progress_monitor.exports.options import OutputFile
        from mcp_progress_monitor.exports.redaction import Redaction

        with self._bar(f"Saving {path.name}") as bar, anyio.CancelScope() as scope:
            bar.cancel_requested.connect(scope.cancel)
            made = self._pieces(request, Redaction(with_secrets=with_secrets), bar.show_share)
            file = OutputFile(path)
            try:
                await anyio.to_thread.run_sync(file.begin)
                while (block := _block(made)) is not None:
                    # The disk is accessed in a thread, so that the window stays responsive.
                    await anyio.to_thread.run_sync(file.write, block)
                await anyio.to_thread.run_sync(file.finish)
            finally:
                file.abandon()
            self.row.offer(path, "including secrets" if with_secrets else "without secrets")
            self.saved.emit(path)
        if scope.cancelled_caught:
            name = formatting.one_line(path.name)
            self.row.say(f"Cancelled: {name} was not saved", formatting.one_line(str(path)))

    @contextlib.contextmanager
    def _bar(self, what: str) -> Iterator[WorkBar]:
        status = self._status
        bar = WorkBar(what, status)
        status.addPermanentWidget(bar)
        bar.hide()  # until it takes long
        try:
            yield bar
        finally:
            status.removeWidget(bar)
            bar.deleteLater()

    def _pieces(
        self, request: ExportOptions, redaction: Redaction, on_share: OnShare
    ) -> Iterator[bytes]:
        try:
            return export_chunks(self._source, request, redaction, self._marks, on_share)
        except FilterError as error:
            what = "Cannot read the filter"
            raise UserError(ErrorDetails(what, detail=str(error))) from error


def _block(made: Iterator[bytes]) -> bytes | None:
    """The next bytes of an export, after a few milliseconds' work; None at its end."""
    until = time.perf_counter() + _SLICE_S
    block = bytearray()
    for piece in made:
        block += piece
        if len(block) >= _BLOCK or time.perf_counter() >= until:
            return bytes(block)
    return bytes(block) if block else None


def _with_ending(path: Path, form: ExportFormat) -> Path:
    """The path with the suffix of its format.

    Not every dialog updates the name when the format changes. An existing file with the resulting
    name, which the user did not confirm, is not overwritten.
    """
    endings = {f".{other.key}" for other in FORMATS}
    if path.suffix == f".{form.key}":
        return path
    stem = path.stem if path.suffix in endings else path.name
    names = (f"{stem}{' ' * bool(n)}{n or ''}.{form.key}" for n in itertools.count())
    return next(free for free in map(path.with_name, names) if not is_there(free))


class StderrSaver(QObject):
    """Asks for a file and writes to it what the pane of standard error shows."""

    def __init__(self, pane: LazyPane[StderrPane], tasks: BackgroundTasks) -> None:
        super().__init__(pane.dock)
        self._pane = pane
        self._tasks = tasks
        self._turn = anyio.Lock()
        pane.when_made(self._join)

    def _join(self) -> None:
        self._pane.pane().save_requested.connect(self.ask)

    @Slot()
    def ask(self) -> None:
        dialog = QFileDialog(self._pane.dock.window(), "Save standard error")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(["Text (*.txt *.log)", "All files (*)"])
        dialog.setDefaultSuffix("txt")
        dialog.selectFile("stderr.txt")
        dialog.fileSelected.connect(self.save)
        open_dialog(dialog)

    @Slot(str)
    def save(self, name: str) -> None:
        """Write what is shown now; an existing file is replaced atomically."""
        read = self._pane.pane().plain_text()
        self._tasks.start(f"save {name}", self._save, Path(name), read)

    async def _save(self, path: Path, read: Callable[[], str]) -> None:
        """Write in a thread, in the order of the requests; also while the program quits."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                await anyio.to_thread.run_sync(_write, path, read)


def _write(path: Path, read: Callable[[], str]) -> None:
    from mcp_progress_monitor.exports.options import OutputFile

    with OutputFile(path) as file:
        file.write(read().encode(errors="replace"))
