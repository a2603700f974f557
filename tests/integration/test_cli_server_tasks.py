"""`tasks`: those at a server that outlives the command: listed, looked at, followed, cancelled."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.eras import IN_SHORT
from tests.integration.commands import ROOT, Run, linux_only, run, start
from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND


class Served(NamedTuple):
    """A demo server over HTTP, and a task that another client has begun there."""

    target: tuple[str, ...]
    task: str

    def tasks(self, command: str, *arguments: str) -> Run:
        """Run one of the commands about tasks."""
        return run("tasks", command, *arguments, *self.target)


@pytest.fixture
def serve(tmp_path: Path, started: list[subprocess.Popen[str]]) -> Callable[..., Served]:
    """Begin a task of so many steps, of 0.2 s each, at a server over HTTP."""

    def begin(era: str, steps: int, tool: str = "task_work") -> Served:
        server = subprocess.Popen(
            [*COMMAND, "--http", "0"], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        started.append(server)
        assert server.stderr is not None
        url = next(word for word in server.stderr.readline().split() if "://" in word)
        target = ("--url", url, "--era", era, "--data-dir", str(tmp_path / "data"))
        arguments = ("--arg", f"steps={steps}", "--arg", "interval_s=0.2", "--arg", "poll_ms=100")
        client = start("call", tool, "--task", *arguments, "--json", *target)
        started.append(client)
        assert client.stdout is not None
        while True:
            event = json.loads(client.stdout.readline())
            if event["event"] == "task":
                return Served(target, event["taskId"])

    return begin


@pytest.mark.parametrize("era", IN_SHORT)
def test_a_task_of_another_client_is_followed_to_its_result(
    serve: Callable[..., Served], era: str
) -> None:
    served = serve(era, 15)
    ran = served.tasks("follow", served.task, "--json")
    assert ran.code == 0
    reported = ran.only("task")
    assert {(each["job"], each["taskId"]) for each in reported} == {(1, served.task)}
    assert reported[-1]["status"] == "completed"
    (result,) = ran.only("result")
    assert result["result"]["content"][0]["text"] == "Finished all 15 steps."
    assert [each["event"] for each in ran.events()][-3:] == ["result", "closed", "summary"]
    # Its result can be had again, also once it is over.
    assert served.tasks("follow", served.task).out == "Finished all 15 steps.\n"


@pytest.mark.parametrize("era", IN_SHORT)
def test_how_a_task_is_can_be_asked_and_it_can_be_cancelled(
    serve: Callable[..., Served], era: str
) -> None:
    served = serve(era, 1000)
    asked = served.tasks("get", served.task)
    assert asked.code == 0
    assert asked.out.startswith(f"Task {served.task}: working\n  Message: ")
    assert asked.err == ""
    (state,) = served.tasks("get", served.task, "--json").only("result")
    assert (state["result"]["taskId"], state["result"]["status"]) == (served.task, "working")
    assert served.tasks("cancel", served.task).code == 0
    deadline = time.monotonic() + PATIENCE_S
    while "cancelled" not in served.tasks("get", served.task).out:
        assert time.monotonic() < deadline
    followed = served.tasks("follow", served.task)
    assert followed.code == 5


def test_tasks_are_listed_where_they_can_be(serve: Callable[..., Served]) -> None:
    served = serve("handshake", 1000)
    (task,) = json.loads(served.tasks("list", "--json").out)["tasks"]
    assert (task["taskId"], task["status"]) == (served.task, "working")
    assert served.task in served.tasks("list").out


@pytest.mark.parametrize("command", ["get", "follow", "cancel"])
def test_what_the_server_refuses_ends_with_1(tmp_path: Path, command: str) -> None:
    target = ("--demo", "--era", "handshake", "--data-dir", str(tmp_path))
    ran = run("tasks", command, "none", *target, "--json")
    assert ran.code == 1
    (error,) = ran.only("error")
    assert (error["where"], error["code"]) == ("server", -32602)


def test_a_list_that_the_revision_has_not_is_refused_with_a_message(tmp_path: Path) -> None:
    ran = run("tasks", "list", "--demo", "--era", "per-request", "--data-dir", str(tmp_path))
    assert (ran.code, ran.out) == (1, "")
    assert "Tasks of 2026-07-28 cannot be listed" in ran.err


@linux_only
@pytest.mark.parametrize("era", IN_SHORT)
def test_who_stops_following_leaves_the_task_as_it_is(
    serve: Callable[..., Served], started: list[subprocess.Popen[str]], era: str
) -> None:
    served = serve(era, 1000)
    process = start("tasks", "follow", served.task, "--json", *served.target)
    started.append(process)
    assert process.stdout is not None
    while '"task"' not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 5
    assert "which keeps running on the server" in out
    assert "working" in served.tasks("get", served.task).out
