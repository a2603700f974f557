"""A server that ends by itself: why, how many jobs were lost, and what can be done."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton

from mcp_progress_monitor.engine.call import Call, CallSeries
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.jobs.commands import REISSUE
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.snapshots.definitions import RestartPolicy
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.programs import until
from tests.gui.saved import running
from tests.servers.definition import server_definition

pytestmark = pytest.mark.anyio


SOON = RestartPolicy(first_delay_s=0.5)
ONCE = RestartPolicy(first_delay_s=0.5, limit=1)


async def connect(program: Program, restarts: RestartPolicy = SOON) -> None:
    program.engine.servers.add(server_definition().model_copy(update={"restart": restarts}))
    await program.engine.servers.connect("demo")


def crash(program: Program, after: int = 0) -> None:
    """Call tools that go on until the last one ends their server."""
    long = Call("demo", "tools/call", {"name": "known_total", "arguments": {"steps": 100_000}})
    arguments = {"at_tick": 1, "interval_s": 0.2, "exit_code": 3}
    last = Call("demo", "tools/call", {"name": "crash", "arguments": arguments})
    program.calls.call_series(CallSeries((*[long] * after, last)))


def notice(program: Program) -> ErrorDetails | None:
    return next(iter(program.window.notices.errors()), None)


def buttons(program: Program) -> dict[str, QPushButton]:
    found = program.window.notices.findChildren(QPushButton)
    return {each.text().replace("&", ""): each for each in found if not each.isHidden()}


async def test_the_notice_says_why_and_what_was_lost_and_offers_both_ways_on(
    data_dir: Path,
) -> None:
    async with running(data_dir) as program:
        await connect(program)
        again: list[object] = []
        program.window.commands.carry_out(REISSUE, again.append)
        crash(program, after=2)
        await until(lambda: notice(program) is not None)
        shown = notice(program)
        assert shown is not None
        assert (shown.what, shown.where) == ("The server exited with exit code 3", "demo")
        assert shown.hint == "3 jobs lost. The server is being restarted."
        assert "crashing at tick 1" in shown.detail
        await until(lambda: "was restarted" in (notice(program) or shown).hint)
        assert len(program.window.notices.errors()) == 1
        buttons(program)["Show stderr"].click()
        assert program.window.stderr_pane.isVisible()
        buttons(program)["Re-issue 3 lost"].click()
        assert [sorted(jobs) for jobs in again] == [[1, 2, 3]]  # type: ignore[call-overload]
        assert notice(program) is None


async def test_a_server_that_ends_again_replaces_its_notice_and_counts_all(data_dir: Path) -> None:
    async with running(data_dir) as program:
        await connect(program, ONCE)
        crash(program)
        await until(lambda: "was restarted" in str(notice(program)))
        crash(program)
        await until(lambda: "2 jobs lost" in str(notice(program)))
        assert len(program.window.notices.errors()) == 1
        assert "failed each time" in str(notice(program))


async def test_a_server_that_is_disconnected_makes_no_notice(data_dir: Path) -> None:
    async with running(data_dir) as program:
        await connect(program)
        crash(program, after=1)
        await until(lambda: len(program.engine.jobs.ids()) == 2)
        await program.engine.servers.disconnect("demo")
        await until(lambda: all(state(program, job) is JobState.LOST for job in (1, 2)))
        assert notice(program) is None


def state(program: Program, job: int) -> JobState | None:
    found = program.engine.jobs.snapshot(job)
    return None if found is None else found.state
