"""`export`: a recording in another format."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.open import opened
from mcp_progress_monitor.cli.output.stdout import StandardOutput, show_warnings, write_out
from mcp_progress_monitor.cli.recording_orders import FORMATS_BY_KEY, IMPORTED, OTLP
from mcp_progress_monitor.cli.telemetry import telemetry_here
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.exports.formats import ExportOptions, export_chunks
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.filtering.filter import FilterError, TrafficFilter
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.imports.convert import convert, form_of
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.recording.recorder import check_new

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.recording_orders import ExportOrder
    from mcp_progress_monitor.exports.options import OnShare

_SLICE_S = 0.2
_SHOWN_ERRORS = 10
_STEP_S = 1.0  # of a recording's time, so that its progress and silence are seen as when live
_STEPS = 100_000
_LAST_S = 15.0  # for a collector that takes its time


def export_recording(common: CommonOptions, order: ExportOrder) -> int:
    """Export a recording.

    `CommandFailed` with code 8 if the file is not a recording or the output cannot be written;
    with code 2 for an invalid filter, an unknown job, HAR of a recording without HTTP, or telemetry
    that cannot be sent from here.
    """
    log_to_stderr(common.log_level or "warning")
    if order.to == IMPORTED and order.output is not None:
        return _import(order.file, order.output)
    with opened(order.file) as playback, share_line(f"Exporting {order.file.name}") as on_share:
        if order.to == OTLP:
            return _send(playback, on_share)
        return _export(playback, order, on_share)


def _import(file: Path, target: Path) -> int:
    form = form_of(file)
    if form is None:
        what = "The format of the file is not supported"
        others = "logs of mcpsnoop, mcp-rec and Claude Desktop"
        hint = f"Supported formats: HAR, OpenTelemetry's OTLP in JSON, and {others}."
        raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, str(file), hint))
    with failing(ExitCode.UNWRITABLE), share_line(f"Importing {file.name}") as on_share:
        convert(file, form, check_new(target), on_share)
        playback = Playback(target)
    show_errors(playback)
    return ExitCode.DONE


def _export(playback: Playback, order: ExportOrder, on_share: OnShare) -> int:
    _check_filter(order.where)
    marks = FindingTexts()
    playback.subscribe(lambda update: marks.add(update.changes.marked))
    while playback.advance(_SLICE_S):
        pass
    show_errors(playback)
    _check_job(playback, order)
    redaction = Redaction(with_secrets=order.with_secrets)
    wanted = TrafficFilter(order.where)
    request = ExportOptions(FORMATS_BY_KEY[order.to], wanted, order.job, order.file.name)
    try:
        made = export_chunks(playback, request, redaction, marks, on_share)
    except UserError as error:
        details = error.details._replace(where=str(order.file))
        raise CommandFailed(ExitCode.USAGE, details) from error
    write_out(made, order.output)
    show_redacted(redaction)
    return ExitCode.DONE


def _send(playback: Playback, on_share: OnShare) -> int:
    """Send a recording as telemetry; `CommandFailed` with code 8 if not all of it arrived."""
    telemetry = telemetry_here()
    telemetry.follow_recording(playback, waits=True)
    step_s = max(_STEP_S, playback.length_s / _STEPS)
    at_s = step_s
    while playback.play_until(at_s, _SLICE_S) and not telemetry.state.dropped:
        if playback.position_s >= at_s:
            at_s += step_s
        on_share(playback.progress)
    telemetry.close(_LAST_S)
    errors = StandardOutput(sys.stderr)
    show_errors(playback)
    if telemetry.problem is not None:
        raise CommandFailed(ExitCode.UNWRITABLE, telemetry.problem)
    sent = formatting.count(telemetry.state.sent, "event or span", "events and spans")
    errors.text(f"Sent {sent} to {telemetry.address}.\n")
    return ExitCode.DONE


def _check_filter(where: str) -> None:
    from mcp_progress_monitor.filtering.language import parse

    try:
        parse(where)
    except FilterError as error:
        raise CommandFailed(ExitCode.USAGE, _filter_error(where, error)) from error


def _filter_error(where: str, error: FilterError) -> ErrorDetails:
    """The error, with the filter and a pointer to the error's position below it."""
    # One character for each control character, so that the pointer stays aligned.
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in where)
    pointer = " " * error.position + "^" * max(error.length, 1)
    return ErrorDetails(
        f"Invalid --filter: {error.what}",
        f"at character {formatting.number(error.position + 1)}",
        error.hint,
        f"  {line}\n  {pointer}" if len(line) < 1_000 else "",
    )


def _check_job(playback: Playback, order: ExportOrder) -> None:
    if order.job is None or playback.jobs.snapshot(order.job) is not None:
        return
    jobs = playback.jobs.ids()
    hint = f"It has jobs {jobs[0]} to {jobs[-1]}." if jobs else "It has no jobs."
    error = ErrorDetails(f"The recording has no job {order.job}", str(order.file), hint)
    raise CommandFailed(ExitCode.USAGE, error)


def show_errors(playback: Playback) -> None:
    """Report damage in the recording; the rest is exported."""
    errors: list[Any] = playback.errors
    show_warnings(*errors[:_SHOWN_ERRORS])
    if errors[_SHOWN_ERRORS:]:
        left = formatting.count(len(errors) - _SHOWN_ERRORS, "more error")
        StandardOutput(sys.stderr).text(f"… and {left} in the recording.\n")


def show_redacted(redaction: Redaction) -> None:
    """Report how much was redacted."""
    if redaction.count:
        places = formatting.count(redaction.count, "place")
        errors = StandardOutput(sys.stderr)
        errors.text(f"Redacted secrets in {places}. To keep them, use --with-secrets.\n")


_EVERY_S: Final = 0.2
_NAME: Final = 60


@contextlib.contextmanager
def share_line(what: str) -> Iterator[Callable[[float], None]]:
    """A function that shows shares from 0 to 1 after `what`, such as "Exporting a.csv".

    The line appears after a delay and is removed at the end.
    """
    errors = StandardOutput(sys.stderr)
    text = one_line(what, _NAME)
    shown_at = time.monotonic()
    length = 0

    def show(share: float) -> None:
        nonlocal shown_at, length
        now = time.monotonic()
        if errors.is_terminal and now - shown_at >= _EVERY_S:
            line = f"{text}: {share * 100:.0f} %"
            errors.text(f"\r{line.ljust(length)}")
            shown_at, length = now, len(line)

    try:
        yield show
    finally:
        if length:
            errors.text(f"\r{' ' * length}\r")
