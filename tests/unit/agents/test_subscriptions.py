"""Subscriptions of the handshake era: updates while jobs run, at most one a second."""

import itertools
import time
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.patience import until
from tests.taps import HandTap
from tests.unit.agents.recorded import asked, asking, live
from tests.unit.serving.recordings import call, tick


async def test_subscribers_are_notified_at_most_once_a_second(tmp_path: Path) -> None:
    tap = HandTap(live(tmp_path))
    tap.write(tap.handshake(), tap.sent(call(1, token="a")))
    received: list[tuple[str, float]] = []

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            received.append((str(message.params.uri), time.monotonic()))

    async with asking(tmp_path, mode="legacy", message_handler=on_message) as client:
        await asked(client, "jobs")
        await _subscribe(client, "jobs://running")
        await _subscribe(client, "recording://r1/jobs")
        with anyio.fail_after(60):
            for step in range(200):
                tap.write(tap.received(tick("a", step + 1)))
                await anyio.sleep(0.02)
        await until(lambda: len({uri for uri, _ in received}) == 2)
        await _unsubscribe(client, "jobs://running")
        await _unsubscribe(client, "recording://r1/jobs")
        await anyio.sleep(1.2)
        before = len(received)
        tap.write(tap.received(tick("a", 1_000)))
        await anyio.sleep(1.5)
    assert len(received) == before
    for uri in ("jobs://running", "recording://r1/jobs"):
        times = [at for of, at in received if of == uri]
        assert 1 <= len(times) <= 8
        assert all(late - early > 0.5 for early, late in itertools.pairwise(times))


async def test_only_resources_that_are_there_can_be_subscribed_to(tmp_path: Path) -> None:
    async with asking(tmp_path, mode="legacy") as client:
        capabilities = client.session.server_capabilities
        assert capabilities is not None
        assert capabilities.resources is not None
        assert capabilities.resources.subscribe
        for uri in ("jobs://other", "recording://r99/jobs"):
            with pytest.raises(MCPError, match="No such resource"):
                await _subscribe(client, uri)


async def _subscribe(client: Client, uri: str) -> None:
    """As the client's own method, which warns that later revisions lack it."""
    params = types.SubscribeRequestParams(uri=uri)
    await client.session.send_request(types.SubscribeRequest(params=params), types.EmptyResult)


async def _unsubscribe(client: Client, uri: str) -> None:
    params = types.UnsubscribeRequestParams(uri=uri)
    await client.session.send_request(types.UnsubscribeRequest(params=params), types.EmptyResult)
