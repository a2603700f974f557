"""Opening the window on live servers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.options import CommonOptions
from mcp_progress_monitor.cli.program_log import log_to_stderr
from mcp_progress_monitor.cli.toolkit import require_toolkit
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.shell.options import WindowOptions

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.sessions.definitions import ServerDefinition


def open_window(common: CommonOptions, screenshot: Path | None, after_s: float) -> int:
    """Open the window with the servers that the options name; returns when it is closed.

    `CommandFailed` with code 2 when the window toolkit or a display is missing.
    """
    level = common.log_level or "warning"
    log_to_stderr(level)
    saved = _saved_server(common)
    definitions = () if saved else _definitions(common)
    record = _record(common)
    try:
        folder = data_dir(common.data_dir)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    require_toolkit()
    from mcp_progress_monitor.shell.application import run_window

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
            saved=saved,
        )
    )


def _record(common: CommonOptions) -> Path | None:
    """The new file that the options name, if they name one."""
    if common.record is None:
        return None
    from mcp_progress_monitor.cli.recorded import (
        named_record,  # with the recorder, which the window loads faster
    )

    return named_record(common)


def _definitions(common: CommonOptions) -> tuple[ServerDefinition, ...]:
    """The servers that the options name, if they say anything about any."""
    if dataclasses.replace(common, data_dir=None, record=None, log_level=None) == CommonOptions():
        return ()
    from mcp_progress_monitor.cli.target import (
        named_servers,  # with pydantic: a third of an empty start
    )

    return named_servers(common)


def _saved_server(common: CommonOptions) -> tuple[str, ...]:
    """The name of the saved server that the options name; the window knows all of them itself."""
    if common.server is None or common.config is not None:
        return ()
    from mcp_progress_monitor.cli.target import named_servers

    named_servers(common)  # or what is wrong with it is told
    if common.cwd or common.env or common.header or common.era or common.connect_timeout:
        raise click.UsageError(
            "A saved server is connected as it is saved: leave out --cwd, --env, --header, --era"
            " and --connect-timeout, or edit it in the window."
        )
    return (common.server,)
