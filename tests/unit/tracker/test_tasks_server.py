"""Tasks that a client runs for its server: questions that the server polls (2025-11-25)."""

from typing import Any

import pytest

from mcp_progress_monitor.protocol.messages import RELATED_TASK
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.protocol.wire import request, result
from tests.unit.tracker.dialogue import Dialogue, nested

_RELATED = {"_meta": {RELATED_TASK: {"taskId": "T"}}}


def _asked(wire: Dialogue, identity: str, method: str, **params: Any) -> int:
    return wire.receive(request(identity, method, **params))


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create"])
def test_a_question_that_the_client_answers_with_a_task_ends_with_its_result(
    wire: Dialogue, method: str
) -> None:
    made = _asked(wire, "q", method, task={"ttl": 60_000})
    wire.send(result("q", task=nested()))
    task = wire.job(made).task
    assert task is not None
    assert task.id == "T"
    _asked(wire, "g", "tasks/get", taskId="T")
    wire.send(result("g", **nested("completed")))
    _asked(wire, "r", "tasks/result", taskId="T")
    wire.send(result("r", role="assistant", content={"type": "text", "text": "42"}, **_RELATED))
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == {}


def test_the_same_id_on_both_sides_is_two_tasks(wire: Dialogue) -> None:
    called = wire.begin()
    asked = _asked(wire, "q", "sampling/createMessage", task={})
    wire.send(result("q", task=nested()))
    _asked(wire, "g", "tasks/get", taskId="T")
    wire.send(result("g", **nested("failed", statusMessage="no model")))
    assert wire.state(asked) is JobState.FAILED
    assert wire.state(called) is JobState.RUNNING
    wire.poll(nested("completed"))
    assert wire.state(called) is JobState.DONE
    assert wire.marks(called) == wire.marks(asked) == {}


def test_a_notification_is_about_a_task_of_its_sender(wire: Dialogue) -> None:
    called = wire.begin()
    asked = _asked(wire, "q", "sampling/createMessage", task={})
    wire.send(result("q", task=nested()))
    status = {"jsonrpc": "2.0", "method": "notifications/tasks/status"}
    wire.send({**status, "params": nested("cancelled")})
    assert wire.state(asked) is JobState.CANCELLED
    assert wire.state(called) is JobState.RUNNING


def test_a_cancel_reaches_the_senders_own_task_of_two_with_one_id(wire: Dialogue) -> None:
    called = wire.begin()
    asked = _asked(wire, "q", "sampling/createMessage", task={})
    wire.send(result("q", task=nested()))
    wire.ask("tasks/cancel", taskId="T")
    assert wire.state(called) is JobState.CANCELLING
    assert wire.state(asked) is not JobState.CANCELLING
    _asked(wire, "c", "tasks/cancel", taskId="T")
    assert wire.state(asked) is JobState.CANCELLING
