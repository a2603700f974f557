"""`resume`: list or resume saved jobs and tasks, each with its original server."""

from __future__ import annotations

import datetime
import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.cli.calls.calling import code_of, first_failure
from mcp_progress_monitor.cli.calls.stores import session_recorder
from mcp_progress_monitor.cli.calls.target import saved_servers, server_if_named
from mcp_progress_monitor.cli.calls.visit import (
    OrderedCommand,
    resumable_ids,
    resume_command,
    run_resumable,
)
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.orders import ResumeOrder, SavedId, automatic
from mcp_progress_monitor.cli.output.fronts import early_failures
from mcp_progress_monitor.cli.output.results import as_json
from mcp_progress_monitor.cli.output.stdout import aligned, print_out, show_warnings
from mcp_progress_monitor.cli.servers.approval import require_approval
from mcp_progress_monitor.engine.origins import watched_by
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.protocol.messages import TASK_ID
from mcp_progress_monitor.store.resumes import FILE, ResumeStore
from mcp_progress_monitor.tracker import requests
from mcp_progress_monitor.tracker.estimate import fraction
from mcp_progress_monitor.wording.jobs import progress_of
from mcp_progress_monitor.wording.tasks import status_text
from mcp_progress_monitor.wording.watched import unknown_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.cli.options import CommonOptions, Invocation
    from mcp_progress_monitor.cli.output.front import Front
    from mcp_progress_monitor.cli.output.job_text import Label
    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.store.chains import Origin, SavedChain, SavedProgress
    from mcp_progress_monitor.store.tasks import SavedTask
    from mcp_progress_monitor.tracker.snapshot import JobId

_TITLES = ("ID", "SERVER", "JOB", "STOPPED", "PROGRESS", "ATTEMPTS", "STATE")
_WIDEST = 40
_NONE = "No saved jobs.\n"


class SavedJobs(NamedTuple):
    """The saved jobs: resume chains and tasks, each oldest first."""

    chains: Sequence[SavedChain] = ()
    tasks: Sequence[SavedTask] = ()

    def usable(self) -> list[SavedId]:
        """The IDs of those that can be resumed."""
        chains = [SavedId(chain.id) for chain in self.chains if chain.is_usable]
        return chains + [SavedId(task.id, is_task=True) for task in self.tasks]


def list_saved(common: CommonOptions, *, in_json: bool) -> ExitCode:
    """Print the saved jobs; errors of the store go to standard error.

    `CommandFailed` if it cannot be read.
    """
    saved, problem = read_saved(common)
    show_warnings(problem)
    now = time.time()
    print_out(document(saved, problem, now) if in_json else listing(saved, now) or _NONE)
    return ExitCode.DONE


def read_saved(common: CommonOptions) -> tuple[SavedJobs, ErrorDetails | None]:
    """The saved jobs, and an error of the store that leaves it readable."""
    with failing(ExitCode.USAGE):
        store = ResumeStore(data_dir(common.data_dir))
    with failing(ExitCode.UNWRITABLE):
        return anyio.run(_saved, store), store.problem


async def _saved(store: ResumeStore) -> SavedJobs:
    await store.open()
    try:
        saved = SavedJobs(await store.chains(), await store.tasks.tasks())
        is_empty = not (saved.chains or saved.tasks)
        if store.problem is not None and is_empty and not store.is_complete:
            raise UserError(store.problem)
        return saved
    finally:
        await store.close()


def document(saved: SavedJobs, problem: ErrorDetails | None, now: float) -> str:
    """All saved jobs as JSON. Fields may be added, never removed or renamed; unknown is null.

    Times are in ISO 8601, UTC; `age_s` is the time since the newest attempt stopped, or since the
    task was last heard of.
    """
    content = {
        "jobs": [_entry(chain, now) for chain in saved.chains],
        "tasks": [_task_entry(task, now) for task in saved.tasks],
        "problem": None if problem is None else problem._asdict(),
    }
    return f"{as_json(content, indent=2)}\n"


def listing(saved: SavedJobs, now: float) -> str:
    """A table with each job's last message below its row; empty without jobs."""
    rows = [_row(chain, now) for chain in saved.chains]
    rows += [_task_row(task, now) for task in saved.tasks]
    lines = aligned(_TITLES, rows, _WIDEST).splitlines() if rows else []
    words = [list(_words(chain)) for chain in saved.chains]
    words = [[], *words, *(list(_task_words(task)) for task in saved.tasks)]
    return "".join(
        f"{line}\n" for row, below in zip(lines, words, strict=False) for line in (row, *below)
    )


def _entry(chain: SavedChain, now: float) -> dict[str, Any]:
    return {
        "resume_id": chain.id,
        **_of_origin(chain.origin),
        **_times(chain.created_when, chain.updated_when, now),
        "progress": chain.standing.progress,
        "total": chain.standing.total,
        "message": chain.standing.message,
        "attempts": chain.attempt_count,
        "reason": chain.reason or None,
        "usable": chain.is_usable,
        "elsewhere": chain.is_elsewhere,
    }


