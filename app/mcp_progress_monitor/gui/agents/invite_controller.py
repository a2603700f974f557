"""Lets an agent read: looks for clients and servers, and writes the entry into a client's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.window_commands import INVITE_AGENT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.agents.invite_dialog import InviteDialog, InviteRequest
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.watched import WatchedSnapshot


class InviteController(QObject):
    """Controls the dialog that lets an agent read; writes exactly the entry that it shows."""

    def __init__(
        self,
        parent: QWidget,
        tasks: BackgroundTasks,
        appearance: Appearance,
        data_dir: Path,
        saved: Callable[[], Sequence[str]],
        watched: Callable[[], Sequence[WatchedSnapshot]],
        project: Callable[[], Path | None],
    ) -> None:
        """`saved` are names of servers, `project` is the current folder if it may be one."""
        super().__init__(parent)
        self._parent = parent
        self._tasks = tasks
        self._appearance = appearance
        self._data_dir = data_dir
        self._saved = saved
        self._watched = watched
        self._project = project
        self._dialog: InviteDialog | None = None

    @carries_out(INVITE_AGENT)
    @Slot()
    def ask(self) -> None:
        self._open(())

    @Slot(str)
    def ask_for_server(self, name: str) -> None:
        """Show the dialog with that server checked."""
        self._open([name])

    @Slot(str)
    def ask_for_watched(self, name: str) -> None:
        """Show the dialog with that watched server checked."""
        self._open([each.label for each in self._watched() if each.name == name])

    def _open(self, wanted: Collection[str]) -> None:
        from mcp_progress_monitor.catalogue.taps import this_program
        from mcp_progress_monitor.gui.agents.invite_dialog import InviteDialog

        if self._dialog is None:
            folder = this_program(self._data_dir).data_dir
            dialog = InviteDialog(folder, self._appearance, self._parent)
            dialog.add_requested.connect(self._on_add_requested)
            dialog.finished.connect(self._on_finished)
            self._dialog = dialog
            open_dialog(dialog)
        self._dialog.raise_()
        self._dialog.activateWindow()
        self._tasks.start("look for clients and servers", self._load, wanted)

    async def _load(self, wanted: Collection[str]) -> None:
        from mcp_progress_monitor.engine.agent_entry import client_files, readable_servers
        from mcp_progress_monitor.engine.client_taps import find_servers

        project = self._project()
        files = await anyio.to_thread.run_sync(client_files)
        found = await anyio.to_thread.run_sync(find_servers, project)
        watched = [(each.label, each.client) for each in self._watched()]
        servers = readable_servers(self._saved(), watched, found.servers, project)
        if self._dialog is not None:
            self._dialog.show_choices(files, servers, wanted)

    @Slot(object)
    def _on_add_requested(self, request: InviteRequest) -> None:
        self._tasks.start("add an entry for an agent", self._add, request)

    async def _add(self, request: InviteRequest) -> None:
        from mcp_progress_monitor.engine.agent_entry import NAME
        from mcp_progress_monitor.wording.clients import added_text

        try:
            written = await anyio.to_thread.run_sync(
                request.entry.write, request.client, request.path
            )
        except UserError as error:
            if self._dialog is not None:
                self._dialog.show_refusal(error.details)
            return
        if self._dialog is not None:
            added = added_text(NAME, request.client, request.path, written.kept)
            self._dialog.show_done(added)

    @Slot()
    def _on_finished(self) -> None:
        self._dialog = None
