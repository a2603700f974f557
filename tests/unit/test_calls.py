"""How a call is put."""

from __future__ import annotations

from app.calls import AutoResume, Call
from app.sessions.exchange import Limits


def test_pauses_grow_and_the_last_one_repeats() -> None:
    automatic = AutoResume()
    assert [automatic.pause_s(made) for made in range(7)] == [0, 1, 2, 5, 10, 10, 10]
    assert AutoResume(pauses_s=()).pause_s(3) == 0


def test_a_call_has_the_limits_it_was_given() -> None:
    assert Call("a", "b", {}).limits == Limits(1800, None)
    assert Call("a", "b", {}, idle_timeout_s=None, total_timeout_s=3).limits == Limits(None, 3)
