"""Makes the transport for a server's definition, and holds what transports share."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor.sessions.transport import base

if TYPE_CHECKING:
    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.sessions.transport.base import Transport, TransportResources
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


_HTTP: Final = "mcp_progress_monitor.sessions.transport.http.transport"


async def prepare(definition: ServerDefinition) -> None:
    """Import what a transport needs: the HTTP client takes 0.2 s, in a thread."""
    if definition.transport != "stdio" and _HTTP not in sys.modules:
        await anyio.to_thread.run_sync(importlib.import_module, _HTTP)


def transport_for(
    definition: ServerDefinition, framer: Framer, clock: Clock, means: TransportResources
) -> Transport:
    base.make_room()
    if definition.transport == "stdio":
        from mcp_progress_monitor.sessions.transport.stdio import StdioTransport

        return StdioTransport(definition, framer, clock, means.keyring)
    # The HTTP client takes 0.2 s to import: only if it is needed.
    from mcp_progress_monitor.sessions.transport.http.transport import HttpTransport

    return HttpTransport(definition, framer, clock, means)
