"""Which states of a job are its end."""

from mcp_progress_monitor.tracker.snapshot import JobState


def test_a_job_is_over_in_all_states_but_those_that_go_on() -> None:
    going_on = {state.value for state in JobState if not state.is_over}
    assert going_on == {"Running", "Stalled", "Needs you", "Cancelling"}
