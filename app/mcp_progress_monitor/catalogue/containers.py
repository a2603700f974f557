"""Where in a client's document its servers stand: in one place, or in one for each project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE, GEMINI, VS_CODE
from mcp_progress_monitor.catalogue.fields import EXAMPLE
from mcp_progress_monitor.catalogue.variables import Input, read_inputs
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp_progress_monitor.catalogue.clients import Client


class Container(NamedTuple):
    """Servers by their names, and what holds for all of them.

    `project` is the folder that they belong to, `path` the members around them in the document.
    Those that are `disabled`, or not among the `allowed`, do not run there. `note` tells what is
    different from how the other client runs them.
    """

    servers: Mapping[str, Any]
    path: tuple[str, ...]
    project: Path | None = None
    inputs: Mapping[str, Input] = {}
    disabled: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None
    note: str = ""


_DEV_CONTAINER: Final = ("customizations", "vscode", "mcp")
_OF_VS_CODE: Final = (("mcp",), ("settings", "mcp"), _DEV_CONTAINER)
"""Where VS Code's servers stand in settings, in a workspace's file, in that of a dev container."""


def place_in_vs_code(document: Any) -> tuple[str, ...] | None:
    """The members around VS Code's servers where they stand among settings; None elsewhere."""
    for path in _OF_VS_CODE:
        if VS_CODE.container in _inside(document, path):
            return path
    return None


def _inside(document: Any, path: Iterable[str]) -> dict[str, Any]:
    members = _object(document)
    for name in path:
        members = _object(members.get(name))
    return members


class NoContainerError(ProblemError):
    """A file does not have the member with the servers at all: it may be one of other settings."""


def containers_of(client: Client, document: Any, where: str) -> list[Container]:
    """All places with servers; `ProblemError` when there is none, or it is no object."""
    members = document if isinstance(document, dict) else {}
    if client is VS_CODE and client.container not in members:
        path = place_in_vs_code(members) or _OF_VS_CODE[0]
        found = _container(client, _inside(members, path), where, (*path, client.container))
        note = "VS Code runs it in the dev container; this program runs it here"
        return [found._replace(note=note if path is _DEV_CONTAINER else "")]
    if client is CLAUDE_CODE:
        projects = list(_of_projects(members, where))
        if client.container not in members and projects:
            return projects
        return [_container(client, members, where), *projects]
    return [_container(client, members, where)]


def _container(
    client: Client, members: Mapping[str, Any], where: str, path: tuple[str, ...] = ()
) -> Container:
    servers = members.get(client.container)
    if not isinstance(servers, dict):
        is_there = client.container in members
        said = "is not an object" if is_there else "is missing"
        problem = Problem(f'"{client.container}" {said} in the configuration', where, EXAMPLE)
        raise ProblemError(problem) if is_there else NoContainerError(problem)
    container = Container(servers, path or (client.container,))
    if client is GEMINI:
        return _limited(container, _object(members.get("mcp")))
    return container._replace(inputs=read_inputs(members.get("inputs")))


def _limited(container: Container, rules: Mapping[str, Any]) -> Container:
    allowed = rules.get("allowed")
    return container._replace(
        disabled=_names(rules.get("excluded")),
        allowed=_names(allowed) if isinstance(allowed, list) and allowed else None,
    )


def _of_projects(members: Mapping[str, Any], where: str) -> Iterator[Container]:
    for folder, project in _object(members.get("projects")).items():
        settings = _object(project)
        servers = settings.get("mcpServers")
        if servers and isinstance(servers, dict):
            yield Container(
                servers,
                ("projects", folder, "mcpServers"),
                Path(folder),
                disabled=_names(settings.get("disabledMcpServers")),
            )


def _object(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _names(found: object) -> frozenset[str]:
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()
