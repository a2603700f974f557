"""Recordings in a data folder, and a client of the server over them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from mcp import Client

from mcp_progress_monitor.agents.auditing import Auditing
from mcp_progress_monitor.agents.server import made
from mcp_progress_monitor.agents.sources import Sources
from tests.taps import HandTap
from tests.unit.serving.recordings import answer, call, tick


def live(data_dir: Path) -> Path:
    return data_dir / "recordings" / "live"


_PIDS = itertools.count(1000)


def finished(data_dir: Path, name: str = "local-db", **result: Any) -> HandTap:
    """A session in which a call of `export` made progress, and ended."""
    tap = HandTap(live(data_dir), name, pid=next(_PIDS))
    tap.write(tap.opened(), tap.handshake(), tap.sent(call(1, token="a", city="Oslo")))
    for step in (1, 2, 2, 4):
        tap.write(tap.received({**tick("a", step)}, 0.1))
    tap.write(tap.received(answer(1, **(result or {"content": []}))), tap.closed())
    tap.lock.release()
    return tap


@contextlib.asynccontextmanager
async def asking(data_dir: Path, *servers: str, **how: Any) -> AsyncIterator[Client]:
    """The official client, made as `how` says, of a server over a data folder."""
    server = made(Sources(data_dir, frozenset(servers)), Auditing(data_dir, servers))
    async with Client(server, **how) as client:
        yield client


async def asked(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured content of a tool's answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a tool's error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(getattr(result.content[0], "text", ""))
