"""Tasks of the demo servers from their calls to their ends, in both eras, and servers gone wrong.

What we send is judged by the official SDK's own types.
"""

import json
from typing import Any

import anyio
import mcp_types
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.facts import TaskStated
from mcp_progress_monitor.snapshots.definitions import Era
from mcp_progress_monitor.snapshots.questions import Accept
from mcp_progress_monitor.store.tasks import TaskStore
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.resumable import Place, running, the_job
from tests.integration.tasks import ERAS, begun, called, saved_tasks, sent, task_call

REQUESTS: dict[str, Any] = {
    "tools/call": mcp_types.CallToolRequest,
    "tasks/get": mcp_types.GetTaskRequest,
    "tasks/result": mcp_types.GetTaskPayloadRequest,
    "tasks/cancel": mcp_types.CancelTaskRequest,
    "tasks/list": mcp_types.ListTasksRequest,
    "subscriptions/listen": mcp_types.SubscriptionsListenRequest,
}


def marks_of(engine: Engine, job: int = 1) -> set[str]:
    return {mark.key for mark in the_job(engine, job).marks}


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_becomes_a_task_ends_with_the_tasks_result(
    place: Place, era: Era
) -> None:
    async with running(place, era=era) as (engine, watch):
        outcome = await called(engine, "task_work", era)
        assert outcome.state is JobState.DONE
        assert outcome.result is not None
        assert outcome.result["content"][0]["text"] == "Finished all 4 steps."
        reply = json.loads(outcome.raw)["result"]
        held = reply["result"] if era == "per-request" else reply
        assert held == outcome.result
        job = the_job(engine, outcome.job)
        assert job.task is not None
        assert job.task.status == "completed"
        assert saved_tasks(place) == []
        assert not job.marks
        if era == "handshake":
            assert len(watch.sent("tasks/result")) == 1
            assert job.tick_count == 4


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_is_on_disk_before_anybody_sees_it(place: Place, era: Era) -> None:
    async with running(place, era=era) as (engine, watch):
        on_disk: list[bool] = []

        def look(_update: object) -> None:
            found = engine.jobs.snapshot(1)
            if found is not None and found.task is not None and not found.state.is_over:
                on_disk.append(saved_tasks(place) == [found.task.id])

        engine.subscribe(look)
        async with anyio.create_task_group() as tasks:
            # So many steps that it works still when it is seen, however late that is.
            tasks.start_soon(lambda: called(engine, "task_work", era, steps=100_000))
            await begun(engine, watch)
            tasks.cancel_scope.cancel()
        assert on_disk
        assert all(on_disk)


@pytest.mark.parametrize("era", ERAS)
async def test_both_ways_of_failing_are_reported_with_the_servers_message(
    place: Place, era: Era
) -> None:
    async with running(place, era=era) as (engine, _watch):
        error = await called(engine, "task_fails", era, how="rpc_error", at_tick=2)
        assert error.state is JobState.FAILED
        assert error.failure is not None
        assert error.failure.code == -32603
        tool = await called(engine, "task_fails", era, how="is_error", at_tick=2)
        assert tool.state is JobState.FAILED
        assert tool.failure is not None
        assert "disk was full" in tool.failure.message


async def test_a_tool_that_must_be_a_task_is_called_as_one_and_one_that_must_not_is_not(
    place: Place,
) -> None:
    async with running(place, era="handshake") as (engine, watch):
        await called(engine, "task_required", "handshake")
        with pytest.raises(UserError, match="cannot run as a task"):
            await engine.calls.make(task_call("task_forbidden", "handshake"))
        await called(engine, "task_forbidden", "handshake", as_task=False)
        plain = await called(engine, "task_work", "handshake", as_task=False)
        assert plain.state is JobState.DONE
        calls = [message["params"] for message in watch.sent("tools/call")]
    assert ["task" in params for params in calls] == [True, False, False]


