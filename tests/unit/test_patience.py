from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.patience import allowed

if TYPE_CHECKING:
    import pytest


class _Clocks:
    """A thread that works for so much of the time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
        self._now = 0.0
        self._share = share
        monkeypatch.setattr(time, "monotonic", lambda: self._now)
        monkeypatch.setattr(time, "thread_time", self._worked)

    def _worked(self) -> float:
        self._now += 0.01
        return self._now * self._share


def test_a_busy_machine_is_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    _Clocks(monkeypatch, share=0.1)

    assert 19 < allowed(2) < 22


def test_a_machine_of_ones_own_is_given_what_was_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    _Clocks(monkeypatch, share=2)

    assert allowed(2) == 2
