"""Which saved chains and tasks are jobs of other clients, and which of these have ended here.

A tap that still writes is read from its beginning by every run of the program: without a note of
what was resumed here to its end, the job would be offered again.
"""

from __future__ import annotations

import enum
import hashlib
import json
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.formatting import on_machine

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from mcp_progress_monitor.store.chains import Origin

UNKNOWN_CLIENT: Final = "unknown client"
_WATCHED: Final = "watched by "
_OF_SDK: Final = f'{_WATCHED}"mcp"'  # the Python SDK's name of a client that gives none
_KEPT_S: Final = 90 * 86_400.0  # how long it is remembered that a job has ended here


class WatchedEnding(enum.Enum):
    """End of a job of another client here; the values are stored."""

    COMPLETED = "completed"
    FORGOTTEN = "forgotten"  # the user deleted its token


class KnownWatched(NamedTuple):
    """Saved state of a job of another client: a chain, a task, or how it ended here."""

    chain: int | None = None
    task: int | None = None
    ending: WatchedEnding | None = None


def watched_key(client: str, key: str, machine: str = "") -> str:
    """Key of a server run by another client, perhaps on another machine; distinct from our own."""
    return f"{_WATCHED}{json.dumps([client, machine] if machine else client)}\n{key}"


def split_watched_key(key: str) -> tuple[str, str] | None:
    """The client and the server's own key of a `watched_key`; None for one of our own keys."""
    found = _who(key)
    return None if found is None else (on_machine(*found), key.partition("\n")[2])


def machine_of_key(key: str) -> str:
    """The other machine of a `watched_key`; empty for this one."""
    found = _who(key)
    return "" if found is None else found[1]


def _who(key: str) -> tuple[str, str] | None:
    """The client of a `watched_key` and its machine; None for one of our own keys."""
    first = key.partition("\n")[0]
    if not first.startswith(_WATCHED):
        return None
    try:
        client = json.loads(first.removeprefix(_WATCHED))
    except ValueError:
        client = UNKNOWN_CLIENT
    match client:
        case str():
            return client, ""
        case [str(), str()]:
            return client[0], client[1]
    return UNKNOWN_CLIENT, ""


def identities_of(origin: Origin, began: float, task: str = "") -> tuple[str, ...]:
    """Identify a job of another client, whoever watches it: a server's request of that moment.

    The first one is saved; version 0.1.0 put the client's name before the server's key, which may
    have been the one of its SDK.
    """
    key = origin.server_key
    _, _, bare = key.partition("\n")
    earlier = (key, f"{_OF_SDK}\n{bare}") if bare else ()
    return tuple(_hashed(each, origin.method, began, task) for each in (bare or key, *earlier))


def _hashed(*identity: object) -> str:
    return hashlib.sha256(json.dumps(identity).encode("utf-8", "surrogatepass")).hexdigest()


def find(connection: sqlite3.Connection, identities: Iterable[str]) -> KnownWatched:
    """Find what is saved under one of `identities`."""
    for identity in identities:
        row = connection.execute(
            "SELECT chain, task, ending FROM watched WHERE identity = ?", (identity,)
        ).fetchone()
        if row is not None:
            is_ended = row["chain"] is None and row["task"] is None
            ending = _ending(row["ending"]) if is_ended else None
            return KnownWatched(row["chain"], row["task"], ending)
    return KnownWatched()


def _ending(value: object) -> WatchedEnding:
    is_completed = value == WatchedEnding.COMPLETED.value
    return WatchedEnding.COMPLETED if is_completed else WatchedEnding.FORGOTTEN


def link(
    connection: sqlite3.Connection,
    identity: str,
    *,
    chain: int | None = None,
    task: int | None = None,
) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO watched (identity, chain, task) VALUES (?, ?, ?)",
        (identity, chain, task),
    )


def end(
    connection: sqlite3.Connection,
    ending: WatchedEnding | None,
    when: float,
    *,
    chains: Iterable[int] = (),
    tasks: Iterable[int] = (),
) -> None:
    """Remember how jobs ended, before what is saved of them is deleted; with None, forget them."""
    for column, ids in (("chain", chains), ("task", tasks)):
        if ending is None:
            statement = f"DELETE FROM watched WHERE {column} = ?"  # noqa: S608  # one of the two
            connection.executemany(statement, [(each,) for each in ids])
        else:
            statement = f"UPDATE watched SET ending = ?, ended_when = ? WHERE {column} = ?"  # noqa: S608  # as above
            connection.executemany(statement, [(ending.value, when, each) for each in ids])
    connection.execute("DELETE FROM watched WHERE ended_when < ?", (when - _KEPT_S,))
