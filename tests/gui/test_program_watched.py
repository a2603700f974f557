"""The jobs of other clients in the window: there by themselves, to be looked at alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.gui.confirmations import running_jobs
from mcp_progress_monitor.gui.jobs.commands import CANCEL, REISSUE
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.recording_program import RecordingProgram
from mcp_progress_monitor.gui.recordings.replay import Mode
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.gui.traffic.model import TrafficModel
from mcp_progress_monitor.playback.following import followed_file
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.programs import application, until, until_quit
from tests.gui.saved import running
from tests.taps import HandTap

pytestmark = pytest.mark.anyio


@pytest.fixture
def tap(data_dir: Path) -> Iterator[HandTap]:
    tap = HandTap(data_dir / "recordings" / "live")
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(3))
    tap.write(tap.line(Channel.STDERR, b"table locked"))
    yield tap
    tap.end()


def states(program: Program | RecordingProgram) -> list[JobState]:
    source = program.engine if isinstance(program, Program) else program.playback
    found = map(source.jobs.snapshot, source.jobs.ids())
    return [job.state for job in found if job is not None]


async def test_what_a_killed_program_followed_is_deleted(data_dir: Path) -> None:
    left = data_dir / "followed-x"
    left.mkdir()
    (left / "stdin.lock").touch()
    async with running(data_dir):
        await until(lambda: not left.exists())


async def test_a_watched_job_is_shown_with_all_that_is_known_of_it(
    data_dir: Path, tap: HandTap
) -> None:
    async with running(data_dir) as program:
        window = program.window
        await until(lambda: states(program) == [JobState.RUNNING])
        await until(lambda: not window.watched.isHidden())
        assert window.welcome.isHidden()
        await until(lambda: window.job_list.select(1))
        assert not window.job_list.commands[CANCEL].isEnabled()
        assert "Claude Code" in window.job_list.commands[CANCEL].toolTip()
        window.watched.view.setCurrentIndex(window.watched.view.model().index(1, 0))
        window.watched.commands[on_servers.WATCHED_TRAFFIC].trigger()
        traffic = window.traffic_pane.view.model()
        assert isinstance(traffic, TrafficModel)
        await until(lambda: traffic.rowCount() == 7)
        await until(
            lambda: (
                {traffic.text(row, TrafficColumn.SERVER) for row in range(7)}
                == {"local-db (Claude Code)"}
            )
        )
        tip = traffic.tip(0, TrafficColumn.SERVER)
        assert tip.startswith("local-db@4242: run by Claude Code")
        assert "tap pid 4242" in tip
        window.traffic_pane.set_filter(
            TrafficFilter(text='server == "local-db@4242" and kind == stderr')
        )
        await until(lambda: traffic.rowCount() == 1)
        window.watched.commands[on_servers.WATCHED_STDERR].trigger()
        await until(lambda: "table locked" in window.stderr_pane.text.toPlainText())
        jobs = [program.engine.jobs.snapshot(1)]
        assert running_jobs(jobs) == []  # closing the window ends nothing of it
        await until(lambda: "1 watched" in program._status.text)  # noqa: SLF001
        tap.write(tap.answer(), tap.closed())
        await until(lambda: states(program) == [JobState.DONE])
        await until(lambda: window.watched.commands[on_servers.WATCHED_DISMISS].isEnabled())
        window.watched.commands[on_servers.WATCHED_DISMISS].trigger()
        await until(window.watched.isHidden)
        assert states(program) == [JobState.DONE]


async def test_the_jobs_pane_of_a_watched_job_offers_nothing_to_send(
    data_dir: Path, tap: HandTap
) -> None:
    assert tap.path.exists()
    async with running(data_dir) as program:
        await until(lambda: states(program) == [JobState.RUNNING])
        program._navigation.open_job(1)  # noqa: SLF001
        header = program.window.job_pane.header
        await until(header.isVisible)
        shown = {each.id: header.buttons[each.id].isVisible() for each in (CANCEL, REISSUE)}
        assert shown == {CANCEL.id: False, REISSUE.id: False}
        assert header._numbers.text().startswith("watched in Claude Code · ")  # noqa: SLF001
        assert header._eye.isVisible()  # noqa: SLF001


async def test_a_growing_recording_is_followed_in_its_own_window(
    data_dir: Path, tap: HandTap
) -> None:
    playback = Playback(tap.path, followed_file(tap.path))
    options = RecordingOptions(playback, data_dir)
    async with until_quit(RecordingProgram(application(), options)) as program:
        await until(lambda: program.replay.mode is Mode.FOLLOWING)
        assert states(program) == [JobState.RUNNING]
        tap.write(tap.tick(4), tap.answer(), tap.closed())
        await until(lambda: states(program) == [JobState.DONE])
        tap.end()
        await until(lambda: program.replay.mode is Mode.ENDED)


async def test_a_job_left_while_no_window_was_open_is_shown_at_the_next_start(
    data_dir: Path,
) -> None:
    tap = HandTap(data_dir / "recordings" / "live", client="Cursor")
    tap.write(tap.opened("/opt/db"), tap.handshake(), tap.call(), tap.tick(4))
    tap.write(tap.answer(_meta={"nextResumeToken": "T1"}))
    tap.end()
    async with running(data_dir) as program:
        await until(lambda: states(program) == [JobState.RESUMABLE])
        (job,) = (program.engine.jobs.snapshot(each) for each in program.engine.jobs.ids())
        assert job is not None
        assert (job.watched_client, job.can_resume_here) == ("Cursor", True)
