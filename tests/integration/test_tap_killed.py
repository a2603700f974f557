"""Client, tap or server killed at any moment: nobody is left, and every recording can be read."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.reader import RecordingReader
from tests.integration.commands import linux_only
from tests.integration.processes import children_of, is_alive
from tests.integration.tapping import PYTHON, SHELL, live, recordings, tap_words, until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = linux_only

_CLIENT = (*PYTHON, str(Path(__file__).with_name("tap_victims.py")))
_SERVERS = (
    ("cat",),
    ("yes", '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"flood"}}'),
    (*SHELL, "while read line; do echo $line; echo $line >&2; done"),
)
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
    words = [*_CLIENT, *tap_words(data_dir, *server)]
    environ = {**os.environ, _MARK: mark}
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=environ) as client:
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


def _check_recordings(data_dir: Path) -> int:
    """Read them all; how many there are."""
    for path in recordings(data_dir):
        reader = RecordingReader(path)
        assert reader.header["tap"]["transport"] == "stdio"
        assert sum(len(chunk.frames) for chunk in reader) >= 1
        assert {error.what for error in reader.errors} <= {_TORN}, path
    assert not any(entry.is_in_use for entry in RecordingsFolder(live(data_dir)).entries())
    return len(recordings(data_dir))


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
        for path in live(folder).iterdir():
            path.unlink()
    print(f"{met} kills, {count} recordings", file=sys.__stderr__)
    assert count > met / 2
