"""Resources, prompts and any other request on the command line, as jobs; and servers' own logs."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.eras import IN_SHORT
from tests.integration import one_at_a_time
from tests.integration.commands import Run, linux_only, run, start
from tests.integration.terminals import Terminal
from tests.patience import PATIENCE_S

CTRL_C = b"\x03"


def demo(tmp_path: Path, *arguments: str) -> Run:
    """Run a command with the demo server."""
    command, *rest = arguments
    return run(command, "--demo", "--data-dir", str(tmp_path / "data"), *rest)


class TestRead:
    @pytest.mark.parametrize("era", IN_SHORT)
    def test_it_is_a_job_with_progress_and_its_text_is_printed(
        self, tmp_path: Path, era: str
    ) -> None:
        ran = demo(tmp_path, "read", "demo://report", "--era", era)
        assert ran.code == 0
        assert ran.out.startswith("## Section 1\n")
        # Of the sections that were written by the time of the first line, it shows the last.
        assert re.search(r"demo://report: (\d+) / 20 \(.*\)  Writing section \1 of 20\n", ran.err)
        assert "demo://report: 20 / 20 (100 %)  done in" in ran.err

    @pytest.mark.parametrize("era", IN_SHORT)
    def test_its_events_are_those_of_a_call(self, tmp_path: Path, era: str) -> None:
        arguments = ("demo://report", "--era", era, "--token", "mine", "--json")
        ran = demo(tmp_path, "read", *arguments)
        kinds = [event["event"] for event in ran.events()]
        assert kinds == ["connected", "request", *["progress"] * 20, "result", "closed", "summary"]
        (request,) = ran.only("request")
        assert (request["method"], request["token"], request["job"]) == (
            "resources/read",
            "mine",
            1,
        )
        assert ran.only("result")[0]["result"]["contents"][0]["uri"] == "demo://report"

    def test_data_is_named_and_saved_as_it_is(self, tmp_path: Path) -> None:
        file = tmp_path / "picture.svg"
        assert demo(tmp_path, "read", "demo://picture").out == (
            "[image/svg+xml: demo://picture, 167 B; save it with -o FILE, see it with --json]\n"
        )
        ran = demo(tmp_path, "read", "demo://picture", "-o", str(file))
        assert (ran.code, ran.out) == (0, "")
        assert file.read_text().startswith("<svg ")
        assert f"Saved 167 B to {file}" in ran.err

    def test_a_file_that_cannot_be_is_refused_before_anything_runs(self, tmp_path: Path) -> None:
        nowhere = str(tmp_path / "none" / "x")
        ran = demo(tmp_path, "read", "demo://picture", "-o", nowhere, "--json")
        assert ran.code == 8
        assert [event["event"] for event in ran.events()] == ["error", "summary"]

    def test_what_the_server_refuses_ends_with_1(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "read", "demo://none")
        assert (ran.code, ran.out) == (1, "")
        assert "Resource not found" in ran.err

    def test_a_limit_that_runs_out_ends_with_4(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "read", "demo://report", "--total-timeout", "0.5", "--json")
        assert ran.code == 4
        assert len(ran.only("error")) == 1

    @linux_only
    @pytest.mark.parametrize("era", IN_SHORT)
    def test_ctrl_c_cancels_it(self, tmp_path: Path, era: str) -> None:
        arguments = ("--demo", "--data-dir", str(tmp_path), "--era", era)
        with Terminal("read", "demo://report", *arguments) as user:
            user.expect("Writing section 1")
            user.press(CTRL_C)
            user.expect("Cancelling. Press Ctrl+C again to exit immediately.")
            assert user.end() == 5

    def test_one_that_stops_resumable_is_resumed(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "read", "demo://archive")
        assert ran.code == 6
        assert "resume 1" in ran.err
        again = run("resume", "1", "--auto-resume", "--data-dir", str(tmp_path / "data"))
        assert again.code == 0
        assert "Volume 6: nothing happened." in again.out
        whole = demo(tmp_path, "read", "demo://archive", "--auto-resume")
        assert whole.code == 0
        assert whole.out.endswith("Volume 6: nothing happened.\n")


class TestPrompt:
    @pytest.mark.parametrize("era", IN_SHORT)
    def test_its_messages_stand_below_their_roles(self, tmp_path: Path, era: str) -> None:
        ran = demo(tmp_path, "prompt", "greet", "--arg", "name=3", "--era", era)
        assert (ran.code, ran.out) == (0, "[user]\nGreet 3 in English.\n")

    def test_it_is_a_job_with_progress(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "prompt", "explain", "--arg", "topic=tides", "--json")
        assert ran.only("request")[0]["method"] == "prompts/get"
        assert len(ran.only("progress")) == 8
        assert ran.only("result")[0]["ticks"] == 8

    def test_an_argument_given_twice_is_refused(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "prompt", "greet", "--arg", "name=a", "--arg", "name=b")
        assert ran.code == 2
        assert "--arg name is repeated" in ran.err

    def test_a_missing_argument_is_for_the_server_to_refuse(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "prompt", "greet")
        assert ran.code == 1
        assert "needs a string argument name" in ran.err


class TestRequest:
    @pytest.mark.parametrize("era", IN_SHORT)
    def test_any_method_is_a_job_and_its_result_is_json(self, tmp_path: Path, era: str) -> None:
        ran = demo(tmp_path, "request", "prompts/list", "--era", era)
        assert ran.code == 0
        assert {each["name"] for each in json.loads(ran.out)["prompts"]} >= {"greet"}
        reported = demo(tmp_path, "request", "prompts/list", "--era", era, "--json")
        assert reported.only("request")[0]["method"] == "prompts/list"
        assert reported.only("result")[0]["result"]["prompts"]

    def test_parameters_go_out_as_they_were_typed(self, tmp_path: Path) -> None:
        file = tmp_path / "params.json"
        file.write_text('{"name": "known_total", "arguments": {"steps": 2, "interval_s": 0}}')
        ran = demo(tmp_path, "request", "tools/call", "--params", f"@{file}", "--json")
        assert (ran.code, len(ran.only("progress"))) == (0, 2)

    def test_parameters_that_are_no_object_are_refused(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "request", "x", "--params", "[1]")
        assert ran.code == 2
        assert "--params '{\"n\": 3}'" in ran.err

    def test_without_a_token_its_result_is_reported_without_a_job(self, tmp_path: Path) -> None:
        arguments = ("request", "ping", "--no-token", "--era", "handshake", "--json")
        ran = demo(tmp_path, *arguments)
        assert ran.code == 0
        assert [(each["job"], each["result"]) for each in ran.only("result")] == [(None, {})]
        refused = demo(tmp_path, "request", "nope", "--no-token", "--json")
        assert refused.code == 1
        assert [(each["job"], each["code"]) for each in refused.only("error")] == [(None, -32601)]

    def test_a_tool_that_becomes_a_task_is_followed(self, tmp_path: Path) -> None:
        params = {"name": "task_work", "arguments": {"steps": 2, "interval_s": 0.05}, "task": {}}
        args = ("tools/call", "--params", json.dumps(params), "--era", "handshake", "--json")
        ran = demo(tmp_path, "request", *args)
        assert ran.code == 0
        assert ran.only("task")[-1]["status"] == "completed"
        assert ran.only("result")[0]["result"]["content"][0]["text"] == "Finished all 2 steps."

    @linux_only
    def test_ctrl_c_cancels_one_that_is_no_job(
        self, tmp_path: Path, started: list[subprocess.Popen[str]]
    ) -> None:
        file = tmp_path / "night.mcprec"
        params = '{"notifications": {"toolsListChanged": true}}'
        arguments = (
            "subscriptions/listen",
            "--params",
            params,
            "--no-token",
            "--era",
            "per-request",
        )
        process = start("request", "--demo", *arguments, "--json", "--record", str(file))
        started.append(process)
        assert process.stdout is not None
        assert '"connected"' in process.stdout.readline()
        while b"subscriptions/listen" not in file.read_bytes():
            pass
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 5
        assert b"notifications/cancelled" in file.read_bytes()


class TestLists:
    def test_resources_and_prompts_are_listed(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "resources")
        assert ran.code == 0
        assert "demo://report (Slow report)\n  text/markdown\n  Written on request" in ran.out
        assert "    --arg name=text  required\n" in demo(tmp_path, "prompts").out
        found = json.loads(demo(tmp_path, "resources", "--json").out)
        assert found["resourceTemplates"] == []
        assert found["resources"][0]["uri"] == "demo://welcome"
        assert json.loads(demo(tmp_path, "prompts", "--json").out)["prompts"][0]["name"] == "greet"

    def test_what_a_server_does_not_offer_is_not_asked_for(self, tmp_path: Path) -> None:
        command = (sys.executable, str(Path(one_at_a_time.__file__)), "prompts")
        ran = run("prompts", "--data-dir", str(tmp_path), "--", *command)
        assert (ran.code, ran.out) == (0, "single has no prompts.\n")

    def test_a_server_without_templates_has_its_resources_listed(self, tmp_path: Path) -> None:
        command = (sys.executable, str(Path(one_at_a_time.__file__)))
        ran = run("resources", "--data-dir", str(tmp_path), "--", *command)
        assert ran.code == 0
        assert ran.out == "x:1 (one)\n"
        assert "refused resources/templates/list" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("read", "x:1"),
        ("request", "resources/read", "--params", '{"uri": "x:1"}'),
        ("call", "slow"),
        ("call", "slow", "--server-log", "info"),
    ],
)
def test_nothing_of_ours_goes_out_between_a_request_and_its_answer(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """A server that reads nothing while it works says what lay in its input when it was done."""
    command = (sys.executable, str(Path(one_at_a_time.__file__)))
    ran = run(*arguments, "--era", "handshake", "--data-dir", str(tmp_path), "--", *command)
    assert ran.code == 0
    assert "waiting: []" in ran.out


def test_a_command_listens_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "session.mcprec"
    ran = demo(tmp_path, "call", "burst", "--era", "per-request", "--record", str(file))
    assert ran.code == 0
    assert b'"tools/call"' in file.read_bytes()
    assert b"subscriptions/listen" not in file.read_bytes()


class TestServerLog:
    @pytest.mark.parametrize("era", IN_SHORT)
    def test_a_server_is_asked_for_its_log_and_it_is_shown(self, tmp_path: Path, era: str) -> None:
        ran = demo(tmp_path, "call", "log_levels", "--era", era, "--server-log", "notice")
        assert ran.code == 0
        assert "notice demo: " in ran.err
        assert "info demo: " not in ran.err
        reported = demo(
            tmp_path, "call", "log_levels", "--era", era, "--server-log", "info", "--json"
        )
        levels = [event["level"] for event in reported.only("log")]
        assert levels[:2] == ["info", "notice"]
        assert len(levels) == 7

    def test_in_2026_07_28_nothing_is_logged_unasked(self, tmp_path: Path) -> None:
        ran = demo(tmp_path, "call", "log_levels", "--era", "per-request", "--json")
        assert ran.only("log") == []

    def test_a_server_that_declares_no_logging_is_reported(self, tmp_path: Path) -> None:
        command = (sys.executable, str(Path(one_at_a_time.__file__)), "logging")
        arguments = ("read", "x:1", "--server-log", "info", "--era", "handshake")
        ran = run(*arguments, "--data-dir", str(tmp_path), "--", *command)
        assert ran.code == 0
        assert "does not declare logging" in ran.err
