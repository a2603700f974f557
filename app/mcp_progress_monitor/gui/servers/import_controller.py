"""Imports servers and exports them: reads and writes files in threads, with their secrets."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import anyio.to_thread
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.window_commands import EXPORT_SERVERS, IMPORT
from mcp_progress_monitor.path_checks import here, home

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.catalogue.client_files import FoundFile
    from mcp_progress_monitor.catalogue.reading import ConfigFile
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.servers.controller import ServersController
    from mcp_progress_monitor.gui.servers.import_export_dialogs import (
        ImportDialog,
        ImportRequest,
        ServerExportDialog,
        ServerExportRequest,
    )
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

P = ParamSpec("P")
T = TypeVar("T")


class ImportController(QObject):
    """Serves one import and one export dialog. Files are read and written in threads."""

    def __init__(
        self,
        parent: QWidget,
        servers: ServersController,
        tasks: BackgroundTasks,
        appearance: Appearance,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._servers = servers
        self._tasks = tasks
        self._appearance = appearance
        self._import: ImportDialog | None = None
        self._export: ServerExportDialog | None = None

    @carries_out(IMPORT)
    @Slot()
    def ask_to_import(self) -> None:
        """Offer to import from the known files, or any other."""
        from mcp_progress_monitor.gui.servers.import_export_dialogs import ImportDialog

        if self._import is None:
            dialog = ImportDialog((), self._appearance, self._parent)
            dialog.file_chosen.connect(self._on_file_chosen)
            dialog.answers_entered.connect(self._on_answers_entered)
            dialog.import_requested.connect(self._on_import_requested)
            dialog.finished.connect(self._on_import_finished)
            self._import = dialog
            open_dialog(dialog)
            self._tasks.start("look for configurations", self._look_for_files)
            self._tasks.start("look for a keyring", self._look_for_keyring, dialog)
        self._import.raise_()
        self._import.activateWindow()

    @Slot(object)
    def ask_to_import_file(self, path: Path) -> None:
        self.ask_to_import()
        if self._import is not None:
            self._import.open_file(path)

    @carries_out(EXPORT_SERVERS)
    @Slot()
    def ask_to_export(self) -> None:
        """Offer to write the saved servers in a client's format."""
        from mcp_progress_monitor.catalogue.clients import FORMS, OURS
        from mcp_progress_monitor.gui.servers.import_export_dialogs import ServerExportDialog

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
        self._export.raise_()
        self._export.activateWindow()

    async def _look_for_files(self) -> None:
        found = await files_here()
        if self._import is not None:
            self._import.set_files(found)

    async def _look_for_keyring(self, dialog: ImportDialog) -> None:
        error = await keyring_error()
        if error is not None and self._import is dialog:
            dialog.set_keyring(error)

    @Slot(object)
    def _on_file_chosen(self, path: Path) -> None:
        self._tasks.start(f"read {path.name}", self._show, path, {})

    @Slot(object, object)
    def _on_answers_entered(self, path: Path, answers: Mapping[str, str]) -> None:
        self._tasks.start(f"read {path.name}", self._show, path, answers)

    async def _show(self, path: Path, answers: Mapping[str, str]) -> None:
        from mcp_progress_monitor.catalogue.reading import candidate_keyring_secrets, preview

        try:
            config = await _read(path, answers)
        except UserError as error:
            if self._import is not None:
                self._import.show_unreadable(path, error.details)
            return
        saved = self._servers.saved
        keyring = self._servers.keyring
        known = await _in_thread(candidate_keyring_secrets, config, saved.catalogue, keyring)
        rows = preview(config, saved.catalogue, known)
        if self._import is not None:
            self._import.show_rows(path, rows, config.errors, saved.entries)

    @Slot(object)
    def _on_import_requested(self, request: ImportRequest) -> None:
        self._tasks.start(f"import {request.path.name}", self._import_selected, request)

    async def _import_selected(self, request: ImportRequest) -> None:
        """Read the file again, with the answers, and save what is checked."""
        try:
            await self._save(await self._answered(request), request)
        except _KeyringError as error:
            if self._import is not None:
                self._import.show_refusal(error.details, is_of_keyring=True)
        except UserError as error:
            if self._import is not None:
                self._import.show_refusal(error.details)
        else:
            if self._import is not None:
                self._import.close_imported()
        self._servers.refresh()

    async def _answered(self, request: ImportRequest) -> ConfigFile:
        """The file with the answers in it, or with references to the secret ones."""
        from mcp_progress_monitor.catalogue.variables import (
            kept_answers,
            postponed_answers,
            referred_answers,
        )
        from mcp_progress_monitor.wording.clients import SecretsAs

        if request.secrets is SecretsAs.TEXT:
            return await _read(request.path, request.answers)
        config = await _read(request.path, {})
        wanted = [each for each in config.found if each.definition.name in request.names]
        asks = {ask.id: ask for found in wanted for ask in found.asks}.values()
        if request.secrets is SecretsAs.VARIABLES:
            return await _read(request.path, referred_answers(asks, request.answers))
        if request.secrets is SecretsAs.ASK:
            return await _read(request.path, postponed_answers(asks, request.answers))
        keyring, prefix = self._servers.keyring, config.client.key
        return await _read(
            request.path, await _in_thread(kept_answers, asks, request.answers, keyring, prefix)
        )

    async def _save(self, config: ConfigFile, request: ImportRequest) -> None:
        from mcp_progress_monitor.catalogue.reading import (
            ImportStatus,
            candidate_keyring_secrets,
            imported_entry,
            preview,
            renewed_secrets,
            rows_named,
            save_rows,
        )

        catalogue, variables = self._servers.saved.catalogue, list[str]()
        keyring = self._servers.keyring
        known = await _in_thread(candidate_keyring_secrets, config, catalogue, keyring)
        made = []
        for row in rows_named(preview(config, catalogue, known), request.names):
            if row.standing in {ImportStatus.NEW, ImportStatus.CHANGED}:
                for name, secret in renewed_secrets(row, catalogue, known).items():
                    await _in_thread(keyring.put, name, secret)
                entry = imported_entry(row, config, catalogue, known)
                definition = await self._without_secrets(entry.definition, request, variables)
                made.append((row, dataclasses.replace(entry, definition=definition)))
        if made:  # all or nothing: stop before saving if a secret cannot be stored
            save_rows(made, catalogue)
        self._servers.report_variables(variables)

    async def _without_secrets(
        self, definition: ServerDefinition, request: ImportRequest, variables: list[str]
    ) -> ServerDefinition:
        """The server with its secrets stored as requested; `variables` collects those to set."""
        from mcp_progress_monitor.catalogue.secrets import asked_for, in_environment, in_keyring
        from mcp_progress_monitor.wording.clients import SecretsAs

        if request.secrets is SecretsAs.TEXT:
            return definition
        if request.secrets is SecretsAs.KEYRING:
            return await _in_thread(in_keyring, definition, self._servers.keyring)
        if request.secrets is SecretsAs.ASK:
            return asked_for(definition)
        kept, names = in_environment(definition)
        variables += names
        return kept

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
                write = functools.partial(write_file, with_secrets=request.with_secrets)
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
    def _on_import_finished(self) -> None:
        self._import = None

    @Slot()
    def _on_export_finished(self) -> None:
        self._export = None


