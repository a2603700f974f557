"""What transports need from the program: secrets, sign-ins, and the token folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.to_thread

from mcp_progress_monitor.snapshots.servers import SignIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_progress_monitor.secrets.references import Keyring


class SignIns:
    """The open sign-in of each server. Time limits are held meanwhile."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        """Call `on_change` with the names of servers whose sign-in begins or ends."""
        self.kept: dict[str, dict[str, Any]] = {}
        """Tokens that last until the program exits, if there is no folder for them."""
        self._on_change = on_change
        self._open: dict[str, SignIn] = {}
        self._turns: dict[str, anyio.Lock] = {}

    def of(self, server: str) -> SignIn | None:
        return self._open.get(server)

    def begin(self, server: str, url: str) -> None:
        self._open[server] = SignIn(server, url)
        self._on_change(server)

    def end(self, server: str) -> None:
        if self._open.pop(server, None) is not None:
            self._on_change(server)

    def turn(self, key: str) -> anyio.Lock:
        """Serialises getting tokens: connections that share them ask the user once."""
        return self._turns.setdefault(key, anyio.Lock())


class TransportResources(NamedTuple):
    """What transports need from the program: secrets, sign-ins, and the token folder.

    Without `folder`, tokens last until the program exits. `older` are fingerprints of definitions
    whose servers speak HTTP+SSE of 2024-11-05.
    """

    keyring: Keyring
    sign_ins: SignIns
    folder: Path | None
    older: set[str]
