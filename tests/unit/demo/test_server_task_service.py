"""Tasks outlive their server when it was given a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.demo.client import PER_REQUEST
from tests.unit.demo.host import CORE, Host

if TYPE_CHECKING:
    from pathlib import Path

SLOW: dict[str, Any] = {"steps": 200, "interval_s": 0.01}


@pytest.fixture(params=[CORE, PER_REQUEST])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _step(host: Host, task_id: str) -> int:
    """Return how far the task says it is."""
    words = host.task(task_id)["result"].get("statusMessage", "").split()
    return int(words[1]) if words[:1] == ["Step"] else 0


def test_a_running_task_goes_on_where_it_was(tmp_path: Path, version: str) -> None:
    first = Host(version, state_dir=tmp_path)
    task_id = first.begin_task("task_work", **SLOW)["taskId"]
    while (stood := _step(first, task_id)) < 3:
        first.pause()
    first.server.close()
    second = Host(version, state_dir=tmp_path)
    while (step := _step(second, task_id)) == 0:
        second.pause()
    assert step >= stood
    second.task(task_id, "tasks/cancel")
    second.wait_for_task(task_id, "cancelled")
    second.check_all()
    second.server.close()


def test_a_task_that_goes_on_has_no_token_any_more(tmp_path: Path) -> None:
    first = Host(CORE, state_dir=tmp_path)
    task_id = first.begin_task("task_work", **SLOW)["taskId"]
    first.server.close()
    second = Host(CORE, state_dir=tmp_path)
    while _step(second, task_id) < 2:
        second.pause()
    assert b"notifications/progress" not in second.sink.written
    second.server.close()


def test_a_result_outlives_the_server(tmp_path: Path, version: str) -> None:
    first = Host(version, state_dir=tmp_path)
    task_id = first.begin_task("task_work", steps=2, interval_s=0)["taskId"]
    first.wait_for_task(task_id, "completed")
    first.server.close()
    second = Host(version, state_dir=tmp_path)
    task = second.wait_for_task(task_id, "completed")
    done = task if version == PER_REQUEST else second.task(task_id, "tasks/result")
    assert "all 2" in done["result"]["content"][0]["text"]
    second.server.close()


def test_answers_outlive_the_server_and_open_questions_are_asked_again(tmp_path: Path) -> None:
    first = Host(PER_REQUEST, state_dir=tmp_path)
    task_id = first.begin_task("task_asks", questions=2, steps=0, interval_s=0)["taskId"]
    asked = first.wait_for_task(task_id, "input_required")["inputRequests"]
    first.task(task_id, "tasks/update", inputResponses=first.answered(asked))
    while "form-2" not in (
        asked := first.wait_for_task(task_id, "input_required")["inputRequests"]
    ):
        first.pause()
    first.server.close()
    second = Host(PER_REQUEST, state_dir=tmp_path)
    again = second.wait_for_task(task_id, "input_required")["inputRequests"]
    assert again == asked
    second.task(task_id, "tasks/update", inputResponses=second.answered(again))
    ended = second.wait_for_task(task_id, "completed")
    told = json.loads(ended["result"]["content"][1]["text"])
    assert [each["key"] for each in told] == ["form-1", "form-2"]
    second.server.close()


def test_the_list_outlives_the_server(tmp_path: Path) -> None:
    first = Host(CORE, state_dir=tmp_path)
    ids = [first.begin_task("task_work", **SLOW)["taskId"] for _ in range(3)]
    first.server.close()
    second = Host(CORE, state_dir=tmp_path)
    listed = second.request("tasks/list").replies[0]["result"]["tasks"]
    assert [task["taskId"] for task in listed] == ids
    second.server.close()


def test_an_expired_task_is_gone_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(CORE, state_dir=tmp_path)
    task_id = host.begin_task("task_work", ttl_s=60, **SLOW)["taskId"]
    assert (tmp_path / "tasks" / f"{task_id}.json").exists()
    monkeypatch.setattr("mcp_progress_monitor.demo.tasks.time.time", lambda: 1e11)
    assert "error" in host.task(task_id)
    assert list((tmp_path / "tasks").glob("*.json")) == []
    host.server.close()


def test_without_a_folder_nothing_outlives_the_server(isolated_home: Path) -> None:
    first = Host(CORE)
    task_id = first.begin_task("task_work", **SLOW)["taskId"]
    first.server.close()
    assert Host(CORE).task(task_id)["error"]["code"] == -32602
    assert list(isolated_home.rglob("*.json")) == []


def test_a_folder_belongs_to_one_server_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.servers.faulty_tasks._LOCKED_S", 0.05)
    first, second = Host(CORE, state_dir=tmp_path), Host(CORE, state_dir=tmp_path)
    task_id = first.begin_task("task_work", **SLOW)["taskId"]
    assert "error" in second.task(task_id)
    own = second.begin_task("task_work", steps=1, interval_s=0)["taskId"]
    assert second.wait_for_task(own, "completed")
    assert [file.stem for file in (tmp_path / "tasks").glob("*.json")] == [task_id]
    for host in (first, second):
        host.server.close()


def test_a_tool_that_is_gone_leaves_its_task_as_it_was(tmp_path: Path) -> None:
    first = Host(CORE, state_dir=tmp_path)
    task_id = first.begin_task("task_work", **SLOW)["taskId"]
    first.server.close()
    second = Host(CORE, state_dir=tmp_path, tools=())
    assert second.task(task_id)["result"]["status"] == "working"
    second.server.close()


def test_a_forgetful_task_keeps_its_fault(tmp_path: Path) -> None:
    first = Host(CORE, state_dir=tmp_path)
    task_id = first.begin_task("task_forgets_id", after_polls=1, interval_s=0.01)["taskId"]
    first.server.close()
    second = Host(CORE, state_dir=tmp_path)
    replies = [second.task(task_id) for _ in range(3)]
    assert ["error" in reply for reply in replies] == [False, False, True]
    second.server.close()
