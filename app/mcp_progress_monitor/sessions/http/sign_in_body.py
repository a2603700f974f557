"""Answers around a sign-in, read whole and bounded: who gives them is not trusted."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

import anyio
import httpx2

from mcp_progress_monitor import text
from mcp_progress_monitor.sessions.http import sign_in_words as words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_LARGEST: Final = 1024 * 1024
_LARGEST_PACKED: Final = 64 * 1024
"""Bytes of a body that is compressed, although that was not asked for: it may grow thousandfold."""
_LIMIT_S: Final = 30.0


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends when it is too large, or takes too long."""

    def __init__(self, stream: httpx2.AsyncByteStream, largest: int) -> None:
        self.is_cut = False
        self._stream = stream
        self._room = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        deadline = anyio.current_time() + _LIMIT_S
        chunks = self._stream.__aiter__()
        try:
            while self._room >= 0:
                chunk = None
                # Around each chunk, not around them all: a scope must not be open in a yield.
                with anyio.CancelScope(deadline=deadline) as scope:
                    chunk = await anext(chunks, b"")
                if scope.cancelled_caught or chunk is None:
                    break
                if not chunk:
                    return
                self._room -= len(chunk)
                yield chunk
            self.is_cut = True
        finally:
            if isinstance(chunks, AsyncGenerator):  # or it would be left to the collector
                await chunks.aclose()

    async def aclose(self) -> None:
        """End the response."""
        await self._stream.aclose()


async def read_answer(response: httpx2.Response) -> httpx2.Response:
    """Read an authorization server's whole answer. `ProblemError` when it is too long or slow."""
    if await _is_cut(response, _LARGEST):
        raise words.too_large(text.size(_LARGEST), str(response.request.url))
    return response


async def read_refusal(response: httpx2.Response) -> None:
    """Read what comes with a refusal, as much as is of use."""
    await _is_cut(response, _LARGEST_PACKED)


async def _is_cut(response: httpx2.Response, largest: int) -> bool:
    is_packed = response.headers.get("content-encoding", "identity").lower() != "identity"
    if response.is_closed or not isinstance(response.stream, httpx2.AsyncByteStream):
        return False
    body = _Bounded(response.stream, _LARGEST_PACKED if is_packed else largest)
    response.stream = body
    await response.aread()
    return body.is_cut
