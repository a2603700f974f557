"""A call becomes a task in both formats, asks there, and can be cancelled."""

from __future__ import annotations

import pytest

from tests.unit.demo.client import PER_REQUEST
from tests.unit.demo.host import CORE, Host


@pytest.fixture(params=[CORE, PER_REQUEST])
def host(request: pytest.FixtureRequest) -> Host:
    return Host(str(request.param))


def test_a_task_ends_with_the_result_of_its_call(host: Host) -> None:
    task_id = host.begin_task("task_work", steps=2, interval_s=0)["taskId"]
    task = host.wait_for_task(task_id, "completed")
    done = task if host.version == PER_REQUEST else host.task(task_id, "tasks/result")
    assert "all 2" in done["result"]["content"][0]["text"]
    host.check_all()


def test_a_task_of_the_extension_goes_on_with_the_answers() -> None:
    host = Host(PER_REQUEST)
    task_id = host.begin_task("task_asks", questions=1, steps=1, interval_s=0)["taskId"]
    asked = host.wait_for_task(task_id, "input_required")["inputRequests"]
    host.task(task_id, "tasks/update", inputResponses=host.answered(asked))
    host.wait_for_task(task_id, "completed")
    host.check_all()


def test_a_cancelled_task_stops(host: Host) -> None:
    task_id = host.begin_task("task_work", steps=1_000, interval_s=0.01)["taskId"]
    host.task(task_id, "tasks/cancel")
    host.wait_for_task(task_id, "cancelled")
    host.check_all()


def test_a_task_nobody_knows_is_refused(host: Host) -> None:
    assert host.task("nobody")["error"]["code"] == -32602