async def files_here() -> list[FoundFile]:
    """The known clients' files on this computer, and in this folder, unread."""
    from mcp_progress_monitor.catalogue.client_files import found_files

    return await anyio.to_thread.run_sync(
        found_files, home(), dict(os.environ), sys.platform, project_folder()
    )


async def keyring_error() -> ErrorDetails | None:
    """Say why no secret can be stored in a keyring here; None if one can.

    A keyring may wait for the user to unlock it: that must not keep the window from closing.
    """
    from mcp_progress_monitor.secrets import system_keyring

    if await anyio.to_thread.run_sync(system_keyring.is_available, abandon_on_cancel=True):
        return None
    what = "No keyring is available"
    instead = "Use environment variables instead."
    return ErrorDetails(what, hint=instead)


def project_folder() -> Path | None:
    """The folder in which the program was started, if it may be a project."""
    folder = here()
    return None if folder is None or folder in {home(), Path(folder.anchor)} else folder


class _KeyringError(UserError):
    """The keyring refused a secret."""


async def _in_thread(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Access a keyring in a thread, which may block until the user has unlocked it."""
    call = functools.partial(work, *given, **named)
    try:
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
    except UserError as error:
        raise _KeyringError(error.details) from error


async def _read(path: Path, answers: Mapping[str, str]) -> ConfigFile:
    from mcp_progress_monitor.catalogue.reading import read_file
    from mcp_progress_monitor.catalogue.variables import Variables

    return await anyio.to_thread.run_sync(read_file, path, Variables(answers=answers))
