"""The agents that read, what each has read, and the switch that ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QItemSelectionModel, QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QHeaderView, QSplitter, QWidget

from mcp_progress_monitor.formatting import count, elide, visible
from mcp_progress_monitor.gui.agents.model import AGENT, AgentsModel, ReadingsModel, called, title
from mcp_progress_monitor.gui.common.controls import (
    plain_label,
    plain_tip,
    push_button,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import (
    ScreenFit,
    fit_to_screen,
    in_column,
    in_row,
    order_tabs,
)
from mcp_progress_monitor.gui.common.tables import PlainTable
from mcp_progress_monitor.gui.theme import GAP, GAP_L, Appearance, Tone, emphasised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.audit.access import AgentAccess
    from mcp_progress_monitor.audit.log import AuditedAgent
    from mcp_progress_monitor.errors import ErrorDetails

_LINE: Final = "claude mcp add monitor -- mcp-progress-monitor mcp"
_NO_AGENTS: Final = (
    "No agent has read anything yet.\nAdd one with the button below, or in a terminal:\n" + _LINE
)
_OFF: Final = "Reading is off: all agents are refused, including those already connected."
_TIP: Final = (
    "Let agents read what this program records. If this is off, all agents are refused, also after"
    " a restart."
)


class AgentsDialog(QDialog):
    """Shows the agents of `show_agents`; every action is a signal."""

    turn_requested = Signal(object, bool)
    """The name of an agent, or None for all, and whether it may read."""
    invite_requested = Signal()
    remove_requested = Signal()  # the logs of agents that have ended

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Agents")
        self._appearance = appearance
        self._access: AgentAccess | None = None
        self.allowed = QCheckBox("Agents may &read", self)
        self.allowed.setToolTip(plain_tip(_TIP))
        self.note = plain_label(self)
        self.agents = AgentsModel(self)
        self.readings = ReadingsModel(self)
        self.table = PlainTable(self.agents, "Agents", self, empty=_NO_AGENTS)
        self.list = PlainTable(self.readings, "Readings", self, empty="Nothing was read.")
        self.invite = push_button(self, "&Let an agent read…")
        self.turn = push_button(self, "&Turn off")
        self.remove = push_button(self, "Remove &ended")
        self.remove.setToolTip("Delete the logs of agents that are no longer connected")
        self._lay_out()
        self.allowed.clicked.connect(self._on_allowed)
        self.table.selectionModel().selectionChanged.connect(self._on_selected)
        self.invite.clicked.connect(self.invite_requested)
        self.turn.clicked.connect(self._on_turn)
        self.remove.clicked.connect(self.remove_requested)
        self._refresh()
        fit_to_screen(self, QSize(940, 560))
        order_tabs(self)

    def show_agents(
        self,
        agents: Sequence[AuditedAgent],
        access: AgentAccess | None,
        errors: Sequence[ErrorDetails] = (),
    ) -> None:
        """Show the agents, and what the selected ones read; `access` is None if unreadable."""
        self._access = access
        chosen = {agent.path for agent in self.selected()}
        if self.agents.show_agents(agents, access):
            self._select([row for row, agent in enumerate(agents) if agent.path in chosen])
        self.allowed.setChecked(access is not None and not access.is_off)
        told = [elide(visible(error.as_text(), keep_line_ends=True), 600) for error in errors]
        if access is not None and access.is_off:
            told.insert(0, _OFF)
        damaged = sum(agent.damaged for agent in agents)
        if damaged:
            told.append(f"{count(damaged, 'line')} of the logs cannot be read.")
        missed = sum(reading.missed for agent in agents for reading in agent.readings)
        if missed:
            told.append(f"{count(missed, 'reading')} could not be logged.")
        self.note.setText("\n".join(told))
        self.note.setVisible(bool(told))
        set_text_colour(self.note, self._appearance, Tone.BAD if errors else Tone.WARNING)
        self._refresh()

    def selected(self) -> list[AuditedAgent]:
        rows = self.table.selectionModel().selectedRows()
        return [row.data(AGENT) for row in rows]

    def _select(self, rows: Sequence[int]) -> None:
        flags = QItemSelectionModel.SelectionFlag
        for row in rows:
            index = self.agents.index(row, 0)
            self.table.selectionModel().select(index, flags.Select | flags.Rows)

    def _lay_out(self) -> None:
        digit = self.fontMetrics().horizontalAdvance("0")
        for table, stretched, widths in (
            (self.table, 2, {0: 22, 1: 26, 3: 10, 4: 32}),
            (self.list, 5, {0: 12, 1: 18, 2: 10, 3: 14, 4: 10, 6: 9, 7: 12}),
        ):
            table.setFrameShape(table.Shape.StyledPanel)
            header = table.horizontalHeader()
            header.setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)
            for column, digits in widths.items():
                table.setColumnWidth(column, digit * digits)
        below = QWidget(self)
        self.title = plain_label(below)
        self.title.setFont(emphasised(self.font()))
        in_column(self.title, (self.list, 1), of=below, margins=0, spacing=GAP)
        body = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False)
        body.addWidget(self.table)
        body.addWidget(below)
        body.setStretchFactor(0, 2)
        body.setStretchFactor(1, 3)
        close = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        close.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        close.rejected.connect(self.reject)
        whole = ScreenFit(body, QSize(2 * GAP_L, 170), self)
        buttons = in_row(self.invite, self.turn, self.remove, 1, close, spacing=GAP)
        top = (self.allowed, self.note)
        in_column(*top, (whole, 1), buttons, of=self, spacing=GAP)

    def _refresh(self) -> None:
        """Show the readings of the selected agents, or of all, and what can be done."""
        chosen = self.selected()
        self.readings.show_agents(chosen or self.agents.agents())
        names = ", ".join(dict.fromkeys(map(title, chosen)))
        self.title.setText(f"Read by {elide(names, 80)}" if names else "Read by all agents")
        self.title.setVisible(bool(self.agents.agents()))
        self.remove.setEnabled(any(not agent.is_live for agent in self.agents.agents()))
        self.turn.setEnabled(bool(chosen) and self._access is not None)
        whom = elide(visible(title(chosen[0])), 30).replace("&", "&&") if chosen else "this agent"
        self.turn.setText(f"&Turn {'on' if self._is_off(chosen) else 'off'} for {whom}")

    def _is_off(self, chosen: Sequence[AuditedAgent]) -> bool:
        names_off = () if self._access is None else self._access.names_off
        return bool(chosen) and called(chosen[0]) in names_off

    @Slot()
    def _on_selected(self) -> None:
        self._refresh()

    @Slot(bool)
    def _on_allowed(self, is_on: bool) -> None:
        self.turn_requested.emit(None, is_on)

    @Slot()
    def _on_turn(self) -> None:
        chosen = self.selected()
        if chosen:
            self.turn_requested.emit(called(chosen[0]), self._is_off(chosen))
