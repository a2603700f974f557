"""The saved servers, in one readable file that other programs and people may edit meanwhile."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.catalogue.documents import is_plain_json, json_text, read_json
from mcp_progress_monitor.catalogue.entry import EXAMPLE, place, read_entry, written_entry
from mcp_progress_monitor.catalogue.files import decoded, exclusive_lock, read_bytes, write_private
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
    """One server of the file: as it stands there, and what we make of it, if anything."""

    name: str
    raw: Any
    entry: CatalogueEntry | None


class _State(NamedTuple):
    """What the file says. `around` is the whole document; what stands there is kept."""

    around: dict[str, Any]
    items: tuple[_SavedItem, ...] = ()
    problems: tuple[ErrorDetails, ...] = ()
    is_simple: bool = True
    """Whether writing it anew loses nothing: no comments, no names given twice."""


class _Stamp(NamedTuple):
    """What changes when a file does, without reading it."""

    inode: int
    size: int
    modified_ns: int


_NOTHING: Final = _State({})


class Catalogue:
    """The saved servers in the user's order, each change on disk before its method returns.

    Every change begins with what the file says by then, so that nobody's edit is written over.
    Entries that we cannot use, and members that mean nothing to us, stay in the file. A file that
    cannot be read is told (`problem`), and never written over; what was held is held on. Comments
    do not outlive a change of ours: the file as it was is kept beside it once (`.before`).
    """

    def __init__(self, path: Path | None) -> None:
        """Read the file; None keeps what is added for as long as the program lasts."""
        self._path = path
        self._state = _NOTHING
        self._content: bytes | None = None
        self._stamp: _Stamp | None = None
        self._is_blank = False
        self.problem: ErrorDetails | None = None
        """Why the file cannot be read; nothing can be changed then."""
        self.look()

    @property
    def problems(self) -> tuple[ErrorDetails, ...]:
        """Entries of the file that cannot be used, and names that are given twice."""
        return self._state.problems

    def entries(self) -> tuple[CatalogueEntry, ...]:
        """All servers that can be used, and the disabled ones, in the user's order."""
        return tuple(item.entry for item in self._state.items if item.entry is not None)

    def entry(self, name: str) -> CatalogueEntry:
        """One server; `UserError` if there is none of that name."""
        for item in self._state.items:
            if item.name == name and item.entry is not None:
                return item.entry
        raise UserError(self._missing(name))

    def is_taken(self, name: str) -> bool:
        """Whether an entry has this name in the file, also one that cannot be used."""
        return any(item.name == name for item in self._state.items)

    def add(self, entry: CatalogueEntry) -> str:
        """Add a server at the end; its name with a number behind it where that is taken."""
        return self.save_all([(None, entry)])[0]

    def replace(self, name: str, entry: CatalogueEntry) -> None:
        """Put `entry`, which may have another name, in the place of a server."""
        self.save_all([(name, entry)])

    def save_all(self, entries: Iterable[tuple[str | None, CatalogueEntry]]) -> list[str]:
        """Save several servers, all or none, in one writing of the file; the names they have then.

        Each is put in the place of the server called so, or added without such a name.
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
        items[index] = _made(entry, entry.name)
        return entry.name

    def clone(self, name: str) -> str:
        """Add a copy right behind a server, which does not connect by itself; its name."""
        with self._changing():
            items = list(self._state.items)
            index = self._place(name, items)
            copied = dataclasses.replace(self.entry(name), connects_at_start=False)
            free = _free(name, items)
            items.insert(index + 1, _made(copied, free))
            self._put(items)
            return free

    def remove(self, name: str) -> None:
        """Forget a server, also one that cannot be used."""
        self.remove_all([name])

    def remove_all(self, names: Iterable[str]) -> None:
        """Forget several servers, all or none, in one writing of the file."""
        with self._changing():
            items = list(self._state.items)
            for name in dict.fromkeys(names):
                del items[self._place(name, items)]
            self._put(items)

    def secrets_of_alone(self, names: Collection[str]) -> tuple[str, ...]:
        """Secrets in the keyring that these servers refer to, and nothing else in the file does.

        What cannot be used counts as well: it may be mended.
        """
        theirs, others = set[str](), set(keyring_names(self._beside()))
        for item in self._state.items:
            (theirs if item.name in names else others).update(keyring_names(item.raw))
        return tuple(sorted(theirs - others))

    def _beside(self) -> dict[str, Any]:
        return {key: value for key, value in self._state.around.items() if key != _SERVERS}

    def move(self, name: str, position: int) -> None:
        """Let a server be the one at `position` of `entries()`, or the last."""
        with self._changing():
            items = list(self._state.items)
            moved = items.pop(self._place(name, items))
            usable = [index for index, item in enumerate(items) if item.entry is not None]
            position = max(position, 0)
            items.insert(usable[position] if position < len(usable) else len(items), moved)
            self._put(items)

    def look(self) -> bool:
        """Read the file again if somebody changed it; whether `entries()` differ now.

        A file that is gone is no change: editors take one away for a moment, and the next change
        of ours writes it anew. One without anything in it is a change when it is so twice: it may
        be in the middle of being written.
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
            self.problem = ErrorDetails(what, str(self._path), hint, error.strerror or str(error))
        return self.entries() != before

    def _read(self, path: Path, stamp: _Stamp) -> None:
        try:
            content = read_bytes(path)
            is_blank, self._is_blank = self._is_blank, not content.strip()
            if self._is_blank and self._state.items and not is_blank:
                return  # with the old stamp: it is read again
            if content != self._content or self.problem is not None:
                self._state = _state_of(content, path)
                self._content = content
            self.problem = None
        except FileNotFoundError:
            return
        except UserError as error:
            hint = "Fix the file, or move it away. Until then, changes are not saved."
            self.problem = error.details._replace(hint=hint)
        self._stamp = stamp

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Take in what others changed; refuse to go on from what cannot be read."""
        with (
            contextlib.nullcontext()
            if self._path is None
            else exclusive_lock(self._path, "the saved servers")
        ):
            self.look()
            if self.problem is not None:
                raise UserError(self.problem)
            yield

    def _put(self, items: Sequence[_SavedItem]) -> None:
        around = dict(self._state.around)
        around[_SERVERS] = {item.name: item.raw for item in items}
        if self._path is not None:
            content = json_text(around).encode()
            if not self._state.is_simple and self._content is not None:
                write_private(self._path.with_name(f"{self._path.name}.before"), self._content)
            write_private(self._path, content)
            self._content, self._stamp = content, _stamp(self._path)
        self._state = _State(around, tuple(items), _left(self._state.problems, items))

    def _place(self, name: str, items: Sequence[_SavedItem]) -> int:
        for index, item in enumerate(items):
            if item.name == name:
                return index
        raise UserError(self._missing(name))

    @property
    def _where(self) -> str:
        return "" if self._path is None else str(self._path)

    def _missing(self, name: str) -> ErrorDetails:
        for problem in self.problems:
            if problem.where == place(self._where, name):
                return problem
        names = [entry.name for entry in self.entries()]
        saved = one_line(", ".join(one_line(each, _NAME) for each in names), _NAMES)
        hint = f"{likely(name, names)}Saved servers: {saved}."
        hint = hint if names else "No servers are saved."
        return ErrorDetails(f"Saved server {name!r} not found", self._where, hint)


def likely(name: str, names: Sequence[str]) -> str:
    """What was meant by a name that is not there, as the beginning of a hint; often nothing."""
    folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(name.casefold(), folded, 1)
    return f"Did you mean {folded[close[0]]!r}? " if close else ""


def _added(items: list[_SavedItem], entry: CatalogueEntry) -> str:
    name = _free(entry.name, items)
    items.append(_made(entry, name))
    return name


def _free(name: str, items: Iterable[_SavedItem]) -> str:
    taken = {item.name for item in items}
    free, number = name, 2
    while free in taken:
        free = f"{name} {number}"
        number += 1
    return free


def _made(entry: CatalogueEntry, name: str) -> _SavedItem:
    if entry.name != name:
        named = entry.definition.model_copy(update={"name": name})
        entry = dataclasses.replace(entry, definition=named)
    return _SavedItem(name, written_entry(entry), entry)


def _left(
    problems: Sequence[ErrorDetails], items: Sequence[_SavedItem]
) -> tuple[ErrorDetails, ...]:
    unusable = [item.name for item in items if item.entry is None]
    return tuple(
        problem
        for problem in problems
        if any(problem.where.endswith(place("", name)) for name in unusable)
    )


def _state_of(content: bytes, path: Path) -> _State:
    text = decoded(content, path)
    if not text.strip():
        return _NOTHING  # as `touch` leaves it
    document = read_json(text, str(path), EXAMPLE)
    around = document.value
    servers = around.get(_SERVERS, {}) if isinstance(around, dict) else None
    if not isinstance(servers, dict):
        raise UserError(ErrorDetails(f'"{_SERVERS}" is not an object', str(path), EXAMPLE))
    items, problems = [], []
    for name, raw in servers.items():
        try:
            entry = read_entry(name, raw, place(str(path), name))
        except UserError as error:
            problems.append(error.details)
            items.append(_SavedItem(name, raw, None))
        else:
            items.append(_SavedItem(name, raw, entry))
    for key in document.duplicates:
        what = f"Duplicate name {key.name!r}; the first entry is used"
        problems.append(
            ErrorDetails(what, f"{path}, line {key.line}", "Rename or remove one of them.")
        )
    is_simple = not document.duplicates and is_plain_json(text)
    return _State(around, tuple(items), tuple(problems), is_simple)


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return _Stamp(found.st_ino, found.st_size, found.st_mtime_ns)
