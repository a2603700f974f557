"""`resume --list`: the saved jobs, as text or as one JSON document. Tokens are in neither."""

from __future__ import annotations

import datetime
import sys
import time
from typing import TYPE_CHECKING, Any

import anyio
from rich.cells import cell_len, set_cell_size

from app import text
from app.cli.exits import CommandFailed, ExitCode
from app.cli.output import Output
from app.cli.reply import as_json
from app.paths import data_dir
from app.problem import ProblemError
from app.store.resumes import ResumeStore
from app.tracker import naming
from app.tracker.amount import fraction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.cli.options import CommonOptions
    from app.problem import Problem
    from app.store.chains import SavedChain, Standing

_TITLES = ("ID", "SERVER", "JOB", "STOPPED", "PROGRESS", "ATTEMPTS", "STATE")
_WIDEST = 40
_NONE = "No job is saved to be resumed.\n"


def list_saved(common: CommonOptions, *, in_json: bool) -> ExitCode:
    """Print the saved jobs; what is wrong with the store goes to standard error as well.

    `CommandFailed` when it cannot be read.
    """
    chains, problem = read_saved(common)
    if problem is not None:
        Output(sys.stderr).text(f"{text.visible(problem.as_text(), keep_line_ends=True)}\n")
    now = time.time()
    output = Output(sys.stdout)
    output.text(document(chains, problem, now) if in_json else listing(chains, now) or _NONE)
    output.check()
    return ExitCode.DONE


def read_saved(common: CommonOptions) -> tuple[list[SavedChain], Problem | None]:
    """The saved jobs, oldest first, and what is wrong with the store that still can be read."""
    try:
        store = ResumeStore(data_dir(common.data_dir))
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    try:
        return anyio.run(_chains, store), store.problem
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error


async def _chains(store: ResumeStore) -> list[SavedChain]:
    await store.open()
    try:
        chains = await store.chains()
        if store.problem is not None and not store.is_readable:
            raise ProblemError(store.problem)
        return chains
    finally:
        await store.close()


def document(chains: Sequence[SavedChain], problem: Problem | None, now: float) -> str:
    """All of it as JSON. Fields may be added, never removed or renamed; unknown is null.

    Times are in ISO 8601, UTC; `age_s` is the time since the newest attempt stopped.
    """
    content = {
        "jobs": [_entry(chain, now) for chain in chains],
        "problem": None if problem is None else problem._asdict(),
    }
    return f"{as_json(content, indent=2)}\n"


def listing(chains: Sequence[SavedChain], now: float) -> str:
    """A table for people, each job's last words below its row; empty without jobs."""
    rows = [_TITLES, *(_row(chain, now) for chain in chains)] if chains else []
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [_aligned(row, widths) for row in rows]
    words = [[], *(list(_words(chain)) for chain in chains)]
    return "".join(
        f"{line}\n" for row, below in zip(lines, words, strict=False) for line in (row, *below)
    )


def _entry(chain: SavedChain, now: float) -> dict[str, Any]:
    origin, standing = chain.origin, chain.standing
    return {
        "resume_id": chain.id,
        "server": origin.server,
        "method": origin.method,
        "name": naming.name(origin),
        "summary": naming.summary(origin),
        "created": _iso(chain.created_when),
        "updated": _iso(chain.updated_when),
        "age_s": round(max(now - chain.updated_when, 0.0), 3),
        "progress": standing.progress,
        "total": standing.total,
        "message": standing.message,
        "attempts": chain.attempt_count,
        "reason": chain.reason or None,
        "usable": chain.is_usable,
        "elsewhere": chain.is_elsewhere,
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
