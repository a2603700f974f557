"""What is done to the rows of a chain, each within a transaction that somebody else began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.store.chains import ChainId, Origin, Outcome, Standing
from mcp_progress_monitor.store.rows import CHAINS, origin_text, standing_text, text_of

if TYPE_CHECKING:
    import sqlite3

_INTERRUPTED: Final = "The program that resumed it ended before the reply came."


def add_chain(
    connection: sqlite3.Connection, origin: Origin, standing: Standing, began: float, when: float
) -> ChainId:
    """Make a chain of a first attempt that was just answered; its token is still to be added."""
    chain: ChainId = connection.execute(
        "INSERT INTO chains (origin, standing, created_when, updated_when)"
        " VALUES (?, ?, ?, ?) RETURNING id",
        (origin_text(origin), standing_text(standing), began, when),
    ).fetchone()[0]
    connection.execute(
        "INSERT INTO attempts (chain, number, started_when, ended_when, outcome)"
        " VALUES (?, 1, ?, ?, ?)",
        (chain, began, when, Outcome.RESUMABLE.value),
    )
    return chain


def add_token(connection: sqlite3.Connection, chain: ChainId, token: str, when: float) -> None:
    """Make `token` the newest of the chain."""
    connection.execute(
        "INSERT INTO tokens (chain, number, token, received_when)"
        " SELECT ?, coalesce(max(number), 0) + 1, ?, ? FROM tokens WHERE chain = ?",
        (chain, text_of(token), when, chain),
    )


def add_attempt(connection: sqlite3.Connection, chain: ChainId, owner: str, when: float) -> None:
    """Let `owner` have the chain, with an attempt in flight; one before it was interrupted."""
    interrupt(connection, chain)
    connection.execute(
        "INSERT INTO attempts (chain, number, started_when, outcome)"
        " SELECT ?, coalesce(max(number), 0) + 1, ?, ? FROM attempts WHERE chain = ?",
        (chain, when, Outcome.RUNNING.value, chain),
    )
    connection.execute(
        "UPDATE chains SET owner = ?, reason = ?, updated_when = ? WHERE id = ?",
        (owner, text_of(""), when, chain),
    )


def end_attempt(
    connection: sqlite3.Connection,
    chain: ChainId,
    outcome: Outcome,
    detail: str,
    when: float | None,
) -> None:
    """Say how the attempt in flight ended; nothing happens when none is."""
    connection.execute(
        "UPDATE attempts SET outcome = ?, detail = ?, ended_when = ?"
        " WHERE chain = ? AND outcome = ?",
        (outcome.value, text_of(detail), when, chain, Outcome.RUNNING.value),
    )


def interrupt(connection: sqlite3.Connection, chain: ChainId) -> None:
    """Close the attempt of a program that ended before the reply; nobody knows when."""
    end_attempt(connection, chain, Outcome.INTERRUPTED, _INTERRUPTED, None)
    connection.execute(
        "UPDATE chains SET owner = NULL, reason = ? WHERE id = ? AND owner NOTNULL",
        (text_of(_INTERRUPTED), chain),
    )


def rest(
    connection: sqlite3.Connection, chain: ChainId, standing: Standing, reason: str, when: float
) -> bool:
    """Let go of a chain and note where it stands; False when it is not there."""
    changed = connection.execute(
        "UPDATE chains SET owner = NULL, standing = ?, reason = ?, updated_when = ? WHERE id = ?",
        (standing_text(standing), text_of(reason), when, chain),
    )
    return changed.rowcount > 0


def refuse(connection: sqlite3.Connection, chain: ChainId) -> None:
    """The server does not take the newest token: it is not offered again."""
    connection.execute("UPDATE chains SET is_usable = 0 WHERE id = ?", (chain,))


def delete(connection: sqlite3.Connection, chains: list[ChainId]) -> None:
    """Delete chains with all that belongs to them."""
    connection.executemany("DELETE FROM chains WHERE id = ?", [(chain,) for chain in chains])


def row_of(connection: sqlite3.Connection, chain: ChainId) -> sqlite3.Row | None:
    """The row of `CHAINS` for one chain."""
    row: sqlite3.Row | None = connection.execute(f"{CHAINS} WHERE id = ?", (chain,)).fetchone()
    return row


def owned(connection: sqlite3.Connection) -> list[tuple[ChainId, object]]:
    """The chains that some program has, or had, an attempt of in flight; and which program."""
    found = connection.execute("SELECT id, owner FROM chains WHERE owner NOTNULL").fetchall()
    return [(row["id"], row["owner"]) for row in found]


def attempts_of(connection: sqlite3.Connection, chain: ChainId) -> list[sqlite3.Row]:
    """The rows of its attempts, each with the owner of the chain."""
    return connection.execute(
        "SELECT attempts.*, chains.owner FROM attempts JOIN chains ON chains.id = attempts.chain"
        " WHERE chain = ? ORDER BY number",
        (chain,),
    ).fetchall()
