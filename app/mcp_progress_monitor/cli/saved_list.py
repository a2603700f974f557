"""`resume --list`: saved jobs and tasks, as text or as one JSON document. Tokens are in neither."""

from __future__ import annotations

import datetime
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from rich.cells import cell_len, set_cell_size

from mcp_progress_monitor import text
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.cli.saved_id import SavedId
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.tracker import naming
from mcp_progress_monitor.tracker.amount import fraction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.cli.options import CommonOptions
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.store.chains import Origin, SavedChain, Standing
    from mcp_progress_monitor.store.tasks import SavedTask

_TITLES = ("ID", "SERVER", "JOB", "STOPPED", "PROGRESS", "ATTEMPTS", "STATE")
_WIDEST = 40
_NONE = "No job is saved to be resumed.\n"


class SavedJobs(NamedTuple):
    """What lies on disk: jobs with a resume token and tasks, each oldest first."""

    chains: Sequence[SavedChain] = ()
    tasks: Sequence[SavedTask] = ()

    def usable(self) -> list[SavedId]:
        """The ids of those that can be gone on with."""
        chains = [SavedId(chain.id) for chain in self.chains if chain.is_usable]
        return chains + [SavedId(task.id, is_task=True) for task in self.tasks]


def list_saved(common: CommonOptions, *, in_json: bool) -> ExitCode:
    """Print the saved jobs; what is wrong with the store goes to standard error as well.

    `CommandFailed` when it cannot be read.
    """
    saved, problem = read_saved(common)
    if problem is not None:
        Output(sys.stderr).text(f"{text.visible(problem.as_text(), keep_line_ends=True)}\n")
    now = time.time()
    output = Output(sys.stdout)
    output.text(document(saved, problem, now) if in_json else listing(saved, now) or _NONE)
    output.check()
    return ExitCode.DONE


def read_saved(common: CommonOptions) -> tuple[SavedJobs, Problem | None]:
    """The saved jobs, and what is wrong with the store that still can be read."""
    try:
        store = ResumeStore(data_dir(common.data_dir))
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    try:
        return anyio.run(_saved, store), store.problem
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error


async def _saved(store: ResumeStore) -> SavedJobs:
    await store.open()
    try:
        saved = SavedJobs(await store.chains(), await store.tasks.tasks())
        is_empty = not (saved.chains or saved.tasks)
        if store.problem is not None and is_empty and not store.is_complete:
            raise ProblemError(store.problem)
        return saved
    finally:
        await store.close()


def document(saved: SavedJobs, problem: Problem | None, now: float) -> str:
    """All of it as JSON. Fields may be added, never removed or renamed; unknown is null.

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
    """A table for people, each job's last words below its row; empty without jobs."""
    rows = [_row(chain, now) for chain in saved.chains]
    rows += [_task_row(task, now) for task in saved.tasks]
    table = [_TITLES, *rows] if rows else []
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    lines = [_aligned(row, widths) for row in table]
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
        "taskId": task.task,
        "status": standing.status,
        "statusMessage": standing.message,
        "expires": None if expires_when is None else _iso(expires_when),
        "progress": standing.progress.progress,
        "total": standing.progress.total,
        "elsewhere": task.is_elsewhere,
    }


def _of_origin(origin: Origin) -> dict[str, Any]:
    return {
        "server": origin.server,
        "method": origin.method,
        "name": naming.name(origin),
        "summary": naming.summary(origin),
    }


def _times(created_when: float, updated_when: float, now: float) -> dict[str, Any]:
    return {
        "created": _iso(created_when),
        "updated": _iso(updated_when),
        "age_s": round(max(now - updated_when, 0.0), 3),
    }


def _row(chain: SavedChain, now: float) -> tuple[str, ...]:
    return (
        str(chain.id),
        text.one_line(chain.origin.server, _WIDEST),
        text.one_line(naming.name(chain.origin), _WIDEST),
        text.ago(now - chain.updated_when),
        _progress(chain.standing),
        text.number(chain.attempt_count),
        _state(chain),
    )


def _task_row(task: SavedTask, now: float) -> tuple[str, ...]:
    return (
        str(SavedId(task.id, is_task=True)),
        text.one_line(task.origin.server, _WIDEST),
        text.one_line(naming.name(task.origin), _WIDEST),
        text.ago(now - task.updated_when),
        _progress(task.standing.progress),
        "",
        _task_state(task, now),
    )


def _task_state(task: SavedTask, now: float) -> str:
    """What the server said last, and for how long it keeps the task."""
    if task.is_elsewhere:
        return "task, followed elsewhere"
    expires_when = task.expires_when
    if expires_when is not None and expires_when <= now:
        return "task, expired"
    kept = "" if expires_when is None else f", kept for {text.duration(int(expires_when - now))}"
    return f"task, {text.one_line(task.standing.status.replace('_', ' '), _WIDEST)}{kept}"


def _task_words(task: SavedTask) -> Iterator[str]:
    """The arguments, and the newest message, as far as there are any."""
    for part in (naming.summary(task.origin), task.standing.message or ""):
        if part:
            yield f"    {text.one_line(part)}"


def _state(chain: SavedChain) -> str:
    if not chain.is_usable:
        return "refused"
    return "running elsewhere" if chain.is_elsewhere else "usable"


def _progress(standing: Standing) -> str:
    known = text.amount(standing.progress, standing.total)
    share = fraction(standing.progress, standing.total)
    return known if share is None else f"{known}  {text.percent(share)}"


def _words(chain: SavedChain) -> Iterator[str]:
    """The arguments, the last message and why it stopped, as far as there are any."""
    for part in (naming.summary(chain.origin), chain.standing.message or "", chain.reason):
        if part:
            yield f"    {text.one_line(part)}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True)]
    return "  ".join(cells).rstrip()


def _iso(when: float) -> str | None:
    """Seconds since the epoch as a date; None where the calendar ends."""
    try:
        moment = datetime.datetime.fromtimestamp(when, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
