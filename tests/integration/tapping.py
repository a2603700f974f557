"""A tap as a client runs it: a process between the test, which is the client, and a server."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mcp_progress_monitor import paths
from mcp_progress_monitor.protocol.frames import Channel, Frame
from mcp_progress_monitor.recording.reader import RecordingReader
from tests.patience import PATIENCE_S

PYTHON = (sys.executable, "-I", "-S")
"""Starts fastest."""
PROGRAM = (*PYTHON, str(paths.import_root() / "mcp_progress_monitor" / "__main__.py"))
SHELL = ("/bin/sh", "-c")
_POLL_S = 0.005


def tap_command(data_dir: Path, *command: str, options: tuple[str, ...] = ()) -> list[str]:
    """The command line that runs a command behind a tap."""
    return [*PROGRAM, "tap", "--data-dir", str(data_dir), *options, "--", *command]


class Tap(subprocess.Popen[bytes]):
    """A tapped server, with pipes that are not buffered."""

    def __init__(
        self, data_dir: Path, *command: str, options: tuple[str, ...] = (), **started: Any
    ) -> None:
        """Start it; `started` are arguments of Popen."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        super().__init__(
            tap_command(data_dir, *command, options=options), bufsize=0, **{**pipes, **started}
        )

    def send(self, data: bytes) -> None:
        """Write to the server, all of it."""
        assert self.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.stdin.write(view) :]

    def read(self, size: int) -> bytes:
        """Read so many bytes of what the server writes, fewer at its end."""
        assert self.stdout is not None
        found = b""
        while len(found) < size:
            piece = os.read(self.stdout.fileno(), size - len(found))
            if not piece:
                break
            found += piece
        return found

    def rest(self, data: bytes = b"") -> tuple[bytes, bytes]:
        """Send the last bytes, and read both outputs to their ends."""
        return self.communicate(data, timeout=PATIENCE_S)


def tapped(data_dir: Path, *command: str, data: bytes = b"", **started: Any) -> tuple[int, bytes]:
    """Run a command behind a tap to its end; its code, and what it wrote.

    A tap does not wait for its recording, so nothing is sent before there is one.
    """
    with Tap(data_dir, *command, **started) as tap:
        until(lambda: recordings(data_dir) or tap.poll() is not None)
        out, _ = tap.rest(data)
    return tap.returncode, out


def live(data_dir: Path) -> Path:
    """The folder of taps' recordings."""
    return data_dir / "recordings" / "live"


def recordings(data_dir: Path) -> list[Path]:
    """The recordings of taps, oldest first."""
    return sorted(live(data_dir).glob("*.mcprec"))


def recorded(data_dir: Path) -> RecordingReader:
    """The only recording there is."""
    (path,) = recordings(data_dir)
    return RecordingReader(path)


def frames_of(reader: RecordingReader) -> list[Frame]:
    """All frames, and a check that nothing is wrong with the file."""
    frames = [frame for chunk in reader for frame in chunk.frames]
    assert reader.errors == []
    return frames


def raws(frames: list[Frame], channel: Channel) -> list[bytes]:
    """What went one way."""
    return [frame.raw for frame in frames if frame.channel is channel]


def events(frames: list[Frame], name: str) -> list[dict[str, Any]]:
    """The events of one kind."""
    found = [json.loads(raw) for raw in raws(frames, Channel.EVENT)]
    return [event for event in found if event["event"] == name]


def until(happened: Callable[[], object]) -> None:
    """Wait until something is so."""
    ends_at = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < ends_at, happened
        time.sleep(_POLL_S)


@contextlib.contextmanager
def killed_afterwards(*pids: int) -> Iterator[None]:
    """Leave no process of a test behind."""
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
