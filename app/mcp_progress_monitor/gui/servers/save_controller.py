"""Restarts servers on save: asks once, shows what a restart waits for, and what came of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread
from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.notice_bar import NoticeAction
from mcp_progress_monitor.gui.servers import commands
from mcp_progress_monitor.wording.servers import restarts_when_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.engine.call import Call
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.engine.save_loops import SavePlan
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.feed import Feed
    from mcp_progress_monitor.gui.notice_bar import NoticeBar
    from mcp_progress_monitor.gui.servers.save_dialog import SaveDialog
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.definitions import FileWatch


class SaveController(QObject):
    """Turns restarting on save on and off, and offers not to wait for jobs."""

    called_again = Signal(object)
    """The `JobId` of a call that was made again, once it has ended."""

    def __init__(
        self,
        parent: QWidget,
        engine: Engine,
        tasks: BackgroundTasks,
        bar: NoticeBar,
        feed: Feed,
        saved_calls: Callable[[str], list[tuple[str, tuple[Call, ...]]]],
        appearance: Appearance,
    ) -> None:
        """`saved_calls` returns the user's calls on a server, each set with its title."""
        super().__init__(parent)
        self._parent = parent
        self._engine = engine
        self._tasks = tasks
        self._bar = bar
        self._saved_calls = saved_calls
        self._appearance = appearance
        self._shown: dict[str, ErrorDetails] = {}
        self._dialog: SaveDialog | None = None
        feed.servers_changed.connect(self._on_servers_changed)

    @carries_out(commands.ON_SAVE)
    @Slot(str, bool)
    def turn(self, name: str, is_on: bool) -> None:
        """Stop restarting a server on save, or ask what to watch."""
        if not is_on:
            self._engine.save_loops.stop(name)
        elif self._dialog is None:
            self._ask(name)

    def _ask(self, name: str) -> None:
        from mcp_progress_monitor.engine.source_files import sources_of
        from mcp_progress_monitor.gui.servers.save_dialog import SaveDialog  # late, as dialogs are

        server = self._engine.servers.snapshot(name)
        if server.definition.transport != "stdio":
            return
        files = sources_of(server.definition)
        saved = self._saved_calls(name)
        self._dialog = SaveDialog(server, files, saved, self._appearance, self._parent)
        self._dialog.count_requested.connect(self._on_count_requested)
        self._dialog.plan_accepted.connect(self.start)
        self._dialog.finished.connect(self._on_finished)
        open_dialog(self._dialog)
        self._dialog.count()

    @Slot(str, object)
    def start(self, name: str, plan: SavePlan) -> None:
        """Restart a server on save, until it is turned off or the server is removed."""
        self._tasks.start(
            f"restart {name} on save",
            self._engine.save_loops.run,
            name,
            plan,
            self.called_again.emit,
            self._bar.show_error,
        )

    @Slot(object)
    def _on_count_requested(self, files: FileWatch) -> None:
        self._tasks.start("count files", self._count, files)

    async def _count(self, files: FileWatch) -> None:
        from mcp_progress_monitor.engine.source_files import count_files, watching

        if self._dialog is None:
            return
        found = watching(self._dialog.server.definition, files)
        number = await anyio.to_thread.run_sync(count_files, found, abandon_on_cancel=True)
        if self._dialog is not None:
            self._dialog.show_count(files, number)

    @Slot()
    def _on_finished(self) -> None:
        self._dialog = None

    @Slot(object)
    def _on_servers_changed(self, changed: frozenset[str]) -> None:
        """Show what a restart waits for, with the offer not to wait."""
        there = self._engine.servers.names()
        for name in changed:
            state = self._engine.servers.snapshot(name).on_save if name in there else None
            before = self._shown.pop(name, None)
            if state is None or not state.waits_for:
                if before is not None:
                    self._bar.withdraw(before)
                continue
            hint = "Files were saved. Restarting now ends the running jobs."
            notice = ErrorDetails(restarts_when_text(state.waits_for), name, hint)
            self._shown[name] = notice
            if notice != before:
                now = partial(self._engine.save_loops.restart_now, name)
                tip = "Restart the server now, which ends its running jobs"
                action = NoticeAction("&Restart now", tip, now)
                self._bar.show_error(notice, (action,), instead_of=before)
