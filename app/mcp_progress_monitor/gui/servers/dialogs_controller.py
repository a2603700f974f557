"""Opens the dialogs about saved servers: add, edit, consent, remove, export.

They are imported when first opened, which keeps the start of the window short.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.dialog_watch import watch
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.servers import commands
from mcp_progress_monitor.gui.servers.clients_controller import keyring_error
from mcp_progress_monitor.gui.window_commands import ADD_COMMAND, ADD_URL, EXPORT_SERVERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QDialog, QWidget

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.confirmations import RemoveQuestion
    from mcp_progress_monitor.gui.servers.consent import ConsentDialog
    from mcp_progress_monitor.gui.servers.controller import RemovedServer, ServersController
    from mcp_progress_monitor.gui.servers.draft import Draft, EditedServer
    from mcp_progress_monitor.gui.servers.editor import ServerEditor
    from mcp_progress_monitor.gui.servers.export_dialog import (
        ServerExportDialog,
        ServerExportRequest,
    )
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.gui.undo import UndoOffer
    from mcp_progress_monitor.gui.user_settings import UserSettings
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


_LONGEST_NAME: Final = 60


class ServerDialogs(QObject):
    """Opens the dialogs and passes their results to `ServersController`."""

    def __init__(
        self,
        parent: QWidget,
        engine: Engine,
        servers: ServersController,
        tasks: BackgroundTasks,
        appearance: Appearance,
        settings: UserSettings,
        undo: UndoOffer,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._engine = engine
        self._servers = servers
        self._tasks = tasks
        self._appearance = appearance
        self._settings = settings
        self._undo = undo
        self._editors: list[ServerEditor] = []
        self._approvals: list[ConsentDialog] = []
        self._export: ServerExportDialog | None = None
        servers.consent_requested.connect(self.ask_for_approval)
        servers.edit_saved.connect(self._on_edit_saved)
        servers.edit_refused.connect(self._on_edit_refused)
        servers.server_removed.connect(self._on_server_removed)

    @carries_out(ADD_COMMAND)
    @Slot()
    def ask_for_command(self) -> None:
        """Ask for a server that is run as a process."""
        from mcp_progress_monitor.gui.servers.draft import Draft

        self._add(Draft())

    @carries_out(ADD_URL)
    @Slot()
    def ask_for_url(self) -> None:
        from mcp_progress_monitor.gui.servers.draft import Draft, ServerKind

        self._add(Draft(kind=ServerKind.URL))

    @Slot(object)
    def ask_about_program(self, words: Sequence[str]) -> None:
        """Ask for a server with a given command line, which runs once confirmed."""
        from mcp_progress_monitor.gui.servers.draft import Draft, joined_command

        self._add(Draft(command=joined_command(words)))

    @Slot(str)
    def ask_about_address(self, url: str) -> None:
        from mcp_progress_monitor.gui.servers.draft import Draft, ServerKind

        self._add(Draft(kind=ServerKind.URL, url=url))

    @carries_out(commands.EDIT)
    @Slot(str)
    def edit(self, name: str) -> None:
        """Edit a server; one of this run is saved by that."""
        from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
        from mcp_progress_monitor.gui.servers.editor import ServerEditor

        try:
            entry = self._servers.saved.entries.get(name)
            entry = entry or CatalogueEntry(self._engine.servers.newest(name))
        except UserError:  # it was removed meanwhile
            return
        for open_one in self._editors:
            if open_one.server_name == name:
                _raise(open_one)
                return
        names = self._names() - {name}
        self._open_editor(ServerEditor(self._appearance, self._parent, entry=entry, names=names))

    @Slot(object, object)
    def ask_for_approval(self, origin: str, definitions: Sequence[ServerDefinition]) -> None:
        """Show what would be run or contacted; only what is approved will be."""
        from mcp_progress_monitor.gui.servers.consent import ConsentDialog

        earlier = self._servers.approvals.earlier(definitions)
        dialog = ConsentDialog(origin, definitions, self._parent, earlier=earlier)
        for open_one in self._approvals:
            if open_one.keys == dialog.keys:
                dialog.deleteLater()
                _raise(open_one)
                return
        dialog.servers_approved.connect(self._servers.approve)
        dialog.finished.connect(self._on_consent_finished)
        self._approvals.append(dialog)
        watch(dialog, self._is_to_approve)
        open_dialog(dialog)

    def _is_to_approve(self, dialog: ConsentDialog) -> bool:
        """Keep a question up to date; it stays open to say what happened to its servers."""
        now = [self._servers.definition_now(each) for each in dialog.definitions]
        left = [each for each in now if each is not None]
        earlier = self._servers.approvals.earlier(left)
        dialog.keep(dialog.origin, left, earlier=earlier)
        return True

    @carries_out(commands.REMOVE)
    @Slot(str)
    def ask_to_remove(self, name: str) -> None:
        """Remove a server, without asking if nothing is lost."""
        running = self._running(name)
        is_saved = name in self._servers.saved.entries
        if not (running or is_saved) or not self._settings.is_asked("remove"):
            self._servers.remove(name)
            return
        from mcp_progress_monitor.gui.confirmations import RemoveQuestion

        question = RemoveQuestion(
            name,
            running,
            self._parent,
            is_saved=is_saved,
            secrets=self._servers.unshared_secrets(name),
        )
        question.remove_confirmed.connect(self._on_remove_confirmed)
        watch(question, self._is_to_remove)
        open_dialog(question)

    def _running(self, name: str) -> list[JobSnapshot]:
        from mcp_progress_monitor.gui.confirmations import running_jobs

        return running_jobs(map(self._engine.jobs.snapshot, self._engine.jobs.ids()), name)

    def _is_to_remove(self, question: RemoveQuestion) -> bool:
        """Keep the question about a server up to date; False once the server is gone."""
        is_saved = question.server in self._servers.saved.entries
        question.keep(self._running(question.server), is_saved=is_saved)
        return is_saved or question.server in self._engine.servers.names()

    @Slot(str, object, bool)
    def _on_remove_confirmed(self, name: str, secrets: Sequence[str], is_asked: bool) -> None:
        if not is_asked:
            self._settings.stop_asking("remove")
        self._servers.remove(name, secrets)

    @Slot(object)
    def _on_server_removed(self, removed: RemovedServer) -> None:
        name = one_line(removed.entry.name, _LONGEST_NAME)
        self._undo.offer(f"Removed {name}.", partial(self._servers.restore, removed))

    def _add(self, draft: Draft) -> None:
        from mcp_progress_monitor.gui.servers.editor import ServerEditor

        names = self._names()
        self._open_editor(ServerEditor(self._appearance, self._parent, draft=draft, names=names))

    def _names(self) -> set[str]:
        return {*self._servers.saved.entries, *self._engine.servers.names()}

    def _open_editor(self, editor: ServerEditor) -> None:
        editor.save_requested.connect(self._servers.save)
        editor.finished.connect(self._on_editor_finished)
        self._editors.append(editor)
        open_dialog(editor)
        self._tasks.start("look for a keyring", self._look_for_keyring, editor)

    async def _look_for_keyring(self, editor: ServerEditor) -> None:
        error = await keyring_error()
        if error is not None and editor in self._editors:
            editor.set_keyring(error)

    @Slot(object)
    def _on_edit_saved(self, edited: EditedServer) -> None:
        for editor in self._editors:
            if editor.handed_over is edited:
                editor.close_saved()
                return

    @Slot(object, object)
    def _on_edit_refused(self, edited: EditedServer, error: ErrorDetails) -> None:
        for editor in self._editors:
            if editor.handed_over is edited:
                editor.show_refusal(error)
                return

    @Slot()
    def _on_editor_finished(self) -> None:
        self._editors = [each for each in self._editors if each is not self.sender()]

    @Slot()
    def _on_consent_finished(self) -> None:
        self._approvals = [each for each in self._approvals if each is not self.sender()]

    @carries_out(EXPORT_SERVERS)
    @Slot()
    def ask_to_export(self) -> None:
        """Offer to write the saved servers in a client's format."""
        from mcp_progress_monitor.catalogue.clients import FORMS, OURS
        from mcp_progress_monitor.gui.servers.export_dialog import ServerExportDialog

        if self._export is None:
            names = list(self._servers.saved.entries)
            dialog = ServerExportDialog(names, FORMS, self._appearance, self._parent)
            dialog.text_requested.connect(self._on_export_requested)
            dialog.export_requested.connect(self._on_export_requested)
            dialog.finished.connect(self._on_export_finished)
            self._export = dialog
            dialog.form.setCurrentIndex(FORMS.index(OURS))  # the format that leaves nothing out
            open_dialog(dialog)
            dialog.ask()
        _raise(self._export)

    @Slot(object)
    def _on_export_requested(self, request: ServerExportRequest) -> None:
        self._tasks.start("export servers", self._write, request)

    async def _write(self, request: ServerExportRequest) -> None:
        from mcp_progress_monitor.catalogue.clients import client_of
        from mcp_progress_monitor.catalogue.writing import write_file

        entries = [e for e in self._servers.saved.entries.values() if e.name in request.names]
        client = client_of(request.form)
        try:
            written = write_file(entries, client, None, with_secrets=request.with_secrets)
            if request.path is not None:
                write = partial(write_file, with_secrets=request.with_secrets)
                written = await anyio.to_thread.run_sync(write, entries, client, request.path)
        except UserError as error:
            if self._export is not None:
                self._export.show_refusal(error.details)
            return
        if self._export is None:
            return
        if request.path is not None:
            self._export.show_saved(request.path, written.kept)
        elif self._export.request() == request:  # else another one was selected meanwhile
            self._export.show_text(written.text, written.left_out)

    @Slot()
    def _on_export_finished(self) -> None:
        self._export = None


def _raise(dialog: QDialog) -> None:
    dialog.raise_()
    dialog.activateWindow()
