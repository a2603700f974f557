"""Saved jobs that can be resumed: those of the resume store, read without writing to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.agents.answers import JobAnswer, finite, quoted
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.formatting import iso, one_line
from mcp_progress_monitor.path_checks import is_there
from mcp_progress_monitor.store.resumes import FILE, ResumeStore
from mcp_progress_monitor.store.watched import split_watched_key
from mcp_progress_monitor.tracker import titles
from mcp_progress_monitor.tracker.estimate import fraction

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.store.chains import Origin, SavedChain, SavedProgress
    from mcp_progress_monitor.store.tasks import SavedTask


class SavedJob(NamedTuple):
    """A saved job: a resume chain, or a task that was left at its server."""

    number: int
    origin: Origin
    standing: SavedProgress
    state: str
    began_when: float
    attempts: int = 1
    token: str = ""
    is_task: bool = False

    def __repr__(self) -> str:
        """Leave out the token: anyone who has it can resume the job."""
        return f"SavedJob({self.name}, {self.origin.server!r})"

    @property
    def name(self) -> str:
        """The job's name for agents."""
        return f"{'t' if self.is_task else 's'}{self.number}"

    @property
    def client(self) -> str | None:
        """The client that began it; None for this program."""
        watched = split_watched_key(self.origin.server_key)
        return None if watched is None else watched[0]

    @property
    def server(self) -> str:
        """Its server, as in recordings."""
        name = self.origin.server
        return name if self.client is None else name.rpartition("@")[0] or name

    @property
    def age_s(self) -> float:
        """Seconds since the job began."""
        return time.time() - self.began_when

    def answer(self) -> JobAnswer:
        standing = self.standing
        share = fraction(standing.progress, standing.total)
        return JobAnswer(
            job=self.name,
            saved="" if self.is_task else self.name,
            server=one_line(self.server),
            client_quoted=None if self.client is None else quoted(self.client, 200),
            method_quoted=quoted(self.origin.method, 200),
            name_quoted=quoted(titles.name(self.origin)),
            state=self.state,
            progress=finite(standing.progress),
            total=finite(standing.total),
            percent=None if share is None else round(100 * share, 1),
            message_quoted=quoted(standing.message or ""),
            silent_s=0.0,
            ticks=0,
            began=iso(self.began_when, "seconds"),
        )


async def saved_jobs(data_dir: Path) -> list[SavedJob]:
    """The saved jobs that can be resumed, those that began last first; empty if unreadable."""
    if not is_there(data_dir / FILE):
        return []
    store = ResumeStore(data_dir)
    await store.open_for_reading()
    try:
        chains, tasks = await store.chains(), await store.tasks.tasks()
    except UserError:
        return []
    finally:
        await store.close()
    found = [_of_chain(each) for each in chains if each.is_usable]
    found += map(_of_task, tasks)
    return sorted(found, key=_began, reverse=True)


def _of_chain(chain: SavedChain) -> SavedJob:
    state = "Resumable, in another program now" if chain.is_elsewhere else "Resumable"
    return SavedJob(
        chain.id,
        chain.origin,
        chain.standing,
        state,
        chain.created_when,
        chain.attempt_count,
        chain.token,
    )


def _of_task(task: SavedTask) -> SavedJob:
    where = "followed by another program" if task.is_elsewhere else "left at its server"
    state = f"A task, {where}"
    standing = task.standing.progress
    return SavedJob(task.id, task.origin, standing, state, task.started_when, is_task=True)


def _began(saved: SavedJob) -> tuple[float, int]:
    return saved.began_when, saved.number
