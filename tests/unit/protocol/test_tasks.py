"""Tasks of 2025-11-25, as far as tokens depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.protocol.tasks import finished_task, live_task, task_named_by

if TYPE_CHECKING:
    from app.protocol.facts import JsonObject


@pytest.mark.parametrize("status", ["working", "input_required", "unheard-of", None])
def test_a_promised_task_is_live_unless_it_is_over(status: str | None) -> None:
    assert live_task({"task": {"taskId": "T", "status": status}}) == "T"
    assert finished_task({"taskId": "T", "status": status}) is None


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_task_with_a_terminal_status_is_over(status: str) -> None:
    assert live_task({"task": {"taskId": "T", "status": status}}) is None
    assert finished_task({"taskId": "T", "status": status}) == "T"


@pytest.mark.parametrize("task", [None, 5, {}, {"taskId": 5, "status": "working"}])
def test_what_is_no_task_is_neither(task: object) -> None:
    assert live_task({"task": task}) is None
    assert finished_task(None) is None
    assert finished_task({"taskId": 5, "status": "completed"}) is None


@pytest.mark.parametrize(
    ("method", "params", "task"),
    [
        ("tasks/result", {"taskId": "T"}, "T"),
        ("tasks/result", {"taskId": 5}, None),
        ("tasks/get", {"taskId": "T"}, None),
    ],
)
def test_only_the_reply_to_tasks_result_shows_an_end_by_itself(
    method: str, params: JsonObject, task: str | None
) -> None:
    assert task_named_by(method, params) == task
