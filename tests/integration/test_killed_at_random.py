"""Servers killed at random under load: all come back, nothing is stuck, nobody is left."""

import os
import random
import signal
import sys
import time

import anyio
import pytest

from mcp_progress_monitor.engine.call import Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import RestartPolicy
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.integration.processes import is_alive
from tests.integration.reconnecting import Reports, plain, tool
from tests.many_servers import connect_all, disconnect_all

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

_OFTEN = RestartPolicy(first_delay_s=0.02, longest_delay_s=0.2, limit=1000)


class Storm:
    """Servers under load, and somebody who kills them."""

    def __init__(self, engine: Engine, count: int, seed: int) -> None:
        self.engine = engine
        self.reported = Reports(engine)
        self.names = [engine.servers.add(plain(restart=_OFTEN)) for _ in range(count)]
        self.random = random.Random(seed)  # noqa: S311  # a storm, no secret
        self.outcomes: list[Outcome] = []
        self.kills = 0
        self.pids: set[int] = set()
        self._is_over = False

    async def blow(self, seconds: float) -> None:
        assert await connect_all(self.engine.servers.connect, self.names) == {}
        ends_at = time.monotonic() + seconds
        async with anyio.create_task_group() as tasks:
            for name in self.names:
                tasks.start_soon(self._load, name, "tick")
                tasks.start_soon(self._load, name, "echo")
            with anyio.fail_after(seconds + 60):  # a busy machine takes longer for the fewest kills
                while time.monotonic() < ends_at or self.kills < len(self.names):
                    await anyio.sleep(self.random.uniform(0.005, 0.06))
                    self._kill(self.random.choice(self.names))
            self._is_over = True
            for name in self.names:
                with anyio.fail_after(60):
                    await self.reported.until_state(ServerState.CONNECTED, name)
            # What ticks goes on until its server ends.
            await disconnect_all(self.engine.servers.disconnect, self.names)

    async def _load(self, name: str, what: str) -> None:
        while not self._is_over:
            try:
                self.outcomes.append(await self.engine.calls.make(tool(what, name)))
            except UserError:
                await anyio.sleep(0.02)

    def _kill(self, name: str) -> None:
        found = self.engine.servers.snapshot(name)
        if found.pid is not None and found.state is ServerState.CONNECTED:
            self.pids.add(found.pid)
            try:
                os.kill(found.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            self.kills += 1


async def storm(count: int, seconds: float, seed: int) -> None:
    """Kill so many servers at random for so long, one for each at least; look at what is left."""
    async with Engine(reconnects=True) as engine:
        blowing = Storm(engine, count, seed)
        await blowing.blow(seconds)
        jobs = [engine.jobs.snapshot(job) for job in engine.jobs.ids()]
        stuck = [job for job in jobs if job is not None and not job.state.is_over]
        assert stuck == []
        assert jobs
        assert sum(found.restarts for found in engine.servers.snapshots()) > count / 4
        assert {found.state for found in engine.servers.snapshots()} == {ServerState.CLOSED}
        blowing.pids |= {found.pid for found in engine.servers.snapshots() if found.pid is not None}
    assert not any(map(is_alive, blowing.pids))


async def test_servers_killed_at_random_come_back_and_leave_nothing_stuck() -> None:
    await storm(10, 1, seed=1)


@pytest.mark.campaign
@pytest.mark.timeout(300)
async def test_servers_killed_at_random_for_a_minute() -> None:
    await storm(20, 60, seed=random.randrange(1_000_000))  # noqa: S311
