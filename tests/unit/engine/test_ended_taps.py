"""What clients left that ended while nobody watched is saved and shown later, once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.engine.ended_taps import save_what_ended
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.taps import HandTap
from tests.unit.engine.test_watching import jobs_of
from tests.unit.engine.test_watching_saved import resumable, saved, watching

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "live"


def aged(tap: HandTap) -> None:
    os.utime(tap.path, (tap.when - 60, tap.when - 60))


@pytest.mark.parametrize("is_killed", [True, False])
async def test_a_token_of_a_client_that_ended_unwatched_is_saved_once(
    tmp_path: Path, live: Path, is_killed: bool
) -> None:
    tap = HandTap(live)
    resumable(tap)
    if not is_killed:
        tap.write(tap.closed())
    tap.end()
    aged(tap)
    assert await save_what_ended(tmp_path)
    (chain,) = await saved(tmp_path)
    assert (chain.token, chain.standing.progress) == ("T1", 4)
    assert not await save_what_ended(tmp_path)


async def test_a_window_that_is_open_already_shows_the_job_as_left_by_its_client(
    tmp_path: Path, live: Path
) -> None:
    tap = HandTap(live)
    resumable(tap)
    tap.end()
    aged(tap)
    async with watching(tmp_path, live) as engine:
        assert jobs_of(engine) == []
        await save_what_ended(tmp_path)
        await engine.show_saved()
        await engine.show_saved()
        (job,) = jobs_of(engine)
        assert (job.state, job.watched_client) == (JobState.RESUMABLE, "Claude Code")
        assert (job.can_resume, job.can_resume_here) == (False, True)


async def test_a_job_that_was_forgotten_does_not_come_back(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    resumable(tap)
    tap.end()
    aged(tap)
    await save_what_ended(tmp_path)
    async with watching(tmp_path, live) as engine:
        await engine.jobs.forget([each.id for each in jobs_of(engine)])
    (live / "read.json").unlink()
    assert await save_what_ended(tmp_path)
    assert await saved(tmp_path) == []


async def test_a_job_that_its_client_finished_in_a_later_recording_is_not_offered(
    tmp_path: Path, live: Path
) -> None:
    first = HandTap(live)
    resumable(first)
    first.end()
    aged(first)
    await save_what_ended(tmp_path)
    later = HandTap(live, pid=4243, when=first.when + 5, at=first.at + 5)
    params = {"name": "export", "arguments": {"n": 3}, "_meta": {"resumeToken": "T1"}}
    again = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    later.write(later.opened("/opt/db"), later.handshake(), later.sent(again), later.answer(2))
    later.end()
    aged(later)
    await save_what_ended(tmp_path)
    assert await saved(tmp_path) == []


async def test_a_tap_that_still_writes_has_not_ended(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    resumable(tap)
    aged(tap)
    assert not await save_what_ended(tmp_path)
    assert await saved(tmp_path) == []
    tap.end()
