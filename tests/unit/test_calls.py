"""How a call is put."""

from __future__ import annotations

from app.calls import AutoResume


def test_pauses_grow_and_the_last_one_repeats() -> None:
    automatic = AutoResume()
    assert [automatic.pause_s(made) for made in range(7)] == [0, 1, 2, 5, 10, 10, 10]
    assert AutoResume(pauses_s=()).pause_s(3) == 0
