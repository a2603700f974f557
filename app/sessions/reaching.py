"""From a server's definition to the transport that reaches it."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from app.sessions import open_files

if TYPE_CHECKING:
    from pathlib import Path

    from app.protocol.framing import Framer
    from app.sessions.clock import Clock
    from app.sessions.definitions import ServerDefinition
    from app.sessions.references import Keyring
    from app.sessions.sign_ins import SignIns
    from app.sessions.transport import Transport


_HTTP: Final = "app.sessions.http.transport"


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
        from app.sessions.stdio import StdioTransport  # late: no start of the window waits for it

        return StdioTransport(definition, framer, clock, means.keyring)
    # The HTTP client takes 0.2 s to import: only for who needs it.
    from app.sessions.http.transport import HttpTransport

    return HttpTransport(definition, framer, clock, means)
