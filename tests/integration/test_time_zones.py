"""A time zone that Python cannot represent ends no command, and no window."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor import formatting
from mcp_progress_monitor.filtering.expressions import utc_offset_s
from tests.integration.commands import linux_only, run

ZONES = ("XXX-167", "XXX+24:00", "XXX-24", "<+99>-99", "no/such", "")


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A value of `TZ` that this process uses for the test."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@linux_only
def test_times_are_shown_in_any_time_zone(zone: str) -> None:
    assert formatting.date_and_clock(1_764_000_000.0).startswith("2025-11-"), zone
    assert utc_offset_s(1_764_000_000.0) is not None


@linux_only
@pytest.mark.parametrize("arguments", [("tools", "--demo"), ("call", "--demo", "burst")])
def test_a_command_works_in_a_time_zone_beyond_a_day(tmp_path: Path, arguments: tuple[str]) -> None:
    ran = run(*arguments, "--data-dir", str(tmp_path), TZ="XXX-167")
    assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
