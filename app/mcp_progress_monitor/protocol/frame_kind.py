"""What a frame is to someone who reads the log: the coarse kinds that rows are coloured by."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    StderrReceived,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.frame import Channel

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import Fact


class FrameKind(enum.IntEnum):
    """Small numbers, so that a column of an index holds them in a byte each."""

    REQUEST = 0
    REPLY = 1
    ERROR = 2
    """A reply that is a JSON-RPC error."""
    PROGRESS = 3
    NOTIFICATION = 4
    STDERR = 5
    EVENT = 6
    UNREADABLE = 7
    BATCH = 8
    """A whole batch; its elements are frames of their own."""

    @property
    def word(self) -> str:
        """As filters and exports name it, such as `request` or `error`."""
        return self.name.lower()


_BY_FACT: dict[type, FrameKind] = {
    RequestMade: FrameKind.REQUEST,
    ProgressReceived: FrameKind.PROGRESS,
    RequestCancelled: FrameKind.NOTIFICATION,
    NotificationReceived: FrameKind.NOTIFICATION,
    StderrReceived: FrameKind.STDERR,
    UnreadableReceived: FrameKind.UNREADABLE,
}


def kind_of(channel: Channel, fact: Fact | None) -> FrameKind:
    """What a frame on `channel` is, by the fact read from it; a batch line gives no fact."""
    if channel is Channel.STDERR:
        return FrameKind.STDERR
    if channel is Channel.EVENT:
        return FrameKind.EVENT
    if isinstance(fact, RequestAnswered):
        return FrameKind.REPLY if fact.error is None else FrameKind.ERROR
    return FrameKind.BATCH if fact is None else _BY_FACT.get(type(fact), FrameKind.NOTIFICATION)
