"""Whatever is wrong with the disk or the recording, a tapped session goes on and stays fast."""

import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.reader import RecordingReader
from tests.integration.processes import users_of
from tests.integration.tapping import (
    SHELL,
    Tap,
    events,
    frames_of,
    live,
    raws,
    recorded,
    recordings,
    tapped,
    until,
)
from tests.patience import allowed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and rights of POSIX")

_LINES = b"".join(b'{"n":%d,"text":"%s"}\n' % (n, b"x" * 80) for n in range(20_000))
_SIZE_LIMIT = 64 * 1024


def _limit_files() -> None:
    """No file may grow larger: what a full disk does to one program alone."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (_SIZE_LIMIT, _SIZE_LIMIT))


def _lines(err: bytes) -> list[str]:
    return err.decode().splitlines()


def test_on_a_full_disk_bytes_pass_and_one_line_says_so(tmp_path: Path) -> None:
    with Tap(tmp_path, "cat", preexec_fn=_limit_files) as tap:
        until(lambda: recordings(tmp_path))
        out, err = tap.rest(_LINES)
    assert (tap.returncode, out) == (0, _LINES)
    (line,) = _lines(err)
    assert line.startswith("mcp-progress-monitor tap: Cannot record this session: File too large: ")
    reader = recorded(tmp_path)
    frames = frames_of(reader)
    assert recordings(tmp_path)[0].stat().st_size <= _SIZE_LIMIT
    (gap,) = events(frames, "not_recorded")
    assert gap["why"] == "File too large"
    assert (gap["bytes"], gap["messages"]) == (2 * len(_LINES), 40_000)
    assert len(events(frames, "closed")) == 1


def test_when_the_disk_has_room_again_what_was_kept_is_recorded(tmp_path: Path) -> None:
    with Tap(tmp_path, "cat") as tap:
        tap.send(b"before\n")
        until(lambda: recordings(tmp_path) and b"before" in recordings(tmp_path)[0].read_bytes())
        size = recordings(tmp_path)[0].stat().st_size
        (writer,) = users_of(recordings(tmp_path)[0])
        hard = resource.prlimit(writer, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(writer, resource.RLIMIT_FSIZE, (size + 40, hard))
        tap.send(b"meanwhile " * 10 + b"\n")
        assert tap.stderr is not None
        assert b"File too large" in tap.stderr.readline()
        assert recordings(tmp_path)[0].stat().st_size == size  # no half a line
        resource.prlimit(writer, resource.RLIMIT_FSIZE, (hard, hard))
        out, err = tap.rest(b"after\n")
    assert err == b""
    assert out.startswith(b"before\nmeanwhile")
    frames = frames_of(recorded(tmp_path))
    assert raws(frames, Channel.SENT) == [b"before", b"meanwhile " * 10, b"after"]
    assert events(frames, "not_recorded") == []


def _as_file(folder: Path) -> Path:
    folder.touch()
    return folder


def _read_only(_folder: Path) -> Path:
    return Path("/proc/self/data")  # not even the superuser makes a folder there


def _too_long(folder: Path) -> Path:
    return folder / ("x" * 300)


def _linked_to_itself(folder: Path) -> Path:
    folder.symlink_to(folder)
    return folder


@pytest.mark.parametrize("make", [_as_file, _read_only, _too_long, _linked_to_itself])
def test_where_nothing_can_be_recorded_bytes_pass_and_one_line_says_so(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    data_dir = make(tmp_path / "folder")
    with Tap(data_dir, *SHELL, "echo server >&2; cat; exit 3") as tap:
        assert tap.stderr is not None
        assert tap.stderr.readline() == b"server\n"
        line = tap.stderr.readline().decode().rstrip()
        out, err = tap.rest(_LINES)
    assert (tap.returncode, out, err) == (3, _LINES, b"")
    assert line.startswith("mcp-progress-monitor tap: Cannot record this session: ")
    assert line.endswith(f": {data_dir}")


def test_a_folder_that_is_deleted_is_made_again(tmp_path: Path) -> None:
    with Tap(tmp_path, "cat") as tap:
        tap.send(b"one\n")
        until(lambda: recordings(tmp_path) and b"< one" in recordings(tmp_path)[0].read_bytes())
        shutil.rmtree(tmp_path / "recordings")
        tap.send(b"two\n")
        until(lambda: recordings(tmp_path) and b"< two" in recordings(tmp_path)[0].read_bytes())
        _, err = tap.rest()
    assert err == b""
    frames = frames_of(recorded(tmp_path))
    assert len(events(frames, "opened")) == 1
    assert raws(frames, Channel.RECEIVED) == [b"two"]


def test_a_recording_that_is_moved_stays_as_it_is(tmp_path: Path) -> None:
    kept = tmp_path / "kept.mcprec"
    with Tap(tmp_path, "cat") as tap:
        tap.send(b"one\n")
        until(lambda: recordings(tmp_path) and b"< one" in recordings(tmp_path)[0].read_bytes())
        recordings(tmp_path)[0].rename(kept)
        tap.send(b"two\n")
        tap.rest()
    assert raws(frames_of(RecordingReader(kept)), Channel.SENT) == [b"one"]
    assert raws(frames_of(recorded(tmp_path)), Channel.SENT) == [b"two"]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("../../etc/x", "..-..-etc-x"),
        ("Ünï cödé 🎉\n\t#%", "-n--c-d-------"),
        ("x" * 500, "x" * 57),
        ("server.3", "server-3"),
        (".", "."),
        ("a/b.mcprec", "a-b.mcprec"),
    ],
)
def test_any_connection_name_makes_a_valid_file_name(name: str, file: str, tmp_path: Path) -> None:
    code, out = tapped(tmp_path, "cat", data=b"hi\n", options=("--name", name))
    assert (code, out) == (0, b"hi\n")
    (path,) = recordings(tmp_path)
    assert path.name.partition("-p")[2].partition("-")[2] == f"{file}.mcprec"
    frames = frames_of(recorded(tmp_path))
    assert {frame.connection for frame in frames} == {f"{name[:60]}#1"}
    assert list(live(tmp_path).iterdir()) == [path]


def test_a_disk_that_hangs_slows_nobody_and_costs_a_bounded_memory(tmp_path: Path) -> None:
    """The queue's limits: what does not fit in is dropped and counted, and bytes pass."""
    size, pieces = 200_000, 100
    line = b"y" * (size - 1) + b"\n"
    with Tap(tmp_path, *SHELL, "cat >/dev/null", preexec_fn=_limit_files) as tap:
        for _ in range(pieces):
            tap.send(line)
        memory = Path(f"/proc/{tap.pid}/status")
        if memory.exists():
            (peak,) = (row.split()[1] for row in memory.read_text().splitlines() if "VmHWM" in row)
            assert int(peak) < 90_000
        tap.rest()
    frames = frames_of(recorded(tmp_path))
    gaps = events(frames, "not_recorded")
    missing = sum(gap["bytes"] for gap in gaps), sum(gap["messages"] for gap in gaps)
    # On a busy machine there may be no time left to say what was left out, or that it is the end.
    assert missing >= (size * pieces, pieces) or not events(frames, "closed")


