"""Saved resume chains: what is kept of each, the schema, and the statements that change them."""

from __future__ import annotations

import enum
import json
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from mcp_progress_monitor.protocol.facts import JsonObject

ChainId: TypeAlias = int
"""Names a chain for good: the number of a forgotten one is not given out again."""


class SavedOutcome(enum.Enum):
    """End of an attempt; the values are stored."""

    RUNNING = "running"
    RESUMABLE = "resumable"  # it was answered, with a token to go on with
    REFUSED = "refused"  # the server answered -32602: it does not take the token
    FAILED = "failed"
    LOST = "lost"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"  # the program that sent it ended before the reply
    UNKNOWN = "unknown"
    """Stored by a newer version of this program, in a word that this one does not know."""

    @classmethod
    def _missing_(cls, value: object) -> SavedOutcome | None:
        return cls.UNKNOWN if isinstance(value, str) else None


class Origin(NamedTuple):
    """The request a chain began with, and the server it went to.

    `server_key` is the definition's content (`job_key`), so that a renamed server still matches;
    `definition` is the whole of it as JSON, with the folder that it was started in (which earlier
    versions left out where the user had named none). `params` are as first sent, without a resume
    token and without the stamps of the per-request era; a progress token, if there was one, is in
    their `_meta`. They come back with their members in order and their numbers as they were.
    """

    server: str
    server_key: str
    definition: str
    revision: str
    method: str
    params: JsonObject


class SavedProgress(NamedTuple):
    """Where the work stood at the last tick: numbers as received, None where unknown."""

    progress: int | float | None = None
    total: int | float | None = None
    message: str | None = None


class SavedAttempt(NamedTuple):
    """One request of a chain. `number` counts from 1; `_when` are seconds since the epoch.

    `ended_when` is None while it runs, and for good when it was interrupted: nobody was there to
    look at the clock. `client` is the other client that made it, None where we did.
    """

    number: int
    started_when: float
    ended_when: float | None
    outcome: SavedOutcome
    detail: str
    client: str | None = None


class SavedChain(NamedTuple):
    """A chain as it lies on disk. A tuple: ten thousand are made at once, in half the time.

    `token` is the newest one, opaque. `is_usable` is False after a refusal: it is not offered
    again. `reason` says why it stopped; empty when the server only handed out a token.
    `is_elsewhere` is True while another running program has an attempt of it in flight.
    """

    id: ChainId
    origin: Origin
    token: str
    is_usable: bool
    reason: str
    standing: SavedProgress
    created_when: float
    updated_when: float
    attempt_count: int
    is_elsewhere: bool

    def __repr__(self) -> str:
        """Without the token: whoever has it may go on with the job."""
        return f"SavedChain(id={self.id}, origin={self.origin}, reason={self.reason!r})"


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
    """
    ALTER TABLE attempts ADD COLUMN client TEXT;
    CREATE TABLE watched (
        identity TEXT PRIMARY KEY,
        chain INTEGER REFERENCES chains (id) ON DELETE SET NULL,
        task INTEGER REFERENCES tasks (id) ON DELETE SET NULL,
        ending TEXT,
        ended_when REAL
    ) WITHOUT ROWID;
    CREATE INDEX watched_chains ON watched (chain) WHERE chain IS NOT NULL;
    CREATE INDEX watched_tasks ON watched (task) WHERE task IS NOT NULL;
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


def as_column(value: str | tuple[Any, ...]) -> str:
    """A text of anybody's making, an origin or a standing: as JSON, their members in order."""
    return json.dumps(value)


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
        SavedProgress(*standing),
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
    outcome = SavedOutcome(row["outcome"])
    if outcome is SavedOutcome.RUNNING and is_abandoned:
        outcome = SavedOutcome.INTERRUPTED
    ended_when = row["ended_when"]
    # A file that can only be read may be of an older format.
    client = row["client"] if "client" in row.keys() else None  # noqa: SIM118  # no mapping
    return SavedAttempt(
        number=of_type(row["number"], int),
        started_when=moment_of(row["started_when"]),
        ended_when=None if ended_when is None else moment_of(ended_when),
        outcome=outcome,
        detail=of_type(json_of(row["detail"]), str),
        client=None if client is None else of_type(json_of(client), str),
    )


def of_type(value: object, kind: type[_Type]) -> _Type:
    """A value of that type; `ValueError` for any other, as a damaged file may hold."""
    if not isinstance(value, kind):
        raise ValueError(f"unexpected value of type {type(value).__name__}")  # noqa: TRY004  # the caller knows no types
    return value


def moment_of(value: object) -> float:
    """Seconds since the epoch; `ValueError` for what is no time."""
    seconds = of_type(value, int | float)  # type: ignore[arg-type]  # a union is no type to mypy
    if not math.isfinite(seconds):
        raise ValueError("a time is not finite")
    return seconds


def json_of(value: object) -> Any:
    """The JSON in a column; `ValueError` for what is none."""
    try:
        return json.loads(of_type(value, str))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _decoded(text: object) -> _Texts:
    try:
        found: _Texts = _decode(of_type(text, str))
    except msgspec.MsgspecError:  # half a surrogate pair or an endless number: rare, slower to read
        found = msgspec.convert(json_of(text), _Texts)
    return found


