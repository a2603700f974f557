"""The saved servers, in a readable file that other programs and people may edit at any time."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

from pydantic import BeforeValidator, StrictBool, ValidationError

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.documents import (
    decoded,
    exclusive_lock,
    is_plain_json,
    json_text,
    read_bytes,
    read_json,
    write_private,
)
from mcp_progress_monitor.catalogue.secrets import keyring_names
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    InFiles,
    StdioDefinition,
    made_definition,
    renamed,
)
from mcp_progress_monitor.validation import violations

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_Model = TypeVar("_Model")


@dataclasses.dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One saved server.

    A disabled server is kept and shown, but never connected. `origin` describes where it was
    imported from, and is empty for one made here. `unknown` are members of its entry that this
    program does not use, and keeps.
    """

    definition: ServerDefinition
    is_disabled: bool = False
    connects_at_start: bool = False
    origin: str = ""
    unknown: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.definition.name


EXAMPLE: Final = (
    'Example configuration: {"mcpServers": {"files": {"command": "npx", "args": ["-y", '
    '"some-server"]}, "web": {"url": "https://example.com/mcp"}}}.'
)
TRANSPORTS: Final = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
"""Clients' names of transports, in lower case, and ours."""
LONGEST: Final = 100_000
"""Characters of a command with its arguments and variables, or of a URL with its headers."""
_LONGEST_WORD: Final = 60


def place(where: str, name: str) -> str:
    """The place of an error in a server's entry."""
    return f"{where}, server {formatting.elide(name, _LONGEST_WORD)!r}"


def transport_of(entry: Mapping[str, Any], url: str, without_type: str) -> str:
    """The transport of an entry, from its `type` or else from its members.

    `url` is the URL that was found, or empty; `without_type` is its transport if it has no type.
    `UserError`, without a place, for an unknown type.
    """
    named = entry.get("type", entry.get("transportType", entry.get("transport")))
    if named is None:
        return without_type if url and "command" not in entry else "stdio"
    known = TRANSPORTS.get(named.lower()) if isinstance(named, str) else None
    if known is None:
        shown = formatting.one_line(str(named), _LONGEST_WORD)
        kinds = "stdio, http or sse"
        raise UserError(ErrorDetails(f"type: unknown transport {shown!r} (expected {kinds})"))
    return known


def definition_of(fields: Mapping[str, Any], where: str) -> ServerDefinition:
    """The definition with these fields; `UserError` for the first invalid one.

    A definition that is too large to review before approving it is rejected as well.
    """
    definition = _checked(made_definition, fields, where)
    if _length(definition) > LONGEST:
        what = f"The definition is longer than {formatting.number(LONGEST)} characters"
        raise UserError(
            ErrorDetails(what, where, "Pass long values to the server in a file instead.")
        )
    return definition


def _checked(
    read: Callable[[Any], _Model], fields: object, where: str, hint: str = EXAMPLE
) -> _Model:
    try:
        return read(fields)
    except ValidationError as error:
        first = next(violations(error))
        field = formatting.one_line(".".join(first.place), _LONGEST_WORD) or "entry"
        raise UserError(ErrorDetails(f"{field}: {first.message}", where, hint)) from error


def _length(definition: ServerDefinition) -> int:
    if isinstance(definition, StdioDefinition):
        parts, values = (definition.command, *definition.args), definition.env
    else:
        parts, values = (definition.url,), definition.headers
    return sum(map(len, parts)) + len(parts) + sum(map(len, (*values, *values.values())))


EXTRAS: Final = "mcpProgressMonitor"  # the member for settings that only this program has

_BASIC: Final = ("command", "args", "env", "cwd", "url", "headers")
_EARLIER: Final = ("idle_timeout_s", "total_timeout_s")
"""Limits that earlier versions wrote beside the command."""


class _Marks(InFiles, loc_by_alias=True):
    """The members of an entry that belong to the catalogue, not to the definition."""

    is_disabled: StrictBool = False
    connects_at_start: Annotated[StrictBool, renamed("connectAtStart")] = False
    origin: Annotated[str, BeforeValidator(str)] = ""


_FIELDS: Final = {**StdioDefinition.members(), **HttpDefinition.members()}
_SETTINGS: Final = {
    name: inside for name, inside in _FIELDS.items() if name not in {*_BASIC, "name", "transport"}
}
"""The members of `EXTRAS` that are fields of definitions."""
_KNOWN: Final[dict[str, Any]] = {
    **dict.fromkeys(("type", *_BASIC, *_EARLIER)),
    EXTRAS: {**_Marks.members(), **_SETTINGS},
}
"""All known members, with the known members of objects."""


