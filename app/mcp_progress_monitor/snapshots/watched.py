"""What views read about a server that another client runs, and a tap lets us watch."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

UNKNOWN_CLIENT = "unknown client"


class TapEnd(NamedTuple):
    """How a watched session ended.

    `exit_code` and `signal` are the server's, None where there is none; `ended_by` is "server",
    "client", "tap" or "script", empty where nobody said so: the tap was killed.
    """

    reason: str
    exit_code: int | None = None
    signal: str | None = None
    ended_by: str = ""


class Gaps(NamedTuple):
    """What passed a tap and is not in its recording."""

    messages: int = 0
    size: int = 0
    why: str = ""


NO_GAPS = Gaps()


@dataclasses.dataclass(frozen=True, slots=True)
class WatchedSnapshot:
    """One server of another client at one moment.

    `server` is what its messages tell of it, `label` the name that its tap was given: two taps may
    have the same, `server.name` is one server's alone. `client` is what the client calls itself,
    else what is known of it. `pid` is the tap's. `end` is None while it runs.
    `script` names the file by whose rules the tap changes what passes; "" where it only watches.
    """

    server: ServerSnapshot
    label: str
    client: str
    client_version: str
    pid: int | None
    transport: str
    path: Path
    began_when: float | None
    end: TapEnd | None = None
    gaps: Gaps = NO_GAPS
    script: str = ""

    @property
    def name(self) -> str:
        return self.server.name

    @property
    def is_live(self) -> bool:
        return self.end is None


_WATCHED: Final = "watched by "


def watched_key(client: str, key: str) -> str:
    """What a server is to the jobs of another client: never what it is to ours."""
    return f"{_WATCHED}{json.dumps(client)}\n{key}"


def watched_by(key: str) -> tuple[str, str] | None:
    """The client and the server's own key of a `watched_key`; None for the key of our own."""
    first, _, rest = key.partition("\n")
    if not first.startswith(_WATCHED):
        return None
    try:
        client = json.loads(first.removeprefix(_WATCHED))
    except ValueError:
        client = UNKNOWN_CLIENT
    return (client if isinstance(client, str) else UNKNOWN_CLIENT), rest
