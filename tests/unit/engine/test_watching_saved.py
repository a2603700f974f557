"""Resume tokens that pass by are saved once, whoever watches, and nothing resumes them here."""

import json
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.engine import keeper
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.origins import saved_definition, was_run
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.exports.snippet import snippet
from mcp_progress_monitor.store.chains import Origin, SavedChain, SavedProgress
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.store.watched import split_watched_key, watched_key
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts
from tests.patience import until
from tests.taps import HandTap
from tests.unit.engine.test_watching import jobs_of, states


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "live"


def watching(tmp_path: Path, live: Path) -> Engine:
    return Engine(store=ResumeStore(tmp_path), watched=[live])


async def saved(tmp_path: Path) -> list[SavedChain]:
    store = ResumeStore(tmp_path)
    await store.open()
    try:
        return await store.chains()
    finally:
        await store.close()


def resumable(tap: HandTap) -> None:
    tap.write(tap.opened("/opt/db"), tap.handshake(), tap.call(), tap.tick(4))
    tap.write(tap.answer(_meta={"nextResumeToken": "T1"}))


def test_the_key_of_a_watched_server_names_its_client() -> None:
    assert split_watched_key(watched_key('A "b"\nc', '{"command":"x"}')) == (
        'A "b"\nc',
        '{"command":"x"}',
    )
    assert split_watched_key('{"command":"x"}') is None
    assert split_watched_key("watched by nonsense\nkey") == ("unknown client", "key")


