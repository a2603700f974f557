"""The end of a session reads waiting jobs for a short time, and counts the rest as dropped."""

import time
from pathlib import Path

import pytest

from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.telemetry.jobs import JobSignals
from mcp_progress_monitor.telemetry.options import TelemetryOptions
from mcp_progress_monitor.telemetry.telemetry import Telemetry
from tests.unit.recording.written import Written


def test_an_end_does_not_wait_until_all_jobs_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written()
    written.call(at=1.0)
    telemetry = Telemetry(TelemetryOptions("http://127.0.0.1:9"))
    telemetry.follow_recording(Playback(written.save(tmp_path / "a.mcprec")))

    def work(*_: object) -> bool:
        time.sleep(0.01)
        return True

    monkeypatch.setattr(JobSignals, "work", work)
    monkeypatch.setattr(JobSignals, "unread", 7)
    begun = time.monotonic()
    telemetry.close(0.4)
    assert time.monotonic() - begun < 5
    problem = telemetry.problem
    assert problem is not None
    assert "7 telemetry signals" in problem.what
