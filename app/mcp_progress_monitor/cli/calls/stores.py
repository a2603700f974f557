"""The recording and the resume store that a command's shared options choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.cli.exits import ExitCode, failing
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.paths import chosen_data_dir, data_dir
from mcp_progress_monitor.recording.recorder import Recorder, check_new, recorder_for

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.options import CommonOptions
    from mcp_progress_monitor.store.resumes import ResumeStore


class SavedStore(NamedTuple):
    """A store that is not open yet, or the error that prevents one.

    With `restores`, the command works on the jobs in it.
    """

    store: ResumeStore | None = None
    error: ErrorDetails | None = None
    restores: bool = False


NOTHING_SAVED = SavedStore()  # for commands that neither save nor resume anything


def saved_jobs(common: CommonOptions, *, restores: bool = False) -> SavedStore:
    """The store in the folder that `--data-dir` names; never raises."""
    from mcp_progress_monitor.store.resumes import ResumeStore  # late: a list of tools saves none

    try:
        return SavedStore(ResumeStore(data_dir(common.data_dir)), restores=restores)
    except UserError as error:
        return SavedStore(error=error.details)


class SessionRecording(NamedTuple):
    """A recorder that has written nothing yet, and the error that prevents recording, if any.

    `folder` is the data folder, which may not exist; sign-ins are kept in it.
    """

    recorder: Recorder
    error: ErrorDetails | None = None
    folder: Path | None = None


def session_recorder(common: CommonOptions) -> SessionRecording:
    """The recorder of a command's session.

    `CommandFailed` with code 2 if the `--record` file cannot be used. Without that option, a
    session that cannot be recorded runs anyway.
    """
    record, clock = named_record(common), Clock()
    kept = None
    try:
        kept = chosen_data_dir(common.data_dir)
        folder = data_dir(common.data_dir) if record is None else None
    except UserError as error:
        return SessionRecording(Recorder(clock=clock), error.details, kept)
    return SessionRecording(*recorder_for(folder, record, clock), kept)


def named_record(common: CommonOptions) -> Path | None:
    """The absolute path of the `--record` file; `CommandFailed` as above."""
    if common.record is None:
        return None
    with failing(ExitCode.USAGE):
        return check_new(common.record)
