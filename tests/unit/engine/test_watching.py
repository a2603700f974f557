"""Recordings of taps are followed: the same facts and jobs, whenever and however they grow."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.call import AutoResume
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.followed_tap import Elsewhere, Tap
from mcp_progress_monitor.engine.recorded_chunks import TakenChunk
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.exports.formats import HAR, ExportOptions, export_chunks
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.facts import Fact
from mcp_progress_monitor.protocol.frames import Channel, FactRun
from mcp_progress_monitor.protocol.framing import FrameNumbers
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.patience import until
from tests.taps import HandTap


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "live"


def jobs_of(engine: Engine) -> list[JobSnapshot]:
    return [job for each in engine.jobs.ids() if (job := engine.jobs.snapshot(each)) is not None]


def states(engine: Engine) -> list[JobState]:
    return [job.state for job in jobs_of(engine)]


class Follower:
    """What a tap's recording comes to, read whenever the test says so."""

    def __init__(self, path: Path, clock: Clock | None = None, first: int = 1) -> None:
        self.is_over = False
        self.facts: list[Fact] = []
        self.frames: list[Any] = []
        self.largest = 0
        self.tracker = Tracker()
        self.tap = Tap(
            path, lambda: self.is_over, FrameNumbers(first), clock or Clock(), self._take
        )

    def _take(self, _tap: Tap, taken: TakenChunk) -> None:
        self.largest = max(self.largest, len(taken.frames))
        self.frames += taken.frames
        self.facts += taken.facts
        self.tracker.apply(taken.facts, taken.frames[-1].at)

    def read(self) -> None:
        while self.tap.read(1.0):
            pass

    def end(self) -> None:
        self.is_over = True
        self.tap._recording._checked_at = -1.0  # noqa: SLF001  # else the test waits half a second
        self.read()
        assert self.tap.is_ended


def session(tap: HandTap, rounds: int = 3) -> bytes:
    """Calls with progress, standard error, a batch, a gap and an event that names a request."""
    lines = [tap.opened(), tap.handshake()]
    for number in range(1, rounds + 1):
        token = f"t{number}"
        lines += [tap.call(number, token), tap.tick(1, token), tap.tick(2, token)]
        lines.append(tap.line(Channel.STDERR, "wärnung".encode()))
        lines.append(tap.tick(3, token))
        batch = b'[{"jsonrpc":"2.0","method":"notifications/message"},{"jsonrpc":"2.0","id":99}]'
        lines.append(tap.line(Channel.RECEIVED, batch))
        lines.append(tap.event("not_recorded", bytes=10, messages=2, why="the queue was full"))
        lines.append(tap.answer(number, isError=number == 2))
    # The first call is the fifth frame of the file: opened, three of the handshake, the call.
    lines += [tap.call(50, "late"), tap.event("cancel_requested", request=5, grace_s=1.0)]
    lines.append(tap.closed())
    return b"".join(lines)


def plain(facts: Sequence[Any]) -> list[Any]:
    """Facts without the connection's name, which is another one where a tap is watched."""
    return [(type(fact), *(fact[:1] + fact[2:])) for fact in facts]


def plain_jobs(tracker: Tracker, now: float) -> list[JobSnapshot]:
    found = (tracker.snapshot(job, now) for job in tracker.jobs())
    return [job._replace(connection="", server="") for job in found if job is not None]


@given(st.lists(st.integers(1, 700), max_size=30), st.integers(0, 4))
def test_it_does_not_matter_how_a_recording_grows(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], reads: int
) -> None:
    tap = HandTap(tmp_path_factory.mktemp("live"))
    try:
        content, follower = session(tap), Follower(tap.path)
        begin = 0
        for place, size in enumerate(sizes):
            tap.write(content[begin : begin + size])
            begin += size
            if place % 5 <= reads:
                follower.read()
        tap.write(content[begin:])
        follower.end()
    finally:
        tap.end()
    whole = Playback(tap.path)
    heard: list[Update] = []
    whole.subscribe(heard.append)
    while whole.advance(1.0):
        pass
    assert plain(follower.facts) == plain([fact for update in heard for fact in update.facts])
    again = Tracker()
    again.apply(FactRun.joined(update.facts for update in heard), tap.at)
    assert plain_jobs(follower.tracker, tap.at) == plain_jobs(again, tap.at)
    assert len(plain_jobs(again, tap.at)) == 4


