"""Clients that nobody here wrote: each calls one tool of a server that it starts itself."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.strangers.servers import PROGRAMS, Stranger, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

_CALL = ("{tool}", "{arguments}")


@dataclass(frozen=True)
class Client(Stranger):
    """A client; in its command `{tool}` and `{arguments}` stand for what it calls.

    The command of the server is put behind it.
    """

    def calling(self, tool: Tool, server: Sequence[str]) -> list[str]:
        """The command with which it calls a tool of a server.

        The Inspector takes arguments one by one, each as `name=value`.
        """
        known = {"folder": str(self.folder), "tool": tool.name}
        known["arguments"] = json.dumps(dict(tool.arguments))
        args = [word.format(**known) for word in self.command]
        if not self.name.startswith("inspector"):
            return [*args, *server]
        pairs = [f"{name}={value}" for name, value in tool.arguments.items()]
        how = ["--method", "tools/call", "--tool-name", tool.name]
        given = [word for pair in pairs for word in ("--tool-arg", pair)]
        return [*args, *server, *how, *given]


def _python(name: str, program: str, *packages: str) -> Client:
    command = ("{folder}/bin/python", str(PROGRAMS / program), *_CALL)
    return Client(f"client-{name}", packages, command)


def _typescript(version: str) -> Client:
    return Client(
        f"client-typescript-{version}",
        (f"@modelcontextprotocol/sdk@{version}",),
        ("node", "{folder}/typescript_v1_client.mjs", *_CALL),
        registry="npm",
    )


CLIENTS: tuple[Client, ...] = (
    _python("python-1.13.1", "python_v1_client.py", "mcp==1.13.1", "pydantic<2.12"),
    _python("python-1.30.0", "python_v1_client.py", "mcp==1.30.0"),
    _python("python-newest", "python_v2_client.py", "mcp"),
    _typescript("1.17.5"),
    _typescript("1"),
    Client(
        "inspector",
        ("@modelcontextprotocol/inspector",),
        ("node", "{folder}/node_modules/@modelcontextprotocol/inspector/cli/build/cli.js", "--cli"),
        registry="npm",
    ),
)

LIBRARIES: tuple[Client, ...] = (
    _python("fastmcp", "fastmcp_client.py", "fastmcp>=3.4,<3.5"),
    _python("pydantic-ai", "pydantic_ai_client.py", "pydantic-ai-slim[mcp]"),
    _python("openai-agents", "openai_agents_client.py", "openai-agents"),
    _python("langchain", "langchain_client.py", "langchain-mcp-adapters"),
)
"""What agents are built with; no model is behind them."""

SPY = (sys.executable, str(PROGRAMS / "spy.py"))
"""What goes before a server's command, with a folder, to keep what passes."""
