"""Questions of the demo servers, through the monitor: jobs, clocks, cancelling, ends."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.protocol.facts import NotificationReceived
from mcp_progress_monitor.snapshots.definitions import Era, StdioDefinition
from mcp_progress_monitor.snapshots.questions import Accept, Question
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.patience import PATIENCE_S
from tests.servers.definition import server_definition

ERAS = ["handshake", "per-request"]


class Watch:
    """Waits for what a monitor tells of."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reported = anyio.Event()
        self.asked: list[int] = []
        """The questions that were reported, open or not, once for each time."""
        self.levels: list[str] = []
        """Those of the log messages that came."""
        engine.subscribe(self._take)

    def _take(self, update: Update) -> None:
        logged = [fact for fact in update.facts if isinstance(fact, NotificationReceived)]
        self.levels += [f.params["level"] for f in logged if f.method == "notifications/message"]
        self.asked += update.questions
        self._reported.set()

    async def anything(self) -> None:
        """Something more was reported."""
        self._reported = anyio.Event()
        await self._reported.wait()

    async def questions(self, count: int = 1) -> list[Question]:
        """So many open questions, once they are there."""
        await self.until(lambda: len(self._engine.questions.open()) >= count)
        return list(self._engine.questions.open())

    async def none(self) -> None:
        """No question is open."""
        await self.until(lambda: not self._engine.questions.open())

    async def until(self, is_so: Callable[[], object]) -> None:
        """Something is so."""
        with anyio.fail_after(PATIENCE_S):
            while not is_so():
                await self.anything()


def _call(tool: str, **arguments: Any) -> Call:
    return Call("demo", "tools/call", {"name": tool, "arguments": arguments})


def _replies(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.result is not None, outcome
    found: list[dict[str, Any]] = json.loads(outcome.result["content"][1]["text"])
    return found


class Calling:
    """A call that runs while a test answers."""

    def __init__(self, engine: Engine, call: Call) -> None:
        self._engine = engine
        self._call = call
        self.outcome: Outcome | None = None

    async def run(self) -> None:
        """Make the call and keep how it ended."""
        self.outcome = await self._engine.calls.make(self._call)


@pytest.mark.requirement("SC-3")
async def test_a_server_is_reported_each_phase_while_its_question_is_answered() -> None:
    async with Engine() as engine:
        watch = Watch(engine)
        await engine.servers.connect(engine.servers.add(server_definition(era="handshake")))
        calling = Calling(engine, _call("ask_form", fields="name", listen_after_s=0.1))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling.run)
            [asked] = await watch.questions()
            engine.questions.answer(asked.id, Accept({"name": "Ada"}))
    assert calling.outcome is not None
    [reply] = _replies(calling.outcome)
    assert [each["message"] for each in reply["phases"]] == [
        "Displaying form",
        "Awaiting input",
        "Validating",
        "Done",
    ]
    assert reply["late_phases"] == []
    assert reply["reply"]["result"] == {"action": "accept", "content": {"name": "Ada"}}


