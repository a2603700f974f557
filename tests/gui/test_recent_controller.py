"""Recent servers and calls in the program: offered while nothing is connected."""

from pathlib import Path

import pytest

from mcp_progress_monitor.gui.calls.form import CallDialog
from mcp_progress_monitor.gui.calls.memory import CallMemory
from mcp_progress_monitor.gui.calls.recent import ENTRY, Recent
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.snapshots.definitions import demo_definition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.gui.programs import until
from tests.gui.saved import approve, asked, demo_entry, running, save, state

pytestmark = pytest.mark.anyio


def offered(program: Program) -> list[Recent]:
    model = program.window.recent.view.model()
    return [model.index(row, 0).data(ENTRY) for row in range(model.rowCount())]


async def test_a_recent_call_connects_its_server_and_opens_filled_in(data_dir: Path) -> None:
    save(data_dir, demo=demo_entry(), other=demo_entry())
    memory = CallMemory()
    memory.remember("demo", "tools/call", "known_total", {"steps": 7})
    preferences = Preferences(data_dir)
    preferences.keep_json("calls", {"arguments": memory.state()})
    assert preferences.save()
    async with running(data_dir) as program:
        (call,) = offered(program)
        assert call.arguments == {"steps": 7}
        program.window.recent.chosen.emit(call)
        await until(lambda: bool(asked(program)))
        approve(asked(program)[0])
        await until(lambda: bool(program.window.findChildren(CallDialog)))
        assert program.window.recent.isHidden()
        (dialog,) = program.window.findChildren(CallDialog)
        await until(dialog.isVisible)
        assert dialog.form.state()["server"] == "demo"
        assert dialog.form._form.value()["steps"] == 7  # noqa: SLF001
        assert not program.engine.jobs.ids()  # nothing is sent before the user says so
        program.servers.disconnect_server("demo")
        await until(lambda: offered(program) == [Recent("demo"), call])
        assert not program.window.recent.isHidden()


async def test_a_connected_server_is_recent_at_the_next_start(data_dir: Path) -> None:
    save(data_dir, demo=demo_entry())
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        assert program.window.recent.isHidden()
    async with running(data_dir) as program:
        assert offered(program) == [Recent("demo")]
        program._forget_arguments()  # noqa: SLF001
        assert offered(program) == [Recent("demo")]
