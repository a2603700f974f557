"""What is told of a process's memory and of its waiting, and what where nothing is told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks import memory, waiting
from tests.benchmarks.figures import waiting as figure_of
from tests.benchmarks.memory import growth, own_bytes
from tests.benchmarks.waiting import Waiting

if TYPE_CHECKING:
    from pathlib import Path


def test_memory_counts_what_is_the_process_s_own() -> None:
    before = own_bytes()
    if before is None:
        pytest.skip("this system does not tell")
    held = bytearray(b"x" * 50_000_000)

    after = own_bytes()

    assert growth(before, after, len(held)) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(100, 400, 3.0), (400, 100, 0.0), (None, 1, None)]
)
def test_growth_is_a_share_and_never_negative(
    before: int | None, after: int, expected: float | None
) -> None:
    assert growth(before, after, 100) == expected


def test_waiting_is_a_share_of_the_time() -> None:
    measured = Waiting()
    time.sleep(0.02)
    share = measured.percent()

    assert share is None or 0 <= share <= 100


def test_what_a_system_does_not_tell_is_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(waiting, "_STATISTICS", tmp_path / "none")

    assert own_bytes() is None
    assert Waiting().percent() is None
    assert figure_of([{"waiting_percent": None}]).value is None
