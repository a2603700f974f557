"""What is not sound, reported once for each kind."""

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.recording.files import RecordingFaults


def test_very_many_cases_of_a_kind_are_one_error() -> None:
    faults = RecordingFaults()
    for place in range(100_000):
        faults.note("A line is not a frame", f"byte {place}", "hint", "quoted")
    faults.note("Another kind", "there")
    assert faults.errors == [
        ErrorDetails(
            "A line is not a frame", "byte 0", "hint", "quoted\n99,999 more cases in this recording"
        ),
        ErrorDetails("Another kind", "there"),
    ]
