"""Where in a client's document its servers stand: in one place, or in one for each project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from app.catalogue.clients import CLAUDE_CODE, GEMINI, VS_CODE
from app.catalogue.fields import EXAMPLE
from app.catalogue.variables import Input, read_inputs
from app.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from app.catalogue.clients import Client


class Container(NamedTuple):
    """Servers by their names, and what holds for all of them.

    `project` is the folder that they belong to, `path` the members around them in the document.
    Those that are `disabled`, or not among the `allowed`, do not run there.
    """

    servers: Mapping[str, Any]
    path: tuple[str, ...]
    project: Path | None = None
    inputs: Mapping[str, Input] = {}
    disabled: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None


def containers_of(client: Client, document: Any, where: str) -> list[Container]:
    """All places with servers; `ProblemError` when there is none, or it is no object."""
    members = document if isinstance(document, dict) else {}
    if client is VS_CODE and client.container not in members:
        members = _object(members.get("mcp"))
        return [_container(client, members, where, ("mcp", client.container))]
    if client is CLAUDE_CODE:
        found = list(_of_projects(members, where))
        if client.container not in members and found:
            return found
        return [_container(client, members, where), *found]
    return [_container(client, members, where)]


def _container(
    client: Client, members: Mapping[str, Any], where: str, path: tuple[str, ...] = ()
) -> Container:
    servers = members.get(client.container)
    if not isinstance(servers, dict):
        said = "is not an object" if client.container in members else "is missing"
        what = f'"{client.container}" {said} in the configuration'
        raise ProblemError(Problem(what, where, EXAMPLE))
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
