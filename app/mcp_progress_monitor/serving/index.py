"""The places of a recording's requests, in a temporary database: memory does not grow with them.

SQLite deletes its file at once, and keeps a few megabytes of it in memory.
"""

from __future__ import annotations

import contextlib
import sqlite3
import weakref
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.lenient_json import read_value
from mcp_progress_monitor.serving.lines import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CACHE_KB: Final = 8_000
_SCHEMA: Final = f"""
    PRAGMA cache_size = -{CACHE_KB};
    PRAGMA journal_mode = MEMORY;
    CREATE TABLE kinds (kind INTEGER PRIMARY KEY, method BLOB, name BLOB, UNIQUE (method, name));
    CREATE TABLE exchanges (
        number INTEGER PRIMARY KEY, digest INTEGER, kind INTEGER, part INTEGER, offset INTEGER,
        connection INTEGER, id BLOB, revision BLOB, is_answered INTEGER, is_alone INTEGER
    );
    CREATE INDEX by_digest ON exchanges (digest);
    CREATE INDEX by_kind ON exchanges (kind);
"""
_SELECT: Final = (
    "SELECT method, name, part, offset, connection, id, revision, is_answered, is_alone"
    " FROM exchanges JOIN kinds USING (kind) WHERE "
)


class Exchange(NamedTuple):
    """A recorded request: `name` is the tool, prompt or URI that it names, or empty.

    `is_alone` is True if no other request of its connection was open when it was answered.
    """

    method: str
    name: str
    place: Place
    connection: str
    id: Any
    revision: str = ""
    is_answered: bool = False
    is_alone: bool = True


class ExchangeIndex:
    """The exchanges of one server, numbered from 0 in their order."""

    def __init__(self) -> None:
        self.count = 0
        self.error = ""
        """Why no more can be added."""
        self._connections: list[str] = []
        self._numbers: dict[str, int] = {}
        self._database = database = sqlite3.connect("", check_same_thread=False)
        database.executescript(_SCHEMA)
        weakref.finalize(self, database.close)

    def add(self, exchange: Exchange, key: bytes) -> None:
        """Add a request, whose method and parameters have the digest `key`, unless it is full."""
        connection = self._numbers.setdefault(exchange.connection, len(self._numbers))
        if connection == len(self._connections):
            self._connections.append(exchange.connection)
        with self._writing():
            kind = self._kind(exchange.method, exchange.name)
            place, identity = exchange.place, canonical(exchange.id)
            self._database.execute(
                "INSERT INTO exchanges VALUES (?, ?, ?, ?, ?, ?, ?, x'', FALSE, TRUE)",
                (self.count, _digest(key), kind, *place, connection, identity),
            )
            self.count += 1

    def answer(self, number: int, revision: str, *, is_alone: bool) -> None:
        """Note that a request was answered."""
        with self._writing():
            self._database.execute(
                "UPDATE exchanges SET is_answered = TRUE, revision = ?, is_alone = ?"
                " WHERE number = ?",
                (_stored(revision), is_alone, number),
            )

    def commit(self) -> None:
        with self._writing():
            self._database.commit()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Keep what was written before the disk was full, or the folder gone."""
        try:
            yield
        except sqlite3.OperationalError as error:
            self.error = str(error)
            (self.count,) = self._database.execute("SELECT count(*) FROM exchanges").fetchone()

    def same(self, key: bytes, turn: int, *, or_last: bool) -> Exchange | None:
        """The request that was made for the time `turn`, from 0, or else the last one."""
        found = self._found("digest = ? ORDER BY number LIMIT 1 OFFSET ?", _digest(key), turn)
        if not found and or_last:
            found = self._found("digest = ? ORDER BY number DESC LIMIT 1", _digest(key))
        return next(iter(found), None)

    def opening(self, method: str, revision: str | None = None) -> Exchange | None:
        """The first answered opening with a revision; without one, the last answered one."""
        where = "method = ? AND name = x'' AND is_answered"
        if revision is None:
            found = self._found(f"{where} ORDER BY number DESC LIMIT 1", _stored(method))
        else:
            where += " AND revision = ? ORDER BY number LIMIT 1"
            found = self._found(where, _stored(method), _stored(revision))
        return next(iter(found), None)

    def newest(self, method: str, name: str, count: int) -> list[Exchange]:
        """The last requests of a tool, prompt or resource, in their order."""
        where = "method = ? AND name = ? ORDER BY number DESC LIMIT ?"
        return self._found(where, _stored(method), _stored(name), count)[::-1]

    def methods(self) -> set[str]:
        return set(self._texts("SELECT DISTINCT method FROM kinds"))

    def names(self, count: int) -> list[str]:
        """The first tools, prompts and resources, sorted by their names."""
        sql = "SELECT DISTINCT name FROM kinds WHERE name != x'' ORDER BY name LIMIT ?"
        return [*self._texts(sql, count)]

    def _kind(self, method: str, name: str) -> int:
        stored = _stored(method), _stored(name)
        select = "SELECT kind FROM kinds WHERE method = ? AND name = ?"
        if (found := self._database.execute(select, stored).fetchone()) is None:
            self._database.execute("INSERT INTO kinds (method, name) VALUES (?, ?)", stored)
            found = self._database.execute(select, stored).fetchone()
        return int(found[0])

    def _found(self, where: str, *values: object) -> list[Exchange]:
        rows = self._database.execute(_SELECT + where, values)
        return [
            Exchange(
                _text(method),
                _text(name),
                Place(*place),
                self._connections[connection],
                read_value(identity).value,
                _text(revision),
                bool(is_answered),
                bool(is_alone),
            )
            for method, name, *place, connection, identity, revision, is_answered, is_alone in rows
        ]

    def _texts(self, sql: str, *values: object) -> Iterable[str]:
        return (_text(stored) for (stored,) in self._database.execute(sql, values))


def _digest(key: bytes) -> int:
    return int.from_bytes(key[:8], "big", signed=True)


def _stored(text: str) -> bytes:
    """A text as it is stored: SQLite has no lone surrogates, which JSON may have."""
    return text.encode(errors="surrogatepass")


def _text(stored: bytes) -> str:
    return stored.decode(errors="surrogatepass")
