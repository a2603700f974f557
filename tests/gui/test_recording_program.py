"""A recording in the window: what is shown, at which pace, and that nothing can be asked for."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel

from mcp_progress_monitor.exports.formats import HTML, ExportOptions
from mcp_progress_monitor.gui.calls.server_page import ServerPage
from mcp_progress_monitor.gui.findings.commands import FINDING_MENU
from mcp_progress_monitor.gui.jobs.commands import JOB_COMMANDS, OPEN, REISSUE, REPORT
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.gui.panes import GO_TO
from mcp_progress_monitor.gui.recording_program import RecordingProgram
from mcp_progress_monitor.gui.recordings.replay import Mode
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.commands import SERVER_COMMANDS
from mcp_progress_monitor.gui.traffic.commands import MESSAGE_COMMANDS
from mcp_progress_monitor.gui.traffic.model import TrafficModel
from mcp_progress_monitor.gui.window_commands import EXPORT, OPEN_RECORDING, WINDOW_COMMANDS
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.programs import application, until, until_quit
from tests.unit.recording.written import Written

pytestmark = pytest.mark.anyio


def written() -> Written:
    """One call of ten ticks, a second each, and a line of stderr."""
    made = Written()
    made.call(1, "abc")
    for second in range(1, 11):
        made.tick(second * 10, float(second), "abc")
    made.line(Channel.STDERR, b"nearly there", 9.5)
    made.reply(1, 10.5)
    return made


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return written().save(tmp_path / "night.mcprec")


def showing(
    recording: Path, data_dir: Path, **options: Any
) -> AbstractAsyncContextManager[RecordingProgram]:
    made = RecordingOptions(Playback(recording), data_dir, **options)
    return until_quit(RecordingProgram(application(), made))


async def shown(program: RecordingProgram) -> None:
    await until(lambda: program.replay.mode is Mode.ENDED)
    await until(lambda: program.window.traffic_pane.view.model().rowCount() > 0)


def traffic_rows(program: RecordingProgram) -> int:
    model = program.window.traffic_pane.view.model()
    assert isinstance(model, TrafficModel)
    return model.shown


async def test_jobs_traffic_and_stderr_are_there_as_live(recording: Path, data_dir: Path) -> None:
    async with showing(recording, data_dir) as program:
        await shown(program)
        (job,) = program.playback.jobs.ids()
        found = program.playback.jobs.snapshot(job)
        assert found is not None
        assert (found.state, found.progress, found.tick_count) == (JobState.DONE, 100, 10)
        assert program.window.job_list.table.model().rowCount() == 1
        await until(lambda: traffic_rows(program) == 13)
        program.window.open_dock("stderr")
        await until(lambda: "nearly there" in program.window.stderr_pane.text.toPlainText())
        assert program.window.notices.errors() == ()


async def test_the_title_and_a_line_name_the_file_with_date_and_length(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        assert program.window.windowTitle() == "night.mcprec"
        said = " ".join(label.text() for label in program.banner.findChildren(QLabel))
        assert "night.mcprec" in said
        assert "2025-11-" in said
        assert "10 s" in said


async def test_nothing_can_be_asked_of_a_server_and_the_tips_say_why(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await shown(program)
        window = program.window
        live = [command for command in WINDOW_COMMANDS if command.live_only]
        assert len(live) == 11
        for action in map(window.do.__getitem__, live):
            assert not action.isEnabled()
            assert "recording" in action.toolTip()
        window.job_list.select(program.playback.jobs.ids()[0])
        assert not window.job_list.commands[REISSUE].isEnabled()
        assert "recording" in window.job_list.commands[REISSUE].toolTip()
        assert not window.tool_bar.connect_button.isVisible()
        assert not window.tool_bar.resume_button.isVisible()
        assert window.do[OPEN_RECORDING] in window.tool_bar.actions()


async def test_a_server_shows_what_the_recording_knows_of_it(
    tmp_path: Path, data_dir: Path
) -> None:
    made = Written()
    opening: dict[str, Any] = {"protocolVersion": "2025-11-25"}
    made.send("initialize", opening, 0)
    said = {"serverInfo": {"name": "db", "version": "2"}, "capabilities": {"tools": {}}}
    made.reply(0, result=opening | said)
    made.send("tools/list", {}, 1)
    tool = {"name": "export", "description": "Writes rows", "inputSchema": {"type": "object"}}
    made.reply(1, 1.0, result={"tools": [tool]})
    made.call(2, "abc", 2.0)
    async with showing(made.save(tmp_path / "a.mcprec"), data_dir) as program:
        await shown(program)
        window = program.window
        window.servers.view.setCurrentIndex(window.servers.shown.index(0, 0))
        window.servers.commands[on_servers.OPEN].trigger()
        page = window.middle.page
        assert isinstance(page, ServerPage)
        assert page.details.title.text().startswith("export")
        assert page.details.description.toPlainText() == "Writes rows"
        assert "db 2" in page.state.text()
        assert page.about.model().rowCount() == 3
        assert "MCP 2025-11-25" in page.state.text()
        program.replay.restart()
        program.replay.read_all()
        await shown(program)
        assert page.details.title.text().startswith("export")
        page.back.click()
        assert window.middle.page is window.job_list


async def test_a_cut_end_is_reported_once_in_the_line_and_whole_on_demand(
    tmp_path: Path, data_dir: Path
) -> None:
    file = tmp_path / "cut.mcprec"
    file.write_bytes(written().content[:-20] + b"\x00")
    async with showing(file, data_dir) as program:
        await until(lambda: bool(program.banner.errors))
        await shown(program)
        errors = program.banner.errors
        assert [error.what for error in errors] == [
            "The recording ends here while 1 job was running",
            "The recording ends in the middle of a line, which was skipped",
        ]
        assert program.banner.details.isVisible()
        assert program.window.notices.errors() == ()
        program.banner.details.click()
        assert set(program.window.notices.errors()) == set(errors)


async def test_a_replay_at_a_speed_begins_with_what_had_happened(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir, speed=1.0) as program:
        await until(lambda: traffic_rows(program) >= 1)
        assert program.replay.mode is Mode.PLAYING
        assert traffic_rows(program) < 5
        program.replay.set_speed(100.0)
        await until(lambda: program.replay.mode is Mode.ENDED)
        await until(lambda: traffic_rows(program) == 13)


async def test_stepping_and_restarting_show_exactly_what_was_replayed(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await shown(program)
        program.bar.start.click()
        await until(lambda: traffic_rows(program) == 0)
        assert program.window.job_list.table.model().rowCount() == 0
        for _ in range(3):
            program.bar.next.click()
        await until(lambda: traffic_rows(program) == 3)
        found = program.playback.jobs.snapshot(program.playback.jobs.ids()[0])
        assert found is not None
        assert (found.state, found.progress) == (JobState.RUNNING, 20)
        assert found.elapsed_s == pytest.approx(2.0)
        program.bar.all.click()
        await until(lambda: traffic_rows(program) == 13)
        assert program.window.job_list.table.model().rowCount() == 1


async def test_a_story_that_was_open_closes_when_the_replay_begins_again(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await shown(program)
        program.window.commands.run(OPEN, program.playback.jobs.ids()[0])
        assert program.window.job_pane.job is not None
        program.replay.restart()
        await until(lambda: program.window.job_pane.job is None)
        program.window.open_dock("stderr")
        assert program.window.stderr_pane.text.toPlainText() == ""


async def test_traffic_begins_with_the_filter_that_was_asked_for(
    recording: Path, data_dir: Path
) -> None:
    text = 'progress >= 80 and token == "abc"'
    async with showing(recording, data_dir, filter_text=text) as program:
        await shown(program)
        await until(lambda: traffic_rows(program) == 3)


async def test_a_recording_of_nothing_is_shown_as_that(tmp_path: Path, data_dir: Path) -> None:
    file = Written().save(tmp_path / "empty.mcprec")
    async with showing(file, data_dir) as program:
        await until(lambda: program.replay.mode is Mode.ENDED)
        assert program.window.job_list.isVisible()
        assert not program.bar.slider.isEnabled()
        assert "0 messages" in program.window.statusBar().text  # type: ignore[attr-defined]


async def test_marks_are_kept_beside_the_first_part_whichever_was_opened(
    tmp_path: Path, data_dir: Path
) -> None:
    written().save(tmp_path / "night.mcprec")
    second = Written(part=2, first=14)
    second.line(Channel.STDERR, b"later", 20.0)
    second.save(tmp_path / "night.2.mcprec")
    async with showing(tmp_path / "night.2.mcprec", data_dir) as program:
        await shown(program)
        await until(lambda: traffic_rows(program) == 14)
        program.window.traffic_pane.notes.toggle([3])
    assert (tmp_path / "night.mcprec.notes.json").is_file()
    assert not (tmp_path / "night.2.mcprec.notes.json").exists()


async def test_a_screenshot_is_saved(recording: Path, data_dir: Path) -> None:
    file = data_dir / "window.png"
    made = RecordingOptions(Playback(recording), data_dir, screenshot=file, after_s=0.1)
    program = RecordingProgram(application(), made)
    assert await program.run() == 0
    assert QImage(str(file)).width() >= 900
    program.window.deleteLater()


async def test_a_report_and_a_session_can_be_saved_without_a_server(
    recording: Path, data_dir: Path, tmp_path: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await shown(program)
        window = program.window
        window.job_list.select(program.playback.jobs.ids()[0])
        assert window.job_list.commands[REPORT].isEnabled()
        assert window.do[EXPORT].isEnabled()
        path = tmp_path / "report.html"
        program.exports.export(ExportOptions(HTML, job=program.playback.jobs.ids()[0]), path)
        await until(path.exists)
        assert b"100 / 100" in path.read_bytes()


async def test_what_a_recording_offers_is_carried_out_by_somebody(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await shown(program)
        commands = program.window.commands
        program.window.late.findings.pane()
        of_rows = (*JOB_COMMANDS, *SERVER_COMMANDS, *MESSAGE_COMMANDS, *FINDING_MENU)
        offered = filter(commands.is_offered, (*of_rows, *WINDOW_COMMANDS, *GO_TO))
        assert [each.id for each in offered if not commands.is_carried_out(each)] == []
