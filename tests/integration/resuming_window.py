"""The whole program with its window, played by its buttons, for a test that kills it.

`python -m tests.integration.resuming_window ROLE FOLDER`; what is seen goes to stdout, as one JSON
object a line.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from PySide6.QtWidgets import QApplication, QToolButton

from mcp_progress_monitor.engine.call import Call, CallSeries
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.gui.aio import run_on_qt
from mcp_progress_monitor.gui.jobs.commands import RESUME
from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from tests.patience import PATIENCE_S
from tests.servers.definition import server_definition

CHUNKS = 20
_EXPORT = {"job": "nightly", "chunks": CHUNKS, "chunks_per_attempt": 5}


def say(**fields: Any) -> None:
    """Write a line at once: nothing said is lost when the process is killed."""
    os.write(1, json.dumps(fields).encode() + b"\n")


def tell_requests(update: Update) -> None:
    """Say every call that goes out, as it is on the wire."""
    for frame in update.frames:
        if frame.channel is Channel.SENT and b'"tools/call"' in frame.raw:
            say(sent=json.loads(frame.raw))


class Player:
    """Presses the window's buttons and looks at its only job."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._happened = anyio.Event()
        program.engine.subscribe(tell_requests)
        program.engine.subscribe(self._note)
        self._resume = program.window.job_list.commands[RESUME]
        self._resume.enabledChanged.connect(self._note)

    def _note(self, _what: object) -> None:
        self._happened.set()

    async def _wait(self, is_so: Callable[[], bool]) -> None:
        """Look anew whenever something happened."""
        with anyio.fail_after(PATIENCE_S):
            while not is_so():
                self._happened = anyio.Event()
                await self._happened.wait()

    def job(self) -> JobSnapshot | None:
        """The job, None while there is none."""
        engine = self._program.engine
        jobs = engine.jobs.ids()
        return engine.jobs.snapshot(jobs[0]) if jobs else None

    async def until(self, is_so: Callable[[JobSnapshot], bool]) -> JobSnapshot:
        """Wait for the job to be in some way, and say what it is then."""
        await self._wait(lambda: (job := self.job()) is not None and is_so(job))
        job = self.job()
        assert job is not None
        say(state=job.state.value, progress=job.progress, attempts=job.attempt_count)
        return job

    async def start(self, folder: Path, interval_s: float) -> None:
        """Begin the export on the bundled server."""
        engine, arguments = self._program.engine, {**_EXPORT, "interval_s": interval_s}
        name = engine.servers.add(server_definition("--state-dir", str(folder / "work")))
        await engine.servers.connect(name)
        params = {"name": "resumable_export", "arguments": arguments}
        call = Call(name, "tools/call", params)
        self._program.calls.call_series(CallSeries((call,)))

    async def press_resume(self) -> None:
        """Select the job and press the tool bar's button once it can be pressed."""
        window = self._program.window
        (job,) = self._program.engine.jobs.ids()
        window.job_list.select(job)
        await self._wait(self._resume.isEnabled)
        buttons = window.findChildren(QToolButton)
        next(button for button in buttons if button.text() == "Resume").click()


async def begin(player: Player, folder: Path) -> None:
    """Begin, go on once, and rest; then wait to be killed."""
    await player.start(folder, 0.04)
    await player.until(lambda job: job.state is JobState.RESUMABLE)
    await player.press_resume()
    await player.until(lambda job: job.progress == 10 and job.state is JobState.RESUMABLE)
    say(ready=True)
    await anyio.sleep_forever()


async def begin_and_go_on(player: Player, folder: Path) -> None:
    """End as if killed in the middle of an attempt, of which half a second is left then."""
    await player.start(folder, 0.15)
    await player.until(lambda job: job.state is JobState.RESUMABLE)
    await player.press_resume()
    await player.until(lambda job: job.progress is not None and job.progress >= 6)
    say(ready=True)
    os.kill(os.getpid(), signal.SIGKILL)  # at once: nobody else could be sure to be in time


async def finish(player: Player, _folder: Path) -> None:
    """Go on until all is done."""
    job = await player.until(lambda job: job.can_resume)
    while job.state is JobState.RESUMABLE:
        await player.press_resume()
        job = await player.until(_rests_after(job.attempt_count))


async def show(player: Player, _folder: Path) -> None:
    """Wait until the job can be resumed here."""
    await player.until(lambda job: job.can_resume_here)


def _rests_after(count: int) -> Callable[[JobSnapshot], bool]:
    """Whether an attempt beyond the first `count` has ended."""
    return lambda job: job.attempt_count > count and job.state.is_over


ROLES = {"begin": begin, "begin-and-go-on": begin_and_go_on, "finish": finish, "show": show}


async def main(application: QApplication, role: str, folder: Path) -> int:
    """Play a role in a window of its own."""
    program = Program(application, WindowOptions(data_dir=folder))
    async with anyio.create_task_group() as group:
        group.start_soon(program.run)
        await program.ready.wait()
        await ROLES[role](Player(program), folder)
        program.quit()
    return 0


async def _main() -> int:
    return await main(_application, sys.argv[1], Path(sys.argv[2]))


if __name__ == "__main__":
    _application = QApplication(sys.argv[:1])
    sys.exit(run_on_qt(_application, _main))
