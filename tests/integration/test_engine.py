"""The monitor against the demo server: calls from the request to the outcome, over real pipes."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.facts import ProgressReceived, RequestAnswered, RequestMade
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.definitions import Era
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobId, JobState
from tests.integration.watching import Watch
from tests.patience import PATIENCE_S
from tests.servers.definition import server_definition


@contextlib.asynccontextmanager
async def connected(
    *options: str, era: Era = "auto", **of_monitor: Any
) -> AsyncIterator[tuple[Engine, Watch]]:
    """A monitor with one demo server, called "demo"."""
    async with Engine(**of_monitor) as engine:
        watch = Watch(engine)
        engine.servers.add(server_definition(*options, era=era))
        await engine.servers.connect("demo")
        yield engine, watch


def tool(name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Call:
    """A call of one of the demo server's tools."""
    params = {"name": name, "arguments": arguments or {}}
    return Call("demo", "tools/call", params, **options)


def quick(steps: int) -> dict[str, Any]:
    return {"steps": steps, "interval_s": 0.002}


@pytest.mark.requirement("IT-1")
@pytest.mark.requirement("FR-2")
@pytest.mark.requirement("FR-3")
@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_a_call_with_a_token_is_reported_its_progress(era: Era) -> None:
    async with connected(era=era) as (engine, watch):
        outcome = await engine.calls.make(tool("known_total", quick(5), token="mine"))
    (request,) = [f for f in watch.facts if isinstance(f, RequestMade) and f.token is not None]
    ticks = [fact for fact in watch.facts if isinstance(fact, ProgressReceived)]
    assert request.params["_meta"]["progressToken"] == "mine"
    assert [tick.progress for tick in ticks] == [1, 2, 3, 4, 5]
    assert {tick.total for tick in ticks} == {5}
    assert {tick.request for tick in ticks} == {request.number}
    assert outcome.state is JobState.DONE
    assert outcome.failure is None
    assert outcome.job == 1


async def test_the_outcome_has_the_replys_exact_bytes() -> None:
    async with connected() as (engine, watch):
        outcome = await engine.calls.make(tool("known_total", quick(2)))
    replies = [f.raw for u in watch.updates for f in u.frames if f.channel is Channel.RECEIVED]
    assert outcome.raw in replies
    assert json.loads(outcome.raw)["result"] == outcome.result


@pytest.mark.parametrize("token", ["text", "", 0, 7, -1])
async def test_any_string_or_integer_may_be_the_token(token: str | int) -> None:
    async with connected() as (engine, watch):
        await engine.calls.make(tool("known_total", quick(2), token=token))
    ticks = [fact for fact in watch.facts if isinstance(fact, ProgressReceived)]
    assert [(tick.token, type(tick.token)) for tick in ticks] == [(token, type(token))] * 2


async def test_a_call_without_a_token_gets_no_progress_and_its_result() -> None:
    async with connected() as (engine, watch):
        outcome = await engine.calls.make(tool("known_total", quick(2), token=None))
    assert not [fact for fact in watch.facts if isinstance(fact, ProgressReceived)]
    assert outcome.state is JobState.DONE


@pytest.mark.requirement("FR-5")
@pytest.mark.requirement("IT-3")
@pytest.mark.parametrize("name", ["rpc_error", "error_result"])
async def test_a_token_is_free_again_after_an_error(name: str) -> None:
    arguments = {"at_tick": 2, "interval_s": 0.002}
    async with connected() as (engine, _):
        for _attempt in range(2):
            outcome = await engine.calls.make(tool(name, arguments, token="same"))
            assert outcome.state is JobState.FAILED
            assert outcome.failure is not None
            assert outcome.failure.where == "server"


async def test_a_token_in_use_is_refused_unless_it_is_wanted_so() -> None:
    async with connected() as (engine, watch), anyio.create_task_group() as calls:
        calls.start_soon(engine.calls.make, tool("never_answers", quick(1), token="same"))
        await watch.until(engine.jobs.ids)
        with pytest.raises(UserError, match="in use"):
            await engine.calls.make(tool("known_total", quick(1), token="same"))
        again = tool("known_total", quick(1), token="same", allow_duplicate_token=True)
        assert (await engine.calls.make(again)).state is JobState.DONE
        calls.cancel_scope.cancel()


