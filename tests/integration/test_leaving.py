"""Twice leaves at once, whatever goes on; what was asked for the end of is not read any more."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.integration.commands import ROOT, linux_only, start
from tests.patience import PATIENCE_S, allowed, until

pytestmark = linux_only

_SERVER = """
import json, sys, time
count = int(sys.argv[1])
def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    request = json.loads(line)
    identity, method = request.get("id"), request.get("method")
    if method == "initialize":
        agreed = {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}}
        say({"id": identity, "result": {**agreed, "serverInfo": {"name": "b", "version": "1"}}})
    elif method == "tools/list":
        tool = {"name": "flood", "inputSchema": {"type": "object"}}
        say({"id": identity, "result": {"tools": [tool]}})
    elif method == "tools/call":
        element = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}'
        sys.stdout.write("[" + ",".join([element] * count) + "]\\n")
        sys.stdout.flush()
        print("flooded", file=sys.stderr, flush=True)
    elif identity is not None:
        say({"id": identity, "error": {"code": -32601, "message": method}})
"""
_MANY = 1_000_000


def test_two_interrupts_end_a_call_that_reads_a_batch_of_a_million(tmp_path: Path) -> None:
    server = ("--", sys.executable, "-c", _SERVER, str(_MANY))
    process = start("call", "--json", "flood", "--data-dir", str(tmp_path), *server)
    assert process.stdout is not None
    printed = []
    with process:
        for line in process.stdout:
            printed.append(line)
            if json.loads(line)["event"] == "request":
                break
        time.sleep(1.5)  # not for something: it is in the midst of the batch
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        rest = process.stdout.read()
        assert process.wait(PATIENCE_S) == 5
        assert time.monotonic() - asked < allowed(5)
    for line in rest.splitlines():
        json.loads(line)  # none is cut off
    (recording,) = tmp_path.glob("recordings/*.mcprec")
    assert '"tools/call"' in recording.read_text()


_BUSY = """
import sys, time
import anyio
from mcp_progress_monitor.cli.calls.visit import Interrupts
from mcp_progress_monitor.cli.output.stdout import StandardOutput

async def main():
    with Interrupts(StandardOutput(sys.stdout), lambda: print("ended", flush=True), bool):
        print("busy", flush=True)
        time.sleep(600)  # the loop stands still, as it does within one piece of work

anyio.run(main)
"""


@pytest.mark.parametrize("names", [["SIGINT", "SIGINT"], ["SIGTERM"], ["SIGHUP"]])
def test_a_command_whose_loop_stands_still_is_left_all_the_same(names: list[str]) -> None:
    command = [sys.executable, "-c", _BUSY]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "busy\n"
            for name in names:
                process.send_signal(signal.Signals[name])
                time.sleep(0.2)  # two of a kind at once would be one
            assert process.wait(PATIENCE_S) == 5
            assert process.stdout.readline() == "ended\n"
        finally:
            process.kill()


async def test_a_server_that_is_disconnected_is_not_read_to_the_end_of_a_flood() -> None:
    definition = StdioDefinition(name="b", command=sys.executable, args=("-c", _SERVER, str(_MANY)))
    async with Engine() as engine, anyio.create_task_group() as calls:
        name = engine.servers.add(definition)
        await engine.servers.connect(name)
        calls.start_soon(engine.calls.make, Call(name, "tools/call", {"name": "flood"}))
        await until(lambda: engine.servers.snapshot(name).stderr_tail)
        await engine.servers.disconnect(name)
        timeline = engine.timeline
        frame = timeline.frame(timeline.end - 1)
        assert frame is not None
        newest = json.loads(frame.raw)
        assert newest["event"] == "closed"
        assert newest["unread"] > _MANY


_OVER = """
import sys, threading
from mcp_progress_monitor.__main__ import main
threading.Thread(target=threading.Event().wait).start()
code = main()
print(code, flush=True)
sys.exit(code)
"""
"""A command that is over while one of its threads still computes."""


def test_ctrl_c_after_the_end_of_a_command_ends_its_threads_without_a_traceback(
    started: list[subprocess.Popen[str]],
) -> None:
    command, pipe = [sys.executable, "-c", _OVER, "--version"], subprocess.PIPE
    program = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    started.append(program)
    assert program.stdout is not None
    assert "version" in program.stdout.readline()
    assert program.stdout.readline() == "0\n"
    program.send_signal(signal.SIGINT)
    assert program.wait(PATIENCE_S) == -signal.SIGINT
    assert program.stderr is not None
    assert program.stderr.read() == ""
