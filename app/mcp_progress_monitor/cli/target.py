"""From the shared options to the servers they name."""

from __future__ import annotations

import logging
import shlex
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import pydantic

from mcp_progress_monitor.catalogue.catalogue import likely
from mcp_progress_monitor.catalogue.reading import read_file
from mcp_progress_monitor.cli.consent import require_consent
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.saved_servers import saved_server
from mcp_progress_monitor.looking import absolute, expanded
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.definitions import (
    HttpDefinition,
    OAuthClient,
    ServerDefinition,
    StdioDefinition,
    demo_definition,
    made_definition,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.reading import ConfigFile, Found
    from mcp_progress_monitor.cli.options import CommonOptions

_log = logging.getLogger(__name__)

_TARGETS = "-- COMMAND [ARG]..., --url URL, --server NAME, --config FILE [--server NAME] or --demo"
_PATTERN = "string_pattern_mismatch"
_TOO_SHORT = "string_too_short"
_NO_UNICODE = "string_unicode"
_REASONS = {
    "headers": "a header's name has no spaces and colons, and its value is on one line",
    "env": "a variable's name has no equals sign, and its value no NUL character",
}


class _Named(NamedTuple):
    """A server as it stands somewhere, and with what the command line says on top."""

    found: ServerDefinition
    definition: ServerDefinition


def one_server(common: CommonOptions) -> ServerDefinition:
    """The one server that a command without a window talks to.

    A usage error when none or several are named; `CommandFailed` when the configuration is bad, or
    the user has not agreed to what stands in it.
    """
    definition = server_if_named(common)
    if definition is None:
        raise click.UsageError(f"Which server? Name it with {_TARGETS}.")
    return definition


def server_if_named(common: CommonOptions) -> ServerDefinition | None:
    """As `one_server`, for commands that can do without: None when the options name none."""
    named = _named(common)
    if len(named) > 1:
        names = ", ".join(one.definition.name for one in named)
        raise click.UsageError(
            f"The configuration has several servers: add --server with one of their names: {names}."
        )
    if not named:
        return None
    if common.config is not None:
        require_consent(named[0].found, common, str(common.config))
    elif common.server is not None:
        require_consent(named[0].found, common, "the saved servers")
    return named[0].definition


def named_servers(common: CommonOptions) -> tuple[ServerDefinition, ...]:
    """Every server the options name, none if they name none; nobody has agreed to them yet."""
    return tuple(one.definition for one in _named(common))


def _named(common: CommonOptions) -> list[_Named]:
    check_target(common)
    try:
        return [_Named(found, _adapted(found, common)) for found in _found(common)]
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    except pydantic.ValidationError as error:
        raise CommandFailed(ExitCode.USAGE, _wrong(error)) from error


def _wrong(error: pydantic.ValidationError) -> Problem:
    first = error.errors(include_url=False, include_input=False)[0]
    places = [str(place) for place in first["loc"] if place != "[key]"]
    where = "".join(places[-1:])
    # Not with the value: it may be a secret.
    reasons = [_REASONS[place] for place in places if place in _REASONS]
    kind = first["type"]
    if kind == _NO_UNICODE:
        return Problem("What names the server is no text in UTF-8", hint="Give it in UTF-8.")
    if kind == _TOO_SHORT:
        word = "URL" if where == "url" else where
        return Problem(f"The server's {word} is empty", hint=f"Name it with {_TARGETS}.")
    is_known = kind == _PATTERN and bool(reasons)
    detail = reasons[0] if is_known else first["msg"].removeprefix("Value error, ")
    return Problem("The server cannot be reached so", where, detail=detail)


def check_target(common: CommonOptions) -> None:
    """Refuse, as a usage error, options that contradict each other."""
    is_saved = common.server is not None and common.config is None
    ways = [common.command, common.url, common.config, common.demo or None, is_saved or None]
    given = sum(way is not None for way in ways)
    if given > 1:
        raise click.UsageError(f"Name the server in one way only: {_TARGETS}.")
    starting = common.cwd or common.env or common.era or common.connect_timeout
    if starting and not given:
        raise click.UsageError(
            "--cwd, --env, --era and --connect-timeout say how to start a server:"
            f" name it with {_TARGETS}."
        )
    signs_in = common.oauth or common.oauth_client_id is not None
    if common.url is None and (signs_in or common.transport):
        raise click.UsageError("--oauth and --transport say how to reach a URL: add --url URL.")
    is_process = common.command is not None or common.demo
    if common.header and (is_process or not given):
        raise click.UsageError("--header is sent to a URL: add --url URL.")
    if common.url is not None and (common.cwd or common.env):
        raise click.UsageError("--cwd and --env are for servers that are started by a command.")


def _found(common: CommonOptions) -> list[ServerDefinition]:
    if common.command is not None:
        command, *args = common.command
        return [StdioDefinition(name=_name_of(command), command=command, args=tuple(args))]
    if common.url is not None:
        return [url_definition(common, common.url)]
    if common.config is not None:
        return _of_config(expanded(common.config), common.server)
    if common.server is not None:
        return [saved_server(common, common.server).definition]
    return [demo_definition()] if common.demo else []


def url_definition(common: CommonOptions, url: str, name: str | None = None) -> HttpDefinition:
    """The server that `--url` and its options name; `pydantic.ValidationError` if they do not."""
    return HttpDefinition(
        name=name or _host_of(url),
        url=url,
        transport="sse" if common.transport == "sse" else "http",
        headers=dict(common.header),
        auth="oauth" if common.oauth or common.oauth_client_id else "headers",
        oauth=OAuthClient(client_id=common.oauth_client_id),
    )


def _host_of(url: str) -> str:
    """A short name for a URL: its host, and its port where that is not the usual one."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "server", parts.port
    except ValueError:
        return "server"
    return f"{host}:{port}" if port else host


def _name_of(command: str) -> str:
    """A short name for a command: its file name without folder and ending."""
    base = command.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = base[:-4] if base.lower().endswith((".exe", ".cmd", ".bat")) else base
    return stem or command or "server"


def _of_config(path: Path, name: str | None) -> list[ServerDefinition]:
    config = read_file(path)
    if not config.found:
        raise ProblemError(config.problems[0])
    if name is None:
        for problem in config.problems:
            _log.warning("left out: %s (%s)", problem.what, problem.where)
        usable = [found for found in config.found if not found.is_disabled and not found.asks]
        for found in config.found:
            if found not in usable:
                _log.warning("left out: %s (%s)", _reason(found), found.definition.name)
        if not usable:
            raise ProblemError(Problem("No server of the file can be used", str(path)))
        return [placed(found.definition) for found in usable]
    return [placed(config_server(config, name).definition)]


def _reason(found: Found) -> str:
    if found.is_disabled:
        return "the server is disabled"
    return "it asks for what only you know; import it to answer"


def config_server(config: ConfigFile, name: str) -> Found:
    """The server of that name in a configuration; `ProblemError` tells why there is none."""
    chosen = next((found for found in config.found if found.definition.name == name), None)
    if chosen is None:
        for unusable in config.unusable:
            if unusable.name == name:
                raise ProblemError(unusable.problem)
        names = [found.definition.name for found in config.found]
        what = f"There is no server {name!r} in the configuration"
        hint = f"{likely(name, names)}Servers it has: {', '.join(names)}."
        raise ProblemError(Problem(what, str(config.path), hint))
    if chosen.asks:
        ids = ", ".join(asked.id for asked in chosen.asks)
        what = f"The server asks for what only you know: {ids}"
        hint = f"Import it to answer: servers import {shlex.join([str(config.path), name])}"
        raise ProblemError(Problem(what, f"server {name!r}, {config.path}", hint))
    return chosen


def placed(definition: ServerDefinition) -> ServerDefinition:
    """A server of a file with the folder that it would be started in.

    Another folder is another server: the file and the programs in it may be somebody else's there.
    """
    if isinstance(definition, StdioDefinition):
        folder = str(absolute(Path(definition.cwd or "")))
        return definition.model_copy(update={"cwd": folder})
    return definition


def _adapted(found: ServerDefinition, common: CommonOptions) -> ServerDefinition:
    """The definition with what the command line says on top, checked anew."""
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
