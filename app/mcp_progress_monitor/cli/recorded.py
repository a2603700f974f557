"""What a command's session is recorded into, as the shared options say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.paths import chosen_data_dir, data_dir
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.recording.beginning import check_new, recorder_for
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.sessions.clock import Clock

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.options import CommonOptions


class Recorded(NamedTuple):
    """A recorder, nothing made yet; and what keeps the session from being recorded as it should.

    `folder` is the user's data folder, which may not be there: sign-ins are kept in it.
    """

    recorder: Recorder
    problem: Problem | None = None
    folder: Path | None = None


def session_recorder(common: CommonOptions) -> Recorded:
    """The recorder of a command's session.

    `CommandFailed` with code 2 when nothing can be recorded into the file that `--record` names.
    Without that option a session that cannot be recorded goes on all the same.
    """
    record, clock = named_record(common), Clock()
    kept = None
    try:
        kept = chosen_data_dir(common.data_dir)
        folder = data_dir(common.data_dir) if record is None else None
    except ProblemError as error:
        return Recorded(Recorder(clock=clock), error.problem, kept)
    return Recorded(*recorder_for(folder, record, clock), kept)


def named_record(common: CommonOptions) -> Path | None:
    """The new file that `--record` names, absolute; `CommandFailed` as above."""
    if common.record is None:
        return None
    try:
        return check_new(common.record)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
