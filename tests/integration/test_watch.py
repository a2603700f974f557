"""`watch` as its users run it: in a pipe, from standard input, and on a terminal."""

import json
import subprocess
from pathlib import Path

from tests.golden_sessions import FOLDER
from tests.integration.commands import DEMO, PROGRAM, linux_only, run
from tests.integration.tapping import Tap, until
from tests.integration.terminals import Terminal
from tests.patience import PATIENCE_S
from tests.taps import HandTap

RECORDING = FOLDER / "PROG-3.broken.mcprec"
_OPENING: tuple[dict[str, object], ...] = (
    {
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "Some client", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
)


def call(token: str) -> dict[str, object]:
    params = {"name": "known_total", "arguments": {"steps": 600, "interval_s": 0.1}}
    meta = {"_meta": {"progressToken": token}}
    return {"id": token, "method": "tools/call", "params": {**params, **meta}}


def lines(*messages: dict[str, object]) -> bytes:
    return b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in messages)


def test_a_recording_is_read_from_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "watch", "-", "--json", "--data-dir", str(tmp_path)],
        input=RECORDING.read_bytes(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "summary"
    assert events[-1]["jobs"] == 1
    assert [path.name for path in tmp_path.iterdir() if "followed" in path.name] == []


def test_another_clients_job_is_reported_while_it_runs(tmp_path: Path) -> None:
    with (
        subprocess.Popen(
            [*PROGRAM, "watch", "--json", "--data-dir", str(tmp_path)], stdout=subprocess.PIPE
        ) as watch,
        Tap(tmp_path, *DEMO) as tap,
    ):
        assert watch.stdout is not None
        tap.send(lines(*_OPENING, call("a")))
        found = {}
        for line in watch.stdout:
            event = json.loads(line)
            found[event["event"]] = event
            if event["event"] == "progress":
                break
        assert found["request"]["client"] == "Some client"
        assert found["progress"]["total"] == 600
        watch.stdout.close()  # as `| head` does
        tap.kill()
        assert watch.wait(PATIENCE_S) == 0


@linux_only
def test_a_terminal_shows_a_screen_that_a_key_leaves(tmp_path: Path) -> None:
    with (
        Tap(tmp_path, *DEMO) as tap,
        Terminal("watch", "--data-dir", str(tmp_path), TERM="xterm-256color") as terminal,
    ):
        tap.send(lines(*_OPENING, call("a")))
        terminal.expect("Hide ended")
        terminal.expect("known_total")
        terminal.press(b"q")
        assert terminal.end() == 0
        tap.kill()


@linux_only
def test_a_dumb_terminal_gets_lines() -> None:
    with Terminal("watch", str(RECORDING), TERM="dumb") as terminal:
        terminal.expect("work #1 example: ")
        assert terminal.end() == 0
    assert "\x1b[" not in terminal.shown


def test_a_file_that_is_not_there_is_a_clear_message() -> None:
    done = run("watch", "gone.mcprec")
    assert done.code == 8
    assert "gone.mcprec" in done.err
    assert "Traceback" not in done.err


def test_a_data_folder_is_made_and_a_signal_ends_the_watch(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with subprocess.Popen(
        [*PROGRAM, "watch", "--data-dir", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as watch:
        assert watch.stdout is not None
        until(lambda: folder.exists())
        tap = HandTap(folder / "recordings" / "live")
        tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(4))
        assert b"local-db" in watch.stdout.readline()
        watch.terminate()
        _, errors = watch.communicate(timeout=PATIENCE_S)
        tap.end()
    assert (watch.returncode, errors) == (0, b"")


def test_the_stream_of_another_machine_is_read_past_its_banner(tmp_path: Path) -> None:
    tap = HandTap(tmp_path / "there" / "recordings" / "live", client="Cursor")
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(3))
    there = ["--data-dir", str(tmp_path / "there")]
    here = ["--data-dir", str(tmp_path / "here")]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen([*PROGRAM, *there, "tap", "stream"], stdout=pipe) as stream,
        subprocess.Popen(
            [*PROGRAM, *here, "watch", "-", "--json"], stdin=pipe, stdout=pipe
        ) as watch,
    ):
        assert stream.stdout is not None
        assert watch.stdin is not None
        assert watch.stdout is not None
        watch.stdin.write(b"Welcome to build-box!\n")
        while line := stream.stdout.readline():
            watch.stdin.write(line)
            if b'"progress":3' in line:
                break
        watch.stdin.close()
        events = [json.loads(line) for line in watch.stdout]
        stream.kill()
    assert [event["client"] for event in events if event["event"] == "request"] == ["Cursor"]
    assert [event["progress"] for event in events if event["event"] == "progress"] == [3]