_INTERRUPTED: Final = "The program that was resuming it exited before the reply arrived."


def add_chain(
    connection: sqlite3.Connection,
    origin: Origin,
    standing: SavedProgress,
    began: float,
    when: float,
) -> ChainId:
    chain: ChainId = connection.execute(
        "INSERT INTO chains (origin, standing, created_when, updated_when)"
        " VALUES (?, ?, ?, ?) RETURNING id",
        (as_column(origin), as_column(standing), began, when),
    ).fetchone()[0]
    return chain


def add_token(connection: sqlite3.Connection, chain: ChainId, token: str, when: float) -> None:
    connection.execute(
        "INSERT INTO tokens (chain, number, token, received_when)"
        " SELECT ?, coalesce(max(number), 0) + 1, ?, ? FROM tokens WHERE chain = ?",
        (chain, as_column(token), when, chain),
    )


def is_newer(
    connection: sqlite3.Connection, chain: ChainId, when: float, *, is_token: bool = True
) -> bool:
    """Return whether nobody resumes a chain, and all that is known of it is from before `when`.

    Of a token all other tokens have to be; of anything else, all attempts as well.
    """
    row = connection.execute(
        "SELECT owner, updated_when, (SELECT max(received_when) FROM tokens"
        " WHERE chain = chains.id) AS newest FROM chains WHERE id = ?",
        (chain,),
    ).fetchone()
    known = None if row is None else row["newest" if is_token else "updated_when"]
    return row is not None and row["owner"] is None and (known or 0.0) < when


def add_attempts(
    connection: sqlite3.Connection, chain: ChainId, attempts: Iterable[SavedAttempt]
) -> None:
    """Add attempts that were made elsewhere and have ended; those that are known stay."""
    connection.executemany(
        "INSERT OR IGNORE INTO attempts"
        " (chain, number, started_when, ended_when, outcome, detail, client)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                chain,
                attempt.number,
                attempt.started_when,
                attempt.ended_when,
                attempt.outcome.value,
                as_column(attempt.detail),
                None if attempt.client is None else as_column(attempt.client),
            )
            for attempt in attempts
        ],
    )


def add_attempt(connection: sqlite3.Connection, chain: ChainId, owner: str, when: float) -> None:
    """Let `owner` have the chain, with an attempt in flight; one before it was interrupted."""
    interrupt(connection, chain)
    connection.execute(
        "INSERT INTO attempts (chain, number, started_when, outcome)"
        " SELECT ?, coalesce(max(number), 0) + 1, ?, ? FROM attempts WHERE chain = ?",
        (chain, when, SavedOutcome.RUNNING.value, chain),
    )
    connection.execute(
        "UPDATE chains SET owner = ?, reason = ?, updated_when = ? WHERE id = ?",
        (owner, as_column(""), when, chain),
    )


def end_attempt(
    connection: sqlite3.Connection,
    chain: ChainId,
    outcome: SavedOutcome,
    detail: str,
    when: float | None,
) -> None:
    connection.execute(
        "UPDATE attempts SET outcome = ?, detail = ?, ended_when = ?"
        " WHERE chain = ? AND outcome = ?",
        (outcome.value, as_column(detail), when, chain, SavedOutcome.RUNNING.value),
    )


def interrupt(connection: sqlite3.Connection, chain: ChainId) -> None:
    """Close the attempt of a program that ended before the reply; nobody knows when."""
    end_attempt(connection, chain, SavedOutcome.INTERRUPTED, _INTERRUPTED, None)
    connection.execute(
        "UPDATE chains SET owner = NULL, reason = ? WHERE id = ? AND owner NOTNULL",
        (as_column(_INTERRUPTED), chain),
    )


def rest(
    connection: sqlite3.Connection,
    chain: ChainId,
    standing: SavedProgress,
    reason: str,
    when: float,
) -> bool:
    """Release a chain and save its state; False if it does not exist."""
    changed = connection.execute(
        "UPDATE chains SET owner = NULL, standing = ?, reason = ?, updated_when = ? WHERE id = ?",
        (as_column(standing), as_column(reason), when, chain),
    )
    return changed.rowcount > 0


def refuse(connection: sqlite3.Connection, chain: ChainId) -> None:
    """The server does not take the newest token: it is not offered again."""
    connection.execute("UPDATE chains SET is_usable = 0 WHERE id = ?", (chain,))


def delete(connection: sqlite3.Connection, chains: list[ChainId]) -> None:
    connection.executemany("DELETE FROM chains WHERE id = ?", [(chain,) for chain in chains])


def row_of(connection: sqlite3.Connection, chain: ChainId) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(f"{CHAINS} WHERE id = ?", (chain,)).fetchone()
    return row


def owned(connection: sqlite3.Connection) -> list[tuple[ChainId, object]]:
    """The chains that some program has, or had, an attempt of in flight; and which program."""
    found = connection.execute("SELECT id, owner FROM chains WHERE owner NOTNULL").fetchall()
    return [(row["id"], row["owner"]) for row in found]


def attempts_of(connection: sqlite3.Connection, chain: ChainId) -> list[sqlite3.Row]:
    return connection.execute(
        "SELECT attempts.*, chains.owner FROM attempts JOIN chains ON chains.id = attempts.chain"
        " WHERE chain = ? ORDER BY number",
        (chain,),
    ).fetchall()
