"""Watches servers of other clients: reads and changes their configuration files in threads."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import anyio.to_thread
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.servers import commands
from mcp_progress_monitor.gui.servers.import_controller import project_folder
from mcp_progress_monitor.gui.window_commands import WATCH
from mcp_progress_monitor.recording.settings import load_settings
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.catalogue.tap_install import ClientServer, FileChange
    from mcp_progress_monitor.engine.client_taps import FoundServers
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.servers.controller import ServersController
    from mcp_progress_monitor.gui.servers.watch_dialog import WatchDialog, WatchRequest
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


class WatchController(QObject):
    """Controls the dialog that watches other clients' servers; changes files exactly as shown."""

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
        self._dialog: WatchDialog | None = None
        self._shown: tuple[WatchRequest, list[FileChange]] | None = None

    @carries_out(WATCH)
    @Slot()
    def ask(self) -> None:
        self._open(None)

    @carries_out(commands.WATCH)
    @Slot(str)
    def ask_for_server(self, name: str) -> None:
        """Show them with the saved server of that name checked, in all clients that have it."""
        entry = self._servers.saved.entries.get(name)
        self._open(None if entry is None else entry.definition)

    def _open(self, definition: ServerDefinition | None) -> None:
        from mcp_progress_monitor.gui.servers.watch_dialog import WatchDialog

        if self._dialog is None:
            dialog = WatchDialog(self._appearance, self._parent)
            dialog.preview_requested.connect(self._on_preview_requested)
            dialog.change_requested.connect(self._on_change_requested)
            dialog.finished.connect(self._on_finished)
            self._dialog = dialog
            open_dialog(dialog)
        self._dialog.raise_()
        self._dialog.activateWindow()
        self._tasks.start("look for servers of clients", self._load, definition)

    async def _load(self, definition: ServerDefinition | None) -> None:
        from mcp_progress_monitor.engine.client_taps import find_servers, live_taps

        found: FoundServers = await anyio.to_thread.run_sync(find_servers, project_folder())
        taps = [server.tap for server in found.servers if server.tap is not None]
        folders = [self._data_dir, *(tap.data_dir for tap in taps if tap.data_dir is not None)]
        live = await anyio.to_thread.run_sync(live_taps, folders)
        settings, _ = await anyio.to_thread.run_sync(load_settings, self._data_dir)
        if self._dialog is None:
            return
        wanted = [] if definition is None else _like(definition, found.servers)
        self._dialog.show_servers(
            found.servers,
            {
                server.key: [tap.begun_when for tap in live if tap.is_of(server)]
                for server in found.servers
                if server.tap is not None
            },
            found.errors,
            wanted=wanted,
            is_missing=definition is not None and not wanted,
            is_recorded=settings.is_on,
        )

    @Slot(object)
    def _on_preview_requested(self, request: WatchRequest) -> None:
        self._tasks.start("preview changes for clients", self._preview, request)

    async def _preview(self, request: WatchRequest) -> None:
        make = functools.partial(_changes, request, self._data_dir)
        try:
            changes, lines, steps = await anyio.to_thread.run_sync(make)
        except UserError as error:
            if self._dialog is not None and self._dialog.request() == request:
                self._dialog.show_refusal(error.details)
            return
        if self._dialog is not None and self._dialog.request() == request:
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
