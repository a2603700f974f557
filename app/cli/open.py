"""`open`: the window of a recording, after everything that can be said without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.cli.exits import CommandFailed, ExitCode
from app.cli.program_log import log_to_stderr
from app.cli.toolkit import require_toolkit
from app.filtering.errors import FilterError
from app.filtering.parsing import parse
from app.paths import data_dir
from app.playback.playback import Playback
from app.problem import ProblemError
from app.shell.options import RecordingOptions

if TYPE_CHECKING:
    from pathlib import Path

    from app.cli.options import CommonOptions
    from app.cli.order import OpenOrder


def open_recording(common: CommonOptions, order: OpenOrder) -> int:
    """Open the window of a recording; returns when it is closed.

    `CommandFailed` with code 8 when the file is no recording or cannot be read, with code 2 when
    the window toolkit or a display is missing; a usage error when the filter is not understood.
    """
    log_to_stderr(common.log_level or "warning")
    _check_filter(order.filter_text)
    playback = _opened(order.file)
    try:
        folder = data_dir(common.data_dir)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    require_toolkit()
    from app.shell.recording_window import run_recording

    return run_recording(
        RecordingOptions(
            playback=playback,
            data_dir=folder,
            speed=order.times_faster,
            filter_text=order.filter_text,
            screenshot=order.screenshot,
            after_s=order.after_s,
        )
    )


def _check_filter(text: str) -> None:
    try:
        parse(text)
    except FilterError as error:
        raise click.UsageError(f"--filter: {error}") from error


def _opened(file: Path) -> Playback:
    try:
        return Playback(file)
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error
