"""Tasks of a real server in the window: followed, listed, cancelled, left, and picked up again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.engine.call import Call, CallSeries
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.gui.jobs.commands import CANCEL, PICK_UP
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.recording_program import RecordingProgram
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.model import ABOUT, STORY
from mcp_progress_monitor.gui.tasks.dialog import TasksDialog
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.facts import RequestMade
from mcp_progress_monitor.snapshots.definitions import Era
from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot, JobState
from tests.gui.programs import application, until, until_quit
from tests.gui.saved import running
from tests.servers.definition import server_definition

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Program]:
    async with running(folder) as program:
        yield program


async def connect(program: Program, era: Era = "handshake", *options: str) -> None:
    program.engine.servers.add(server_definition(*options, era=era))
    await program.engine.servers.connect("demo")


async def begin(program: Program, tool: str, *, as_task: bool = True, **arguments: Any) -> JobId:
    """Call a tool as the call form does; the job, once it is a task if it is to be one."""
    before = set(program.engine.jobs.ids())
    params = {"name": tool, "arguments": arguments}
    program.calls.call_series(
        CallSeries((Call("demo", "tools/call", params, as_task=as_task, task_ttl_ms=60_000),))
    )
    await until(lambda: bool(set(program.engine.jobs.ids()) - before))
    (job,) = set(program.engine.jobs.ids()) - before
    await until(lambda: not as_task or found(program, job).task is not None)
    return job


def found(program: Program, job: JobId) -> JobSnapshot:
    snapshot = program.engine.jobs.snapshot(job)
    assert snapshot is not None
    return snapshot


def course(window: MainWindow) -> list[str]:
    model = window.job_pane.task.model
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def show(window: MainWindow, job: JobId) -> None:
    window.job_pane.show_job(job)
    window.open_dock("job")
    window.job_pane.tabs.setCurrentWidget(window.job_pane.task)


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_a_task_is_followed_to_its_end_and_a_recording_tells_the_same(
    folder: Path, era: Era
) -> None:
    async with opened(folder) as program:
        await connect(program, era)
        job = await begin(program, "task_work", steps=3, interval_s=0.1)
        await until(lambda: found(program, job).state is JobState.DONE)
        show(program.window, job)
        await until(lambda: course(program.window)[-1:] == ["Completed"])
        live = course(program.window)
        assert live[0] == "Working"
        recording = program.engine.recording.path
    assert recording is not None
    options = RecordingOptions(Playback(recording), folder)
    async with until_quit(RecordingProgram(application(), options)) as replayed:
        await until(lambda: replayed.playback.is_loaded)
        show(replayed.window, job)
        await until(lambda: course(replayed.window) == live)
        assert not replayed.window.job_list.commands[PICK_UP].isEnabled()


async def test_tasks_are_listed_opened_and_cancelled_with_those_of_others(folder: Path) -> None:
    async with opened(folder) as program:
        await connect(program, "handshake", "--page-size", "1")
        first = await begin(program, "task_work", steps=600)
        second = await begin(program, "task_never_ends")
        program.window.commands.run(on_servers.TASKS, "demo")
        dialog = program.window.findChild(TasksDialog)
        assert dialog is not None
        await until(lambda: dialog.model.rowCount() == 2)
        row = dialog.model.row_of(_task(program, second))
        assert row is not None
        dialog.select(row)
        dialog.open_job.click()
        assert program.window.job_pane.job == second
        dialog.cancel.click()
        await until(lambda: found(program, second).state is JobState.CANCELLED)
        assert found(program, first).state is JobState.RUNNING
        await until(lambda: dialog.model.index(row, 1).data() == "Cancelled")
        dialog.close()


def _task(program: Program, job: JobId) -> str:
    task = found(program, job).task
    assert task is not None
    return task.id


async def test_a_cooperative_task_is_said_to_work_still(folder: Path) -> None:
    async with opened(folder) as program:
        await connect(program, "per-request")
        job = await begin(program, "task_cooperative", goes_on_s=3, interval_s=0.2)
        program.window.commands.run(CANCEL, (job,))
        await until(lambda: found(program, job).state is JobState.CANCELLING)
        show(program.window, job)
        standing = program.window.job_pane.task.standing
        await until(lambda: "cancel requested, still working" in standing.text())
        await until(lambda: found(program, job).state is JobState.CANCELLED)


async def test_a_task_outlives_the_window_and_is_picked_up_by_the_next(
    folder: Path, tmp_path: Path
) -> None:
    kept = ("--state-dir", str(tmp_path / "tasks"))
    async with opened(folder) as program:
        await connect(program, "handshake", *kept)
        await begin(program, "task_work", steps=8, interval_s=0.2)
    async with opened(folder) as program:
        program.engine.servers.add(server_definition(*kept, era="handshake"))
        (job,) = program.engine.jobs.ids()
        window = program.window
        assert window.job_list.select(job)
        assert window.job_list.commands[PICK_UP].isEnabled()
        assert not window.job_list.commands[CANCEL].isEnabled()
        window.job_list.commands[PICK_UP].trigger()
        await until(lambda: found(program, job).state is JobState.DONE)


async def test_messages_and_resource_updates_of_a_server_are_shown(folder: Path) -> None:
    async with opened(folder) as program:
        await connect(program)
        window, sent = program.window, set[str]()

        def note(update: Update) -> None:
            sent.update(fact.method for fact in update.facts if isinstance(fact, RequestMade))

        program.engine.subscribe(note)
        window.servers.subscription_requested.emit("demo", "demo://counter", True)
        window.servers.log_level_requested.emit("demo", "debug")
        await until(lambda: {"resources/subscribe", "logging/setLevel"} <= sent)
        logged = await begin(program, "log_levels", as_task=False, interval_s=0.0)
        updated = await begin(program, "update_resource", as_task=False, interval_s=0.0)
        for job in (logged, updated):
            await until(lambda job=job: found(program, job).state is JobState.DONE)  # type: ignore[misc]
        await until(lambda: window.server_log_pane.shown.rowCount() == 8)
        index = window.servers.view.model().index(0, 0)
        await until(lambda: str(index.data(ABOUT)).startswith("3 resource updates"))
        assert "demo://counter updated 3 times" in index.data(STORY)
        recording = program.engine.recording.path
    assert recording is not None
    options = RecordingOptions(Playback(recording), folder)
    async with until_quit(RecordingProgram(application(), options)) as replayed:
        await until(lambda: replayed.window.server_log_pane.shown.rowCount() == 8)
        model, reported = replayed.window.servers.view.model(), "demo://counter updated 3 times"
        await until(lambda: reported in str(model.index(0, 0).data(STORY)))


async def test_tools_that_come_and_go_change_the_count_of_the_server(folder: Path) -> None:
    async with opened(folder) as program:
        await connect(program)
        index = program.window.servers.view.model().index(0, 0)
        before = str(index.data(ABOUT))
        await begin(program, "change_list", as_task=False, list="tools")
        await until(lambda: str(index.data(ABOUT)) != before)


async def test_a_task_of_another_client_is_listed_and_cancelled_by_its_id(
    folder: Path, tmp_path: Path
) -> None:
    kept = ("--state-dir", str(tmp_path / "tasks"))
    async with opened(folder) as program:
        await connect(program, "handshake", *kept)
        await begin(program, "task_never_ends")
    other = tmp_path / "other"
    other.mkdir()
    async with opened(other) as program:
        await connect(program, "handshake", *kept)
        assert not program.engine.jobs.ids()
        program.window.commands.run(on_servers.TASKS, "demo")
        dialog = program.window.findChild(TasksDialog)
        assert dialog is not None
        await until(lambda: dialog.model.rowCount() == 1)
        assert dialog.model.index(0, 5).data() == "none"
        assert not dialog.open_job.isEnabled()
        dialog.cancel.click()
        await until(lambda: dialog.model.index(0, 1).data() == "Cancelled")
        assert not program.engine.jobs.ids()
        await program.engine.servers.disconnect("demo")
        dialog.refresh.click()
        await until(lambda: "demo" in dialog.message.text() and dialog.refresh.isEnabled())
        dialog.close()
