"""Cyclic garbage is looked for while nothing comes in, never under a flood."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from app.shell import garbage
from app.shell.garbage import Garbage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """One entry for each look; there is always enough to look for."""
    looks: list[bool] = []

    def collect() -> None:
        looks.append(True)

    monkeypatch.setattr(gc, "collect", collect)
    monkeypatch.setattr(garbage, "_WORTH_A_LOOK", -1)
    monkeypatch.setattr(garbage, "_LOOK_MS", 5)
    return looks


@pytest.fixture
def keeper(qapp: QApplication, collected: list[bool]) -> Iterator[Garbage]:
    made = Garbage(qapp)
    yield made
    made.restore()
    made.deleteLater()


def test_pythons_own_schedule_is_off_until_it_is_given_back(keeper: Garbage) -> None:
    assert not gc.isenabled()
    keeper.restore()
    assert gc.isenabled()


def test_garbage_is_looked_for_when_it_is_quiet(
    keeper: Garbage, collected: list[bool], qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: len(collected) >= 2)


def test_a_flood_is_not_disturbed(keeper: Garbage, collected: list[bool], qtbot: QtBot) -> None:
    turns: list[int] = []

    def quick_but_flooded() -> None:
        turns.append(len(collected))
        keeper.count_frames(10_000)

    keeper._timer.timeout.connect(quick_but_flooded)  # noqa: SLF001 - after each look
    keeper.count_frames(10_000)
    qtbot.waitUntil(lambda: len(turns) >= 3)
    assert collected == []
