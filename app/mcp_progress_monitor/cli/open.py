"""`open`: the window of a recording, after everything that can be said without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.program_log import log_to_stderr
from mcp_progress_monitor.cli.toolkit import require_toolkit
from mcp_progress_monitor.filtering.errors import FilterError
from mcp_progress_monitor.filtering.parsing import parse
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.shell.options import RecordingOptions

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.options import CommonOptions
    from mcp_progress_monitor.cli.order import OpenOrder


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
    from mcp_progress_monitor.shell.recording_window import run_recording

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
