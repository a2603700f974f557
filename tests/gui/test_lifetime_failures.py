"""Our own errors: logged, told once for each place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.gui.lifetime import Failures

if TYPE_CHECKING:
    from mcp_progress_monitor.errors import ErrorDetails


def _raised(text: str) -> ValueError:
    try:
        int(text)
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.announces_log("a defect of this program")
def test_the_same_place_failing_again_is_told_once() -> None:
    told: list[ErrorDetails] = []
    failures = Failures(Path("monitor.log"), told.append)
    for number in range(3):
        failures.note(_raised(f"time {number}"))
    assert len(told) == 1
    assert "ValueError: invalid literal" in told[0].where
    assert "monitor.log" in told[0].hint


@pytest.mark.announces_log("a defect of this program")
def test_an_uncaught_exception_reaches_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    told: list[ErrorDetails] = []
    Failures(Path("monitor.log"), told.append).install()
    error = _raised("in a slot")
    sys.excepthook(type(error), error, error.__traceback__)
    assert "in a slot" in told[0].where
