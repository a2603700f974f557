"""The resume store of a command: in the user's data folder, or the reason why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.store.resumes import ResumeStore

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.options import CommonOptions


class Saved(NamedTuple):
    """A store, not opened yet; or what keeps the user from having one.

    With `restores`, the jobs in it are those of the command.
    """

    store: ResumeStore | None = None
    problem: Problem | None = None
    restores: bool = False


NOTHING_SAVED = Saved()
"""For commands that neither save nor resume anything."""


def saved_jobs(common: CommonOptions, *, restores: bool = False) -> Saved:
    """The store in the folder that `--data-dir` names; never raises."""
    try:
        return Saved(ResumeStore(data_dir(common.data_dir)), restores=restores)
    except ProblemError as error:
        return Saved(problem=error.problem)
