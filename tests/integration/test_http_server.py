"""The monitor against the demo server over HTTP: replies, breaks, refusals, kills."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.integration.http_servers import HttpServer, http_server
from tests.integration.watching import Watch
from tests.patience import PATIENCE_S

ERAS = ("handshake", "per-request")


@contextlib.asynccontextmanager
async def connected(
    *options: str, **fields: Any
) -> AsyncIterator[tuple[Engine, Watch, HttpServer]]:
    """A monitor with one demo server over HTTP, called "demo"."""
    async with http_server(*options) as server, Engine() as engine:
        watch = Watch(engine)
        engine.servers.add(HttpDefinition(name="demo", url=server.url, **fields))
        await engine.servers.connect("demo")
        yield engine, watch, server


def count(steps: int, interval_s: float = 0.002, **options: str) -> Call:
    arguments = {"steps": steps, "interval_s": interval_s, **options}
    return Call("demo", "tools/call", {"name": "known_total", "arguments": arguments})


class Beside:
    """What became of a call that goes on beside the test."""

    def __init__(self) -> None:
        self.outcome: Outcome | None = None

    @property
    def state(self) -> JobState | None:
        return None if self.outcome is None else self.outcome.state


@contextlib.asynccontextmanager
async def beside(engine: Engine, call: Call) -> AsyncIterator[Beside]:
    """Make a call, and wait for its end with that of the context."""
    found = Beside()

    async def run() -> None:
        found.outcome = await engine.calls.make(call)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            yield found


def ticks(watch: Watch) -> list[Any]:
    return [fact.progress for update in watch.updates for _, _, fact in update.changes.ticks]


def events(watch: Watch, name: str) -> int:
    begin = f'{{"event":"{name}"'.encode()
    frames = [frame for update in watch.updates for frame in update.frames]
    return sum(f.channel is Channel.EVENT and f.raw.startswith(begin) for f in frames)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("reply", ["sse", "json", "batch"])
async def test_every_kind_of_reply_brings_the_result(era: str, reply: str) -> None:
    async with connected("--reply", reply, era=era) as (engine, watch, _):
        outcome = await engine.calls.make(count(5))
        await watch.until(lambda: events(watch, "http_ended"))
    assert outcome.state is JobState.DONE
    # Beside one JSON value, progress has no place but a stream of the server's own.
    assert reply == "json" or ticks(watch) == [1, 2, 3, 4, 5]


async def test_what_a_later_batch_brings_is_late_on_the_right_job() -> None:
    async with connected("--reply", "batch", "--late-batch") as (engine, watch, _):
        first = await engine.calls.make(count(20))
        second = await engine.calls.make(count(20))
    assert first.state is second.state is JobState.DONE
    assert first.job != second.job
    late = [job for update in watch.updates for job, _, _ in update.changes.ticks]
    assert late.count(first.job) == 20


async def test_a_stream_that_breaks_is_taken_up_and_nothing_is_missing() -> None:
    options = ("--break-after", "3", "--resumable", "--retry", "10")
    async with connected(*options, era="handshake") as (engine, watch, _):
        outcome = await engine.calls.make(count(10))
    assert outcome.state is JobState.DONE
    assert ticks(watch) == list(range(1, 11))
    assert events(watch, "stream_broken") == events(watch, "stream_resumed") == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_stream_that_cannot_be_taken_up_loses_its_job_alone(era: str) -> None:
    async with connected("--break-after", "3", era=era) as (engine, _, _server):
        outcome = await engine.calls.make(count(10))
        assert outcome.state is JobState.LOST
        assert outcome.failure is not None
        assert "re-issued" in outcome.failure.message
        assert engine.servers.snapshot("demo").state is ServerState.CONNECTED


async def test_a_killed_server_that_comes_back_goes_on_with_the_job(tmp_path: Path) -> None:
    options = ("--resumable", "--retry", "50", "--state-dir", str(tmp_path))
    async with connected(*options, era="handshake") as (engine, watch, server):
        async with beside(engine, count(40, 0.05)) as call:
            await watch.until(lambda: len(ticks(watch)) > 3)
            server.kill()
            await watch.until(lambda: events(watch, "stream_broken"))
            await server.restart()
        assert call.state is JobState.DONE
    assert sorted(set(ticks(watch))) == list(range(1, 41))


@pytest.mark.parametrize("era", ERAS)
async def test_a_killed_server_loses_its_job_and_then_the_connection(era: str) -> None:
    async with connected(era=era) as (engine, watch, server):
        async with beside(engine, count(1000, 0.05)) as call:
            await watch.until(lambda: len(ticks(watch)) > 3)
            server.kill()
        assert call.state is JobState.LOST
        with contextlib.suppress(UserError):
            assert (await engine.calls.make(count(1))).state is JobState.LOST
        await watch.until(lambda: not engine.servers.snapshot("demo").state.is_up)
        error = engine.servers.snapshot("demo").error
    assert error is not None
    assert "refused" in error.what


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancel_reaches_the_server(era: str) -> None:
    async with connected(era=era) as (engine, watch, _):
        async with beside(engine, count(1000, 0.05, on_cancel="error")) as call:
            await watch.until(lambda: ticks(watch))
            jobs = [job for update in watch.updates for job, _, _ in update.changes.ticks]
            assert jobs[0] is not None
            await engine.calls.cancel(jobs[0])
        assert call.state is JobState.CANCELLED
        reported = len(ticks(watch))
        assert (await engine.calls.make(count(5, 0.05))).state is JobState.DONE
        assert len(ticks(watch)) <= reported + 6  # one may have been on its way
    assert events(watch, "stream_closed") == (era == "per-request")
    assert len(watch.sent("notifications/cancelled")) == (era == "handshake")


async def test_a_cancel_that_closes_the_stream_waits_for_nothing_and_is_replayed_so() -> None:
    async with http_server() as server, Engine(cancel_grace_s=3600) as engine:
        watch = Watch(engine)
        engine.servers.add(HttpDefinition(name="demo", url=server.url, era="per-request"))
        await engine.servers.connect("demo")
        async with beside(engine, count(1000, 0.05)) as call:
            await watch.until(lambda: ticks(watch))
            (job,) = engine.jobs.ids()
            await engine.calls.cancel(job, "Enough")
        assert call.state is JobState.CANCELLED
        live = engine.jobs.snapshot(job)
        frames = [frame for update in watch.updates for frame in update.frames]
    conversation, tracker = Conversation(frames[0].connection), Tracker()
    tracker.apply(conversation.read(frames), frames[-1].at)
    replayed = tracker.snapshot(1, frames[-1].at)
    assert live is not None
    assert replayed is not None
    assert live.state is replayed.state is JobState.CANCELLED
    assert live.ended_at == replayed.ended_at
    assert live.cancel_state == replayed.cancel_state == "confirmed"


async def test_many_calls_at_once_keep_apart() -> None:
    async with connected() as (engine, _watch, _):
        outcomes: list[Any] = []

        async def call() -> None:
            outcomes.append(await engine.calls.make(count(20, 0.01)))

        async with anyio.create_task_group() as tasks:
            for _n in range(20):
                tasks.start_soon(call)
    assert [outcome.state for outcome in outcomes] == [JobState.DONE] * 20


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("era", ERAS)
async def test_tens_of_thousands_of_ticks_all_arrive(era: str, count: int) -> None:
    burst = Call("demo", "tools/call", {"name": "burst", "arguments": {"count": count}})
    async with connected(era=era) as (engine, watch, _):
        outcome = await engine.calls.make(burst)
    assert outcome.state is JobState.DONE
    assert len(ticks(watch)) == count


async def test_the_older_transport_works() -> None:
    async with connected("--sse", transport="sse") as (engine, watch, _):
        outcome = await engine.calls.make(count(5))
    assert outcome.state is JobState.DONE
    assert ticks(watch) == [1, 2, 3, 4, 5]


async def test_a_server_of_the_older_transport_is_recognized_and_remembered() -> None:
    async with connected("--sse") as (engine, watch, _):
        first = await engine.calls.make(count(5))
        assert events(watch, "transport_changed") == 1
        await engine.servers.disconnect("demo")
        await engine.servers.connect("demo")
        second = await engine.calls.make(count(5))
    assert first.state is second.state is JobState.DONE
    assert events(watch, "transport_changed") == 1
    assert ticks(watch) == [1, 2, 3, 4, 5] * 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--no-mcp",), "not an MCP message"),
        (("--bearer", "secret"), "401"),
        (("--fail", "503", "--fail-times", "0"), "503"),
        (("--redirect", "http://elsewhere.test/mcp"), "http://elsewhere.test/mcp"),
    ],
)
async def test_a_server_that_cannot_be_connected_to_is_explained(
    options: tuple[str, ...], text: str
) -> None:
    with pytest.raises(UserError) as caught:
        async with connected(*options):
            pass
    assert text in str(caught.value)


async def test_a_header_lets_us_in_and_is_never_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_TOKEN", "s3cr3t-t0ken")
    headers = {"Authorization": "Bearer ${env:DEMO_TOKEN}"}
    async with connected("--bearer", "s3cr3t-t0ken", headers=headers) as (engine, watch, _):
        outcome = await engine.calls.make(count(1))
    frames = [frame.raw for update in watch.updates for frame in update.frames]
    assert outcome.state is JobState.DONE
    assert not any(b"s3cr3t-t0ken" in raw for raw in frames)


async def test_a_server_where_nothing_listens_is_explained() -> None:
    async with Engine() as engine:
        engine.servers.add(HttpDefinition(name="demo", url="http://127.0.0.1:9/mcp"))
        with pytest.raises(UserError) as caught:
            await engine.servers.connect("demo")
    assert "nothing is listening there" in str(caught.value)


async def test_a_name_that_does_not_exist_is_explained() -> None:
    async with Engine() as engine:
        engine.servers.add(HttpDefinition(name="demo", url="http://no-such-host.invalid/mcp"))
        with pytest.raises(UserError) as caught:
            await engine.servers.connect("demo")
    assert "name could not be resolved" in str(caught.value)
