"""Reads configuration files of all known clients: their servers, and errors in entries."""

from __future__ import annotations

import dataclasses
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.client_formats import EntryForm, form_of
from mcp_progress_monitor.catalogue.clients import (
    CODEX,
    OURS,
    client_of_file,
    containers_of,
    project_of,
)
from mcp_progress_monitor.catalogue.documents import Document, read_json, read_text, read_toml
from mcp_progress_monitor.catalogue.entry import (
    EXAMPLE,
    EXTRAS,
    definition_of,
    extra_fields,
    place,
    unknown_members,
)
from mcp_progress_monitor.catalogue.secrets import bare_url, secret_members, without_secret_members
from mcp_progress_monitor.catalogue.taps import entry_tap, unwrapped_entry
from mcp_progress_monitor.catalogue.variables import Input, Resolver, Variables
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import expanded
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.secrets.references import names_in
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.catalogue.clients import McpClient, ServerContainer
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

__all__ = ["ConfigFile", "Unusable", "read_file"]

_LARGEST_CHARACTERS: Final = 1_000_000
_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*", re.DOTALL)
_COMMENT: Final = re.compile(r"\s+#.*")
_ESCAPES: Final = {r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_ESCAPE: Final = re.compile(r'\\[nrt"\\]')


def read_env_file(path: Path) -> dict[str, str]:
    """Read a .env file, ignoring lines that do not set a variable, as other loaders do.

    Raises:
        UserError: it cannot be read, or is too large.
    """
    text = read_text(path)
    if len(text) > _LARGEST_CHARACTERS:
        raise UserError(ErrorDetails("The environment file is too large", str(path)))
    variables: dict[str, str] = {}
    for line in text.splitlines():
        found = None if line.lstrip().startswith("#") else _LINE.fullmatch(line)
        if found is not None and "\0" not in line:
            variables[found[1]] = _value(found[2])
    return variables


def _value(written: str) -> str:
    quote = written[:1]
    if quote in {'"', "'"}:
        end = written.rfind(quote)
        inside = written[1:end] if end > 0 else written
        return _ESCAPE.sub(_unescaped, inside) if quote == '"' and end > 0 else inside
    return _COMMENT.sub("", written)


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPES[found[0]]


LONGEST_NAME: Final = 100
_LIMITS: Final = ("idle_timeout_s", "total_timeout_s")
_WATCHED: Final = "already watched by this program there; this is the wrapped server"
_PLACEHOLDER_URL: Final = "http://an-answer.invalid"
_EXTRA_FIELDS: Final = ("era", "connect_timeout_s", "auth", "oauth")


@dataclasses.dataclass(frozen=True, slots=True)
class FoundServer:
    """A server in a configuration.

    `asks` are required inputs: the definition is only usable after reading it again with answers.
    `notes` describe how running it here differs from the other client. `project` is its folder, if
    it belongs to one. `unknown` are members that this program does not use.
    """

    definition: ServerDefinition
    is_disabled: bool = False
    asks: tuple[Input, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    project: Path | None = None


def read_found(
    client: McpClient, name: str, container: ServerContainer, variables: Variables, where: str
) -> FoundServer:
    """Read the server with that name.

    Raises:
        UserError: its entry cannot be used; names the first error.
    """
    entry = container.servers[name]
    if not isinstance(entry, dict):
        raise UserError(ErrorDetails("The server's entry is not an object", where, EXAMPLE))
    tap = entry_tap(entry)
    entry = entry if tap is None else unwrapped_entry(entry)
    try:
        form = form_of(client, entry)
    except UserError as error:
        hint = error.details.hint or EXAMPLE
        raise UserError(error.details._replace(where=where, hint=hint)) from error
    if tap is not None:
        form.notes.append(_WATCHED)
    project = container.project or variables.workspace
    resolver = Resolver(
        dataclasses.replace(variables, workspace=project), client.syntax, container.inputs
    )
    extras = as_object(entry.get(EXTRAS))
    fields = {
        "name": _shown_name(name, form),
        "transport": form.transport,
        **{limit: entry[limit] for limit in _LIMITS if limit in entry},
        **_resolved(form, resolver, project),
        **_extra_fields(extras, form.transport, where),
    }
    definition = _definition(fields, where, is_open=bool(resolver.asks))
    unknown = {key: each for key, each in unknown_members(entry).items() if key not in form.used}
    notes = dict.fromkeys(filter(None, [container.note, *resolver.notes]))
    return FoundServer(
        definition,
        is_disabled=_is_disabled(name, form, extras, container),
        asks=resolver.asks,
        notes=(*form.notes, *notes, *_notes(client, definition, unknown)),
        unknown=without_secret_members(unknown),
        project=project,
    )


def _notes(
    client: McpClient, definition: ServerDefinition, unknown: Mapping[str, Any]
) -> Iterator[str]:
    yield from _keyring_notes(client, definition)
    for name in secret_members(unknown):
        shown = formatting.one_line(name, LONGEST_NAME)
        yield f"{shown} is ignored: it looks like a secret, and this program does not use it"
    if isinstance(definition, HttpDefinition):
        for part in bare_url(definition.url)[1]:
            text = "the user name and password" if part == "user" else formatting.one_line(part, 60)
            yield f"its URL contains a secret, {text}, which is saved in plain text"


def _shown_name(name: str, form: EntryForm) -> str:
    """A name that can be shown and typed; an empty one is refused with the definition."""
    shown = formatting.one_line(name, LONGEST_NAME).strip()
    if shown != name:
        what = "cleaned of unprintable characters" if len(name) <= LONGEST_NAME else "cut"
        form.notes.append(f"its name was {what}")
    return shown


def _extra_fields(extras: Mapping[str, Any], transport: str, where: str) -> dict[str, Any]:
    fields = extra_fields(extras, where)
    if transport == "stdio":
        fields = {name: value for name, value in fields.items() if name not in {"auth", "oauth"}}
    return fields


def _is_disabled(
    name: str, form: EntryForm, extras: Mapping[str, Any], container: ServerContainer
) -> bool:
    is_left_out = container.allowed is not None and name not in container.allowed
    return (
        form.is_disabled
        or is_left_out
        or name in container.disabled
        or extras.get("disabled") is True
    )


def _resolved(form: EntryForm, resolver: Resolver, project: Path | None) -> dict[str, Any]:
    """The fields with variables resolved; values of wrong types are left to validation."""
    found = form.members
    fields: dict[str, Any] = {
        name: resolver.plain(found[name]) if isinstance(found[name], str) else found[name]
        for name in ("command", "cwd", "url")
        if name in found
    }
    if isinstance(found.get("args"), list):
        fields["args"] = [_text(resolver, value) for value in found["args"]]
    elif "args" in found:
        fields["args"] = found["args"]
    for name in ("env", "headers"):
        if name in found:
            fields[name] = _texts(resolver, found[name])
    if form.transport == "stdio":
        _add_env_file(form, resolver, fields, project)
        _set_folder(fields, project)
    if "oauth" in found:
        fields["oauth"] = {
            name: _text(resolver, value)
            if name == "client_secret"
            else resolver.plain(value)
            if isinstance(value, str)
            else value
            for name, value in found["oauth"].items()
        }
    return {**{name: found[name] for name in _EXTRA_FIELDS if name in found}, **fields}


def _texts(resolver: Resolver, values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    return {name: _text(resolver, value) for name, value in values.items()}


def _text(resolver: Resolver, value: Any) -> Any:
    return resolver.value(value) if isinstance(value, str) else value


def _set_folder(fields: dict[str, Any], project: Path | None) -> None:
    """Resolve the working folder relative to the project, which is also the default."""
    folder = fields.get("cwd")
    if isinstance(folder, str) and "${" not in folder:
        home = str(expanded(Path(folder))) if folder.startswith("~") else folder
        fields["cwd"] = home if project is None else str(project / home)
    elif folder is None and project is not None:
        fields["cwd"] = str(project)


def _add_env_file(
    form: EntryForm, resolver: Resolver, fields: dict[str, Any], project: Path | None
) -> None:
    """Add variables of the entry's envFile that the entry does not set itself."""
    if not isinstance(form.env_file, str):
        return
    written = resolver.plain(form.env_file)
    if "${" in written:
        return
    path = expanded(Path(written))
    path = path if project is None else project / path
    try:
        variables = read_env_file(path)
    except UserError as error:
        reason = error.details.detail or error.details.what
        form.notes.append(f"its envFile {path} is ignored: {reason}")
        return
    count = formatting.count(len(variables), "variable")
    form.notes.append(f"{count} copied from envFile {path} with their current values")
    env = fields.get("env", {})
    if isinstance(env, dict):
        fields["env"] = {**variables, **env}


def _definition(fields: dict[str, Any], where: str, *, is_open: bool) -> ServerDefinition:
    try:
        return definition_of(fields, where)
    except UserError:
        if not is_open or fields["transport"] == "stdio":
            raise
        return definition_of({**fields, "url": _PLACEHOLDER_URL}, where)  # until answered


def _keyring_notes(client: McpClient, definition: ServerDefinition) -> list[str]:
    """Warnings about secrets of this program's keyring that another client's file uses."""
    if client is OURS:
        return []
    if isinstance(definition, StdioDefinition):
        values = [*definition.env.values(), *definition.args]
    else:
        values = [*definition.headers.values(), definition.oauth.client_secret or ""]
    named = [name for value in values for kind, name in names_in(value) if kind == "keyring"]
    return [f"uses the secret {name!r} from the keyring" for name in sorted(set(named))]


_MOST_SERVERS: Final = 10_000
_TOML_HINT: Final = 'Example configuration: [mcp_servers.files] with command = "npx".'


class Unusable(NamedTuple):
    """A server that cannot be used, and why."""

    name: str
    error: ErrorDetails


@dataclasses.dataclass(frozen=True)
class ConfigFile:
    """The servers of a file, with different names.

    `errors` are all errors, those of `unusable` servers first.
    """

    client: McpClient
    found: list[FoundServer]
    errors: list[ErrorDetails]
    unusable: list[Unusable] = dataclasses.field(default_factory=list)
    path: Path | None = None

    @property
    def title(self) -> str:
        """The client and the path."""
        return self.client.title if self.path is None else f"{self.client.title}, {self.path}"


def read_file(
    path: Path, variables: Variables | None = None, client: McpClient | None = None
) -> ConfigFile:
    """Read the servers of a configuration file, in order, without running anything.

    Unless `client` is given, it is recognised by content and name. Unusable entries do not affect
    the others.

    Raises:
        UserError: the file cannot be read, is not a configuration, or has no servers.
    """
    where = str(path)
    document = read_document(path, read_text(path), client)
    known = client or client_of_file(path, document.value)
    variables = variables or Variables()
    project = project_of(path, known)
    if variables.workspace is None and project != variables.home:
        variables = dataclasses.replace(variables, workspace=project)
    config = ConfigFile(known, [], [], path=path)
    containers = containers_of(known, document.value, where)
    _read_all(config, containers, variables, where)
    config.errors.extend(unusable.error for unusable in config.unusable)
    config.errors.extend(_duplicates(document, containers, where))
    if not config.found and not config.unusable:
        raise UserError(ErrorDetails("The file contains no servers", where, EXAMPLE))
    return config


def is_toml(path: Path, client: McpClient | None) -> bool:
    """Whether that client's file is TOML; without a client, decided by the suffix."""
    return client is CODEX if client is not None else path.suffix.lower() == ".toml"


def read_document(path: Path, text: str, client: McpClient | None) -> Document:
    """Parse a configuration as JSON or TOML, depending on the client.

    Raises:
        UserError: it is invalid.
    """
    if is_toml(path, client):
        return read_toml(text, str(path), _TOML_HINT)
    return read_json(text, str(path), EXAMPLE)


def _read_all(
    config: ConfigFile, containers: Iterable[ServerContainer], variables: Variables, where: str
) -> None:
    names, room, left_out = _UniqueNames(), _MOST_SERVERS, 0
    for container in containers:
        taken = list(itertools.islice(container.servers, room))
        room -= len(taken)
        left_out += len(container.servers) - len(taken)
        for name in taken:
            try:
                found = read_found(config.client, name, container, variables, place(where, name))
            except UserError as error:
                config.unusable.append(Unusable(name, error.details))
            else:
                config.found.append(names.renamed(found))
    if left_out:
        what = f"{formatting.number(left_out)} more servers in the file were skipped"
        config.errors.append(ErrorDetails(what, where))


class _UniqueNames:
    """Makes names unique: projects in one file may have servers with the same name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def renamed(self, found: FoundServer) -> FoundServer:
        name = found.definition.name
        if name in self._taken and found.project is not None:
            name = f"{name} ({found.project.name})"
        name = self._free(name)
        self._taken.add(name)
        if name == found.definition.name:
            return found
        named = found.definition.model_copy(update={"name": name})
        note = (
            f"its name in the file, {found.definition.name!r}, is already taken by another server"
        )
        return dataclasses.replace(found, definition=named, notes=(*found.notes, note))

    def _free(self, base: str) -> str:
        name = base
        while name in self._taken:
            # Continue from the last number: thousands may have the same name.
            number = self._numbers.get(base, 1) + 1
            self._numbers[base] = number
            name = f"{base} {number}"
        return name


def _duplicates(
    document: Document, containers: Sequence[ServerContainer], where: str
) -> list[ErrorDetails]:
    paths = {container.path for container in containers}
    return [
        ErrorDetails(
            f"Two servers are named {formatting.elide(key.name, 60)!r}; the first one is used"
            if key.path in paths
            else f"Duplicate key {formatting.elide(key.name, 60)!r}; the first one is used",
            f"{where}, line {key.line}",
            "Rename or remove one of them.",
        )
        for key in document.duplicates
    ]