def _task_entry(task: SavedTask, now: float) -> dict[str, Any]:
    standing, expires_when = task.standing, task.expires_when
    return {
        "resume_id": str(SavedId(task.id, is_task=True)),
        **_of_origin(task.origin),
        **_times(task.started_when, task.updated_when, now),
        TASK_ID: task.task,
        "status": standing.status,
        "statusMessage": standing.message,
        "expires": None if expires_when is None else _iso(expires_when),
        "progress": standing.progress.progress,
        "total": standing.progress.total,
        "elsewhere": task.is_elsewhere,
    }


def _of_origin(origin: Origin) -> dict[str, Any]:
    watched = watched_by(origin.server_key)
    return {
        "server": origin.server,
        "client": None if watched is None else watched[0],
        "method": origin.method,
        "name": requests.name(origin),
        "summary": requests.summary(origin),
    }


def _times(created_when: float, updated_when: float, now: float) -> dict[str, Any]:
    return {
        "created": _iso(created_when),
        "updated": _iso(updated_when),
        "age_s": round(max(now - updated_when, 0.0), 3),
    }


def _server(origin: Origin) -> str:
    """The server's name, with the client that started it if that was not this program."""
    watched = watched_by(origin.server_key)
    return origin.server if watched is None else f"{origin.server} ({watched[0]})"


def _row(chain: SavedChain, now: float) -> tuple[str, ...]:
    return (
        str(chain.id),
        _server(chain.origin),
        requests.name(chain.origin),
        formatting.ago(now - chain.updated_when),
        _progress(chain.standing),
        formatting.number(chain.attempt_count),
        _state(chain),
    )


def _task_row(task: SavedTask, now: float) -> tuple[str, ...]:
    return (
        str(SavedId(task.id, is_task=True)),
        _server(task.origin),
        requests.name(task.origin),
        formatting.ago(now - task.updated_when),
        _progress(task.standing.progress),
        "",
        _task_state(task, now),
    )


def _task_state(task: SavedTask, now: float) -> str:
    """The last known status, and for how long the server keeps the task."""
    if task.is_elsewhere:
        return "task, followed by another program"
    expires_when = task.expires_when
    if expires_when is not None and expires_when <= now:
        return "task, expired"
    kept = (
        "" if expires_when is None else f", kept for {formatting.duration(int(expires_when - now))}"
    )
    return f"task, {status_text(task.standing.status).lower()}{kept}"


def _task_words(task: SavedTask) -> Iterator[str]:
    """The arguments and the newest message, if any."""
    for part in (requests.summary(task.origin), task.standing.message or ""):
        if part:
            yield f"    {formatting.one_line(part)}"


def _state(chain: SavedChain) -> str:
    if not chain.is_usable:
        return "refused"
    return "in another program" if chain.is_elsewhere else "resumable"


def _progress(standing: SavedProgress) -> str:
    share = fraction(standing.progress, standing.total)
    return progress_of(standing.progress, standing.total, share)


def _words(chain: SavedChain) -> Iterator[str]:
    """The arguments, the last message and why it stopped, if known."""
    for part in (requests.summary(chain.origin), chain.standing.message or "", chain.reason):
        if part:
            yield f"    {formatting.one_line(part)}"