@pytest.mark.requirement("NFR-1")
async def test_a_flood_of_progress_does_not_hold_up_other_requests() -> None:
    async with connected() as (engine, watch), anyio.create_task_group() as calls:
        calls.start_soon(engine.calls.make, tool("burst", {"count": 10_000_000}))
        await watch.until(lambda: any(update.changes.ticks for update in watch.updates))
        outcome = await engine.calls.make(tool("known_total", {"steps": 1, "interval_s": 0}))
        flood = engine.jobs.snapshot(1)
        assert outcome.state is JobState.DONE
        assert flood is not None
        assert flood.state is JobState.RUNNING
        calls.cancel_scope.cancel()


async def test_every_tick_of_a_burst_arrives_in_order_and_before_the_result() -> None:
    async with connected() as (engine, watch):
        outcome = await engine.calls.make(tool("burst", {"count": 20_000}))
    (job,) = map(engine.jobs.snapshot, engine.jobs.ids())
    assert job is not None
    reported = [f for f in watch.facts if isinstance(f, ProgressReceived | RequestAnswered)]
    reported = [fact for fact in reported if fact.request == job.request]
    ticks = [fact.progress for fact in reported if isinstance(fact, ProgressReceived)]
    assert ticks == list(range(1, 20_001))
    assert isinstance(reported[-1], RequestAnswered)
    assert outcome.state is JobState.DONE
    numbers = [frame.number for update in watch.updates for frame in update.frames]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


async def test_many_calls_run_beside_each_other() -> None:
    async with connected() as (engine, _), anyio.create_task_group() as calls:
        for _number in range(50):
            calls.start_soon(engine.calls.make, tool("known_total", quick(3)))
    found = [engine.jobs.snapshot(job) for job in engine.jobs.ids()]
    assert [job and job.state for job in found] == [JobState.DONE] * 50
    assert [job and job.tick_count for job in found] == [3] * 50


async def test_a_call_that_falls_silent_ends_at_its_idle_limit_and_says_since_when() -> None:
    async with connected() as (engine, _):
        outcome = await engine.calls.make(tool("never_answers", quick(2), idle_timeout_s=0.2))
    assert outcome.state is JobState.TIMED_OUT
    assert outcome.failure is not None
    assert outcome.failure.where == "local"
    assert "tools/call (id" in outcome.failure.message
    assert "Last tick" in outcome.failure.message


async def test_progress_keeps_a_call_within_its_idle_limit() -> None:
    async with connected() as (engine, _):
        steady = tool("known_total", {"steps": 24, "interval_s": 0.1}, idle_timeout_s=2)
        assert (await engine.calls.make(steady)).state is JobState.DONE


async def test_progress_does_not_keep_a_call_within_its_total_limit() -> None:
    async with connected() as (engine, _):
        steady = tool("known_total", {"steps": 2000, "interval_s": 0.05}, total_timeout_s=0.3)
        outcome = await engine.calls.make(steady)
    assert outcome.state is JobState.TIMED_OUT
    assert outcome.duration_s < PATIENCE_S


async def test_a_call_that_ran_out_of_time_is_cancelled_at_the_server() -> None:
    async with connected() as (engine, watch):
        await engine.calls.make(tool("never_answers", quick(1), total_timeout_s=0.1))
        await watch.until(lambda: b"notifications/cancelled" in last_sent(watch))
    assert json.loads(last_sent(watch))["params"]["reason"] == "Timed out"


def last_sent(watch: Watch) -> bytes:
    sent = [f for update in watch.updates for f in update.frames if f.channel is Channel.SENT]
    return sent[-1].raw


