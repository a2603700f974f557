"""The saved servers, in a readable file that other programs and people may edit at any time."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.catalogue.documents import (
    decoded,
    exclusive_lock,
    is_plain_json,
    json_text,
    read_bytes,
    read_json,
    write_private,
)
from mcp_progress_monitor.catalogue.entry import EXAMPLE, place, read_entry, written_entry
from mcp_progress_monitor.catalogue.secrets import keyring_names
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.entry import CatalogueEntry

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
        """Whether an entry of the file, usable or not, has this name."""
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
