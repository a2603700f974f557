"""A chain to save, and short ways to save and read one."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from mcp_progress_monitor.store.chains import ChainId, Origin, SavedChain, SavedProgress
from mcp_progress_monitor.store.resumes import FILE, ResumeStore

PARAMS: dict[str, Any] = {
    "name": "export",
    "arguments": {"rows": 3, "name": "x"},
    "_meta": {"progressToken": "a"},
}
ORIGIN = Origin(
    server="files",
    server_key="5f",
    definition='{"type":"stdio","command":"python"}',
    revision="2025-11-25",
    method="tools/call",
    params=PARAMS,
)
STANDING = SavedProgress(3, 10, "Row 3")
SHARED_UNTIL = 40
"""The last token of a chain that programs bring forward in turns."""


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[ResumeStore]:
    """A store in `folder`, as another program would open it."""
    store = ResumeStore(folder)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def begun(store: ResumeStore, first: str = "t1", origin: Origin = ORIGIN) -> ChainId:
    """Save a new chain with its first token."""
    return await store.begin(origin, first, STANDING, started_when=100.0, when=105.0)


async def the_chain(store: ResumeStore) -> SavedChain:
    """The only chain there is."""
    (chain,) = await store.chains()
    return chain


def query(folder: Path, sql: str, *parameters: object) -> list[Any]:
    """What any other program reads in the file, without the store's help."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        return connection.execute(sql, parameters).fetchall()


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of each of the database's files in `folder`, by name."""
    return {path.name: path.read_bytes() for path in folder.glob(f"{FILE}*")}


def rights(folder: Path) -> dict[str, str]:
    """The rights of each file and folder below `folder`, in octal."""
    return {
        path.relative_to(folder).as_posix(): f"{path.stat().st_mode & 0o777:o}"
        for path in folder.rglob("*")
    }
