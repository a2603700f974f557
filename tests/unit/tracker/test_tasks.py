"""Jobs that become tasks, in both shapes: their states, results and connections."""

from typing import Any

import pytest

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.messages import RELATED_TASK
from mcp_progress_monitor.tracker.rows import RowLimits
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.findings import texts_of
from tests.unit.protocol.wire import progress
from tests.unit.tracker.dialogue import Dialogue, flat, nested

TEXT = {"content": [{"type": "text", "text": "all of it"}]}
META = {"_meta": {RELATED_TASK: {"taskId": "T"}}}


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
    assert wire.marks(made) == {rules.STATUS_AFTER_FINAL.kind: 1}
    assert "after the job ended (Done)" in texts_of(wire.changes[-1].marked)[number]


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
    assert wire.marks(made) == {rules.RESULT_TOO_EARLY.kind: 1}


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
    assert wire.texts(made) == ["tasks/result was refused: not ready"]
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
    assert wire.marks(made) == {rules.DUPLICATE_REPLY.kind: 1}


def test_a_resume_token_with_a_tasks_result_is_shown_and_not_used(wire: Dialogue) -> None:
    made = wire.begin()
    jobs = wire.tracker.jobs()
    _fetch(wire, content=[], _meta={**META["_meta"], "nextResumeToken": "t"})
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == {rules.NEXT_TOKEN_TYPE.kind: 1}
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
    ("status", "text"),
    [
        ("completed", "The task is completed, but its result is missing"),
        ("failed", "The task is failed, but its error is missing"),
    ],
)
def test_what_a_poll_of_the_extension_lacks_is_marked(
    wire: Dialogue, status: str, text: str
) -> None:
    made = wire.begin(is_flat=True)
    wire.poll(flat(status))
    assert wire.texts(made) == [text]
    assert wire.state(made).is_over


