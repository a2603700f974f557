"""A recording that grows is shown as it grows, from a file or from standard input."""

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.playback.following import (
    FollowedRecording,
    Spool,
    followed_file,
    wait_for_header,
)
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.recording.format import header
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.patience import PATIENCE_S
from tests.taps import HandTap


@pytest.fixture
def tap(tmp_path: Path) -> Iterator[HandTap]:
    tap = HandTap(tmp_path)
    yield tap
    tap.end()


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def following(path: Path, *, is_over: Callable[[], bool] = lambda: False) -> Playback:
    return Playback(path, FollowedRecording(path, is_over))


def states(playback: Playback) -> list[JobState]:
    found = map(playback.jobs.snapshot, playback.jobs.ids())
    return [job.state for job in found if job is not None]


def test_what_is_added_is_shown(tap: HandTap) -> None:
    playback = following(tap.path)
    assert playback.advance(0.01)
    assert (playback.is_following, playback.begun_when) == (True, None)
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(1))
    assert playback.advance(0.1)
    assert states(playback) == [JobState.RUNNING]
    (job,) = map(playback.jobs.snapshot, playback.jobs.ids())
    assert job is not None
    assert job.watched_client == "Claude Code"
    assert playback.begun_when == pytest.approx(tap.when, abs=1)
    tap.write(tap.answer())
    assert playback.advance(0.1)
    assert states(playback) == [JobState.DONE]
    assert playback.timeline.end == 7
    assert not playback.is_loaded


def test_reading_costs_no_time_while_nothing_is_added(tap: HandTap) -> None:
    tap.write(tap.opened())
    playback = following(tap.path)
    playback.advance(5.0)
    began = time.perf_counter()
    assert playback.advance(5.0)
    assert playback.step()
    assert playback.play_until(1e9, 5.0)
    assert time.perf_counter() - began < 1.0


def test_time_goes_on_while_a_running_job_is_followed(tap: HandTap) -> None:
    tap.write(tap.opened(), tap.handshake(), tap.call())
    playback = following(tap.path)
    playback.advance(1.0)
    before = playback.now()
    time.sleep(0.02)
    playback.advance(1.0)
    assert playback.now() >= before + 0.02


def test_it_ends_when_nothing_more_can_come(tap: HandTap) -> None:
    tap.write(tap.opened(), tap.handshake(), tap.call())
    is_over = False
    playback = following(tap.path, is_over=lambda: is_over)
    assert playback.advance(1.0)
    tap.write(tap.tick(5))
    is_over = True
    until(lambda: not playback.advance(1.0))
    assert playback.is_ended
    (job,) = map(playback.jobs.snapshot, playback.jobs.ids())
    assert job is not None
    assert job.progress == 5
    assert "ends here while 1 job was running" in playback.errors[0].what


def test_it_begins_again_and_goes_on_following(tap: HandTap) -> None:
    tap.write(tap.opened(), tap.handshake(), tap.call())
    playback = following(tap.path)
    playback.advance(1.0)
    playback.restart()
    assert playback.timeline.end == 0
    playback.advance(1.0)
    tap.write(tap.tick(1))
    playback.advance(1.0)
    assert (playback.timeline.end, states(playback)) == (6, [JobState.RUNNING])


def test_a_recording_that_goes_on_in_another_file_is_followed_there(tmp_path: Path) -> None:
    parts = [tmp_path / "night.mcprec", tmp_path / "night.2.mcprec"]
    line = b'2026-01-01T00:00:00.000000Z %d.000000 a#1 < {"jsonrpc":"2.0","method":"x"}\n'
    fields = {"at": 1.0, "run": "abc"}
    parts[0].write_bytes(header({**fields, "first": 1, "part": 1}) + line % 1)
    playback = following(parts[0])
    playback.advance(1.0)
    parts[1].write_bytes(header({**fields, "first": 2, "part": 2}) + line % 2)
    until(lambda: playback.advance(0.05) and playback.timeline.end == 2)
    with parts[1].open("ab") as file:
        file.write(line % 3)
    playback.advance(1.0)
    assert [frame.number for frame in playback.timeline.frames(0, 9)] == [1, 2, 3]
    assert playback.timeline.frames(2, 3)[0].raw == b'{"jsonrpc":"2.0","method":"x"}'


def test_a_file_is_followed_until_its_lock_is_gone(tap: HandTap) -> None:
    followed = followed_file(tap.path)
    assert not followed.is_over()
    tap.end()
    assert followed.is_over()
    assert not followed_file(tap.path).is_over()  # of a copy nobody knows when it ends


def test_standard_input_is_kept_as_it_comes_and_then_gone(tmp_path: Path, tap: HandTap) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb", buffering=0) as pipe:
        spool = Spool(stream, tmp_path)
        content = tap.path.read_bytes() + tap.opened() + tap.handshake() + tap.call()
        pipe.write(content[:50])
        pipe.write(content[50:-10])
        wait_for_header(spool.followed())
        playback = Playback(spool.path, spool.followed())
        until(lambda: playback.advance(0.01) and playback.timeline.end == 4)
        pipe.write(content[-10:])
        until(lambda: playback.advance(0.01) and states(playback) == [JobState.RUNNING])
        pipe.close()
        until(lambda: not playback.advance(0.01))
        spool.close()
    assert not spool.path.parent.exists()
    assert playback.is_ended


def test_standard_input_that_ends_at_once_is_no_empty_file(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        spool = Spool(stream, tmp_path)
        with pytest.raises(UserError, match="ended without a recording"):
            wait_for_header(spool.followed())
        spool.close()


def test_standard_input_has_a_limit(tmp_path: Path, tap: HandTap) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        content = tap.path.read_bytes()
        spool = Spool(stream, tmp_path, most_bytes=len(content))
        os.write(writing, content)
        until(spool.followed().is_over)
        (error,) = spool.followed().errors()
        assert "too large" in error.what
        os.close(writing)
        spool.close()


def test_what_a_killed_program_left_is_deleted_by_the_next(tmp_path: Path) -> None:
    def made(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "stdin.mcprec").touch()
        return folder

    killed, made_now, old = made("followed-1"), made("followed-2"), made("followed-3")
    (killed / "stdin.lock").touch()  # the system gave the lock back
    os.utime(old, (0, 0))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        one = Spool(stream, tmp_path)
        assert [killed.exists(), made_now.exists(), old.exists()] == [False, True, False]
        assert stat.S_IMODE(one.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(one.path.parent.stat().st_mode) == 0o700
        Spool(stream, tmp_path).close()
        assert one.path.exists()
        os.close(writing)
        one.close()
    assert list(tmp_path.iterdir()) == [made_now]


def test_standard_input_that_is_no_recording_is_refused_at_its_end(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        spool = Spool(stream, tmp_path)
        os.write(writing, b"no recording")
        os.close(writing)
        wait_for_header(spool.followed())
        with pytest.raises(UserError, match="not a recording"):
            Playback(spool.path, spool.followed())
        spool.close()
    with pytest.raises(UserError, match="standard input"):
        Spool(stream, tmp_path / "none")


def test_what_a_script_changed_is_reported_before_all_else(tmp_path: Path) -> None:
    changed = HandTap(tmp_path, script="faults.txt")
    changed.write(changed.opened(), changed.handshake(), changed.call(), changed.closed())
    changed.end()
    first = Playback(changed.path).errors[0]
    assert first.what == "Changed by the script faults.txt"
    assert "what was sent" in first.hint
