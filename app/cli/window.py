"""Opening the window on live servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.exits import CommandFailed, ExitCode
from app.cli.program_log import log_to_stderr
from app.cli.recorded import named_record
from app.cli.target import named_servers
from app.cli.toolkit import require_toolkit
from app.paths import data_dir
from app.problem import ProblemError
from app.shell.options import WindowOptions

if TYPE_CHECKING:
    from pathlib import Path

    from app.cli.options import CommonOptions


def open_window(common: CommonOptions, screenshot: Path | None, after_s: float) -> int:
    """Open the window with the servers that the options name; returns when it is closed.

    `CommandFailed` with code 2 when the window toolkit or a display is missing.
    """
    level = common.log_level or "warning"
    log_to_stderr(level)
    definitions = named_servers(common)
    record = named_record(common)
    try:
        folder = data_dir(common.data_dir)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    require_toolkit()
    from app.shell.application import run_window

    return run_window(
        WindowOptions(
            definitions=definitions,
            is_demo=common.demo,
            data_dir=folder,
            log_level=level,
            screenshot=screenshot,
            after_s=after_s,
            config=common.config,
            record=record,
        )
    )
