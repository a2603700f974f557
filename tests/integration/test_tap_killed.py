"""Client, tap or server killed at any moment: nobody is left, and nothing that passed is lost."""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from mcp_progress_monitor import paths
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.reader import RecordingReader
from tests.integration.commands import linux_only
from tests.integration.processes import children_of, is_alive
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

pytestmark = linux_only

_CLIENT = (*PYTHON, str(Path(__file__).with_name("tap_victims.py")))
_SERVERS = (
    ("cat",),
    ("yes", '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"flood"}}'),
    (*SHELL, "while read line; do echo $line; echo $line >&2; done"),
    (*SHELL, "trap '' TERM; while read line; do echo $line; done"),
)
_CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call"}\n'
_TICKING = (*SHELL, "while read line; do echo tick $line >&2; echo tick $line; echo $line; done")
_LONGEST_S = 0.25
_TORN = "The recording ends in the middle of a line, which was skipped"
_MARK = "MONITOR_TAP_STORM"


def _storm(count: int, seed: int, data_dir: Path, at_once: int = 4) -> int:
    """Kill one of client, tap and server, so often; how many of the kills met somebody alive."""
    chance = random.Random(seed)  # noqa: S311  # a storm, no secret
    mark = f"{os.getpid()}-{seed}"
    met = 0
    for start in range(0, count, at_once):
        with contextlib.ExitStack() as clients:
            victims = [
                clients.enter_context(_client(data_dir, chance.choice(_SERVERS), mark))
                for _ in range(min(at_once, count - start))
            ]
            time.sleep(chance.uniform(0, _LONGEST_S))
            met += sum([_kill(chance.choice(("client", "tap", "server")), v) for v in victims])
    until(lambda: not _marked(mark))
    return met


