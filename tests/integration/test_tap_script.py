"""`tap --script`: each action on a real process, seen by both sides and in the recording."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from tests.integration.commands import run
from tests.integration.tapping import (
    PYTHON,
    SHELL,
    Tap,
    events,
    frames_of,
    live,
    raws,
    recorded,
    recordings,
    tap_command,
    until,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells and signals of POSIX")

_TICK = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}\n'
_CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call"}\n'
_RESULT = b'{"jsonrpc":"2.0","id":%d,"result":{}}\n'
_SERVER = """
import sys
for line in sys.stdin.buffer:
    sys.stderr.buffer.write(line)
    sys.stderr.flush()
    if b"tools/call" in line:
        sys.stdout.buffer.write(line[:23] + b',"result":{}}\\n')
        sys.stdout.flush()
"""
"""Answers calls with ids of one digit, and reports on stderr what reached it."""


class Seen:
    """What a client and its server saw of a session, and its recording."""

    def __init__(
        self, folder: Path, script: str, *command: str, data: bytes = b"", seed: str = "1"
    ) -> None:
        """Run it to its end: the client sends `data`, reads all, and closes."""
        path = folder / "faults.txt"
        path.write_text(script, encoding="utf-8")
        options = ("--script", str(path), "--seed", seed)
        with Tap(folder, *command, options=options) as tap:
            until(lambda: recordings(folder) or tap.poll() is not None)
            out, err = tap.rest(data)
        self.code = tap.returncode
        self.lines = out.splitlines(keepends=True)
        self.reported, _, self.err = err.partition(b"\n")
        self.reader = recorded(folder)
        self.frames = frames_of(self.reader)

    @property
    def changed(self) -> list[dict[str, Any]]:
        """The events about changes."""
        return events(self.frames, "changed")

    def recorded(self, channel: Channel) -> list[bytes]:
        """The lines of one direction, as they were passed on."""
        return [raw + b"\n" for raw in raws(self.frames, channel)]


def _ticks(*numbers: int) -> list[bytes]:
    return [_TICK % number for number in numbers]


def _through_cat(folder: Path, script: str, *lines: bytes, seed: str = "1") -> Seen:
    """A server that says what is said to it."""
    seen = Seen(folder, script, "cat", data=b"".join(lines), seed=seed)
    assert seen.recorded(Channel.RECEIVED) == seen.lines
    return seen


def test_a_script_is_announced_and_marks_the_recording(tmp_path: Path) -> None:
    seen = _through_cat(tmp_path, "drop server 2nd progress\n", *_ticks(1, 2, 3))
    assert seen.reported.decode() == (
        "mcp-progress-monitor tap: The script faults.txt changes this session (1 rule, --seed 1)"
    )
    assert seen.reader.header["tap"]["script"] == "faults.txt"
    (script,) = events(seen.frames, "script")
    assert script == {
        "event": "script",
        "name": "faults.txt",
        "seed": 1,
        "rules": ["1: drop server 2nd progress"],
    }
    (path,) = recordings(tmp_path)
    checked = run("check", str(path), "--fail-on", "never")
    assert "Changed by the script faults.txt" in checked.err
    assert Playback(path).errors[0].what == "Changed by the script faults.txt"


def test_dropped_messages_are_recorded_as_they_were_sent(tmp_path: Path) -> None:
    seen = _through_cat(tmp_path, "# some\ndrop every 2nd server progress", *_ticks(1, 2, 3, 4))
    assert seen.lines == _ticks(1, 3)
    assert seen.recorded(Channel.SENT) == _ticks(1, 2, 3, 4)
    first, second = seen.changed
    assert first == {
        "event": "changed",
        "by": "faults.txt",
        "from": "server",
        "message": 2,
        "actions": ["drop"],
        "rules": ["2: drop every 2nd server progress"],
        "passed": 0,
        "sent": (_TICK % 2).decode().strip(),
    }
    assert second["message"] == 4


def test_what_a_client_sends_is_dropped_before_the_server(tmp_path: Path) -> None:
    script = "drop client tools/call 1st"
    data = _CALL % 1 + _CALL % 2
    seen = Seen(tmp_path, script, *PYTHON, "-c", _SERVER, data=data)
    assert seen.lines == [_RESULT % 2]
    assert seen.err == _CALL % 2
    assert seen.recorded(Channel.SENT) == [_CALL % 2]
    assert [each["sent"].encode() + b"\n" for each in seen.changed] == [_CALL % 1]


def test_results_are_known_by_the_method_of_their_request(tmp_path: Path) -> None:
    script = "duplicate server result of tools/call 2 times"
    seen = Seen(tmp_path, script, *PYTHON, "-c", _SERVER, data=_CALL % 1)
    assert seen.lines == [_RESULT % 1] * 3
    assert seen.recorded(Channel.RECEIVED) == seen.lines
    assert [each["passed"] for each in seen.changed] == [3]
    other = "drop server result of tools/list"
    (tmp_path / "other").mkdir()
    assert Seen(tmp_path / "other", other, *PYTHON, "-c", _SERVER, data=_CALL % 1).changed == []


def test_a_delay_holds_up_what_comes_behind_it(tmp_path: Path) -> None:
    seen = _through_cat(tmp_path, "delay 300ms server 2nd progress", *_ticks(1, 2, 3))
    assert seen.lines == _ticks(1, 2, 3)
    at = [frame.at for frame in seen.frames if frame.channel is Channel.RECEIVED]
    sent = next(f.at for f in seen.frames if b'"delay"' in f.raw and f.channel is Channel.EVENT)
    assert at[1] - sent >= 0.29
    assert seen.changed[0]["delay_s"] == 0.3


def test_a_message_delayed_alone_is_overtaken(tmp_path: Path) -> None:
    seen = _through_cat(tmp_path, "delay 200ms alone server 1st", *_ticks(1, 2, 3))
    assert seen.lines == _ticks(2, 3, 1)


def test_messages_are_passed_on_in_reverse_order(tmp_path: Path) -> None:
    seen = _through_cat(tmp_path, "reorder server 2 messages within 10s", *_ticks(1, 2, 3, 4, 5))
    assert seen.lines == _ticks(2, 1, 4, 3, 5)
    assert {tuple(each["actions"]) for each in seen.changed} == {("reorder",)}


def test_a_message_does_not_wait_for_ever_to_be_reordered(tmp_path: Path) -> None:
    path = tmp_path / "faults.txt"
    path.write_text("reorder server 2 messages within 50ms")
    with Tap(tmp_path, "cat", options=("--script", str(path))) as tap:
        tap.send(_TICK % 1)
        assert tap.read(len(_TICK % 1)) == _TICK % 1
        tap.rest()


def test_corrupt_messages_are_no_json_and_the_same_by_the_same_seed(tmp_path: Path) -> None:
    got = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        seen = _through_cat(folder, "corrupt server 2nd", *_ticks(1, 2, 3), seed="7")
        assert (seen.lines[0], seen.lines[2]) == (_TICK % 1, _TICK % 3)
        assert len(seen.lines[1]) == len(_TICK % 2)
        with pytest.raises(ValueError, match=r"."):
            json.loads(seen.lines[1])
        assert seen.changed[0]["sent"].encode() + b"\n" == _TICK % 2
        got.append(seen.lines)
    assert got[0] == got[1]


def test_a_cut_message_keeps_its_first_half(tmp_path: Path) -> None:
    seen = _through_cat(tmp_path, "cut server 1st", *_ticks(1, 2))
    whole = (_TICK % 1).rstrip()
    assert seen.lines == [whole[: len(whole) // 2] + b"\n", _TICK % 2]


def test_chances_are_the_same_by_the_same_seed(tmp_path: Path) -> None:
    got: list[list[bytes]] = []
    for seed in ("3", "3", "4"):
        folder = tmp_path / str(len(got))
        folder.mkdir()
        seen = _through_cat(folder, "drop 50% server", *_ticks(*range(40)), seed=seed)
        assert 0 < len(seen.lines) < 40
        got.append(seen.lines)
    assert got[0] == got[1] != got[2]


def test_the_server_is_killed_when_so_many_messages_have_passed(tmp_path: Path) -> None:
    (tmp_path / "faults.txt").write_text("kill server after 2 progress")
    options = ("--script", str(tmp_path / "faults.txt"))
    with Tap(tmp_path, "cat", options=options) as tap:
        until(lambda: recordings(tmp_path))
        tap.send(b"".join(_ticks(1, 2)))
        assert tap.read(1000) == b"".join(_ticks(1, 2))
        assert tap.wait() == -9
    frames = frames_of(recorded(tmp_path))
    (changed,), (closed,) = events(frames, "changed"), events(frames, "closed")
    assert (changed["actions"], changed["target"]) == (["kill"], "server")
    assert closed["reason"] == "The script killed the server: line 1"
    assert (closed["ended_by"], closed["signal"]) == ("script", "SIGKILL")


def test_stdout_is_closed_after_a_time_and_the_server_lives_on(tmp_path: Path) -> None:
    (tmp_path / "faults.txt").write_text("close stdout after 100ms")
    options = ("--script", str(tmp_path / "faults.txt"))
    with Tap(tmp_path, "cat", options=options) as tap:
        assert tap.read(1) == b""
        assert tap.poll() is None
        tap.send(_TICK % 1)
        until(lambda: recordings(tmp_path))
        until(lambda: b'"passed":0' in recordings(tmp_path)[0].read_bytes())
        tap.rest()
        assert tap.returncode == 0
    frames = frames_of(recorded(tmp_path))
    closed, lost = events(frames, "changed")
    assert closed["target"] == "stdout"
    assert lost["sent"].encode() + b"\n" == _TICK % 1
    assert raws(frames, Channel.RECEIVED) == []


def test_stdin_is_closed_behind_so_many_messages(tmp_path: Path) -> None:
    (tmp_path / "faults.txt").write_text("close stdin after 1")
    options = ("--script", str(tmp_path / "faults.txt"))
    with Tap(tmp_path, "cat", options=options) as tap:
        tap.send(b"".join(_ticks(1, 2)))
        assert tap.read(1000) == _TICK % 1
        assert tap.wait() == 0


def test_stderr_is_closed(tmp_path: Path) -> None:
    (tmp_path / "faults.txt").write_text("close stderr after 1")
    arguments = (*SHELL, "read a; echo $a; read b; echo late >&2; echo $b")
    with Tap(tmp_path, *arguments, options=("--script", str(tmp_path / "faults.txt"))) as tap:
        tap.send(b"a\n")
        assert tap.read(2) == b"a\n"
        assert tap.stderr is not None
        assert tap.stderr.read().count(b"\n") == 1
        tap.stderr.close()
        tap.stderr = None
        out, _ = tap.rest(b"b\n")
        assert out == b"b\n"


def test_rules_act_together_and_a_dropped_message_meets_no_more(tmp_path: Path) -> None:
    script = "drop server 1st\nduplicate server 1st\ncut server 1st"
    seen = _through_cat(tmp_path, script, *_ticks(1, 2))
    half = (_TICK % 2).rstrip()
    half = half[: len(half) // 2] + b"\n"
    assert seen.lines == [half, half]
    assert [each["actions"] for each in seen.changed] == [["drop"], ["duplicate", "cut"]]


def test_odd_bytes_pass_as_they_are_where_no_rule_acts(tmp_path: Path) -> None:
    odd = b'\x00\xff\r\n\n[1]\n{"id":[]}\n[{"id":1,"result":{}}]\n' + b"x" * 200_000 + b"\nno end"
    (tmp_path / "faults.txt").write_text("drop server requests\ndelay 0ms server")
    with Tap(tmp_path, "cat", options=("--script", str(tmp_path / "faults.txt"))) as tap:
        out, _ = tap.rest(odd)
    assert out == odd


def test_a_script_with_an_error_starts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "faults.txt"
    path.write_text("delay 1s server\n\ndorp server progress\n")
    arguments = ("tap", "--data-dir", str(tmp_path), "--script", str(path))
    ran = run(*arguments, "--", "touch", str(tmp_path / "began"))
    assert ran.code == 2
    assert ran.err.splitlines() == [
        f'Unknown action "dorp" ({path}, line 3)',
        'Did you mean "drop"?',
    ]
    assert not (tmp_path / "began").exists()
    assert not live(tmp_path).exists()


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--seed", "1", "--", "cat"), "--seed needs --script FILE"),
        (("--script", "x", "--to", "http://127.0.0.1:1/mcp"), "Cannot read the script"),
        (("--script", "missing.txt", "--", "cat"), "Cannot read the script"),
        (("--script", "missing.txt", "--seed", "-1", "--", "cat"), "--seed"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: tuple[str, ...], reported: str) -> None:
    ran = run("tap", *arguments)
    assert ran.code == 2
    assert reported in ran.err


def test_a_rule_without_a_meaning_over_http_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "faults.txt"
    path.write_text("drop server progress\nkill server after 3s\n", encoding="utf-8")
    ran = run("tap", "--script", str(path), "--to", "http://127.0.0.1:1/mcp")
    assert ran.code == 2
    assert ran.err.splitlines() == [
        f"A server with a URL is no process of ours to kill ({path}, line 2)",
        "Let its messages get lost: drop server after 10 progress",
    ]


def test_the_modules_of_scripts_are_loaded_for_scripts_only(tmp_path: Path) -> None:
    arguments = tap_command(tmp_path, "cat")
    arguments.insert(arguments.index("-I"), "-v")
    ran = subprocess.run(arguments, input=b"x\n", capture_output=True, check=True)
    assert b"mcp_progress_monitor.tap.relay" in ran.stderr
    assert b"mcp_progress_monitor.tap.script" not in ran.stderr
    assert b"mcp_progress_monitor.tap.faults" not in ran.stderr


def test_a_client_that_leaves_ends_the_server_although_messages_wait(tmp_path: Path) -> None:
    (tmp_path / "faults.txt").write_text("delay 60s server progress")
    began = time.monotonic()
    with Tap(tmp_path, "cat", options=("--script", str(tmp_path / "faults.txt"))) as tap:
        tap.send(_TICK % 1)
        until(lambda: recordings(tmp_path) and b'"delay"' in recordings(tmp_path)[0].read_bytes())
        tap.terminate()
        assert tap.wait() == -15
    assert time.monotonic() - began < 50
