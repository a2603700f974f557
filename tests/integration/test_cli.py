"""The command line as its users run it: a process, the demo server, pipes and terminals."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.commands import (
    PROGRAM,
    ROOT,
    Run,
    calling,
    complaints,
    linux_only,
    run,
    run_on_terminal,
    start,
)
from tests.patience import PATIENCE_S, allowed
from tests.servers.definition import COMMAND

QUICK = ("--arg", "interval_s=0")


def call(*arguments: str) -> Run:
    """Call a tool of the demo server, or of the test server."""
    return run(*calling(*arguments))


@pytest.fixture
def server_command(tmp_path: Path) -> tuple[str, ...]:
    """A command that starts the demo server and leaves its process id in a file."""
    script = "import os,pathlib,sys;pathlib.Path(sys.argv[1]).write_text(str(os.getpid()));"
    script += "os.execv(sys.executable,[sys.executable,*sys.argv[2:]])"
    return (sys.executable, "-c", script, str(tmp_path / "pid"), *COMMAND[1:])


def is_running(tmp_path: Path) -> bool:
    """Whether the server that `server_command` started goes on, a moment being allowed to end."""
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        # A zombie has ended, too: it waits for whoever adopted it.
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        time.sleep(0.01)
    return True


class TestEvents:
    @pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.campaign)])
    def test_a_burst_comes_whole_in_order_and_before_the_result(self, count: int) -> None:
        ran = call("burst", "--arg", f"count={count}", "--json")
        events = ran.events()
        kinds = [event["event"] for event in events if event["event"] not in {"log", "finding"}]
        assert ran.code == 0
        assert [event["rule"] for event in ran.only("finding")] == ["PROG-9"]  # a rate limit
        assert kinds[:2] == ["connected", "request"]
        assert kinds[2:-3] == ["progress"] * count
        assert kinds[-3:] == ["result", "closed", "summary"]
        progress = ran.only("progress")
        assert [event["count"] for event in progress] == list(range(1, count + 1))
        values = [event["progress"] for event in progress]
        assert values == sorted(set(values))
        assert ran.only("result")[0]["ticks"] == count

    @pytest.mark.parametrize(
        ("era", "revision"), [("handshake", "2025-11-25"), ("per-request", "2026-07-28")]
    )
    def test_both_eras_are_reported(self, era: str, revision: str) -> None:
        arguments = ("--era", era, "known_total", "--arg", "steps=2", *QUICK, "--json")
        ran = call(*arguments)
        (connected,) = ran.only("connected")
        assert (connected["era"], connected["protocolVersion"]) == (era, revision)
        assert connected["server"] == "demo"
        assert connected["serverInfo"]["name"]
        assert "tools" in connected["capabilities"]

    @pytest.mark.parametrize(
        ("arguments", "token"),
        [
            (("--token", "été"), "été"),
            (("--token", ""), ""),
            (("--int-token", "0"), 0),
            (("--no-token",), None),
        ],
    )
    def test_the_token_is_the_users_choice(self, arguments: tuple[str, ...], token: object) -> None:
        ran = call("known_total", "--arg", "steps=2", *QUICK, "--json", *arguments)
        assert ran.only("request")[0]["token"] == token
        assert [event["token"] for event in ran.only("progress")] == [token] * (
            0 if token is None else 2
        )
        assert ran.code == 0

    def test_calls_at_once_have_jobs_and_tokens_of_their_own(self) -> None:
        ran = call("known_total", "--arg", "steps=3", *QUICK, "--json", "--repeat", "5")
        jobs = {event["job"] for event in ran.only("result")}
        assert len(jobs) == 5
        assert len({event["token"] for event in ran.only("request")}) == 5
        assert all(event["ticks"] == 3 for event in ran.only("result"))
        assert ran.only("summary")[0]["jobs"] == 5

    def test_hostile_text_comes_exactly(self) -> None:
        from tests.servers.tools.traffic import HOSTILE

        ran = call("hostile_text", *QUICK, "--json")
        assert [event["message"] for event in ran.only("progress")] == list(HOSTILE.values())
        blocks = ran.only("result")[0]["result"]["content"]
        assert [block["text"] for block in blocks] == list(HOSTILE.values())
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", ran.out)

    def test_rubbish_on_standard_output_costs_nothing(self) -> None:
        ran = call("print_rubbish", *QUICK, "--json")
        assert ran.code == 0
        assert ran.only("result")

    def test_rule_breaking_progress_is_all_there(self) -> None:
        ran = call("wrong_types", *QUICK, "--json")
        assert ran.code == 0
        assert any(event.get("problems") for event in ran.only("progress"))

    def test_a_reply_of_many_megabytes_is_whole(self) -> None:
        ran = call("long_line", "--arg", "megabytes=5", "--json")
        (result,) = ran.only("result")
        assert len(result["result"]["content"][0]["text"]) >= 4_900_000

    def test_stderr_is_reported_line_by_line(self) -> None:
        ran = call("chatty_stderr", "--arg", "lines=3", *QUICK, "--json")
        assert len(ran.only("stderr")) >= 3

    def test_a_failure_before_the_call_is_an_event_as_well(self) -> None:
        ran = run("call", "--json", "x", "--", "/no/such/server")
        (error,) = ran.only("error")
        assert (error["job"], error["where"]) == (None, "local")
        assert "/no/such/server" in error["message"]
        assert ran.events()[-1]["event"] == "summary"
        assert ran.code == 3


class TestText:
    def test_the_result_is_on_standard_output_and_progress_is_not(self) -> None:
        ran = call("known_total", "--arg", "steps=5", *QUICK)
        assert ran.code == 0
        assert ran.out == "Finished all 5 steps.\n"
        assert re.search(r"Known total|known_total", ran.err)
        assert "done in" in ran.err.splitlines()[-1]

    def test_standard_error_has_a_line_at_most_every_second(self) -> None:
        started = time.monotonic()
        ran = call("known_total", "--arg", "steps=300", "--arg", "interval_s=0.01")
        elapsed_s = time.monotonic() - started
        lines = ran.err.splitlines()
        # Three seconds at least, and one line more says how it ended.
        assert 3 <= len(lines) <= elapsed_s + 2

    def test_a_burst_that_is_over_in_a_second_is_reported_in_a_few_lines(self) -> None:
        started = time.monotonic()
        ran = call("burst", "--arg", "count=50000")
        elapsed_s = time.monotonic() - started
        lines = ran.err.splitlines()
        assert len(lines) <= elapsed_s + 2
        assert "50,000 ticks" in lines[-1]

    def test_irregular_progress_is_warned_of_once_for_each_job(self) -> None:
        ran = call("decreasing", *QUICK, "--repeat", "2")
        warnings = sorted(line for line in ran.err.splitlines() if "warning" in line)
        text = "warning: Progress did not increase: 2 after 4"
        assert warnings == [f"decreasing #1: {text}", f"decreasing #2: {text}"]

    def test_the_tools_are_listed_with_their_arguments(self) -> None:
        ran = run("tools", "--demo")
        assert ran.code == 0
        assert "burst (Burst)" in ran.out
        assert "--arg count=integer" in ran.out
        assert ran.err == ""

    def test_the_tools_are_one_json_document(self) -> None:
        ran = run("tools", "--json", "--era", "per-request", "--", *COMMAND, "--page-size", "3")
        document = json.loads(ran.out)
        (burst,) = [tool for tool in document["tools"] if tool["name"] == "burst"]
        assert burst["inputSchema"]["properties"]["count"]["type"] == "integer"
        assert document["protocolVersion"] == "2026-07-28"
        assert len(document["tools"]) > 10


class TestFailures:
    @pytest.mark.parametrize(
        ("arguments", "code", "advice"),
        [
            (("bursst",), 2, "Did you mean burst"),
            (("burst", "--arg", "count=many"), 2, "--arg count=3"),
            (("burst", "--arg", "count=0"), 2, "count"),
            (("burst", "--arg", "size=3"), 2, "size"),
            (("burst", "--args", "[1]"), 2, "JSON object"),
            (("burst", "--token", "\udcff"), 2, r"'\udcff' is not valid UTF-8"),
            (("burst", "--arg", "a=\udcff"), 2, r"'\udcff' is not valid UTF-8"),
            (("error_result", *QUICK), 1, "The disk was full at step 5."),
            (("rpc_error", *QUICK, "--arg", "message=gone"), 1, "gone"),
            (
                ("never_answers", *QUICK, "--total-timeout", "0.5"),
                4,
                "Total timeout of 500 ms reached: tools/call",
            ),
            (
                ("never_answers", *QUICK, "--idle-timeout", "0.5"),
                4,
                "Idle timeout of 500 ms reached: tools/call",
            ),
            (
                ("never_answers", *QUICK, "--idle-timeout", "0", "--total-timeout", "0.5"),
                4,
                "Total timeout",
            ),
            (
                ("never_answers", *QUICK, "--idle-timeout", "0.5", "--total-timeout", "0"),
                4,
                "Last byte from the server:",
            ),
            (("crash", *QUICK, "--arg", "exit_code=7"), 3, "7"),
        ],
    )
    def test_a_call_that_fails_says_why_in_its_exit_code_and_words(
        self, arguments: tuple[str, ...], code: int, advice: str
    ) -> None:
        ran = call(*arguments)
        assert (ran.code, ran.out) == (code, "")
        assert advice in ran.err

    @pytest.mark.parametrize(
        ("command", "advice"),
        [
            (("/no/such/server",), "/no/such/server"),
            (("no-such-server-anywhere",), "not found"),
            ((*COMMAND, "--profile", "exit", "--exit-code", "9"), "9"),
            ((*COMMAND, "--profile", "wrong-version"), "revision"),
            (("sh", "-c", "echo the last words >&2; exit 4"), "the last words"),
        ],
    )
    def test_a_server_that_cannot_be_connected_to_is_reported(
        self, command: tuple[str, ...], advice: str
    ) -> None:
        ran = run("tools", "--", *command)
        assert (ran.code, ran.out) == (3, "")
        assert advice in ran.err

    def test_a_silent_server_costs_the_time_allowed(self) -> None:
        ran = run("tools", "--connect-timeout", "1", "--", *COMMAND, "--profile", "silent")
        assert ran.code == 3
        assert "1 s" in ran.err

    def test_a_configuration_that_is_no_json_is_shown_with_its_place(self, tmp_path: Path) -> None:
        file = tmp_path / "mcp.json"
        file.write_text('{"mcpServers": {\n  "a": oops}}')
        ran = run("tools", "--config", str(file))
        assert ran.code == 2
        assert "line 2, column 8" in ran.err

    def test_one_of_several_servers_is_chosen_by_name(self, tmp_path: Path, data_dir: Path) -> None:
        file = tmp_path / "mcp.json"
        servers = {
            "bad": {"command": "/no/such"},
            "good": {"command": COMMAND[0], "args": COMMAND[1:]},
        }
        file.write_text(json.dumps({"servers": servers}))
        options = ("--config", str(file), "--data-dir", str(data_dir))
        for name, code in (("good", 0), ("bad", 3)):
            assert run("servers", "trust", name, "--yes", *options).code == 0
            assert run("tools", "--server", name, *options).code == code

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
    def test_a_full_disk_is_reported(self) -> None:
        with Path("/dev/full").open("w") as full:
            ran = subprocess.run(
                [*PROGRAM, "call", "--demo", "burst", "--json"],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
                cwd=ROOT,
                timeout=PATIENCE_S,
            )
        assert ran.returncode == 8
        assert b"Cannot write to standard output" in ran.stderr


@pytest.fixture
def without_qt(tmp_path: Path) -> str:
    """A PYTHONPATH with which PySide6 cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Blocker:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in {'PySide6', 'shiboken6', 'qasync'}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Blocker())\n"
    )
    return str(tmp_path)