def read_entry(name: str, entry: object, where: str) -> CatalogueEntry:
    """Parse an entry of our file, keeping unknown members; `UserError` if it cannot be used."""
    if not isinstance(entry, dict):
        raise UserError(ErrorDetails("The server's entry is not an object", where, EXAMPLE))
    found = entry.get(EXTRAS)
    extras = {} if found is None else found
    if not isinstance(extras, dict):
        raise UserError(ErrorDetails(f"{EXTRAS}: must be an object", where, EXAMPLE))
    fields = {"name": name, **basic_fields(entry, where), **extra_fields(extras)}
    definition = definition_of(fields, where)
    marks = _checked(_Marks.model_validate, extras, where, "")
    return CatalogueEntry(definition, unknown=unknown_members(entry), **marks.model_dump())


def basic_fields(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of the command or URL, and limits that earlier versions wrote beside it."""
    try:
        transport = transport_of(entry, str(entry.get("url") or ""), without_type="http")
    except UserError as error:
        raise UserError(error.details._replace(where=where, hint=EXAMPLE)) from error
    names = ("command", "args", "env", "cwd") if transport == "stdio" else ("url", "headers")
    fields = {name: entry[name] for name in (*names, *_EARLIER) if entry.get(name) is not None}
    return {"transport": transport, **fields}


def extra_fields(extras: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a definition among the members of `EXTRAS`."""
    return {key: each for key, each in extras.items() if key in _SETTINGS and each is not None}


def unknown_members(entry: Mapping[str, Any]) -> dict[str, Any]:
    return _unknown(entry, _KNOWN)


def written_entry(entry: CatalogueEntry) -> dict[str, Any]:
    """The entry for the file, without default values."""
    written = written_definition(entry.definition)
    extras = _written_extras(entry)
    return _merged({**written, EXTRAS: extras} if extras else written, entry.unknown)


def written_definition(definition: ServerDefinition) -> dict[str, Any]:
    """The command or URL of a server, in the format that most clients share."""
    if isinstance(definition, StdioDefinition):
        written: dict[str, Any] = {"command": definition.command, "args": list(definition.args)}
        if definition.env:
            written["env"] = dict(definition.env)
        return written if definition.cwd is None else {**written, "cwd": definition.cwd}
    written = {"type": definition.transport, "url": definition.url}
    return {**written, "headers": dict(definition.headers)} if definition.headers else written


def _written_extras(entry: CatalogueEntry) -> dict[str, Any]:
    marks = _Marks(**{name: getattr(entry, name) for name in _Marks.model_fields})
    return {
        key: each
        for model in (marks, entry.definition)
        for key, each in model.model_dump(mode="json", by_alias=True, exclude_defaults=True).items()
        if key in _KNOWN[EXTRAS]
    }


def _unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            kept[key] = value
        elif isinstance(known[key], dict) and isinstance(value, dict):
            inside = _unknown(value, known[key])
            if inside:
                kept[key] = inside
    return kept


def _merged(ours: Mapping[str, Any], unknown: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(ours)
    for key, value in unknown.items():
        mine = merged.get(key)
        if isinstance(mine, dict) and isinstance(value, dict):
            merged[key] = _merged(mine, value)
        else:
            merged.setdefault(key, value)
    return merged


FILE_NAME: Final = "servers.json"
_SERVERS: Final = "mcpServers"
_NAME: Final = 60
_NAMES: Final = 2000


class _SavedItem(NamedTuple):
    """One server of the file: its raw entry, and the parsed entry unless it is unusable."""

    name: str
    raw: Any
    entry: CatalogueEntry | None


class _State(NamedTuple):
    """The content of the file; `document` is all of it, so that unknown members are kept."""

    document: dict[str, Any]
    items: tuple[_SavedItem, ...] = ()
    errors: tuple[ErrorDetails, ...] = ()
    is_simple: bool = True
    """Whether rewriting the file loses nothing: it has no comments and no duplicate names."""


class _Stamp(NamedTuple):
    """Metadata that changes when a file does."""

    inode: int
    size: int
    modified_ns: int


_NOTHING: Final = _State({})


class Catalogue:
    """The saved servers in the user's order; each change is on disk before its method returns.

    A change is applied to the file's current content, so that no other edit is overwritten.
    Unusable entries and unknown members stay in the file. A file that cannot be read is reported
    (`error`) and never overwritten; the previous entries stay in use. A change removes comments,
    so the file with comments is first copied (`.before`).
    """

    def __init__(self, path: Path | None) -> None:
        """Read the file; without a path, the servers last as long as the program."""
        self._path = path
        self._state = _NOTHING
        self._content: bytes | None = None
        self._stamp: _Stamp | None = None
        self._is_blank = False
        self.error: ErrorDetails | None = None
        """Why the file cannot be read; until then nothing can be changed."""
        self.reload()

    @property
    def errors(self) -> tuple[ErrorDetails, ...]:
        """Errors about unusable entries and duplicate names."""
        return self._state.errors

    def entries(self) -> tuple[CatalogueEntry, ...]:
        """All usable servers, including disabled ones, in the user's order."""
        return tuple(item.entry for item in self._state.items if item.entry is not None)

    def entry(self, name: str) -> CatalogueEntry:
        """One server; `UserError` if there is none with that name."""
        for item in self._state.items:
            if item.name == name and item.entry is not None:
                return item.entry
        raise UserError(self._missing(name))

    def is_taken(self, name: str) -> bool:
        """Return whether an entry of the file, usable or not, has this name."""
        return any(item.name == name for item in self._state.items)

    def add(self, entry: CatalogueEntry) -> str:
        """Append a server; returns its name, with a number appended if it was taken."""
        return self.save_all([(None, entry)])[0]

    def replace(self, name: str, entry: CatalogueEntry) -> None:
        """Replace a server by `entry`, which may have another name."""
        self.save_all([(name, entry)])

    def save_all(self, entries: Iterable[tuple[str | None, CatalogueEntry]]) -> list[str]:
        """Save several servers, all or none, in one write; returns their final names.

        Each replaces the server with the given name, or is appended if that is None.
        """
        with self._changing():
            items = list(self._state.items)
            names = [
                _added(items, entry) if name is None else self._replaced(items, name, entry)
                for name, entry in entries
            ]
            self._put(items)
            return names

    def _replaced(self, items: list[_SavedItem], name: str, entry: CatalogueEntry) -> str:
        index = self._place(name, items)
        if entry.name != name and any(item.name == entry.name for item in items):
            what = f"A server named {entry.name!r} already exists"
            raise UserError(ErrorDetails(what, self._where, "Choose another name."))
        items[index] = _item(entry, entry.name)
        return entry.name

    def clone(self, name: str) -> str:
        """Insert a copy after a server, not connected automatically; returns its name."""
        with self._changing():
            items = list(self._state.items)
            index = self._place(name, items)
            copied = dataclasses.replace(self.entry(name), connects_at_start=False)
            free = _free(name, items)
            items.insert(index + 1, _item(copied, free))
            self._put(items)
            return free

    def remove(self, name: str) -> None:
        """Remove a server, usable or not."""
        self.remove_all([name])

    def remove_all(self, names: Iterable[str]) -> None:
        """Remove several servers, all or none, in one write."""
        with self._changing():
            items = list(self._state.items)
            for name in dict.fromkeys(names):
                del items[self._place(name, items)]
            self._put(items)

    def unshared_secrets(self, names: Collection[str]) -> tuple[str, ...]:
        """Keyring secrets that only these servers refer to.

        References of unusable entries count as well: the user may fix them.
        """
        settings = {key: value for key, value in self._state.document.items() if key != _SERVERS}
        theirs, others = set[str](), set(keyring_names(settings))
        for item in self._state.items:
            (theirs if item.name in names else others).update(keyring_names(item.raw))
        return tuple(sorted(theirs - others))

    def move(self, name: str, position: int) -> None:
        """Move a server to `position` in `entries()`, or to the end."""
        with self._changing():
            items = list(self._state.items)
            moved = items.pop(self._place(name, items))
            usable = [index for index, item in enumerate(items) if item.entry is not None]
            position = max(position, 0)
            items.insert(usable[position] if position < len(usable) else len(items), moved)
            self._put(items)

    def reload(self) -> bool:
        """Read the file again if it changed; returns whether `entries()` did.

        A missing file does not count as a change: editors remove it briefly, and our next change
        writes it again. An empty file is a change only if found twice: it may be being written.
        """
        if self._path is None:
            return False
        before = self.entries()
        try:
            stamp = _stamp(self._path)
            if stamp is not None and stamp != self._stamp:
                self._read(self._path, stamp)
        except OSError as error:
            what, hint = "Cannot read the saved servers", "Check the file's permissions."
            self.error = ErrorDetails(what, str(self._path), hint, error.strerror or str(error))
        return self.entries() != before

    def _read(self, path: Path, stamp: _Stamp) -> None:
        try:
            content = read_bytes(path)
            is_blank, self._is_blank = self._is_blank, not content.strip()
            if self._is_blank and self._state.items and not is_blank:
                return  # keeping the old stamp, so that it is read again
            if content != self._content or self.error is not None:
                self._state = _state_of(content, path)
                self._content = content
            self.error = None
        except FileNotFoundError:
            return
        except UserError as error:
            hint = "Fix the file, or move it away. Until then, changes are not saved."
            self.error = error.details._replace(hint=hint)
        self._stamp = stamp

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock and reload the file; `UserError` if it cannot be read."""
        with (
            contextlib.nullcontext()
            if self._path is None
            else exclusive_lock(self._path, "the saved servers")
        ):
            self.reload()
            if self.error is not None:
                raise UserError(self.error)
            yield

    def _put(self, items: Sequence[_SavedItem]) -> None:
        document = {**self._state.document, _SERVERS: {item.name: item.raw for item in items}}
        if self._path is not None:
            content = json_text(document).encode()
            if not self._state.is_simple and self._content is not None:
                write_private(self._path.with_name(f"{self._path.name}.before"), self._content)
            write_private(self._path, content)
            self._content, self._stamp = content, _stamp(self._path)
        self._state = _State(document, tuple(items), _remaining(self._state.errors, items))

    def _place(self, name: str, items: Sequence[_SavedItem]) -> int:
        for index, item in enumerate(items):
            if item.name == name:
                return index
        raise UserError(self._missing(name))

    @property
    def _where(self) -> str:
        return "" if self._path is None else str(self._path)

    def _missing(self, name: str) -> ErrorDetails:
        for error in self.errors:
            if error.where == place(self._where, name):
                return error
        names = [entry.name for entry in self.entries()]
        saved = one_line(", ".join(one_line(each, _NAME) for each in names), _NAMES)
        hint = f"{likely(name, names)}Saved servers: {saved}."
        hint = hint if names else "No servers are saved."
        return ErrorDetails(f"Saved server {name!r} not found", self._where, hint)


def likely(name: str, names: Sequence[str]) -> str:
    """The start of a hint that suggests a similar name, or an empty string."""
    folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(name.casefold(), folded, 1)
    return f"Did you mean {folded[close[0]]!r}? " if close else ""


def _added(items: list[_SavedItem], entry: CatalogueEntry) -> str:
    name = _free(entry.name, items)
    items.append(_item(entry, name))
    return name


def _free(name: str, items: Iterable[_SavedItem]) -> str:
    taken = {item.name for item in items}
    free, number = name, 2
    while free in taken:
        free = f"{name} {number}"
        number += 1
    return free


def _item(entry: CatalogueEntry, name: str) -> _SavedItem:
    if entry.name != name:
        named = entry.definition.model_copy(update={"name": name})
        entry = dataclasses.replace(entry, definition=named)
    return _SavedItem(name, written_entry(entry), entry)


def _remaining(
    errors: Sequence[ErrorDetails], items: Sequence[_SavedItem]
) -> tuple[ErrorDetails, ...]:
    unusable = [item.name for item in items if item.entry is None]
    return tuple(
        error for error in errors if any(error.where.endswith(place("", name)) for name in unusable)
    )


def _state_of(content: bytes, path: Path) -> _State:
    text = decoded(content, path)
    if not text.strip():
        return _NOTHING
    document = read_json(text, str(path), EXAMPLE)
    value = document.value
    servers = value.get(_SERVERS, {}) if isinstance(value, dict) else None
    if not isinstance(servers, dict):
        raise UserError(ErrorDetails(f'"{_SERVERS}" is not an object', str(path), EXAMPLE))
    items, errors = [], []
    for name, raw in servers.items():
        try:
            entry = read_entry(name, raw, place(str(path), name))
        except UserError as error:
            errors.append(error.details)
            items.append(_SavedItem(name, raw, None))
        else:
            items.append(_SavedItem(name, raw, entry))
    for key in document.duplicates:
        what = f"Duplicate name {key.name!r}; the first entry is used"
        errors.append(
            ErrorDetails(what, f"{path}, line {key.line}", "Rename or remove one of them.")
        )
    is_simple = not document.duplicates and is_plain_json(text)
    return _State(value, tuple(items), tuple(errors), is_simple)


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return _Stamp(found.st_ino, found.st_size, found.st_mtime_ns)
