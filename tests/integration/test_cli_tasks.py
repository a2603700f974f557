"""Tasks on the command line: begun, reported, asked to stop, left at their servers, picked up."""

import itertools
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.eras import IN_SHORT
from tests.integration.commands import Run, calling, linux_only, run, start
from tests.integration.terminals import Terminal
from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND

QUICK = ("--arg", "interval_s=0.05", "--arg", "poll_ms=50")
CTRL_C = b"\x03"


def call(tmp_path: Path, *arguments: str) -> Run:
    """Call a tool of the demo server, or of the test server."""
    return run(*calling("--data-dir", str(tmp_path / "data"), *arguments))


@pytest.mark.parametrize("era", IN_SHORT)
def test_the_course_of_a_task_is_events_in_order(tmp_path: Path, era: str) -> None:
    ran = call(tmp_path, "--era", era, "task_work", "--task", "--arg", "steps=4", *QUICK, "--json")
    assert ran.code == 0
    tasks = ran.only("task")
    assert {(each["job"], each["taskId"]) for each in tasks} == {(1, tasks[0]["taskId"])}
    statuses = [each["status"] for each in tasks]
    assert statuses[0] == "working"
    assert statuses[-1] == "completed"
    assert set(statuses[1:-1]) <= {"working"}
    reported = [(each["status"], each["statusMessage"]) for each in tasks]
    assert all(one != other for one, other in itertools.pairwise(reported))
    (result,) = ran.only("result")
    assert result["result"]["content"][0]["text"] == "Finished all 4 steps."
    assert result["duration_s"] > 0.1
    kinds = [each["event"] for each in ran.events()]
    assert kinds.count("request") == 1
    assert kinds[-3:] == ["result", "closed", "summary"]


@pytest.mark.parametrize("era", IN_SHORT)
def test_a_task_is_reported_in_lines_and_its_result_printed(tmp_path: Path, era: str) -> None:
    ran = call(tmp_path, "--era", era, "task_work", "--task", "--arg", "steps=4", *QUICK)
    assert (ran.code, ran.out) == (0, "Finished all 4 steps.\n")
    assert ": working (Begun)\n" in ran.err
    assert "task_work: task: completed (Done)\n" in ran.err


def test_a_tool_that_forbids_tasks_is_not_called_as_one(tmp_path: Path) -> None:
    arguments = ("task_forbidden", *QUICK[:2])
    ran = call(tmp_path, "--era", "handshake", *arguments, "--task")
    assert ran.code == 2
    assert "cannot run as a task" in ran.err
    assert "'task_forbidden'" in ran.err
    assert call(tmp_path, "--era", "handshake", *arguments).code == 0


def test_a_server_without_tasks_is_not_asked_for_one(tmp_path: Path) -> None:
    data = ("--data-dir", str(tmp_path))
    command = (*COMMAND, "--profile", "no-tasks", "--era", "handshake")
    ran = run("call", "task_work", "--task", *data, "--", *command)
    assert ran.code == 2
    assert "The server does not support tasks for tool calls" in ran.err


def test_a_tool_that_requires_tasks_needs_no_option(tmp_path: Path) -> None:
    ran = call(tmp_path, "--era", "handshake", "task_required", *QUICK, "--json")
    assert ran.code == 0
    assert ran.only("task")[-1]["status"] == "completed"
    assert len(ran.only("result")) == 1


def test_a_server_that_makes_no_task_of_a_call_is_reported(tmp_path: Path) -> None:
    ran = call(tmp_path, "--era", "per-request", "task_forbidden", *QUICK[:2], "--task")
    assert ran.code == 0
    assert "without creating a task (tool 'task_forbidden')" in ran.err


@pytest.mark.parametrize("era", IN_SHORT)
@pytest.mark.parametrize("how", ["rpc_error", "is_error"])
def test_a_task_that_fails_ends_with_1_and_one_event(tmp_path: Path, era: str, how: str) -> None:
    arguments = ("task_fails", "--task", "--arg", f"how={how}", *QUICK, "--json")
    ran = call(tmp_path, "--era", era, *arguments)
    assert ran.code == 1
    kinds = [each["event"] for each in ran.events()]
    assert kinds.count("error") == (how == "rpc_error")
    assert kinds.count("result") == (how == "is_error")