@pytest.mark.parametrize("era", ERAS)
async def test_the_clocks_of_the_asking_call_stand_still(era: Era) -> None:
    async with Engine() as engine:
        watch = Watch(engine)
        await engine.servers.connect(engine.servers.add(server_definition(era=era)))
        calling = Calling(engine, _call("ask_form", fields="name"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling.run)
            [asked] = await watch.questions()
            job = engine.jobs.ids()[0]
            found = engine.jobs.snapshot(job)
            assert found is not None
            assert found.clocks is not None
            assert found.clocks.is_suspended
            engine.questions.answer(asked.id, Accept({"name": "Ada"}))
    assert calling.outcome is not None
    assert calling.outcome.state is JobState.DONE


@pytest.mark.parametrize("era", ERAS)
async def test_cancelling_a_call_closes_its_question(era: Era) -> None:
    async with Engine(cancel_grace_s=0.2) as engine:
        watch = Watch(engine)
        await engine.servers.connect(engine.servers.add(server_definition(era=era)))
        calling = Calling(engine, _call("ask_form"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling.run)
            await watch.questions()
            await engine.calls.cancel(engine.jobs.ids()[0])
            await watch.none()
        assert calling.outcome is not None
        assert calling.outcome.state is JobState.CANCELLED
        assert engine.jobs.snapshot(engine.jobs.ids()[0]).state is JobState.CANCELLED  # type: ignore[union-attr]
        again = await engine.calls.make(_call("ask_roots"))
    assert again.state is JobState.DONE


_ASKS_AND_IGNORES_CANCELS = """
import json, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        known = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        send(id=asked["id"], result={**known, "serverInfo": {"name": "a", "version": "1"}})
    elif asked.get("method") == "tools/list":
        send(id=asked["id"], result={"tools": []})
    elif asked.get("method") == "tools/call":
        form = {"type": "object", "properties": {}}
        params = {"message": "Go on?", "requestedSchema": form}
        send(id="q", method="elicitation/create", params=params)
    elif asked.get("id") == "q":
        print(json.dumps(asked["result"]), file=sys.stderr, flush=True)
"""


async def test_a_cancelled_calls_question_is_dismissed_if_the_server_does_not_cancel_it() -> None:
    async with Engine(cancel_grace_s=0.2) as engine:
        watch = Watch(engine)
        script = ("-c", _ASKS_AND_IGNORES_CANCELS)
        asking = StdioDefinition(name="demo", command=sys.executable, args=script, era="handshake")
        await engine.servers.connect(engine.servers.add(asking))
        calling = Calling(engine, _call("ask"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling.run)
            [asked] = await watch.questions()
            await engine.calls.cancel(engine.jobs.ids()[0])
            await watch.none()
        found = engine.questions.find(asked.id)
        assert found is not None
        assert found.ended == "the call was cancelled"
        answered = b'{"action": "cancel"}'
        frames = engine.timeline.frames
        await watch.until(
            lambda: any(answered in each.raw for each in frames(0, engine.timeline.end))
        )


@pytest.mark.parametrize("era", ERAS)
async def test_disconnecting_closes_what_is_open(era: Era) -> None:
    async with Engine() as engine:
        watch = Watch(engine)
        await engine.servers.connect(engine.servers.add(server_definition(era=era)))
        calling = Calling(engine, _call("ask_together", count=2))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling.run)
            asked = await watch.questions(2)
            await engine.servers.disconnect("demo")
        assert engine.questions.open() == ()
        ended = [engine.questions.find(each.id) for each in asked]
    assert [each and each.ended for each in ended] == ["the connection ended"] * 2
    assert calling.outcome is not None
    assert calling.outcome.state is JobState.LOST


async def test_a_question_that_the_server_cancels_closes_automatically() -> None:
    async with Engine() as engine:
        watch = Watch(engine)
        await engine.servers.connect(engine.servers.add(server_definition(era="handshake")))
        calling = Calling(engine, _call("question_cancelled", after_s=0.1))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling.run)
            await watch.until(lambda: watch.asked)
            await watch.none()
    found = engine.questions.find(watch.asked[0])
    assert found is not None
    assert found.ended.startswith("the server cancelled it")
    assert calling.outcome is not None
    assert calling.outcome.state is JobState.DONE


@pytest.mark.parametrize("state", ["awkward", "plain", "long", "empty"])
async def test_a_server_finds_its_state_again_to_the_last_character(state: str) -> None:
    async with Engine() as engine:
        watch = Watch(engine)
        await engine.servers.connect(engine.servers.add(server_definition(era="per-request")))
        calling = Calling(engine, _call("ask_rounds", rounds=2, state_is=state))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling.run)
            for _ in range(2):
                [asked] = await watch.questions()
                engine.questions.answer(asked.id, Accept({"name": "Ada"}))
        assert len(engine.jobs.ids()) == 1
    assert calling.outcome is not None
    assert calling.outcome.state is JobState.DONE


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("neither", "neither input requests nor a state"),
        ("requests_list", "not an object"),
        ("unknown_method", "cannot be answered"),
    ],
)
async def test_a_result_that_requires_nonsense_ends_the_call_with_a_message(
    fault: str, text: str
) -> None:
    async with Engine() as engine:
        await engine.servers.connect(engine.servers.add(server_definition(era="per-request")))
        with anyio.fail_after(PATIENCE_S):
            outcome = await engine.calls.make(_call("wrong_input_required", fault=fault))
        found = engine.jobs.snapshot(engine.jobs.ids()[0])
    assert outcome.failure is not None
    assert text in outcome.failure.message
    assert found is not None
    assert found.state is outcome.state is JobState.FAILED


@pytest.mark.parametrize("era", ERAS)
async def test_log_levels_lists_and_resources_follow_the_requests(era: Era) -> None:
    async with Engine() as engine:
        watch = Watch(engine)
        name = engine.servers.add(server_definition(era=era))
        engine.settings.set_log_level(name, "error")
        await engine.servers.connect(name)
        engine.servers.subscribe_resource(name, "demo://counter")
        with anyio.fail_after(PATIENCE_S):
            while not engine.servers.snapshot(name).resource_updates:
                await engine.calls.make(_call("update_resource", times=1, interval_s=0.01))
            before = engine.servers.snapshot(name).tools
            await engine.calls.make(_call("change_list", list="tools"))
            while len(engine.servers.snapshot(name).tools) == len(before):
                await watch.anything()
        await engine.calls.make(_call("log_levels", interval_s=0.0))
    assert watch.levels == ["error", "critical", "alert", "emergency"]


async def test_rules_are_found_again_in_the_next_run(data_dir: Path) -> None:
    path = data_dir / "server-settings.json"
    async with Engine(settings=path) as engine:
        name = engine.servers.add(server_definition())
        engine.settings.set_question_rules(name, QuestionRules(form=QuestionRule(mode="decline")))
    async with Engine(settings=path) as engine:
        await engine.servers.connect(engine.servers.add(server_definition()))
        assert engine.servers.snapshot("demo").settings.rules.form.mode == "decline"
        outcome = await engine.calls.make(_call("ask_form"))
    assert _replies(outcome)[0]["reply"]["result"] == {"action": "decline"}
