"""Statuses of tasks as text."""

from mcp_progress_monitor.wording.statuses import status_text


def test_a_status_is_worded_and_an_unknown_one_is_shown_as_received() -> None:
    assert status_text("input_required") == "Input required"
    assert status_text("pau\x1bsed") == "pau\\x1bsed"
    assert status_text("") == "no status"
