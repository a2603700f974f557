"""How long known clients wait for a silent server: a dated table, and nothing else.

A client that gives up a call loses its result. The limits are defaults; users may have set others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

AS_OF: Final = "2026-11"
"""When the table was last compared with its sources."""


class ClientLimit(NamedTuple):
    """How long a client waits for a message about a call, in seconds.

    `transport` is `stdio`, `http`, or empty for both. `source` is where that was found, `seen` when
    the source said so.
    """

    client: str
    transport: str
    limit_s: float
    seen: str
    source: str


LIMITS: Final = (
    ClientLimit("MCP TypeScript SDK", "", 60.0, "2026-11", "DEFAULT_REQUEST_TIMEOUT_MSEC, 1.32"),
    ClientLimit("GitHub Copilot CLI", "", 60.0, "2026-02", "github/copilot-cli, issue 1535"),
    ClientLimit(
        "Claude Code desktop app", "stdio", 60.0, "2026-05", "anthropics/claude-code, issue 63379"
    ),
    ClientLimit("Claude Desktop", "", 240.0, "2026-05", "anthropics/claude-code, issue 44032"),
    ClientLimit("Claude Code", "http", 300.0, "2026-11", "observed: 5 min without a message"),
    ClientLimit("Qwen Code", "", 600.0, "2026-07", "QwenLM/qwen-code, issue 574"),
    ClientLimit("Claude Code", "stdio", 1800.0, "2026-11", "observed: 30 min without a message"),
)
"""The shortest limits first."""

USUAL_S: Final = LIMITS[0].limit_s
"""The limit of most clients, which are built on the SDK that has it."""


def that_give_up(silence_s: float, *, is_http: bool) -> tuple[ClientLimit, ...]:
    """The clients that a server loses by being silent for so long, the most impatient first."""
    other = "stdio" if is_http else "http"
    return tuple(each for each in LIMITS if each.limit_s < silence_s and each.transport != other)
