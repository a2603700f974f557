"""A job as text."""

import math
import time
from typing import Any

import pytest

from mcp_progress_monitor.tracker.snapshot import Failure, JobState, TaskSnapshot
from mcp_progress_monitor.wording import jobs as job_texts
from tests.findings import mark
from tests.job_stand_ins import job, new_job, resumable


def test_one_hundred_per_cent_is_reported_at_the_end_only() -> None:
    assert job_texts.percent(job(fraction=0.99999)) == "99.9 %"
    assert job_texts.percent(job(fraction=1.0)) == "100 %"


def test_an_unknown_total_shows_the_count_and_no_percentage() -> None:
    crawl = job(progress=4812, total=None, fraction=None)
    assert (job_texts.percent(crawl), job_texts.amount(crawl)) == ("", "4,812")


def test_fractions_are_shown_as_received() -> None:
    assert job_texts.count(job(progress=0.2, total=1.0)) == "0.2 / 1.0"


def test_a_job_without_ticks_says_so() -> None:
    assert job_texts.status(new_job(1, elapsed_s=45.7)) == "no tick yet · 45 s so far"


def test_a_silent_job_says_when_it_was_last_heard_of() -> None:
    assert job_texts.status(job(silent_s=14.2, elapsed_s=200.0)) == (
        "last tick 14 s ago · 3 min 20 s so far"
    )


def test_an_endless_estimate_is_no_number() -> None:
    assert job_texts.time_left(job(eta_s=math.inf)) == "∞ left"


def test_several_selected_jobs_are_summed_up() -> None:
    chosen = [job(tick_count=12_000, elapsed_s=100.2), job(tick_count=345, elapsed_s=100.0)]
    assert job_texts.selection(chosen) == "2 jobs selected · 12,345 ticks · 3 min 20 s"
    assert job_texts.selection(chosen[:1]) == ""
    chosen += [job(tick_count=0, elapsed_s=0.35), job(tick_count=0, elapsed_s=3.0)]
    spent = "3 min 24 s (350 ms to 1 min 40 s, median 52 s)"
    assert job_texts.selection(chosen) == f"4 jobs selected · 12,345 ticks · {spent}"


def test_an_estimate_that_cannot_be_known_better_is_an_interval() -> None:
    assert job_texts.time_left(job(eta_s=200.0, eta_span_s=(150.0, 290.0))) == (
        "2\N{EN DASH}5 min left"
    )


def test_a_job_that_is_over_has_no_time_left_but_a_length_and_a_count() -> None:
    done = job(state=JobState.DONE, elapsed_s=252.4, tick_count=812)
    assert job_texts.time_left(done) == ""
    assert job_texts.status(done) == "4 min 12 s, 812 ticks"


def test_a_failure_shows_the_servers_message() -> None:
    failed = job(state=JobState.FAILED, failure=Failure("server", "disk full", -32000))
    assert job_texts.message(failed) == "disk full"


def test_a_lost_job_says_why_without_what_came_next_and_what_its_state_says() -> None:
    outlook = "Reconnecting in 1 s (attempt 1 of 5): then resume"
    message = f"The connection ended before the reply: killed (exit code -9). {outlook}"
    lost = job(state=JobState.LOST, failure=Failure("local", message, outlook=outlook))
    assert job_texts.message(lost) == "Killed (exit code -9)"


def test_lines_of_our_own_text_are_joined_and_those_of_servers_made_visible() -> None:
    text = "The answer broke (http://x)\nIt can be issued again."
    ours, theirs = (
        job(state=JobState.LOST, failure=Failure(where, text)) for where in ("local", "server")
    )
    assert job_texts.message(ours) == "The answer broke (http://x) · It can be issued again."
    assert job_texts.message(theirs) == "The answer broke (http://x)\\nIt can be issued again."


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("7", "7"),
        (7, "7"),
        (0, "0"),
        (1234567, "1234567"),
        (None, "no token"),
        (True, "true"),
        ({"a": 1}, "{a: 1}"),
        ("", ""),
    ],
)
def test_tokens_are_shown_as_they_are_on_the_wire(token: object, text: str) -> None:
    assert job_texts.token(job(token=token)) == text


