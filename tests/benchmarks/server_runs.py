"""A run of the real window (offscreen) with many servers, some of them busy."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, Final

import anyio

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.snapshots.definitions import demo_definition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.benchmarks.heartbeat import Heartbeat
from tests.benchmarks.window_runs import TickWatch, open_window, snapshots

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp_progress_monitor.engine.engine import Engine

_CALLS: Final = 5
"""Calls at a time on each busy server …"""
_INTERVAL_S: Final = 0.05
"""… and how often each of them ticks."""
_SETTLED: Final = frozenset({ServerState.CONNECTED, ServerState.FAILED})
_GONE: Final = frozenset({ServerState.CLOSED, ServerState.FAILED})
_PATIENCE_S: Final = 120.0
"""A machine of few cores starts fifty interpreters one after the other."""


async def many_servers(servers: str, busy: str, seconds: str) -> dict[str, Any]:
    """Connect all as the window does, let `busy` of them tick for `seconds`, disconnect all."""
    names = [f"server-{number}" for number in range(int(servers))]
    watch, beat = TickWatch(), Heartbeat()
    async with open_window() as program:
        engine = program.engine
        for name in names:
            engine.servers.add(demo_definition(name=name, connect_timeout_s=_PATIENCE_S))
        engine.subscribe(watch)
        async with anyio.create_task_group() as beating:
            beating.start_soon(beat.run)
            moments = [time.perf_counter()]
            program.servers.connect_servers(names)
            await _until_all(engine, names, _SETTLED)
            moments.append(time.perf_counter())
            connected = _connected(engine)
            began, cpu = time.perf_counter(), time.process_time()
            await _kept_busy(engine, names[: int(busy)], float(seconds))
            moments.append(time.perf_counter())
            spent, share = moments[-1] - began, time.process_time() - cpu
            for name in names:
                program.servers.disconnect_server(name)
            await _until_all(engine, names, _GONE)
            moments.append(time.perf_counter())
            beating.cancel_scope.cancel()
        reported = sum(job.tick_count for job in snapshots(engine))
    figures = {
        "connect_s": moments[1] - moments[0],
        "disconnect_s": moments[3] - moments[2],
        "lost": len(names) - connected,
        "ticks_lost": watch.count - reported,
        "ticks_per_s": watch.count / spent,
        "cpu_percent": share / spent * 100,
    }
    stretches = itertools.pairwise(moments)
    for name, stretch in zip(("connect", "busy", "disconnect"), stretches, strict=True):
        figures |= _smoothness(name, beat, *stretch)
    return figures


def _smoothness(name: str, beat: Heartbeat, since: float, until: float) -> dict[str, float]:
    """How late tasks and the window were, and how much of that was work of this program."""
    measured = {"late": beat.lateness, "felt": beat.felt, "work": beat.work}
    found = {kind: measure(since, until) for kind, measure in measured.items()}
    return {
        f"{name}_{kind}_{figure}_ms": value
        for kind, late in found.items()
        for figure, value in (("p99", late.p99), ("max", late.maximum))
    }


async def _until_all(
    engine: Engine, names: Collection[str], states: frozenset[ServerState]
) -> None:
    """Wait until each of the servers is in one of these states."""
    left, reached = set(names), anyio.Event()

    def look(update: Update) -> None:
        for name in left & update.servers:
            if engine.servers.snapshot(name).state in states:
                left.remove(name)
        if not left:
            reached.set()

    leave = engine.subscribe(look)
    look(Update(servers=frozenset(names)))
    await reached.wait()
    leave()


def _connected(engine: Engine) -> int:
    return sum(server.state is ServerState.CONNECTED for server in engine.servers.snapshots())


async def _kept_busy(engine: Engine, names: list[str], length_s: float) -> None:
    """Some calls on each of the servers, which tick for so long."""
    steps = max(1, round(length_s / _INTERVAL_S))
    arguments = {"steps": steps, "interval_s": _INTERVAL_S}
    params = {"name": "known_total", "arguments": arguments}
    async with anyio.create_task_group() as calls:
        for name in names:
            for _ in range(_CALLS):
                calls.start_soon(engine.calls.make, Call(name, "tools/call", params))
