"""Reads configuration files of all known clients, and says what an import would change."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import re
import types
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.catalogue import (
    EXAMPLE,
    EXTRAS,
    CatalogueEntry,
    definition_of,
    extra_fields,
    place,
    unknown_members,
)
from mcp_progress_monitor.catalogue.client_files import (
    client_of_file,
    containers_of,
    form_of,
    project_of,
)
from mcp_progress_monitor.catalogue.clients import OURS
from mcp_progress_monitor.catalogue.documents import Document, read_json, read_text, read_toml
from mcp_progress_monitor.catalogue.secrets import (
    FROM_US,
    KeptSecrets,
    bare_url,
    candidate_secrets,
    looked_up,
    renewed,
    secret_members,
    values_of,
    without_secret_members,
)
from mcp_progress_monitor.catalogue.taps import entry_tap, unwrapped_entry
from mcp_progress_monitor.catalogue.variables import Input, Resolver, Variables
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import expanded
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.secrets import HIDDEN_VALUE, shown_arguments
from mcp_progress_monitor.secrets.references import REFERENCE, Keyring, names_in
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.catalogue.catalogue import Catalogue
    from mcp_progress_monitor.catalogue.client_files import ServerContainer
    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.catalogue.entry_forms import EntryForm
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
    it belongs to one. `unknown` are members that this program does not use. `place` are the keys
    that lead to its entry.
    """

    definition: ServerDefinition
    is_disabled: bool = False
    asks: tuple[Input, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    project: Path | None = None
    place: tuple[str, ...] = ()


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
        **extra_fields(extras),
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
        place=(*container.path, name),
    )


def _notes(
    client: McpClient, definition: ServerDefinition, unknown: Mapping[str, Any]
) -> Iterator[str]:
    yield from _secret_notes(client, definition)
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


def _secret_notes(client: McpClient, definition: ServerDefinition) -> list[str]:
    """Warnings about secrets that this program would read or ask for, in another client's file."""
    if client is OURS:
        return []
    if isinstance(definition, StdioDefinition):
        values = [*definition.env.values(), *definition.args]
    else:
        values = [*definition.headers.values(), definition.oauth.client_secret or ""]
    used = sorted({each for value in values for each in names_in(value) if each[0] != "env"})
    return [f"uses the secret {name!r} {FROM_US[kind]}" for kind, name in used]


_MOST_SERVERS: Final = 10_000
_TOML_HINT: Final = 'Example configuration: [mcp_servers.files] with command = "npx".'


class Unusable(NamedTuple):
    """A server that cannot be used, and why; `place` are the keys that lead to its entry."""

    name: str
    error: ErrorDetails
    place: tuple[str, ...] = ()


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
    """Return whether that client's file is TOML; without a client, decided by the suffix."""
    return client.is_toml if client is not None else path.suffix.lower() == ".toml"


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
                config.unusable.append(Unusable(name, error.details, (*container.path, name)))
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


_TEXTS: Final = {
    "transport": "transport",
    "command": "command",
    "args": "arguments",
    "cwd": "folder",
    "url": "URL",
    "auth": "sign-in",
    "oauth": "sign-in",
    "era": "protocol",
}
_OURS: Final = ("restart", "watch", "ping_interval_s", "idle_timeout_s", "total_timeout_s")
"""Settings of this program, which an import leaves unchanged."""

Known: TypeAlias = "Mapping[str, str | None]"
"""Keyring secrets by name, None for one that no longer exists."""
_NOTHING_KNOWN: Final[Known] = types.MappingProxyType({})
_SAME: Final = KeptSecrets(_NOTHING_KNOWN)  # accepts any literal for a reference


