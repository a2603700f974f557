"""`resume --list`: the saved jobs and tasks as a table or JSON. Light: loads no engine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import ExitCode, failing
from mcp_progress_monitor.cli.options import SavedId
from mcp_progress_monitor.cli.output.stdout import aligned, as_json, print_out, show_warnings
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import is_there
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.protocol.messages import TASK_ID
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.store.watched import split_watched_key
from mcp_progress_monitor.tracker import titles
from mcp_progress_monitor.tracker.estimate import fraction
from mcp_progress_monitor.wording.statuses import status_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.store.chains import Origin, SavedChain, SavedProgress
    from mcp_progress_monitor.store.tasks import SavedTask

_TITLES = ("ID", "SERVER", "JOB", "STOPPED", "PROGRESS", "ATTEMPTS", "STATE")
_WIDEST = 40
_NONE = "No saved jobs.\n"


class SavedJobs(NamedTuple):
    """The saved jobs: resume chains and tasks, each oldest first."""

    chains: Sequence[SavedChain] = ()
    tasks: Sequence[SavedTask] = ()

    def usable(self) -> list[SavedId]:
        chains = [SavedId(chain.id) for chain in self.chains if chain.is_usable]
        return chains + [SavedId(task.id, is_task=True) for task in self.tasks]


def list_saved(common: CommonOptions, *, in_json: bool) -> ExitCode:
    """Print the saved jobs; errors of the store go to standard error.

    `CommandFailed` if it cannot be read.
    """
    log_to_stderr(common.log_level)
    saved, error = read_saved(common)
    show_warnings(error)
    now = time.time()
    print_out(document(saved, error, now) if in_json else listing(saved, now) or _NONE)
    return ExitCode.DONE


def read_saved(common: CommonOptions) -> tuple[SavedJobs, ErrorDetails | None]:
    """The saved jobs, and an error of the store that leaves it readable."""
    with failing(ExitCode.USAGE):
        folder = data_dir(common.data_dir)
        store = ResumeStore(folder)
    with failing(ExitCode.UNWRITABLE):
        return anyio.run(_saved, store, folder), store.error


async def _saved(store: ResumeStore, folder: Path) -> SavedJobs:
    if is_there(folder / "recordings" / "live"):
        # Late: few folders have recordings of taps.
        from mcp_progress_monitor.engine.ended_taps import save_what_ended

        await save_what_ended(folder, is_alone=True)
    await store.open()
    try:
        saved = SavedJobs(await store.chains(), await store.tasks.tasks())
        is_empty = not (saved.chains or saved.tasks)
        if store.error is not None and is_empty and not store.is_complete:
            raise UserError(store.error)
        return saved
    finally:
        await store.close()


def document(saved: SavedJobs, error: ErrorDetails | None, now: float) -> str:
    """All saved jobs as JSON. Fields may be added, never removed or renamed; unknown is null.

    Times are in ISO 8601, UTC; `age_s` is the time since the newest attempt stopped, or since the
    task was last heard of.
    """
    content = {
        "jobs": [_entry(chain, now) for chain in saved.chains],
        "tasks": [_task_entry(task, now) for task in saved.tasks],
        "problem": None if error is None else error._asdict(),
    }
    return f"{as_json(content, indent=2)}\n"


def listing(saved: SavedJobs, now: float) -> str:
    """A table with each job's last message below its row; empty without jobs."""
    rows = [_row(chain, now) for chain in saved.chains]
    rows += [_task_row(task, now) for task in saved.tasks]
    lines = aligned(_TITLES, rows, _WIDEST).splitlines() if rows else []
    details = [
        [],
        *(_details(each.origin, each.standing.message, each.reason) for each in saved.chains),
        *(_details(each.origin, each.standing.message) for each in saved.tasks),
    ]
    return "".join(
        f"{line}\n" for row, below in zip(lines, details, strict=False) for line in (row, *below)
    )


def _entry(chain: SavedChain, now: float) -> dict[str, Any]:
    return {
        "resume_id": chain.id,
        **_origin_members(chain.origin),
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
        **_origin_members(task.origin),
        **_times(task.started_when, task.updated_when, now),
        TASK_ID: task.task,
        "status": standing.status,
        "statusMessage": standing.message,
        "expires": None if expires_when is None else formatting.iso(expires_when, "milliseconds"),
        "progress": standing.progress.progress,
        "total": standing.progress.total,
        "elsewhere": task.is_elsewhere,
    }


def _origin_members(origin: Origin) -> dict[str, Any]:
    watched = split_watched_key(origin.server_key)
    return {
        "server": origin.server,
        "client": None if watched is None else watched[0],
        "method": origin.method,
        "name": titles.name(origin),
        "summary": titles.summary(origin),
    }


def _times(created_when: float, updated_when: float, now: float) -> dict[str, Any]:
    return {
        "created": formatting.iso(created_when, "milliseconds"),
        "updated": formatting.iso(updated_when, "milliseconds"),
        "age_s": round(max(now - updated_when, 0.0), 3),
    }


def _server(origin: Origin) -> str:
    """The server's name, with the client that started it if that was not this program."""
    watched = split_watched_key(origin.server_key)
    return origin.server if watched is None else f"{origin.server} ({watched[0]})"


def _row(chain: SavedChain, now: float) -> tuple[str, ...]:
    return (
        str(chain.id),
        _server(chain.origin),
        titles.name(chain.origin),
        formatting.ago(now - chain.updated_when),
        _progress(chain.standing),
        formatting.number(chain.attempt_count),
        _state(chain),
    )


def _task_row(task: SavedTask, now: float) -> tuple[str, ...]:
    return (
        str(SavedId(task.id, is_task=True)),
        _server(task.origin),
        titles.name(task.origin),
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


def _state(chain: SavedChain) -> str:
    if not chain.is_usable:
        return "refused"
    return "in another program" if chain.is_elsewhere else "resumable"


def _progress(standing: SavedProgress) -> str:
    share = fraction(standing.progress, standing.total)
    return formatting.progress(standing.progress, standing.total, share)


def _details(origin: Origin, *texts: str | None) -> list[str]:
    """The arguments and other `texts`, such as the last message, each on a line."""
    return [f"    {formatting.one_line(text)}" for text in (titles.summary(origin), *texts) if text]