def test_a_line_counts_once_its_line_feed_is_there(live: Path) -> None:
    tap = HandTap(live)
    line = tap.opened()
    tap.write(line[:-1])
    follower = Follower(tap.path)
    follower.read()
    assert follower.facts == []
    tap.write(line[-1:])
    follower.read()
    assert len(follower.facts) == 1
    tap.end()


def test_a_long_message_is_not_read_again_from_its_beginning(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    before = "mcp_progress_monitor.recording.timeline.FileBytes.read"
    from mcp_progress_monitor.recording.timeline import FileBytes

    whole = FileBytes.read

    def counting(self: FileBytes, offset: int, size: int) -> bytes:
        found = whole(self, offset, size)
        read.append(len(found))
        return found

    tap = HandTap(live)
    line = tap.line(Channel.RECEIVED, b'{"jsonrpc":"2.0","method":"x","params":"%s"}' % (b"x" * 99))
    follower = Follower(tap.path)
    monkeypatch.setattr(before, counting)
    for begin in range(0, len(line), 10):
        tap.write(line[begin : begin + 10])
        follower.read()
    assert sum(read) == len(line)
    assert len(follower.facts) == 1
    tap.end()


def test_a_flood_is_taken_in_small_pieces(live: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened(), tap.handshake(), tap.call(), *(tap.tick(n) for n in range(3000)))
    follower = Follower(tap.path)
    turns = 1
    while follower.tap.read(0.0):
        turns += 1
    assert follower.largest <= 256 + 32
    assert turns > 10
    assert len(follower.facts) == 3006
    tap.end()


def test_events_name_requests_by_the_numbers_that_they_have_here(live: Path) -> None:
    tap = HandTap(live)
    tap.write(session(tap))
    follower = Follower(tap.path, first=1001)
    follower.end()
    (asked,) = (f for f in follower.facts if type(f).__name__ == "CancelRequested")
    assert asked.request == 1005  # type: ignore[union-attr]  # it is that fact
    (event,) = (frame for frame in follower.frames if b"cancel_requested" in frame.raw)
    assert b'"request":5' in event.raw
    tap.end()


def test_times_are_those_of_this_machine(live: Path) -> None:
    tap = HandTap(live, at=50.0, when=1_000_000.0)
    tap.write(tap.opened())
    same = Follower(tap.path, Clock(lambda: 60.0, lambda: 1_000_010.0))
    slept = Follower(tap.path, Clock(lambda: 60.0, lambda: 1_009_999.0))
    other = Follower(tap.path, Clock(lambda: 9_000.0, lambda: 1_000_010.0))
    for follower in (same, slept, other):
        follower.read()
    assert [f.frames[0].at for f in (same, slept, other)] == [50.0, 50.0, 8990.0]
    assert {f.frames[0].when for f in (same, slept, other)} == {1_000_000.0}
    tap.end()


# In the engine


async def test_a_tap_is_watched_from_its_beginning_whenever_we_start(live: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(4))
    async with Engine(watched=[live]) as engine:
        await until(lambda: states(engine) == [JobState.RUNNING])
        (job,) = jobs_of(engine)
        assert (job.watched_client, job.progress, job.server) == ("Claude Code", 4, "local-db@4242")
        tap.write(tap.tick(5), tap.answer())
        await until(lambda: states(engine) == [JobState.DONE])
        second = HandTap(live, "crawler", pid=4343, client="Cursor")
        second.write(second.opened(), second.call(), second.tick(1))
        await until(lambda: len(jobs_of(engine)) == 2)
        assert jobs_of(engine)[1].watched_client == "Cursor"
        (seen, other) = engine.watched.snapshots()
        assert (seen.label, seen.client, seen.client_version) == (
            "local-db",
            "Claude Code",
            "2.1.0",
        )
        assert (other.label, other.pid, other.is_live) == ("crawler", 4343, True)
        assert engine.servers.names() == ()
        second.end()
    tap.end()


async def test_two_taps_of_one_server_are_kept_apart(live: Path) -> None:
    taps = [HandTap(live, pid=pid) for pid in (1001, 1002)]
    for tap in taps:
        tap.write(tap.opened(), tap.handshake(), tap.call(token="same"), tap.tick(1, "same"))
    async with Engine(watched=[live]) as engine:
        await until(lambda: len(jobs_of(engine)) == 2)
        taps[0].write(taps[0].tick(7, "same"))
        taps[1].write(taps[1].closed())
        await until(lambda: sorted(s.value for s in states(engine)) == ["Lost", "Running"])
        (running,) = (job for job in jobs_of(engine) if job.state is JobState.RUNNING)
        assert (running.server, running.progress) == ("local-db@1001", 7)
    for tap in taps:
        tap.end()


async def test_a_process_id_that_is_always_the_same_never_gives_a_name_twice(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in containers: each session is of process 7, and the oldest are dropped."""
    monkeypatch.setattr("mcp_progress_monitor.engine.watching._ENDED_KEPT", 1)
    async with Engine(watched=[live]) as engine:
        for count in range(1, 6):
            tap = HandTap(live, pid=7, when=time.time() + count)
            tap.write(tap.opened(), tap.handshake(), tap.call(), tap.answer(), tap.closed())
            await until(lambda: len(jobs_of(engine)) == count)  # noqa: B023
            tap.end()
            await until(lambda: not any(each.is_live for each in engine.watched.snapshots()))
        assert len({job.server for job in jobs_of(engine)}) == 5


async def test_others_get_their_turn_between_many_taps_with_a_little_to_read(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.watching._SLICE_S", 0.0)
    taps = [HandTap(live, pid=pid) for pid in range(8)]
    for tap in taps:
        tap.write(tap.opened(), tap.handshake(), tap.call())
    turns, read_at = 0, {}
    async with Engine(watched=[live]) as engine, anyio.create_task_group() as tasks:

        async def count() -> None:
            nonlocal turns
            while True:
                await anyio.lowlevel.checkpoint()
                turns += 1

        def on_update(update: Update) -> None:
            read_at.update(dict.fromkeys(update.changes.progressed, turns))

        await until(lambda: len(states(engine)) == len(taps))
        engine.subscribe(on_update)
        tasks.start_soon(count)
        for tap in taps:
            tap.write(tap.tick(1))
        await until(lambda: len(read_at) == len(taps))
        assert len(set(read_at.values())) == len(taps)
        tasks.cancel_scope.cancel()


async def test_each_machine_keeps_its_ended_taps(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.watching._ENDED_KEPT", 1)
    async with Engine(watched=[]) as engine:
        for pid, machine in enumerate(("one", "two", "two")):
            tap = HandTap(live, pid=pid)
            tap.write(tap.opened(), tap.closed())
            tap.end()
            engine.watched.follow(
                tap.path, lambda: True, Elsewhere(machine, lambda: 0.0, lambda: True)
            )
            ended = tap.path, False
            await until(
                lambda: ended in [(e.path, e.is_live) for e in engine.watched.snapshots()]  # noqa: B023
            )
        kept = ["one", "two"]
        await until(lambda: [each.machine for each in engine.watched.snapshots()] == kept)


async def test_the_end_of_the_lock_ends_the_session(live: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(1))
    async with Engine(watched=[live]) as engine:
        await until(lambda: states(engine) == [JobState.RUNNING])
        tap.write(tap.tick(2))
        tap.end()
        await until(lambda: states(engine) == [JobState.LOST])
        (job,), (server,) = jobs_of(engine), engine.watched.snapshots()
        assert job.progress == 2
        assert job.failure is not None
        assert "without reporting the end" in job.failure.message
        assert not server.is_live
        assert server.server.state is ServerState.CLOSED
        engine.watched.dismiss(["local-db@4242"])
        assert engine.watched.names() == ()
        await anyio.sleep(0.3)
        assert engine.watched.names() == ()
        assert jobs_of(engine)[0].watched_client == "Claude Code"


async def test_how_a_session_ended_is_reported(live: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened(), tap.handshake(), tap.call())
    gap = tap.event("not_recorded", bytes=70, messages=3, why="the queue was full")
    end = tap.closed("The server was killed", exit_code=None, signal="SIGKILL", ended_by="server")
    tap.write(gap, end)
    async with Engine(watched=[live]) as engine:
        await until(lambda: states(engine) == [JobState.LOST])
        (found,) = engine.watched.snapshots()
        assert found.end is not None
        assert (found.end.signal, found.end.ended_by) == ("SIGKILL", "server")
        assert (found.gaps.messages, found.gaps.bytes) == (3, 70)
        assert found.server.state is ServerState.FAILED
        assert not found.is_live
    tap.end()


async def test_a_tap_that_changes_messages_is_known_by_its_script(live: Path) -> None:
    tap, plain = HandTap(live, script="faults.txt"), HandTap(live, "plain", pid=4243)
    changed = tap.event("changed", by="faults.txt", actions=["drop"], passed=0, sent="{}")
    tap.write(tap.opened(), tap.event("script", seed=1, rules=[]))
    tap.write(tap.handshake(), tap.call(), changed, tap.answer())
    plain.write(plain.opened())
    async with Engine(watched=[live]) as engine:
        await until(lambda: states(engine) == [JobState.DONE])
        await until(lambda: len(engine.watched.names()) == 2)
        scripts = {each.label: each.script for each in engine.watched.snapshots()}
        assert scripts == {"local-db": "faults.txt", "plain": ""}
    tap.end()
    plain.end()


async def test_watched_messages_are_read_from_the_taps_own_file(live: Path, tmp_path: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(1), tap.answer())
    own = tmp_path / "own.mcprec"
    async with Engine(recorder=Recorder(own), watched=[live]) as engine:
        await until(lambda: states(engine) == [JobState.DONE])
        frames = engine.timeline.frames(0, engine.timeline.end)
        assert [frame.number for frame in frames] == list(range(1, 8))
        lines = tap.path.read_bytes().split(b"\n")[1:-1]
        assert all(line.endswith(frame.raw) for line, frame in zip(lines, frames, strict=True))
        assert engine.recording.count == 0
    assert b"export" not in own.read_bytes()
    tap.end()


async def test_nothing_acts_on_what_is_only_watched(live: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened(), tap.handshake(), tap.call(1, "a"), tap.call(2, "b"))
    tap.write(tap.answer(2, _meta={"nextResumeToken": "T1"}))
    async with Engine(watched=[live]) as engine:
        await until(lambda: states(engine) == [JobState.RUNNING, JobState.RESUMABLE])
        running, resumable = jobs_of(engine)
        assert (resumable.can_resume, resumable.can_resume_here) == (False, True)
        asked = (
            engine.calls.cancel(running.id),
            engine.calls.reissue(running.id),
            engine.resumer.resume(resumable.id),
            engine.tasks.pick_up(running.id),
        )
        for each in asked:
            with pytest.raises(UserError):
                await each
        with pytest.raises(UserError, match="Claude Code"):
            engine.resumer.set_automatic(resumable.id, AutoResume())
        assert [job.state for job in jobs_of(engine)] == [running.state, resumable.state]
    tap.end()


async def test_nothing_is_published_while_taps_are_silent(live: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened(), tap.handshake())
    heard: list[Update] = []
    async with Engine(watched=[live]) as engine:
        await until(lambda: engine.timeline.end == 4)
        engine.subscribe(heard.append)
        await anyio.sleep(0.4)
    assert heard == []
    tap.end()


async def test_files_that_nobody_writes_are_left_alone(live: Path) -> None:
    tap = HandTap(live)
    tap.write(tap.opened(), tap.handshake(), tap.call())
    tap.end()
    (live / "2026-01-01T00-00-00-p1-broken.mcprec").write_bytes(b"no recording\n")
    (live / "2026-01-01T00-00-00-p1-broken.lock").touch()
    async with Engine(watched=[live]) as engine:
        await anyio.sleep(0.3)
        assert engine.watched.names() == ()


async def test_a_session_that_was_over_at_once_is_seen_all_the_same(live: Path) -> None:
    async with Engine(watched=[live]) as engine:
        await anyio.sleep(0.05)
        tap = HandTap(live, when=time.time() + 1)
        tap.write(tap.opened(), tap.handshake(), tap.call(), tap.answer(), tap.closed())
        tap.end()
        os.utime(tap.path, (0, 0))  # it is long ago: nobody is about to take the lock
        await until(lambda: states(engine) == [JobState.DONE])
        await until(lambda: not engine.watched.snapshots()[0].is_live)


async def test_events_of_http_are_read_with_the_numbers_of_this_window(live: Path) -> None:
    first = HandTap(live, "other", pid=1)
    first.write(first.opened(), first.handshake())
    async with Engine(watched=[live]) as engine:
        await until(lambda: engine.timeline.end == 4)
        tap = HandTap(live, "web", pid=2, transport="http")
        opened = tap.event("opened", url="http://localhost/mcp", transport="http")
        asked = {"exchange": 1, "method": "POST", "url": "http://localhost/mcp", "message": 2}
        tap.write(opened, tap.call(), tap.event("http_request", **asked))
        await until(lambda: engine.timeline.end == 7)
        assert engine.timeline.number_here("web@2#1", 2) == 6
        assert engine.timeline.number_here("ours#1", 2) == 2
        text = b"".join(export_chunks(engine, ExportOptions(HAR), Redaction(), FindingTexts()))
        (entry,) = json.loads(text)["log"]["entries"]
        assert '"export"' in entry["request"]["postData"]["text"]
        (found,) = (each for each in engine.watched.snapshots() if each.label == "web")
        assert found.transport == "http"
        tap.end()
    first.end()


def test_silence_after_a_cancel_is_not_judged_before_all_is_read(tmp_path: Path) -> None:
    old, new = (HandTap(tmp_path, pid=pid) for pid in (1, 2))
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    old.write(old.opened(), old.handshake(), old.call())
    old.write(old.sent({"jsonrpc": "2.0", **cancelled}, 0.1))
    late = old.received({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}, 2.0)
    old.write(late)
    new.at += 1000.0
    new.write(new.opened(), new.handshake())
    read = [Follower(tap.path) for tap in (old, new)]
    for follower in read:
        follower.read()
    facts, others = (follower.facts for follower in read)
    behind = {facts[0].connection}
    tracker = Tracker(is_behind=behind.__contains__)
    tracker.apply_behind(FactRun.of(facts[:-1]), old.at)
    tracker.apply_behind(FactRun.of(others), new.at)
    tracker.tick(new.at)
    (job,) = tracker.jobs()
    found = tracker.snapshot(job, new.at)
    assert found is not None
    assert found.state is JobState.CANCELLING
    behind.clear()  # as while its own facts are applied
    tracker.apply_behind(FactRun.of(facts[-1:]), new.at)
    found, whole = tracker.snapshot(job, new.at), Tracker()
    whole.apply(FactRun.of(facts), old.at)
    assert found == whole.snapshot(1, new.at)
    assert found is not None
    assert found.cancel_state == "confirmed"
    for tap in (old, new):
        tap.end()


def test_silence_after_a_cancel_is_judged_by_the_time_of_its_own_connection(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    tap.write(tap.opened(), tap.handshake(), tap.call())
    tap.write(tap.sent({"jsonrpc": "2.0", **cancelled}, 0.1), tap.call(2, "b"))
    tap.write(tap.sent({"jsonrpc": "2.0", "method": "notifications/x"}, 7.0), tap.tick(1, "b"))
    tap.write(tap.answer(1))
    follower = Follower(tap.path)
    follower.read()
    behind = {follower.facts[0].connection}
    tracker, whole = Tracker(is_behind=behind.__contains__), Tracker()
    tracker.apply_behind(FactRun.of(follower.facts[:-3]), tap.at)
    tracker.tick(tap.at)
    behind.clear()
    tracker.apply_behind(FactRun.of(follower.facts[-3:]), tap.at)
    whole.apply(FactRun.of(follower.facts), tap.at)
    assert tracker.snapshot(1, tap.at) == whole.snapshot(1, tap.at)
    tap.end()


async def test_a_client_is_called_what_its_tap_was_told_not_what_its_sdk_says(live: Path) -> None:
    tap = HandTap(live, client="Cursor")
    tap.write(tap.opened(), tap.handshake(), tap.call(), tap.tick(1))
    async with Engine(watched=[live]) as engine:
        await until(lambda: jobs_of(engine))
        (seen,) = engine.watched.snapshots()
        assert jobs_of(engine)[0].watched_client == seen.client == "Cursor"
        assert seen.client_version == "(claude-code 2.1.0)"
    tap.end()