@contextlib.contextmanager
def _client(
    data_dir: Path, server: tuple[str, ...], mark: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A client, and the process id of its tap; it has ended when this is left."""
    arguments = [*_CLIENT, *tap_command(data_dir, *server)]
    logs = _logs(data_dir)
    logs.mkdir(parents=True, exist_ok=True)
    environ = {**os.environ, _MARK: mark, "MONITOR_TAP_LOGS": str(logs)}
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, env=environ) as client:
        assert client.stderr is not None
        yield client, int(client.stderr.readline())
        client.stderr.close()


def _kill(whom: str, victim: tuple[subprocess.Popen[bytes], int]) -> bool:
    """Kill one of three; whether it was there."""
    client, tap = victim
    pids = {"client": [client.pid], "tap": [tap]}
    with contextlib.suppress(OSError):
        pids["server"] = children_of(tap)
    try:
        for pid in pids.get(whom) or [tap]:  # no server yet: its tap will do
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _marked(mark: str) -> list[int]:
    """The processes that belong to a storm."""
    found = []
    word = f"{_MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and word in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return [pid for pid in found if is_alive(pid)]


def _logs(data_dir: Path) -> Path:
    """Where clients note what they have read, each in a file named like its tap's process id."""
    return data_dir / "read by clients"


def _check_recordings(data_dir: Path) -> int:
    """Read them all; how many there are. What a client has read is in one of them."""
    by_tap: dict[str, Path] = {}
    for path in recordings(data_dir):
        reader = RecordingReader(path)
        assert reader.header["tap"]["transport"] == "stdio"
        by_tap[str(reader.header["tap"]["pid"])] = path
        frames = [frame for chunk in reader for frame in chunk.frames]
        assert frames
        assert {error.what for error in reader.errors} <= {_TORN}, path
    assert not any(entry.is_in_use for entry in RecordingsFolder(live(data_dir)).entries())
    for log in _logs(data_dir).iterdir():
        lines = log.read_bytes().split(b"\n")[:-1]
        if lines:
            frames = frames_of(RecordingReader(by_tap[log.name]))
            gaps = sum(event["messages"] for event in events(frames, "not_recorded"))
            found = raws(frames, Channel.RECEIVED)
            assert lines == found[: len(lines)] or len(found) + gaps >= len(lines) > len(found)
    return len(recordings(data_dir))


async def _call_and_kill(data_dir: Path, calls: int, *, is_whole_group: bool) -> list[bytes]:
    """Do as clients on asyncio do: kill the tap as soon as the last reply has been read.

    Returns what it wrote. `is_whole_group` kills everything in its process group.
    """
    tap = await asyncio.create_subprocess_exec(
        *tap_command(data_dir, *_TICKING),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert tap.stdin is not None
    assert tap.stdout is not None
    assert tap.stderr is not None
    lines = []
    for number in range(calls):
        tap.stdin.write(_CALL % number)
        lines += [await tap.stdout.readline() for _ in range(2)]
        await tap.stderr.readline()
    if is_whole_group:
        os.killpg(tap.pid, signal.SIGKILL)
    else:
        tap._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  # as fastmcp 3.4 does
    await tap.wait()
    return [line.rstrip(b"\n") for line in lines]


def _check_last_line(data_dir: Path, chance: random.Random) -> None:
    """Kill a tap right after a reply, early or late; everything that passed is recorded."""
    calls, is_whole_group = chance.choice((1, 1, 2, 5, 30)), chance.random() < 0.3
    read = asyncio.run(_call_and_kill(data_dir, calls, is_whole_group=is_whole_group))
    until(lambda: recordings(data_dir) and not list(live(data_dir).glob("*.lock")))
    frames = frames_of(recorded(data_dir))
    assert raws(frames, Channel.RECEIVED) == read
    assert raws(frames, Channel.SENT) == [(_CALL % number)[:-1] for number in range(calls)]
    assert raws(frames, Channel.STDERR) == read[::2]
    recordings(data_dir)[0].unlink()


def test_a_tap_killed_right_after_a_reply_has_recorded_it(tmp_path: Path) -> None:
    chance = random.Random(2)  # noqa: S311  # no secret
    for _ in range(5):
        _check_last_line(tmp_path, chance)


def test_a_killed_tap_leaves_no_end_of_the_session_in_its_recording(tmp_path: Path) -> None:
    with Tap(tmp_path, "cat") as tap:
        tap.send(b"one\nand half")
        assert tap.read(12) == b"one\nand half"
        tap.kill()
    until(lambda: recordings(tmp_path) and not list(live(tmp_path).glob("*.lock")))
    frames = frames_of(recorded(tmp_path))
    assert raws(frames, Channel.RECEIVED) == [b"one", b"and half"]
    assert events(frames, "closed") == []


_DEAF = """
import os, signal, sys, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print(os.getpid(), flush=True)
while True:
    time.sleep(0.05)
"""


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_server_that_ignores_everything_ends_with_its_killed_tap(
    tmp_path: Path, is_recorded: bool
) -> None:
    """As the SDKs end a server: close its input, send TERM, then KILL to what they started."""
    if not is_recorded:
        (tmp_path / "recordings").mkdir()
        (tmp_path / "recordings" / "settings.json").write_text('{"is_on": false}')
    with Tap(tmp_path, *PYTHON, "-c", _DEAF) as tap:
        assert tap.stdout is not None
        server = int(tap.stdout.readline())
        assert tap.stdin is not None
        tap.stdin.close()
        tap.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        assert is_alive(server)
        tap.kill()
        until(lambda: not is_alive(server))
    assert bool(recordings(tmp_path)) is is_recorded


_DEAF_SHELL = "trap '' HUP INT TERM PIPE; while :; do sleep 0.1; done"


def _server_of(tap: int) -> int | None:
    """The server of a tap, as soon as it runs its own command."""
    with contextlib.suppress(OSError):
        for child in children_of(tap):
            if Path(f"/proc/{child}/cmdline").read_bytes().endswith(_DEAF_SHELL.encode() + b"\0"):
                return child
    return None


def _is_gone(pid: int) -> bool:
    return not is_alive(pid)


def test_a_server_that_just_starts_ends_with_its_killed_tap(tmp_path: Path) -> None:
    for _ in range(5):
        with Tap(tmp_path, *SHELL, _DEAF_SHELL) as tap:
            while (server := _server_of(tap.pid)) is None:
                assert tap.poll() is None
            tap.kill()
        until(partial(_is_gone, server))


_KILLED_EARLY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from mcp_progress_monitor.tap.environment import own_environment
from mcp_progress_monitor.tap.posix import TappedServer
def kill(pid):
    os.kill(pid, 9)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
server = TappedServer(("echo", "it runs"), own_environment(), kill)
server.wait()
server.end_alike()
"""


def test_a_server_that_is_killed_before_it_runs_ends_its_tap() -> None:
    arguments = (*PYTHON, "-c", _KILLED_EARLY, str(paths.import_root()))
    ran = subprocess.run(arguments, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGKILL, b"", b"")


def test_whoever_is_killed_nobody_is_left_and_recordings_can_be_read(tmp_path: Path) -> None:
    assert _storm(8, 1, tmp_path) > 0
    _check_recordings(tmp_path)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_a_thousand_kills_leave_nobody_and_no_recording_that_cannot_be_read(tmp_path: Path) -> None:
    met = count = 0
    while met < 1000:
        folder = tmp_path / str(count)
        met += _storm(50, random.randrange(1_000_000), folder)  # noqa: S311  # a storm, no secret
        count += _check_recordings(folder)
        shutil.rmtree(folder)
    print(f"{met} kills, {count} recordings", file=sys.__stderr__)
    assert count > met / 2


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_a_thousand_taps_killed_right_after_a_reply_lose_none(tmp_path: Path) -> None:
    chance = random.Random()  # noqa: S311  # no secret
    for _ in range(1000):
        _check_last_line(tmp_path, chance)