class TestWithoutQt:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("--help",),
            ("tools", "--demo"),
            ("call", "--demo", "burst", "--json"),
            ("call", "--demo", "burst"),
            ("resume", "--list"),
        ],
    )
    def test_everything_but_the_window_works(
        self, arguments: tuple[str, ...], without_qt: str
    ) -> None:
        ran = run(*arguments, PYTHONPATH=without_qt)
        assert ran.code == 0
        assert ran.out

    def test_the_window_says_what_is_missing(self, without_qt: str) -> None:
        ran = run("--demo", PYTHONPATH=without_qt)
        assert ran.code == 2
        assert "pip install" in ran.err
        assert "Cannot load Qt, which the window needs (qasync)" in ran.err


def wait_for(process: subprocess.Popen[str], event: str) -> list[dict[str, Any]]:
    """Read events up to the first of this kind."""
    assert process.stdout is not None
    read: list[dict[str, Any]] = []
    for line in process.stdout:
        read.append(json.loads(line))
        if read[-1]["event"] == event:
            return read
    pytest.fail(f"no {event} in {read}")


@linux_only
class TestInterrupts:
    def test_the_first_cancels_politely_and_waits(
        self, started: list[subprocess.Popen[str]], server_command: tuple[str, ...], tmp_path: Path
    ) -> None:
        arguments = ("--arg", "on_cancel=error", "--json", "--", *server_command)
        process = start("call", "known_total", "--arg", "steps=100000", *arguments)
        started.append(process)
        wait_for(process, "progress")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        events = [json.loads(line) for line in out.splitlines()]
        kinds = [event["event"] for event in events if event["event"] != "progress"]
        assert process.returncode == 5
        assert kinds == ["error", "closed", "summary"]
        assert complaints(err) == ""
        assert not is_running(tmp_path)

    def test_the_user_is_reported_the_wait(
        self, started: list[subprocess.Popen[str]], server_command: tuple[str, ...]
    ) -> None:
        arguments = ("--arg", "on_cancel=result", "--arg", "steps=100000", "--", *server_command)
        process = start("call", "known_total", *arguments)
        started.append(process)
        assert process.stderr is not None
        assert "Step" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 5
        assert out == "Stopped early, as requested.\n"
        assert "Press Ctrl+C again to exit immediately" in err
        assert "Cancelled by the user" in err

    @pytest.mark.parametrize("tool", ["resumable_export", "never_answers"])
    def test_a_server_that_rightly_says_nothing_more_is_waited_for_two_seconds_at_most(
        self, started: list[subprocess.Popen[str]], tool: str, tmp_path: Path
    ) -> None:
        arguments = (
            "--json",
            "--data-dir",
            str(tmp_path),
            "--",
            *COMMAND,
            "--state-dir",
            str(tmp_path),
        )
        process = start("call", tool, "--arg", "interval_s=0.1", *arguments)
        started.append(process)
        wait_for(process, "progress")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
        (error,) = [
            event for event in map(json.loads, out.splitlines()) if event["event"] == "error"
        ]
        assert process.returncode == 5
        assert error["message"] == "Cancelled by the user"
        assert time.monotonic() - began < allowed(4)

    def test_the_second_leaves_at_once_whatever_the_server_does(
        self, started: list[subprocess.Popen[str]], server_command: tuple[str, ...], tmp_path: Path
    ) -> None:
        arguments = (*QUICK, "--arg", "on_cancel=ignore", "--", *server_command)
        process = start("call", "never_answers", *arguments, "--ignore-eof", "--ignore-sigterm")
        started.append(process)
        assert process.stderr is not None
        assert "Step" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        while "Cancelling" not in process.stderr.readline():
            pass
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 5
        assert time.monotonic() - began < allowed(2)
        assert not is_running(tmp_path)
        assert "Traceback" not in err

    @pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
    def test_who_leaves_at_once_is_reported_each_call_before_the_connection(
        self,
        started: list[subprocess.Popen[str]],
        second: signal.Signals,
        server_command: tuple[str, ...],
    ) -> None:
        given = ("steps=100000", "interval_s=0.05", "on_cancel=ignore")
        arguments = [word for each in given for word in ("--arg", each)]
        arguments += ["--repeat", "2", "--json", "--", *server_command]
        process = start("call", "known_total", *arguments)
        started.append(process)
        wait_for(process, "progress")
        if second is signal.SIGINT:
            process.send_signal(signal.SIGINT)
            while not wait_for(process, "progress")[-1].get("late"):
                pass  # the cancel has not been sent yet
        process.send_signal(second)
        out, _ = process.communicate(timeout=PATIENCE_S)
        events = [json.loads(line) for line in out.splitlines()]
        passing = {"request", "progress", "finding"}
        ends = [event for event in events if event["event"] not in passing]
        assert process.returncode == 5
        assert [event["event"] for event in ends] == ["error", "error", "closed", "summary"]
        assert [event["job"] for event in ends[:2]] == [1, 2]
        assert {(e["where"], e["message"]) for e in ends[:2]} == {("local", "Interrupted")}

    def test_leaving_works_while_nobody_reads_our_output(
        self, started: list[subprocess.Popen[str]], server_command: tuple[str, ...], tmp_path: Path
    ) -> None:
        arguments = ("--arg", "count=10000000", "--json", "--", *server_command)
        process = start("call", "burst", *arguments)
        started.append(process)
        wait_for(process, "progress")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 5
        assert not is_running(tmp_path)

    def test_before_the_call_it_just_leaves(
        self, started: list[subprocess.Popen[str]], server_command: tuple[str, ...], tmp_path: Path
    ) -> None:
        process = start("tools", "--", *server_command, "--profile", "silent")
        started.append(process)
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 5
        assert complaints(err) == ""
        assert not is_running(tmp_path)


