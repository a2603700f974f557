"""Resolves the shared options to the servers that they name.

What only saved servers and those of files need is imported for them: their approval, the catalogue.
"""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from pydantic import ValidationError

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import absolute, expanded
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    OAuthClient,
    ServerDefinition,
    StdioDefinition,
    demo_definition,
    made_definition,
)
from mcp_progress_monitor.tap.naming import name_of
from mcp_progress_monitor.validation import EMPTY, NOT_UTF8, violations

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.common import CommonOptions

_TARGETS = "-- COMMAND [ARG]..., --url URL, --server NAME, --config FILE [--server NAME] or --demo"


class _Named(NamedTuple):
    """A server as found, and with the command line's changes."""

    found: ServerDefinition
    definition: ServerDefinition


def one_server(common: CommonOptions) -> ServerDefinition:
    """The one server that a command connects to.

    A usage error if the options name none or several; `CommandFailed` for an invalid configuration
    or without approval.
    """
    definition = server_if_named(common)
    if definition is None:
        raise click.UsageError(f"No server given. Choose one with {_TARGETS}.")
    return definition


def server_if_named(common: CommonOptions) -> ServerDefinition | None:
    """As `one_server`, but None if the options name no server."""
    named = _named(common)
    if len(named) > 1:
        names = ", ".join(one.definition.name for one in named)
        raise click.UsageError(
            f"The configuration has several servers. Choose one with --server: {names}."
        )
    if not named:
        return None
    if common.config is not None or common.server is not None:
        from mcp_progress_monitor.cli.asking.approval import require_approval

        source = "the saved servers" if common.config is None else str(common.config)
        require_approval(named[0].found, common, source)
    return named[0].definition


def named_servers(common: CommonOptions) -> tuple[ServerDefinition, ...]:
    """Every server that the options name, not yet approved."""
    return tuple(one.definition for one in _named(common))


def _named(common: CommonOptions) -> list[_Named]:
    check_target(common)
    try:
        return [_Named(found, _adapted(found, common)) for found in _found(common)]
    except UserError as error:
        raise CommandFailed(ExitCode.USAGE, error.details) from error
    except ValidationError as error:
        raise CommandFailed(ExitCode.USAGE, _wrong(error)) from error


def _wrong(error: ValidationError) -> ErrorDetails:
    first = next(violations(error))  # without the value: it may be a secret
    where = first.place[-1] if first.place else ""
    if first.message == NOT_UTF8:
        return ErrorDetails("The server's command or URL is not valid UTF-8")
    if first.message == EMPTY:
        word = "URL" if where == "url" else where
        return ErrorDetails(f"The server's {word} is empty", hint=f"Choose one with {_TARGETS}.")
    return ErrorDetails("Invalid server settings", where, detail=first.message)


def check_target(common: CommonOptions) -> None:
    """Refuse, as a usage error, options that contradict each other."""
    is_saved = common.server is not None and common.config is None
    ways = [common.command, common.url, common.config, common.demo or None, is_saved or None]
    given = sum(way is not None for way in ways)
    if given > 1:
        raise click.UsageError(f"Several servers given. Choose one with {_TARGETS}.")
    starting = common.cwd or common.env or common.era or common.connect_timeout
    if starting and not given:
        raise click.UsageError(
            f"--cwd, --env, --era and --connect-timeout need a server. Choose one with {_TARGETS}."
        )
    signs_in = common.oauth or common.oauth_client_id is not None
    if common.url is None and (signs_in or common.transport):
        raise click.UsageError("--oauth and --transport need --url URL.")
    is_process = common.command is not None or common.demo
    if common.header and (is_process or not given):
        raise click.UsageError("--header needs a server with a URL: add --url URL.")
    if common.url is not None and (common.cwd or common.env):
        raise click.UsageError("--cwd and --env cannot be used with --url.")


def _found(common: CommonOptions) -> list[ServerDefinition]:
    if common.command is not None:
        command, *args = common.command
        return [StdioDefinition(name=name_of(common.command), command=command, args=tuple(args))]
    if common.url is not None:
        return [url_definition(common, common.url)]
    if common.config is not None or common.server is not None:
        from mcp_progress_monitor.cli.calls import configured  # late: 40 ms that others need not

        if common.config is not None:
            return configured.configured_servers(expanded(common.config), common.server)
        return [configured.saved_server(common, str(common.server)).definition]
    return [demo_definition()] if common.demo else []


def url_definition(common: CommonOptions, url: str) -> HttpDefinition:
    """The server that `--url` and its options name; `ValidationError` if invalid."""
    return HttpDefinition(
        name=_host_of(url),
        url=url,
        transport="sse" if common.transport == "sse" else "http",
        headers=dict(common.header),
        auth="oauth" if common.oauth or common.oauth_client_id else "headers",
        oauth=OAuthClient(client_id=common.oauth_client_id),
    )


def _host_of(url: str) -> str:
    """A short name for a URL: its host, and its port if not the default."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "server", parts.port
    except ValueError:
        return "server"
    return f"{host}:{port}" if port else host


def _adapted(found: ServerDefinition, common: CommonOptions) -> ServerDefinition:
    changes: dict[str, Any] = {}
    if common.cwd is not None and isinstance(found, StdioDefinition):
        changes["cwd"] = str(absolute(common.cwd))
    if common.env and isinstance(found, StdioDefinition):
        changes["env"] = {**found.env, **dict(common.env)}
    if common.header and isinstance(found, HttpDefinition):
        changes["headers"] = {**found.headers, **dict(common.header)}
    if common.era is not None:
        changes["era"] = common.era
    if common.connect_timeout is not None:
        changes["connect_timeout_s"] = common.connect_timeout
    return made_definition({**found.model_dump(), **changes})
