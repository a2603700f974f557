"""Shows what agents read, live, and turns their reading off; the files are read in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio.to_thread
from PySide6.QtCore import QObject, Qt, QTimer, Slot

from mcp_progress_monitor.audit.access import load_access, turn
from mcp_progress_monitor.audit.log import AuditReader, live_count, remove_ended
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.window_commands import AGENTS, INVITE_AGENT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.audit.access import AgentAccess
    from mcp_progress_monitor.audit.log import AuditedAgent
    from mcp_progress_monitor.gui.agents.dialog import AgentsDialog
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.theme import Appearance

_LIVE_MS: Final = 1000
"""How often the logs are looked at while they are shown."""
_COUNT_MS: Final = 3000
"""How often connected agents are counted otherwise."""


class AgentsController(QObject):
    """Controls the list of agents, and tells the status bar how many are connected."""

    def __init__(
        self,
        parent: QWidget,
        commands: Commands,
        tasks: BackgroundTasks,
        appearance: Appearance,
        data_dir: Path,
        counted: Callable[[int], None],
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._commands = commands
        self._tasks = tasks
        self._appearance = appearance
        self._data_dir = data_dir
        self._counted = counted
        self._reader: AuditReader | None = None
        self._dialog: AgentsDialog | None = None
        self._is_reading = False
        self._refused: ErrorDetails | None = None
        self._timer = QTimer(self, interval=_COUNT_MS)
        self._timer.timeout.connect(self._on_timeout)
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    @carries_out(AGENTS)
    @Slot()
    def show_agents(self) -> None:
        from mcp_progress_monitor.gui.agents.dialog import AgentsDialog

        if self._dialog is None:
            dialog = AgentsDialog(self._appearance, self._parent)
            dialog.turn_requested.connect(self._on_turn_requested)
            dialog.remove_requested.connect(self._on_remove_requested)
            dialog.invite_requested.connect(self._on_invite_requested)
            dialog.finished.connect(self._on_finished)
            # Not modal: the window shows the jobs that the agent asks for.
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self._dialog, self._reader = dialog, AuditReader(self._data_dir)
            self._timer.setInterval(_LIVE_MS)
            self._look()
            dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()

    def _look(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._tasks.start("look at the agents", self._read)

    async def _read(self) -> None:
        try:
            reader = self._reader
            if reader is None:
                self._counted(await anyio.to_thread.run_sync(_count, self._data_dir))
                return
            agents, access, errors = await anyio.to_thread.run_sync(_read, reader, self._data_dir)
            self._counted(sum(agent.is_live for agent in agents))
            if self._dialog is not None:
                refused = [] if self._refused is None else [self._refused]
                self._dialog.show_agents(agents, access, [*refused, *errors])
        finally:
            self._is_reading = False

    @Slot()
    def _on_timeout(self) -> None:
        self._look()

    @Slot(object, bool)
    def _on_turn_requested(self, name: str | None, is_on: bool) -> None:
        self._tasks.start("turn agents on or off", self._turn, name, is_on)

    async def _turn(self, name: str | None, is_on: bool) -> None:  # from a signal
        def work() -> None:
            turn(self._data_dir, is_on=is_on, name=name)

        self._refused = None
        try:
            await anyio.to_thread.run_sync(work)
        except UserError as error:
            self._refused = error.details
        self._look()

    @Slot()
    def _on_remove_requested(self) -> None:
        self._tasks.start("remove the logs of agents", self._remove)

    async def _remove(self) -> None:
        await anyio.to_thread.run_sync(remove_ended, self._data_dir)
        self._look()

    @Slot()
    def _on_invite_requested(self) -> None:
        self._commands.run(INVITE_AGENT)

    @Slot()
    def _on_finished(self) -> None:
        self._dialog = self._reader = None
        self._timer.setInterval(_COUNT_MS)


def _count(data_dir: Path) -> int:
    try:
        return live_count(data_dir)
    except OSError:  # shown with the list
        return 0


def _read(
    reader: AuditReader, data_dir: Path
) -> tuple[list[AuditedAgent], AgentAccess | None, list[ErrorDetails]]:
    """The agents and the switch, as far as they can be read, and why not."""
    errors: list[ErrorDetails] = []
    agents: list[AuditedAgent] = []
    access: AgentAccess | None = None
    try:
        agents = reader.read()
    except OSError as error:
        what, hint = "Cannot read what agents read", "Check the permissions of the folder."
        reason = error.strerror or str(error)
        errors.append(ErrorDetails(what, str(error.filename or data_dir), hint, reason))
    try:
        access = load_access(data_dir)
    except UserError as error:
        errors.append(error.details)
    return agents, access, errors
