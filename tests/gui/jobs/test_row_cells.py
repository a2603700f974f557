"""The cells of a row: what stands in them, and that nothing stands there twice."""

import pytest

from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.commands import ANSWER, CANCEL, REISSUE, RESUME
from mcp_progress_monitor.gui.jobs.row import ActionsCell, JobCell, JobRow, ProgressCell, StatusCell
from mcp_progress_monitor.gui.theme import Tone
from mcp_progress_monitor.tracker.snapshot import Failure, JobSnapshot, JobState
from tests.job_stand_ins import job, resumable

LOST = Failure("local", "The connection ended before the reply: The server exited (exit code 3)")


def test_arguments_stand_beside_the_name_and_the_server_below() -> None:
    shown: JobCell = JobRow(job(token="prog-1795830027533-2"), None).cell(Column.JOB)
    assert (shown.name, shown.arguments) == ("export_orders", 'region="eu"')
    assert (shown.server, shown.below) == ("local-db", "")
    watched = job(token="t-7", watched_client="Cursor", server="db@41")
    shown = JobRow(watched, None).cell(Column.JOB)
    assert (shown.server, shown.below, shown.is_watched) == ("db", "Cursor · token t-7", True)


def test_time_left_comes_first_then_the_rate_and_the_time_so_far() -> None:
    shown: StatusCell = JobRow(job(), None).cell(Column.STATUS)
    assert shown[:3] == ("31 s left", "12/s · 52 s so far", Tone.TEXT)
    stalled: StatusCell = JobRow(job(state=JobState.STALLED, silent_s=40.0), None).cell(
        Column.STATUS
    )
    assert stalled[:3] == ("Stalled", "last tick 40 s ago · 52 s so far", Tone.WARNING)


def test_what_the_message_says_is_not_said_beside_it() -> None:
    shown: ProgressCell = JobRow(job(), None).cell(Column.PROGRESS)
    assert shown[:3] == ("63.2 %", "", "Processing batch 632 of 1000")
    shown = JobRow(job(message="Processing"), None).cell(Column.PROGRESS)
    assert shown[:3] == ("63.2 %", "632 / 1,000", "Processing")
    endless = job(message="632 found", total=None, fraction=None)
    assert JobRow(endless, None).cell(Column.PROGRESS)[:3] == ("", "", "632 found")


def test_why_a_job_was_lost_stands_with_its_state_above_what_it_did_last() -> None:
    row = JobRow(job(state=JobState.LOST, failure=LOST), None)
    assert row.cell(Column.STATUS).headline == "Lost · server exited, code 3"
    assert row.cell(Column.PROGRESS)[:4] == (
        *("63.2 %", "", "Processing batch 632 of 1000"),
        Tone.MUTED,
    )
    assert "exit code 3" in row.tip(Column.STATUS)
    failed = JobRow(job(state=JobState.FAILED, failure=Failure("server", "disk full")), None)
    assert failed.cell(Column.STATUS).headline == "Failed"
    assert failed.cell(Column.PROGRESS).message == "disk full"


def test_the_question_stands_in_the_row_of_its_job_in_one_line() -> None:
    asks = job(state=JobState.NEEDS_YOU, questions=(7,), question="Deploy <b>shop</b>\nnow?\u202e")
    row = JobRow(asks, None)
    assert row.cell(Column.PROGRESS).message == "Deploy <b>shop</b>\\nnow?\\u202e"
    assert "Needs you · 1 question" in row.spoken
    assert "Deploy <b>shop</b>\\nnow?" in row.spoken


@pytest.mark.parametrize(
    ("sparks", "is_drawn"),
    [
        ((), False),
        ((0.9, 1.0, 0.95, 0.2), False),  # the last one is not over yet
        ((0.3, 1.0, 0.9, 0.8), False),
        ((0.3, 1.0, 0.9, 0.4, 0.3, 0.2), True),
    ],
)
def test_a_rate_that_is_steady_draws_no_curve(sparks: tuple[float, ...], is_drawn: bool) -> None:
    assert bool(JobRow(job(sparks=sparks), None).cell(Column.STATUS).sparks) is is_drawn


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (job(), ActionsCell((CANCEL,), is_due=False)),
        (job(state=JobState.NEEDS_YOU, questions=(7,)), ActionsCell((ANSWER, CANCEL), is_due=True)),
        (resumable(1), ActionsCell((RESUME,), is_due=True)),
        (job(state=JobState.LOST, failure=LOST), ActionsCell((REISSUE,), is_due=True)),
        (job(state=JobState.DONE), ActionsCell((REISSUE,), is_due=False)),
        (job(watched_client="Cursor"), ActionsCell((), is_due=False)),
    ],
)
def test_a_row_offers_what_applies_and_at_all_times_what_waits_for_the_user(
    snapshot: JobSnapshot, expected: ActionsCell
) -> None:
    assert JobRow(snapshot, None).cell(Column.ACTIONS) == expected
