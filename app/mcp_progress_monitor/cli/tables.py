"""`export --format parquet`: recordings as rows of tables in a folder."""

from __future__ import annotations

import datetime
import socket
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.export import share_line, show_errors, show_redacted
from mcp_progress_monitor.cli.open import opened
from mcp_progress_monitor.cli.output.stdout import show_warnings
from mcp_progress_monitor.cli.recordings import recordings_in
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.exports.redaction import Redaction

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.recording_orders import ExportOrder
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.exports.options import OnShare
    from mcp_progress_monitor.playback.playback import Playback

_SLICE_S: Final = 0.05  # also bounds the rows that wait to be written
_EXTRA: Final = 'Install it with: pip install "mcp-progress-monitor[parquet]"'


def export_tables(common: CommonOptions, order: ExportOrder) -> int:
    """Add recordings to the tables in a folder; those of an earlier export are replaced.

    Code 8 if one cannot be read: the others are exported. `CommandFailed` with code 2 without
    pyarrow, with code 8 if the folder cannot be written.
    """
    log_to_stderr(common.log_level or "warning")
    try:
        from mcp_progress_monitor.exports import parquet  # noqa: F401  # optional
    except ImportError as error:
        details = ErrorDetails("Parquet needs pyarrow, which is not installed", hint=_EXTRA)
        raise CommandFailed(ExitCode.USAGE, details) from error
    redaction = Redaction(with_secrets=order.with_secrets)
    code = ExitCode.DONE
    for file in recordings_in(order.files):
        with share_line(f"Exporting {file.name}") as on_share:
            code = max(code, _export(file, order, redaction, on_share))
    show_redacted(redaction)
    return code


def _export(file: Path, order: ExportOrder, redaction: Redaction, on_share: OnShare) -> ExitCode:
    try:
        with opened(file) as playback, failing(ExitCode.UNWRITABLE):
            _add(playback, order, redaction, on_share)
            show_errors(playback)
    except CommandFailed as failure:
        if len(order.files) == 1 and not order.files[0].is_dir():
            raise
        show_warnings(failure.details)
        return failure.code
    return ExitCode.DONE


def _add(playback: Playback, order: ExportOrder, redaction: Redaction, on_share: OnShare) -> None:
    from mcp_progress_monitor.exports.parquet import Place, SessionTables, recording_id, tables

    begun = datetime.datetime.fromtimestamp(playback.begun_when or 0, datetime.UTC)
    run = None if playback.is_imported else playback.header.get("run")
    recording = recording_id(run, f"{playback.first_path.name} {begun.isoformat()}")
    host = order.host or socket.gethostname()
    assert order.folder is not None  # noqa: S101 - ExportOrder.check
    with tables(Place(order.folder, recording, begun.date().isoformat(), host)) as made:
        rows = SessionTables(playback, made, recording, redaction)
        check = SessionChecker(playback.jobs.job_of)

        def take(update: Update) -> None:
            check.take(update.frames, update.facts, update.changes.marked)
            rows.take(update.frames, update.facts, update.changes)

        playback.subscribe(take)
        while playback.advance(_SLICE_S):
            rows.write()
            on_share(playback.progress)
        check.judge.finish()
        rows.finish(check.judge)
