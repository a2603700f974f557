"""`resume`: resume saved jobs and tasks, each with its original server."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.cli.asking.approval import require_approval
from mcp_progress_monitor.cli.calls.call import code_of, first_failure
from mcp_progress_monitor.cli.calls.configured import saved_servers
from mcp_progress_monitor.cli.calls.saved_jobs import read_saved
from mcp_progress_monitor.cli.calls.target import server_if_named
from mcp_progress_monitor.cli.calls.visit import (
    OrderedCommand,
    early_failures,
    resumable_ids,
    run_resumable,
    session_recorder,
)
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.options import SavedId
from mcp_progress_monitor.cli.output.stdout import show_warnings
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.store.resumes import FILE
from mcp_progress_monitor.store.watched import UNKNOWN_CLIENT, split_watched_key
from mcp_progress_monitor.wording.watched import unknown_values, why_approve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.orders import ResumeOrder
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.cli.output.job_text import Label
    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.tracker.snapshot import JobId


def resume_jobs(invocation: Invocation, order: ResumeOrder) -> int:
    """Resume jobs and return the exit code: that of the first failed job."""
    log_to_stderr(invocation.common.log_level)
    with early_failures(invocation, as_json=order.as_json):
        if not order.ids:
            error = ErrorDetails("No job ID given", hint="To list the saved jobs: resume --list")
            raise CommandFailed(ExitCode.USAGE, error)
        definition = server_if_named(invocation.common)
        with failing(ExitCode.USAGE):
            data_dir(invocation.common.data_dir)
        here = _approved_here(order, definition, invocation.common)
        resumer = _Resumer(order, definition, invocation, here)
        recorded = session_recorder(invocation.common)
    return run_resumable(resumer, invocation.common, recorded)


def _approved_here(
    order: ResumeOrder, definition: ServerDefinition | None, common: CommonOptions
) -> list[tuple[Origin, ServerDefinition]]:
    """The origins of other clients' jobs, each with the approved server to resume them on.

    That is `definition` if the options name a server. `CommandFailed` without approval.
    """
    saved, _ = read_saved(common)
    chains = {SavedId(chain.id): chain.origin for chain in saved.chains}
    tasks = {SavedId(task.id, is_task=True): task.origin for task in saved.tasks}
    found = (origin for id_ in order.ids if (origin := (chains | tasks).get(id_)) is not None)
    watched = {
        each.server_key: each for each in found if split_watched_key(each.server_key) is not None
    }
    if definition is not None:
        return [(origin, definition) for origin in watched.values()]
    return [(origin, _approved(origin, common)) for origin in watched.values()]


def _approved(origin: Origin, common: CommonOptions) -> ServerDefinition:
    """The server to use in place of another client's, after approval by the user."""
    # Late: reads the files of other clients, which few jobs need.
    from mcp_progress_monitor.engine.servers_here import SAVED, find_server_here

    entries = saved_servers(common).entries()
    with failing(ExitCode.USAGE):
        found = find_server_here(origin, entries)
    unknown = unknown_values(found.missing, found.hidden_count)
    if unknown:
        what = "Some settings of the job's server are not known"
        show_warnings(ErrorDetails(what, origin.server, unknown))
    if found.others:
        what = f"Several entries fit the job's server; it is resumed with that of {found.source}"
        others = "\n".join(other.source for other in found.others)
        hint = "To use another one, pass its command: resume ID -- COMMAND"
        show_warnings(ErrorDetails(what, origin.server, hint, others))
    hint = "Run the command on a terminal to be asked, or pass the server: resume ID -- COMMAND"
    is_saved = found.source == SAVED
    client = (split_watched_key(origin.server_key) or (UNKNOWN_CLIENT, ""))[0]
    request = why_approve(client, has_url=found.definition.transport != "stdio")
    hint_here = None if is_saved else hint
    require_approval(found.definition, common, found.source, hint_here, request)
    return found.definition


