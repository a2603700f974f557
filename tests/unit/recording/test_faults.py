"""What is not sound, told once for each kind."""

from __future__ import annotations

from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.recording.faults import Faults


def test_very_many_cases_of_a_kind_are_one_problem() -> None:
    faults = Faults()
    for place in range(100_000):
        faults.note("A line is no frame", f"byte {place}", "hint", "quoted")
    faults.note("Another kind", "there")
    assert faults.problems == [
        Problem(
            "A line is no frame", "byte 0", "hint", "quoted\n99,999 more cases in this recording"
        ),
        Problem("Another kind", "there"),
    ]