async def test_the_time_to_live_is_requested_and_counted_down(place: Place) -> None:
    async with running(place, era="handshake") as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: called(engine, "task_work", "handshake", task_ttl_ms=60_000))
            job = await begun(engine, watch)
            assert job.task is not None
            assert job.task.ttl_left_s is not None
            assert 50 < job.task.ttl_left_s <= 60
        assert watch.sent("tools/call")[0]["params"]["task"] == {"ttl": 60_000}


async def test_without_the_extension_a_server_of_2026_answers_plainly(place: Place) -> None:
    async with running(place, era="per-request") as (engine, watch):
        outcome = await called(engine, "task_work", "per-request", as_task=False)
        assert outcome.state is JobState.DONE
        assert the_job(engine, outcome.job).task is None
        assert watch.sent("tasks/get") == []
        meta = watch.sent("tools/call")[0]["params"]["_meta"]
        assert "extensions" not in meta["io.modelcontextprotocol/clientCapabilities"]


async def test_a_call_without_the_extension_is_made_so_again_in_each_round(place: Place) -> None:
    async with running(place, era="per-request") as (engine, watch):
        params = {"name": "state_only", "arguments": {"rounds": 2, "interval_s": 0.01}}
        outcome = await engine.calls.make(Call("demo", "tools/call", params, as_task=False))
        assert outcome.state is JobState.DONE
        stamped = [m["params"]["_meta"] for m in watch.sent("tools/call")]
    key = "io.modelcontextprotocol/clientCapabilities"
    assert len(stamped) == 3
    assert all("extensions" not in meta[key] for meta in stamped)


async def test_a_plain_answer_to_a_task_request_and_a_task_unasked_for_both_work(
    place: Place,
) -> None:
    async with running(place, era="handshake") as (engine, _watch):
        plain = await called(engine, "task_answers_plainly", "handshake")
        unasked = await called(engine, "task_unasked", "handshake")
        assert (plain.state, unasked.state) == (JobState.DONE, JobState.DONE)
        assert marks_of(engine, 1) == {"task-plain"}
        assert marks_of(engine, 2) == {"task-plain"}


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_task_is_cancelled_by_its_own_request(place: Place, era: Era) -> None:
    async with running(place, era=era) as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, engine, "task_never_ends", era)
            await begun(engine, watch)
            await engine.calls.cancel(1)
        job = the_job(engine)
        assert job.state is JobState.CANCELLED
        assert job.cancel_state == "confirmed"
        assert len(watch.sent("tasks/cancel")) == 1
        call = watch.sent("tools/call")[0]["id"]
        cancelled = [m["params"]["requestId"] for m in watch.sent("notifications/cancelled")]
        assert call not in cancelled
        assert saved_tasks(place) == []


async def test_a_cancel_while_the_task_is_being_saved_is_sent_once_it_is(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_cancelled, save = anyio.Event(), TaskStore.begin

    async def slow(*args: Any, **named: Any) -> int:
        await is_cancelled.wait()
        return await save(*args, **named)

    monkeypatch.setattr(TaskStore, "begin", slow)
    async with running(place, era="handshake") as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, engine, "task_never_ends", "handshake")
            await watch.until(lambda: any(isinstance(f, TaskStated) for f in watch.facts))
            await anyio.wait_all_tasks_blocked()
            assert the_job(engine).task is None
            await engine.calls.cancel(1)
            assert the_job(engine).state is JobState.CANCELLING
            is_cancelled.set()
        assert the_job(engine).state is JobState.CANCELLED
        assert len(watch.sent("tasks/cancel")) == 1


async def test_a_cooperative_task_goes_on_until_it_stops_and_is_followed_till_then(
    place: Place,
) -> None:
    async with running(place, era="per-request") as (engine, watch):
        async with anyio.create_task_group() as tasks:
            wished = {"goes_on_s": 1, "ends_as": "completed", "steps": 200}
            tasks.start_soon(lambda: called(engine, "task_cooperative", "per-request", **wished))
            await begun(engine, watch)
            await engine.calls.cancel(1)
            await watch.until(lambda: watch.sent("tasks/cancel"))
            assert the_job(engine).state is JobState.CANCELLING
        assert the_job(engine).state is JobState.DONE
        assert the_job(engine).cancel_state == "ignored"


