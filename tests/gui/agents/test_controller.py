"""Agents in the whole program: counted, listed while they read, turned off and on."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.audit.access import load_access
from mcp_progress_monitor.audit.log import AgentName, AuditLog, Reading
from mcp_progress_monitor.gui.agents import controller
from mcp_progress_monitor.gui.agents.dialog import AgentsDialog
from mcp_progress_monitor.gui.agents.invite_dialog import InviteDialog
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.window_commands import AGENTS
from tests.gui.programs import until
from tests.gui.saved import running

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "_LIVE_MS", 20)
    monkeypatch.setattr(controller, "_COUNT_MS", 20)


def begun(folder: Path) -> AuditLog:
    log = AuditLog(folder)
    log.begin()
    log.note_name(AgentName(when=1.0, name="cursor"))
    return log


def opened(program: Program) -> AgentsDialog:
    program.window.do[AGENTS].trigger()
    (dialog,) = program.window.findChildren(AgentsDialog)
    return dialog


async def test_connected_agents_are_counted_in_the_status_bar(data_dir: Path) -> None:
    log = begun(data_dir)
    async with running(data_dir) as program:
        status = program.window.statusBar()
        await until(lambda: "1 agent connected" in getattr(status, "text", ""))
        log.end()
        await until(lambda: "agent" not in getattr(status, "text", ""))


async def test_what_an_agent_reads_is_listed_at_once(data_dir: Path) -> None:
    async with running(data_dir) as program:
        dialog = opened(program)
        assert opened(program) is dialog
        log = begun(data_dir)
        log.note(Reading(when=2.0, what="jobs"))
        await until(lambda: dialog.readings.rowCount() == 1)
        log.note(Reading(when=3.0, what="findings"))
        await until(lambda: dialog.readings.rowCount() == 2)
        assert dialog.readings.index(0, 2).data() == "findings"
        log.end()
        await until(dialog.remove.isEnabled)
        dialog.remove.click()
        await until(lambda: dialog.agents.rowCount() == 0)


async def test_the_switches_are_saved(data_dir: Path) -> None:
    log = begun(data_dir)
    async with running(data_dir) as program:
        dialog = opened(program)
        await until(lambda: dialog.agents.rowCount() == 1)
        dialog.table.selectRow(0)
        dialog.turn.click()
        await until(lambda: load_access(data_dir).names_off == ("cursor",))
        dialog.allowed.click()
        await until(lambda: load_access(data_dir).is_off)
        await until(lambda: "Reading is off" in dialog.note.text())
        dialog.allowed.click()
        await until(lambda: not load_access(data_dir).is_off)
    log.end()


async def test_a_switch_that_cannot_be_saved_or_read_says_why(data_dir: Path) -> None:
    (data_dir / "agents").write_bytes(b"")
    async with running(data_dir) as program:
        dialog = opened(program)
        await until(lambda: "Cannot read what agents read" in dialog.note.text())
        dialog.allowed.click()
        await until(lambda: "Cannot turn" in dialog.note.text())
        dialog.reject()
        await until(lambda: not program.window.findChildren(AgentsDialog))


async def test_an_agent_is_let_in_from_the_list(data_dir: Path, isolated_home: Path) -> None:
    cursor = isolated_home / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": {}}))
    async with running(data_dir) as program:
        opened(program).invite.click()
        (dialog,) = program.window.findChildren(InviteDialog)
        await until(lambda: dialog.clients.count() > 1)
        assert dialog.clients.currentText() == "Cursor"
        dialog.reject()
