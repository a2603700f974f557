"""Finds a definition for another client's server, to reach it on a connection of our own.

A tap records its command with secrets hidden, and only the names of its variables: the rest comes
from the saved servers, or from the client's own configuration.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import sys
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.client_files import found_files
from mcp_progress_monitor.catalogue.reading import read_file
from mcp_progress_monitor.engine.origins import saved_definition
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import home, is_folder
from mcp_progress_monitor.protocol.eras import era_of
from mcp_progress_monitor.protocol.secrets import HIDDEN_VALUE, is_secret_setting, shown_arguments
from mcp_progress_monitor.secrets.references import REFERENCE
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition
from mcp_progress_monitor.store.watched import machine_of_key, split_watched_key
from mcp_progress_monitor.tap_http.addresses import TapAddresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.catalogue.reading import ConfigFile, FoundServer
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.store.chains import Origin

SAVED: Final = "your saved servers"
RECORDED: Final = "the recording of its tap"
_USUAL_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    | {"mcp-protocol-version", "mcp-session-id", "user-agent"}
)


class ServerHere(NamedTuple):
    """A definition of another client's server, awaiting approval.

    `source` says where it is from. `missing` are the names of variables or headers that the
    client's server was given and whose values are unknown here, likely secrets first.
    `hidden_count` is the number of hidden arguments. `others` fit as well: the user must choose.
    """

    definition: ServerDefinition
    source: str
    missing: tuple[str, ...] = ()
    hidden_count: int = 0
    others: tuple[ServerHere, ...] = ()


def find_server_here(origin: Origin, saved: Iterable[CatalogueEntry]) -> ServerHere:
    """The best definition of the server that another client's request went to.

    That is a saved server with the same command, else the entry of a client that fits best, its own
    if it has one, else what was recorded. Reads files: call it in a thread. `UserError` if the
    recorded definition cannot be read, or means something only on the machine that it is of.
    """
    known = saved_definition(origin)
    machine = machine_of_key(origin.server_key)
    if machine and _is_of_machine(known):
        raise UserError(_elsewhere(machine, known))
    for entry in saved:
        if not entry.is_disabled and is_same_server(entry.definition, known):
            return ServerHere(entry.definition, SAVED)
    label = origin.server.rpartition("@")[0] or origin.server
    client = (split_watched_key(origin.server_key) or ("", ""))[0]
    found = [
        (_misfit(config, server, known, client), config, server)
        for config in _configurations(known)
        for server in config.found
        if is_same_server(_behind_tap(server.definition, known), known)
    ]
    least = min((misfit for misfit, *_ in found), default=None)
    fitting: dict[str, ServerHere] = {}
    for misfit, config, server in found:
        if misfit == least and not server.asks:
            bare = _behind_tap(_in_folder_of(known, server), known)
            definition = _in_era(bare, origin.revision)
            fitting.setdefault(definition.approval_key, ServerHere(definition, config.title))
    named = [here for here in fitting.values() if here.definition.name == label]
    if fitting:
        first, *others = named if len(named) == 1 else fitting.values()
        return first._replace(others=tuple(others))
    here = _as_recorded(known, label)
    return here._replace(definition=_in_era(here.definition, origin.revision))


def _is_of_machine(definition: ServerDefinition) -> bool:
    """Return whether a definition is of use only on the machine that it was recorded on."""
    if isinstance(definition, StdioDefinition):
        return True
    host = urllib.parse.urlsplit(definition.url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _elsewhere(machine: str, definition: ServerDefinition) -> ErrorDetails:
    name = formatting.one_line(machine, 60)
    what = f"The server of this job runs on {name} and cannot be reached from here"
    hint = (
        "Start the server there with the command that leads to that machine:"
        " mcp-progress-monitor resume NUMBER -- ssh HOST COMMAND. resume --list shows the number."
    )
    return ErrorDetails(what, formatting.one_line(definition.address, 200), hint)


def _misfit(
    config: ConfigFile, server: FoundServer, known: ServerDefinition, client: str
) -> tuple[bool, int, int]:
    """Tell how badly a client's entry fits what was recorded: its client first, then its variables.

    Entries with variables that the server did not have, then those that lack more of its variables.
    """
    is_other = not config.client.is_called(client)
    entry = server.definition
    if isinstance(known, HttpDefinition) or isinstance(entry, HttpDefinition) or not known.env:
        return is_other, 0, 0
    unset = entry.env.keys() - known.env.keys()
    unexplained = known.env.keys() - entry.env.keys() - os.environ.keys()
    return is_other, len(unset), len(unexplained)


def _in_era(definition: ServerDefinition, revision: str) -> ServerDefinition:
    """Use the era that the client used: what it began may exist only in that era."""
    if not revision or definition.era != "auto":
        return definition
    return definition.model_copy(update={"era": era_of(revision).value})


def is_same_server(one: ServerDefinition, recorded: ServerDefinition) -> bool:
    """Return whether a definition matches the recorded one, as far as that can be determined."""
    if isinstance(one, HttpDefinition) or isinstance(recorded, HttpDefinition):
        return one.transport == recorded.transport and one.address == recorded.address
    is_command = one.command == recorded.command or _found(one.command) == _found(recorded.command)
    return is_command and _are_same(one.args, recorded.args)


def _behind_tap(one: ServerDefinition, known: ServerDefinition) -> ServerDefinition:
    """The target of a client's entry, if its URL is that of the tap before a known server."""
    if not isinstance(one, HttpDefinition) or not isinstance(known, HttpDefinition):
        return one
    try:
        tap = TapAddresses(known.url)
    except UserError:
        return one
    tap.listening = tap.listening._replace(port=tap.usual_port)
    own = {tap.own, tap.own.replace(tap.listening.host, "localhost", 1)}
    is_tap = one.url.partition("?")[0] in own
    return one.model_copy(update={"url": known.url}) if is_tap else one


