"""The user's saved servers, for the command line."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.cli.options import CommonOptions


def saved_servers(common: CommonOptions) -> Catalogue:
    """The catalogue in the data folder.

    `CommandFailed` when it cannot be read: then nothing is known of the servers in it.
    """
    try:
        catalogue = Catalogue(data_dir(common.data_dir) / FILE_NAME)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    if catalogue.problem is not None:
        raise CommandFailed(ExitCode.USAGE, catalogue.problem)
    return catalogue


def saved_server(common: CommonOptions, name: str) -> CatalogueEntry:
    """One saved server; `CommandFailed` if there is none of that name, or it is disabled."""
    catalogue = saved_servers(common)
    try:
        entry = catalogue.entry(name)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    if entry.is_disabled:
        hint = f"Enable it: servers enable {shlex.quote(name)}"
        raise CommandFailed(ExitCode.USAGE, Problem("The server is disabled", name, hint))
    return entry
