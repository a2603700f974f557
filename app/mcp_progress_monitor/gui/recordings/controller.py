"""Opens a recording in its own process, lists and deletes recordings, associates their files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QAction, QDesktopServices
from PySide6.QtWidgets import QFileDialog, QMessageBox

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.dialog_buttons import without_icons
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.common.work_bar import WorkBar
from mcp_progress_monitor.gui.user_settings import RecordingChoices
from mcp_progress_monitor.gui.window_commands import ASSOCIATE, OPEN_RECORDING, RECORDINGS, SERVE
from mcp_progress_monitor.imports.convert import SUFFIXES, convert
from mcp_progress_monitor.path_checks import is_folder
from mcp_progress_monitor.paths import program_command
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import SUFFIX
from mcp_progress_monitor.recording.recent import forget_opened, note_opened, recent_recordings
from mcp_progress_monitor.recording.settings import FOLDER, load_settings, save_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from PySide6.QtGui import QCloseEvent
    from PySide6.QtWidgets import QMenu, QWidget

    from mcp_progress_monitor.file_association import AssociationResult
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.lifetime import Lifetime
    from mcp_progress_monitor.gui.recordings.dialog import RecordingsDialog
    from mcp_progress_monitor.gui.recordings.summaries import RecordingSummary
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.imports.convert import ImportForm
    from mcp_progress_monitor.recording.folder import RecordingEntry
    from mcp_progress_monitor.recording.settings import RecordingSettings

_KEYED: Final = 10  # from this one on, recordings in the menu have no mnemonic


def start_detached(command: Sequence[str]) -> bool:
    """Start a program that outlives this one; False if it cannot be started."""
    program, *arguments = command
    # PySide returns two values, typed as one: success and the process id.
    from PySide6.QtCore import QProcess  # late: not needed at startup

    answer: object = QProcess.startDetached(program, arguments)
    return bool(answer[0] if isinstance(answer, tuple) else answer)


class RecordingsController(QObject):
    """Handles the `actions` on recordings over `window`; disks are read in threads."""

    def __init__(
        self,
        window: QWidget,
        commands: Commands,
        recent: QMenu,
        appearance: Appearance,
        tasks: BackgroundTasks,
        report: Callable[[ErrorDetails], None],
        data_dir: Path,
        remembers: Callable[[], bool] = lambda: True,
    ) -> None:
        """With `remembers`, opened recordings are listed in `recent` at the next start."""
        super().__init__(window)
        self._window = window
        self._recent = recent
        self._appearance = appearance
        self._tasks = tasks
        self._report = report
        self._data_dir = data_dir.absolute()
        self._remembers = remembers
        self.folder = RecordingsFolder(self._data_dir / FOLDER)
        self._summaries: dict[tuple[Path, int], RecordingSummary | None] = {}
        self._dialog: RecordingsDialog | None = None
        self.shown: Path | None = None
        """The recording that the window shows; None for the window of live servers."""
        commands.join(self)
        recent.aboutToShow.connect(self._fill_recent)
        recent.triggered.connect(self._on_recent_triggered)

    @carries_out(OPEN_RECORDING)
    def ask_for_recording(self) -> None:
        self._ask_for_file("Open a recording").fileSelected.connect(self.open_recording)

    @carries_out(SERVE)
    def serve(self) -> None:
        """Serve the recording that is shown, or the one that the user chooses."""
        if self.shown is not None:
            self.serve_recording(self.shown)
        else:
            self._ask_for_file("Serve a recording").fileSelected.connect(self.serve_recording)

    @Slot(str)
    def serve_recording(self, path: Path | str) -> None:
        from mcp_progress_monitor.gui.recordings.serving import ServeDialog
        from mcp_progress_monitor.gui.recordings.serving_controller import ServingController

        dialog = ServeDialog(Path(path), self._window)
        ServingController(dialog, Path(path), self._tasks)
        # Not modal: the window shows the recording that the requests are about.
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.show()

    def _ask_for_file(self, title: str) -> QFileDialog:
        dialog = QFileDialog(self._window, title, fileMode=QFileDialog.FileMode.ExistingFile)
        others = " ".join(f"*{suffix}" for suffix in SUFFIXES)
        dialog.setNameFilters(
            [
                f"Recordings (*{SUFFIX})",
                f"HAR, mcpsnoop, mcp-rec, Claude Desktop ({others})",
                "All files (*)",
            ]
        )
        if is_folder(self.folder.path):
            dialog.setDirectory(str(self.folder.path))
        open_dialog(dialog)
        return dialog

    @Slot(object)
    @Slot(str)
    def open_recording(self, path: Path | str) -> None:
        self._tasks.start(f"open {path}", self._open_recording, Path(path))

    async def _open_recording(self, path: Path) -> None:
        await anyio.to_thread.run_sync(_must_be_recording, path)
        grows = await anyio.to_thread.run_sync(RecordingsFolder(path.parent).is_written, path)
        follow = ["--follow"] if grows else []
        where = ["--data-dir", str(self._data_dir)]
        command = [*program_command(), "open", *follow, *where, str(path)]
        if not start_detached(command):
            hint = "Open it from a terminal: mcp-progress-monitor open FILE"
            what = "Cannot open a window for the recording"
            raise UserError(ErrorDetails(what, command[0], hint))
        self.note_opened(path)

    # Recent recordings

    def note_opened(self, path: Path) -> None:
        """Add a recording to the recent ones, unless the user does not want that."""
        if self._remembers():
            note_opened(self._data_dir, path.absolute())

    def forget_opened(self) -> None:
        forget_opened(self._data_dir)

    @Slot()
    def _fill_recent(self) -> None:
        """List the recent recordings, the latest first, without accessing them."""
        menu = self._recent
        menu.clear()
        for number, path in enumerate(recent_recordings(self._data_dir), 1):
            name = one_line(path.name, 80).replace("&", "&&")
            action = menu.addAction(f"&{number} {name}" if number < _KEYED else name)
            action.setToolTip(plain_tip(visible(str(path))))
            action.setData(str(path))
        if menu.isEmpty():
            menu.addAction("No recent recordings").setEnabled(False)
            return
        menu.addSeparator()
        clear = menu.addAction("&Clear this list")
        clear.setToolTip("Forget which recordings were opened; the files stay")
        clear.triggered.connect(self.forget_opened)

    @Slot(QAction)
    def _on_recent_triggered(self, action: QAction) -> None:
        if isinstance(action.data(), str):
            self.open_recording(action.data())

    # The list

    @carries_out(RECORDINGS)
    def show_recordings(self) -> None:
        if self._dialog is None:
            self._tasks.start("list recordings", self._show_recordings)
        else:
            self._dialog.raise_()
            self._dialog.activateWindow()

    async def _show_recordings(self) -> None:
        settings, error = await anyio.to_thread.run_sync(load_settings, self._data_dir)
        entries = await anyio.to_thread.run_sync(self.folder.entries)
        if error is not None:
            self._report(error)
        if self._dialog is None:
            self._dialog = self._make_dialog(settings)
            open_dialog(self._dialog)
        self._dialog.show_entries(entries)
        await self._summarise(self._dialog, entries)

    async def _summarise(self, dialog: RecordingsDialog, entries: Sequence[RecordingEntry]) -> None:
        """Show what each recording holds, the newest first, until the dialog is closed."""
        for entry in reversed(entries):
            if self._dialog is not dialog:
                return
            known = self._summaries.get((entry.path, entry.size))
            if known is None:
                known = await self._summary_of(entry)
            if self._dialog is dialog:
                self._summaries[entry.path, entry.size] = known
                dialog.show_summary(entry.path, known)

    async def _summary_of(self, entry: RecordingEntry) -> RecordingSummary | None:
        from mcp_progress_monitor.gui.recordings import summaries  # late: it loads the judge

        if entry.size > summaries.MOST_BYTES:
            return None
        try:
            reader = await anyio.to_thread.run_sync(summaries.SummaryReader, entry.path)
        except UserError:
            return None
        while reader.advance():  # noqa: ASYNC110  # it reads in slices
            await anyio.sleep(_PAUSE_S)
        return reader.summary()

    def _make_dialog(self, settings: RecordingSettings) -> RecordingsDialog:
        from mcp_progress_monitor.gui.recordings.dialog import RecordingsDialog

        choices = RecordingChoices.taken_from(settings)
        dialog = RecordingsDialog(self.folder.path, choices, self._appearance, self._window)
        dialog.open_requested.connect(self.open_recording)
        dialog.folder_requested.connect(self._on_folder_requested)
        dialog.delete_requested.connect(self._on_delete_requested)
        dialog.limits.chosen.connect(self.save_choices)
        dialog.finished.connect(self._on_dialog_finished)
        return dialog

    @Slot()
    def _on_dialog_finished(self) -> None:
        self._dialog = None

    @Slot()
    def show_data_folder(self) -> None:
        """Show the data folder in the desktop's file manager."""
        self._show_folder(self._data_dir)

    @Slot()
    def _on_folder_requested(self) -> None:
        self._show_folder(self.folder.path)

    def _show_folder(self, path: Path) -> None:
        if not is_folder(path):
            self._report(ErrorDetails("There are no recordings yet", str(path)))
        elif not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self._report(ErrorDetails("Cannot show the folder", str(path)))

    @Slot(object)
    def _on_delete_requested(self, entries: Iterable[RecordingEntry]) -> None:
        self._tasks.start("delete recordings", self._delete, tuple(entries))

    async def _delete(self, entries: Sequence[RecordingEntry]) -> None:
        for entry in entries:
            try:
                await anyio.to_thread.run_sync(self.folder.delete, entry)
            except UserError as error:
                self._report(error.details)
        left = await anyio.to_thread.run_sync(self.folder.entries)
        if self._dialog is not None:
            self._dialog.show_entries(left)
            await self._summarise(self._dialog, left)

    @Slot(object)
    def save_choices(self, choices: RecordingChoices) -> None:
        """Save synchronously: two changes in a row must be written in order.

        The file has about a hundred bytes.
        """
        settings, _error = load_settings(self._data_dir)
        try:
            save_settings(self._data_dir, dataclasses.replace(settings, **choices.as_dict()))
        except UserError as error:
            self._report(error.details)

    # File association

    @carries_out(ASSOCIATE)
    def ask_to_associate(self) -> None:
        """Ask whether to open recordings with this program, or no longer."""
        box = _message(self._window, "File association")
        box.setText(
            f"Files that end in {SUFFIX} can open in this program when you double-click them."
        )
        box.setInformativeText("This affects only your user account.")
        add = box.addButton("&Associate", QMessageBox.ButtonRole.AcceptRole)
        remove = box.addButton("&Remove association", QMessageBox.ButtonRole.ActionRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        add.clicked.connect(self._on_associate_agreed)
        remove.clicked.connect(self._on_dissociate_agreed)
        without_icons(box)
        box.open()

    @Slot()
    def _on_associate_agreed(self) -> None:
        self._tasks.start("associate recordings", self._associate, True)

    @Slot()
    def _on_dissociate_agreed(self) -> None:
        self._tasks.start("dissociate recordings", self._associate, False)

    async def _associate(self, is_wanted: bool) -> None:
        outcome = await anyio.to_thread.run_sync(_set_association, is_wanted)
        box = _message(self._window, "File association")
        done = "Done." if not outcome.to_do else "One more step is needed."
        box.setText(done)
        box.setInformativeText(outcome.as_text())
        box.addButton(QMessageBox.StandardButton.Close)
        without_icons(box)
        box.open()


def _must_be_recording(path: Path) -> None:
    """Raise `UserError` if `path` is not a recording, nor convertible to one."""
    from mcp_progress_monitor.imports.convert import form_of
    from mcp_progress_monitor.recording.reader import RecordingReader

    if form_of(path) is None:
        RecordingReader(path)


def _set_association(is_wanted: bool) -> AssociationResult:
    from mcp_progress_monitor.file_association import association_here

    association = association_here()
    return association.add() if is_wanted else association.remove()


def _message(window: QWidget, title: str) -> QMessageBox:
    box = QMessageBox(window, textFormat=Qt.TextFormat.PlainText)
    box.setWindowTitle(title)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return box


_LOOK_S: Final = 0.1
_PAUSE_S: Final = 0.004  # between two slices of reading a recording for its row
_MARGIN: Final = 12


class _StoppedError(Exception):
    """The user cancelled the import."""


class _ImportWindow(WorkBar):
    """A window shown while no other is open; closing it cancels."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"Importing {path.name}")
        self.setWindowTitle(path.name)
        self.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Cancel; the window closes once the thread has stopped."""
        self.cancel_requested.emit()
        event.ignore()


class _Import:
    """One import: what the thread has read, and whether to continue."""

    def __init__(self) -> None:
        self.share = 0.0
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True

    def note(self, share: float) -> None:
        """Called in the thread."""
        self.share = share
        if self.is_stopped:
            raise _StoppedError


async def import_file(path: Path, form: ImportForm, target: Path, life: Lifetime) -> bool:
    """Create the recording `target`; False if the user cancels or quits.

    Raises:
        UserError: as for `convert`.
    """
    work, window = _Import(), _ImportWindow(path)
    window.cancel_requested.connect(work.stop)
    details: UserError | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_show, window, work, life)
        try:
            await anyio.to_thread.run_sync(convert, path, form, target, work.note)
        except _StoppedError:
            work.stop()
        except UserError as error:
            details = error
        group.cancel_scope.cancel()
    window.hide()
    window.deleteLater()
    if details is not None:
        raise details
    return not work.is_stopped


async def _show(window: WorkBar, work: _Import, life: Lifetime) -> None:
    while True:
        window.show_share(work.share)
        if life.is_over:
            work.stop()
        await anyio.sleep(_LOOK_S)
