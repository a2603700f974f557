"""How long a process waited for a processor, where the system shows it and where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.benchmarks import waiting
from tests.benchmarks.figures import waiting as figure_of
from tests.benchmarks.waiting import Waiting

if TYPE_CHECKING:
    from pathlib import Path


def test_waiting_is_a_share_of_the_time_since_it_began(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reported = tmp_path / "schedstat"
    monkeypatch.setattr(waiting, "_STATISTICS", reported)
    reported.write_text("900 1000000000 7\n")
    clock = iter([10.0, 12.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    measured = Waiting()
    reported.write_text("950 1500000000 9\n")

    assert measured.percent() == pytest.approx(25.0)


def test_waiting_is_unknown_where_the_system_does_not_tell_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(waiting, "_STATISTICS", tmp_path / "none")

    assert Waiting().percent() is None
    assert figure_of([{"waiting_percent": None}]).value is None
