"""From a server's definition to the transport that reaches it."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from mcp_progress_monitor.sessions import open_files

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.references import Keyring
    from mcp_progress_monitor.sessions.sign_ins import SignIns
    from mcp_progress_monitor.sessions.transport import Transport


_HTTP: Final = "mcp_progress_monitor.sessions.http.transport"


@dataclasses.dataclass(frozen=True)
class Means:
    """What transports need of the program: secrets, the user's sign-in, where tokens are kept.

    Without `folder`, tokens of sign-ins last as long as the program. `older` are fingerprints of
    definitions whose servers turned out to speak HTTP+SSE of 2024-11-05.
    """

    keyring: Keyring
    sign_ins: SignIns
    folder: Path | None = None
    older: set[str] = dataclasses.field(default_factory=set)


async def prepare(definition: ServerDefinition) -> None:
    """Have ready what a transport needs: the HTTP client takes 0.2 s to import, beside the loop."""
    if definition.transport != "stdio" and _HTTP not in sys.modules:
        await anyio.to_thread.run_sync(importlib.import_module, _HTTP)


def transport_for(
    definition: ServerDefinition, framer: Framer, clock: Clock, means: Means
) -> Transport:
    """The transport of a new connection, not opened yet."""
    open_files.make_room()
    if definition.transport == "stdio":
        from mcp_progress_monitor.sessions.stdio import (
            StdioTransport,  # late: no start of the window waits for it
        )

        return StdioTransport(definition, framer, clock, means.keyring)
    # The HTTP client takes 0.2 s to import: only for who needs it.
    from mcp_progress_monitor.sessions.http.transport import HttpTransport

    return HttpTransport(definition, framer, clock, means)
