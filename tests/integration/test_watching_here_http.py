"""Jobs of other clients behind an HTTP tap go on at the URL it leads to; the client is killed."""

import contextlib
import functools
import json
import subprocess
from collections.abc import AsyncIterator, Iterator

import anyio.to_thread
import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.origins import WatchedServerError
from mcp_progress_monitor.engine.servers_here import RECORDED, find_server_here
from mcp_progress_monitor.snapshots.definitions import Era, HttpDefinition
from mcp_progress_monitor.tracker import job_parts
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.commands import run, start
from tests.integration.http_servers import http_server
from tests.integration.resumable import Place, saved_tokens, whole
from tests.integration.tasks import ERAS, saved_tasks
from tests.integration.test_tap_http import tap_process
from tests.integration.test_watching import jobs_of
from tests.integration.test_watching_here import place, the_job, watching
from tests.patience import until

__all__ = ["place"]
CLIENT = "mcp-progress-monitor"
EXPORT = ("chunks=12", "chunks_per_attempt=5", "interval_s=0.05")
WORK = ("steps=60", "interval_s=0.02", "poll_ms=50")


@contextlib.asynccontextmanager
async def tapped_server(place: Place) -> AsyncIterator[tuple[str, str]]:
    """The URL of a server, and that of a tap before it."""
    state = ("--state-dir", str(place.state_dir))
    async with http_server(*state) as server, tap_process(server.url, place.data_dir) as (_, url):
        yield server.url, url


@contextlib.contextmanager
def client(
    place: Place, url: str, era: Era, tool: str, *args: str
) -> Iterator[subprocess.Popen[str]]:
    """This program as any other client, with another data folder."""
    own = place.folder / "client"
    own.mkdir()
    with start("call", tool, *args, "--url", url, "--era", era, "--data-dir", str(own)) as process:
        try:
            yield process
        finally:
            process.kill()


def arguments(given: tuple[str, ...]) -> list[str]:
    return [word for each in given for word in ("--arg", each)]


async def approved(engine: Engine, error: WatchedServerError, url: str, era: Era) -> None:
    """Approve what was recorded: the server itself, not its tap, opened as the client did."""
    found = await anyio.to_thread.run_sync(functools.partial(find_server_here, error.origin, ()))
    assert isinstance(found.definition, HttpDefinition)
    assert (found.definition.url, found.definition.era) == (url, era)
    assert (found.source, found.missing, found.hidden_count) == (RECORDED, (), 0)
    engine.resumer.use_here(error.origin, found.definition)


@pytest.mark.parametrize("era", ERAS)
async def test_a_resumable_job_whose_client_was_killed_is_finished_at_the_url(
    era: Era, place: Place
) -> None:
    args = (*arguments(EXPORT), "--auto-resume")
    async with tapped_server(place) as (server, url), watching(place) as engine:
        with client(place, url, era, "resumable_export", *args):
            await until(lambda: jobs_of(engine) and the_job(engine).attempt_count == 2)
            await until(lambda: (the_job(engine).progress or 0) >= 7)
        await until(lambda: the_job(engine).can_resume_here)
        assert (the_job(engine).state, the_job(engine).watched_client) == (
            JobState.RESUMABLE,
            CLIENT,
        )
        with pytest.raises(WatchedServerError) as error:
            await engine.resumer.resume(the_job(engine).id)
        await approved(engine, error.value, server, era)
        outcome = await engine.resumer.resume(the_job(engine).id)
        while outcome.state is JobState.RESUMABLE:
            outcome = await engine.resumer.resume(the_job(engine).id)
        assert outcome.state is JobState.DONE
        assert (the_job(engine).watched_client, the_job(engine).begun_by) == (None, CLIENT)
    assert place.chunks() == whole()
    assert saved_tokens(place) == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_whose_client_was_killed_is_followed_at_the_url(
    era: Era, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_parts, "LEFT_AFTER_S", 1.0)  # no client says that it was killed
    args = (*arguments(WORK), *(("--task",) if era == "handshake" else ()))
    async with tapped_server(place) as (server, url), watching(place) as engine:
        with client(place, url, era, "task_work", *args):
            await until(lambda: jobs_of(engine) and the_job(engine).task is not None)
            await until(lambda: len(saved_tasks(place)) == 1)
        await until(lambda: the_job(engine).can_resume_here)
        job = the_job(engine)
        assert (job.state, job.watched_client) == (JobState.RUNNING, CLIENT)
        with pytest.raises(WatchedServerError) as error:
            await engine.tasks.pick_up(job.id)
        await approved(engine, error.value, server, era)
        outcome = await engine.tasks.pick_up(job.id)
        assert (outcome.state, outcome.job) == (JobState.DONE, job.id)
        assert (the_job(engine).watched_client, the_job(engine).server) == (None, "demo")
    assert saved_tasks(place) == []


async def test_a_cut_stream_is_resumed_through_a_tap_as_without_one(place: Place) -> None:
    options = ("--resumable", "--break-after", "2", "--retry", "10")
    args = ("known_total", *arguments(("steps=6", "interval_s=0.01")), "--era", "handshake")

    async def called(url: str) -> list[list[object]]:
        call = functools.partial(run, "call", *args, "--url", url, "--json")
        ran = await anyio.to_thread.run_sync(call)
        assert ran.code == 0
        return [[e["event"], e.get("progress"), e.get("result")] for e in ran.events()]

    async with http_server(*options) as server, tap_process(server.url, place.data_dir) as (_, url):
        direct = await called(server.url)
        assert await called(url) == direct
    (recording,) = (place.data_dir / "recordings" / "live").glob("*.mcprec")
    events = [
        json.loads(line.partition(b" * ")[2])
        for line in recording.read_bytes().splitlines()
        if b" * " in line
    ]
    (broken,) = [event for event in events if event["event"] == "stream_broken"]
    (resumed,) = [event for event in events if event["event"] == "stream_resumed"]
    assert resumed["request"] == broken["request"]
    (again,) = [e for e in events if e["event"] == "http_request" and e["purpose"] == "resume"]
    sent = {name.lower(): value for name, value in again["headers"]}
    assert sent["last-event-id"] == broken["last_event_id"] == resumed["last_event_id"]
