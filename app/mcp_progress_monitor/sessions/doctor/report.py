"""Builds the connection doctor's report on a server."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.path_checks import is_folder, is_there
from mcp_progress_monitor.protocol.secrets import shown_arguments
from mcp_progress_monitor.secrets.references import with_environment
from mcp_progress_monitor.sessions.doctor.causes import causes_of
from mcp_progress_monitor.snapshots.doctor import DoctorReport, Searched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.snapshots.definitions import StdioDefinition
    from mcp_progress_monitor.snapshots.doctor import OpeningQuestion as Question
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_SHORTEST_SECRET: Final = 6  # shorter values occur in too many other texts


def report_of(
    server: ServerSnapshot, connection: Connection | None, opening: tuple[Question, ...] = ()
) -> DoctorReport:
    """A report on a server; `connection` is its newest one, or None.

    `opening` lists the opening requests.
    """
    definition = server.definition
    report = _of_command(server)
    if connection is not None:
        report = report._replace(
            pid=connection.pid,
            exit_code=connection.exit_code,
            ending=connection.reason,
            end_kind=connection.end_kind,
            stderr_tail=tuple(connection.stderr_tail),
            first_bytes=connection.first_bytes,
            secrets=_secrets_in((*report.secrets, *connection.secrets)),
            http=tuple(connection.http_notes),
            opening=opening,
        )
    return report._replace(causes=causes_of(report, definition))


def _of_command(server: ServerSnapshot) -> DoctorReport:
    definition = server.definition
    bare = DoctorReport(
        server.name,
        server.state,
        definition.address,
        error=server.error,
        health=server.health,
        retry=server.retry,
        restarts=server.restarts,
        waiting=server.waiting,
    )
    if definition.transport != "stdio":
        return bare._replace(
            environment=tuple(definition.headers), secrets=_secrets_in(definition.headers.values())
        )
    searched = tuple(_searched(definition))
    return bare._replace(
        command=(definition.command, *shown_arguments(definition.args)),
        folder=str(Path(definition.cwd or ".").absolute()),
        found=_found(definition, searched),
        searched=searched,
        environment=tuple(sorted(definition.env)),
        secrets=_secrets_in(definition.env.values()),
    )


def _searched(definition: StdioDefinition) -> Iterator[Searched]:
    """The PATH that was searched for the command; empty if the command is a path."""
    if _is_path(definition.command):
        return
    path = with_environment(definition.env.get("PATH", os.environ.get("PATH", os.defpath)))
    for folder in dict.fromkeys(path.split(os.pathsep)):
        found = shutil.which(definition.command, path=folder) if folder else None
        yield Searched(folder, bool(folder) and is_folder(folder), found)


def _found(definition: StdioDefinition, searched: Iterable[Searched]) -> str | None:
    if not _is_path(definition.command):
        return next((place.found for place in searched if place.found is not None), None)
    path = Path(definition.cwd or ".", definition.command).absolute()
    return str(path) if is_there(path) else None


def _is_path(command: str) -> bool:
    return os.sep in command or bool(os.altsep and os.altsep in command)


def _secrets_in(values: Iterable[str]) -> tuple[str, ...]:
    found = {v for v in values if len(v) >= _SHORTEST_SECRET and "${" not in v}
    return tuple(sorted(found, key=len, reverse=True))
