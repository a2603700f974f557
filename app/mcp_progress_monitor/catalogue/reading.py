"""Configuration files of all known clients: which servers they hold, what is wrong with others."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.catalogue.clients import CODEX
from mcp_progress_monitor.catalogue.containers import containers_of
from mcp_progress_monitor.catalogue.documents import read_json, read_toml
from mcp_progress_monitor.catalogue.entry_reading import Found, read_found
from mcp_progress_monitor.catalogue.fields import EXAMPLE, place
from mcp_progress_monitor.catalogue.recognising import client_of_file, project_of
from mcp_progress_monitor.catalogue.text_file import read_text
from mcp_progress_monitor.catalogue.variables import Variables
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.clients import Client
    from mcp_progress_monitor.catalogue.containers import Container
    from mcp_progress_monitor.catalogue.documents import Document

__all__ = ["ConfigFile", "Found", "Unusable", "read_file"]

_MOST_SERVERS: Final = 10_000
_TOML_HINT: Final = 'A configuration looks like [mcp_servers.files] with command = "npx".'


class Unusable(NamedTuple):
    """A server that nothing can be made of, and why."""

    name: str
    problem: Problem


@dataclasses.dataclass(frozen=True)
class ConfigFile:
    """What a file holds. `problems` are all that is wrong, of the `unusable` servers first.

    Names in `found` are all different.
    """

    client: Client
    found: list[Found]
    problems: list[Problem]
    unusable: list[Unusable] = dataclasses.field(default_factory=list)
    path: Path | None = None

    @property
    def title(self) -> str:
        """Whose file it is and where, in words."""
        return self.client.title if self.path is None else f"{self.client.title}, {self.path}"


def read_file(
    path: Path, variables: Variables | None = None, client: Client | None = None
) -> ConfigFile:
    """The servers of a configuration file, in its order; nothing of it is run.

    Whose it is is told by what is in it and what it is called, unless `client` says so. An entry
    that cannot be used costs the others nothing.

    Raises:
        ProblemError: the file cannot be read, is none, or names no server at all.
    """
    where = str(path)
    document = _document(path, read_text(path), client)
    known = client or client_of_file(path, document.value)
    variables = variables or Variables()
    project = project_of(path, known)
    if variables.workspace is None and project != variables.home:
        variables = dataclasses.replace(variables, workspace=project)
    config = ConfigFile(known, [], [], path=path)
    containers = containers_of(known, document.value, where)
    _read_all(config, containers, variables, where)
    config.problems.extend(unusable.problem for unusable in config.unusable)
    config.problems.extend(_twice(document, containers, where))
    if not config.found and not config.unusable:
        raise ProblemError(Problem("The file names no servers", where, EXAMPLE))
    return config


def _document(path: Path, words: str, client: Client | None) -> Document:
    is_toml = client is CODEX if client is not None else path.suffix.lower() == ".toml"
    if is_toml:
        return read_toml(words, str(path), _TOML_HINT)
    return read_json(words, str(path), EXAMPLE)


def _read_all(
    config: ConfigFile, containers: Iterable[Container], variables: Variables, where: str
) -> None:
    names, room, left_out = _Names(), _MOST_SERVERS, 0
    for container in containers:
        taken = list(itertools.islice(container.servers, room))
        room -= len(taken)
        left_out += len(container.servers) - len(taken)
        for name in taken:
            try:
                found = read_found(config.client, name, container, variables, place(where, name))
            except ProblemError as error:
                config.unusable.append(Unusable(name, error.problem))
            else:
                config.found.append(names.given(found))
    if left_out:
        what = f"The file has {text.number(left_out)} servers more, which are left out"
        config.problems.append(Problem(what, where))


class _Names:
    """Names of servers, all different: projects in one file have servers of the same name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def given(self, found: Found) -> Found:
        """The server under a name of its own."""
        name = found.definition.name
        if name in self._taken and found.project is not None:
            name = f"{name} ({found.project.name})"
        name = self._free(name)
        self._taken.add(name)
        if name == found.definition.name:
            return found
        named = found.definition.model_copy(update={"name": name})
        note = f"called {found.definition.name!r} there, as another one is"
        return dataclasses.replace(found, definition=named, notes=(*found.notes, note))

    def _free(self, base: str) -> str:
        name = base
        while name in self._taken:
            # From where it stopped: thousands may have one name.
            number = self._numbers.get(base, 1) + 1
            self._numbers[base] = number
            name = f"{base} {number}"
        return name


def _twice(document: Document, containers: Sequence[Container], where: str) -> list[Problem]:
    paths = {container.path for container in containers}
    return [
        Problem(
            f"Two servers are called {text.elide(key.name, 60)!r}; the first counts"
            if key.path in paths
            else f"{text.elide(key.name, 60)!r} is given twice; the first counts",
            f"{where}, line {key.line}",
            "Rename or remove one of them.",
        )
        for key in document.duplicates
    ]