def test_marks_say_how_often_they_were_seen() -> None:
    marked = job(marks=(mark("a", "went back", 3, 1), mark("b", "above total", 1, 2)))
    assert job_texts.marks(marked) == "went back (3 x)\nabove total"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (0.4, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (86399, "23 h"),
        (86400 * 2.9, "2 d"),
        (86400 * 4000, "4,000 d"),
    ],
)
def test_an_age_is_reported_in_its_largest_unit(seconds: float, text: str) -> None:
    assert job_texts.age(seconds) == text


def test_a_resumable_job_says_how_old_its_token_is_and_why_it_stopped() -> None:
    saved_when = time.time() - 250
    stopped = resumable(1, resume_note="connection lost: exit code 3", saved_when=saved_when)
    assert job_texts.status(stopped) == "saved 4 min ago"
    assert job_texts.message(stopped) == "connection lost: exit code 3"
    recorded = stopped._replace(saved_when=time.time() - 86_400 * 40, saved_s=250.0)
    assert job_texts.status(recorded) == "saved 4 min ago"
    assert job_texts.message(resumable(1)) == "Processing batch 632 of 1000"


def test_a_resumable_job_counts_its_attempts_from_the_second_on() -> None:
    assert "attempt" not in job_texts.status(resumable(1))
    assert job_texts.status(resumable(1, attempt_count=3)).endswith(" · 3 attempts")


def test_waiting_for_the_next_attempt_is_reported_in_whole_seconds() -> None:
    at = time.monotonic()
    waiting = resumable(1, attempt_count=7, is_automatic=True, next_attempt_at=at + 3.5)
    assert job_texts.status(waiting) == "attempt 8 in 4 s"
    assert job_texts.state(waiting) == "Resumable, automatic"
    due = resumable(1, attempt_count=7, is_automatic=True, next_attempt_at=at - 1)
    assert job_texts.status(due) == "attempt 8 now"


def test_a_running_attempt_says_which_it_is() -> None:
    assert job_texts.status(job(attempt_count=7)).startswith("attempt 7 · 12/s")
    assert job_texts.state(job(is_automatic=True)) == "Running"


def test_the_row_of_a_resumable_job_can_be_heard() -> None:
    assert "Resumable, 40.0 %" in job_texts.spoken(resumable(1))


def test_a_moment_of_another_day_has_its_date() -> None:
    now = time.time()
    assert len(job_texts.moment(now)) == len("12:01:07.123")
    assert len(job_texts.moment(now - 2 * 86400)) == len("2026-11-20 12:01:07.123")


def test_ticks_of_an_earlier_run_are_unknown() -> None:
    restored = job(state=JobState.FAILED, tick_count=0, progress=5, elapsed_s=4.5)
    assert job_texts.status(restored) == "4.5 s"
    assert job_texts.ticks(new_job(1)) == "0 ticks"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"cancel_state": "requested", "cancel_s": None}, "Cancelling: not sent yet"),
        ({"cancel_state": "requested", "cancel_s": 1.5}, "Cancelling: not sent yet"),
        ({"cancel_state": "sent", "cancel_s": 3.9}, "Cancelling: sent 3 s ago"),
        ({"cancel_state": "sent", "cancel_s": 62.0}, "Cancelling: sent 1 min 2 s ago"),
    ],
)
def test_a_cancel_under_way_says_whether_the_server_was_reported(
    changes: dict[str, Any], text: str
) -> None:
    cancelling = job(state=JobState.CANCELLING, **changes)
    assert job_texts.full_state(cancelling) == text
    assert job_texts.status(cancelling).startswith(text.removeprefix("Cancelling: "))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"cancel_state": "ignored", "cancel_s": 2.0},
            "Cancelled, but the result arrived 2.0 s later",
        ),
        ({"cancel_state": "ignored", "cancel_s": None}, "Cancelled, but the result arrived"),
        (
            {"cancel_state": "confirmed", "failure": Failure("server", "stopped", -32800)},
            "Cancelled: confirmed by the server",
        ),
        (
            {"cancel_state": "confirmed", "failure": Failure("local", "Cancelled")},
            "Cancelled: no reply from the server",
        ),
        ({"cancel_state": ""}, "Cancelled"),
    ],
)
def test_a_cancelled_job_says_what_the_server_made_of_it(
    changes: dict[str, Any], text: str
) -> None:
    assert job_texts.full_state(job(state=JobState.CANCELLED, **changes)) == text


