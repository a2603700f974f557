"""Copies what can still be read of a damaged SQLite file into a new one."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from mcp_progress_monitor.store.refusals import SQLITE_ERRORS, text_or_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def rescue(damaged: Path, target: sqlite3.Connection) -> int:
    """Insert the rows of `damaged` that can be read into the same tables of `target`.

    Returns how many there were. Rows that break a constraint are left out, and nothing is raised
    for what the damage does. Whether a row makes sense is for its reader to judge.
    """
    count = 0
    with contextlib.suppress(*SQLITE_ERRORS):
        target.execute("BEGIN IMMEDIATE")
        with contextlib.closing(_opened(damaged)) as source:
            # Parents were created before what refers to them.
            tables = target.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'"
                " AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid"
            ).fetchall()
            for (name,) in tables:
                count += _copied(source, target, name)
        target.execute("COMMIT")
    if target.in_transaction:
        target.execute("ROLLBACK")
        count = 0
    damaged.with_name(f"{damaged.name}-shm").unlink(missing_ok=True)
    return count


def _opened(damaged: Path) -> sqlite3.Connection:
    """A connection that changes nothing: any other would write the journal into the file."""
    journal = damaged.with_name(f"{damaged.name}-wal")
    mode = "mode=ro" if journal.exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{damaged.as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.text_factory = text_or_bytes
    return connection


def _copied(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> int:
    found = target.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    names = ", ".join(f'"{name}"' for (name,) in found)
    marks = ", ".join("?" for _ in found)
    insert = f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({marks})'  # noqa: S608 - our own names
    select = f'SELECT {names} FROM "{table}" ORDER BY 1'  # noqa: S608 - our own names
    before = target.total_changes
    try:
        _insert(source.execute(select), target, insert)
    except SQLITE_ERRORS:  # a damaged page: what is behind it is reached from the other end
        with contextlib.suppress(*SQLITE_ERRORS):
            _insert(source.execute(f"{select} DESC"), target, insert)
    return target.total_changes - before


def _insert(rows: Iterable[tuple[object, ...]], target: sqlite3.Connection, insert: str) -> None:
    for row in rows:
        with contextlib.suppress(*SQLITE_ERRORS):
            target.execute(insert, row)
