"""`tap stream`: all live recordings of this machine, on standard output."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from mcp_progress_monitor import paths
from mcp_progress_monitor.cli.exits import ExitCode, failing
from mcp_progress_monitor.recording.folder import LIVE
from mcp_progress_monitor.recording.settings import FOLDER
from mcp_progress_monitor.recording.stream import RecordingStream, StreamMarks

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.orders import StreamOrder


def print_stream(common: CommonOptions, order: StreamOrder) -> int:
    """Print the stream until its reader is gone or a signal comes."""
    output = sys.stdout.buffer
    if output.isatty():
        raise click.UsageError(
            "The stream is for another program. Example: mcp-progress-monitor tap stream |"
            " mcp-progress-monitor watch -"
        )
    with failing(ExitCode.USAGE):
        folder = _folder(common, order)
    marks = StreamMarks.read(sys.stdin.buffer) if order.reads_marks else None

    def write(data: bytes) -> None:
        output.write(data)
        output.flush()

    stream = RecordingStream((folder / LIVE, folder), write, marks)
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        stream.run()
    with contextlib.suppress(OSError):
        output.close()  # else Python reports the closed pipe when it exits
    return ExitCode.DONE


def _folder(common: CommonOptions, order: StreamOrder) -> Path:
    """The folder of recordings: the chosen one, or that of a data folder."""
    if order.folder is None:
        return paths.chosen_data_dir(common.data_dir) / FOLDER
    inside = order.folder / FOLDER
    return inside if inside.is_dir() else order.folder
