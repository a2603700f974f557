"""Findings of live sessions: our own, and those of other clients that taps let us watch."""

from pathlib import Path

import pytest

from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.watched import BADGE
from mcp_progress_monitor.gui.window_commands import NEXT_MESSAGE
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.gui.programs import application, until, until_quit
from tests.gui.saved import running
from tests.servers.definition import server_definition
from tests.taps import HandTap

pytestmark = pytest.mark.anyio


async def test_an_older_server_is_not_blamed_for_our_own_question(data_dir: Path) -> None:
    definition = server_definition("--era", "handshake")
    options = WindowOptions(data_dir=data_dir, definitions=(definition,))
    async with until_quit(Program(application(), options)) as program:
        servers = program.engine.servers
        await until(lambda: "demo" in servers.names())
        await until(lambda: servers.snapshot("demo").state is ServerState.CONNECTED)
        timeline = program.engine.timeline
        frames = timeline.frames(timeline.first, timeline.end)
        assert any(b"server/discover" in frame.raw for frame in frames)
        pane = program.window.findings_pane
        await until(lambda: pane.model.watch.is_idle)
        assert [pane.model.finding(row).rule for row in range(pane.model.rowCount())] == []
        assert pane.model.watch.rules()["demo"].tried > 5


async def test_one_key_leads_to_the_message_though_the_list_was_never_shown(data_dir: Path) -> None:
    tap = HandTap(data_dir / "recordings" / "live")
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(3), tap.tick(3))
    async with running(data_dir) as program:
        pane = program.window.findings_pane
        pane.set_watched(False)
        await until(
            lambda: "PROG-3" in {pane.model.finding(r).rule for r in range(pane.model.rowCount())}
        )
        program.window.do[NEXT_MESSAGE].trigger()
        await until(lambda: "PROG-3: " in program.window.traffic_pane.notice)
    tap.end()


async def test_a_watched_server_has_findings_and_a_badge(data_dir: Path) -> None:
    tap = HandTap(data_dir / "recordings" / "live")
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(3))
    async with running(data_dir) as program:
        window = program.window
        tap.write(tap.tick(3))
        pane = window.findings_pane
        await until(
            lambda: "PROG-3" in {pane.model.finding(r).rule for r in range(pane.model.rowCount())}
        )
        view = window.watched.view
        await until(lambda: view.model().index(1, 0).data(BADGE) is not None)
        view.setCurrentIndex(view.model().index(1, 0))
        window.watched.commands[on_servers.WATCHED_FINDINGS].trigger()
        assert pane.shown.count == pane.model.rowCount() > 0
        assert "finding" in program._status.text  # noqa: SLF001
    tap.end()
