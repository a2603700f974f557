"""Every end of a call has its exit code."""

import pytest

from mcp_progress_monitor.cli.calls.call import code_of, first_failure
from mcp_progress_monitor.cli.exits import ExitCode
from mcp_progress_monitor.tracker.snapshot import Failure, JobState
from tests.unit.cli.outcomes import outcome

FAILURE = Failure("server", "No")


@pytest.mark.parametrize(
    ("state", "failure", "code"),
    [
        (JobState.DONE, None, 0),
        (JobState.FAILED, None, 1),
        (JobState.FAILED, FAILURE, 1),
        (JobState.LOST, FAILURE, 3),
        (JobState.TIMED_OUT, FAILURE, 4),
        (JobState.CANCELLED, FAILURE, 5),
        (JobState.CANCELLED, None, 5),
    ],
)
def test_the_state_decides(state: JobState, failure: Failure | None, code: int) -> None:
    assert code_of(outcome(None, failure, state)) == code


def test_what_can_be_resumed_is_resumable_whatever_stopped_it() -> None:
    assert code_of(outcome({}, None, JobState.RESUMABLE, resume_id=3)) == 6
    assert code_of(outcome(None, FAILURE, JobState.RESUMABLE, resume_id=3)) == 6


def test_a_token_that_could_not_be_saved_is_a_file_that_cannot_be_written() -> None:
    assert code_of(outcome({}, None, JobState.RESUMABLE)) == 8


def test_the_first_failure_counts() -> None:
    codes = [ExitCode.DONE, ExitCode.RESUMABLE, ExitCode.ANSWERED_ERROR]
    assert first_failure(codes) is ExitCode.RESUMABLE
    assert first_failure([]) is ExitCode.DONE
