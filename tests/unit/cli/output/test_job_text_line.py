"""A job as text: what is known, nothing that is not, and never a control character."""

import math

from mcp_progress_monitor.cli.output import job_text
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts
from tests.job_stand_ins import job, new_job


def test_a_running_job_tells_amount_pace_and_message() -> None:
    assert job_text.line(job()) == (
        "export_orders: 632 / 1,000 (63.2 %)  12/s  31 s left  Processing batch 632 of 1000"
    )


def test_a_job_that_is_being_cancelled_has_no_time_left() -> None:
    assert job_text.pace(job(state=JobState.CANCELLING)) == "Cancelling"


def test_the_unknown_is_left_out() -> None:
    unknown = job(total=None, fraction=None, rate=None, eta_s=None, message=None)
    assert job_text.line(unknown) == "export_orders: 632"
    assert job_text.line(new_job(1), 12) == "export_orders #12: "


def test_an_ended_job_tells_how_long_it_took() -> None:
    ended = job(state=JobState.DONE, elapsed_s=252.0, tick_count=812)
    assert job_text.pace(ended) == "done in 4 min 12 s, 812 ticks"
    assert job_text.pace(job(state=JobState.LOST, elapsed_s=3.0, tick_count=1)) == (
        "lost in 3.0 s, 1 tick"
    )


def test_a_resumed_job_tells_its_attempt() -> None:
    assert job_text.pace(job(attempt_count=3)) == "attempt 3  12/s  31 s left"
    ended = job(state=JobState.DONE, elapsed_s=5.0, tick_count=20, attempt_count=4)
    assert job_text.pace(ended) == "done in 5.0 s, 20 ticks, 4 attempts"


def test_a_resumable_job_tells_whether_it_is_resumed_automatically() -> None:
    stopped = {"state": JobState.RESUMABLE, "elapsed_s": 5.0, "tick_count": 20}
    assert job_text.pace(job(**stopped)) == "resumable after 5.0 s, 20 ticks"
    assert job_text.pace(job(**stopped, attempt_count=2, next_attempt_at=107.0)) == (
        "resumable after 5.0 s, 20 ticks, 2 attempts, attempt 3 now"
    )


def test_silence_and_other_states_are_reported() -> None:
    silent = job(state=JobState.STALLED, silent_s=14.2, rate=None, eta_s=None)
    assert job_text.pace(silent) == "Stalled  last tick 14 s ago"
    assert job_text.pace(job(eta_s=math.inf, rate=None)) == "∞ left"


def test_a_time_left_that_is_not_sure_reads_as_in_the_window() -> None:
    unsure = job(eta_s=200.0, eta_span_s=(150.0, 290.0))
    assert job_text.pace(unsure) == f"12/s  {job_texts.time_left(unsure)}"
    assert "\N{EN DASH}" in job_text.pace(unsure)


def test_server_text_cannot_drive_the_terminal() -> None:
    evil = job(name="a\x1b]0;x\x07", message="b\x1b[2J\nc\u202e")
    line = job_text.line(evil)
    assert line.startswith(r"a\x1b]0;x\x07: ")
    assert line.endswith(r"b\x1b[2J\nc\u202e")


def test_a_log_message_tells_level_logger_and_data() -> None:
    assert job_text.log_line("warning", "db", "slow\x1b") == r"warning db: slow\x1b"
    assert job_text.log_line("error", None, {"rows": 3}) == "error: data={rows: 3}"