def _found(command: str) -> str:
    return shutil.which(command) or command


def _are_same(args: Sequence[str], recorded: Sequence[str]) -> bool:
    """Return whether arguments, some of which may be references, match the recorded ones."""
    if len(args) != len(recorded):
        return False
    shown = shown_arguments(args)
    return all(
        other in (one, given) or REFERENCE.search(given) is not None
        for given, one, other in zip(args, shown, recorded, strict=True)
    )


def _configurations(known: ServerDefinition) -> Iterator[ConfigFile]:
    """The files of this computer's clients, and those of the server's project."""
    folder = known.cwd if isinstance(known, StdioDefinition) else None
    project = Path(folder) if folder is not None and is_folder(folder) else None
    for file in found_files(home(), os.environ, sys.platform, project):
        try:
            yield read_file(file.path, client=file.client)
        except (UserError, OSError):  # unreadable, or without servers
            continue


def _in_folder_of(known: ServerDefinition, server: FoundServer) -> ServerDefinition:
    """A client's server in the folder that the client started it in, unless it sets its own."""
    definition = server.definition
    if not isinstance(definition, StdioDefinition) or not isinstance(known, StdioDefinition):
        return definition
    if definition.cwd is not None or known.cwd is None:
        return definition
    return definition.model_copy(update={"cwd": known.cwd})


def _as_recorded(known: ServerDefinition, label: str) -> ServerHere:
    """The recorded definition, without the values that were not recorded."""
    if isinstance(known, HttpDefinition):
        headers = [name for name in known.headers if name.lower() not in _USUAL_HEADERS]
        bare = known.model_copy(update={"name": label, "headers": {}})
        return ServerHere(bare, RECORDED, tuple(headers), int(HIDDEN_VALUE in known.url))
    missing = sorted(
        (name for name in known.env if name not in os.environ),
        key=lambda name: (not is_secret_setting(name), name),
    )
    hidden = sum(HIDDEN_VALUE in word for word in known.args)
    bare_command = known.model_copy(update={"name": label, "env": {}})
    return ServerHere(bare_command, RECORDED, tuple(missing), hidden)
