"""Saved resume chains: what is kept of each, the schema, and the statements that change them."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.store.columns import Column, Converted, Moment, as_column, read

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

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
    params: dict[str, Any]


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
    started_when: Moment
    ended_when: Moment | None
    outcome: Converted[SavedOutcome]
    detail: Column[str]
    client: Column[str] | None = None


class SavedChain(NamedTuple):
    """A chain as it lies on disk. A tuple: ten thousand are made at once, in half the time.

    `token` is the newest one, opaque. `is_usable` is False after a refusal: it is not offered
    again. `reason` says why it stopped; empty when the server only handed out a token.
    `is_elsewhere` is True while another running program has an attempt of it in flight.
    """

    id: ChainId
    origin: Column[Origin]
    token: Column[str]
    is_usable: Converted[bool]
    reason: Column[str]
    standing: Column[SavedProgress]
    created_when: Moment
    updated_when: Moment
    attempt_count: int
    is_elsewhere: bool

    def __repr__(self) -> str:
        """Leave out the token: anyone who has it can resume the job."""
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

CHAINS: Final = """
    SELECT id, origin,
        (SELECT token FROM tokens WHERE chain = chains.id ORDER BY number DESC LIMIT 1) AS token,
        is_usable, reason, standing, created_when, updated_when,
        coalesce((SELECT max(number) FROM attempts WHERE chain = chains.id), 0) AS attempt_count,
        owner
    FROM chains
"""
"""Chains with their owners, to be followed by WHERE or ORDER BY."""


def chain_of(row: sqlite3.Row, *, is_elsewhere: bool) -> SavedChain:
    """A row of `CHAINS` as a chain.

    Raises:
        ValueError: it holds what this program never wrote.
    """
    *columns, _ = row
    return read(SavedChain, (*columns, is_elsewhere))


def attempt_of(row: sqlite3.Row, *, is_abandoned: bool) -> SavedAttempt:
    """A row of the attempts; one that ran in a program that is gone was interrupted.

    Raises:
        ValueError: it holds what this program never wrote.
    """
    known = row.keys()  # a file that can only be read may be of an older format
    attempt = read(SavedAttempt, [row[name] for name in SavedAttempt._fields if name in known])
    if attempt.outcome is SavedOutcome.RUNNING and is_abandoned:
        return attempt._replace(outcome=SavedOutcome.INTERRUPTED)
    return attempt


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
    """True if a chain is not being resumed, and everything known of it predates `when`.

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


def with_token(connection: sqlite3.Connection, token: str) -> sqlite3.Row | None:
    """The newest chain with this as its newest token."""
    row: sqlite3.Row | None = connection.execute(
        f"SELECT * FROM ({CHAINS}) WHERE token = ? ORDER BY id DESC LIMIT 1",  # noqa: S608  # ours
        (as_column(token),),
    ).fetchone()
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
