"""The conversations of a recording, one for each connection, for as many as go on at a time."""

from __future__ import annotations

import collections
import operator
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.frame import Frame

CONNECTIONS_KEPT: Final = 4096
"""Connections whose open requests are remembered; beyond, those not heard of for longest go."""

_raw_of = operator.attrgetter("raw")


class Connections:
    """Finds who reads the frames of a connection. Bounded: a file may name millions of them."""

    def __init__(self) -> None:
        self._conversations: collections.OrderedDict[str, Conversation] = collections.OrderedDict()
        self._dropped = 0

    @property
    def problems(self) -> list[Problem]:
        """That connections were let go of before their end."""
        if not self._dropped:
            return []
        what = f"More than {CONNECTIONS_KEPT:,} connections go on at the same time"
        detail = f"Replies and ticks of {self._dropped:,} of them may not find their requests."
        return [Problem(what, detail=detail)]

    def of(self, connection: str) -> Conversation:
        """The reader of a connection's frames."""
        known = self._conversations.get(connection)
        if known is not None:
            self._conversations.move_to_end(connection)
            return known
        made = self._conversations[connection] = Conversation(connection)
        if len(self._conversations) > CONNECTIONS_KEPT:
            _, oldest = self._conversations.popitem(last=False)
            self._dropped += bool(oldest.open_requests or oldest.open_tokens)
        return made

    @staticmethod
    def is_large(frames: Sequence[Frame]) -> bool:
        """Whether one of the frames takes long to be read."""
        return max(map(len, map(_raw_of, frames)), default=0) > OVERSIZED
