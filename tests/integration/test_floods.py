"""Hostile servers, as real processes, that send as much as they can of all that costs something.

Counted is how many messages are handled at one go: nobody else has a turn meanwhile.
"""

import sys

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.tracker.rows import REQUESTED_KEPT
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.benchmarks.flooding_server import FLOODS

_MOST_AT_ONCE = 160  # messages other than progress of a call
_MOST_STDERR = 256
_SECONDS = 0.2
_SIDE_BY_SIDE = ("logs", "stderr", "requests", "tokens")


class Slices:
    """How many messages came, and the most of them at one go."""

    def __init__(self) -> None:
        self.frames = 0
        self.longest = 0
        self.longest_of_stderr = 0

    def __call__(self, update: Update) -> None:
        count = len(update.frames)
        self.frames += count
        if not count:
            return
        if update.frames[0].channel is Channel.STDERR:
            self.longest_of_stderr = max(self.longest_of_stderr, count)
        else:
            self.longest = max(self.longest, len(update.facts.others))


@pytest.mark.parametrize("kinds", [*((kind,) for kind in FLOODS), _SIDE_BY_SIDE], ids="+".join)
async def test_no_flood_is_handled_in_long_slices_and_none_of_it_is_lost(
    kinds: tuple[str, ...],
) -> None:
    slices = Slices()
    command = ("-m", "tests.benchmarks.flooding_server", ",".join(kinds), str(_SECONDS))
    async with Engine() as engine:
        engine.subscribe(slices)
        engine.servers.add(StdioDefinition(name="s", command=sys.executable, args=command))
        await engine.servers.connect("s")
        with anyio.fail_after(60):
            outcome = await engine.calls.make(Call("s", "tools/call", {"name": "flood"}))
        assert outcome.failure is None
        await engine.servers.disconnect("s")
        assert slices.longest <= _MOST_AT_ONCE
        assert slices.longest_of_stderr <= _MOST_STDERR
        # The last event of the connection is published with its end.
        assert engine.timeline.end == slices.frames
        jobs = [engine.jobs.snapshot(job) for job in engine.jobs.ids()]
        assert len(jobs) <= REQUESTED_KEPT + 200


async def test_a_hundred_calls_that_are_cancelled_together_all_end() -> None:
    command = ("-m", "tests.benchmarks.flooding_server", "", "0")
    call, states = Call("s", "tools/call", {"name": "hold", "arguments": {}}), []
    async with Engine(cancel_grace_s=0.0) as engine:
        engine.servers.add(StdioDefinition(name="s", command=sys.executable, args=command))
        await engine.servers.connect("s")

        async def make() -> None:
            states.append((await engine.calls.make(call)).state)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as calls:
                for _ in range(100):
                    calls.start_soon(make)
                while len(engine.jobs.ids()) < 100:  # made one in a turn
                    await anyio.lowlevel.checkpoint()
                for job in engine.jobs.ids():
                    calls.start_soon(engine.calls.cancel, job)
        assert states == 100 * [JobState.CANCELLED]
