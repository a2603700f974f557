"""Jobs that become tasks, in both shapes, by whatever message tells of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.protocol.task_state import TaskView
from app.protocol.tasks import RELATED
from app.tracker import marks
from app.tracker.restoring import RestoredTask
from app.tracker.rows import Rows
from app.tracker.snapshot import JobState
from app.tracker.tracker import Tracker
from tests.unit.protocol.wire import JSON, notification, progress, request, result
from tests.unit.tracker.dialogue import Dialogue, flat, nested

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = {"content": [{"type": "text", "text": "all of it"}]}
META = {"_meta": {RELATED: {"taskId": "T"}}}


@pytest.fixture
def wire() -> Dialogue:
    return Dialogue()


def _fetch(wire: Dialogue, **result_of_work: Any) -> int:
    wire.ask("tasks/result", taskId="T")
    return wire.reply(**{**META, **result_of_work})


@pytest.mark.parametrize("is_flat", [False, True])
def test_a_job_goes_on_after_the_reply_that_made_it_a_task(wire: Dialogue, is_flat: bool) -> None:
    made = wire.begin(is_flat=is_flat, statusMessage="warming up")
    job = wire.job(made)
    assert (job.state, job.reply_size, job.message) == (JobState.RUNNING, None, "warming up")
    assert job.task is not None
    assert job.task[:3] == ("T", "working", "warming up")
    assert job.task.is_ours_to_cancel
    assert wire.marks(made) == {}


def test_the_time_to_live_counts_down_from_the_reply_that_began_it(wire: Dialogue) -> None:
    wire.now = 100.0
    made = wire.begin()
    wire.now = 130.0
    task = wire.job(made).task
    assert task is not None
    assert (task.expires_at, task.ttl_left_s) == (160.0, 30.0)
    wire.poll(nested(ttl=90_000))
    wire.now = 500.0
    task = wire.job(made).task
    assert task is not None
    assert (task.expires_at, task.ttl_left_s) == (190.0, 0.0)
    wire.poll(nested(ttl=None))
    task = wire.job(made).task
    assert task is not None
    assert (task.expires_at, task.ttl_left_s) == (None, None)


@pytest.mark.parametrize("ttl", [10**400, 1e308])
def test_a_time_to_live_beyond_all_measure_is_no_trouble(wire: Dialogue, ttl: float) -> None:
    task = wire.job(wire.begin(ttl=ttl)).task
    assert task is not None
    assert task.ttl_left_s is not None
    assert task.ttl_left_s > 1e9


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("working", JobState.RUNNING),
        ("input_required", JobState.NEEDS_YOU),
        ("completed", JobState.DONE),
        ("failed", JobState.FAILED),
        ("cancelled", JobState.CANCELLED),
    ],
)
@pytest.mark.parametrize("way", ["get", "status", "list"])
def test_a_status_is_the_jobs_state(wire: Dialogue, way: str, status: str, state: JobState) -> None:
    made = wire.begin()
    match way:
        case "get":
            wire.poll(nested(status))
        case "status":
            wire.tell(nested(status))
        case _:
            wire.ask("tasks/list")
            wire.reply(tasks=[nested("failed", "U"), nested(status)])
    assert wire.state(made) is state
    task = wire.job(made).task
    assert task is not None
    assert (task.status, task.poll_count) == (status, way == "get")
    assert task.is_ours_to_cancel == (not state.is_over)
    assert wire.marks(made) == {}


def test_the_course_has_the_changes_and_polls_are_counted(wire: Dialogue) -> None:
    made = wire.begin()
    for step, stated in enumerate([nested(), nested(), nested(statusMessage="half"), nested()]):
        wire.now = step + 1.0
        wire.poll(stated)
    wire.tell(nested("completed"))
    course = wire.detail(made).task_course
    assert [step[:4] for step in course] == [
        ("working", None, 0.0, "created"),
        ("working", "half", 3.0, "get"),
        ("working", None, 4.0, "get"),
        ("completed", None, 4.0, "status"),
    ]
    assert course[0].number == made + 1
    wire.now = 9.0
    task = wire.job(made).task
    assert task is not None
    assert (task.poll_count, task.polled_s) == (4, 5.0)


def test_a_fetched_result_is_the_jobs_answer(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("completed"))
    assert wire.detail(made).answer is None
    number = _fetch(wire, **TEXT)
    answer = wire.detail(made).answer
    assert answer is not None
    assert answer.result == {**TEXT, **META}
    assert (answer.number, answer.request) == (number, made)
    assert wire.job(made).reply_size == answer.size > 40
    assert (wire.state(made), wire.marks(made)) == (JobState.DONE, {})


def test_a_result_that_was_waited_for_ends_the_job(wire: Dialogue) -> None:
    made = wire.begin()
    _fetch(wire, **TEXT)
    assert wire.state(made) is JobState.DONE
    wire.tell(nested("completed"))
    assert wire.marks(made) == {}


def test_a_status_that_goes_on_after_the_result_is_marked(wire: Dialogue) -> None:
    made = wire.begin()
    _fetch(wire, **TEXT)
    number = wire.tell(nested("working"))
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == {marks.TASK_STATUS: 1}
    assert "after the job's end (Done)" in wire.changes[-1].marked[number]


def test_a_tools_error_is_the_jobs_failure(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("failed", statusMessage="it broke"))
    assert wire.failure(made) == "it broke"
    _fetch(wire, isError=True, content=[{"type": "text", "text": "disk full"}])
    assert (wire.state(made), wire.failure(made)) == (JobState.FAILED, "disk full")
    assert wire.marks(made) == {}


def test_an_error_behind_a_completed_task_is_a_failure_and_marked(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("completed"))
    _fetch(wire, isError=True, content=[])
    assert wire.state(made) is JobState.FAILED
    assert wire.marks(made) == {marks.TASK_RESULT: 1}


def test_a_json_rpc_error_for_a_result_is_what_became_of_the_work(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/result", taskId="T")
    wire.refuse(-32603, "the tool broke")
    assert (wire.state(made), wire.failure(made)) == (JobState.FAILED, "the tool broke")


def test_a_result_refused_before_the_end_is_not_the_end(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/result", taskId="T")
    wire.refuse(-32602, "not ready")
    assert wire.state(made) is JobState.RUNNING
    assert wire.words(made) == ["tasks/result was refused: not ready"]
    wire.tell(nested("failed"))
    wire.ask("tasks/result", taskId="T")
    wire.refuse(-32602, "wrong arguments")
    assert wire.failure(made) == "wrong arguments"


def test_a_second_result_is_marked_and_the_first_counts(wire: Dialogue) -> None:
    made = wire.begin()
    _fetch(wire, **TEXT)
    _fetch(wire, content=[])
    answer = wire.detail(made).answer
    assert answer is not None
    assert answer.result == {**TEXT, **META}
    assert wire.marks(made) == {marks.DUPLICATE_REPLY: 1}


def test_a_resume_token_with_a_tasks_result_is_shown_and_not_used(wire: Dialogue) -> None:
    made = wire.begin()
    jobs = wire.tracker.jobs()
    _fetch(wire, content=[], _meta={**META["_meta"], "nextResumeToken": "t"})
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == {marks.RESUME_TOKEN: 1}
    assert wire.tracker.jobs() == jobs


def test_polling_brings_the_result_of_the_extension(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.poll(flat("completed", result=TEXT))
    answer = wire.detail(made).answer
    assert answer is not None
    assert (answer.result, wire.state(made)) == (TEXT, JobState.DONE)


def test_a_tools_error_in_a_completed_task_of_the_extension_is_a_failure(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.poll(flat("completed", result={"isError": True, "content": []}))
    assert wire.state(made) is JobState.FAILED
    assert wire.marks(made) == {}


def test_a_failed_task_of_the_extension_has_its_error(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.poll(flat("failed", error={"code": -5, "message": "no disk"}))
    failure = wire.job(made).failure
    assert failure is not None
    assert (failure.message, failure.code) == ("no disk", -5)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("completed", "The task is completed, but its result is missing"),
        ("failed", "The task is failed, but its error is missing"),
    ],
)
def test_what_a_poll_of_the_extension_lacks_is_marked(
    wire: Dialogue, status: str, words: str
) -> None:
    made = wire.begin(is_flat=True)
    wire.poll(flat(status))
    assert wire.words(made) == [words]
    assert wire.state(made).is_over


def test_a_result_before_the_end_is_marked_and_ends_nothing(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.poll(flat("working", result=TEXT))
    assert wire.state(made) is JobState.RUNNING
    assert wire.words(made) == ["A result came while the task is working"]


def test_a_terminal_status_is_final(wire: Dialogue) -> None:
    made = wire.begin()
    for status in ("completed", "working", "failed", "completed"):
        wire.tell(nested(status))
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == {marks.TASK_STATUS: 2}
    task = wire.job(made).task
    assert task is not None
    assert task.status == "completed"
    assert [step.status for step in wire.detail(made).task_course] == [
        "working",
        "completed",
        "working",
        "failed",
        "completed",
    ]


def test_an_unheard_of_status_is_marked_and_the_work_goes_on(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("nearly"))
    assert wire.state(made) is JobState.RUNNING
    assert wire.words(made) == ['"status" is "nearly", not a status of a task']
    wire.tell(nested("completed"))
    assert wire.state(made) is JobState.DONE


def test_progress_goes_on_until_the_task_is_over(wire: Dialogue) -> None:
    made = wire.begin()
    wire.receive(progress("a", 3, total=9))
    assert (wire.job(made).progress, wire.job(made).late_count) == (3, 0)
    wire.tell(nested("completed"))
    wire.receive(progress("a", 4, total=9))
    assert wire.job(made).late_count == 1
    assert wire.marks(made) == {marks.AFTER_END: 1}


def test_progress_for_a_task_of_the_extension_is_marked(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.receive(progress("a", 3))
    assert wire.job(made).progress == 3
    assert wire.marks(made) == {marks.TASK_PROGRESS: 1}
    assert wire.words(made) == ["Progress came after its request had been answered"]


def test_the_status_message_of_the_extension_is_the_jobs_message(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.poll(flat(statusMessage="half"))
    assert wire.job(made).message == "half"


def test_progress_has_a_say_over_the_status_message_of_2025(wire: Dialogue) -> None:
    made = wire.begin()
    wire.receive(progress("a", 1, message="row 1"))
    wire.tell(nested(statusMessage="half"))
    assert wire.job(made).message == "row 1"


def test_a_changed_token_is_marked_and_its_numbers_are_shown(wire: Dialogue) -> None:
    made = wire.begin()
    wire.receive(progress("a", 1))
    wire.receive(progress("b", 2, **META))
    job = wire.job(made)
    assert (job.progress, job.tick_count, job.late_count) == (2, 2, 0)
    assert wire.marks(made) == {marks.TASK_TOKEN: 1}


def test_a_plain_answer_to_a_request_for_a_task_is_the_answer_and_marked(wire: Dialogue) -> None:
    made = wire.call(task={})
    wire.reply(**TEXT)
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == {marks.TASK_PLAIN: 1}


def test_a_task_that_nobody_asked_for_is_followed_and_marked(wire: Dialogue) -> None:
    made = wire.call()
    wire.reply(task=nested())
    assert wire.state(made) is JobState.RUNNING
    assert wire.marks(made) == {marks.TASK_PLAIN: 1}
    wire.tell(nested("completed"))
    assert wire.state(made) is JobState.DONE


@pytest.mark.parametrize("code", [-32602, -32603])
def test_a_task_that_its_server_forgot_is_over(wire: Dialogue, code: int) -> None:
    made = wire.begin()
    wire.ask("tasks/get", taskId="T")
    wire.refuse(code, "what task?")
    assert wire.marks(made) == {marks.TASK_REFUSED: 1}
    is_forgotten = code == -32602
    assert wire.state(made) is (JobState.FAILED if is_forgotten else JobState.RUNNING)
    assert wire.failure(made) == ("what task?" if is_forgotten else "")


def test_a_task_that_is_forgotten_after_its_time_is_lost(wire: Dialogue) -> None:
    made = wire.begin()
    wire.now = 61.0
    wire.ask("tasks/get", taskId="T")
    wire.refuse(-32602, "what task?")
    assert wire.state(made) is JobState.LOST
    assert wire.failure(made) == (
        "The task's time to live is over, and the server has forgotten it: what task?"
    )


def test_a_task_that_is_forgotten_after_its_end_is_of_no_concern(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("completed"))
    wire.ask("tasks/get", taskId="T")
    wire.refuse(-32602)
    assert (wire.state(made), wire.marks(made)) == (JobState.DONE, {})


# Cancelling


def test_cancelling_a_task_is_confirmed_by_its_status(wire: Dialogue) -> None:
    made = wire.begin()
    wire.event("cancel_requested", request=made, reason="Enough", grace_s=5)
    assert wire.job(made).cancel_state == "requested"
    wire.ask("tasks/cancel", taskId="T")
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.CANCELLING, "sent")
    wire.reply(**nested("cancelled"))
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.CANCELLED, "confirmed")
    assert wire.failure(made) == "Enough"


def test_cancelling_in_the_extension_is_a_wish(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.ask("tasks/cancel", taskId="T")
    wire.reply(resultType="complete")
    wire.wait(60)
    wire.poll(flat("working"))
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.CANCELLING, "sent")
    assert wire.job(made).cancel_s == 60
    wire.poll(flat("completed", result=TEXT))
    job = wire.job(made)
    assert (job.state, job.cancel_state, job.cancel_s) == (JobState.DONE, "ignored", 60)


def test_a_refused_cancel_leaves_the_task_as_it_was(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/cancel", taskId="T")
    wire.refuse(-32601, "not here")
    assert (wire.state(made), wire.job(made).cancel_state) == (JobState.RUNNING, "ignored")
    assert wire.words(made) == ["tasks/cancel was refused: not here"]
    wire.wait(60)
    assert wire.state(made) is JobState.RUNNING


def test_silence_confirms_the_cancel_of_a_task_that_may_still_run(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/cancel", taskId="T")
    wire.wait(6)
    assert wire.state(made) is JobState.CANCELLED
    assert "may still run" in wire.failure(made)
    wire.tell(nested("working"))
    assert wire.marks(made) == {marks.TASK_STATUS: 1}


def test_a_task_that_is_working_in_the_reply_to_its_cancelling_is_marked(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/cancel", taskId="T")
    wire.reply(**nested("working"))
    assert wire.marks(made) == {marks.TASK_STATUS: 1}
    assert wire.state(made) is JobState.CANCELLING


def test_cancelling_what_is_over_is_marked(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("completed"))
    wire.ask("tasks/cancel", taskId="T")
    assert (wire.state(made), wire.marks(made)) == (JobState.DONE, {marks.CANCEL_TOO_LATE: 1})


def test_a_cancelled_notice_for_a_task_is_too_late(wire: Dialogue) -> None:
    made = wire.begin()
    wire.send(notification("notifications/cancelled", requestId=wire.ids))
    assert (wire.state(made), wire.marks(made)) == (JobState.RUNNING, {marks.CANCEL_TOO_LATE: 1})


def test_an_error_to_a_fetch_confirms_the_cancel(wire: Dialogue) -> None:
    made = wire.begin()
    wire.ask("tasks/result", taskId="T")
    fetch = wire.ids
    wire.ask("tasks/cancel", taskId="T")
    wire.receive({"jsonrpc": "2.0", "id": fetch, "error": {"code": -1, "message": "gone"}})
    assert (wire.state(made), wire.failure(made)) == (JobState.CANCELLED, "gone")


def test_a_task_made_of_a_cancelled_request_is_seen_and_changes_nothing(wire: Dialogue) -> None:
    made = wire.call(task={})
    wire.send(notification("notifications/cancelled", requestId=wire.ids))
    wire.reply(task=nested())
    job = wire.job(made)
    assert (job.state, job.cancel_state) == (JobState.CANCELLED, "ignored")
    assert job.task is not None
    assert (job.task.status, job.task.is_ours_to_cancel) == ("working", False)


# Input


def test_a_task_waits_for_the_user_until_its_question_is_answered(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("input_required"))
    wire.ask("tasks/result", taskId="T")
    question = wire.receive(request("q", "elicitation/create", message="Which?", **META))
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (question,))
    assert wire.job(question).parent == wire.job(made).id
    wire.send(result("q", action="accept"))
    assert (wire.state(made), wire.job(made).questions) == (JobState.RUNNING, ())
    wire.poll(nested("input_required"))  # it has not read the answer yet
    assert wire.state(made) is JobState.RUNNING
    wire.tell(nested("working"))
    wire.tell(nested("input_required"))
    assert wire.state(made) is JobState.NEEDS_YOU


def test_questions_of_the_extension_are_open_until_each_is_answered(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    asks = {key: {"method": "elicitation/create", "params": {}} for key in "ab"}
    number = wire.poll(flat("input_required", inputRequests=asks))
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (number,))
    wire.ask("tasks/update", taskId="T", inputResponses={"a": {}})
    wire.reply(resultType="complete")
    assert wire.state(made) is JobState.NEEDS_YOU
    wire.ask("tasks/update", taskId="T", inputResponses={"b": {}})
    assert (wire.state(made), wire.job(made).questions) == (JobState.RUNNING, ())
    wire.poll(flat("input_required", inputRequests=asks))  # eventually consistent
    assert wire.state(made) is JobState.RUNNING
    number = wire.poll(flat("input_required", inputRequests={**asks, "c": {}}))
    assert (wire.state(made), wire.job(made).questions) == (JobState.NEEDS_YOU, (number,))
    wire.poll(flat("completed", result=TEXT))
    assert (wire.state(made), wire.job(made).questions) == (JobState.DONE, ())


def test_a_refused_update_is_marked(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.ask("tasks/update", taskId="T", inputResponses={})
    wire.refuse(-32602, "no such key")
    assert wire.words(made) == ["tasks/update was refused: no such key"]
    assert wire.state(made) is JobState.RUNNING


# Connections and earlier runs


@pytest.mark.parametrize(
    ("ttl", "words"),
    [
        (60_000, "until its time to live is over (50 s)"),
        (5_000, "though its time to live is over"),
        (None, "which tells no limit to its keeping"),
    ],
)
def test_a_task_whose_connection_is_gone_may_still_run(
    wire: Dialogue, ttl: int | None, words: str
) -> None:
    made = wire.begin(ttl=ttl)
    wire.now = 10.0
    wire.event("closed", reason="the process ended")
    assert wire.state(made) is JobState.LOST
    assert wire.failure(made).startswith(
        "The connection ended before its task was over: the process ended. "
    )
    assert "The task T may still run at the server" in wire.failure(made)
    assert words in wire.failure(made)
    task = wire.job(made).task
    assert task is not None
    assert (task.is_followed, task.is_ours_to_cancel) == (False, False)


def test_a_wanted_close_says_that_the_task_may_still_run(wire: Dialogue) -> None:
    made = wire.begin()
    wire.event("closed", reason="You disconnected the server", wanted=True)
    assert "its task was not over yet" in wire.failure(made)
    assert "may still run" in wire.failure(made)
    failure = wire.job(made).failure
    assert failure is not None
    assert failure.is_wanted


def test_a_task_that_was_over_is_not_lost(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("completed"))
    wire.event("closed")
    assert wire.state(made) is JobState.DONE


def test_a_lost_task_is_found_again_on_the_next_connection(wire: Dialogue) -> None:
    made = wire.begin()
    wire.event("closed")
    wire.connect()
    wire.poll(nested("working"))
    job = wire.job(made)
    assert (job.state, job.connection, job.failure) == (JobState.RUNNING, "s#2", None)
    assert wire.tracker.jobs() == (job.id,)
    assert job.task is not None
    assert job.task.is_followed
    _fetch(wire, **TEXT)
    assert wire.state(made) is JobState.DONE
    wire.event("closed")
    assert wire.state(made) is JobState.DONE


def test_a_used_id_of_a_server_that_was_started_anew_is_another_task(wire: Dialogue) -> None:
    made = wire.begin()
    wire.event("closed")
    wire.connect()
    wire.poll(nested("working", createdAt="2025-11-25T11:00:00Z"))
    assert wire.state(made) is JobState.LOST
    _, other = wire.tracker.jobs()
    found = wire.tracker.snapshot(other, 0.0)
    assert found is not None
    assert (found.name, found.method, found.state) == ("T", "tasks/get", JobState.RUNNING)


def test_a_task_of_an_earlier_run_becomes_a_job_when_it_is_asked_for(wire: Dialogue) -> None:
    wire.ask("tasks/list")
    wire.reply(tasks=[nested()])
    assert wire.tracker.jobs() == ()
    wire.poll(nested())
    (job,) = wire.tracker.jobs()
    found = wire.tracker.snapshot(job, 0.0)
    assert found is not None
    assert found.task is not None
    assert (found.state, found.task.expires_at) == (JobState.RUNNING, None)
    _fetch(wire, **TEXT)
    found = wire.tracker.snapshot(job, 0.0)
    assert found is not None
    assert found.state is JobState.DONE


def test_an_unknown_task_that_the_server_does_not_know_either_is_no_job(wire: Dialogue) -> None:
    wire.ask("tasks/get", taskId="T")
    wire.refuse(-32602)
    wire.tell(nested("working", "U"))
    assert wire.tracker.jobs() == ()
    (words,) = wire.changes[-1].marked.values()
    assert words == 'no request on this connection is about the task "U"'


def _restored(wire: Dialogue, **more: Any) -> int:
    view = TaskView("T", "working", "half", nested()["createdAt"], None, 60_000, 500, **more)
    params = {"name": "export", "_meta": {"progressToken": "a"}}
    found = RestoredTask("s", "s", "tools/call", params, 1e9 - 20, 1e9 - 10, view)
    changes = wire.tracker.restore_tasks([found], wire.now, 1e9 + wire.now)
    (job,) = changes.added
    return job


def test_a_task_from_the_disk_is_picked_up_where_its_server_tells_of_it(wire: Dialogue) -> None:
    job = _restored(wire)
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
    assert [step.how for step in wire.tracker.detail(job, 0.0).task_course] == [  # type: ignore[union-attr]
        "saved",
        "get",
    ]


def test_a_task_from_the_disk_is_lost_when_its_time_is_over(wire: Dialogue) -> None:
    job = _restored(wire)
    wire.wait(49)
    assert wire.tracker.open_count == 1
    wire.wait(2)
    found = wire.tracker.snapshot(job, wire.now)
    assert found is not None
    assert found.state is JobState.LOST


def test_what_this_side_gives_up_is_over_as_it_says(wire: Dialogue) -> None:
    for outcome, state in [
        ("lost", JobState.LOST),
        ("failed", JobState.FAILED),
        ("cancelled", JobState.CANCELLED),
        ("timed_out", JobState.TIMED_OUT),
        ("unheard-of", JobState.FAILED),
    ]:
        made = wire.call(f"token {outcome}")
        wire.event("call_ended", request=made, outcome=outcome, text="No more of it")
        assert (wire.state(made), wire.failure(made)) == (state, "No more of it")


def test_a_task_that_was_given_up_goes_on_when_it_is_heard_of(wire: Dialogue) -> None:
    made = wire.begin()
    wire.event("call_ended", request=made, outcome="lost", text="Its time is over")
    wire.tell(nested("working"))
    assert wire.state(made) is JobState.RUNNING


def test_silence_is_broken_by_news_of_the_task_only(wire: Dialogue) -> None:
    made = wire.begin()
    wire.receive(progress("a", 1))
    wire.now = 9.0
    wire.poll(nested())
    wire.wait(2)
    assert wire.state(made) is JobState.STALLED
    wire.tell(nested("input_required"))
    assert wire.state(made) is JobState.NEEDS_YOU
    wire.tell(nested())
    wire.wait(9)
    assert wire.state(made) is JobState.RUNNING
    wire.wait(2)
    assert wire.state(made) is JobState.STALLED


def test_tasks_are_forgotten_with_their_rows() -> None:
    wire = Dialogue(Tracker(Rows(ended_kept=3)))
    for place in range(20):
        wire.call(f"t{place}", task={})
        wire.reply(task=nested("working", f"T{place}"))
        wire.tell(nested("completed", f"T{place}"))
    assert [wire.tracker.task_job("s#1", f"T{place}") for place in range(17)] == [None] * 17
    assert wire.tracker.task_job("s#1", "T19") is not None
    wire.tracker.remove(wire.tracker.jobs())
    assert wire.tracker.task_job("s#1", "T19") is None


# Any order


_STATUS = st.sampled_from(
    ["working", "input_required", "completed", "failed", "cancelled", "odd", ""]
)
_EXTRA = st.dictionaries(
    st.sampled_from(["result", "error", "inputRequests", "statusMessage", "ttl", "ttlMs", "_meta"]),
    st.one_of(JSON, st.dictionaries(st.sampled_from(["k", "isError", "code", "message"]), JSON)),
)
_STEP = st.sampled_from(
    [
        "call", "created", "created flat", "get", "result", "cancel", "update", "list", "status",
        "error", "question", "answer", "progress", "notice", "give up", "close", "wait", "retry",
        "input",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(_STEP, _STATUS, _EXTRA), max_size=25), st.booleans())
def test_no_order_of_what_is_said_of_tasks_breaks_anything(
    steps: list[tuple[str, str, dict[str, Any]]], saves: bool
) -> None:
    wire = Dialogue(Tracker(Rows(ended_kept=3), saves=saves))
    wire.begin()
    for step, status, extra in steps:
        _take_step(wire, step, status, extra)
        for saved in wire.changes[-1].steps:
            wire.tracker.chains.note_saved(saved.job, saved.job)
        for job in wire.tracker.jobs():
            wire.tracker.note_task_saved(job)
            _check(wire, job)
    wire.event("closed")
    assert wire.tracker.open_count == 0


@given(st.lists(st.tuples(_STEP, _STATUS, _EXTRA), max_size=15))
def test_a_recording_shows_the_same_tasks_and_questions(
    steps: list[tuple[str, str, dict[str, Any]]],
) -> None:
    wire = Dialogue()
    wire.facts = []
    wire.begin()
    for step, status, extra in steps:
        if step != "wait":  # the ticks of the clock are no facts
            _take_step(wire, step, status, extra)
    again = Tracker()
    again.apply(wire.facts, wire.now)
    assert again.jobs() == wire.tracker.jobs()
    for job in again.jobs():
        assert again.detail(job, wire.now) == wire.tracker.detail(job, wire.now)


def _take_step(wire: Dialogue, step: str, status: str, extra: dict[str, Any]) -> None:
    wire.now += 1
    if step in {"get", "cancel", "update", "result", "list"}:
        wire.ask(f"tasks/{step}", taskId="T", inputResponses=extra)
        stated = {**nested(status), **extra}
        wire.reply(**{"result": extra, "list": {"tasks": [stated, extra]}}.get(step, stated))
        return
    _OTHER_STEPS[step](wire, status, extra)


_OTHER_STEPS: dict[str, Callable[[Dialogue, str, dict[str, Any]], object]] = {
    "call": lambda wire, _, __: wire.call("a", task={}),
    "created": lambda wire, status, extra: wire.reply(task={**nested(status), **extra}),
    "created flat": lambda wire, status, extra: wire.reply(
        **{**flat(status), **extra, "resultType": "task"}
    ),
    "error": lambda wire, _, __: (wire.ask("tasks/get", taskId="T"), wire.refuse(-32602)),
    "status": lambda wire, status, extra: wire.tell({**nested(status), **extra}),
    "question": lambda wire, _, __: wire.receive(request("q", "elicitation/create", **META)),
    "answer": lambda wire, _, extra: wire.send(result("q", **extra)),
    "progress": lambda wire, _, extra: wire.receive(progress("a", len(extra))),
    "input": lambda wire, _, extra: wire.reply(**{**extra, "resultType": "input_required"}),
    "retry": lambda wire, _, extra: wire.call("a", inputResponses=extra),
    "notice": lambda wire, _, __: wire.send(notification("notifications/cancelled", requestId=1)),
    "give up": lambda wire, _, __: wire.event("cancel_requested", request=1),
    "close": lambda wire, _, __: wire.reconnect(),
    "wait": lambda wire, _, __: wire.wait(10),
}


def _check(wire: Dialogue, job: int) -> None:
    """What holds for any job, whatever was said of it."""
    detail = wire.tracker.detail(job, wire.now)
    assert detail is not None
    snapshot = detail.snapshot
    assert snapshot.state.is_over == (snapshot.ended_at is not None)
    assert snapshot.cancel_state in {"", "requested", "sent", "confirmed", "ignored"}
    assert (snapshot.state is JobState.NEEDS_YOU) <= (
        bool(snapshot.questions)
        or (snapshot.task is not None and snapshot.task.status == "input_required")
    )
    task = snapshot.task
    assert task is None or task.ttl_left_s is None or task.ttl_left_s >= 0
    assert task is None or not (task.is_ours_to_cancel and snapshot.state.is_over)
    assert task is not None or not detail.task_course
    for child in detail.children:
        found = wire.tracker.snapshot(child, wire.now)
        assert found is not None
        assert found.parent == job
