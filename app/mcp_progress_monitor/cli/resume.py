"""`resume`: saved jobs gone on with, all at once, each with the server it began with."""

from __future__ import annotations

import sys
import time
from pathlib import PurePath
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.cli.asking.means import means_of
from mcp_progress_monitor.cli.codes import code_of, first_failure
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.fronts import early_failures, front_of
from mcp_progress_monitor.cli.going_on import resumable_ids, resume_command, run_resumable
from mcp_progress_monitor.cli.order import automatic
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.program_log import log_to_stderr
from mcp_progress_monitor.cli.recorded import session_recorder
from mcp_progress_monitor.cli.saved_id import SavedId
from mcp_progress_monitor.cli.saved_list import list_saved, listing, read_saved
from mcp_progress_monitor.cli.target import server_if_named
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.store.resumes import FILE

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.options import CommonOptions, Invocation
    from mcp_progress_monitor.cli.order import ResumeOrder
    from mcp_progress_monitor.cli.words import Label
    from mcp_progress_monitor.monitor import Monitor, Outcome
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.tracker.snapshot import JobId


def resume_jobs(invocation: Invocation, order: ResumeOrder) -> int:
    """Do what `order` says and return the exit code: that of the first job that failed."""
    log_to_stderr(invocation.common.log_level)
    if order.is_list:
        return list_saved(invocation.common, in_json=order.as_json)
    with early_failures(invocation, as_json=order.as_json):
        if not order.ids:
            raise _which(invocation.common)
        definition = server_if_named(invocation.common)
        _check_folder(invocation.common)
        resumer = _Resumer(order, definition, invocation)
        recorded = session_recorder(invocation.common)
    return run_resumable(resumer, invocation.common, recorded)


def _check_folder(common: CommonOptions) -> None:
    """Refuse to look for jobs where no folder for them can be."""
    try:
        data_dir(common.data_dir)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error


def _which(common: CommonOptions) -> CommandFailed:
    """What to say when no job was named: those that there are."""
    saved, obstacle = read_saved(common)
    if not saved.chains and not saved.tasks:
        problem = Problem(
            "There is no saved job to resume",
            hint="A call saves its tokens itself.",
            detail="" if obstacle is None else obstacle.as_text(),
        )
    else:
        usable = saved.usable()[-1:]
        hint = f"For example: {resume_command(usable, common.data_dir)}" if usable else ""
        table = listing(saved, time.time()).rstrip()
        problem = Problem("Which job? Give its ID", hint=hint, detail=table)
    return CommandFailed(ExitCode.USAGE, problem)


