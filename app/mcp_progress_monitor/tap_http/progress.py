"""Requests progress over HTTP for clients that do not ask; see `tap.progress`."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING

from mcp_progress_monitor.protocol.sse import SseParser
from mcp_progress_monitor.tap.files import change_of
from mcp_progress_monitor.tap.progress import ProgressRequests

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class HttpProgress:
    """Adds tokens to all clients' requests, and keeps the progress for these back."""

    may_drop = False

    def __init__(self) -> None:
        self._requests = ProgressRequests()
        self._numbers = itertools.count(1)

    def opening(self) -> None:
        """Return nothing: no script changes the session."""

    def exchange(
        self,
        _session: str,
        _note: Callable[[dict[str, object]], None],
        keep_back: Callable[[bytes], None],
    ) -> ProgressExchange:
        """The changes to one request; `keep_back` records events that are not passed on."""
        return ProgressExchange(self._requests, self._numbers, keep_back)


class ProgressExchange:
    """One request, which may get a token, and its response."""

    def __init__(
        self,
        requests: ProgressRequests,
        numbers: itertools.count[int],
        keep_back: Callable[[bytes], None],
    ) -> None:
        self._requests = requests
        self._numbers = numbers
        self._keep_back = keep_back

    async def message(self, side: str, raw: bytes) -> tuple[bytes, dict[str, object] | None]:
        """A body with a token if it is a request without one; else the same bytes."""
        number = next(self._numbers)
        changed = self._requests.with_token(raw) if side == "client" else None
        if changed is None:
            return raw, None
        return changed, change_of(number, raw)

    async def stream(
        self, pieces: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Pass on all events but progress that only this tap asked for."""
        parser = SseParser(sys.maxsize)
        async for data in pieces:
            passed: list[bytes] = []
            for event in parser.feed(data):
                if event.is_message and self._requests.is_kept_back(event.data or b""):
                    if passed:
                        await send(b"".join(passed))
                        passed.clear()
                    self._keep_back(event.raw)
                else:
                    passed.append(event.raw)
            if passed:
                await send(b"".join(passed))
        rest = b"".join(event.raw for event in parser.end())
        if rest:
            await send(rest)
