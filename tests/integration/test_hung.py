"""A server that hangs and one that is slow, as real processes."""

from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.servers import Health
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.reconnecting import Reports, plain, tool
from tests.servers.definition import server_definition

_LONG_S = 1.0
"""Within this a server that can answer does, also on a busy machine."""


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.engine._TICK_S", 0.05)


async def test_a_server_that_answers_meanwhile_is_slow(tmp_path: Path) -> None:
    async with Engine() as engine:
        reported = Reports(engine)
        engine.servers.add(plain(ping_interval_s=_LONG_S))
        await engine.servers.connect("plain")
        async with anyio.create_task_group() as calls:
            calls.start_soon(engine.calls.make, tool("slow", until=str(tmp_path / "enough")))
            await reported.until(lambda: engine.servers.snapshot("plain").health is not None)
            health = engine.servers.snapshot("plain").health
            assert health is not None
            assert not health.is_hung
            assert health.answered_s is not None
            assert health.answered_s < _LONG_S
            assert not engine.servers.doctor("plain").causes[0].text.startswith("It hangs")
            (tmp_path / "enough").touch()
        await reported.until(lambda: engine.servers.snapshot("plain").health is None)
        assert len(list(engine.jobs.ids())) == 1


async def test_a_server_that_does_not_is_hung_until_it_speaks(tmp_path: Path) -> None:
    seen: list[Health | None] = []
    async with Engine() as engine:
        reported = Reports(engine)
        engine.subscribe(lambda _update: seen.append(engine.servers.snapshot("plain").health))
        engine.servers.add(plain(ping_interval_s=0.3))
        await engine.servers.connect("plain")
        async with anyio.create_task_group() as calls:
            calls.start_soon(engine.calls.make, tool("block", until=str(tmp_path / "enough")))
            await reported.until(lambda: engine.servers.snapshot("plain").health is not None)
            health = engine.servers.snapshot("plain").health
            assert health is not None
            assert health.is_hung
            assert engine.servers.doctor("plain").causes[0].text.startswith("It hangs")
            (tmp_path / "enough").touch()
        await reported.until(lambda: engine.servers.snapshot("plain").health is None)
        (job,) = engine.jobs.ids()
        found = engine.jobs.snapshot(job)
        assert found is not None
        assert found.state is JobState.DONE
        assert b'"method":"ping"' in reported.raw()


async def test_in_the_newer_era_a_discover_is_the_sign_of_life() -> None:
    definition = server_definition("--era", "per-request", era="per-request", name="plain")
    async with Engine() as engine:
        reported = Reports(engine)
        engine.servers.add(definition.model_copy(update={"ping_interval_s": _LONG_S}))
        await engine.servers.connect("plain")
        async with anyio.create_task_group() as calls:
            calls.start_soon(engine.calls.make, tool("stall", before=1, silence_s=60))
            await reported.until(lambda: engine.servers.snapshot("plain").health is not None)
            health = engine.servers.snapshot("plain").health
            assert health is not None
            assert not health.is_hung
            await engine.servers.disconnect("plain")
        assert reported.raw().count(b'"method":"server/discover"') >= 2
        assert b'"method":"ping"' not in reported.raw()
