"""Our own errors: logged, reported once for each place."""

import asyncio
import sys
import threading
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.lifetime import Failures

pytestmark = pytest.mark.anyio


def _raised(text: str) -> ValueError:
    try:
        int(text)
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.announces_log("a defect of this program")
def test_the_same_place_failing_again_is_reported_once() -> None:
    reported: list[ErrorDetails] = []
    failures = Failures(Path("monitor.log"), reported.append)
    for number in range(3):
        failures.note(_raised(f"time {number}"))
    assert len(reported) == 1
    assert "ValueError: invalid literal" in reported[0].where
    assert "monitor.log" in reported[0].hint


@pytest.mark.announces_log("a defect of this program")
def test_an_uncaught_exception_reaches_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    reported: list[ErrorDetails] = []
    Failures(Path("monitor.log"), reported.append).install()
    error = _raised("in a slot")
    sys.excepthook(type(error), error, error.__traceback__)
    assert "in a slot" in reported[0].where


@pytest.mark.announces_log("a defect of this program|the event loop says")
async def test_what_fails_in_callbacks_of_the_loop_and_in_threads_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    before = threading.excepthook
    reported: list[ErrorDetails] = []
    failures = Failures(Path("monitor.log"), reported.append)
    loop = asyncio.get_running_loop()
    failures.watch(loop)
    try:
        loop.call_soon(int, "in a callback")
        thread = threading.Thread(target=float, args=("in a thread",))
        thread.start()
        thread.join()
        loop.call_exception_handler({"message": "a socket was lost"})
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
    finally:
        failures.uninstall()
        loop.set_exception_handler(None)
    assert sorted(error.where.rpartition(": ")[2] for error in reported) == [
        "'in a callback'",
        "'in a thread'",
    ]
    assert threading.excepthook is before
