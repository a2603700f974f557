"""The author's inner loop in the whole program: a save, a restart, a call, a comparison."""

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from PySide6.QtWidgets import QPushButton

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.gui.calls.memory import SavedCall
from mcp_progress_monitor.gui.jobs.compare import ComparisonSection
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers.commands import ON_SAVE
from mcp_progress_monitor.gui.servers.save_dialog import SaveDialog
from mcp_progress_monitor.snapshots.definitions import RestartPolicy, StdioDefinition
from mcp_progress_monitor.snapshots.servers import OnSave, ServerState
from tests.gui.programs import until
from tests.gui.saved import running
from tests.integration.reconnecting import SCRIPT

pytestmark = pytest.mark.anyio

NEVER = RestartPolicy(is_on=False)
ECHO = Call("plain", "tools/call", {"name": "echo", "arguments": {}})


def edit(script: Path, word: str) -> None:
    script.write_text(SCRIPT.read_text().replace('"plain"\n', f'"{word}"\n', 1))


def on_save(program: Program) -> OnSave | None:
    return program.engine.servers.snapshot("plain").on_save


def dialogs(program: Program) -> list[SaveDialog]:
    return program.window.findChildren(SaveDialog)


def texts(section: ComparisonSection) -> str:
    return section.text.toPlainText()


@asynccontextmanager
async def watching(
    data_dir: Path, script: Path, restart: RestartPolicy = NEVER
) -> AsyncIterator[Program]:
    """A program that restarts its server on save, after one call."""
    shutil.copy(SCRIPT, script)
    command = ("-S", "-E", str(script))
    definition = StdioDefinition(
        name="plain", command=sys.executable, args=command, era="handshake", restart=restart
    )
    async with running(data_dir) as program:
        program.engine.servers.add(definition)
        await program.engine.servers.connect("plain")
        await program.engine.calls.make(ECHO)
        program.window.commands.run(ON_SAVE, "plain", True)
        await until(lambda: bool(dialogs(program)) and dialogs(program)[0].watch.isEnabled())
        dialogs(program)[0].watch.click()
        await until(lambda: on_save(program) is not None)
        yield program


async def until_noticed(program: Program, script: Path, word: str) -> None:
    """Save until the watch, which takes a moment to begin, has noticed."""
    before = program.engine.servers.snapshot("plain").restarts
    with anyio.fail_after(60):
        while True:
            edit(script, word)
            with anyio.move_on_after(2):
                await until(lambda: program.engine.servers.snapshot("plain").restarts > before)
                return


async def test_a_save_shows_the_call_compared_with_the_run_before(
    data_dir: Path, tmp_path: Path
) -> None:
    script = tmp_path / "server.py"
    async with watching(data_dir, script) as program:
        assert on_save(program) == OnSave(1, (str(tmp_path),))
        program.window.filter_edit.setText("echo")
        await until_noticed(program, script, "edited")
        await until(lambda: len(program.engine.jobs.ids()) == 2)
        pane = program.window.job_pane
        await until(lambda: pane.comparison is not None and pane.comparison.isVisible())
        assert pane.job == 2
        assert program.window.job_list.selected() == (2,)
        assert program.window.filter_edit.text() == "echo"
        assert pane.comparison is not None
        assert '-        "text": "plain"' in texts(pane.comparison)
        assert '+        "text": "edited"' in texts(pane.comparison)


async def test_a_running_job_is_waited_for_unless_the_user_does_not(
    data_dir: Path, tmp_path: Path
) -> None:
    script = tmp_path / "server.py"
    async with watching(data_dir, script) as program, anyio.create_task_group() as tasks:
        tick = Call("plain", "tools/call", {"name": "tick", "arguments": {}})
        tasks.start_soon(program.engine.calls.make, tick)
        await until(lambda: len(program.engine.jobs.ids()) == 2)
        bar = program.window.notices
        with anyio.fail_after(60):
            while not bar.errors():
                edit(script, "edited")
                with anyio.move_on_after(2):
                    await until(lambda: bool(bar.errors()))
        assert bar.errors()[0].what == "Restarts when 1 job ends"
        assert program.engine.servers.snapshot("plain").restarts == 0
        buttons = bar.findChildren(QPushButton)
        next(each for each in buttons if each.text() == "&Restart now").click()
        await until(lambda: program.engine.servers.snapshot("plain").restarts == 1)
        await until(lambda: not bar.errors())


async def test_a_start_that_fails_is_shown_until_a_save_mends_it(
    data_dir: Path, tmp_path: Path
) -> None:
    script = tmp_path / "server.py"
    async with watching(data_dir, script) as program:
        with anyio.fail_after(60):
            while program.engine.servers.snapshot("plain").state is not ServerState.FAILED:
                script.write_text("a mistake\n")
                await anyio.sleep(0.5)
        bar = program.window.notices
        await until(lambda: any("SyntaxError" in each.detail for each in bar.errors()))
        edit(script, "mended")
        await until(lambda: len(program.engine.jobs.ids()) == 2)
        await until(lambda: not bar.errors())


async def test_it_is_turned_off_by_the_same_command(data_dir: Path, tmp_path: Path) -> None:
    async with watching(data_dir, tmp_path / "server.py") as program:
        program.window.commands.run(ON_SAVE, "plain", False)
        await until(lambda: on_save(program) is None)
        assert not dialogs(program)


async def test_what_a_crash_lost_stays_in_sight_after_the_restart(
    data_dir: Path, tmp_path: Path
) -> None:
    soon = RestartPolicy(first_delay_s=0.2)
    async with watching(data_dir, tmp_path / "server.py", soon) as program:
        ending = Call("plain", "tools/call", {"name": "quit", "arguments": {}})
        await program.engine.calls.make(ending)
        bar = program.window.notices
        await until(lambda: bool(bar.errors()) and "was restarted" in bar.errors()[0].hint)
        program.engine.servers.place("plain", 0)  # a change of the server
        await anyio.sleep(0.5)
        assert len(bar.errors()) == 1
        assert "1 job lost" in bar.errors()[0].hint


async def test_the_status_bar_says_what_is_watched(data_dir: Path, tmp_path: Path) -> None:
    async with watching(data_dir, tmp_path / "server.py") as program:
        text = f"Watching 1 file in {tmp_path.name}"
        await until(lambda: text in program.window.statusBar().text)  # type: ignore[attr-defined]


async def test_saved_streams_and_methods_of_other_versions_are_not_called_again(
    data_dir: Path,
) -> None:
    saved = [
        SavedCall("", title, "plain", method, "echo", {})._asdict()
        for title, method in (("A", "tools/call"), ("B", "events/stream"), ("C", "later/method"))
    ]
    Preferences(data_dir).keep_json("saved-calls", {"calls": saved})
    async with running(data_dir) as program:
        assert [title for title, _ in program.calls.saved_calls("plain")] == ["A"]
