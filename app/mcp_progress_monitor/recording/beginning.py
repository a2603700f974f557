"""What a session is recorded into: the file the user named, else a new one in the data folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_progress_monitor.looking import Sight, absolute, sight_of
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.recording.settings import FOLDER, load_settings

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.recording.recorder import Clock


def recorder_for(
    data_dir: Path | None, record: Path | None, clock: Clock
) -> tuple[Recorder, Problem | None]:
    """The recorder of a session, nothing made yet, and what is wrong with the user's settings.

    `record` is the file that the user named; where it is None and recordings are switched off, or
    there is no data folder, the newest messages are kept in memory.
    """
    if record is not None:
        return Recorder(record, clock=clock), None
    if data_dir is None:
        return Recorder(clock=clock), None
    settings, problem = load_settings(data_dir)
    if not settings.is_on:
        return Recorder(settings=settings, clock=clock), problem
    folder = RecordingsFolder(data_dir / FOLDER)
    return Recorder(folder.new_path(clock.wall()), settings, clock, folder), problem


def check_new(record: Path) -> Path:
    """See that a recording can be begun at a path that the user named; return it absolute.

    Raises:
        ProblemError: something is there already, or nothing can be made there.
    """
    path = absolute(record)
    hint = "Name a file that is not there yet, in a folder that you may write."
    if os.path.lexists(path):
        what = "The file to record into is there already: nothing is ever written over"
    elif (seen := sight_of(path.parent)) is not Sight.FOLDER:
        what = f"The folder to record into {seen.value}"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        what = "The folder to record into may not be written"
    else:
        return path
    raise ProblemError(Problem(what, str(path), hint))