class _Resumer:
    """Holds an order until the store is open, then goes on with its jobs."""

    restores = True

    def __init__(
        self, order: ResumeOrder, definition: ServerDefinition | None, invocation: Invocation
    ) -> None:
        self._order = order
        self._definition = definition
        self._invocation = invocation
        self.means = means_of(order.answer, as_json=order.as_json)
        self.lists = frozenset({"tools"})
        self.server_log = order.server_log
        self._monitor: Monitor | None = None
        self._ids: dict[JobId, SavedId] = {}
        self._labels: dict[JobId, Label] = {}
        self._codes: list[ExitCode] = []
        self._declined: dict[JobId, int] = {}
        self.output = Output(sys.stdout)

    def make_front(self, monitor: Monitor) -> Front:
        """The way to show the jobs: as events, bars or lines."""
        order = self._order
        self._front = front_of(
            self._invocation,
            self.output,
            monitor,
            as_json=order.as_json,
            is_numbered=len(set(order.ids)) > 1,
            numbers=self._labels,
            server_log=order.server_log,
        )
        return self._front

    async def work(self, monitor: Monitor) -> ExitCode:
        """Find the jobs, go on with all of them at once, and wait for the last."""
        self._monitor = monitor
        obstacle = monitor.store_problem
        if obstacle is not None and not monitor.jobs():
            # Told already, before there was work; a script still learns that all is over.
            self._front.fail(CommandFailed(ExitCode.UNWRITABLE, obstacle))
            return ExitCode.UNWRITABLE
        monitor.leave_tasks_alone()
        self._ids.update(self._found(monitor))
        self._labels.update({job: str(saved) for job, saved in self._ids.items()})
        if self._definition is not None:
            self._take_in(monitor, self._definition)
        self._codes = [ExitCode.CANCELLED] * len(self._ids)
        async with anyio.create_task_group() as group:
            for index, job in enumerate(self._ids):
                group.start_soon(self._one, monitor, job, index)
        return first_failure(self._codes)

    def owns(self, job: JobId) -> bool:
        """Whether the user named the job."""
        return job in self._ids

    def left(self) -> list[SavedId]:
        """Those of the jobs that can be gone on with once more; not where nothing was begun."""
        monitor = self._monitor
        if monitor is None:
            return []
        begun = [job for job in self._ids if _attempts(monitor, job) != self._declined.get(job)]
        return resumable_ids(monitor, begun)

    def _found(self, monitor: Monitor) -> dict[JobId, SavedId]:
        """The jobs that the user named, and how; `CommandFailed` if there is no such job."""
        found = {id_: _job_of(monitor, id_) for id_ in self._order.ids}
        unknown = [str(id_) for id_, job in found.items() if job is None]
        if unknown:
            known = _known(monitor)
            hint = f"Saved jobs: {', '.join(known)}." if known else "No job is saved."
            what = f"There is no saved job {' or '.join(unknown)}"
            problem = Problem(what, hint=f"{hint} See: resume --list")
            raise CommandFailed(ExitCode.USAGE, problem)
        return {job: id_ for id_, job in found.items() if job is not None}

    def _take_in(self, monitor: Monitor, definition: ServerDefinition) -> None:
        """Let the server that the options name stand in for the one the jobs began with."""
        snapshots = map(monitor.snapshot, self._ids)
        names = sorted({job.server for job in snapshots if job is not None})
        if len(names) > 1:
            problem = Problem(
                "One server cannot go on with the jobs of several",
                ", ".join(names),
                "Give the IDs of one server's jobs, or leave out the options that name a server.",
            )
            raise CommandFailed(ExitCode.USAGE, problem)
        name = monitor.add_server(definition)
        for job in self._ids:
            monitor.use_server(job, name)

    async def _one(self, monitor: Monitor, job: JobId, index: int) -> None:
        attempts = _attempts(monitor, job)
        try:
            outcome = await self._gone_on(monitor, job)
        except ProblemError as error:
            self._declined[job] = attempts
            self._codes[index] = self._decline(monitor, job, error.problem)
            return
        self._front.show(outcome)
        self._codes[index] = code_of(outcome)

    async def _gone_on(self, monitor: Monitor, job: JobId) -> Outcome:
        if self._ids[job].is_task:
            return await monitor.pick_up(job)
        return await monitor.resume(job, auto_resume=automatic(self._order))

    def _decline(self, monitor: Monitor, job: JobId, problem: Problem) -> ExitCode:
        """Tell why a job cannot be gone on with; what is wrong with the store is no one job's."""
        is_of_server = any(server.problem == problem for server in monitor.servers())
        if not is_of_server and _is_of_store(monitor, problem):
            self._front.decline(job, problem)
            return ExitCode.UNWRITABLE
        where = ", ".join(filter(None, (problem.where, f"saved job {self._ids[job]}")))
        self._front.decline(job, problem._replace(where=where))
        return ExitCode.NOT_CONNECTED if is_of_server else ExitCode.USAGE


def _job_of(monitor: Monitor, saved: SavedId) -> JobId | None:
    if saved.is_task:
        return monitor.find_task(saved.number)
    return monitor.find_resumable(saved.number)


def _known(monitor: Monitor) -> list[str]:
    """What all saved jobs are called, also those that cannot be gone on with."""
    tasks = map(monitor.saved_task, monitor.jobs())
    found = map(monitor.snapshot, monitor.jobs())
    chains = [str(job.chain) for job in found if job is not None and job.chain]
    return chains + [str(SavedId(task, is_task=True)) for task in tasks if task is not None]


def _attempts(monitor: Monitor, job: JobId) -> int:
    snapshot = monitor.snapshot(job)
    return 0 if snapshot is None else snapshot.attempt_count


def _is_of_store(monitor: Monitor, problem: Problem) -> bool:
    """Whether the file of tokens is at fault: as it was opened, or in the middle of work."""
    return problem == monitor.store_problem or PurePath(problem.where).name == FILE
