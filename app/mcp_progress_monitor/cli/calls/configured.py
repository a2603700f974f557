"""Servers that the options name rather than spell out: saved ones, and those of a file.

Apart from `target`, so that a command with its server after -- reads no catalogue.
"""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, likely
from mcp_progress_monitor.catalogue.secrets import bare_url, replaced
from mcp_progress_monitor.cli.asking.approval import require_approval
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import absolute
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.protocol.secrets import is_secret_setting
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient, StdioDefinition
from mcp_progress_monitor.wording.servers import disabled

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.catalogue.reading import ConfigFile, FoundServer
    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_log = logging.getLogger(__name__)


def saved_servers(common: CommonOptions) -> Catalogue:
    """The catalogue in the data folder.

    `CommandFailed` if it cannot be read.
    """
    with failing(ExitCode.USAGE):
        catalogue = Catalogue(data_dir(common.data_dir) / FILE_NAME)
    if catalogue.error is not None:
        raise CommandFailed(ExitCode.USAGE, catalogue.error)
    return catalogue


def saved_server(common: CommonOptions, name: str) -> CatalogueEntry:
    """One saved server; `CommandFailed` if it does not exist or is disabled."""
    catalogue = saved_servers(common)
    with failing(ExitCode.USAGE):
        entry = catalogue.entry(name)
    if entry.is_disabled:
        hint = f"To enable it: servers enable {shlex.quote(name)}"
        raise CommandFailed(ExitCode.USAGE, disabled(name, hint))
    return entry


def oauth_client(common: CommonOptions, url: str, client_id: str | None) -> OAuthClient:
    """The client that signs in at `url`: that of a saved server, unless `client_id` is another.

    `CommandFailed` if that server is not approved.
    """
    for entry in saved_servers(common).entries():
        server = entry.definition
        if not isinstance(server, HttpDefinition) or server.auth != "oauth":
            continue
        if server.resource == url and client_id in {None, server.oauth.client_id}:
            require_approval(server, common, "the saved servers")
            return server.oauth
    return OAuthClient(client_id=client_id)


def configured_servers(path: Path, name: str | None) -> list[ServerDefinition]:
    """The usable servers of a configuration, or the one called `name`; `UserError` without any."""
    config = _read(path)
    if not config.found:
        raise UserError(config.errors[0])
    if name is None:
        for error in config.errors:
            _log.warning("skipped: %s (%s)", error.what, error.where)
        usable = [found for found in config.found if not found.is_disabled and not found.asks]
        for found in config.found:
            if found not in usable:
                _log.warning("skipped: %s (%s)", _reason(found), found.definition.name)
        if not usable:
            raise UserError(ErrorDetails("The file has no usable server", str(path)))
        return [placed(found.definition) for found in usable]
    return [placed(_named(config, name).definition)]


def _reason(found: FoundServer) -> str:
    if found.is_disabled:
        return "disabled"
    return "needs input from you; import the server to enter it"


def config_server(path: Path, name: str) -> FoundServer:
    """The server of that name in a configuration; `UserError` if there is none."""
    return _named(_read(path), name)


def _read(path: Path) -> ConfigFile:
    from mcp_progress_monitor.catalogue.reading import read_file  # late: few use it

    return read_file(path)


def _named(config: ConfigFile, name: str) -> FoundServer:
    chosen = next((found for found in config.found if found.definition.name == name), None)
    if chosen is None:
        for unusable in config.unusable:
            if unusable.name == name:
                raise UserError(unusable.error)
        names = [found.definition.name for found in config.found]
        what = f"The configuration has no server {name!r}"
        hint = f"{likely(name, names)}Its servers: {', '.join(names)}."
        raise UserError(ErrorDetails(what, str(config.path), hint))
    if chosen.asks:
        ids = ", ".join(each.id for each in chosen.asks)
        what = f"The server needs input from you: {ids}"
        text = shlex.join([str(config.path), name])
        hint = f"To enter the values, import the server: servers import {text}"
        raise UserError(ErrorDetails(what, f"server {name!r}, {config.path}", hint))
    return chosen


def placed(definition: ServerDefinition) -> ServerDefinition:
    """A server of a file with the folder that it would be started in.

    In another folder, the same relative paths may run other programs.
    """
    if isinstance(definition, StdioDefinition):
        folder = str(absolute(Path(definition.cwd or "")))
        return definition.model_copy(update={"cwd": folder})
    return definition


_HIDDEN: Final = "(hidden)"


def address(definition: ServerDefinition) -> str:
    """The command or the URL on one line, with secrets hidden."""
    if isinstance(definition, StdioDefinition):
        shown = replaced(definition, _hide, is_secret_setting)
        return shlex.join([definition.command, *getattr(shown, "args", ())])
    return bare_url(definition.url)[0]


def document(entry: CatalogueEntry, *, is_trusted: bool) -> dict[str, Any]:
    """A saved server as JSON, without the values of variables and headers."""
    definition = entry.definition
    return {
        "name": entry.name,
        "transport": definition.transport,
        **_target(definition),
        "era": definition.era,
        "disabled": entry.is_disabled,
        "connectAtStart": entry.connects_at_start,
        "trusted": is_trusted,
        "origin": entry.origin or None,
    }


def _target(definition: ServerDefinition) -> dict[str, Any]:
    if isinstance(definition, StdioDefinition):
        shown = replaced(definition, _hide, is_secret_setting)
        return {
            "command": definition.command,
            "args": list(getattr(shown, "args", ())),
            "cwd": definition.cwd,
            "env": sorted(definition.env),
        }
    return {
        "url": bare_url(definition.url)[0],
        "headers": sorted(definition.headers),
        "auth": definition.auth,
    }


def _hide(_name: str, _value: str) -> str:
    return _HIDDEN
