"""How much the client wants to be told: a level for the session, or one for each request.

Source: "Logging" of the revisions with a handshake (`logging/setLevel`), and 2026-07-28, where a
request that carries no level gets no log messages.
"""

from typing import Final

from mcp_progress_monitor.demo.messages import INVALID_PARAMS, RpcError

LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
"""From the least to the most severe (RFC 5424)."""


class LogLevel:
    """The lowest level to be sent; everything until the client asks for less."""

    def __init__(self) -> None:
        """Send everything."""
        self._lowest = 0

    def set(self, level: object) -> None:
        """Serve `logging/setLevel`.

        Raises:
            RpcError: There is no such level.
        """
        self._lowest = severity(level)

    def wants(self, level: str) -> bool:
        """Tell whether a message of this level is to be sent."""
        return severity(level) >= self._lowest


def severity(level: object) -> int:
    """Return how severe a level is.

    Raises:
        RpcError: There is no such level.
    """
    if level not in LEVELS:
        raise RpcError(INVALID_PARAMS, f"A log level is one of {', '.join(LEVELS)}, not {level!r}")
    return LEVELS.index(str(level))
