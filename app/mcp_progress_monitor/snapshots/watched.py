"""Snapshots of servers that another client runs and a tap lets us watch."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot


class TapEnd(NamedTuple):
    """End of a watched session.

    `exit_code` and `signal` are the server's. `ended_by` is "server", "client", "tap" or "script";
    empty if the tap was killed and could not record it.
    """

    reason: str
    exit_code: int | None = None
    signal: str | None = None
    ended_by: str = ""


class Gaps(NamedTuple):
    """Messages that passed a tap but are missing from its recording."""

    messages: int = 0
    bytes: int = 0
    why: str = ""


NO_GAPS = Gaps()


class WatchedSnapshot(NamedTuple):
    """A server of another client at one moment.

    `server` is derived from its messages. `label` is the name given to its tap and may repeat;
    `server.name` is unique. `client` is the client's name for itself, or else the best guess.
    `pid` is the tap's. `end` is None while the session runs. `script` is the file with the rules by
    which the tap changes messages; empty if it only watches. `is_reached` is False while the
    connection to its machine is lost.
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
    machine: str = ""
    is_reached: bool = True

    @property
    def name(self) -> str:
        return self.server.name

    @property
    def is_live(self) -> bool:
        return self.end is None


class MachineState(enum.Enum):
    """State of the connection to another machine."""

    CONNECTING = "connecting"
    LIVE = "live"
    WAITING = "waiting"  # to be connected again
    STOPPED = "stopped"  # by the user, or not approved


class MachineSnapshot(NamedTuple):
    """Another machine that is watched, at one moment.

    `name` was given by the user; `host` is its own name. `retry_at` is when it is connected again,
    monotonic seconds. `error` says why the last connection ended.
    """

    name: str
    address: str
    state: MachineState
    host: str = ""
    error: ErrorDetails | None = None
    retry_at: float | None = None
