"""A task as text, as its server stated it and as far as anything is known."""

import pytest

from mcp_progress_monitor.tracker.snapshot import JobState, TaskSnapshot, TaskStep
from mcp_progress_monitor.wording import jobs as job_texts
from tests.job_stand_ins import detail, job, new_job

TASK = TaskSnapshot("t-1", "working", "Step 3", 500, 61.2, 213.2, 12, True, polled_s=2.4)


def test_a_running_task_tells_time_to_live_polling_and_rounds() -> None:
    text = job_texts.task_numbers(detail(job(task=TASK), round_trips=2), TASK)
    assert text == (
        "kept for 1 min 2 s more · poll every 500 ms · "
        "polled 12 times, last 2 s ago · 2 rounds of input"
    )


@pytest.mark.parametrize("ttl", [None, 1e300, float("inf")])
def test_a_task_without_a_limit_that_matters_says_so(ttl: float | None) -> None:
    task = TASK._replace(ttl_left_s=ttl, expires_at=ttl)
    assert job_texts.task_kept(job(task=task), task) == "kept without a known limit"


def test_numbers_of_any_size_are_reported() -> None:
    task = TASK._replace(poll_ms=10**400)
    assert job_texts.poll_interval(task).startswith("poll every ")


def test_a_task_that_was_asked_to_stop_is_said_to_work_still() -> None:
    cancelling = job(task=TASK, state=JobState.CANCELLING, cancel_state="sent", cancel_s=3.2)
    assert (
        job_texts.task_standing(cancelling, TASK)
        == "Working · cancel requested, still working · Step 3"
    )
    assert job_texts.full_state(cancelling) == "Cancelling: cancel requested, still working · 3 s"


def test_a_task_left_at_its_server_says_so_with_the_time_that_is_left() -> None:
    left = new_job(1, task=TASK._replace(is_followed=False))
    assert job_texts.state(left) == "Left on its server"
    assert job_texts.status(left) == "kept for 1 min 2 s more"
    assert "tracking continues when the server is connected" in job_texts.task_standing(
        left, left.task or TASK
    )


def test_a_task_that_is_over_is_neither_left_nor_said_to_work() -> None:
    over = job(state=JobState.DONE, task=TASK._replace(is_followed=False, status="completed"))
    assert job_texts.state(over) == "Done"
    assert job_texts.task_standing(over, over.task or TASK) == "Completed · Step 3"


def test_a_step_is_reported_with_its_time_and_how_it_was_learnt() -> None:
    reported = job(task=TASK)
    step = TaskStep("working", "Counting\nfiles", reported.started_at + 1.0, "get", 41)
    status, message, when, how = job_texts.task_row(step, reported)
    assert (status, how) == ("Working", "tasks/get")
    assert "\n" not in message
    assert when == job_texts.moment(reported.started_when + 1.0)


def test_a_task_without_ticks_says_nothing_of_ticks() -> None:
    assert job_texts.last_tick(new_job(1, task=TASK)) == ""
    assert job_texts.last_tick(new_job(1)) == "no tick yet"


def test_a_screen_reader_hears_that_a_job_is_a_task() -> None:
    assert job_texts.spoken(job(task=TASK)).startswith("task export_orders on local-db: ")
    assert job_texts.spoken(job()).startswith("export_orders on local-db: Running, 63.2 %, ")
