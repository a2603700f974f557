"""From the shared options to the servers they name."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click
import pydantic

from app.cli.exits import CommandFailed, ExitCode
from app.problem import Problem, ProblemError
from app.sessions.config_file import load_config
from app.sessions.definitions import ServerDefinition, StdioDefinition, demo_definition

if TYPE_CHECKING:
    from pathlib import Path

    from app.cli.options import CommonOptions

_log = logging.getLogger(__name__)

_TARGETS = "-- COMMAND [ARG]..., --config FILE [--server NAME] or --demo"


def one_server(common: CommonOptions) -> ServerDefinition:
    """The one server that a command without a window talks to.

    A usage error when none or several are named; `CommandFailed` when the configuration is bad.
    """
    definitions = named_servers(common)
    if not definitions:
        raise click.UsageError(f"Which server? Name it with {_TARGETS}.")
    if len(definitions) > 1:
        names = ", ".join(definition.name for definition in definitions)
        raise click.UsageError(f"The configuration has several servers: add --server and {names}.")
    return definitions[0]


def named_servers(common: CommonOptions) -> tuple[ServerDefinition, ...]:
    """Every server the options name, none if they name none."""
    _check(common)
    try:
        return tuple(_adapted(found, common) for found in _found(common))
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        problem = Problem("The server cannot be started so", where, detail=first["msg"])
        raise CommandFailed(ExitCode.USAGE, problem) from error


def _check(common: CommonOptions) -> None:
    given = [common.command is not None, common.config is not None, common.demo]
    if sum(given) > 1:
        raise click.UsageError(f"Name the server in one way only: {_TARGETS}.")
    if common.server is not None and common.config is None:
        raise click.UsageError("--server chooses from a configuration: add --config FILE.")
    starting = common.cwd or common.env or common.era or common.connect_timeout
    if starting and not any(given):
        raise click.UsageError(
            "--cwd, --env, --era and --connect-timeout say how to start a server:"
            f" name it with {_TARGETS}."
        )


def _found(common: CommonOptions) -> list[ServerDefinition]:
    if common.command is not None:
        command, *args = common.command
        return [StdioDefinition(name=_name_of(command), command=command, args=tuple(args))]
    if common.config is not None:
        return _of_config(common.config.expanduser(), common.server)
    return [demo_definition()] if common.demo else []


def _name_of(command: str) -> str:
    """A short name for a command: its file name without folder and ending."""
    base = command.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = base[:-4] if base.lower().endswith((".exe", ".cmd", ".bat")) else base
    return stem or command or "server"


def _of_config(path: Path, name: str | None) -> list[ServerDefinition]:
    config = load_config(path)
    if name is None:
        for problem in config.problems:
            _log.warning("left out: %s (%s)", problem.what, problem.where)
        return config.definitions
    chosen = [found for found in config.definitions if found.name == name]
    if chosen:
        return chosen
    of_name = [problem for problem in config.problems if repr(name) in problem.where]
    if of_name:
        raise ProblemError(of_name[0])
    known = ", ".join(found.name for found in config.definitions)
    raise ProblemError(
        Problem(
            f"There is no server {name!r} in the configuration",
            str(path),
            f"Servers it has: {known}.",
        )
    )


def _adapted(found: ServerDefinition, common: CommonOptions) -> ServerDefinition:
    """The definition with what the command line says on top, checked anew."""
    changes: dict[str, Any] = {}
    if common.cwd is not None:
        changes["cwd"] = str(common.cwd.absolute())
    if common.env:
        changes["env"] = {**found.env, **dict(common.env)}
    if common.era is not None:
        changes["era"] = common.era
    if common.connect_timeout is not None:
        changes["connect_timeout_s"] = common.connect_timeout
    return StdioDefinition(**{**found.model_dump(), **changes})
