"""The clocks of a running call in the program's own window, with the demo server."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mcp_progress_monitor.engine.call import Call, CallSeries
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.snapshots.limits import Limits
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.programs import until
from tests.gui.saved import running
from tests.servers.definition import server_definition

pytestmark = pytest.mark.anyio


async def silent_call(program: Program, idle_s: float) -> None:
    """Have a call under way that is silent after two ticks, and its job in the pane."""
    server = program.engine.servers.add(server_definition())
    await program.engine.servers.connect(server)
    params = {"name": "never_answers", "arguments": {"steps": 2, "interval_s": 0.01}}
    program.calls.call_series(
        CallSeries((Call(server, "tools/call", params, idle_timeout_s=idle_s),))
    )
    await until(lambda: bool(program.engine.jobs.ids()))
    program.window.open_dock("job")
    program.window.job_pane.show_job(1)
    clocks = program.window.job_pane.header.clocks
    await until(clocks.button.isVisible)
    clocks.button.click()
    assert clocks.isVisible()


def status_of_row(program: Program) -> str:
    model = program.window.job_list.table.model()
    return str(model.index(0, Column.STATUS).data())


def idle_limit_s(program: Program) -> float | None:
    found = program.engine.jobs.snapshot(1)
    assert found is not None
    assert found.clocks is not None
    return found.clocks.idle_s


def state_of_job(program: Program) -> JobState | None:
    found = program.engine.jobs.snapshot(1)
    return None if found is None else found.state


async def test_a_call_that_is_about_to_run_out_is_extended_in_time_by_a_press(
    data_dir: Path,
) -> None:
    async with running(data_dir) as program:
        await silent_call(program, idle_s=30)
        clocks = program.window.job_pane.header.clocks
        await until(lambda: "idle timeout in" in status_of_row(program))
        QTest.mouseClick(clocks.idle.ten, Qt.MouseButton.LeftButton)
        assert idle_limit_s(program) == 630
        await until(lambda: clocks.idle.label.text().startswith("Idle timeout in 10 min"))
        await until(lambda: "idle timeout in" not in status_of_row(program))
        QTest.mouseClick(clocks.idle.off, Qt.MouseButton.LeftButton)
        assert idle_limit_s(program) is None
        await until(lambda: clocks.idle.label.text() == "No idle timeout")
        program.engine.calls.set_limits(1, Limits(0.05))
        await until(lambda: state_of_job(program) is JobState.TIMED_OUT)
        await until(lambda: not clocks.isVisible())


async def test_a_press_too_late_is_reported_with_a_message(data_dir: Path) -> None:
    async with running(data_dir) as program:
        await silent_call(program, idle_s=30)
        program.jobs.extend(99, Limits(60, 0))
        (error,) = program.window.notices.errors()
        assert "not waiting for a reply" in error.what
