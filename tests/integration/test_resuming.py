"""Going on with jobs, against the demo server's export: nothing twice, nothing lost."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.origins import ServerChangedError
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.facts import ProgressReceived, RequestMade
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.snapshots.definitions import Era, StdioDefinition
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.resumable import (
    AT_ONCE,
    Place,
    export,
    running,
    saved_tokens,
    the_job,
    whole,
)


def compared(message: dict[str, Any]) -> tuple[bytes, Any, int]:
    """A request without what may differ, its resume token, and its id."""
    params = dict(message["params"])
    meta = dict(params.pop("_meta", {}))
    token = meta.pop("resumeToken", None)
    rest = {**message, "params": {**params, **({"_meta": meta} if meta else {})}}
    identity = rest.pop("id")
    return canonical(rest), token, identity


@pytest.mark.parametrize("era", ["handshake", "per-request"])
@pytest.mark.parametrize("token", ["mine", 7, None])
async def test_attempts_differ_in_the_resume_token_and_the_id_alone(
    place: Place, era: Era, token: str | int | None
) -> None:
    async with running(place, era=era) as (engine, watch):
        outcome = await engine.calls.make(export(token=token))
        assert outcome.job == 1
        assert (await engine.resumer.resume(1)).state is JobState.RESUMABLE
        assert (await engine.resumer.resume(1)).state is JobState.DONE
        found = [compared(message) for message in watch.sent("tools/call")]
        requests = [f for f in watch.facts if isinstance(f, RequestMade) and f.resume_token]
    bodies, tokens, ids = zip(*found, strict=True)
    assert len(set(bodies)) == 1
    assert tokens[0] is None
    assert len({*tokens}) == 3
    assert len({*ids}) == 3
    assert b"resumeToken" not in bodies[0]
    assert {request.token for request in requests} == {token}
    assert (b"progressToken" in bodies[0]) == (token is not None)
    assert place.chunks() == whole()


async def test_all_attempts_are_one_row_and_progress_goes_on(place: Place) -> None:
    async with running(place) as (engine, watch):
        await engine.calls.make(export())
        assert the_job(engine).fraction == 5 / 12
        await engine.resumer.resume(1)
        await engine.resumer.resume(1)
        job, detail = the_job(engine), engine.jobs.detail(1)
    assert list(engine.jobs.ids()) == [1]
    assert (job.state, job.progress, job.tick_count, job.attempt_count) == (
        JobState.DONE, 12, 12, 3,
    )  # fmt: skip
    assert job.marks == ()
    ticks = [fact.progress for fact in watch.facts if isinstance(fact, ProgressReceived)]
    assert ticks == list(range(1, 13))
    assert detail is not None
    assert [attempt.tick_count for attempt in detail.attempts] == [5, 5, 2]
    assert detail.resume_token is None


async def test_a_token_is_on_disk_when_the_job_is_seen_as_resumable(place: Place) -> None:
    seen: list[list[str]] = []

    def look(_update: object) -> None:
        job = engine.jobs.snapshot(1)
        if job is not None and job.state is JobState.RESUMABLE and not seen:
            seen.append(saved_tokens(place))

    async with running(place) as (engine, _):
        engine.subscribe(look)
        outcome = await engine.calls.make(export())
        detail = engine.jobs.detail(1)
    assert detail is not None
    assert seen == [[json.dumps(detail.resume_token)]]
    assert outcome.resume_id == 1


async def test_jobs_of_earlier_runs_come_back_server_by_server(place: Place) -> None:
    async with running(place) as (engine, _):
        engine.servers.add(place.definition(name="another"))
        await engine.servers.connect("another")
        for server in ("demo", "another", "demo", "another"):
            await engine.calls.make(export(server))
    async with running(place, is_connected=False) as (engine, _):
        found = [the_job(engine, job) for job in engine.jobs.ids()]
    assert [(job.server, job.chain) for job in found] == [
        ("another", 2), ("another", 4), ("demo", 1), ("demo", 3),
    ]  # fmt: skip


async def test_a_finished_chain_leaves_no_token_behind(place: Place) -> None:
    async with running(place) as (engine, _):
        first = await engine.calls.make(export())
        assert saved_tokens(place)
        assert engine.resumer.find(first.resume_id or 0) == 1
        await engine.resumer.resume(1, auto_resume=AT_ONCE)
        assert saved_tokens(place) == []
        assert engine.resumer.find(first.resume_id or 0) is None
    async with running(place, is_connected=False) as (engine, _):
        assert list(engine.jobs.ids()) == []


async def test_after_a_restart_the_job_is_there_and_goes_on(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export(token="mine"))
        await engine.resumer.resume(1)
    async with running(place, is_connected=False) as (engine, watch):
        job = the_job(engine)
        assert (job.state, job.server, job.name) == (JobState.RESUMABLE, "demo", "resumable_export")
        assert (job.progress, job.total, job.attempt_count, job.token) == (10, 12, 2, "mine")
        assert job.can_resume
        assert engine.servers.snapshots() == []
        outcome = await engine.resumer.resume(1)
        assert outcome.state is JobState.DONE
        assert [server.name for server in engine.servers.snapshots()] == ["demo"]
        (message,) = watch.sent("tools/call")
        assert message["params"]["_meta"]["progressToken"] == "mine"
    assert place.chunks() == whole()


async def test_attempts_of_earlier_runs_are_reported_when_asked_for(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
        await engine.resumer.resume(1)
    async with running(place, is_connected=False) as (engine, watch):
        first = engine.jobs.detail(1)
        assert first is not None
        await watch.until(lambda: len(watch.updates) > 0)
        detail = engine.jobs.detail(1)
        assert detail is not None
        assert [(a.number, a.outcome) for a in detail.attempts] == [
            (1, JobState.RESUMABLE),
            (2, JobState.RESUMABLE),
        ]


async def test_without_a_store_everything_works_in_memory(place: Place) -> None:
    async with running(place, saves=False) as (engine, _):
        outcome = await engine.calls.make(export())
        assert (outcome.state, outcome.resume_id) == (JobState.RESUMABLE, None)
        assert engine.resumer.error is None
        outcome = await engine.resumer.resume(1, auto_resume=AT_ONCE)
        assert outcome.state is JobState.DONE
    assert place.chunks() == whole()
    assert list(place.data_dir.iterdir()) == []


async def test_a_call_cannot_use_a_jobs_token_behind_its_back(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
        detail = engine.jobs.detail(1)
        assert detail is not None
        params = {**export().params, "_meta": {"resumeToken": detail.resume_token}}
        with pytest.raises(UserError, match="belongs to job 1"):
            await engine.calls.make(Call("demo", "tools/call", params))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "demo://archive"}),
        ("prompts/get", {"name": "interview", "arguments": {"topic": "seas"}}),
    ],
)
async def test_any_request_can_be_resumed(
    place: Place, method: str, params: dict[str, Any]
) -> None:
    async with running(place) as (engine, watch):
        outcome = await engine.calls.make(Call("demo", method, params, token=None))
        assert outcome.state is JobState.RESUMABLE
        outcome = await engine.resumer.resume(1, auto_resume=AT_ONCE)
        assert outcome.state is JobState.DONE
        found = [compared(message)[0] for message in watch.sent(method)]
    assert len(found) > 1
    assert len(set(found)) == 1


async def test_a_renamed_server_is_used_and_not_added_again(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
    async with running(place, is_connected=False) as (engine, _):
        engine.servers.add(place.definition(name="renamed"))
        assert (await engine.resumer.resume(1)).state is JobState.RESUMABLE
        assert [server.name for server in engine.servers.snapshots()] == ["renamed"]
        assert the_job(engine).server == "renamed"


async def test_a_changed_definition_is_asked_about(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
    async with running(place, is_connected=False) as (engine, _):
        engine.servers.add(_other("demo"))
        with pytest.raises(
            ServerChangedError, match="definition of the job's server has changed"
        ) as caught:
            await engine.resumer.resume(1)
        assert caught.value.definition == place.definition()
        assert the_job(engine).can_resume
        assert (
            await engine.resumer.resume(1, use_saved_definition=True)
        ).state is JobState.RESUMABLE
        assert [server.name for server in engine.servers.snapshots()] == ["demo", "demo-2"]


def _other(name: str) -> StdioDefinition:
    return StdioDefinition(name=name, command="another-command")


async def test_a_server_that_was_removed_is_asked_about(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
        await engine.servers.disconnect("demo")
        engine.servers.remove("demo")
        with pytest.raises(ServerChangedError, match="was removed"):
            await engine.resumer.resume(1)
        outcome = await engine.resumer.resume(1, use_saved_definition=True)
        assert outcome.state is JobState.RESUMABLE


async def test_forgetting_deletes_the_token_and_the_row(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
        await engine.calls.make(export(job="other"))
        engine.jobs.remove([1, 2])
        assert list(engine.jobs.ids()) == [1, 2]
        await engine.jobs.forget([1, 99])
        assert list(engine.jobs.ids()) == [2]
        assert len(saved_tokens(place)) == 1
        with pytest.raises(UserError, match="Job not found"):
            await engine.resumer.resume(1)


async def test_reissuing_is_a_new_job_with_a_new_token_of_the_same_kind(place: Place) -> None:
    async with running(place) as (engine, watch):
        for name, token in (("a", "mine"), ("b", 7), ("c", None)):
            await engine.calls.make(export(job=name, token=token))
        for job in (1, 2, 3):
            assert (await engine.calls.reissue(job)).job == job + 3
        sent = watch.sent("tools/call")
    for first, again in zip(sent[:3], sent[3:], strict=True):
        assert first["params"]["arguments"] == again["params"]["arguments"]
        before = first["params"]["_meta"].get("progressToken")
        after = again["params"]["_meta"].get("progressToken")
        assert type(before) is type(after)
        assert before is None or before != after
        assert "resumeToken" not in again["params"]["_meta"]


async def test_what_is_not_resumable_is_refused_with_a_message(place: Place) -> None:
    async with running(place) as (engine, _):
        done = Call("demo", "tools/call", {"name": "known_total", "arguments": {"steps": 1}})
        await engine.calls.make(done)
        with pytest.raises(UserError, match="cannot be resumed"):
            await engine.resumer.resume(1)
        with pytest.raises(UserError, match="Job not found"):
            await engine.resumer.resume(99)
        with pytest.raises(UserError, match="Job not found"):
            await engine.calls.reissue(99)
        with pytest.raises(UserError, match="cannot be resumed"):
            engine.resumer.set_automatic(1, AT_ONCE)
        engine.resumer.set_automatic(99, AT_ONCE)
