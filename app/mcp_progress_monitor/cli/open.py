"""`open`: the window of a recording; errors are reported before it opens."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import TYPE_CHECKING

import click

from mcp_progress_monitor.cli.desktop import require_toolkit
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import ExitCode, failing
from mcp_progress_monitor.cli.options import check_filter
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.imports.convert import as_recording, form_of, temporary_recording
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.playback.following import Spool, followed_file, wait_for_header
from mcp_progress_monitor.playback.playback import Playback

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.orders import OpenOrder
    from mcp_progress_monitor.imports.convert import ImportForm


def open_recording(common: CommonOptions, order: OpenOrder) -> int:
    """Open the window of a recording; returns when it is closed.

    `CommandFailed` with code 8 if the file cannot be read or is not a recording, with code 2 if Qt
    or a display is missing; a usage error for an invalid filter.
    """
    log_to_stderr(common.log_level or "warning")
    check_filter("--filter", order.filter_text)
    form = None if order.is_stdin or order.follow else form_of(order.file)
    with contextlib.ExitStack() as stack:
        playback = None if order.is_stdin or form is not None else _opened(order, stack)
        with failing(ExitCode.USAGE):
            folder = data_dir(common.data_dir)
        require_toolkit()
        from mcp_progress_monitor.crash_reports import crash_trace
        from mcp_progress_monitor.program_log import program_log

        stack.enter_context(program_log(folder, common.log_level or "warning"))
        stack.enter_context(crash_trace(folder))
        if form is not None:
            return _imported(order, form, folder)
        return _shown(playback or _opened_stdin(folder, stack), folder, order)


def _shown(playback: Playback, folder: Path, order: OpenOrder) -> int:
    from mcp_progress_monitor.gui.recording_program import run_recording

    return run_recording(_options(order, folder, playback))


def _imported(order: OpenOrder, form: ImportForm, folder: Path) -> int:
    from mcp_progress_monitor.gui.recording_program import run_imported

    options_of = functools.partial(_options, order, folder)
    with failing(ExitCode.UNWRITABLE), temporary_recording(order.file) as target:
        return run_imported(order.file, form, target, options_of)


def _options(order: OpenOrder, folder: Path, playback: Playback) -> RecordingOptions:
    return RecordingOptions(
        playback=playback,
        data_dir=folder,
        speed=order.times_faster,
        filter_text=order.filter_text,
        screenshot=order.screenshot,
        after_s=order.after_s,
    )


def _opened(order: OpenOrder, stack: contextlib.ExitStack) -> Playback:
    if not order.follow:
        return stack.enter_context(opened(order.file))
    with failing(ExitCode.UNWRITABLE):
        return Playback(order.file, followed_file(order.file))


def _echo(line: str) -> None:
    click.echo(line, err=True)


@contextlib.contextmanager
def opened(file: Path) -> Iterator[Playback]:
    """A recording, or another program's file converted to one.

    `CommandFailed` with code 8 if it is neither or cannot be read.
    """
    with contextlib.ExitStack() as stack:
        with failing(ExitCode.UNWRITABLE):
            recording = stack.enter_context(as_recording(file, _echo))
            playback = Playback(recording, imported_from=None if recording == file else file)
        yield playback


def _opened_stdin(folder: Path, stack: contextlib.ExitStack) -> Playback:
    """Standard input as a recording, spooled to a temporary file."""
    with failing(ExitCode.UNWRITABLE):
        spool = Spool(sys.stdin.buffer, folder)
        stack.callback(spool.close)
        wait_for_header(spool.followed())
        return Playback(spool.path, spool.followed())
