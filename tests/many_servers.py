"""Many servers connected and disconnected side by side, each by its own wish."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError

_AT_ONCE: Final = 8
"""As the window does: each has a limit to be ready in."""


async def connect_all(
    connect: Callable[[str], Awaitable[object]], names: Iterable[str]
) -> dict[str, ErrorDetails]:
    """Connect servers, a few at a time; why those cannot be that cannot."""
    errors: dict[str, ErrorDetails] = {}
    turns = anyio.CapacityLimiter(_AT_ONCE)

    async def connect_one(name: str) -> None:
        try:
            async with turns:
                await connect(name)
        except UserError as error:
            errors[name] = error.details

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(connect_one, name)
    return errors


async def disconnect_all(
    disconnect: Callable[[str], Coroutine[Any, Any, None]], names: Iterable[str]
) -> None:
    """Disconnect servers, all at the same time."""
    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(disconnect, name)
