"""The servers in other clients' files: as they can be imported, and as they can be watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.catalogue.reading import candidate_keyring_secrets, preview, read_file
from mcp_progress_monitor.catalogue.tap_install import servers_of
from mcp_progress_monitor.catalogue.variables import Variables
from mcp_progress_monitor.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mcp_progress_monitor.catalogue.catalogue import Catalogue
    from mcp_progress_monitor.catalogue.client_files import FoundFile
    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.catalogue.reading import ImportRow
    from mcp_progress_monitor.catalogue.tap_install import ClientServer
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.secrets.references import Keyring


class ClientRow(NamedTuple):
    """A server in a client's file.

    `tap` is None in a file that no client on this computer reads: there it cannot be watched.
    """

    found: ImportRow
    tap: ClientServer | None = None


class ClientFile(NamedTuple):
    """A file with servers; `client` is the one that reads it, or whose format it has.

    `errors` are those of the file; rows have their own.
    """

    path: Path
    client: McpClient
    rows: tuple[ClientRow, ...] = ()
    errors: tuple[ErrorDetails, ...] = ()


def read_client_file(
    path: Path,
    found: FoundFile | None,
    catalogue: Catalogue,
    keyring: Keyring,
    answers: Mapping[str, str],
) -> ClientFile:
    """Read a file, which `found` says whose it is, and compare its servers with the saved ones.

    May block until the user has unlocked the keyring: call it in a thread.

    Raises:
        UserError: the file cannot be read, or has no servers.
    """
    taps = {} if found is None else {tap.place: tap for tap in servers_of(found)}
    client = None if found is None else found.client
    config = read_file(path, Variables(answers=answers), client)
    known = candidate_keyring_secrets(config, catalogue, keyring)
    rows = [ClientRow(row, taps.get(row.place)) for row in preview(config, catalogue, known)]
    of_rows = [each.error for each in config.unusable]
    errors = tuple(error for error in config.errors if error not in of_rows)
    return ClientFile(path, config.client, tuple(rows), errors)


def read_client_files(
    files: Iterable[FoundFile], catalogue: Catalogue, keyring: Keyring
) -> list[ClientFile]:
    """Read the files of clients, in order, without those that have other settings only."""
    read = []
    for file in files:
        try:
            if servers_of(file):
                read.append(read_client_file(file.path, file, catalogue, keyring, {}))
        except UserError as error:
            read.append(ClientFile(file.path, file.client, errors=(error.details,)))
        except FileNotFoundError:  # deleted meanwhile
            continue
    return read
