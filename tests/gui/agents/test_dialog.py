"""The list of agents: what is selected is shown, and the switches ask the controller."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.audit.access import AgentAccess
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.agents.dialog import AgentsDialog
from mcp_progress_monitor.gui.theme import Appearance
from tests.gui.agents.test_model import ON, agent, reading


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance) -> AgentsDialog:
    made = AgentsDialog(appearance)
    qtbot.addWidget(made)
    return made


def asked(dialog: AgentsDialog) -> list[tuple[str | None, bool]]:
    found: list[tuple[str | None, bool]] = []
    dialog.turn_requested.connect(lambda name, is_on: found.append((name, is_on)))
    return found


def test_all_readings_are_shown_until_an_agent_is_selected(dialog: AgentsDialog) -> None:
    shown = [agent("cursor", reading()), agent("zed", reading(), reading(2.0))]
    dialog.show_agents(shown, ON)
    assert dialog.readings.rowCount() == 3
    assert dialog.title.text() == "Read by all agents"
    dialog.table.selectRow(1)
    assert dialog.readings.rowCount() == 2
    assert dialog.title.text() == "Read by Zed 3"


def test_the_selected_agent_stays_selected_when_another_comes(dialog: AgentsDialog) -> None:
    dialog.show_agents([agent("zed")], ON)
    dialog.table.selectRow(0)
    dialog.show_agents([agent("cursor"), agent("zed")], ON)
    (chosen,) = dialog.selected()
    assert chosen.path == Path("zed.jsonl")


def test_reading_is_turned_off_for_all_and_for_one(dialog: AgentsDialog) -> None:
    said = asked(dialog)
    dialog.show_agents([agent("cursor")], ON)
    assert not dialog.turn.isEnabled()
    dialog.allowed.click()
    dialog.table.selectRow(0)
    assert dialog.turn.text() == "&Turn off for Cursor 3"
    dialog.turn.click()
    dialog.show_agents([agent("cursor")], AgentAccess(names_off=("cursor",)))
    assert dialog.turn.text() == "&Turn on for Cursor 3"
    dialog.turn.click()
    assert said == [(None, False), ("cursor", False), ("cursor", True)]


def test_what_is_off_or_broken_is_said(dialog: AgentsDialog) -> None:
    dialog.show_agents([], ON)
    assert dialog.note.isHidden()
    dialog.show_agents([], AgentAccess(is_off=True))
    assert "Reading is off" in dialog.note.text()
    assert not dialog.allowed.isChecked()
    damaged = agent("cursor", reading(missed=3))._replace(damaged=2)
    dialog.show_agents([damaged], None, [ErrorDetails("Cannot read the switch", "here")])
    assert "Cannot read the switch (here)" in dialog.note.text()
    assert "2 lines of the logs cannot be read." in dialog.note.text()
    assert "3 readings could not be logged." in dialog.note.text()
    assert not dialog.allowed.isChecked()
    dialog.table.selectRow(0)
    assert not dialog.turn.isEnabled()


def test_only_ended_agents_can_be_removed(dialog: AgentsDialog) -> None:
    dialog.show_agents([agent("cursor")], ON)
    assert not dialog.remove.isEnabled()
    dialog.show_agents([agent("cursor", is_live=False)], ON)
    assert dialog.remove.isEnabled()