@pytest.mark.parametrize("era", ERAS)
async def test_giving_up_a_call_cancels_its_task(place: Place, era: Era) -> None:
    async with running(place, era=era) as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, engine, "task_never_ends", era)
            await begun(engine, watch)
            tasks.cancel_scope.cancel()
        await watch.until(lambda: the_job(engine).state is JobState.CANCELLED)
    assert saved_tasks(place) == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_that_takes_too_long_is_reported_with_the_state_of_the_wire(
    place: Place, era: Era
) -> None:
    async with running(place, era=era) as (engine, watch):
        outcome = await called(engine, "task_never_ends", era, total_timeout_s=0.6)
        assert outcome.state is JobState.TIMED_OUT
        assert outcome.failure is not None
        assert "has not finished after" in outcome.failure.message
        assert "its status is 'working'" in outcome.failure.message
        await watch.until(lambda: watch.sent("tasks/cancel"))


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_that_asks_gets_its_answers(place: Place, era: Era) -> None:
    async with running(place, era=era) as (engine, watch):
        outcomes = []

        async def call() -> None:
            outcomes.append(await called(engine, "task_asks", era, questions=2))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            for _ in range(2):
                await watch.until(lambda: engine.questions.open() or outcomes)
                (question,) = engine.questions.open()
                assert the_job(engine).state is JobState.NEEDS_YOU
                fields = (question.schema or {}).get("properties", {})
                content = {name: _fitting(field) for name, field in fields.items()}
                engine.questions.answer(question.id, Accept(content))
                await watch.until(lambda: not engine.questions.open())
        assert outcomes[0].state is JobState.DONE
        assert not {"task-status", "irregular-task"} & marks_of(engine)


def _fitting(field: dict[str, Any]) -> Any:
    """A value that fits a simple field."""
    if "enum" in field:
        return field["enum"][0]
    value: Any = {"boolean": True, "integer": 1, "number": 1, "array": []}.get(field["type"], "abc")
    return max(field.get("minimum", value), value) if type(value) is int else value


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("jump", "state"),
    [
        ("ended_then_working", JobState.DONE),
        ("cancelled_then_completed", JobState.CANCELLED),
        ("failed_then_input", JobState.FAILED),
        ("unknown_status", JobState.DONE),
        ("starts_completed", JobState.DONE),
    ],
)
async def test_a_task_that_jumps_between_states_ends_with_the_first_final_one(
    place: Place, era: Era, jump: str, state: JobState
) -> None:
    async with running(place, era=era) as (engine, _watch):
        # A busy machine has to look between the jumps.
        outcome = await called(engine, "task_jumps_states", era, jump=jump, interval_s=0.3)
    assert outcome.state is state
    assert saved_tasks(place) == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_that_its_server_forgets_is_reported_as_such(place: Place, era: Era) -> None:
    async with running(place, era=era) as (engine, _watch):
        outcome = await called(engine, "task_forgets_id", era, after_polls=2)
        assert outcome.state in {JobState.FAILED, JobState.LOST}
        assert outcome.failure is not None
        assert "Task not found" in outcome.failure.message
        assert not engine.tasks.can_pick_up(1)
    assert saved_tasks(place) == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_whose_time_is_over_is_lost_with_a_message(place: Place, era: Era) -> None:
    async with running(place, era=era) as (engine, _watch):
        outcome = await called(engine, "task_never_ends", era, ttl_s=1)
        assert outcome.state is JobState.LOST
        assert outcome.failure is not None
        assert "has expired" in outcome.failure.message
    assert saved_tasks(place) == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", ["task_result_early", "task_status_after_end"])
