"""Tasks as FastMCP 2.14 has them, in the shape of a draft, are followed to their end."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("draft_tasks_server.py")


async def test_a_task_of_the_draft_is_followed_to_its_result_with_marks() -> None:
    definition = StdioDefinition(name="draft", command=sys.executable, args=(str(SERVER),))
    async with Engine() as engine:
        engine.servers.add(definition)
        await engine.servers.connect("draft")
        with anyio.fail_after(PATIENCE_S):
            call = Call("draft", "tools/call", {"name": "slow", "arguments": {}}, as_task=True)
            outcome = await engine.calls.make(call)
        assert outcome.job is not None
        snapshot = engine.jobs.snapshot(outcome.job)
    assert outcome.state is JobState.DONE
    assert (outcome.result or {})["content"] == [{"type": "text", "text": "finished"}]
    assert snapshot is not None
    (mark,) = snapshot.marks
    assert "modelcontextprotocol.io/task" in mark.text
    assert mark.count == 2, "the result names its task as in the draft, too"


async def test_the_command_line_waits_for_a_task_of_the_draft() -> None:
    command = [
        sys.executable,
        "-m",
        "mcp_progress_monitor",
        "call",
        "slow",
        "--task",
        "--json",
        "--",
    ]
    done = await anyio.run_process([*command, sys.executable, str(SERVER)], stderr=subprocess.PIPE)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    states = [event["status"] for event in events if event["event"] == "task"]
    assert states[-1] == "completed"
    assert b"without making a task" not in done.stderr + done.stdout
    (result,) = [event["result"] for event in events if event["event"] == "result"]
    assert result["content"][0]["text"] == "finished"


async def test_people_are_warned_of_the_draft_once() -> None:
    command = [sys.executable, "-m", "mcp_progress_monitor", "call", "slow", "--task", "--"]
    done = await anyio.run_process([*command, sys.executable, str(SERVER)], stderr=subprocess.PIPE)
    warnings = [line for line in done.stderr.decode().splitlines() if "warning:" in line]
    assert len(warnings) == 1
    assert "as in a draft" in warnings[0]
