"""Finds, recognises, reads and writes clients' files as their declarations say."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.catalogue.catalogue import EXAMPLE, EXTRAS, CatalogueEntry, transport_of
from mcp_progress_monitor.catalogue.clients import COMMON, KNOWN, OURS, McpClient, Syntax
from mcp_progress_monitor.catalogue.entry_forms import EntryForm, EntryWriter
from mcp_progress_monitor.catalogue.variables import Input, read_inputs
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import is_file
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.secrets.references import REFERENCE
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


class FoundFile(NamedTuple):
    """An existing configuration file.

    A file that `is_shared` belongs to a project, and is usually committed to its repository.
    """

    client: McpClient
    path: Path
    is_shared: bool = False


def found_files(
    home: Path | None, env: Mapping[str, str], platform: str, project: Path | None = None
) -> list[FoundFile]:
    """The existing files of all clients, without reading them.

    `platform` is as in `sys.platform`. Without `home`, only files that a variable names. With
    `project`, also those in that folder.
    """
    folders = _folders(home, env, platform)
    found: dict[Path, FoundFile] = {}
    for client in KNOWN:
        for path, is_shared in _existing(client, folders, project):
            found.setdefault(path, FoundFile(client, path, is_shared))
    return list(found.values())


def _existing(
    client: McpClient, folders: Mapping[str, str], project: Path | None
) -> Iterator[tuple[Path, bool]]:
    """The client's existing files, and whether each belongs to the project."""
    for place in client.places:
        try:
            written = place.format_map(folders)
        except KeyError:  # a variable that is not set, a folder of another platform
            continue
        yield from ((path, False) for path in _files(Path(written)))
    for place in client.project_places if project is not None else ():
        yield from ((path, True) for path in _files(Path(f"{project}/{place}")))


def _files(path: Path) -> Iterator[Path]:
    """The existing files that match a path, which may contain stars."""
    if "*" not in str(path):
        if is_file(path):
            yield path
        return
    star = next(index for index, part in enumerate(path.parts) if "*" in part)
    base = Path(*path.parts[:star])
    try:
        matches = sorted(base.glob("/".join(path.parts[star:])))
    except OSError:
        return
    yield from filter(is_file, matches)


def _folders(home: Path | None, env: Mapping[str, str], platform: str) -> dict[str, str]:
    folders = {name: value for name, value in env.items() if name in _VARIABLES and value}
    if home is None:
        return folders
    folders["home"] = str(home)
    if platform == "win32":
        folders["config"] = env.get("APPDATA") or str(home / "AppData" / "Roaming")
        folders["roaming"] = folders["config"]
        folders["local"] = env.get("LOCALAPPDATA") or str(home / "AppData" / "Local")
    elif platform == "darwin":
        folders["config"] = str(home / "Library" / "Application Support")
        folders["xdg"] = str(home / ".config")
    else:
        folders["config"] = env.get("XDG_CONFIG_HOME") or str(home / ".config")
        folders["xdg"] = folders["config"]
    return folders


_VARIABLES: Final = frozenset(
    name
    for client in KNOWN
    for place in client.places
    for name in re.findall(r"\{([A-Z_]+)\}", place)
)


class ServerContainer(NamedTuple):
    """Servers by name, and settings that apply to all of them.

    `project` is their folder, `path` the keys that lead to them in the document. Servers that are
    `disabled`, or not `allowed`, do not run there. `note` describes how running them here differs.
    """

    servers: Mapping[str, Any]
    path: tuple[str, ...]
    project: Path | None = None
    inputs: Mapping[str, Input] = {}
    disabled: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None
    note: str = ""


def _inner_path(client: McpClient, document: Any) -> tuple[tuple[str, ...], str] | None:
    """The keys that lead to a client's servers within another file of its, and a note."""
    for path, note in client.inside:
        if client.container in _inside(document, path):
            return path, note
    return None


def _inside(document: Any, path: Iterable[str]) -> dict[str, Any]:
    members = as_object(document)
    for name in path:
        members = as_object(members.get(name))
    return members


class NoContainerError(UserError):
    """A file has no member for servers: it may be a file of other settings."""


def containers_of(client: McpClient, document: Any, where: str) -> list[ServerContainer]:
    """All objects with servers; `UserError` if there is none, or one is not an object."""
    members = document if isinstance(document, dict) else {}
    if client.inside and client.container not in members:
        path, note = _inner_path(client, members) or client.inside[0]
        found = _container(client, _inside(members, path), where, (*path, client.container))
        return [found._replace(note=note)]
    projects = list(_project_containers(members)) if client.has_projects else []
    if projects and client.container not in members:
        return projects
    return [_container(client, members, where), *projects]


def _container(
    client: McpClient, members: Mapping[str, Any], where: str, path: tuple[str, ...] = ()
) -> ServerContainer:
    servers = members.get(client.container)
    if not isinstance(servers, dict):
        is_there = client.container in members
        what = "is not an object" if is_there else "is missing"
        error = ErrorDetails(f'"{client.container}" {what} in the configuration', where, EXAMPLE)
        raise UserError(error) if is_there else NoContainerError(error)
    container = ServerContainer(servers, path or (client.container,))
    if client.rules:
        return _limited(container, as_object(members.get(client.rules)))
    return container._replace(inputs=read_inputs(members.get("inputs")))


