"""Chains as rows of SQLite: the schema, and both ways across.

What servers say, and the parameters of requests, are kept as JSON in ASCII: a string may hold half
a surrogate pair and a number may have any size, and SQLite's own types hold neither.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from mcp_progress_monitor.store.chains import Origin, Outcome, SavedAttempt, SavedChain, Standing

if TYPE_CHECKING:
    import sqlite3

MIGRATIONS: Final = (
    """
    CREATE TABLE chains (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        origin TEXT NOT NULL,
        is_usable INTEGER NOT NULL DEFAULT 1,
        reason TEXT NOT NULL DEFAULT '""',
        standing TEXT NOT NULL,
        created_when REAL NOT NULL,
        updated_when REAL NOT NULL,
        owner TEXT
    );
    CREATE TABLE tokens (
        chain INTEGER NOT NULL REFERENCES chains (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        token TEXT NOT NULL,
        received_when REAL NOT NULL,
        PRIMARY KEY (chain, number)
    ) WITHOUT ROWID;
    CREATE TABLE attempts (
        chain INTEGER NOT NULL REFERENCES chains (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        started_when REAL NOT NULL,
        ended_when REAL,
        outcome TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '""',
        PRIMARY KEY (chain, number)
    ) WITHOUT ROWID;
    CREATE INDEX owned ON chains (owner) WHERE owner IS NOT NULL;
    """,
    """
    CREATE TABLE tasks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        origin TEXT NOT NULL,
        task TEXT NOT NULL,
        is_flat INTEGER NOT NULL,
        standing TEXT NOT NULL,
        started_when REAL NOT NULL,
        began_when REAL NOT NULL,
        updated_when REAL NOT NULL,
        owner TEXT
    );
    CREATE INDEX owned_tasks ON tasks (owner) WHERE owner IS NOT NULL;
    """,
)
"""Scripts, each lifting the format by one. Add, never edit: files of every format are out there."""

_Type = TypeVar("_Type")

_Number: TypeAlias = int | float | None
OriginRow: TypeAlias = tuple[str, str, str, str, str, dict[str, Any]]
"""The members of an `Origin` as they lie in its column, a JSON array."""
StandingRow: TypeAlias = tuple[_Number, _Number, str | None]
"""The members of a `Standing`, in the same way."""
_Texts: TypeAlias = tuple[OriginRow, StandingRow, str, str]
_decode: Final = msgspec.json.Decoder(_Texts).decode
"""Numbers of any size as they are; twice as fast as the parsers of pydantic and Python."""

CHAINS: Final = """
    SELECT id, owner, is_usable, created_when, updated_when,
        '[' || origin || ',' || standing || ',' || reason || ',' ||
        (SELECT token FROM tokens WHERE chain = chains.id ORDER BY number DESC LIMIT 1)
        || ']' AS texts,
        (SELECT max(number) FROM attempts WHERE chain = chains.id) AS attempt_count
    FROM chains
"""
"""Chains, to be followed by WHERE or ORDER BY.

`texts` is all their JSON in one array, the newest token last: decoded at once it takes half the
time, and there may be ten thousand.
"""


def text_of(text: str) -> str:
    """A string of anybody's making, as a column."""
    return json.dumps(text)


def origin_text(origin: Origin) -> str:
    """An origin, as a column: a JSON array of its members in order."""
    return json.dumps(origin)


def standing_text(standing: Standing) -> str:
    """A standing, as a column: a JSON array of its members in order."""
    return json.dumps(standing)


def chain_of(row: sqlite3.Row, *, is_elsewhere: bool) -> SavedChain:
    """A row of `CHAINS` as a chain.

    Raises:
        ValueError: it holds what this program never wrote.
    """
    chain, _, is_usable, created_when, updated_when, texts, attempt_count = row
    origin, standing, reason, token = _decoded(texts)
    return SavedChain(
        chain,
        Origin(*origin),
        token,
        bool(is_usable),
        reason,
        Standing(*standing),
        moment_of(created_when),
        moment_of(updated_when),
        of_type(attempt_count or 0, int),
        is_elsewhere,
    )


def attempt_of(row: sqlite3.Row, *, is_abandoned: bool) -> SavedAttempt:
    """A row of the attempts; one that ran in a program that is gone was interrupted.

    Raises:
        ValueError: it holds what this program never wrote.
    """
    outcome = Outcome(row["outcome"])
    if outcome is Outcome.RUNNING and is_abandoned:
        outcome = Outcome.INTERRUPTED
    ended_when = row["ended_when"]
    return SavedAttempt(
        number=of_type(row["number"], int),
        started_when=moment_of(row["started_when"]),
        ended_when=None if ended_when is None else moment_of(ended_when),
        outcome=outcome,
        detail=of_type(json_of(row["detail"]), str),
    )


def of_type(value: object, kind: type[_Type]) -> _Type:
    """A value of that type; `ValueError` for any other, as a damaged file may hold."""
    if not isinstance(value, kind):
        raise ValueError(f"a value is a {type(value).__name__}")  # noqa: TRY004  # the caller knows no types
    return value


def moment_of(value: object) -> float:
    """Seconds since the epoch; `ValueError` for what is no time."""
    seconds = of_type(value, int | float)  # type: ignore[arg-type]  # a union is no type to mypy
    if not math.isfinite(seconds):
        raise ValueError("a time is endless")
    return seconds


def json_of(value: object) -> Any:
    """The JSON in a column; `ValueError` for what is none."""
    try:
        return json.loads(of_type(value, str))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _decoded(text: object) -> _Texts:
    try:
        found: _Texts = _decode(of_type(text, str))
    except msgspec.MsgspecError:  # half a surrogate pair or an endless number: rare, slower to read
        found = msgspec.convert(json_of(text), _Texts)
    return found
