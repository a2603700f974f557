"""A tap in a process of its own is watched: before, while and after it writes, and when killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from tests.integration.commands import ROOT
from tests.patience import until


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "live"


class Taps:
    """Some taps in one process; see `tests.benchmarks.tapping`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def write(self) -> None:
        """Let all of them write what they were instructed to."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"write\n")
        self.process.stdin.flush()

    async def begun(self) -> None:
        """Wait until all have begun."""
        assert self.process.stdout is not None
        await anyio.to_thread.run_sync(self.process.stdout.readline)

    async def end(self) -> None:
        """Let all of them write their end, and wait for it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        await anyio.to_thread.run_sync(self.process.wait)


@contextmanager
def tapping(live: Path, count: int, rate: int, seconds: float) -> Iterator[Taps]:
    arguments = map(str, (live, count, rate, seconds))
    with subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.tapping", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        try:
            yield Taps(process)
        finally:
            process.kill()


def jobs_of(engine: Engine) -> list[JobSnapshot]:
    return [job for each in engine.jobs.ids() if (job := engine.jobs.snapshot(each)) is not None]


def ended(engine: Engine) -> list[tuple[JobState, int]]:
    return [(job.state, job.tick_count) for job in jobs_of(engine)]


async def test_every_tick_of_three_busy_taps_arrives(live: Path) -> None:
    async with Engine(watched=[live]) as engine:
        with tapping(live, 3, 1000, 0.5) as taps:
            await taps.begun()
            await until(lambda: len(jobs_of(engine)) == 3)
            taps.write()
            await taps.end()
            await until(lambda: {job.state for job in jobs_of(engine)} == {JobState.DONE})
        assert [job.tick_count for job in jobs_of(engine)] == [500, 500, 500]
        assert {job.watched_client for job in jobs_of(engine)} == {"Claude Code"}
        # Opened, three of the handshake, the call, its ticks, its answer, closed.
        await until(lambda: engine.timeline.end == 3 * (5 + 500 + 2))
        frames = engine.timeline.frames(0, engine.timeline.end)
        assert sorted(frame.number for frame in frames) == [*range(1, engine.timeline.end + 1)]
        assert all(frame.raw.startswith(b"{") for frame in frames)


async def test_a_tap_that_is_killed_ends_its_session(live: Path) -> None:
    with tapping(live, 2, 0, 0) as taps:
        await taps.begun()
        async with Engine(watched=[live]) as engine:
            await until(lambda: len(jobs_of(engine)) == 2)
            taps.process.kill()
            await until(lambda: {job.state for job in jobs_of(engine)} == {JobState.LOST})
            assert not any(watched.is_live for watched in engine.watched.snapshots())


async def test_a_window_that_comes_back_sees_what_went_on_without_it(live: Path) -> None:
    with tapping(live, 1, 500, 0.2) as taps:
        await taps.begun()
        async with Engine(watched=[live]) as engine:
            await until(lambda: len(jobs_of(engine)) == 1)
        taps.write()
        async with Engine(watched=[live]) as engine, Engine(watched=[live]) as other:
            await taps.end()
            await until(lambda: ended(engine) == ended(other) == [(JobState.DONE, 100)])


async def test_a_tap_that_ended_before_is_not_watched(live: Path) -> None:
    with tapping(live, 1, 0, 0) as taps:
        await taps.begun()
        await taps.end()
    async with Engine(watched=[live]) as engine:
        await anyio.sleep(0.3)
        assert jobs_of(engine) == []
