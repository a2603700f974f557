"""An agent whose server may act: the official client, with a user who answers its questions."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client, StdioServerParameters

from mcp_progress_monitor.agents.action_tools import add_actions
from mcp_progress_monitor.agents.auditing import Auditing
from mcp_progress_monitor.agents.server import made
from mcp_progress_monitor.agents.sources import Sources
from mcp_progress_monitor.audit.settings import ASKS
from mcp_progress_monitor.audit.settings import FILE_NAME as SETTINGS
from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.snapshots.definitions import ServerDefinition

ERAS = ("auto", "legacy")
"""Modes of the official client: 2026-07-28 and the handshake era."""
ALLOWED = types.ElicitResult(action="accept", content={"allow": True})


def command(data_dir: Path, *options: str) -> list[str]:
    """The server for agents, which may act."""
    program = [sys.executable, "-m", "mcp_progress_monitor", "mcp", "--data-dir", str(data_dir)]
    return [*program, "--allow-actions", *options]


def saved(
    data_dir: Path, *definitions: ServerDefinition, approved: bool = True, disabled: bool = False
) -> None:
    """Save servers, and approve them."""
    catalogue, trust = Catalogue(data_dir / FILE_NAME), Trust(data_dir / TRUST)
    for definition in definitions:
        catalogue.add(CatalogueEntry(definition, is_disabled=disabled))
        if approved:
            trust.approve(definition)


def unasked(data_dir: Path) -> None:
    """Let agents act without a question."""
    (data_dir / SETTINGS).write_text(json.dumps({ASKS: False}))


class User:
    """Answers what a client asks, by the names of the form's fields."""

    def __init__(self, **answers: types.ElicitResult) -> None:
        self.answers = {"allow": ALLOWED, **answers}
        self.asked: list[str] = []

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        """Answer a form, as a callback of the official client."""
        del context
        self.asked.append(params.message)
        names = params.requested_schema["properties"]
        return next(self.answers[name] for name in names if name in self.answers)


@contextlib.asynccontextmanager
async def acting(
    data_dir: Path,
    *options: str,
    user: User | None = None,
    mode: Any = "auto",
    folder: Path | None = None,
) -> AsyncIterator[Client]:
    """A client of a new server for agents; without a user it cannot ask.

    The server runs in this process, where the official SDK is loaded already. With `options` or a
    `folder` to start it in, it is a process of its own.
    """
    if options or folder is not None:
        program, *arguments = command(data_dir, *options)
        server: Any = StdioServerParameters(
            command=program, args=arguments, env=dict(os.environ), cwd=folder
        )
    else:
        sources = Sources(data_dir)
        auditing = Auditing(data_dir, frozenset(), acts=True)
        server = made(sources, auditing, functools.partial(add_actions, sources))
    async with Client(
        server,
        elicitation_callback=None if user is None else user.answer,
        client_info=types.Implementation(name="agent-x", title="Agent X", version="1"),
        mode=mode,
    ) as client:
        yield client


async def done(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The structured content of a tool's answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    content: dict[str, Any] = result.structured_content or {}
    return content


async def refused(client: Client, tool: str, /, **arguments: Any) -> str:
    """The text of a tool's error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return str(getattr(result.content[0], "text", ""))
