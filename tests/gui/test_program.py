"""The program with its window, on what earlier runs left in its data folder."""

import gc
import sys
import time
import weakref
from pathlib import Path

import anyio
import pytest
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui import status_row
from mcp_progress_monitor.gui.aio import run_on_qt
from mcp_progress_monitor.gui.confirmations import ForgetQuestion
from mcp_progress_monitor.gui.findings.commands import FINDING_MENU
from mcp_progress_monitor.gui.jobs.commands import (
    CLOCK_COMMANDS,
    FOLLOW,
    JOB_COMMANDS,
    REMOVE,
    RESUME,
)
from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.panes import GO_TO
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.commands import (
    ADD,
    SERVER_COMMANDS,
    WATCHED_CALL,
    WATCHED_COMMANDS,
)
from mcp_progress_monitor.gui.servers.consent import SavedServerDialog
from mcp_progress_monitor.gui.traffic.commands import MESSAGE_COMMANDS
from mcp_progress_monitor.gui.window_commands import REMOVE_FINISHED, WINDOW_COMMANDS
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.store.chains import Origin
from mcp_progress_monitor.store.resumes import FILE
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.programs import application, until, until_quit
from tests.gui.saved import asked, demo_entry, running, save
from tests.unit.store.samples import PARAMS, begun, opened, query

pytestmark = pytest.mark.anyio

SAVED = StdioDefinition(name="db", command="no-such-command", args=("one",))
ORIGIN = Origin(
    server="db",
    server_key=SAVED.fingerprint,
    definition=SAVED.model_dump_json(),
    revision="2025-11-25",
    method="tools/call",
    params=PARAMS,
)


def set_aside(folder: Path) -> list[str]:
    return [str(path) for path in folder.glob(f"{FILE}.damaged*")]


def reported(program: Program) -> tuple[ErrorDetails, ...]:
    return program.window.notices.errors()


async def test_an_empty_folder_gives_three_choices_and_no_complaint(data_dir: Path) -> None:
    async with running(data_dir) as program:
        assert program.window.welcome.isVisible()
        assert reported(program) == ()


@pytest.mark.parametrize("is_safe", [False, True])
async def test_in_safe_mode_nothing_is_connected_before_the_user_does_it(
    data_dir: Path, is_safe: bool
) -> None:
    save(data_dir, demo=demo_entry(connectAtStart=True))
    options = WindowOptions(data_dir=data_dir, is_safe=is_safe)
    async with until_quit(Program(application(), options)) as program:
        said = [error.what for error in reported(program)]
        assert any(what.startswith("Safe mode: no server is connected") for what in said) is is_safe
        assert bool(asked(program)) is not is_safe  # whether it may be connected, which comes first
        if is_safe:
            program.window.commands.run(on_servers.CONNECT, "demo")
            await until(lambda: len(asked(program)) == 1)


async def test_a_window_closed_before_all_is_opened_starts_no_server(data_dir: Path) -> None:
    program = Program(application(), WindowOptions(data_dir=data_dir, definitions=(SAVED,)))
    async with anyio.create_task_group() as group:
        group.start_soon(program.run)
        await anyio.lowlevel.checkpoint()
        assert not program.ready.is_set()
        program.window.close_requested.emit()
    assert not program.engine.servers.names()
    assert not program.window.isVisible()


