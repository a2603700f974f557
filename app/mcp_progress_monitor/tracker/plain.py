"""Open requests of ours that are no jobs, remembered because what comes of them may be one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import RequestMade

PLAIN_KEPT: Final = 1000
"""Open requests that are remembered; beyond, the oldest is not."""


class PlainRequests:
    """Requests by the number of their frame, until they are answered or given up."""

    def __init__(self) -> None:
        self._open: dict[int, RequestMade] = {}
        self.answered: RequestMade | None = None
        """What the newest reply answers, if that is a request that was remembered here."""

    def __len__(self) -> int:
        return len(self._open)

    def add(self, request: RequestMade) -> None:
        """Remember a request."""
        self._open[request.number] = request
        if len(self._open) > PLAIN_KEPT:
            del self._open[next(iter(self._open))]

    def answer(self, request: int | None) -> RequestMade | None:
        """Take out the request that a reply is to; None if it was not remembered."""
        self.answered = self._open.pop(request or 0, None)
        return self.answered

    def drop(self, request: int | None) -> None:
        """Forget a request that was given up."""
        self._open.pop(request or 0, None)

    def drop_connection(self, connection: str) -> None:
        """Forget all that is open on a connection that is gone."""
        for number in [n for n, r in self._open.items() if r.connection == connection]:
            del self._open[number]