async def test_a_token_is_saved_with_the_command_of_its_server(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    resumable(tap)
    async with watching(tmp_path, live) as engine:
        await until(lambda: states(engine) == [JobState.RESUMABLE])
    (chain,) = await saved(tmp_path)
    assert (chain.token, chain.standing.progress, chain.attempt_count) == ("T1", 4, 1)
    definition = json.loads(chain.origin.definition)
    assert (definition["command"], definition["cwd"]) == ("/opt/db", "/srv")
    assert split_watched_key(chain.origin.server_key) is not None
    assert chain.origin.params["arguments"] == {"n": 3}
    tap.end()


async def test_two_windows_save_one_chain_and_its_newest_token(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    resumable(tap)
    async with watching(tmp_path, live) as one, watching(tmp_path, live) as other:
        await until(lambda: states(one) == states(other) == [JobState.RESUMABLE])
        resumed = {"progressToken": "abc", "resumeToken": "T1"}
        params = {"name": "export", "arguments": {"n": 3}, "_meta": resumed}
        again = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        tap.write(tap.sent(again, 0.1), tap.answer(2, _meta={"nextResumeToken": "T2"}))
        await until(lambda: all(jobs_of(each)[0].attempt_count == 2 for each in (one, other)))
        await until(lambda: states(one) == states(other) == [JobState.RESUMABLE])
    (chain,) = await saved(tmp_path)
    assert chain.token == "T2"  # no secret
    tap.end()


async def test_a_saved_job_of_another_client_is_shown_and_not_resumed(
    tmp_path: Path, live: Path
) -> None:
    tap = HandTap(live)
    resumable(tap)
    async with watching(tmp_path, live) as engine:
        await until(lambda: states(engine) == [JobState.RESUMABLE])
    tap.end()
    async with watching(tmp_path, live) as engine:
        (job,) = jobs_of(engine)
        assert (job.watched_client, job.can_resume, job.can_resume_here) == (
            "Claude Code",
            False,
            True,
        )
        with pytest.raises(UserError, match="Claude Code"):
            await engine.resumer.resume(job.id)
        with pytest.raises(UserError, match="Claude Code"):
            await engine.resumer.reach(engine._keeper.origins[job.id])  # noqa: SLF001
        assert engine.servers.names() == ()


async def test_a_tap_that_is_watched_again_takes_the_place_of_what_was_saved(
    tmp_path: Path, live: Path
) -> None:
    tap = HandTap(live)
    resumable(tap)
    async with watching(tmp_path, live) as engine:
        await until(lambda: states(engine) == [JobState.RESUMABLE])
    async with watching(tmp_path, live) as engine:
        # Of a moment, the saved row is there as well: the tap's takes its place once it is saved.
        await until(lambda: [(job.request, job.chain) for job in jobs_of(engine)] == [(5, 1)])
        assert states(engine) == [JobState.RESUMABLE]
        # It is gone on with by its client, and done.
        params = {"name": "export", "arguments": {"n": 3}, "_meta": {"resumeToken": "T1"}}
        again = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        tap.write(tap.sent(again, 0.1), tap.answer(2))
        await until(lambda: states(engine) == [JobState.DONE])
        with anyio.fail_after(10):
            await until(lambda: jobs_of(engine)[0].resume_note == "")
    assert await saved(tmp_path) == []
    tap.end()


def cancelled(tap: HandTap, reason: str = "Request timed out") -> bytes:
    params = {"requestId": 1, "reason": reason}
    return tap.sent({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}, 0.1)


async def test_a_result_that_its_client_threw_away_is_kept_and_shown_as_late(
    tmp_path: Path, live: Path
) -> None:
    tap = HandTap(live)
    async with Engine(store=ResumeStore(tmp_path), watched=[live]) as engine:
        tap.write(tap.opened("/opt/db"), tap.handshake(), tap.call(), tap.tick(4), cancelled(tap))
        await until(lambda: states(engine) == [JobState.CANCELLING])
        tap.at += 20  # longer than the silence that confirms a cancel
        tap.write(tap.answer())
        await until(lambda: jobs_of(engine)[0].reply_size is not None)
        (job,) = jobs_of(engine)
        detail = engine.jobs.detail(job.id)
        assert detail is not None
        assert detail.answer is not None
        assert detail.answer.result == {"content": [{"type": "text", "text": "done"}]}
        assert (job.state, job.cancel_state) == (JobState.CANCELLED, "ignored")
        assert job_texts.full_state(job) == "Cancelled, but the result arrived 20 s later"
    tap.end()


async def test_a_late_result_with_a_token_can_be_resumed_here(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    async with watching(tmp_path, live) as engine:
        tap.write(tap.opened("/opt/db"), tap.handshake(), tap.call(), cancelled(tap))
        tap.write(tap.answer(_meta={"nextResumeToken": "T1"}))
        await until(lambda: jobs_of(engine) and jobs_of(engine)[0].can_resume_here)
        await until(lambda: jobs_of(engine)[0].chain)
    (chain,) = await saved(tmp_path)
    assert chain.token == "T1"  # no secret
    tap.end()


async def test_attempts_that_are_read_at_once_are_one_chain(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    resumable(tap)
    params = {"name": "export", "arguments": {"n": 3}, "_meta": {"resumeToken": "T1"}}
    again = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    tap.write(tap.sent(again, 0.1), tap.answer(2, _meta={"nextResumeToken": "T2"}))
    async with watching(tmp_path, live) as engine:
        await until(lambda: states(engine) == [JobState.RESUMABLE])
        await until(lambda: jobs_of(engine)[0].attempt_count == 2 and jobs_of(engine)[0].chain)
        detail = engine.jobs.detail(jobs_of(engine)[0].id)
        assert detail is not None
        assert [each.client for each in detail.attempts] == ["Claude Code", "Claude Code"]
    (chain,) = await saved(tmp_path)
    assert (chain.token, chain.attempt_count) == ("T2", 2)
    tap.end()


async def test_what_the_user_forgot_does_not_come_back_with_its_tap(
    tmp_path: Path, live: Path
) -> None:
    tap = HandTap(live)
    resumable(tap)
    async with watching(tmp_path, live) as engine:
        await until(lambda: jobs_of(engine) and jobs_of(engine)[0].chain)
        await engine.jobs.forget([jobs_of(engine)[0].id])
        assert jobs_of(engine) == []
    async with watching(tmp_path, live) as engine:
        await until(lambda: engine.timeline.end and jobs_of(engine) == [])
        tap.write(tap.call(7, token="other"))
        await until(lambda: states(engine) == [JobState.RUNNING])
    assert await saved(tmp_path) == []
    tap.end()


async def test_a_watched_request_is_copied_as_a_program(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened("/opt/db"), tap.handshake(), tap.call(), tap.answer())
    async with watching(tmp_path, live) as engine:
        await until(lambda: states(engine) == [JobState.DONE])
        request = jobs_of(engine)[0].request
        program = snippet(engine, request, Redaction())
    assert "command='/opt/db'" in program
    assert "client.call_tool('export', arguments" in program
    tap.end()


async def test_nothing_runs_that_was_only_watched(tmp_path: Path, live: Path) -> None:
    tap = HandTap(live)
    resumable(tap)
    async with watching(tmp_path, live) as engine:
        await until(lambda: jobs_of(engine) and jobs_of(engine)[0].chain)
        (origin,) = engine._keeper.origins.values()  # noqa: SLF001
        assert not was_run(saved_definition(origin), [origin])
    tap.end()


def task(status: str) -> dict[str, object]:
    created = "2025-11-25T10:30:00Z"
    return {"taskId": "t1", "status": status, "createdAt": created, "ttl": 600_000}


async def saved_tasks(tmp_path: Path) -> list[str]:
    store = ResumeStore(tmp_path)
    await store.open()
    try:
        return [each.task for each in await store.tasks.tasks()]
    finally:
        await store.close()


@pytest.mark.parametrize("is_at_once", [False, True])
async def test_a_task_is_saved_until_its_client_has_seen_its_end(
    tmp_path: Path, live: Path, is_at_once: bool
) -> None:
    tap = HandTap(live)
    begun = {"jsonrpc": "2.0", "id": 1, "result": {"task": task("working")}}
    tap.write(tap.opened("/opt/db"), tap.handshake(), tap.call(), tap.received(begun, 0.1))
    get = {"jsonrpc": "2.0", "id": 9, "method": "tasks/get", "params": {"taskId": "t1"}}
    end = {"jsonrpc": "2.0", "id": 9, "result": task("completed")}
    if is_at_once:
        tap.write(tap.sent(get, 0.1), tap.received(end, 0.1))
    async with watching(tmp_path, live) as engine:
        await until(lambda: jobs_of(engine) and jobs_of(engine)[0].task)
        if not is_at_once:
            await until(lambda: engine.tasks.saved_id(jobs_of(engine)[0].id))
            assert await saved_tasks(tmp_path) == ["t1"]
            assert not jobs_of(engine)[0].can_resume_here
            tap.write(tap.sent(get, 0.1), tap.received(end, 0.1))
        await until(lambda: states(engine) == [JobState.DONE])
        await until(lambda: engine.tasks.saved_id(jobs_of(engine)[0].id) is None)
    assert await saved_tasks(tmp_path) == []
    tap.end()


async def test_a_token_that_its_own_program_saves_is_not_saved_again(
    tmp_path: Path, live: Path
) -> None:
    store = ResumeStore(tmp_path)
    await store.open()
    origin = Origin("db", "key", "{}", "", "tools/call", {})
    tap = HandTap(live, saves=True)
    async with watching(tmp_path, live) as engine:
        resumable(tap)
        await anyio.sleep(0.2)
        await store.begin(origin, "T1", SavedProgress(), started_when=1.0, when=2.0)
        await until(lambda: _chain(engine) == 1)
        (job,) = jobs_of(engine)
    await store.close()
    assert job.state is JobState.RESUMABLE
    assert [chain.origin for chain in await saved(tmp_path)] == [origin]


async def test_a_token_that_its_own_program_could_not_save_is_not_saved_either(
    tmp_path: Path, live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "_SAVED_S", 0.001)
    tap = HandTap(live, saves=True)
    resumable(tap)
    async with watching(tmp_path, live) as engine:
        await until(lambda: states(engine) == [JobState.RESUMABLE])
    assert await saved(tmp_path) == []


def _chain(engine: Engine) -> int | None:
    found = jobs_of(engine)
    return found[0].chain if found else None
