"""The entry with which a client's agent may read recordings: as text, as a line, in its file."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting, paths
from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.catalogue.client_files import found_files
from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE, KNOWN
from mcp_progress_monitor.catalogue.taps import shown_name
from mcp_progress_monitor.catalogue.writing import write_file
from mcp_progress_monitor.engine.client_taps import claude_code_processes
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import home
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.catalogue.tap_install import ClientServer
    from mcp_progress_monitor.catalogue.writing import Written

NAME: Final = "mcp-progress-monitor"


class AgentEntry(NamedTuple):
    """A choice of the user's: which servers an agent may read, all without `servers`.

    `data_dir` has the recordings; None for the default folder. With `acts`, the agent may also act
    on those of the servers that the user approved.
    """

    servers: tuple[str, ...] = ()
    data_dir: Path | None = None
    acts: bool = False

    @property
    def command(self) -> list[str]:
        """The command line that the client runs."""
        words = [*paths.program_command(), "mcp"]
        if self.data_dir is not None:
            words += ["--data-dir", str(self.data_dir)]
        words += ["--allow-actions"] if self.acts else []
        return [*words, *(word for name in self.servers for word in ("--server", name))]

    @property
    def line(self) -> str:
        """The line for a terminal that adds the entry to Claude Code."""
        return shlex.join(["claude", "mcp", "add", "--scope", "user", NAME, "--", *self.command])

    def text(self, client: McpClient) -> str:
        """The content of a configuration file with this entry alone."""
        return write_file([self._definition()], client).text

    def write(self, client: McpClient, path: Path) -> Written:
        """Add the entry to a client's file, or replace it there after a backup.

        Raises:
            UserError: the file cannot be written, or the client may overwrite it.
        """
        running = claude_code_processes() if client is CLAUDE_CODE else []
        if running:
            count = formatting.count(len(running), "process", "processes")
            what = f"Claude Code is running ({count}) and may overwrite this change"
            hint = f"Close it and try again, or run: {self.line}"
            raise UserError(ErrorDetails(what, str(path), hint))
        return write_file([self._definition()], client, path)

    def _definition(self) -> CatalogueEntry:
        command, *arguments = self.command
        return CatalogueEntry(StdioDefinition(name=NAME, command=command, args=tuple(arguments)))


class ReadableServer(NamedTuple):
    """A server that an agent may be let read, by its name in recordings.

    `where` says where it is known from; `is_here` that it belongs to the current project.
    """

    name: str
    where: str
    is_here: bool = False


def client_files() -> dict[str, Path]:
    """The user's own configuration file of each client on this computer, by the client's key."""
    found = found_files(home(), os.environ, sys.platform)
    return {each.client.key: each.path for each in reversed(found) if not each.is_shared}


def clients_first(here: Iterable[str]) -> list[McpClient]:
    """All clients, those with a file on this computer first."""
    known = frozenset(here)
    return sorted(KNOWN, key=lambda client: client.key not in known)


def readable_servers(
    saved: Iterable[str],
    watched: Iterable[tuple[str, str]],
    configured: Sequence[ClientServer],
    project: Path | None,
) -> list[ReadableServer]:
    """Each server once, those of the project first.

    `watched` are names and clients of servers that are seen now, `configured` the servers in
    clients' files: those with a tap are recorded, those of `project` will be once they have one.
    """
    found: dict[str, ReadableServer] = {}

    def add(name: str, where: str, *, is_here: bool = False) -> None:
        known = found.get(name, ReadableServer(name, where))
        found[name] = known._replace(is_here=known.is_here or is_here)

    for name in saved:
        add(name, "saved in this program")
    for name, client in watched:
        add(name, f"watched in {client}")
    for server in configured:
        is_here = project is not None and (server.is_shared or server.project == project)
        where = f"in {server.client.title}"
        if server.tap is not None:
            add(server.tap.name or shown_name(server.name), f"watched {where}", is_here=is_here)
        elif is_here:
            add(shown_name(server.name), f"{where}, not watched yet", is_here=True)
    return sorted(found.values(), key=lambda server: not server.is_here)
