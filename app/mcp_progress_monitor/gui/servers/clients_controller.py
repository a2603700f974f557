"""Imports and watches servers of other clients: reads and changes files in threads."""

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
from mcp_progress_monitor.formatting import count, one_line
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.servers import commands
from mcp_progress_monitor.gui.servers.url_taps_controller import UrlTapsController
from mcp_progress_monitor.gui.window_commands import IMPORT, WATCH
from mcp_progress_monitor.path_checks import here, home
from mcp_progress_monitor.recording.settings import load_settings
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.catalogue.client_files import FoundFile
    from mcp_progress_monitor.catalogue.client_servers import ClientFile
    from mcp_progress_monitor.catalogue.reading import ConfigFile
    from mcp_progress_monitor.catalogue.tap_install import ClientServer, FileChange
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.servers.clients_dialog import (
        ClientsDialog,
        ImportRequest,
        WatchRequest,
    )
    from mcp_progress_monitor.gui.servers.controller import ServersController
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

P = ParamSpec("P")
T = TypeVar("T")
_NAMES = 200  # characters of the names of imported servers


class ClientsController(QObject):
    """Controls the dialog with the servers of other clients; changes files exactly as shown."""

    def __init__(
        self,
        parent: QWidget,
        servers: ServersController,
        tasks: BackgroundTasks,
        appearance: Appearance,
        data_dir: Path,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._servers = servers
        self._tasks = tasks
        self._appearance = appearance
        self._data_dir = data_dir
        self._dialog: ClientsDialog | None = None
        self._files: list[FoundFile] = []
        self._shown: tuple[WatchRequest, list[FileChange]] | None = None
        self._taps = UrlTapsController(self, tasks, self._report_tap)
        self._taps.changed.connect(self._on_tap_changed)

    @carries_out(IMPORT)
    @Slot()
    def ask_to_import(self) -> None:
        """Show the servers of all clients on this computer."""
        self._open(None)

    @carries_out(WATCH)
    @Slot()
    def ask_to_watch(self) -> None:
        self._open(None, watches=True)

    @Slot(object)
    def ask_to_import_file(self, path: Path) -> None:
        """Show them with those of a file, the new ones ticked."""
        self._open(None)
        self._on_file_chosen(path)

    @carries_out(commands.WATCH)
    @Slot(str)
    def ask_for_server(self, name: str) -> None:
        """Show them with the saved server of that name ticked, in all clients that have it."""
        entry = self._servers.saved.entries.get(name)
        self._open(None if entry is None else entry.definition, watches=True)

    def _open(self, definition: ServerDefinition | None, *, watches: bool = False) -> None:
        from mcp_progress_monitor.gui.servers.clients_dialog import ClientsDialog

        if self._dialog is None:
            dialog = ClientsDialog(self._appearance, self._parent)
            dialog.file_chosen.connect(self._on_file_chosen)
            dialog.answers_entered.connect(self._on_answers_entered)
            dialog.import_requested.connect(self._on_import_requested)
            dialog.preview_requested.connect(self._on_preview_requested)
            dialog.change_requested.connect(self._on_change_requested)
            dialog.tap_requested.connect(self._on_tap_requested)
            dialog.finished.connect(self._on_finished)
            dialog.show_addresses(self._taps.addresses)
            self._dialog = dialog
            open_dialog(dialog)
            self._tasks.start("look for a keyring", self._look_for_keyring, dialog)
        self._dialog.begin(watches=watches)
        self._dialog.raise_()
        self._dialog.activateWindow()
        self._tasks.start("look for servers of clients", self._load, definition)

    async def _load(self, definition: ServerDefinition | None) -> None:
        """Show the servers of all clients, those that are like `definition` ticked."""
        from mcp_progress_monitor.catalogue.client_servers import read_client_files
        from mcp_progress_monitor.engine.client_taps import live_taps
        from mcp_progress_monitor.gui.servers.clients_dialog import FoundClients

        self._files = await files_here()
        saved = self._servers.saved
        files = await _in_thread(
            read_client_files, self._files, saved.catalogue, self._servers.keyring
        )
        servers = [row.tap for file in files for row in file.rows if row.tap is not None]
        taps = [server.tap for server in servers if server.tap is not None]
        folders = [self._data_dir, *(tap.data_dir for tap in taps if tap.data_dir is not None)]
        live = await anyio.to_thread.run_sync(live_taps, folders)
        settings, _ = await anyio.to_thread.run_sync(load_settings, self._data_dir)
        wanted = [] if definition is None else _like(definition, servers)
        running = {
            server.key: [tap.begun_when for tap in live if tap.is_of(server)]
            for server in servers
            if server.tap is not None
        }
        is_missing = definition is not None and not wanted
        if self._dialog is not None:
            self._dialog.show_found(
                FoundClients(files, running, saved.entries, wanted, is_missing, settings.is_on)
            )

    async def _look_for_keyring(self, dialog: ClientsDialog) -> None:
        error = await keyring_error()
        if error is not None and self._dialog is dialog:
            dialog.set_keyring(error)

    @Slot(object)
    def _on_file_chosen(self, path: Path) -> None:
        self._tasks.start(f"read {path.name}", self._show_chosen, path)

    @Slot(object, object)
    def _on_answers_entered(self, path: Path, answers: Mapping[str, str]) -> None:
        self._tasks.start(f"read {path.name}", self._show_answered, path, answers)

    async def _show_chosen(self, path: Path) -> None:
        file = await self._file(path, {})
        if self._dialog is not None:
            self._dialog.show_file(file, self._servers.saved.entries, is_chosen=True)

    async def _show_answered(self, path: Path, answers: Mapping[str, str]) -> None:
        file = await self._file(path, answers)
        if self._dialog is not None:
            self._dialog.show_file(file, self._servers.saved.entries, is_chosen=False)

    async def _file(self, path: Path, answers: Mapping[str, str]) -> ClientFile:
        from mcp_progress_monitor.catalogue.client_servers import ClientFile, read_client_file
        from mcp_progress_monitor.catalogue.clients import COMMON

        catalogue, keyring = self._servers.saved.catalogue, self._servers.keyring
        found = next((each for each in self._files if each.path == path), None)
        try:
            return await _in_thread(read_client_file, path, found, catalogue, keyring, answers)
        except UserError as error:
            return ClientFile(path, COMMON, errors=(error.details,))

    # Importing

    @Slot(object)
    def _on_import_requested(self, requests: Sequence[ImportRequest]) -> None:
        self._tasks.start("import servers", self._import_selected, requests)

    async def _import_selected(self, requests: Sequence[ImportRequest]) -> None:
        """Read the files again, with the answers, and save what is ticked."""
        names, error, is_of_keyring = list[str](), None, False
        for request in requests:
            try:
                names += await self._save(await self._answered(request), request)
            except UserError as refused:
                error, is_of_keyring = refused.details, isinstance(refused, _KeyringError)
                break
        self._servers.refresh()
        if names:
            await self._load(None)
        if self._dialog is None:
            return
        if names:
            listed = one_line(", ".join(names), _NAMES)
            self._dialog.show_done(f"Imported {count(len(names), 'server')}: {listed}.", error)
        elif error is not None:
            self._dialog.show_refusal(error, is_of_keyring=is_of_keyring)

    async def _answered(self, request: ImportRequest) -> ConfigFile:
        """The file with the answers in it, or with references to the secret ones."""
        from mcp_progress_monitor.catalogue.variables import (
            kept_answers,
            postponed_answers,
            referred_answers,
        )
        from mcp_progress_monitor.wording.clients import SecretsAs

        if request.secrets is SecretsAs.TEXT:
            return await _read(request, request.answers)
        config = await _read(request, {})
        wanted = [each for each in config.found if each.definition.name in request.names]
        asks = {ask.id: ask for found in wanted for ask in found.asks}.values()
        if request.secrets is SecretsAs.VARIABLES:
            return await _read(request, referred_answers(asks, request.answers))
        if request.secrets is SecretsAs.ASK:
            return await _read(request, postponed_answers(asks, request.answers))
        keyring, prefix = self._servers.keyring, config.client.key
        return await _read(
            request, await _in_thread(kept_answers, asks, request.answers, keyring, prefix)
        )

    async def _save(self, config: ConfigFile, request: ImportRequest) -> list[str]:
        """Save the servers of one file, all or none; returns their names."""
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
        # All or nothing: it stops before saving if a secret cannot be stored.
        names = save_rows(made, catalogue) if made else []
        self._servers.report_variables(variables)
        return names

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

    # Watching

    @Slot(object)
    def _on_preview_requested(self, request: WatchRequest) -> None:
        self._tasks.start("preview changes for clients", self._preview, request)

    async def _preview(self, request: WatchRequest) -> None:
        make = functools.partial(_changes, request, self._data_dir)
        try:
            changes, lines, steps = await anyio.to_thread.run_sync(make)
        except UserError as error:
            if self._dialog is not None and self._dialog.watch_request() == request:
                self._dialog.show_refusal(error.details)
            return
        if self._dialog is not None and self._dialog.watch_request() == request:
            self._shown = request, changes
            self._dialog.show_preview(request, lines, steps)

    @Slot(object)
    def _on_change_requested(self, request: WatchRequest) -> None:
        if self._shown is not None and self._shown[0] == request:
            self._tasks.start("change files of clients", self._apply, self._shown[1])

    async def _apply(self, changes: Sequence[FileChange]) -> None:
        done, error = await anyio.to_thread.run_sync(_applied, changes)
        await self._load(None)
        if self._dialog is not None:
            self._dialog.show_done(done, error)

    @Slot(object, bool)
    def _on_tap_requested(self, key: tuple[Path, tuple[str, ...]], is_on: bool) -> None:
        from mcp_progress_monitor.catalogue.taps import shown_name
        from mcp_progress_monitor.engine.url_taps import UrlTapOrder  # late: few servers have one

        row = None if self._dialog is None else self._dialog.row(key)
        definition = None if row is None or row.found.found is None else row.found.found.definition
        if not is_on:
            self._taps.stop(key)
        elif row is not None and row.tap is not None and isinstance(definition, HttpDefinition):
            requests = self._dialog is not None and self._dialog.requests_progress.isChecked()
            rewrites = self._dialog is not None and self._dialog.rewrites_auth.isChecked()
            name, client = shown_name(row.tap.name), row.tap.client.title
            order = UrlTapOrder(definition.url, name, client, self._data_dir, requests, rewrites)
            self._taps.start(key, order)

    def _report_tap(self, error: ErrorDetails) -> None:
        """Report where the user looks: the dialog covers the window."""
        if self._dialog is None:
            self._servers.report_error(error)
        else:
            self._dialog.show_refusal(error)

    @Slot(object)
    def _on_tap_changed(self, key: tuple[Path, tuple[str, ...]]) -> None:
        if self._dialog is not None:
            self._dialog.show_addresses(self._taps.addresses, key)

    @Slot()
    def _on_finished(self) -> None:
        self._dialog = None
        self._shown = None


def _like(definition: ServerDefinition, servers: Sequence[ClientServer]) -> list[ClientServer]:
    """The entries that start the same server, or have its name."""
    same = [
        server
        for server in servers
        if isinstance(definition, StdioDefinition)
        and server.launch == (definition.command, definition.args)
    ]
    return same or [server for server in servers if server.name == definition.name]


def _changes(
    request: WatchRequest, data_dir: Path
) -> tuple[list[FileChange], list[str], list[str]]:
    """The changes of all files, their lines, and the remaining steps."""
    from mcp_progress_monitor.catalogue.tap_install import exchanged
    from mcp_progress_monitor.catalogue.taps import this_program
    from mcp_progress_monitor.wording.clients import next_steps

    program = this_program(data_dir)._replace(requests_progress=request.requests_progress)
    changes = exchanged(request.watch, request.stop, program)
    lines = [line for change in changes for line in change.diff()]
    return changes, lines, next_steps(changes)


def _applied(changes: Sequence[FileChange]) -> tuple[str, ErrorDetails | None]:
    """Make the changes; what was done, as text, and the error if not all of it was."""
    from mcp_progress_monitor.engine.client_taps import apply
    from mcp_progress_monitor.wording.clients import done_text

    texts: list[str] = []
    for change in changes:
        try:
            done = apply(change)
        except UserError as error:
            return "\n".join(texts), error.details
        texts.append(done_text(change, done.kept, by_command=done.by_command))
    return "\n".join(texts), None


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


async def _read(request: ImportRequest, answers: Mapping[str, str]) -> ConfigFile:
    from mcp_progress_monitor.catalogue.reading import read_file
    from mcp_progress_monitor.catalogue.variables import Variables

    return await anyio.to_thread.run_sync(
        read_file, request.path, Variables(answers=answers), request.client
    )
