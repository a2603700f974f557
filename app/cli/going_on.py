"""Commands whose work may stop while resumable: they tell the command that goes on with it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from app.cli.exits import ExitCode
from app.cli.output import Output
from app.cli.recorded import session_recorder
from app.cli.saved import saved_jobs
from app.cli.visit import run_visit
from app.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.cli.asking.means import Means
    from app.cli.front import Front
    from app.cli.options import CommonOptions
    from app.monitor import Monitor
    from app.tracker.snapshot import JobId


class Resumable(Protocol):
    """A command's work, see `app.cli.visit`, that may be left unfinished."""

    output: Output
    restores: bool
    """Whether it begins with saved jobs."""
    means: Means
    """What questions of servers are answered by."""

    def make_front(self, monitor: Monitor) -> Front:
        """The way to show it."""

    async def work(self, monitor: Monitor) -> ExitCode:
        """Do it."""

    def left(self) -> list[int]:
        """Once all is closed: what the command `resume` takes to go on with it."""


def run_resumable(command: Resumable, common: CommonOptions) -> ExitCode:
    """Run a command with the user's store and, if its work can be gone on with, say how.

    That holds however it stopped: after an attempt, through Ctrl+C, because nobody reads our
    output any more.
    """
    code, left = ExitCode.CANCELLED, []
    recorded = session_recorder(common)
    saved = saved_jobs(common, restores=command.restores)
    try:
        code = run_visit(
            command.output, command.make_front, command.work, recorded, saved, command.means
        )
    finally:
        left = command.left()
        if left:
            tell_command(Output(sys.stderr), left, common.data_dir)
    return ExitCode.RESUMABLE if left and code is ExitCode.CANCELLED else code


def resumable_ids(monitor: Monitor, jobs: Iterable[JobId]) -> list[int]:
    """What the command `resume` calls those of `jobs` that it would take."""
    found = [monitor.snapshot(job) for job in jobs]
    return [
        job.chain for job in found if job is not None and job.can_resume and job.chain is not None
    ]


def tell_command(errors: Output, ids: Sequence[int], data_dir: Path | None) -> None:
    """Say how to go on, the command alone on its line."""
    what = "It stopped" if len(ids) == 1 else f"{len(ids)} jobs stopped"
    errors.text(f"{what} while resumable. To go on:\n  {resume_command(ids, data_dir)}\n")


def resume_command(ids: Sequence[int], data_dir: Path | None) -> str:
    """The command line, quoted for the user's shell, with the folder the user chose if any."""
    words = [*_program(), "resume", *map(str, ids)]
    if data_dir is not None:
        words += ["--data-dir", str(data_dir.expanduser().absolute())]
    return visible(subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words))


def _program() -> list[str]:
    """How this program was started, in the words that start it again."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return [sys.executable, "-m", "app"]
    found = shutil.which(started.name)
    is_on_path = found is not None and Path(found).resolve() == started.resolve()
    return [started.name if is_on_path else str(started.absolute())]
