"""Commands whose work may stop while resumable: they tell the command that goes on with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from mcp_progress_monitor.cli.exits import ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.own_command import own_command
from mcp_progress_monitor.cli.saved import saved_jobs
from mcp_progress_monitor.cli.saved_id import SavedId
from mcp_progress_monitor.cli.visit import Terms, run_visit
from mcp_progress_monitor.looking import absolute

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.cli.asking.means import Means
    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.options import CommonOptions
    from mcp_progress_monitor.cli.recorded import Recorded
    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.sessions.log_levels import LogLevel
    from mcp_progress_monitor.tracker.snapshot import JobId


class Resumable(Protocol):
    """A command's work, see `cli.visit`, that may be left unfinished."""

    output: Output
    restores: bool
    """Whether it begins with saved jobs."""
    means: Means
    """What questions of servers are answered by."""
    lists: frozenset[str]
    """The lists to read as soon as a server is connected."""
    server_log: LogLevel | None
    """The level of log messages to ask servers for."""

    def make_front(self, monitor: Monitor) -> Front:
        """The way to show it."""

    async def work(self, monitor: Monitor) -> ExitCode:
        """Do it."""

    def owns(self, job: JobId) -> bool:
        """Whether a job is of this command, and no other one that was saved."""

    def left(self) -> list[SavedId]:
        """Once all is closed: what the command `resume` takes to go on with it."""


def run_resumable(command: Resumable, common: CommonOptions, recorded: Recorded) -> ExitCode:
    """Run a command with the user's store and, if its work can be gone on with, say how.

    That holds however it stopped: after an attempt, through Ctrl+C, because nobody reads our
    output any more.
    """
    code = ExitCode.CANCELLED
    left: list[SavedId] = []
    saved = saved_jobs(common, restores=command.restores)
    try:
        code = run_visit(
            command.output,
            command.make_front,
            command.work,
            recorded,
            saved,
            command.means,
            command.owns,
            Terms(command.lists, command.server_log),
        )
    finally:
        left = command.left()
        if left:
            tell_command(Output(sys.stderr), left, common.data_dir)
    return ExitCode.RESUMABLE if left and code is ExitCode.CANCELLED else code


def resumable_ids(monitor: Monitor, jobs: Iterable[JobId]) -> list[SavedId]:
    """What the command `resume` calls those of `jobs` that it would take."""
    return [saved for job in jobs if (saved := _saved_id(monitor, job)) is not None]


def _saved_id(monitor: Monitor, job: JobId) -> SavedId | None:
    found, task = monitor.snapshot(job), monitor.saved_task(job)
    if task is not None:
        return SavedId(task, is_task=True)
    if found is None or found.chain is None or not found.can_resume:
        return None
    return SavedId(found.chain)


def tell_command(errors: Output, ids: Sequence[SavedId], data_dir: Path | None) -> None:
    """Say how to go on, the command alone on its line."""
    command = f"  {resume_command(ids, data_dir)}\n"
    if all(each.is_task for each in ids):
        what = "Its task" if len(ids) == 1 else f"{len(ids)} tasks"
        errors.text(f"{what} may go on at the server. To hear of the end:\n{command}")
        return
    what = "It stopped" if len(ids) == 1 else f"{len(ids)} jobs stopped"
    errors.text(f"{what} while resumable. To go on:\n{command}")


def resume_command(ids: Sequence[SavedId], data_dir: Path | None) -> str:
    """The command line, quoted for the user's shell, with the folder the user chose if any."""
    words = ["resume", *map(str, ids)]
    if data_dir is not None:
        words += ["--data-dir", str(absolute(data_dir))]
    return own_command(*words)