@pytest.mark.parametrize("reaction", ["error", "result"])
async def test_a_cancelled_call_ends_when_the_server_confirms(reaction: str) -> None:
    outcomes = []
    states: list[JobState | None] = []

    async def call() -> None:
        arguments = {"steps": 1000, "interval_s": 0.02, "on_cancel": reaction}
        outcomes.append(await engine.calls.make(tool("known_total", arguments)))

    async with connected() as (engine, watch):
        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            await watch.until(lambda: any(update.changes.ticks for update in watch.updates))
            engine.subscribe(lambda _update: states.append(state_of(engine, 1)))
            await engine.calls.cancel(1, "Enough")
        assert states[0] is JobState.CANCELLING
        assert json.loads(last_sent(watch))["params"]["reason"] == "Enough"
    assert outcomes[0].state is JobState.CANCELLED


async def test_a_cancel_that_the_server_is_silent_about_ends_the_call_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.engine._TICK_S", 0.05)
    outcomes = []

    async def call() -> None:
        outcomes.append(await engine.calls.make(tool("never_answers", quick(1))))

    quickly = connected(cancel_grace_s=0.1)
    async with quickly as (engine, watch), anyio.create_task_group() as calls:
        calls.start_soon(call)
        await watch.until(engine.jobs.ids)
        await engine.calls.cancel(1)
    assert outcomes[0].state is JobState.CANCELLED


def state_of(engine: Engine, job: JobId) -> JobState | None:
    found = engine.jobs.snapshot(job)
    return None if found is None else found.state


async def test_cancelling_what_is_over_does_nothing() -> None:
    async with connected() as (engine, watch):
        await engine.calls.make(tool("known_total", quick(1)))
        count = len(watch.updates)
        await engine.calls.cancel(1)
        await engine.calls.cancel(99)
        assert len(watch.updates) == count


async def test_a_caller_that_is_cancelled_cancels_its_request() -> None:
    async with connected() as (engine, watch):
        async with anyio.create_task_group() as calls:
            calls.start_soon(engine.calls.make, tool("never_answers", quick(1)))
            await watch.until(lambda: watch.sent("tools/call"))
            calls.cancel_scope.cancel()
        await watch.until(lambda: b"notifications/cancelled" in last_sent(watch))


async def test_a_crash_loses_the_jobs_of_that_server_alone() -> None:
    outcomes: dict[str, Outcome] = {}

    async def call(server: str, name: str, arguments: dict[str, Any]) -> None:
        params = {"name": name, "arguments": arguments}
        outcomes[server] = await engine.calls.make(Call(server, "tools/call", params))

    async with Engine() as engine:
        watch = Watch(engine)
        for name in ("weak", "strong"):
            engine.servers.add(server_definition(name=name))
            await engine.servers.connect(name)
        async with anyio.create_task_group() as calls:
            calls.start_soon(call, "weak", "crash", {"at_tick": 3, "interval_s": 0.002})
            calls.start_soon(call, "strong", "known_total", {"steps": 20, "interval_s": 0.01})
        await watch.until(lambda: engine.servers.snapshot("weak").state is ServerState.FAILED)
        assert engine.servers.snapshot("strong").state is ServerState.CONNECTED
        error = engine.servers.snapshot("weak").error
    assert outcomes["strong"].state is JobState.DONE
    assert outcomes["weak"].state is JobState.LOST
    assert outcomes["weak"].failure is not None
    assert "connection ended" in outcomes["weak"].failure.message
    assert error is not None
    assert "exit code" in error.what


async def test_a_job_whose_server_the_user_disconnects_is_lost_and_no_fault() -> None:
    async with connected() as (engine, watch):
        async with anyio.create_task_group() as calls:
            calls.start_soon(engine.calls.make, tool("never_answers", quick(2)))
            await watch.until(lambda: any(update.changes.ticks for update in watch.updates))
            await engine.servers.disconnect("demo")
        lost = engine.jobs.snapshot(1)
    assert lost is not None
    assert lost.state is JobState.LOST
    assert lost.failure is not None
    assert lost.failure.is_wanted
    assert lost.failure.message == "You disconnected the server; the reply had not arrived"


