"""How long known clients wait for a silent server: a dated table, and nothing else.

A client that gives up a call loses its result. The limits are defaults; users may have set others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

AS_OF: Final = "2026-11"  # when the table was last compared with its sources


class ClientLimit(NamedTuple):
    """Time a client waits for a message about a call, in seconds.

    `transport` is `stdio`, `http`, or empty for both. `source` is how that is known and from where,
    `seen` when the source said so: nothing here was measured by this project.
    """

    client: str
    transport: str
    limit_s: float
    seen: str
    source: str


LIMITS: Final = (
    ClientLimit(
        "MCP TypeScript SDK",
        "",
        60.0,
        "2026-11",
        "source code of 1.32 and 2.4: DEFAULT_REQUEST_TIMEOUT_MSEC",
    ),
    ClientLimit(
        "Claude Code desktop app",
        "stdio",
        60.0,
        "2026-05",
        "measured by a user: anthropics/claude-code, issue 63379",
    ),
    ClientLimit(
        "GitHub Copilot CLI", "", 180.0, "2026-09", "reported: github/copilot-cli, issue 4749"
    ),
    ClientLimit(
        "Claude Desktop", "", 240.0, "2026-06", "reported: anthropics/claude-code, issue 65643"
    ),
    ClientLimit("Codex", "", 300.0, "2026-06", "its source code: openai/codex, pull request 28234"),
    ClientLimit(
        "Claude Code",
        "http",
        300.0,
        "2026-08",
        "read from version 2.1.222 by a user: vfarcic/dot-ai, pull request 708",
    ),
    ClientLimit(
        "Qwen Code", "", 600.0, "2026-07", "said by a maintainer: QwenLM/qwen-code, issue 574"
    ),
    ClientLimit(
        "Claude Code",
        "stdio",
        1800.0,
        "2026-07",
        "read from version 2.1.207 by a user: laurigates/claude-plugins, pull request 2059",
    ),
)
"""The shortest limits first."""

USUAL_S: Final = LIMITS[0].limit_s
"""The limit of most clients, which are built on the SDK that has it."""


def that_give_up(silence_s: float, *, is_http: bool) -> tuple[ClientLimit, ...]:
    """The clients that a server loses by being silent for so long, the most impatient first."""
    other = "stdio" if is_http else "http"
    return tuple(each for each in LIMITS if each.limit_s < silence_s and each.transport != other)