def _iso(when: float) -> str | None:
    """Seconds since the epoch as a date; None where the calendar ends."""
    try:
        moment = datetime.datetime.fromtimestamp(when, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def resume_jobs(invocation: Invocation, order: ResumeOrder) -> int:
    """List or resume jobs and return the exit code: that of the first failed job."""
    log_to_stderr(invocation.common.log_level)
    if order.is_list:
        return list_saved(invocation.common, in_json=order.as_json)
    with early_failures(invocation, as_json=order.as_json):
        if not order.ids:
            raise _which(invocation.common)
        definition = server_if_named(invocation.common)
        _check_folder(invocation.common)
        here = _approved_here(order, definition, invocation.common)
        resumer = _Resumer(order, definition, invocation, here)
        recorded = session_recorder(invocation.common)
    return run_resumable(resumer, invocation.common, recorded)


def _approved_here(
    order: ResumeOrder, definition: ServerDefinition | None, common: CommonOptions
) -> list[tuple[Origin, ServerDefinition]]:
    """The servers of other clients' jobs, each with what the user approved to reach it here.

    That is `definition` if the options name a server. `CommandFailed` without approval.
    """
    saved, _ = read_saved(common)
    chains = {SavedId(chain.id): chain.origin for chain in saved.chains}
    tasks = {SavedId(task.id, is_task=True): task.origin for task in saved.tasks}
    found = (origin for id_ in order.ids if (origin := (chains | tasks).get(id_)) is not None)
    watched = {each.server_key: each for each in found if watched_by(each.server_key) is not None}
    if definition is not None:
        return [(origin, definition) for origin in watched.values()]
    return [(origin, _approved(origin, common)) for origin in watched.values()]


def _approved(origin: Origin, common: CommonOptions) -> ServerDefinition:
    """What is started in place of another client's server, once the user approved it."""
    # late: it reads the files of other clients, which few jobs need
    from mcp_progress_monitor.engine.servers_here import SAVED, find_server_here

    entries = saved_servers(common).entries()
    with failing(ExitCode.USAGE):
        found = find_server_here(origin, entries)
    unknown = unknown_values(found.missing, found.hidden_count)
    if unknown:
        what = "Some settings of the job's server are not known"
        show_warnings(ErrorDetails(what, origin.server, unknown))
    hint = "Run the command on a terminal to be asked, or pass the server: resume ID -- COMMAND"
    is_saved = found.source == SAVED
    require_approval(found.definition, common, found.source, None if is_saved else hint)
    return found.definition


def _check_folder(common: CommonOptions) -> None:
    """`CommandFailed` if the data folder cannot be used."""
    with failing(ExitCode.USAGE):
        data_dir(common.data_dir)


def _which(common: CommonOptions) -> CommandFailed:
    """The error for a command without IDs, with the list of saved jobs."""
    saved, obstacle = read_saved(common)
    if not saved.chains and not saved.tasks:
        problem = ErrorDetails(
            "No saved jobs to resume",
            hint="Calls save their resume tokens automatically.",
            detail="" if obstacle is None else obstacle.as_text(),
        )
    else:
        usable = saved.usable()[-1:]
        hint = f"Example: {resume_command(usable, common.data_dir)}" if usable else ""
        table = listing(saved, time.time()).rstrip()
        problem = ErrorDetails("No job ID given", hint=hint, detail=table)
    return CommandFailed(ExitCode.USAGE, problem)


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
        """`here` are the servers of other clients' jobs, with what was approved to reach them."""
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
        """The output: JSON events, progress bars or lines."""
        is_numbered = len(set(self._order.ids)) > 1
        return self._front_of(engine, is_numbered=is_numbered, numbers=self._labels)

    async def work(self, engine: Engine) -> ExitCode:
        """Find the jobs, resume them at the same time, and wait for the last."""
        self._engine = engine
        obstacle = engine.resumer.problem
        if obstacle is not None and not engine.jobs.ids():
            # Already reported; scripts still need the final event.
            self._front.fail(CommandFailed(ExitCode.UNWRITABLE, obstacle))
            return ExitCode.UNWRITABLE
        engine.tasks.leave_alone()
        self._ids.update(self._found(engine))
        self._labels.update({job: str(saved) for job, saved in self._ids.items()})
        for origin, definition in self._here:
            engine.resumer.use_here(origin, definition)
        if self._definition is not None:
            self._take_in(engine, self._definition)
        self._codes = [ExitCode.CANCELLED] * len(self._ids)
        async with anyio.create_task_group() as group:
            for index, job in enumerate(self._ids):
                group.start_soon(self._one, engine, job, index)
        return first_failure(self._codes)

    def owns(self, job: JobId) -> bool:
        """Whether the user named the job."""
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
            problem = ErrorDetails(what, hint=f"{hint} To list them: resume --list")
            raise CommandFailed(ExitCode.USAGE, problem)
        return {job: id_ for id_, job in found.items() if job is not None}

    def _take_in(self, engine: Engine, definition: ServerDefinition) -> None:
        """Use the server that the options name in place of the jobs' original one."""
        snapshots = map(engine.jobs.snapshot, self._ids)
        names = sorted({job.server for job in snapshots if job is not None})
        if len(names) > 1:
            problem = ErrorDetails(
                "Cannot resume jobs of several servers with a single server",
                ", ".join(names),
                "Give the IDs of one server's jobs, or omit the options that name a server.",
            )
            raise CommandFailed(ExitCode.USAGE, problem)
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
        return await engine.resumer.resume(job, auto_resume=automatic(self._order))

    def _decline(self, engine: Engine, job: JobId, problem: ErrorDetails) -> ExitCode:
        """Report why a job cannot be resumed; an error of the store belongs to no single job."""
        is_of_server = any(server.problem == problem for server in engine.servers.snapshots())
        if not is_of_server and _is_of_store(engine, problem):
            self._front.decline(job, problem)
            return ExitCode.UNWRITABLE
        where = ", ".join(filter(None, (problem.where, f"saved job {self._ids[job]}")))
        self._front.decline(job, problem._replace(where=where))
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


def _is_of_store(engine: Engine, problem: ErrorDetails) -> bool:
    """Whether the error is the resume store's, when it was opened or later."""
    return problem == engine.resumer.problem or PurePath(problem.where).name == FILE
