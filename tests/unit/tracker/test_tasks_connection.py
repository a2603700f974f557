"""Tasks that are saved before they are shown, and gone on with over another connection."""

import pytest

from mcp_progress_monitor.protocol.facts import TaskView
from mcp_progress_monitor.protocol.messages import RELATED_TASK
from mcp_progress_monitor.tracker.chains import RestoredTask
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.protocol.wire import notification, progress
from tests.unit.tracker.dialogue import Dialogue, flat, nested

TEXT = {"content": [{"type": "text", "text": "all of it"}]}
OF_TASK = {"_meta": {RELATED_TASK: {"taskId": "T"}}}


def test_a_task_that_is_being_saved_is_not_shown_until_that_is_noted() -> None:
    wire = Dialogue(Tracker(saves=True))
    made = wire.begin()
    wire.poll(nested(statusMessage="on the way"))
    job = wire.job(made)
    assert (job.state, job.task, wire.detail(made).task_steps) == (JobState.RUNNING, None, ())
    assert wire.tracker.note_task_saved(job.id).progressed == {job.id}
    task = wire.job(made).task
    assert task is not None
    assert task.message == "on the way"
    assert [step.how for step in wire.detail(made).task_steps] == ["created", "get"]
    assert wire.tracker.note_task_saved(job.id).progressed == frozenset()
    assert wire.tracker.note_task_saved(99).progressed == frozenset()


def test_without_saving_a_task_is_shown_at_once(wire: Dialogue) -> None:
    assert wire.job(wire.begin()).task is not None


def test_a_lost_task_goes_on_with_the_request_that_asks_for_it_elsewhere(wire: Dialogue) -> None:
    made = wire.begin()
    wire.reconnect()
    assert wire.state(made) is JobState.LOST
    asked = wire.ask("tasks/get", taskId="T")
    wire.reply(**nested())
    job = wire.job(made)
    assert (job.state, job.connection, job.request) == (JobState.RUNNING, "s#2", asked)
    assert wire.tracker.requests_of(job.id) == {made, asked}
    wire.reconnect()
    assert wire.state(made) is JobState.LOST
    wire.poll(nested())
    wire.poll(nested("completed"))
    assert wire.state(made) is JobState.DONE
    assert wire.tracker.jobs() == (job.id,)
    assert wire.marks(made) == {}


def test_progress_of_a_task_that_was_begun_elsewhere_counts(wire: Dialogue) -> None:
    made = wire.begin()
    wire.receive(progress("a", 3, total=10))
    wire.reconnect()
    wire.poll(nested())
    wire.receive(progress("a", 4, total=10, **OF_TASK))
    wire.receive(progress("a", 5, total=10, **OF_TASK))
    job = wire.job(made)
    assert (job.progress, job.tick_count, job.late_count) == (5, 3, 0)
    assert wire.marks(made) == {}


def test_a_task_from_the_disk_has_its_last_progress_and_is_lost_with_its_connection(
    wire: Dialogue,
) -> None:
    view = TaskView("T", "working", "half", nested()["createdAt"], None, 60_000, 500)
    found = RestoredTask("s", "s", "tools/call", {"name": "t"}, 1e9 - 20, 1e9 - 10, view, 3, 10)
    (job,) = wire.tracker.restore_tasks([found], wire.now, 1e9).added
    restored = wire.tracker.snapshot(job, wire.now)
    assert restored is not None
    assert (restored.progress, restored.total, restored.fraction) == (3, 10, 0.3)
    asked = wire.ask("tasks/get", taskId="T")
    wire.reply(**nested())
    assert wire.job(asked).id == job
    wire.event("closed")
    lost = wire.tracker.snapshot(job, wire.now)
    assert lost is not None
    assert lost.state is JobState.LOST


def test_a_call_that_was_ended_here_is_found_by_the_newest_request(wire: Dialogue) -> None:
    made = wire.begin()
    wire.reconnect()
    asked = wire.ask("tasks/get", taskId="T")
    wire.reply(**nested())
    wire.event("call_ended", request=asked, outcome="lost", text="gone")
    assert (wire.state(made), wire.failure(made)) == (JobState.LOST, "gone")


def test_a_result_that_is_reported_and_then_looked_at_is_one_result(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.receive(notification("notifications/tasks", **flat("completed", result=TEXT)))
    wire.poll(flat("completed", result=TEXT))
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == {}


def test_what_is_known_of_tasks_goes_with_the_rows(wire: Dialogue) -> None:
    made = wire.begin()
    wire.reconnect()
    wire.poll(nested("completed"))
    job = wire.job(made).id
    wire.tracker.remove([job])
    assert wire.tracker.task_job("s#2", "T") is None
    assert wire.tracker.job_of(made) is None


def watched() -> Dialogue:
    """What another client, whose connection is the first, says about its task; then one of ours."""
    return Dialogue(Tracker(saves=True, client_of={"s#1": "Agent"}.get))


@pytest.mark.parametrize(("poll_ms", "left_after_s"), [(None, 30), (1000, 30), (10_000, 50)])
def test_a_task_that_its_client_asks_about_no_more_can_be_resumed_here(
    poll_ms: int | None, left_after_s: float
) -> None:
    wire = watched()
    stated = nested(ttl=None) if poll_ms is None else nested(ttl=None, pollInterval=poll_ms)
    made = wire.begin(ttl=None)
    for _ in range(3):
        wire.poll(stated)
        wire.wait(left_after_s)
        assert not wire.job(made).can_resume_here
    wire.wait(0.1)
    job = wire.job(made)
    assert job.task is not None
    assert (job.can_resume_here, job.task.is_followed, job.state) == (True, False, JobState.RUNNING)
    wire.poll(stated)
    assert not wire.job(made).can_resume_here


@pytest.mark.parametrize("end", ["cancelled", "lost", "answered"])
def test_a_client_that_awaits_the_result_still_follows_its_task(end: str) -> None:
    wire = watched()
    made = wire.begin(ttl=None)
    asked = wire.ask("tasks/result", taskId="T")
    wire.wait(1000)
    assert not wire.job(made).can_resume_here
    if end == "cancelled":
        wire.send(notification("notifications/cancelled", requestId=wire.ids))
    elif end == "lost":
        wire.event("call_ended", request=asked, outcome="lost", text="No reply came")
    else:
        wire.refuse(-32603)
    assert wire.job(made).can_resume_here is (end != "answered")


def test_a_task_that_is_followed_here_stays_so_when_its_client_returns() -> None:
    wire = watched()
    made = wire.begin(ttl=None)
    wire.wait(100)
    theirs = wire._framer, wire._conversation  # noqa: SLF001
    wire.connect()
    wire.poll(nested(ttl=None))
    assert (wire.job(made).connection, wire.job(made).watched_client) == ("s#2", None)
    wire._framer, wire._conversation = theirs  # noqa: SLF001
    wire.poll(nested(ttl=None, statusMessage="half"))
    job = wire.job(made)
    assert (job.connection, job.message) == ("s#2", "half")