def _limited(container: ServerContainer, rules: Mapping[str, Any]) -> ServerContainer:
    allowed = rules.get("allowed")
    return container._replace(
        disabled=_names(rules.get("excluded")),
        allowed=_names(allowed) if isinstance(allowed, list) and allowed else None,
    )


def _project_containers(members: Mapping[str, Any]) -> Iterator[ServerContainer]:
    for folder, project in as_object(members.get("projects")).items():
        settings = as_object(project)
        servers = settings.get("mcpServers")
        if servers and isinstance(servers, dict):
            yield ServerContainer(
                servers,
                ("projects", folder, "mcpServers"),
                Path(folder),
                disabled=_names(settings.get("disabledMcpServers")),
            )


def _names(found: object) -> frozenset[str]:
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


def client_of_file(path: Path, document: Any) -> McpClient:
    """The client whose file this is; `COMMON` if several have the same format.

    Content takes precedence over the name: files are renamed and shared.
    """
    signs = _Signs(path, document)
    likely = max((OURS, *reversed(KNOWN)), key=signs.of)
    return likely if any(signs.of(likely)) else COMMON


class _Signs:
    """Evidence in a file for the client that it belongs to."""

    def __init__(self, path: Path, document: Any) -> None:
        self._name, self._folder = path.name, path.absolute().parent.name
        self._members: dict[str, Any] = document if isinstance(document, dict) else {}
        self._has_projects = isinstance(self._members.get("projects"), dict)
        servers = as_object(self._members.get(COMMON.container))
        entries = [entry for entry in servers.values() if isinstance(entry, dict)]
        self._keys = {key for entry in entries for key in entry}
        self._types = {str(entry.get("type")) for entry in entries}

    def of(self, client: McpClient) -> tuple[bool, ...]:
        """The signs of one client, the surest first."""
        container = client.container
        is_by_project = client.has_projects and self._has_projects
        return (
            container != COMMON.container and isinstance(self._members.get(container), dict),
            _inner_path(client, self._members) is not None,
            is_by_project and container not in self._members,
            self._name in client.file_names,
            self._folder == client.folder,
            is_by_project,
            client.type_name in self._types,
            bool(client.members & self._keys) or (client is OURS and EXTRAS in self._keys),
        )


def project_of(path: Path, client: McpClient) -> Path | None:
    """The project folder that the file belongs to; None for a user's own file."""
    whole = path.absolute()
    for place in client.project_places:
        parts = place.split("/")
        if len(whole.parts) > len(parts) and all(
            map(fnmatch.fnmatchcase, whole.parts[-len(parts) :], parts)
        ):
            return whole.parents[len(parts) - 1]
    return None


_URLS: Final = ("url", "serverUrl", "httpUrl", "uri")
_SHARED: Final = frozenset(
    {"type", "transport", "transportType", "command", "args", "env", "cwd", "envFile"}
    | {"headers", "disabled", "enabled", "oauth", *_URLS}
)
_SSE_SUFFIX: Final = "/sse"


def form_of(client: McpClient, entry: Mapping[str, Any]) -> EntryForm:
    """Parse an entry of a client's file.

    Raises:
        UserError: the entry cannot be used; without a place.
    """
    form = EntryForm(used=set(_SHARED & entry.keys()))
    url = next((entry[key] for key in _URLS if entry.get(key)), "")
    if entry.get("httpUrl"):
        form.transport = "http"
    else:
        form.transport = transport_of(entry, str(url), client.without_type)
        _guess_sse(form, entry, str(url))
    form.is_disabled = entry.get("disabled") is True or entry.get("enabled") is False
    if form.transport == "stdio":
        for name in ("command", "args", "env", "cwd"):
            form.set(name, entry.get(name))
        form.env_file = entry.get("envFile")
    else:
        form.set("url", url or None)
        form.set("headers", entry.get("headers"))
        form.set_oauth(entry.get("oauth"))
    client.read(form, entry)
    return form


def _guess_sse(form: EntryForm, entry: Mapping[str, Any], url: str) -> None:
    """Guess HTTP+SSE from its customary suffix, for clients that would try both transports."""
    is_untyped = not {"type", "transport", "transportType"} & entry.keys()
    path = url.partition("?")[0].rstrip("/")
    if form.transport == "http" and is_untyped and path.endswith(_SSE_SUFFIX):
        form.transport = "sse"
        form.notes.append("the URL ends in /sse: imported with the legacy transport, HTTP+SSE")


def written_for(client: McpClient, entry: CatalogueEntry) -> dict[str, Any]:
    """The entry in a client's format, with references in its own syntax."""
    written = client.write(EntryWriter(_in_syntax(client, entry.definition)))
    if entry.is_disabled and client.disabled is not None:
        member, value = client.disabled
        written[member] = value
    return written


def _in_syntax(client: McpClient, definition: ServerDefinition) -> ServerDefinition:
    if Syntax.SHELL not in client.syntax or Syntax.NAMED in client.syntax:
        return definition
    if isinstance(definition, StdioDefinition):
        return definition.model_copy(
            update={
                "args": tuple(map(_shell, definition.args)),
                "env": {name: _shell(value) for name, value in definition.env.items()},
            }
        )
    headers = {name: _shell(value) for name, value in definition.headers.items()}
    return definition.model_copy(update={"headers": headers})


def _shell(value: str) -> str:
    return REFERENCE.sub(lambda found: f"${{{found[2]}}}" if found[1] == "env" else found[0], value)
