"""The attempts of a job as text."""

import time

import pytest

from mcp_progress_monitor.gui.jobs import attempts
from mcp_progress_monitor.tracker.snapshot import AttemptSnapshot, JobState


def test_there_is_a_word_for_each_title() -> None:
    row = attempts.row(AttemptSnapshot(1, 0.0, None, JobState.RUNNING))
    assert len(row) == len(attempts.TITLES)


def test_an_attempt_tells_when_what_and_why() -> None:
    now = time.time()
    made = AttemptSnapshot(3, now - 60, now, JobState.LOST, 41, 1204, "the server\nended")
    number, by, started, ended, ticks, outcome, detail = attempts.row(made)
    assert by == "here"
    assert (number, ticks, outcome, detail) == ("3", "1,204", "Lost", "the server\\nended")
    assert "" not in (started, ended)
    assert started != ended


@pytest.mark.parametrize(
    ("outcome", "ended", "text"),
    [
        (JobState.RUNNING, "", "Running"),
        ("running", "", "Running"),
        ("interrupted", "unknown", "Interrupted"),
        ("refused", "unknown", "Refused"),
        ("", "unknown", ""),
    ],
)
def test_an_unknown_end_is_called_unknown_and_none_is_empty(
    outcome: JobState | str, ended: str, text: str
) -> None:
    row = attempts.row(AttemptSnapshot(1, time.time(), None, outcome))
    assert (row[3], row[5]) == (ended, text)


@pytest.mark.parametrize(("request_frame", "ticks"), [(None, ""), (41, "0")])
def test_ticks_that_were_not_counted_are_unknown_and_not_none(
    request_frame: int | None, ticks: str
) -> None:
    made = AttemptSnapshot(1, 0.0, 1.0, JobState.LOST, request_frame)
    assert attempts.row(made)[4] == ticks
