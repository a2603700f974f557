"""What clients left that ended while nobody watched is saved and shown later, once."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine import ended_taps
from mcp_progress_monitor.engine import watching as watching_taps
from mcp_progress_monitor.engine.ended_taps import save_what_ended
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.taps import HandTap
from tests.unit.engine.test_watching import jobs_of
from tests.unit.engine.test_watching_saved import resumable, saved, saved_tasks, task, watching


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "live"


@pytest.mark.parametrize("is_killed", [True, False])
async def test_a_token_of_a_client_that_ended_unwatched_is_saved_once(
    tmp_path: Path, live: Path, is_killed: bool
) -> None:
    tap = HandTap(live)
    resumable(tap)
    if not is_killed:
        tap.write(tap.closed())
    tap.end()
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
    await save_what_ended(tmp_path)
    later = HandTap(live, pid=4243, when=first.when + 5, at=first.at + 5)
    params = {"name": "export", "arguments": {"n": 3}, "_meta": {"resumeToken": "T1"}}
    again = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    later.write(later.opened("/opt/db"), later.handshake(), later.sent(again), later.answer(2))
    later.end()
    await save_what_ended(tmp_path)
    assert await saved(tmp_path) == []


async def test_a_tap_that_still_writes_has_not_ended(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    resumable(tap)
    assert not await save_what_ended(tmp_path)
    assert await saved(tmp_path) == []
    tap.end()


async def test_a_task_that_its_client_left_is_saved(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    begun = {"jsonrpc": "2.0", "id": 1, "result": {"task": task("working")}}
    tap.write(tap.opened("/opt/db"), tap.handshake(), tap.call(), tap.received(begun, 0.1))
    tap.end()
    assert await save_what_ended(tmp_path)
    assert await saved_tasks(tmp_path) == ["t1"]


async def test_a_token_that_passed_an_http_tap_is_saved_with_its_address(
    tmp_path: Path, live: Path
) -> None:
    tap = HandTap(live, transport="http")
    tap.write(tap.event("opened", url="http://localhost:9/mcp", transport="http"))
    tap.write(tap.handshake(), tap.call(), tap.answer(_meta={"nextResumeToken": "T1"}))
    tap.end()
    assert await save_what_ended(tmp_path)
    (chain,) = await saved(tmp_path)
    assert json.loads(chain.origin.definition)["url"] == "http://localhost:9/mcp"


async def test_a_token_in_a_later_part_is_saved_with_the_call_in_the_first(
    tmp_path: Path, live: Path
) -> None:
    tap = HandTap(live)
    tap.write(tap.opened("/opt/db"), tap.handshake(), tap.call(), tap.tick(4))
    tap.begin_part(2)
    tap.write(tap.answer(_meta={"nextResumeToken": "T1"}))
    tap.end()
    assert await save_what_ended(tmp_path)
    (chain,) = await saved(tmp_path)
    assert (chain.token, chain.standing.progress) == ("T1", 4)


async def test_what_was_read_is_noted_though_the_program_ends_meanwhile(
    tmp_path: Path, live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended_taps, "_GROUP_BYTES", 1)
    taps = [HandTap(live, pid=100 + number) for number in range(3)]
    for tap in taps:
        resumable(tap)
        tap.end()
    with anyio.CancelScope() as scope:
        monkeypatch.setattr(ended_taps, "_groups", _cancelling(scope, ended_taps._groups))  # noqa: SLF001
        await save_what_ended(tmp_path)
    assert json.loads((live / "read.json").read_bytes()) == [min(tap.path.name for tap in taps)]
    monkeypatch.undo()
    assert await save_what_ended(tmp_path)
    assert len(json.loads((live / "read.json").read_bytes())) == 3


async def test_a_command_reads_without_pauses(
    tmp_path: Path, live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching_taps, "_PAUSE_S", 1e6)
    tap = HandTap(live)
    resumable(tap)
    tap.end()
    assert await save_what_ended(tmp_path, is_alone=True)
    assert [each.token for each in await saved(tmp_path)] == ["T1"]


def _cancelling(scope: anyio.CancelScope, groups: Callable[..., Iterator[Any]]) -> Any:
    """Groups of which only the first is read."""

    def cancelling(recordings: Any) -> Iterator[Any]:
        for number, group in enumerate(groups(recordings)):
            if number:
                scope.cancel()
            yield group

    return cancelling


async def test_a_recording_without_a_lock_file_has_ended(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    resumable(tap)
    tap.end()
    tap.path.with_suffix(".lock").unlink(missing_ok=True)
    assert await save_what_ended(tmp_path)
    assert [each.token for each in await saved(tmp_path)] == ["T1"]


async def test_a_job_that_was_saved_under_its_clients_own_name_is_saved_once(
    tmp_path: Path, live: Path
) -> None:
    tap = HandTap(live, client="Client")
    resumable(tap)
    tap.end()
    await save_what_ended(tmp_path)
    (live / "read.json").unlink()
    tap.path.write_bytes(tap.path.read_bytes().replace(b'"Client"', b'"Cursor"'))
    await save_what_ended(tmp_path)
    assert [each.token for each in await saved(tmp_path)] == ["T1"]
