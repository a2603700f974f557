"""The panes of a window reach the controllers that do what they ask for."""

from pathlib import Path

import pytest

from mcp_progress_monitor.gui.export_controller import ExportDialog
from mcp_progress_monitor.gui.jobs.commands import REPORT, TICKS
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.gui.recording_program import RecordingProgram
from mcp_progress_monitor.gui.recordings.replay import Mode
from mcp_progress_monitor.gui.traffic import commands as on_messages
from mcp_progress_monitor.gui.window_commands import EXPORT
from mcp_progress_monitor.playback.playback import Playback
from tests.gui.programs import application, until, until_quit
from tests.unit.recording.written import Written

pytestmark = pytest.mark.anyio


async def test_every_pane_can_export(data_dir: Path, tmp_path: Path) -> None:
    made = Written()
    made.call(1, "abc")
    made.reply(1, 1.0)
    options = RecordingOptions(Playback(made.save(tmp_path / "a.mcprec")), data_dir)
    async with until_quit(RecordingProgram(application(), options)) as program:
        await until(lambda: program.replay.mode is Mode.ENDED)
        window = program.window
        window.commands.run(EXPORT)
        for command in (REPORT, TICKS):
            window.commands.run(command, 1)
        window.commands.run(on_messages.EXPORT)
        titles = [dialog.windowTitle() for dialog in window.findChildren(ExportDialog)]
        assert titles == [
            "Export session",
            "Save report",
            "Save ticks",
            "Export filtered or selected messages",
        ]
        window.traffic_pane.controller.snippet_requested.emit(1)
        assert program.exports.row.text or window.notices.errors()
