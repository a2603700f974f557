"""The memory of a process, where the system shows it and where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.benchmarks import memory
from tests.benchmarks.memory import growth, own_bytes

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


def test_memory_is_unknown_where_the_system_does_not_tell_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")

    assert own_bytes() is None