def test_a_result_before_the_end_is_marked_and_ends_nothing(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.poll(flat("working", result=TEXT))
    assert wire.state(made) is JobState.RUNNING
    assert wire.texts(made) == ["Result received while the task is working"]


def test_a_terminal_status_is_final(wire: Dialogue) -> None:
    made = wire.begin()
    for status in ("completed", "working", "failed", "completed"):
        wire.tell(nested(status))
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == {rules.STATUS_AFTER_FINAL.kind: 2}
    task = wire.job(made).task
    assert task is not None
    assert task.status == "completed"
    assert [step.status for step in wire.detail(made).task_steps] == [
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
    assert wire.texts(made) == ['"status" is "nearly", not a task status']
    wire.tell(nested("completed"))
    assert wire.state(made) is JobState.DONE


def test_progress_goes_on_until_the_task_is_over(wire: Dialogue) -> None:
    made = wire.begin()
    wire.receive(progress("a", 3, total=9))
    assert (wire.job(made).progress, wire.job(made).late_count) == (3, 0)
    wire.tell(nested("completed"))
    wire.receive(progress("a", 4, total=9))
    assert wire.job(made).late_count == 1
    assert wire.marks(made) == {rules.TICK_AFTER_END.kind: 1}


def test_progress_for_a_task_of_the_extension_is_marked(wire: Dialogue) -> None:
    made = wire.begin(is_flat=True)
    wire.receive(progress("a", 3))
    assert wire.job(made).progress == 3
    assert wire.marks(made) == {rules.TICK_OF_TASK.kind: 1}
    assert wire.texts(made) == ["Progress received after its request was answered"]


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
    assert wire.marks(made) == {rules.OTHER_TOKEN.kind: 1}


@pytest.mark.parametrize("is_offered", [True, False])
def test_a_plain_answer_to_a_request_for_a_task_is_marked_if_the_server_offers_tasks(
    wire: Dialogue, is_offered: bool
) -> None:
    calls: dict[str, Any] = {"requests": {"tools": {"call": {}}}}
    tasks = {"tasks": calls} if is_offered else {"tools": calls}
    wire.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    wire.reply(protocolVersion="2025-11-25", capabilities=tasks, serverInfo={})
    made = wire.call(task={})
    wire.reply(**TEXT)
    assert wire.state(made) is JobState.DONE
    assert wire.marks(made) == ({rules.ANSWERED_AT_ONCE.kind: 1} if is_offered else {})


def test_a_task_that_nobody_asked_for_is_followed_and_marked(wire: Dialogue) -> None:
    made = wire.call()
    wire.reply(task=nested())
    assert wire.state(made) is JobState.RUNNING
    assert wire.marks(made) == {rules.ANSWERED_AT_ONCE.kind: 1}
    wire.tell(nested("completed"))
    assert wire.state(made) is JobState.DONE


@pytest.mark.parametrize("code", [-32602, -32603])
def test_a_task_that_its_server_forgot_is_over(wire: Dialogue, code: int) -> None:
    made = wire.begin()
    wire.ask("tasks/get", taskId="T")
    wire.refuse(code, "what task?")
    assert wire.marks(made) == {rules.TASK_REFUSED.kind: 1}
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
        "The task's time to live has expired, and the server has discarded it: what task?"
    )


@pytest.mark.parametrize(("asked", "is_over"), [(58.0, False), (59.5, True)])
def test_a_server_counts_a_task_s_time_from_before_we_heard_of_it(
    wire: Dialogue, asked: float, is_over: bool
) -> None:
    made = wire.call(task={"ttl": 60_000})
    wire.now = 1.0
    wire.reply(task=nested())
    wire.now = asked + 1.0
    wire.ask("tasks/get", taskId="T")
    wire.refuse(-32602, "what task?")
    assert wire.state(made) is (JobState.LOST if is_over else JobState.FAILED)


def test_a_task_that_is_forgotten_after_its_end_is_of_no_concern(wire: Dialogue) -> None:
    made = wire.begin()
    wire.tell(nested("completed"))
    wire.ask("tasks/get", taskId="T")
    wire.refuse(-32602)
    assert (wire.state(made), wire.marks(made)) == (JobState.DONE, {})


# Connections and earlier runs


@pytest.mark.parametrize(
    ("ttl", "text"),
    [
        (60_000, "until its time to live expires (50 s)"),
        (5_000, "although its time to live has expired"),
        (None, "which gave no time to live"),
    ],
)
def test_a_task_whose_connection_is_gone_may_still_run(
    wire: Dialogue, ttl: int | None, text: str
) -> None:
    made = wire.begin(ttl=ttl)
    wire.now = 10.0
    wire.event("closed", reason="the process ended")
    assert wire.state(made) is JobState.LOST
    assert wire.failure(made).startswith(
        "The connection ended before its task was finished: the process ended. "
    )
    assert "The task T may still be running on the server" in wire.failure(made)
    assert text in wire.failure(made)
    task = wire.job(made).task
    assert task is not None
    assert (task.is_followed, task.is_ours_to_cancel) == (False, False)


def test_a_wanted_close_says_that_the_task_may_still_run(wire: Dialogue) -> None:
    made = wire.begin()
    wire.event("closed", reason="You disconnected the server", wanted=True)
    assert "its task had not finished" in wire.failure(made)
    assert "may still be running" in wire.failure(made)
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


def test_a_used_id_of_a_server_that_was_started_again_is_another_task(wire: Dialogue) -> None:
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
    (text,) = texts_of(wire.changes[-1].marked).values()
    assert text == 'no request on this connection is about the task "U"'


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


def test_tasks_are_forgotten_with_their_rows() -> None:
    wire = Dialogue(Tracker(RowLimits(ended=3)))
    for place in range(20):
        wire.call(f"t{place}", task={})
        wire.reply(task=nested("working", f"T{place}"))
        wire.tell(nested("completed", f"T{place}"))
    assert [wire.tracker.task_job("s#1", f"T{place}") for place in range(17)] == [None] * 17
    assert wire.tracker.task_job("s#1", "T19") is not None
    wire.tracker.remove(wire.tracker.jobs())
    assert wire.tracker.task_job("s#1", "T19") is None
