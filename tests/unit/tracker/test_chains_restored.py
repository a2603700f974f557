"""Chains and tasks from the disk as rows, and what other programs make of them."""

from typing import Any

from mcp_progress_monitor.protocol.facts import TaskView
from mcp_progress_monitor.tracker.chain import Restored
from mcp_progress_monitor.tracker.chains import RestoredTask
from mcp_progress_monitor.tracker.endings import JobEnding
from mcp_progress_monitor.tracker.snapshot import AttemptSnapshot, Failure, JobState
from tests.unit.tracker.attempts import PARAMS, resumed, saving
from tests.unit.tracker.dialogue import Dialogue, nested


def _restored(**changes: Any) -> Restored:
    plain = Restored(
        id=7,
        server="local-db",
        key="local-db",
        method="tools/call",
        params={**PARAMS, "_meta": {"progressToken": "a"}},
        token="t1",
        reason="connection lost",
        progress=40,
        total=100,
        message="half",
        created_when=1e9 - 500,
        updated_when=1e9 - 400,
        attempt_count=3,
        is_elsewhere=False,
    )
    return plain._replace(**changes)


def test_chains_from_the_disk_are_rows_that_can_be_resumed() -> None:
    story = saving()
    changes = story.tracker.restore([_restored(), _restored(id=8, token="t2")], 0.0, 1e9)
    assert changes.added == (1, 2)
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.state is JobState.RESUMABLE
    assert (job.server, job.name, job.token, job.chain) == ("local-db", "export", "a", 7)
    assert (job.progress, job.total, job.fraction, job.message) == (40, 100, 0.4, "half")
    assert (job.started_when, job.ended_at, job.attempt_count) == (1e9 - 500, -400.0, 3)
    assert job.resume_note == "connection lost"
    assert job.can_resume
    request = story.call("a", resume="t1", params={**PARAMS, "_meta": {"progressToken": "a"}})
    assert story.job(request).id == 1
    assert story.job(request).attempt_count == 4
    assert story.marks(request) == {}
    assert story.job(story.call()).id == 3


def test_a_chain_that_another_program_resumes_cannot_be_resumed_here() -> None:
    story = saving()
    story.tracker.restore([_restored(is_elsewhere=True)], 0.0, 1e9)
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.state is JobState.RESUMABLE
    assert not job.can_resume
    assert "Another running program" in job.resume_note
    story.tracker.chains.note_claimed(1, "t9", 5)
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.can_resume
    assert job.attempt_count == 5
    assert story.tracker.chains.find("local-db", "tools/call", "t9") == 1


def test_a_refused_chain_from_the_disk_failed() -> None:
    story = saving()
    story.tracker.restore([_restored(token=None, reason="no")], 0.0, 1e9)
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.state is JobState.FAILED
    assert not job.can_resume
    assert story.tracker.remove([1]).removed == (1,)


def test_a_chain_that_is_gone_from_the_disk_is_over() -> None:
    story = saving()
    story.tracker.restore([_restored()], 0.0, 1e9)
    story.tracker.chains.note_gone(1, "It completed in another program")
    job = story.tracker.snapshot(1, 0.0)
    assert job is not None
    assert job.state is JobState.FAILED
    assert job.resume_note == "It completed in another program"
    assert story.tracker.chains.size == 0
    assert not story.tracker.chains.note_gone(1, "again").moved


def test_earlier_attempts_are_put_before_those_of_this_program() -> None:
    story = saving()
    story.tracker.restore([_restored()], 0.0, 1e9)
    request = resumed(story)
    found = [_attempt(number) for number in (1, 2, 3, 4)]
    story.tracker.chains.note_attempts(1, found)
    assert [a.number for a in story.detail(request).attempts] == [1, 2, 3, 4]
    assert story.detail(request).attempts[-1].outcome is JobState.RUNNING


def _attempt(number: int) -> AttemptSnapshot:
    return AttemptSnapshot(number, 1e9 - number, None, "interrupted")


def test_an_attempt_that_was_never_written_counts_and_leaves_the_token() -> None:
    story = saving()
    story.tracker.restore([_restored()], 0.0, 1e9)
    ending = JobEnding(JobState.FAILED, Failure("local", "not connected"))
    (step,) = story.tracker.chains.note_unsent(1, ending, 1e9, 5.0).steps
    assert (step.chain, step.outcome, step.reason) == (7, JobState.FAILED, "not connected")
    story.tracker.chains.note_saved(1, 7)
    detail = story.tracker.detail(1, 5.0)
    assert detail is not None
    assert detail.snapshot.can_resume
    assert detail.snapshot.attempt_count == 4
    assert detail.attempts[-1].detail == "not connected"
    assert not story.tracker.chains.note_unsent(99, ending, 1e9, 5.0).steps


# Tasks


def _restored_task(wire: Dialogue, **more: Any) -> int:
    view = TaskView("T", "working", "half", nested()["createdAt"], None, 60_000, 500, **more)
    params = {"name": "export", "_meta": {"progressToken": "a"}}
    found = RestoredTask("s", "s", "tools/call", params, 1e9 - 20, 1e9 - 10, view)
    changes = wire.tracker.restore_tasks([found], wire.now, 1e9 + wire.now)
    (job,) = changes.added
    return job


def test_a_task_from_the_disk_is_picked_up_where_its_server_tells_of_it(wire: Dialogue) -> None:
    job = _restored_task(wire)
    found = wire.tracker.snapshot(job, 0.0)
    assert found is not None
    assert found.task is not None
    assert (found.state, found.message, found.token) == (JobState.RUNNING, "half", "a")
    assert (found.task.is_followed, found.task.ttl_left_s) == (False, 50.0)
    assert wire.tracker.task_job("s#1", "T") == job
    wire.poll(nested("completed"))
    found = wire.tracker.snapshot(job, 0.0)
    assert found is not None
    assert (found.state, found.connection) == (JobState.DONE, "s#1")
    assert [step.how for step in wire.tracker.detail(job, 0.0).task_steps] == [  # type: ignore[union-attr]
        "saved",
        "get",
    ]


def test_a_task_from_the_disk_is_lost_when_its_time_is_over(wire: Dialogue) -> None:
    job = _restored_task(wire)
    wire.wait(49)
    assert wire.tracker.open_count == 1
    wire.wait(2)
    found = wire.tracker.snapshot(job, wire.now)
    assert found is not None
    assert found.state is JobState.LOST