def test_what_is_queued_does_not_delay_the_end(tmp_path: Path) -> None:
    """A tap ends in time although it may have more to write than it can by then."""
    block = b"z" * 65_535 + b"\n"
    with Tap(tmp_path, *SHELL, "cat >/dev/null; exit 5") as tap:
        until(lambda: recordings(tmp_path))
        for _ in range(600):
            tap.send(block)
        assert tap.stdin is not None
        began = time.monotonic()
        tap.stdin.close()
        assert tap.wait() == 5
        spent = time.monotonic() - began
    assert spent < allowed(0.2) + 0.2  # and the server's own end
    frames = frames_of(recorded(tmp_path))
    messages = len(raws(frames, Channel.SENT)) + sum(
        gap["messages"] for gap in events(frames, "not_recorded")
    )
    # On a busy machine there may be no time left to say what was left out, or that it is the end.
    assert messages == 600 or not events(frames, "closed")


def test_its_line_does_not_block_it_when_nobody_reads_standard_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    while select.select([], [writer], [], 0)[1]:
        os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    file = tmp_path / "file"
    file.touch()
    with Tap(file, *SHELL, "cat; kill -TERM $$", stderr=writer) as tap:
        out, _ = tap.rest(b"{}\n")
    assert (tap.returncode, out) == (-signal.SIGTERM, b"{}\n")
    os.close(reader)
    os.close(writer)