@pytest.mark.parametrize("era", IN_SHORT)
def test_a_task_that_asks_is_answered_and_goes_on(tmp_path: Path, era: str) -> None:
    file = tmp_path / "answers.json"
    file.write_text('{"fields": {"name": "Ada"}, "form": {"decline": true}}')
    arguments = ("task_asks", "--task", "--arg", "questions=2", *QUICK, "--json")
    ran = call(tmp_path, "--era", era, *arguments, "--answer", str(file))
    assert ran.code == 0
    assert [each["job"] for each in ran.only("question")] == [1, 1]
    assert len(ran.only("answered")) == 2
    statuses = [each["status"] for each in ran.only("task")]
    assert statuses.count("input_required") >= 1
    assert statuses[-1] == "completed"
    assert len(ran.only("result")) == 1


def test_a_limit_that_runs_out_ends_with_4(tmp_path: Path) -> None:
    arguments = ("task_never_ends", "--task", "--total-timeout", "1", "--json")
    ran = call(tmp_path, "--era", "handshake", *arguments)
    assert ran.code == 4
    assert len(ran.only("error")) == 1


@linux_only
def test_a_task_that_is_asked_to_stop_decides_when(tmp_path: Path) -> None:
    arguments = ("--era", "per-request", "--data-dir", str(tmp_path), "task_cooperative", "--task")
    times = ("--arg", "goes_on_s=3", "--arg", "interval_s=0.1", "--arg", "poll_ms=100")
    with Terminal(*calling(*arguments, *times)) as user:
        user.expect("Step 1")
        user.press(CTRL_C)
        user.expect("Cancelling. Press Ctrl+C again to exit immediately.")
        user.expect("task_cooperative: cancel requested, still working")
        user.expect("task: cancelled")
        assert user.end() == 5
    assert run("resume", "--list", "--data-dir", str(tmp_path)).out.startswith("No saved jobs")


@linux_only
def test_who_leaves_at_once_can_hear_of_the_end_later(tmp_path: Path) -> None:
    arguments = ("--era", "per-request", "--data-dir", str(tmp_path), "task_cooperative", "--task")
    with Terminal(*calling(*arguments, "--arg", "goes_on_s=60")) as user:
        user.expect("Step 1")
        user.press(CTRL_C)
        user.expect("cancel requested, still working")
        user.press(CTRL_C)
        user.expect("The task may still be running on the server. To wait for the result:")
        assert user.end() == 6


@linux_only
@pytest.mark.parametrize("era", IN_SHORT)
def test_a_task_that_was_left_is_listed_and_picked_up(
    tmp_path: Path, era: str, started: list[subprocess.Popen[str]]
) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    server = (*COMMAND, "--era", era, "--state-dir", str(tmp_path / "state"))
    arguments = ("task_work", "--task", "--arg", "steps=12", "--arg", "interval_s=0.2")
    process = start("call", *arguments, "--arg", "poll_ms=100", "--json", *data, "--", *server)
    started.append(process)
    assert process.stdout is not None
    while '"Step 2 of 12"' not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 6
    assert "resume t1" in said

    listed = run("resume", "--list", *data)
    assert "task_work" in listed.out
    assert "task, working" in listed.out
    (task,) = json.loads(run("resume", "--list", "--json", *data).out)["tasks"]
    assert (task["resume_id"], task["status"]) == ("t1", "working")
    alone = run("resume", *data)
    assert (alone.code, "t1" in alone.out) == (0, True)

    ran = run("resume", "t1", "--json", *data)
    assert ran.code == 0
    assert ran.only("task")[-1]["status"] == "completed"
    assert {each["taskId"] for each in ran.only("task")} == {task["taskId"]}
    (result,) = ran.only("result")
    assert result["result"]["content"][0]["text"] == "Finished all 12 steps."
    assert run("resume", "--list", *data).out.startswith("No saved jobs")
    again = run("resume", "t1", *data)
    assert again.code == 2
    assert "No saved job t1" in again.err


@linux_only
def test_only_the_named_task_is_picked_up(
    tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    server = (*COMMAND, "--era", "per-request", "--state-dir", str(tmp_path / "state"))
    arguments = ("task_work", "--task", "--arg", "steps=20", "--arg", "interval_s=0.2")
    process = start("call", *arguments, "--repeat", "2", "--json", *data, "--", *server)
    started.append(process)
    assert process.stdout is not None
    seen: set[int] = set()
    while len(seen) < 2:
        event = json.loads(process.stdout.readline())
        seen |= {event["job"]} if event["event"] == "task" else set()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert "2 tasks may still be running on the server." in said
    assert re.search("resume (t1 t2|t2 t1) ", said)  # in whichever order they were saved
    ran = run("resume", "t2", "--json", *data)
    assert ran.code == 0
    assert len({each["taskId"] for each in ran.only("task")}) == 1
    (left,) = json.loads(run("resume", "--list", "--json", *data).out)["tasks"]
    assert left["resume_id"] == "t1"