async def test_a_server_that_ended_can_be_connected_again() -> None:
    async with connected() as (engine, watch):
        await engine.calls.make(tool("crash", {"at_tick": 1, "interval_s": 0.002}))
        await watch.until(lambda: engine.servers.snapshot("demo").state is ServerState.FAILED)
        again = await engine.servers.connect("demo")
        assert again.state is ServerState.CONNECTED
        assert again.connection == "demo#2"
        assert again.error is None
        assert (await engine.calls.make(tool("known_total", quick(1)))).state is JobState.DONE


async def test_what_is_printed_to_stdout_disturbs_no_call() -> None:
    async with connected() as (engine, _):
        outcome = await engine.calls.make(tool("print_rubbish", {"interval_s": 0.002}))
    assert outcome.state is JobState.DONE


async def test_a_message_of_many_megabytes_arrives_with_its_bytes() -> None:
    async with connected() as (engine, _):
        outcome = await engine.calls.make(tool("long_line", {"megabytes": 8}))
    assert outcome.state is JobState.DONE
    assert len(outcome.raw) > 8_000_000


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_resources_and_prompts_are_listed_read_and_got(era: Era) -> None:
    async with connected(era=era) as (engine, watch):
        await watch.until(lambda: engine.servers.snapshot("demo").prompts)
        server = engine.servers.snapshot("demo")
        read = await engine.calls.make(
            Call("demo", "resources/read", {"uri": server.resources[0].uri})
        )
        prompt = server.prompts[0]
        arguments = {argument.name: "x" for argument in prompt.arguments}
        params = {"name": prompt.name, "arguments": arguments}
        got = await engine.calls.make(Call("demo", "prompts/get", params))
    assert read.result is not None
    assert read.result["contents"]
    assert got.result is not None
    assert got.result["messages"]


async def test_a_call_of_a_method_that_is_no_job_has_an_outcome_all_the_same() -> None:
    async with connected(era="handshake") as (engine, _):
        pong = await engine.calls.make(Call("demo", "ping", {}, token=None))
        refused = await engine.calls.make(Call("demo", "no/such", {}, token=None))
    assert (pong.job, pong.state, pong.result) == (None, JobState.DONE, {})
    assert refused.state is JobState.FAILED
    assert refused.failure is not None
    assert refused.failure.code == -32601


async def test_arguments_are_checked_against_the_tools_schema() -> None:
    async with connected() as (engine, _):
        assert await engine.calls.check_arguments("demo", "known_total", {"steps": 3}) == ([], ())
        found = await engine.calls.check_arguments("demo", "known_total", {"steps": "three"})
        (error,) = found.violations
        assert error.startswith("steps: ")


async def test_a_tool_that_does_not_exist_is_answered_with_names_like_it() -> None:
    async with connected() as (engine, _):
        with pytest.raises(UserError, match="Did you mean known_total"):
            await engine.calls.check_arguments("demo", "know_total", {})


async def test_lines_of_stderr_reach_listeners_and_the_servers_snapshot() -> None:
    async with connected() as (engine, watch):
        await engine.calls.make(tool("chatty_stderr", {"lines": 30, "interval_s": 0}))
        await watch.until(lambda: len(engine.servers.snapshot("demo").stderr_tail) == 20)
        frames = [f for u in watch.updates for f in u.frames if f.channel is Channel.STDERR]
        assert len(frames) >= 20
        assert any("demo" in u.servers for u in watch.updates if u.frames and u.frames[0] in frames)


async def test_unknown_requests_of_the_server_are_answered_with_method_not_found() -> None:
    async with connected(era="handshake") as (engine, watch):
        call = {"method": "demo/no_such_method", "even_if_forbidden": True, "timeout_s": 60}
        outcome = await engine.calls.make(tool("ask_client", call))
    assert outcome.result is not None or outcome.failure is not None
    sent = [f for u in watch.updates for f in u.frames if f.channel is Channel.SENT]
    assert any(b"-32601" in frame.raw for frame in sent)


async def test_a_ping_of_the_server_is_answered() -> None:
    async with connected(era="handshake") as (engine, watch):
        await engine.calls.make(tool("ask_client", {"method": "ping", "timeout_s": 60}))
    sent = [f.raw for u in watch.updates for f in u.frames if f.channel is Channel.SENT]
    assert any(b'"result":{}' in raw for raw in sent)
