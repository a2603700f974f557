"""Hostile messages arrive unchanged: whoever shows them has to cope."""

from __future__ import annotations

import pytest

from tests.servers.tools.traffic import HOSTILE
from tests.unit.demo.client import Client


def test_every_kind_is_sent_unchanged() -> None:
    played = Client().call("hostile_text", interval_s=0)
    assert [tick["message"] for tick in played.ticks] == list(HOSTILE.values())


@pytest.mark.parametrize("kind", HOSTILE)
def test_one_kind_comes_alone(kind: str) -> None:
    (tick,) = Client().call("hostile_text", kind=kind, interval_s=0).ticks
    assert tick["message"] == HOSTILE[kind]


def test_the_kinds_cover_markup_control_and_direction() -> None:
    everything = "".join(HOSTILE.values())
    for part in ("<b>", "<img", "\x1b[", "\x00", "\u202e", "\u200b", "\u2028", "\n"):
        assert part in everything
