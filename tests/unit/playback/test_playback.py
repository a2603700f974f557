"""A recording in place of live servers: jobs, time, and the reader's pace."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.unit.recording.written import AT, WHEN, Written, tick

GOLDEN = Path(__file__).parents[2] / "recordings"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """One call of ten ticks, one a second, of a session of twelve seconds."""
    written = Written()
    written.event("opened", command="python3", args=["-m", "demo"], pid=7)
    written.call(at=1.0)
    for place in range(1, 11):
        written.tick(place * 10, 1.0 + place)
    written.reply(at=11.5)
    written.event("closed", 12.0, reason="You disconnected the server", exit_code=0, wanted=True)
    return written.save(tmp_path / "a.mcprec")


def loaded(path: Path) -> Playback:
    playback = Playback(path)
    while playback.advance(0.01):
        pass
    return playback


def ticks(playback: Playback) -> int:
    job = playback.jobs.snapshot(1)
    return 0 if job is None else job.tick_count


def test_nothing_is_read_before_it_is_asked_for(path: Path) -> None:
    playback = Playback(path)
    assert (playback.timeline.end, playback.jobs.ids(), playback.servers.snapshots()) == (0, (), [])
    assert (playback.position_s, playback.progress, playback.is_loaded) == (0.0, 0.0, False)
    assert playback.begun_when == round(WHEN, 6)
    assert playback.length_s == 12.0
    assert playback.header["run"] == "a"


def test_all_is_read_at_once(path: Path) -> None:
    playback = loaded(path)
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert (job.state, job.tick_count, job.elapsed_s) == (JobState.DONE, 10, 10.5)
    assert playback.timeline.end == 14
    assert (playback.position_s, playback.progress, playback.is_loaded) == (12.0, 1.0, True)
    assert playback.now() == AT + 12
    assert playback.jobs.job_of(2) == 1
    assert playback.jobs.requests_of(1) == {2}
    assert playback.servers.snapshot("demo").state is ServerState.CLOSED
    detail = playback.jobs.detail(1)
    assert detail is not None
    assert [fact.progress for fact in detail.ticks] == list(range(10, 101, 10))
    assert playback.errors == []


def test_what_is_asked_for_and_not_there_is_none(path: Path) -> None:
    playback = loaded(path)
    assert (playback.jobs.snapshot(9), playback.jobs.detail(9), playback.jobs.job_of(9)) == (
        None,
        None,
        None,
    )
    assert playback.jobs.requests_of(9) == frozenset()
    with pytest.raises(UserError, match="No such server"):
        playback.servers.snapshot("other")


def test_listeners_are_reported_every_frame_with_its_facts_and_changes(path: Path) -> None:
    playback = Playback(path)
    updates: list[Update] = []
    leave = playback.subscribe(updates.append)
    while playback.advance(0.01):
        pass
    assert sum(len(update.frames) for update in updates) == 14
    assert [len(update.facts) for update in updates] == [len(u.frames) for u in updates]
    assert [job for update in updates for job in update.changes.added] == [1]
    assert {name for update in updates for name in update.servers} == {"demo"}
    leave()
    playback.restart()
    count = len(updates)
    playback.advance(1)
    assert len(updates) == count


def test_it_is_played_by_the_recordings_time(path: Path) -> None:
    playback = Playback(path)
    for at_s, expected in ((0.5, 0), (1.0, 0), (2.0, 1), (2.9, 1), (5.0, 4)):
        assert playback.play_until(at_s)
        assert playback.position_s == pytest.approx(at_s)
        assert ticks(playback) == expected
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert (job.state, job.elapsed_s) == (JobState.RUNNING, 4.0)
    assert not playback.play_until(100.0)
    assert (playback.position_s, playback.length_s) == (12.0, 12.0)


def test_frames_of_one_read_are_parted_where_time_says(path: Path) -> None:
    playback = Playback(path)
    playback.play_until(4.5)
    assert playback.timeline.end == 5
    playback.advance(1)
    assert [playback.timeline.number(place) for place in range(14)] == list(range(1, 15))


def test_it_is_stepped_through_moment_by_moment(path: Path) -> None:
    playback = Playback(path)
    seen = []
    while playback.step():
        seen.append((playback.position_s, playback.timeline.end))
    assert seen[:4] == [(0.0, 1), (1.0, 2), (2.0, 3), (3.0, 4)]
    assert len(seen) == 13
    assert playback.timeline.end == 14
    assert not playback.step()


def test_frames_of_one_moment_are_one_step(tmp_path: Path) -> None:
    written = Written()
    written.call(at=1.0)
    for place in range(1, 9):
        written.tick(place, 2.0 + place // 5)
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    counts = []
    while playback.step():
        counts.append(playback.timeline.end)
    assert [*counts, playback.timeline.end] == [1, 5, 9]


def test_restarting_takes_all_jobs_back_and_plays_them_again(path: Path) -> None:
    playback = loaded(path)
    before = playback.jobs.detail(1)
    updates: list[Update] = []
    playback.subscribe(updates.append)
    playback.restart()
    assert updates[0].changes.removed == (1,)
    assert (playback.jobs.ids(), playback.timeline.end, playback.position_s) == ((), 0, 0.0)
    assert not playback.is_loaded
    playback.advance(1)
    assert playback.jobs.detail(1) == before


def test_time_passes_for_jobs_between_their_frames(tmp_path: Path) -> None:
    written = Written()
    written.call()
    for place in range(1, 5):
        written.tick(place, float(place))
    written.tick(5, 60.0)
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    for second in range(30):
        playback.play_until(float(second))
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert (job.state, job.silent_s) == (JobState.STALLED, 25.0)
    playback.play_until(60.0)
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert job.state is JobState.RUNNING


def test_a_job_that_the_recording_left_silent_is_stalled_at_the_end(tmp_path: Path) -> None:
    written = Written()
    written.call()
    written.tick(1, 1.0)
    written.tick(2, 2.0)
    written.line(Channel.STDERR, b"still here", 60.0)
    playback = loaded(written.save(tmp_path / "a.mcprec"))
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert job.state is JobState.STALLED


def test_connections_that_speak_in_turns_are_read_as_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written()
    for name in ("a#1", "b#1", "a#2"):
        written.event("opened", 0.5, name, command="python3", args=[name])
        written.call(connection=name, at=1.0)
    for place in range(1, 300):
        name = ("a#1", "b#1", "a#2", "c#1")[place % 4]
        written.tick(place, 1.0 + place / 100, connection=name)
    for name in ("a#1", "b#1"):
        written.reply(at=5.0, connection=name)
    written.line(Channel.RECEIVED, b"[%b,%b]" % (tick(1), tick(2)), 5.0)
    file = written.save(tmp_path / "a.mcprec")
    playback = Playback(file)
    updates: list[Update] = []
    playback.subscribe(updates.append)
    while playback.advance(0.01):
        pass
    assert len(updates) < 20
    monkeypatch.setattr("mcp_progress_monitor.engine.recorded_chunks.TOGETHER", 0)
    apart = loaded(file)
    assert [playback.jobs.detail(job) for job in playback.jobs.ids()] == [
        apart.jobs.detail(job) for job in apart.jobs.ids()
    ]
    assert playback.servers.snapshots() == apart.servers.snapshots()
    assert playback.errors == apart.errors
    end = apart.timeline.end
    assert playback.timeline.frames(0, end) == apart.timeline.frames(0, end)
    for place in range(end):
        assert playback.timeline.exchange(place) == apart.timeline.exchange(place)
        assert playback.timeline.kind(place) is apart.timeline.kind(place)
        assert playback.timeline.is_marked(place) == apart.timeline.is_marked(place)


def test_where_the_recording_ends_nothing_is_counted_on_and_it_is_reported(tmp_path: Path) -> None:
    written = Written()
    written.call(at=1.0)
    for place in range(1, 11):
        written.tick(place * 5, 1.0 + place)
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    updates: list[Update] = []
    playback.subscribe(updates.append)
    playback.play_until(9.2, 1.0)
    before = playback.jobs.snapshot(1)
    assert before is not None
    assert before.eta_s is not None
    assert playback.errors == []
    while playback.advance(0.01):
        pass
    assert updates[-1].changes.progressed == {1}
    job, detail = playback.jobs.snapshot(1), playback.jobs.detail(1)
    assert job is not None
    assert detail is not None
    assert (job.state, job.rate, job.eta_s) == (JobState.RUNNING, None, None)
    assert detail.snapshot == job
    (error,) = playback.errors
    assert error.what == "The recording ends here while 1 job was running"
    playback.restart()
    assert playback.errors == []


def test_a_budget_is_kept_to_and_the_next_call_goes_on(tmp_path: Path) -> None:
    written = Written()
    written.call()
    for place in range(20_000):
        written.tick(place, place * 0.0001)
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    assert playback.play_until(100.0, budget_s=0.0)
    assert 0 < playback.timeline.end < 20_000
    assert playback.position_s < 2.0
    while playback.play_until(100.0, budget_s=0.001):
        pass
    assert playback.timeline.end == 20_001


def test_an_oversized_message_is_read_in_slices(tmp_path: Path) -> None:
    written = Written()
    written.call()
    written.reply(at=1.0, result={"content": [{"text": "x" * 100} for _ in range(30_000)]})
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    turns = 0
    while playback.advance(0.0):
        turns += 1
    assert turns > 10
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert (job.state, job.tick_count) == (JobState.DONE, 0)
    assert job.reply_size is not None
    assert job.reply_size > 3_000_000


def test_an_oversized_message_is_whole_after_a_step(tmp_path: Path) -> None:
    written = Written()
    written.call()
    written.reply(at=1.0, result={"content": ["x" * 2_000_000]})
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    playback.step()
    playback.step()
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert job.state is JobState.DONE


def test_a_cancel_that_was_met_with_silence_is_settled_as_it_was_live(tmp_path: Path) -> None:
    written = Written()
    written.call()
    written.event("cancel_requested", 1.0, request=1, reason="Enough", grace_s=2.0)
    written.line(Channel.STDERR, b"still here", 60.0)
    playback = loaded(written.save(tmp_path / "a.mcprec"))
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert (job.state, job.ended_at) == (JobState.CANCELLED, AT + 3)


def test_a_time_limit_ends_a_call_as_it_did_live(tmp_path: Path) -> None:
    written = Written()
    written.call()
    written.event("timed_out", 5.0, request=1, text="No reply after 5 s.")
    playback = loaded(written.save(tmp_path / "a.mcprec"))
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert job.failure is not None
    assert (job.state, job.failure.message) == (JobState.TIMED_OUT, "No reply after 5 s.")
    assert playback.timeline.exchange(1) == 1


def test_a_frame_that_claims_to_be_of_next_year_is_played_at_the_end(tmp_path: Path) -> None:
    written = Written()
    written.line(Channel.STDERR, b"one", 1.0)
    written.line(Channel.STDERR, b"two", 30_000_000.0)
    written.line(Channel.STDERR, b"three", 2.0)
    playback = Playback(written.save(tmp_path / "a.mcprec"))
    assert playback.length_s == 1.0
    assert not playback.play_until(1.0)
    assert playback.timeline.end == 3
    assert playback.position_s == 1.0


def test_marks_are_in_the_index(tmp_path: Path) -> None:
    written = Written()
    written.call()
    written.line(Channel.RECEIVED, b"rubbish", 1.0)
    written.line(Channel.RECEIVED, tick(5), 2.0)
    playback = loaded(written.save(tmp_path / "a.mcprec"))
    assert [playback.timeline.is_marked(place) for place in range(3)] == [False, True, False]


def test_jobs_of_a_hostile_file_are_bounded_and_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.playback.playback.RUNNING_KEPT", 10)
    written = Written()
    for identity in range(30):
        written.call(identity, token=identity)
    playback = loaded(written.save(tmp_path / "a.mcprec"))
    assert len(playback.jobs.ids()) == 10
    running, gone = playback.errors
    assert "10 jobs were running" in running.what
    assert gone.detail == "20 jobs"


@pytest.mark.parametrize("name", ["version-1.mcprec", "version-2.mcprec"])
def test_jobs_of_old_recordings_are_what_they_were(name: str) -> None:
    playback = loaded(GOLDEN / name)
    jobs = [playback.jobs.snapshot(job) for job in playback.jobs.ids()]
    found = [
        [j.name, j.state.value, j.progress, j.total, j.tick_count, [m.key for m in j.marks],
         j.elapsed_s]
        for j in jobs if j is not None
    ]  # fmt: skip
    assert found == json.loads((GOLDEN / "jobs.json").read_text())
    (server,) = playback.servers.snapshots()
    assert [tool.name for tool in server.tools] == ["known_total", "unknown_total"]
    assert (server.revision, server.state) == ("2025-11-25", ServerState.CLOSED)


def test_the_age_of_a_token_is_counted_in_the_recordings_time(tmp_path: Path) -> None:
    written = Written()
    written.event("opened", command="python3", args=["-m", "demo"], pid=7)
    written.call(at=1.0)
    written.tick(10, 2.0)
    written.reply(at=3.0, result={"content": [], "_meta": {"nextResumeToken": "t"}})
    written.event("closed", 253.0, reason="You disconnected the server", exit_code=0, wanted=True)
    job = loaded(written.save(tmp_path / "a.mcprec")).jobs.snapshot(1)
    assert job is not None
    assert job.state is JobState.RESUMABLE
    assert job.saved_s == pytest.approx(250.0)
