"""A server that hangs told from one that is slow, as real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_progress_monitor.monitor import Monitor
from mcp_progress_monitor.sessions.definitions import demo_definition
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.mending import Told, plain, tool

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.sessions.snapshot import Health

_LONG_S = 1.0
"""Within this a server that can answer does, also on a busy machine."""


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.monitor._TICK_S", 0.05)


async def test_a_server_that_answers_meanwhile_is_slow(tmp_path: Path) -> None:
    async with Monitor() as monitor:
        told = Told(monitor)
        monitor.add_server(plain(ping_interval_s=_LONG_S))
        await monitor.connect("plain")
        async with anyio.create_task_group() as calls:
            calls.start_soon(monitor.call, tool("slow", until=str(tmp_path / "enough")))
            await told.until(lambda: monitor.server("plain").health is not None)
            health = monitor.server("plain").health
            assert health is not None
            assert not health.is_hung
            assert health.answered_s is not None
            assert health.answered_s < _LONG_S
            assert not monitor.doctor("plain").causes[0].text.startswith("It hangs")
            (tmp_path / "enough").touch()
        await told.until(lambda: monitor.server("plain").health is None)
        assert len(list(monitor.jobs())) == 1


async def test_a_server_that_does_not_is_hung_until_it_speaks(tmp_path: Path) -> None:
    seen: list[Health | None] = []
    async with Monitor() as monitor:
        told = Told(monitor)
        monitor.subscribe(lambda _update: seen.append(monitor.server("plain").health))
        monitor.add_server(plain(ping_interval_s=0.3))
        await monitor.connect("plain")
        async with anyio.create_task_group() as calls:
            calls.start_soon(monitor.call, tool("block", until=str(tmp_path / "enough")))
            await told.until(lambda: monitor.server("plain").health is not None)
            health = monitor.server("plain").health
            assert health is not None
            assert health.is_hung
            assert monitor.doctor("plain").causes[0].text.startswith("It hangs")
            (tmp_path / "enough").touch()
        await told.until(lambda: monitor.server("plain").health is None)
        (job,) = monitor.jobs()
        found = monitor.snapshot(job)
        assert found is not None
        assert found.state is JobState.DONE
        assert b'"method":"ping"' in told.raw()


async def test_in_the_newer_era_a_discover_is_the_sign_of_life() -> None:
    definition = demo_definition("--era", "per-request", era="per-request", name="plain")
    async with Monitor() as monitor:
        told = Told(monitor)
        monitor.add_server(definition.model_copy(update={"ping_interval_s": _LONG_S}))
        await monitor.connect("plain")
        async with anyio.create_task_group() as calls:
            calls.start_soon(monitor.call, tool("stall", before=1, silence_s=60))
            await told.until(lambda: monitor.server("plain").health is not None)
            health = monitor.server("plain").health
            assert health is not None
            assert not health.is_hung
            await monitor.disconnect("plain")
        assert told.raw().count(b'"method":"server/discover"') >= 2
        assert b'"method":"ping"' not in told.raw()
