"""Reads configuration files of other clients: `mcpServers`, or `servers` as VS Code has it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pydantic

from app.problem import Problem, ProblemError
from app.sessions.definitions import ServerDefinition, StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_EXAMPLE = (
    'A configuration looks like {"mcpServers": {"files": {"command": "npx", '
    '"args": ["-y", "some-server"]}}}.'
)
_EXCERPT_CHARACTERS = 60
_KEYS = ("command", "args", "env", "cwd", "idle_timeout_s", "total_timeout_s")
"""What is read of an entry: what other clients write, and the limits of calls, which are ours."""


class ConfigFile(NamedTuple):
    """What a file holds: the servers that can be used, and why others cannot."""

    definitions: list[ServerDefinition]
    problems: list[Problem]


def read_config(path: Path) -> list[ServerDefinition]:
    """The servers of a configuration file, in its order.

    An entry that cannot be used costs the others nothing and is left out (`load_config` tells
    why); `ProblemError` when the file is none, or names no server that can be used.
    """
    return load_config(path).definitions


def load_config(path: Path) -> ConfigFile:
    """The same as `read_config`, with a problem for every entry that cannot be used."""
    servers = _servers(path, _parse(path, _read(path)))
    config = ConfigFile([], [])
    for name, entry in servers.items():
        try:
            config.definitions.append(_definition(path, name, entry))
        except ProblemError as error:
            config.problems.append(error.problem)
    if not config.definitions:
        nothing = Problem("The file names no servers", str(path), _EXAMPLE)
        raise ProblemError(config.problems[0] if config.problems else nothing)
    return config


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        problem = Problem(
            "The configuration file cannot be read",
            str(path),
            "Check the path and that you may read the file.",
            error.strerror or str(error),
        )
        raise ProblemError(problem) from error
    except UnicodeDecodeError as error:
        problem = Problem(
            "The configuration file is not UTF-8 text",
            f"{path}, byte {error.start + 1}",
            "Save it as UTF-8.",
        )
        raise ProblemError(problem) from error


def _parse(path: Path, text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = Problem(
            f"The configuration file is not JSON: {error.msg}",
            f"{path}, line {error.lineno}, column {error.colno}",
            _EXAMPLE,
            _excerpt(error),
        )
        raise ProblemError(problem) from error
    except RecursionError as error:
        problem = Problem("The configuration file is nested too deeply", str(path), _EXAMPLE)
        raise ProblemError(problem) from error


def _excerpt(error: json.JSONDecodeError) -> str:
    """The line with the error, cut to its surroundings, and a mark under the place."""
    lines = error.doc.split("\n")
    line = lines[error.lineno - 1].rstrip("\r") if error.lineno <= len(lines) else ""
    start = max(0, error.colno - 1 - _EXCERPT_CHARACTERS // 2)
    shown = line[start : start + _EXCERPT_CHARACTERS].replace("\t", " ")
    return f"{shown}\n{' ' * (error.colno - 1 - start)}^" if shown.strip() else ""


def _servers(path: Path, content: object) -> Mapping[str, Any]:
    found = content if isinstance(content, dict) else {}
    for key in ("mcpServers", "servers"):
        if isinstance(found.get(key), dict):
            return dict(found[key])
    what = "is not an object" if {"mcpServers", "servers"} & found.keys() else "is missing"
    raise ProblemError(Problem(f'"mcpServers" {what} in the configuration', str(path), _EXAMPLE))


def _definition(path: Path, name: str, entry: object) -> ServerDefinition:
    where = f"{path}, server {name!r}"
    if not isinstance(entry, dict):
        raise ProblemError(Problem("A server's entry is not an object", where, _EXAMPLE))
    if "command" not in entry and "url" in entry:
        problem = Problem(
            "This server is reached by a URL; only servers started by a command can be used",
            where,
            "Use a server with a command.",
        )
        raise ProblemError(problem)
    wanted = {key: entry[key] for key in _KEYS if key in entry}
    try:
        return StdioDefinition(name=name, **wanted)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "entry"
        raise ProblemError(Problem(f"{field}: {first['msg']}", where, _EXAMPLE)) from error
