"""What transports need of the program: secrets, sign-in, and where tokens are kept."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from mcp_progress_monitor.snapshots.servers import SignIn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_progress_monitor.secrets.references import Keyring


class SignIns:
    """By server's name, the sign-in that is waited for. A time limit stands still meanwhile."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        """Names of servers for which it begins or ends go to `on_change`."""
        self.kept: dict[str, dict[str, Any]] = {}
        """Tokens that last as long as the program: where there is no folder for them."""
        self._on_change = on_change
        self._open: dict[str, SignIn] = {}
        self._turns: dict[str, anyio.Lock] = {}

    def of(self, server: str) -> SignIn | None:
        """What a server's user has to do; None when it is nothing."""
        return self._open.get(server)

    def begin(self, server: str, url: str) -> None:
        """A server's user is to open `url`."""
        self._open[server] = SignIn(server, url)
        self._on_change(server)

    def end(self, server: str) -> None:
        """That is done, or given up."""
        if self._open.pop(server, None) is not None:
            self._on_change(server)

    def turn(self, key: str) -> anyio.Lock:
        """Whose turn it is to get tokens: connections that share them ask the user once."""
        return self._turns.setdefault(key, anyio.Lock())


@dataclasses.dataclass(frozen=True)
class TransportResources:
    """What transports need of the program: secrets, the user's sign-in, where tokens are kept.

    Without `folder`, tokens of sign-ins last as long as the program. `older` are fingerprints of
    definitions whose servers turned out to speak HTTP+SSE of 2024-11-05.
    """

    keyring: Keyring
    sign_ins: SignIns
    folder: Path | None = None
    older: set[str] = dataclasses.field(default_factory=set)
