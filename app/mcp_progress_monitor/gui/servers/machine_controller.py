"""Watches other machines: asks for their commands, saves, restores and ends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.servers import commands
from mcp_progress_monitor.gui.window_commands import WATCH_MACHINE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.catalogue.machines import SavedMachine
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.servers.consent import ConsentDialog
    from mcp_progress_monitor.gui.servers.machine_dialog import MachineDialog
    from mcp_progress_monitor.gui.servers.saved_servers import Consents
    from mcp_progress_monitor.gui.servers.watched import WatchedModel
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


class MachineController(QObject):
    """Controls the dialog of other machines and their rows; a command runs only once approved."""

    def __init__(
        self,
        parent: QWidget,
        engine: Engine,
        approvals: Consents,
        model: WatchedModel,
        tasks: BackgroundTasks,
        appearance: Appearance,
        folder: Path,
        report: Callable[[ErrorDetails], None],
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._engine = engine
        self._approvals = approvals
        self._model = model
        self._tasks = tasks
        self._appearance = appearance
        self._folder = folder
        self._report = report
        self._machines: dict[str, SavedMachine] = {}
        self._dialog: MachineDialog | None = None
        self._consent: ConsentDialog | None = None
        approvals.keep_those_of(self._definitions)

    def restore(self) -> None:
        """Watch the saved machines again."""
        from mcp_progress_monitor.catalogue.machines import are_any

        if are_any(self._folder):
            self._tasks.start("restore machines", self._restore)

    @carries_out(WATCH_MACHINE)
    @Slot()
    def ask(self) -> None:
        from mcp_progress_monitor.gui.servers.machine_dialog import MachineDialog

        if self._dialog is None:
            dialog = self._dialog = MachineDialog(self._appearance, self._parent)
            dialog.watch_requested.connect(self._on_watch_requested)
            dialog.finished.connect(self._on_finished)
            open_dialog(dialog)
        self._dialog.raise_()
        self._dialog.activateWindow()

    @carries_out(commands.MACHINE_CONNECT)
    def connect_machine(self, name: str) -> None:
        """Connect now; show what would run first if it was not approved."""
        definition = self._machines[name].definition
        if self._approvals.is_approved(definition):
            self._engine.machines.retry(name)
            return
        from mcp_progress_monitor.gui.servers.consent import ConsentDialog

        origin = str(self._folder / "machines.json")
        earlier = self._approvals.earlier([definition])
        self._consent = ConsentDialog(origin, [definition], self._parent, earlier=earlier)
        self._consent.servers_approved.connect(self._on_approved)
        open_dialog(self._consent)

    @carries_out(commands.MACHINE_STOP)
    def stop(self, name: str) -> None:
        self._engine.machines.stop(name)

    @carries_out(commands.MACHINE_REMOVE)
    def remove(self, name: str) -> None:
        """Watch it no longer, and forget its command, and its approval if nothing else has it."""
        from mcp_progress_monitor.catalogue.machines import FILE_NAME, forget_machine

        machine = self._machines.pop(name, None)
        if machine is None:
            return
        self._engine.machines.remove(name)
        try:
            forget_machine(self._folder / FILE_NAME, machine)
            self._approvals.forget(machine.definition)
        except UserError as error:
            self._report(error.details)

    @Slot(str, object)
    def _on_watch_requested(self, name: str, words: Sequence[str]) -> None:
        """Watch what the user entered, which approves it."""
        from mcp_progress_monitor.catalogue.machines import (
            FILE_NAME,
            SavedMachine,
            save_machine,
            unused_name,
        )

        machine = SavedMachine(name=unused_name(name, self._machines), command=tuple(words))
        try:
            self._approvals.approve([machine.definition])
        except UserError as error:  # it is valid until the program exits
            self._report(error.details)
        try:
            self._add(machine)
        except UserError as error:
            if self._dialog is not None:
                self._dialog.show_error(error.details)
            return
        if self._dialog is not None:
            self._dialog.accept()
        try:
            save_machine(self._folder / FILE_NAME, machine)
        except UserError as error:
            what, hint = "The machine is not saved", "Correct or delete the file."
            reason = error.details.what
            self._report(ErrorDetails(what, str(self._folder / FILE_NAME), hint, reason))

    @Slot(object)
    def _on_approved(self, definitions: Sequence[ServerDefinition]) -> None:
        try:
            self._approvals.approve(definitions)
        except UserError as error:
            self._report(error.details)
        for definition in definitions:
            if definition.name in self._machines:
                self._engine.machines.retry(definition.name)

    @Slot()
    def _on_finished(self) -> None:
        self._dialog = None

    async def _restore(self) -> None:
        from mcp_progress_monitor.catalogue.machines import FILE_NAME, read_machines, unused_name

        for machine in await anyio.to_thread.run_sync(read_machines, self._folder / FILE_NAME):
            name = unused_name(machine.name, self._machines)
            self._add(machine.model_copy(update={"name": name}))

    def _definitions(self) -> list[ServerDefinition]:
        return [machine.definition for machine in self._machines.values()]

    def _add(self, machine: SavedMachine) -> None:
        definition = machine.definition
        machines = self._engine.machines
        machines.watch(definition, is_wanted=self._approvals.is_approved(definition))
        self._machines[machine.name] = machine
        self._model.set_machines(machines)