class _Resumer(OrderedCommand):
    """Resumes the jobs of an order once the store is open."""

    restores = True

    def __init__(
        self,
        order: ResumeOrder,
        definition: ServerDefinition | None,
        invocation: Invocation,
        here: Sequence[tuple[Origin, ServerDefinition]] = (),
    ) -> None:
        """`here` has the approved servers for other clients' jobs."""
        super().__init__(order, invocation)
        self._here = here
        self._order = order
        self._definition = definition
        self._engine: Engine | None = None
        self._ids: dict[JobId, SavedId] = {}
        self._labels: dict[JobId, Label] = {}
        self._codes: list[ExitCode] = []
        self._declined: dict[JobId, int] = {}

    def make_front(self, engine: Engine) -> Front:
        is_numbered = len(set(self._order.ids)) > 1
        return self._front_of(engine, is_numbered=is_numbered, numbers=self._labels)

    async def work(self, engine: Engine) -> ExitCode:
        """Find the jobs, resume them at the same time, and wait for the last."""
        self._engine = engine
        error = engine.resumer.error
        if error is not None and not engine.jobs.ids():
            # Already reported; scripts still need the final event.
            self._front.fail(CommandFailed(ExitCode.UNWRITABLE, error))
            return ExitCode.UNWRITABLE
        engine.tasks.stop_automatic()
        self._ids.update(self._found(engine))
        self._labels.update({job: str(saved) for job, saved in self._ids.items()})
        for origin, definition in self._here:
            engine.resumer.use_here(origin, definition)
        if self._definition is not None:
            self._use_server(engine, self._definition)
        self._codes = [ExitCode.CANCELLED] * len(self._ids)
        async with anyio.create_task_group() as group:
            for index, job in enumerate(self._ids):
                group.start_soon(self._one, engine, job, index)
        return first_failure(self._codes)

    def owns(self, job: JobId) -> bool:
        return job in self._ids

    def left(self) -> list[SavedId]:
        """The jobs that can be resumed again, without those that did not start."""
        engine = self._engine
        if engine is None:
            return []
        begun = [job for job in self._ids if _attempts(engine, job) != self._declined.get(job)]
        return resumable_ids(engine, begun)

    def _found(self, engine: Engine) -> dict[JobId, SavedId]:
        """The jobs named by the user, with their IDs; `CommandFailed` for an unknown ID."""
        found = {id_: _job_of(engine, id_) for id_ in self._order.ids}
        unknown = [str(id_) for id_, job in found.items() if job is None]
        if unknown:
            known = _known(engine)
            hint = f"Saved jobs: {', '.join(known)}." if known else "No saved jobs."
            what = f"No saved job {' or '.join(unknown)}"
            error = ErrorDetails(what, hint=f"{hint} To list them: resume --list")
            raise CommandFailed(ExitCode.USAGE, error)
        return {job: id_ for id_, job in found.items() if job is not None}

    def _use_server(self, engine: Engine, definition: ServerDefinition) -> None:
        """Use the server that the options name in place of the jobs' original one."""
        snapshots = map(engine.jobs.snapshot, self._ids)
        names = sorted({job.server for job in snapshots if job is not None})
        if len(names) > 1:
            error = ErrorDetails(
                "Cannot resume jobs of several servers with a single server",
                ", ".join(names),
                "Give the IDs of one server's jobs, or omit the options that name a server.",
            )
            raise CommandFailed(ExitCode.USAGE, error)
        name = engine.servers.add(definition)
        for job in self._ids:
            engine.resumer.use_server(job, name)

    async def _one(self, engine: Engine, job: JobId, index: int) -> None:
        attempts = _attempts(engine, job)
        try:
            outcome = await self._resumed(engine, job)
        except UserError as error:
            self._declined[job] = attempts
            self._codes[index] = self._decline(engine, job, error.details)
            return
        self._front.show(outcome)
        self._codes[index] = code_of(outcome)

    async def _resumed(self, engine: Engine, job: JobId) -> Outcome:
        if self._ids[job].is_task:
            return await engine.tasks.pick_up(job)
        return await engine.resumer.resume(job, auto_resume=self._order.automatic)

    def _decline(self, engine: Engine, job: JobId, error: ErrorDetails) -> ExitCode:
        """Report why a job cannot be resumed; an error of the store belongs to no single job."""
        is_of_server = any(server.error == error for server in engine.servers.snapshots())
        is_of_store = error == engine.resumer.error or PurePath(error.where).name == FILE
        if is_of_store and not is_of_server:
            self._front.decline(job, error)
            return ExitCode.UNWRITABLE
        where = ", ".join(filter(None, (error.where, f"saved job {self._ids[job]}")))
        self._front.decline(job, error._replace(where=where))
        return ExitCode.NOT_CONNECTED if is_of_server else ExitCode.USAGE


def _job_of(engine: Engine, saved: SavedId) -> JobId | None:
    if saved.is_task:
        return engine.tasks.find(saved.number)
    return engine.resumer.find(saved.number)


def _known(engine: Engine) -> list[str]:
    """The IDs of all saved jobs, including those that cannot be resumed."""
    tasks = map(engine.tasks.saved_id, engine.jobs.ids())
    found = map(engine.jobs.snapshot, engine.jobs.ids())
    chains = [str(job.chain) for job in found if job is not None and job.chain]
    return chains + [str(SavedId(task, is_task=True)) for task in tasks if task is not None]


def _attempts(engine: Engine, job: JobId) -> int:
    snapshot = engine.jobs.snapshot(job)
    return 0 if snapshot is None else snapshot.attempt_count
