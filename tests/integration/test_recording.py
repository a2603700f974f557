"""Recordings as users get them: of real processes, killed, on full disks, several at once."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.recording import recorder as module
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.recording.settings import RecordingSettings, save_settings
from mcp_progress_monitor.recording.writer import Writer
from tests.integration.commands import PROGRAM, ROOT, linux_only, run, start
from tests.patience import PATIENCE_S, allowed
from tests.servers.definition import server_definition

QUICK = ("--arg", "interval_s=0")


def read(path: Path | str, *, is_cut: bool = False) -> list[Frame]:
    """All frames of a recording, in which nothing is wrong but that the end may be missing."""
    reader = RecordingReader(Path(path))
    frames = [frame for chunk in reader for frame in chunk.frames]
    unsound = [error.what for error in reader.errors]
    assert unsound == [] or (is_cut and "ends in the middle of a line" in unsound[0])
    return frames


def ticks(frames: Sequence[Frame]) -> list[int]:
    """The progress of all ticks, in order."""
    messages = [json.loads(frame.raw) for frame in frames if b"notifications/progress" in frame.raw]
    return [message["params"]["progress"] for message in messages]


def recordings(data_dir: Path) -> list[Path]:
    return sorted((data_dir / "recordings").glob("*.mcprec"))


@pytest.mark.parametrize("era", ["handshake", "per-request"])
def test_every_call_is_recorded_with_all_its_bytes(data_dir: Path, era: str) -> None:
    options = ("--era", era, "--data-dir", str(data_dir))
    ran = run("call", "--demo", *options, "burst", "--arg", "count=5000", "--json")
    (summary,) = ran.only("summary")
    frames = read(summary["recording"])
    assert len(frames) == summary["frames"]
    assert ticks(frames) == list(range(1, 5001))
    assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
    (result,) = ran.only("result")
    assert result["result"] in [json.loads(frame.raw).get("result") for frame in frames[-200:]]
    assert b'"event":"closed"' in frames[-1].raw
    (path,) = recordings(data_dir)
    assert path == Path(summary["recording"])
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700


def test_what_listing_tools_took_is_recorded(data_dir: Path) -> None:
    assert run("tools", "--demo", "--data-dir", str(data_dir)).code == 0
    (path,) = recordings(data_dir)
    assert any(b'"tools/list"' in frame.raw for frame in read(path))


def test_recordings_can_be_switched_off(data_dir: Path) -> None:
    save_settings(data_dir, RecordingSettings(is_on=False))
    ran = run("call", "--demo", "--data-dir", str(data_dir), "known_total", *QUICK, "--json")
    assert ran.code == 0
    assert ran.only("summary")[0]["recording"] is None
    assert recordings(data_dir) == []


class TestNamedFiles:
    def test_a_session_is_recorded_into_the_file_that_is_named(
        self, data_dir: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "mine.mcprec"
        save_settings(data_dir, RecordingSettings(is_on=False))
        options = ("--data-dir", str(data_dir), "--record", str(path))
        ran = run("call", "--demo", *options, "known_total", *QUICK, "--json")
        assert ran.only("summary")[0]["recording"] == str(path)
        assert len(read(path)) == ran.only("summary")[0]["frames"]
        assert recordings(data_dir) == []

    @pytest.mark.parametrize("content", [b"", b"mine", b"#mcp-recording {}\n"])
    @pytest.mark.parametrize("command", [("tools",), ("call", "burst"), ()])
    def test_a_file_that_is_there_is_refused_and_left(
        self, tmp_path: Path, content: bytes, command: Sequence[str]
    ) -> None:
        path = tmp_path / "there"
        path.write_bytes(content)
        ran = run(*command, "--demo", "--record", str(path))
        assert ran.code == 2
        assert "already exists" in ran.err
        assert str(path) in ran.err
        assert path.read_bytes() == content

    def test_a_folder_that_is_not_there_is_reported(self, tmp_path: Path) -> None:
        ran = run("tools", "--demo", "--record", str(tmp_path / "no" / "a.mcprec"))
        assert ran.code == 2
        assert "does not exist" in ran.err
        assert ran.out == ""


def _is_killed(data_dir: Path, rounds: int) -> None:
    """Kill the program so many times: all that it has printed by then is in the recording."""
    arguments = ("--arg", "steps=100000", "--arg", "interval_s=0.001", "--json")
    chance = random.Random(11)  # noqa: S311 - the same moments each time
    for number in range(rounds):
        folder = data_dir / str(number)
        running = start("call", "--demo", "--data-dir", str(folder), "known_total", *arguments)
        try:
            assert running.stdout is not None
            for line in running.stdout:
                if json.loads(line)["event"] == "progress":
                    break
            time.sleep(chance.uniform(0, 0.3))
        finally:
            running.kill()
        # The first may be the end of a line whose beginning was read ahead, with the one above.
        lines = running.communicate()[0].splitlines(keepends=True)[1:]
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        reported = [event["progress"] for event in events if event["event"] == "progress"]
        (path,) = recordings(folder)
        kept = ticks(read(path, is_cut=True))
        assert kept == list(range(1, len(kept) + 1))
        assert len(kept) >= max(reported, default=1), f"round {number}"


@linux_only
def test_what_was_printed_is_recorded_when_the_program_is_killed(data_dir: Path) -> None:
    _is_killed(data_dir, 4)


@linux_only
@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_what_was_printed_is_recorded_whenever_the_program_is_killed(data_dir: Path) -> None:
    _is_killed(data_dir, 100)


@linux_only
def test_replies_are_on_disk_when_they_are_reported(
    data_dir: Path, started: list[subprocess.Popen[str]]
) -> None:
    running = start("call", "--demo", "--data-dir", str(data_dir), "never_answers", "--json")
    started.append(running)
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line)["event"] == "request":
            break
    (path,) = recordings(data_dir)
    until = time.monotonic() + PATIENCE_S
    while b'"never_answers"' not in path.read_bytes():
        assert time.monotonic() < until
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert any(b'serverInfo"' in frame.raw for frame in read(path, is_cut=True))


@linux_only
def test_a_disk_that_takes_no_more_ends_the_recording_and_nothing_else(data_dir: Path) -> None:
    arguments = [*PROGRAM, "call", "--demo", "--data-dir", str(data_dir), "burst"]
    arguments += ["--arg", "count=20000", "--json"]
    limited = f"ulimit -f 512; exec {shlex.join(arguments)}"  # half a megabyte a file
    ran = subprocess.run(
        ["/bin/bash", "-c", limited], capture_output=True, check=False, cwd=ROOT, timeout=PATIENCE_S
    )
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    progress = [event["progress"] for event in events if event["event"] == "progress"]
    assert ran.returncode == 0
    assert progress == list(range(1, 20_001))
    complaint = ran.stderr.decode()
    assert complaint.count("Recording stopped") == 1
    assert "Traceback" not in complaint
    kept = ticks(read(events[-1]["recording"], is_cut=True))
    assert kept == list(range(1, len(kept) + 1))
    assert 1000 < len(kept) < 20_000


def test_a_folder_that_cannot_be_written_is_reported_once_and_the_work_done(data_dir: Path) -> None:
    (data_dir / "recordings").write_text("newer version")
    ran = run("call", "--demo", "--data-dir", str(data_dir), "known_total", *QUICK, "--json")
    assert ran.code == 0
    assert ran.err.count("The session is not being recorded") == 1
    assert str(data_dir / "recordings") in ran.err
    assert ran.only("summary")[0]["recording"] is None


def test_settings_that_cannot_be_read_are_reported_and_the_session_recorded(data_dir: Path) -> None:
    folder = data_dir / "recordings"
    folder.mkdir()
    (folder / "settings.json").write_text("{")
    ran = run("tools", "--demo", "--data-dir", str(data_dir))
    assert ran.code == 0
    assert str(folder / "settings.json") in ran.err
    assert len(recordings(data_dir)) == 1


@linux_only
def test_programs_that_share_a_folder_spare_each_others_recordings(
    data_dir: Path, started: list[subprocess.Popen[str]]
) -> None:
    save_settings(data_dir, RecordingSettings(keep_bytes=1))
    first = start("call", "--demo", "--data-dir", str(data_dir), "never_answers", "--json")
    started.append(first)
    assert first.stdout is not None
    for line in first.stdout:
        if json.loads(line)["event"] == "request":
            break
    (of_first,) = recordings(data_dir)
    assert run("tools", "--demo", "--data-dir", str(data_dir)).code == 0
    assert run("tools", "--demo", "--data-dir", str(data_dir)).code == 0
    both = recordings(data_dir)
    first.send_signal(signal.SIGINT)
    first.communicate()
    assert len(both) == 2  # the one in use, and the last: the one between was too much
    assert of_first in both
    assert b'"event":"closed"' in read(of_first)[-1].raw
    assert run("tools", "--demo", "--data-dir", str(data_dir)).code == 0
    assert of_first not in recordings(data_dir)
    assert sorted(path.suffix for path in of_first.parent.iterdir()) == [".json", ".mcprec"]


async def test_a_slow_disk_slows_the_server_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, most = Writer.write, 0
    monkeypatch.setattr(module, "MOST_WAITING", 50_000)
    monkeypatch.setattr(module, "_AT_ONCE", 40_000)

    def slowly(writer: Writer, path: Path, blobs: Sequence[bytes]) -> None:
        nonlocal most
        most = max(most, recorder.waiting_bytes)
        time.sleep(0.005)
        write(writer, path, blobs)

    monkeypatch.setattr(Writer, "write", slowly)
    recorder = Recorder(tmp_path / "a.mcprec")
    frames: list[Frame] = []
    async with Engine(recorder=recorder) as engine:
        engine.subscribe(lambda update: frames.extend(update.frames))
        engine.servers.add(server_definition())
        await engine.servers.connect("demo")
        params: dict[str, Any] = {"name": "burst", "arguments": {"count": 20_000}}
        with anyio.fail_after(PATIENCE_S):
            outcome = await engine.calls.make(Call("demo", "tools/call", params))
        assert outcome.failure is None
    assert recorder.error is None
    assert ticks(frames) == list(range(1, 20_001))
    assert read(tmp_path / "a.mcprec") == frames
    assert engine.timeline.end == len(frames)
    # Stderr and our own messages are not held up; a chunk and what two others hold come on top.
    assert most < 50_000 + 500_000


@pytest.mark.parametrize("is_on_disk", [True, False])
@pytest.mark.parametrize(
    "tool", ["batch", "print_rubbish", "hostile_text", "chatty_stderr", "split_line", "crash"]
)
async def test_odd_messages_are_in_the_log_as_they_came(
    tmp_path: Path, tool: str, *, is_on_disk: bool
) -> None:
    path = tmp_path / "a.mcprec" if is_on_disk else None
    frames: list[Frame] = []
    async with Engine(recorder=Recorder(path)) as engine:
        engine.subscribe(lambda update: frames.extend(update.frames))
        engine.servers.add(server_definition())
        await engine.servers.connect("demo")
        arguments = {} if tool in {"batch", "split_line"} else {"interval_s": 0}
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        await engine.calls.make(Call("demo", "tools/call", params))
    found = engine.timeline.frames(0, engine.timeline.end)
    assert [frame._replace(when=0) for frame in found] == [
        frame._replace(when=0) for frame in frames
    ]
    assert engine.recording.path == path
    if path is not None:
        assert sorted(read(path)) == sorted(frames)


def test_a_disk_that_hangs_does_not_keep_the_program_from_ending(tmp_path: Path) -> None:
    program = f"""
import sys, threading
from mcp_progress_monitor.recording.writer import Writer
write = Writer.write
def hang(writer, path, blobs):
    if writer._path is not None:
        threading.Event().wait()
    write(writer, path, blobs)
Writer.write = hang
from mcp_progress_monitor.cli.entry import main
sys.exit(main(["tools", "--demo", "--record", {str(tmp_path / "a.mcprec")!r}]))
"""
    began = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0
    assert b"The end of the recording is lost" in ran.stderr
    assert time.monotonic() - began < allowed(15)