def test_a_result_that_came_all_the_same_is_reported_in_the_row() -> None:
    ignored = job(state=JobState.CANCELLED, cancel_state="ignored", cancel_s=2, ended_at=152.0)
    assert job_texts.status(ignored) == "but the result arrived 2 s later, 52 s, 632 ticks"


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (JobState.DONE, "Done, cancel ignored"),
        (JobState.FAILED, "Failed, cancel ignored"),
        (JobState.TIMED_OUT, "Timed out, but the result arrived"),
        (JobState.RESUMABLE, "Resumable"),
    ],
)
def test_a_cancel_that_was_ignored_is_reported_by_how_the_job_ended(
    state: JobState, text: str
) -> None:
    assert job_texts.full_state(job(state=state, cancel_state="ignored")) == text


def test_a_job_that_nobody_cancelled_says_nothing_of_it() -> None:
    assert job_texts.full_state(job()) == "Running"
    assert job_texts.cancelling(job(state=JobState.DONE, cancel_state="requested")) == ""


def test_late_ticks_are_counted_among_all() -> None:
    assert job_texts.ticks(job(tick_count=12, late_count=3)) == "12 ticks, 3 late"


def test_a_watched_server_is_shown_without_its_process() -> None:
    assert job_texts.server(job(server="files@4711", watched_client="Cursor")) == "files"
    assert job_texts.server(job(server="files@home")) == "files@home"


def test_a_task_that_was_left_says_where_it_goes_on() -> None:
    left = TaskSnapshot("t", "working", is_followed=False)
    assert job_texts.status(job(task=left)) == "can be followed"
    theirs = job(task=left, watched_client="Cursor", can_resume_here=True)
    assert job_texts.status(theirs) == "can be resumed here"
    assert job_texts.state(theirs) == "Left on its server"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "31 s left"),
        ({"eta_s": None}, "Running"),
        ({"silent_s": 8.0}, "Running"),
        ({"state": JobState.STALLED}, "Stalled"),
        ({"state": JobState.NEEDS_YOU, "questions": (7, 9)}, "Needs you · 2 questions"),
        ({"state": JobState.LOST}, "Lost"),
    ],
)
def test_a_headline_has_the_time_left_first(changes: dict[str, Any], expected: str) -> None:
    assert job_texts.headline(job(**changes)) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "The connection ended before the reply: The server exited (exit code 3)",
            "server exited, code 3",
        ),
        ("The connection ended before the reply (exit code -9)", "server exited, code -9"),
        (
            "The connection ended before its task was finished: killed. The task t-1 may still run",
            "killed",
        ),
        ("Disconnected; the reply had not arrived", "disconnected; the reply had not arrived"),
    ],
)
def test_a_lost_job_says_why_briefly(message: str, expected: str) -> None:
    lost = job(state=JobState.LOST, failure=Failure("local", message))
    assert job_texts.headline(lost) == f"Lost · {expected}"
    assert job_texts.why(lost._replace(state=JobState.FAILED)) == ""


@pytest.mark.parametrize(
    ("changes", "is_said"),
    [
        ({}, True),
        ({"message": "Row 632"}, False),
        ({"message": "Row 632", "total": None}, True),
        ({"message": "Row 633 of 1000"}, False),
        ({"message": None}, False),
        ({"progress": None, "total": None}, False),
        ({"message": "39.8 of 1400 MB", "progress": 39_765_000, "total": 1_400_000_000}, True),
        ({"message": "39.8 MB done", "progress": 39_765_000, "total": 1_400_000_000}, False),
    ],
)
def test_a_count_is_not_said_twice(changes: dict[str, Any], is_said: bool) -> None:
    assert job_texts.is_count_said(job(**changes)) is is_said


def test_a_token_is_shown_if_somebody_chose_it() -> None:
    assert job_texts.chosen_token(job(token="nightly")) == "token nightly"
    assert job_texts.chosen_token(job(token=8)) == "token 8"
    for counted in ("prog-1795830027533-2", 3, None):  # 3 is the request's id
        assert job_texts.chosen_token(job(token=counted)) == ""
