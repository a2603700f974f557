"""From a finding to its messages and back, in a recording's window; what is ignored is kept."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from mcp_progress_monitor.gui.findings.commands import IGNORE, ISSUE, OPEN
from mcp_progress_monitor.gui.findings.model import FINDING
from mcp_progress_monitor.gui.findings.view import JobFindings
from mcp_progress_monitor.gui.jobs.model import ROW
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.gui.recording_program import RecordingProgram
from mcp_progress_monitor.gui.recordings.replay import Mode
from mcp_progress_monitor.gui.servers.model import BADGE as SERVER_BADGE
from mcp_progress_monitor.gui.window_commands import BACK, NEXT_MESSAGE, PREVIOUS_MESSAGE
from mcp_progress_monitor.playback.playback import Playback
from tests.gui.programs import application, until, until_quit
from tests.unit.recording.written import Written

pytestmark = pytest.mark.anyio


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A call whose progress stands still twice."""
    made = Written()
    made.call(1, "abc")
    for second, progress in enumerate((10, 10, 20, 20), 1):
        made.tick(progress, float(second), "abc")
    made.reply(1, 10.5)
    return made.save(tmp_path / "night.mcprec")


def showing(recording: Path, data_dir: Path) -> AbstractAsyncContextManager[RecordingProgram]:
    return until_quit(
        RecordingProgram(application(), RecordingOptions(Playback(recording), data_dir))
    )


async def found(program: RecordingProgram) -> None:
    await until(lambda: program.replay.mode is Mode.ENDED)
    await until(lambda: program.window.findings_pane.model.rowCount() > 0)
    await until(lambda: program.window.job_list.table.model().rowCount() > 0)


def chosen(program: RecordingProgram) -> str:
    """The number of the message that Traffic shows in full."""
    timeline = program.playback.timeline
    return str(timeline.number(program.window.traffic_pane.details.place or 0))


async def test_jobs_servers_and_the_tab_have_badges(recording: Path, data_dir: Path) -> None:
    async with showing(recording, data_dir) as program:
        await found(program)
        window = program.window
        total = program.window.findings_pane.shown.count
        assert window.docks["findings"].windowTitle() == f"Findings ({total})"
        jobs = window.job_list.table.model()
        badge = jobs.index(0, 0).data(ROW).badge
        assert badge.level.value == "error"
        spoken = jobs.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
        assert spoken.endswith(badge.spoken)
        servers = window.servers.view.model()
        assert servers.index(0, 0).data(SERVER_BADGE).total == total
        assert "finding" in servers.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)


async def test_the_messages_of_a_finding_can_be_gone_through_and_back(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await found(program)
        window, do = program.window, program.window.do
        pane = window.findings_pane
        window.open_dock("findings")
        pane.set_filter("rule == PROG-3")
        finding = pane.current()
        assert finding is not None
        first, second = finding.frames
        pane.commands[OPEN].trigger()
        await until(lambda: window.late.findings.is_seen is False)
        assert chosen(program) == str(first)
        assert "PROG-3" in window.traffic_pane.notice
        assert "Message 1 of 2" in window.traffic_pane.notice
        do[NEXT_MESSAGE].trigger()
        assert chosen(program) == str(second)
        do[NEXT_MESSAGE].trigger()
        assert chosen(program) == str(second)
        do[PREVIOUS_MESSAGE].trigger()
        assert chosen(program) == str(first)
        pane.set_filter("")
        do[BACK].trigger()
        await until(lambda: window.late.findings.is_seen)
        assert pane.current() == finding


async def test_the_findings_of_a_job_lead_to_their_messages_as_well(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await found(program)
        window = program.window
        window.open_dock("job")
        pane = window.job_pane
        pane.show_job(window.job_list.table.model().index(0, 0).data(ROW).job.id)
        section = pane.findings
        assert isinstance(section, JobFindings)
        assert pane.tabs.tabText(pane.tabs.indexOf(section)) == f"Fin&dings ({section.shown.count})"
        pane.tabs.setCurrentWidget(section)
        first = section.shown.index(0, 0)
        finding = first.data(FINDING)
        section.tree.activated.emit(first)
        await until(lambda: window.late.job.is_seen is False)
        assert chosen(program) == str(finding.frames[0])
        assert finding.rule in window.traffic_pane.notice


async def test_without_a_finding_chosen_the_key_begins_with_the_gravest(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await found(program)
        program.window.do[NEXT_MESSAGE].trigger()
        gravest = program.window.findings_pane.current()
        assert gravest is not None
        assert chosen(program) == str(gravest.frames[0])


async def test_what_is_ignored_stays_so_in_the_next_window(recording: Path, data_dir: Path) -> None:
    async with showing(recording, data_dir) as program:
        await found(program)
        program.window.docks["findings"].raise_()
        pane = program.window.findings_pane
        pane.set_filter("rule == PROG-3")
        pane.commands[IGNORE].trigger()
        assert pane.ignored.text() == "1 ignored"
        assert pane.shown.count == 0
    async with showing(recording, data_dir) as program:
        program.window.docks["findings"].raise_()
        await until(lambda: program.window.findings_pane.ignored.text() == "1 ignored")
        assert program.window.findings_pane.model.ignored == (("PROG-3", "demo"),)
        rows = program.window.job_list.table.model()
        await until(lambda: rows.rowCount() > 0)
        badge = rows.index(0, 0).data(ROW).badge
        assert badge is None or badge.level.value != "error"


async def test_what_was_kept_in_a_damaged_way_is_left_out(recording: Path, data_dir: Path) -> None:
    from mcp_progress_monitor.gui.preferences import Preferences

    kept = Preferences(data_dir)
    kept.keep_json("findings/ignored", {"ignored": [["JR-2"], 7, ["JR-2", "x"], [1, "x"]]})
    kept.save()
    async with showing(recording, data_dir) as program:
        assert program.window.findings_pane.model.ignored == (("JR-2", "x"),)


async def test_a_finding_is_copied_as_an_issue(recording: Path, data_dir: Path) -> None:
    async with showing(recording, data_dir) as program:
        await found(program)
        pane = program.window.findings_pane
        pane.set_filter("rule == PROG-3")
        pane.commands[ISSUE].trigger()
        text = QGuiApplication.clipboard().text()
        assert text.startswith("# PROG-3: ")
        assert '"progressToken": "abc"' in text


async def test_jobs_and_servers_lead_to_their_findings(recording: Path, data_dir: Path) -> None:
    async with showing(recording, data_dir) as program:
        await found(program)
        pane = program.window.findings_pane
        program.findings.show_of_job(1)
        assert pane.field.text() == "job == 1"
        await until(lambda: program.window.late.findings.is_seen)
        program.findings.show_of_server('a "b"')
        assert pane.field.text() == 'server == "a \\"b\\""'
        assert pane.shown.count == 0


async def test_a_replay_that_begins_again_has_no_findings_yet(
    recording: Path, data_dir: Path
) -> None:
    async with showing(recording, data_dir) as program:
        await found(program)
        program.window.docks["findings"].raise_()
        program.replay.restart()
        assert program.window.findings_pane.empty.text().startswith("No rule was tested yet.")
        assert program.window.docks["findings"].windowTitle() == "Findings"
        program.replay.read_all()
        await found(program)