async def test_results_and_states_at_the_wrong_time_hurt_nothing(
    place: Place, era: Era, tool: str
) -> None:
    async with running(place, era=era) as (engine, _watch):
        outcome = await called(engine, tool, era)
    assert outcome.state is JobState.DONE
    assert outcome.result is not None


async def test_the_tasks_of_a_server_are_listed_page_by_page_with_their_jobs(place: Place) -> None:
    async with running(place, is_connected=False) as (engine, watch):
        engine.servers.add(place.definition("--page-size", "2", era="handshake"))
        with pytest.raises(UserError, match="not connected"):
            await engine.tasks.list_at("demo")
        await engine.servers.connect("demo")
        for _ in range(3):
            await called(engine, "task_work", "handshake", steps=1)
        listed = (await engine.tasks.list_at("demo")).items
        assert len(listed) == 3
        assert {view.status for view in listed} == {"completed"}
        assert len(watch.sent("tasks/list")) == 2
        assert [engine.tasks.job_of("demo", view.id) for view in listed] == [1, 2, 3]


async def test_tasks_of_2026_cannot_be_listed(place: Place) -> None:
    async with running(place, era="per-request") as (engine, _watch):
        with pytest.raises(UserError, match="cannot be listed"):
            await engine.tasks.list_at("demo")


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_without_tasks_is_not_asked_for_any(place: Place, era: Era) -> None:
    async with running(place, is_connected=False) as (engine, watch):
        engine.servers.add(place.definition("--profile", "no-tasks", era=era))
        await engine.servers.connect("demo")
        with pytest.raises(UserError, match="does not support tasks"):
            await engine.calls.make(task_call("task_work", era, as_task=True))
        outcome = await called(engine, "task_work", era, as_task=None)
        assert outcome.state is JobState.DONE
        assert not any(m["method"].startswith("tasks/") for m in sent(watch) if "method" in m)


@pytest.mark.parametrize("era", ERAS)
async def test_the_official_types_take_every_request_that_we_make_about_tasks(
    place: Place, era: Era
) -> None:
    async with running(place, era=era) as (engine, watch):
        await called(engine, "task_work", era)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, engine, "task_never_ends", era)
            await begun(engine, watch, 2)
            await engine.calls.cancel(2)
        if era == "handshake":
            await engine.tasks.list_at("demo")
        messages = [m for m in sent(watch) if m.get("method") in REQUESTS]
    checked = set()
    for message in messages:
        REQUESTS[message["method"]].model_validate(message)
        checked.add(message["method"])
    core = {"tools/call", "tasks/get", "tasks/result", "tasks/cancel", "tasks/list"}
    extension = {"tools/call", "tasks/get", "tasks/cancel", "subscriptions/listen"}
    assert checked == (core if era == "handshake" else extension)


async def test_progress_of_a_task_goes_on_until_it_ends(place: Place) -> None:
    async with running(place, era="handshake") as (engine, _watch):
        outcome = await called(engine, "task_work", "handshake", steps=12)
        job = the_job(engine, outcome.job)
        assert (job.progress, job.total, job.late_count) == (12, 12, 0)


@pytest.mark.parametrize("era", ERAS)
async def test_many_tasks_at_once_keep_apart(place: Place, era: Era) -> None:
    async with running(place, era=era) as (engine, _watch):
        async with anyio.create_task_group() as tasks:
            for steps in range(1, 21):
                call = task_call("task_work", era, steps=steps, interval_s=0.02)
                tasks.start_soon(engine.calls.make, call)
        assert len(engine.jobs.ids()) == 20
        for job in map(engine.jobs.detail, engine.jobs.ids()):
            assert job is not None
            assert job.snapshot.state is JobState.DONE
            assert job.answer is not None
            text = str(job.answer.result)
            steps = job.params["arguments"]["steps"]
            assert f"all {steps} steps" in text or "the 1 step" in text or steps == 1
    assert saved_tasks(place) == []
