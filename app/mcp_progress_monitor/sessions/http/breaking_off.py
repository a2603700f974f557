"""The body of a response, which may be left in the middle.

The client's own iterators do not end those within them. One that is left goes to the collector,
which ends it at any time, within any task, and breaks that task's cancel scopes.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import anyio
import httpx2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpcore2

_CLOSING_S: Final = 2.0


class Body(httpx2.AsyncByteStream):
    """Ends everything within it when it is itself ended, and in the same task."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, network: httpcore2.AsyncNetworkStream | None
    ) -> None:
        """The body `stream`, which comes over `network`; None where that is not known."""
        self._stream = stream
        self._network = network

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        chunks = aiter(self._stream)
        is_whole = False
        try:
            async for chunk in chunks:
                yield chunk
            is_whole = True
        finally:
            if not is_whole:
                await self._break_off(chunks)

    async def _break_off(self, chunks: AsyncIterator[bytes]) -> None:
        """Let the client read on over a connection that is closed: that ends all its iterators.

        They cannot be reached to be ended, and a connection left within a body is of no more use.
        """
        with anyio.move_on_after(_CLOSING_S, shield=True):
            if self._network is not None:
                await self._network.aclose()
            with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
                async for _ in chunks:
                    pass

    async def aclose(self) -> None:
        """End the response."""
        await self._stream.aclose()


def make_breakable(response: httpx2.Response) -> None:
    """Let the body of a response, none of which was read, be left in the middle."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = Body(response.stream, response.extensions.get("network_stream"))
