"""What tests of whole programs need."""

from __future__ import annotations

import gc
import signal
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _hooks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program takes the process's hooks for its own: they are given back."""
    if hasattr(request.module, "until_quit"):
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)
        monkeypatch.setattr(signal, "signal", print)


@pytest.fixture(autouse=True)
def _collected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect a program where its timers can be stopped: in the thread that it ran in.

    Left to itself Python's collector may come by within a step of another thread, such as the next
    program's recorder: the timers then stay, and go off in what is gone (seen as a crash).
    """
    yield
    if hasattr(request.module, "until_quit"):
        gc.collect()