async def test_resumable_jobs_of_earlier_runs_are_there_at_once(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        await begun(store, origin=ORIGIN)
    async with running(data_dir) as program:
        (job,) = program.engine.jobs.ids()
        found = program.engine.jobs.snapshot(job)
        assert found is not None
        assert (found.state, found.progress, found.can_resume) == (JobState.RESUMABLE, 3, True)
        assert program.window.job_list.isVisible()
        assert reported(program) == ()


async def test_a_damaged_store_is_reported_once_and_kept(data_dir: Path) -> None:
    (data_dir / FILE).write_bytes(b"no database" * 1000)
    async with running(data_dir) as program:
        (error,) = reported(program)
        assert "damaged" in error.what
        assert error.where in set_aside(data_dir)
        await anyio.sleep(0.6)  # the store is looked after four times a second
        assert len(reported(program)) == 1
        program.window.notices.show_error(ErrorDetails("something else"))
        await anyio.sleep(0.3)
        assert reported(program)[-1] == ErrorDetails("something else")


async def test_a_store_of_a_newer_version_is_reported_and_its_jobs_are_shown(
    data_dir: Path,
) -> None:
    async with opened(data_dir) as store:
        await begun(store, origin=ORIGIN)
    query(data_dir, "PRAGMA user_version = 99")
    async with running(data_dir) as program:
        (error,) = reported(program)
        assert "newer version" in error.what
        assert len(program.engine.jobs.ids()) == 1


async def test_resuming_on_a_changed_server_shows_the_saved_command_first(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        await begun(store, origin=ORIGIN)
    async with running(data_dir) as program:
        window = program.window
        program.engine.servers.add(SAVED.model_copy(update={"args": ("two",)}))
        window.job_list.select(program.engine.jobs.ids()[0])
        window.job_list.commands[RESUME].trigger()
        await until(lambda: bool(window.findChildren(SavedServerDialog)))
        (dialog,) = window.findChildren(SavedServerDialog)
        assert "saved: no-such-command one" in dialog.text.toPlainText()
        assert len(program.engine.servers.snapshots()) == 1
        dialog.use.click()
        await until(lambda: len(program.engine.servers.snapshots()) == 2)
        await until(lambda: bool(reported(program)))
        assert "no-such-command" in reported(program)[-1].as_text()


async def test_forgetting_deletes_row_and_token(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_row, "SHOWN_MS", 500)
    async with opened(data_dir) as store:
        await begun(store, origin=ORIGIN)
    async with running(data_dir) as program:
        window = program.window
        window.job_list.select(program.engine.jobs.ids()[0])
        window.job_list.commands[REMOVE].trigger()
        (question,) = window.findChildren(ForgetQuestion)
        assert len(program.engine.jobs.ids()) == 1
        question.accept()
        await until(lambda: not program.engine.jobs.ids())
        await until(window.welcome.isVisible)
    async with opened(data_dir) as store:
        assert await store.chains() == []


async def test_removing_finished_jobs_keeps_those_that_can_be_resumed(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        await begun(store, origin=ORIGIN)
    async with running(data_dir) as program:
        program.window.do[REMOVE_FINISHED].trigger()
        await anyio.sleep(0.2)
        assert len(program.engine.jobs.ids()) == 1


async def test_a_job_is_followed_in_traffic_by_its_token(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        await begun(store, origin=ORIGIN)
    async with running(data_dir) as program:
        window = program.window
        window.job_list.select(program.engine.jobs.ids()[0])
        window.job_list.commands[FOLLOW].trigger()
        assert window.traffic_pane.bar.filter().text == "a"
        assert window.traffic_pane.isVisible()


async def test_without_a_token_a_job_of_an_earlier_run_cannot_be_followed(data_dir: Path) -> None:
    params = {key: value for key, value in PARAMS.items() if key != "_meta"}
    async with opened(data_dir) as store:
        await begun(store, origin=ORIGIN._replace(params=params))
    async with running(data_dir) as program:
        program.window.job_list.select(program.engine.jobs.ids()[0])
        program.window.job_list.commands[FOLLOW].trigger()
        assert "earlier run" in reported(program)[-1].what


async def test_notes_that_cannot_be_read_are_reported(data_dir: Path) -> None:
    async with running(data_dir) as program:
        program.window.traffic_pane.notes.open(data_dir)
        assert reported(program)[-1].what == "Cannot read the notes on this recording"


async def test_a_search_from_the_job_pane_filters_traffic(data_dir: Path) -> None:
    async with running(data_dir) as program:
        program.window.job_pane.search_requested.emit("eu-west")
        assert program.window.traffic_pane.bar.filter().text == "eu-west"
        assert program.window.traffic_pane.isVisible()


async def test_what_was_entered_and_chosen_is_there_after_a_restart(data_dir: Path) -> None:
    async with running(data_dir) as program:
        program.calls.new_call()
        program.window.job_pane.attempts.limit.setValue(12)
    kept = (data_dir / "window.ini").read_text()
    assert "calls=" in kept
    async with running(data_dir) as program:
        assert program.window.job_pane.attempts.limit.value() == 12


def test_a_program_that_ended_is_freed_with_its_window(
    qapp: QApplication, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[weakref.ref[Program]] = []

    async def main() -> int:
        program = Program(application(), WindowOptions(data_dir=data_dir))
        ended.append(weakref.ref(program))
        async with anyio.create_task_group() as group:
            group.start_soon(program.run)
            await program.ready.wait()
            program.quit()
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(sys, "excepthook", sys.excepthook)  # a run takes its place
        run_on_qt(qapp, main)
    # A thread that ends may hold its last work for a moment.
    for _ in range(600):
        gc.collect()
        if ended[0]() is None:
            break
        time.sleep(0.05)
    assert ended[0]() is None


async def test_every_command_is_carried_out_by_somebody(data_dir: Path) -> None:
    async with running(data_dir) as program:
        commands = program.window.commands
        program.window.late.findings.pane()
        of_rows = (*JOB_COMMANDS, *CLOCK_COMMANDS, *MESSAGE_COMMANDS, *FINDING_MENU)
        of_servers = (ADD, *SERVER_COMMANDS, *WATCHED_COMMANDS)
        declared = (*of_rows, *of_servers, *WINDOW_COMMANDS, *GO_TO)
        nobodys = [each for each in declared if not commands.is_carried_out(each)]
        assert nobodys == [WATCHED_CALL]  # which only says why a watched server is never called