@linux_only
class TestReaders:
    def test_a_reader_that_has_seen_enough_ends_us_quietly(
        self, started: list[subprocess.Popen[str]], server_command: tuple[str, ...], tmp_path: Path
    ) -> None:
        arguments = ("--arg", "count=10000000", "--json", "--", *server_command)
        process = start("call", "burst", *arguments)
        started.append(process)
        wait_for(process, "progress")
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(timeout=PATIENCE_S) == 5
        assert not is_running(tmp_path)

    def test_a_slow_reader_slows_the_server_and_gets_everything(
        self, started: list[subprocess.Popen[str]]
    ) -> None:
        process = start("call", "--demo", "burst", "--arg", "count=10000", "--json")
        started.append(process)
        read = wait_for(process, "progress")
        assert process.stdout is not None
        text = ""
        while piece := process.stdout.read(1000):
            text += piece
        read += [json.loads(line) for line in text.splitlines()]
        counts = [event["count"] for event in read if event["event"] == "progress"]
        assert counts == list(range(1, 10_001))

    def test_a_terminal_gets_bars_and_nothing_of_the_server_that_it_would_obey(self) -> None:
        code, screen = run_on_terminal(*calling("hostile_text", *QUICK))
        assert code == 0
        assert "━" in screen
        assert "\x1b[2J" not in screen
        assert "\x1b]0;" not in screen
        assert r"\x1b[2J" in screen
        assert screen.count("\x1b[?25l") == screen.count("\x1b[?25h") > 0
