"""Tasks in lines for people: each change of the status once, however often it is stated."""

from typing import Any

import pytest

from mcp_progress_monitor.cli.output.job_text import TaskLines
from tests.unit.cli.traffic import Traffic, notice

TASK: dict[str, Any] = {
    "taskId": "T",
    "createdAt": "2026-11-20T10:00:00Z",
    "lastUpdatedAt": "2026-11-20T10:00:00Z",
    "ttl": 60000,
}


class Reports:
    """A call that became a task, and the lines printed about it."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.lines = TaskLines(self.traffic.jobs)
        self.traffic.opened("2025-11-25")
        self.traffic.called()

    def begun(self) -> list[str]:
        """The server made a task of the call."""
        task = {**TASK, "status": "working", "statusMessage": "Begun\x1b"}
        return self._read({"jsonrpc": "2.0", "id": 7, "result": {"task": task}})

    def stated(self, status: str, **more: Any) -> list[str]:
        """The server states how the task is."""
        return self._read(notice("notifications/tasks/status", **TASK, status=status, **more))

    def _read(self, message: dict[str, Any]) -> list[str]:
        self.traffic.now += 1
        return list(self.lines.lines(self.traffic.received(message)))


@pytest.fixture
def reported() -> Reports:
    return Reports()


def test_the_beginning_names_the_task(reported: Reports) -> None:
    assert reported.begun() == ["burst: task T: working (Begun\\x1b)"]


def test_each_change_is_reported_once(reported: Reports) -> None:
    reported.begun()
    assert reported.stated("working") == []
    assert reported.stated("input_required") == ["burst: task: input required"]
    assert reported.stated("input_required") == []
    assert reported.stated("working", statusMessage="On") == ["burst: task: working (On)"]
    assert reported.stated("completed") == ["burst: task: completed"]


def test_a_plain_call_is_no_task(reported: Reports) -> None:
    update = reported.traffic.received({"jsonrpc": "2.0", "id": 7, "result": {"content": []}})
    assert list(reported.lines.lines(update)) == []


def test_a_status_that_nobody_knows_is_reported_harmlessly(reported: Reports) -> None:
    reported.begun()
    assert reported.stated("half\ndone") == ["burst: task: half\\ndone"]