class ImportStatus(enum.Enum):
    """State of a server of a file, compared with the saved ones."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    UNUSABLE = "unusable"


class ImportRow(NamedTuple):
    """One server of a file.

    `name` is the name of the saved server that it is or would become. `changes` describe how they
    differ, without values of variables and headers. `place` are the keys that lead to its entry.
    """

    found: FoundServer | None
    standing: ImportStatus
    name: str
    changes: tuple[str, ...] = ()
    error: ErrorDetails | None = None
    place: tuple[str, ...] = ()


def preview(
    config: ConfigFile, catalogue: Catalogue, known: Known = _NOTHING_KNOWN
) -> list[ImportRow]:
    """A row for each server of the file, in order, with unusable ones at the end.

    `known` are the `candidate_keyring_secrets`.
    """
    saved, alike = _saved(catalogue)
    rows = [_row(found, saved, alike, known)._replace(place=found.place) for found in config.found]
    rows += [
        ImportRow(None, ImportStatus.UNUSABLE, name, (), error, place)
        for name, error, place in config.unusable
    ]
    return rows


def candidate_keyring_secrets(config: ConfigFile, catalogue: Catalogue, keyring: Keyring) -> Known:
    """The keyring secrets that literals in the file may correspond to, by name.

    The value is None for a secret that no longer exists. Empty if there is no usable keyring.
    Blocks until the user has unlocked the keyring: call it in a thread.
    """
    saved, alike = _saved(catalogue)
    names = set[str]()
    for found in config.found:
        definition = found.definition
        held = saved.get(definition.name)
        if held is not None:
            names |= candidate_secrets(held.definition, definition, None)
            continue
        for entry in alike.get(_target(definition), ()):
            names |= candidate_secrets(entry.definition, definition, definition.name)
    return looked_up(sorted(names), keyring)


def _saved(
    catalogue: Catalogue,
) -> tuple[dict[str, CatalogueEntry], dict[Hashable, list[CatalogueEntry]]]:
    """The saved servers by name, and by `_target`, so that few have to be compared."""
    saved = {entry.name: entry for entry in catalogue.entries()}
    alike: dict[Hashable, list[CatalogueEntry]] = {}
    for entry in saved.values():
        alike.setdefault(_target(entry.definition), []).append(entry)
    return saved, alike


def rows_named(rows: Sequence[ImportRow], names: Collection[str]) -> list[ImportRow]:
    """The rows of the servers with these names in the file.

    Raises:
        UserError: one of them cannot be used, perhaps because of an answer to its inputs.
    """
    named = [row for row in rows if row.found is not None and row.found.definition.name in names]
    there = {row.found.definition.name for row in named if row.found is not None}
    for row in rows:
        if row.error is not None and row.name in names and row.name not in there:
            raise UserError(row.error)
    return named


def renewed_secrets(row: ImportRow, catalogue: Catalogue, known: Known) -> dict[str, str]:
    """Secrets to store in the keyring, by name, before a row is saved.

    A secret that has changed in the file replaces ours; the saved server keeps its reference.
    """
    if row.found is None or row.found.asks or row.standing is not ImportStatus.CHANGED:
        return {}
    held = catalogue.entry(row.name).definition
    if not _is_same_server(held, row.found.definition):
        return {}
    return renewed(held, row.found.definition, known, catalogue.unshared_secrets([row.name]))


def imported_entry(
    row: ImportRow, config: ConfigFile, catalogue: Catalogue, known: Known = _NOTHING_KNOWN
) -> CatalogueEntry:
    """The entry to save for a row: the server of the file, with the settings made here.

    The row must have a server, all its inputs answered, and its `renewed_secrets` stored.
    """
    if row.found is None:
        raise ValueError("nothing to import")
    found = row.found
    definition = found.definition.model_copy(update={"name": row.name})
    entry = CatalogueEntry(
        definition, is_disabled=found.is_disabled, origin=config.title, unknown=found.unknown
    )
    if row.standing is ImportStatus.NEW:
        return entry
    held = catalogue.entry(row.name)
    kept = {field: getattr(held.definition, field) for field in _OURS}
    if _is_same_server(held.definition, definition):
        renewals = renewed_secrets(row, catalogue, known)
        others = {name: secret for name, secret in known.items() if name not in renewals}
        definition = _with_references(definition, held.definition, KeptSecrets(others))
    return dataclasses.replace(
        entry,
        definition=definition.model_copy(update=kept),
        is_disabled=held.is_disabled,
        connects_at_start=held.connects_at_start,
        unknown={**held.unknown, **found.unknown},
    )


def save_rows(made: Iterable[tuple[ImportRow, CatalogueEntry]], catalogue: Catalogue) -> list[str]:
    """Save entries made by `imported_entry`, adding or replacing servers; returns their names.

    Raises:
        UserError: the file cannot be written; then none is saved.
    """
    return catalogue.save_all(
        (None if row.standing is ImportStatus.NEW else row.name, entry) for row, entry in made
    )


def changes_between(
    held: ServerDefinition, found: ServerDefinition, kept: KeptSecrets = _SAME
) -> tuple[str, ...]:
    """The differences as text, except for settings of this program.

    A reference of ours equals a literal if `kept` says so.
    """
    if held.transport != found.transport and "stdio" in {held.transport, found.transport}:
        return ("transport",)
    found = _with_references(found, held, kept)
    mine, theirs = held.model_dump(), found.model_dump()
    changed = [text for field, text in _TEXTS.items() if mine.get(field) != theirs.get(field)]
    return (*dict.fromkeys(changed), *_of_values(held, found))


def _target(definition: ServerDefinition) -> Hashable:
    """A key that is equal for servers without differences between them."""
    if isinstance(definition, StdioDefinition):
        arguments = [REFERENCE.sub(HIDDEN_VALUE, word) for word in shown_arguments(definition.args)]
        return definition.command, tuple(arguments), definition.cwd
    return definition.transport, definition.url


def _row(
    found: FoundServer,
    saved: Mapping[str, CatalogueEntry],
    alike: Mapping[Hashable, Sequence[CatalogueEntry]],
    known: Known,
) -> ImportRow:
    """Compare a server of a file with the `saved` ones, which `alike` has by `_target`."""
    name = found.definition.name
    known = _NOTHING_KNOWN if found.asks else known  # its inputs have no answers yet
    held = saved.get(name)
    if held is not None:
        changes = changes_between(held.definition, found.definition, KeptSecrets(known))
        standing = ImportStatus.CHANGED if changes else ImportStatus.SAME
        return ImportRow(found, standing, name, changes)
    for entry in alike.get(_target(found.definition), ()):
        other = entry.definition
        changes = changes_between(other, found.definition, KeptSecrets(known, name))
        if not changes:
            return ImportRow(found, ImportStatus.SAME, entry.name)
        # A server that differs only in a secret is the same server.
        lenient = KeptSecrets(_NOTHING_KNOWN, name)
        if known and not changes_between(other, found.definition, lenient):
            return ImportRow(found, ImportStatus.CHANGED, entry.name, changes)
    return ImportRow(found, ImportStatus.NEW, name)


def _of_values(held: ServerDefinition, found: ServerDefinition) -> list[str]:
    mine, theirs = values_of(held), values_of(found)
    kind = "variable" if isinstance(found, StdioDefinition) else "header"
    lines = [f"{kind} {name} added" for name in sorted(theirs.keys() - mine.keys())]
    lines += [f"{kind} {name} removed" for name in sorted(mine.keys() - theirs.keys())]
    return lines + [
        f"{kind} {name}"
        for name in sorted(mine.keys() & theirs.keys())
        if mine[name] != theirs[name]
    ]


def _with_references(
    found: ServerDefinition, held: ServerDefinition, kept: KeptSecrets
) -> ServerDefinition:
    """The definition of a file, with our references in place of the literals that they equal."""
    mine = values_of(held)
    values = {name: _kept(mine.get(name), value, kept) for name, value in values_of(found).items()}
    if isinstance(found, HttpDefinition) and isinstance(held, HttpDefinition):
        secret = found.oauth.client_secret
        if secret is not None:
            secret = _kept(held.oauth.client_secret, secret, kept)
        oauth = found.oauth.model_copy(update={"client_secret": secret})
        return found.model_copy(update={"headers": values, "oauth": oauth})
    if isinstance(found, StdioDefinition) and isinstance(held, StdioDefinition):
        is_same = kept.are_same_arguments(held.args, found.args)
        args = held.args if is_same else found.args
        return found.model_copy(update={"env": values, "args": args})
    return found


def _kept(mine: str | None, theirs: str, kept: KeptSecrets) -> str:
    return mine if mine is not None and kept.is_same(mine, theirs) else theirs


def _is_same_server(held: ServerDefinition, found: ServerDefinition) -> bool:
    """True if both are the same program or have the same host, so that they may share secrets.

    Arguments count, since they name what `npx` runs.
    """
    if isinstance(held, HttpDefinition) and isinstance(found, HttpDefinition):
        return _host(held) == _host(found)
    if isinstance(held, StdioDefinition) and isinstance(found, StdioDefinition):
        return held.command == found.command and _SAME.are_same_arguments(held.args, found.args)
    return False


def _host(definition: HttpDefinition) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(definition.url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()
