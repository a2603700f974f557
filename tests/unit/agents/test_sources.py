"""The recordings that are kept for agents: a bounded number, and only what may be shown."""

import contextlib
import functools
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from mcp_progress_monitor.agents import sources as module
from mcp_progress_monitor.agents.sources import Sources
from mcp_progress_monitor.errors import UserError
from tests.patience import PATIENCE_S, until
from tests.taps import HandTap
from tests.unit.agents.recorded import asked, asking, finished, live, refused
from tests.unit.serving.recordings import call, log, tick


@pytest.fixture
def of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep two finished recordings, and look for others all the time."""
    monkeypatch.setattr(module, "MOST_ENDED", 2)
    monkeypatch.setattr(module, "_SCAN_S", 0.01)


@contextlib.asynccontextmanager
async def reading(data_dir: Path, *servers: str) -> AsyncIterator[Sources]:
    sources = Sources(data_dir, frozenset(servers))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sources.run)
        await sources.ready()
        yield sources
        tasks.cancel_scope.cancel()


def ended(data_dir: Path, name: str, when: float) -> HandTap:
    tap = finished(data_dir, name)
    os.utime(tap.path, (when, when))
    return tap


def names(sources: Sources) -> set[str]:
    found = (name for each in sources for name in each.playback.servers.names())
    return {name.partition("@")[0] for name in found}


@pytest.mark.usefixtures("of_two")
async def test_the_recordings_that_ended_last_are_kept(tmp_path: Path) -> None:
    going_on = HandTap(live(tmp_path), "live")
    going_on.write(going_on.opened(), going_on.handshake(), going_on.sent(call(1, token="a")))
    async with reading(tmp_path) as sources:
        for number in range(8):
            ended(tmp_path, f"s{number}", 1e9 + number)
            await until(functools.partial(_has_read, sources, f"s{number}"))
        await until(lambda: len(list(sources)) == 3)
        assert names(sources) == {"s6", "s7", "live"}


@pytest.mark.usefixtures("of_two")
async def test_changes_are_counted_on_when_recordings_are_forgotten(tmp_path: Path) -> None:
    async with reading(tmp_path) as sources:
        before = 0
        for number in range(6):
            tap = HandTap(live(tmp_path), f"s{number}", pid=7000 + number)
            tap.write(tap.opened(), tap.handshake(), tap.sent(call(1, token="a")))
            await until(functools.partial(_has_changed, sources, before))
            tap.write(tap.closed())
            tap.lock.release()
            os.utime(tap.path, (1e9 + number, 1e9 + number))
            before = sources.live_changes
        await until(lambda: len(list(sources)) == 2)
        assert sources.live_changes >= before >= 6


@pytest.mark.usefixtures("of_two")
async def test_a_job_of_a_forgotten_recording_is_plainly_gone(tmp_path: Path) -> None:
    ended(tmp_path, "old", 1e9)
    async with asking(tmp_path) as client:
        (job,) = (await asked(client, "jobs"))["jobs"]
        for number in range(2):
            ended(tmp_path, "new", 2e9 + number)
        with anyio.fail_after(PATIENCE_S):
            while not (gone := await _error(client, "job", job=job["job"])):  # noqa: ASYNC110
                await anyio.sleep(0.05)
        traffic = await refused(client, "traffic", recording="r1")
        never = await refused(client, "job", job="r99-1")
    for text in (gone, traffic):
        assert "no longer among the newest 2 recordings" in text
    assert "No such job" in never


@pytest.mark.usefixtures("of_two")
async def test_a_recording_in_use_is_kept(tmp_path: Path) -> None:
    ended(tmp_path, "old", 1e9)
    async with reading(tmp_path) as sources:
        await until(lambda: len(list(sources)) == 1)
        with sources.source("r1").used():
            for number in range(3):
                ended(tmp_path, f"s{number}", 2e9 + number)
            await until(lambda: names(sources) == {"old", "s1", "s2"})
        await until(lambda: len(list(sources)) == 2)
        with pytest.raises(UserError, match="no longer among"):
            sources.source("r1")


async def test_other_recordings_are_read_while_the_newest_floods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SLICE_S", 0.0)
    now = time.time()
    others = [HandTap(live(tmp_path), name, when=now - 60) for name in ("a", "b", "c")]
    for tap in others:
        tap.write(tap.opened(), tap.handshake(), *(tap.received(log("x")) for _ in range(600)))
    flood = HandTap(live(tmp_path), "flood", when=now)
    flood.write(flood.opened(), flood.handshake())
    flood.write(*(flood.received(log("x")) for _ in range(60_000)))
    async with reading(tmp_path) as sources:
        newest, *older = sources
        await until(lambda: not any(source.is_behind for source in older))
        assert newest.is_behind
        assert sources.is_behind
        assert 0 < sources.unread_share < 1


@pytest.mark.parametrize(("shown", "named"), [("seen", "r2"), ("other", "none")])
async def test_recordings_of_hidden_servers_are_not_named(
    shown: str, named: str, tmp_path: Path
) -> None:
    for number, name in enumerate(("secret", "seen", "secret")):
        ended(tmp_path, name, 1e9 + number)
    async with reading(tmp_path, shown) as sources:
        await until(lambda: not sources.is_behind and names(sources) == {"secret", "seen"})
        with pytest.raises(UserError) as raised:
            sources.source("r9")
    assert raised.value.details.hint == f"There are: {named}."


async def test_what_hidden_servers_do_is_no_change(tmp_path: Path) -> None:
    seen, secret = (HandTap(live(tmp_path), name, pid=len(name)) for name in ("seen", "secret"))
    for tap in (seen, secret):
        tap.write(tap.opened(), tap.handshake(), tap.sent(call(1, token="a")))
    async with reading(tmp_path, "seen") as sources:
        await until(lambda: sources.live_changes)
        before = sources.live_changes
        size = sum(each.playback.timeline.end for each in sources)
        secret.write(secret.received(tick("a", 1)))
        await until(lambda: sum(each.playback.timeline.end for each in sources) > size)
        assert sources.live_changes == before
        seen.write(seen.received(tick("a", 1)))
        await until(lambda: sources.live_changes > before)


async def _error(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a tool's error; empty without one."""
    result = await client.call_tool(tool, arguments)
    return str(getattr(result.content[0], "text", "")) if result.is_error else ""


def _has_read(sources: Sources, name: str) -> bool:
    return name in names(sources)


def _has_changed(sources: Sources, before: int) -> bool:
    return sources.live_changes > before
