"""Nothing that ends running jobs does so before the user was asked, but for signals."""

import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from mcp_progress_monitor.engine.call import Call, CallSeries
from mcp_progress_monitor.gui.confirmations import EndQuestion, RemoveQuestion
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.model import ROW
from mcp_progress_monitor.gui.window_commands import QUIT
from mcp_progress_monitor.snapshots.definitions import demo_definition
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.programs import until
from tests.gui.saved import running, state

pytestmark = pytest.mark.anyio

LONG = {"name": "phases", "arguments": {"interval_s": 3_600}}
SHORT = {"name": "phases", "arguments": {"interval_s": 0.001}}
LOOKED_AGAIN_MS = "mcp_progress_monitor.gui.common.dialog_watch._INTERVAL_MS"


@pytest.fixture(autouse=True)
def _given_back() -> Iterator[None]:
    """A program takes signals and hooks of the process for its own, here as it does for users."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    hook = sys.excepthook
    yield
    sys.excepthook = hook
    for number, handler in kept.items():
        signal.signal(number, handler)


@asynccontextmanager
async def called(data_dir: Path, call: dict[str, Any], reached: JobState) -> AsyncIterator[Program]:
    """A program with a saved demo server and one job, which has reached a state."""
    async with running(data_dir, demo_definition()) as made:
        await until(lambda: state(made, "demo") is ServerState.CONNECTED)
        made.window.commands.run(on_servers.KEEP, "demo")
        made.calls.call_series(CallSeries((Call("demo", "tools/call", call),)))
        await until(lambda: job_state(made) is reached)
        yield made


def busy(data_dir: Path) -> AbstractAsyncContextManager[Program]:
    return called(data_dir, LONG, JobState.RUNNING)


def job_state(program: Program, place: int = 0) -> JobState | None:
    jobs = program.engine.jobs.ids()
    found = program.engine.jobs.snapshot(jobs[place]) if place < len(jobs) else None
    return None if found is None else found.state


def questions(program: Program) -> list[EndQuestion]:
    return [each for each in program.window.findChildren(EndQuestion) if each.isVisible()]


def click(question: EndQuestion, message: str) -> None:
    buttons = question.findChildren(QPushButton)
    next(each for each in buttons if each.text().replace("&", "") == message).click()


def ask(program: Program, action: str) -> None:
    if action == "Quit":
        program.window.close()
    else:
        command = {
            "Disable": on_servers.DISABLE,
            "Disconnect": on_servers.DISCONNECT,
            "Restart": on_servers.RESTART,
        }[action]
        program.window.commands.run(command, "demo")


def is_done(program: Program, action: str, pid: int | None) -> bool:
    if action == "Quit":
        return not program.window.isVisible()
    if action == "Restart":
        server = program.engine.servers.snapshot("demo")
        return server.state is ServerState.CONNECTED and server.pid != pid
    is_there = "demo" in program.engine.servers.names()
    return not (is_there and state(program, "demo").is_up)


async def test_an_open_question_leaves_out_jobs_that_end_meanwhile(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LOOKED_AGAIN_MS, 20)
    async with busy(data_dir) as program:
        ask(program, "Disconnect")
        (question,) = questions(program)
        assert question.text() == "Disconnect demo and end 1 running job?"
        await program.engine.calls.cancel(program.engine.jobs.ids()[0])
        await until(lambda: question.text() == "Disconnect demo?")
        assert question.informativeText() == ""
        click(question, "Disconnect")
        await until(lambda: is_done(program, "Disconnect", None))


async def test_an_open_question_closes_once_it_is_settled(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LOOKED_AGAIN_MS, 20)
    async with busy(data_dir) as program:
        ask(program, "Disconnect")
        program.window.commands.run(on_servers.REMOVE, "demo")
        assert questions(program)
        (removing,) = program.window.findChildren(RemoveQuestion)
        assert "ends 1 running job" in removing.informativeText()
        program.servers.disconnect_server("demo")
        await until(lambda: not questions(program))
        await until(lambda: "running job" not in removing.informativeText())
        assert removing.isVisible()
        program.servers.remove("demo")
        await until(lambda: not program.window.findChildren(RemoveQuestion))


async def declined(program: Program, action: str) -> None:
    """Ask twice, of which one question comes, and cancel it: nothing has ended."""
    pid = program.engine.servers.snapshot("demo").pid
    ask(program, action)
    ask(program, action)
    (question,) = questions(program)
    assert "1 running job?" in question.text()
    assert "Will be lost (no resume token saved):\n• phases, demo" in question.informativeText()
    click(question, "Cancel")
    await anyio.sleep(0.2)
    assert not is_done(program, action, pid)


async def agreed(program: Program, action: str) -> None:
    pid = program.engine.servers.snapshot("demo").pid
    ask(program, action)
    click(questions(program)[0], action)
    await until(lambda: is_done(program, action, pid))


async def test_a_running_job_ends_only_when_the_user_agrees(data_dir: Path) -> None:
    async with busy(data_dir) as program:
        for action in ("Disconnect", "Restart", "Disable", "Quit"):
            await declined(program, action)
        assert job_state(program) is JobState.RUNNING
        await agreed(program, "Restart")
        program.calls.call_series(CallSeries((Call("demo", "tools/call", LONG),)))
        await until(lambda: job_state(program, 1) is JobState.RUNNING)
        await agreed(program, "Disable")


async def test_the_program_ends_with_its_running_job_once_the_user_agrees(data_dir: Path) -> None:
    async with busy(data_dir) as program:
        await agreed(program, "Quit")


async def test_what_is_not_to_be_asked_again_is_done_at_once_until_settings_say_otherwise(
    data_dir: Path,
) -> None:
    async with busy(data_dir) as program:
        ask(program, "Restart")
        questions(program)[0].checkBox().setChecked(True)
        click(questions(program)[0], "Cancel")
        assert program.settings.is_asked("restart")
        ask(program, "Restart")
        questions(program)[0].checkBox().setChecked(True)
        click(questions(program)[0], "Restart")
        assert not program.settings.is_asked("restart")
        assert program.settings.is_asked("disconnect")
        await until(lambda: job_state(program) is JobState.LOST)
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        program.calls.call_series(CallSeries((Call("demo", "tools/call", LONG),)))
        await until(lambda: job_state(program, 1) is JobState.RUNNING)
        ask(program, "Restart")
        assert questions(program) == []
        await until(lambda: job_state(program, 1) is JobState.LOST)


async def test_without_a_running_job_nothing_is_asked(data_dir: Path) -> None:
    async with called(data_dir, SHORT, JobState.DONE) as program:
        pid = program.engine.servers.snapshot("demo").pid
        ask(program, "Restart")
        assert questions(program) == []
        await until(lambda: is_done(program, "Restart", pid))
        ask(program, "Quit")
        assert questions(program) == []
        await until(lambda: is_done(program, "Quit", None))


async def test_the_key_to_restart_and_the_key_to_quit_ask(data_dir: Path) -> None:
    async with busy(data_dir) as program:
        view = program.window.servers.view
        view.setFocus()
        view.setCurrentIndex(view.model().index(0, 0))
        QTest.keyClick(view, Qt.Key.Key_F5)
        (question,) = questions(program)
        assert question.text() == "Restart demo and end 1 running job?"
        question.reject()
        await until(lambda: not questions(program))
        program.window.do[QUIT].trigger()
        (question,) = questions(program)
        assert question.text() == "Quit and end 1 running job?"
        assert question.windowModality() is not Qt.WindowModality.ApplicationModal


async def test_saving_a_running_server_in_order_to_connect_it_asks(data_dir: Path) -> None:
    async with busy(data_dir) as program:
        program.catalogue_dialogs.edit("demo")
        from mcp_progress_monitor.gui.servers.editor import ServerEditor

        (editor,) = program.window.findChildren(ServerEditor)
        editor.connect_button.click()
        await until(lambda: bool(questions(program)))
        assert questions(program)[0].text() == "Restart demo and end 1 running job?"
        assert job_state(program) is JobState.RUNNING


async def test_removing_a_server_says_which_job_it_ends(data_dir: Path) -> None:
    async with busy(data_dir) as program:
        program.window.commands.run(on_servers.REMOVE, "demo")
        (question,) = program.window.findChildren(RemoveQuestion)
        assert "• phases, demo" in question.informativeText()


async def test_several_servers_at_once_are_one_question(data_dir: Path) -> None:
    async with running(data_dir, demo_definition(), demo_definition()) as program:
        names = program.engine.servers.names()
        assert len(names) == 2
        await until(lambda: all(state(program, n) is ServerState.CONNECTED for n in names))
        for name in names:
            program.calls.call_series(CallSeries((Call(name, "tools/call", LONG),)))
        await until(lambda: [job_state(program, n) for n in (0, 1)] == [JobState.RUNNING] * 2)
        view = program.window.servers.view

        def are_shown() -> bool:  # a moment later
            rows = [view.model().index(row, 0).data(ROW) for row in range(view.model().rowCount())]
            return [row.server.state for row in rows] == [ServerState.CONNECTED] * 2

        await until(are_shown)
        view.selectAll()
        view.setFocus()
        QTest.keyClick(view, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
        (question,) = questions(program)
        assert question.text() == "Disconnect 2 servers and end 2 running jobs?"
        click(question, "Disconnect")
        await until(lambda: not any(state(program, n).is_up for n in names))


async def test_quitting_as_a_signal_does_asks_nothing(data_dir: Path) -> None:
    async with busy(data_dir) as program:
        program.quit()  # what a signal calls: tests/integration/test_ways_of_ending.py sends some
        await until(lambda: not program.window.isVisible())
        assert questions(program) == []
