"""A frame: one message's exact bytes with its connection, channel and time.

Everything the program knows is derived from frames, live or recorded. A frame says nothing of
what its bytes mean: `protocol.conversation` decodes it, once, and states facts.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class Channel(enum.IntEnum):
    """Where a frame's bytes were seen."""

    SENT = 0
    """We wrote them to the server (its stdin)."""
    RECEIVED = 1
    """The server wrote them to us (its stdout)."""
    STDERR = 2
    """One line of the server's standard error, without its line end."""
    EVENT = 3
    """A connection event of our own: a JSON object with an `event` key (see `Framer.event`)."""


class Part(NamedTuple):
    """A frame's place in a JSON-RPC batch: element `index` (from 1) of `count`."""

    index: int  # type: ignore[assignment]  # hides the tuple's method of that name
    count: int  # type: ignore[assignment]  # idem


class Frame(NamedTuple):
    """One message, stderr line or connection event.

    `number` counts up over the whole program and names the frame; it is also the identity of the
    request that the frame carries. `connection` is the connection's id, `"<server>#<n>"`.
    `when` is wall time (seconds since the epoch), `at` monotonic time (seconds). `raw` is exact,
    without the final line feed (a carriage return before it stays). A batch line is one frame
    (`part` None), followed by a frame for every element (`part` set, `raw` the exact slice).
    `is_complete` is False for a last line that the stream ended within.
    """

    number: int
    connection: str
    channel: Channel
    when: float
    at: float
    raw: bytes
    part: Part | None = None
    is_complete: bool = True


def server_name(connection: str) -> str:
    """The server's name in a connection id: `"local-db#2"` → `"local-db"`."""
    return connection.rpartition("#")[0] or connection
