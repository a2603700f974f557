"""The interface of what changes messages over HTTP: a script, or progress that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class ChangedExchange(Protocol):
    """One request and its response, as they are changed."""

    async def message(self, side: str, raw: bytes) -> tuple[bytes | None, dict[str, object] | None]:
        """The body to pass on, or None if dropped; and the change to record, if any."""

    async def stream(
        self, pieces: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Pass on a stream of events; raises what `pieces` or `send` raise."""


class HttpChanges(Protocol):
    """All changes of a tap; `may_drop` says that a request may get no reply because of them."""

    may_drop: bool

    def opening(self) -> dict[str, object] | None:
        """The fields of the event `script` that a session begins with; None for none."""

    def exchange(
        self,
        session: str,
        note: Callable[[dict[str, object]], None],
        keep_back: Callable[[bytes], None],
    ) -> ChangedExchange:
        """The changes to one request of a session and its response.

        `note` records a change, and `keep_back` bytes of the server that are not passed on.
        """
