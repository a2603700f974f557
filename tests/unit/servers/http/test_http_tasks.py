"""Tasks over HTTP: progress, states and questions that outlive the exchange they began with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.demo.eras import CAPABILITIES_STAMP, TASKS_EXTENSION
from tests.unit.servers.http.site import (
    Client,
    Message,
    called,
    mirrored,
    request,
    running,
    stamped,
)

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from pathlib import Path


def _heard(response: HTTPResponse, mark: str) -> Any:
    """Read a stream up to the first message with that in it."""
    while line := response.readline().decode():
        if line.startswith("data: {") and mark in line:
            return json.loads(line[6:])
    raise AssertionError(mark)


def _as_task(tool: str, **arguments: object) -> Message:
    message = called(tool, 1, **arguments)
    message["params"]["task"] = {"ttl": 60_000}
    return message


def _extended(message: Message) -> Message:
    message = stamped(message)
    message["params"]["_meta"][CAPABILITIES_STAMP] = {"extensions": {TASKS_EXTENSION: {}}}
    return message


def _alone(client: Client, method: str, params: Message) -> Any:
    message = _extended(request(method, params))
    return client.post(message, **mirrored(message, params.get("name"))).messages[-1]["result"]


def test_a_task_reports_where_the_client_listens() -> None:
    with running() as client:
        client.open()
        listening = client.begin("GET")
        began = client.post(_as_task("task_work", steps=3, interval_s=0.01))
        tick = _heard(listening, "notifications/progress")
        _heard(listening, '"completed"')
        listening.close()
        task_id = began.messages[-1]["result"]["task"]["taskId"]
        result = client.post(request("tasks/result", {"taskId": task_id}, 2))
    assert tick["params"]["progressToken"] == "t1"
    assert "content" in result.messages[-1]["result"]


def test_a_task_is_known_to_another_session_and_after_a_restart(tmp_path: Path) -> None:
    with running("--state-dir", str(tmp_path)) as client:
        client.open()
        began = client.post(_as_task("task_work", steps=200, interval_s=1))
        task_id = began.messages[-1]["result"]["task"]["taskId"]
        client.open()
        assert client.post(request("tasks/get", {"taskId": task_id}, 2)).messages[-1]["result"]
    with running("--state-dir", str(tmp_path)) as client:
        client.open()
        known = client.post(request("tasks/get", {"taskId": task_id}, 2)).messages[-1]["result"]
    assert known["status"] == "working"


def test_a_task_without_a_session_tells_who_listens_to_it() -> None:
    with running() as client:
        began = _alone(client, "tools/call", {"name": "task_work", "arguments": {"steps": 50}})
        wanted = {"notifications": {"taskIds": [began["taskId"]]}}
        listen = _extended(request("subscriptions/listen", wanted, "l"))
        listening = client.begin("POST", "/mcp", json.dumps(listen).encode(), **mirrored(listen))
        told = _heard(listening, "notifications/tasks")
        listening.close()
        assert (
            _alone(client, "tasks/cancel", {"taskId": began["taskId"]})["resultType"] == "complete"
        )
    assert told["params"]["taskId"] == began["taskId"]
