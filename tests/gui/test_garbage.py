"""Cyclic garbage is looked for while nothing comes in, never under a flood."""

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui import garbage
from mcp_progress_monitor.gui.garbage import Garbage
from mcp_progress_monitor.recording.timeline import Timeline


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The generation of each look; there is always enough to look for."""
    looks: list[int] = []
    collect = looks.append

    monkeypatch.setattr(gc, "collect", collect)
    monkeypatch.setattr(garbage, "_WORTH_A_LOOK", -1)
    monkeypatch.setattr(garbage, "_LOOK_MS", 5)
    return looks


class Growing(Timeline):
    """A timeline of so many frames as a test says."""

    count = 0

    @property
    def end(self) -> int:
        return self.count


@pytest.fixture
def timeline() -> Growing:
    return Growing()


@pytest.fixture
def keeper(
    qapp: QApplication, thawed: None, collected: list[int], timeline: Growing
) -> Iterator[Garbage]:
    made = Garbage(timeline, qapp)
    yield made
    made.restore()
    made.deleteLater()


def test_pythons_own_schedule_is_off_until_it_is_given_back(keeper: Garbage) -> None:
    assert not gc.isenabled()
    keeper.restore()
    assert gc.isenabled()


def test_garbage_is_looked_for_when_it_is_quiet(
    keeper: Garbage, collected: list[int], qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: len(collected) >= 2)


def test_a_flood_is_not_disturbed(
    keeper: Garbage, collected: list[int], timeline: Growing, qtbot: QtBot
) -> None:
    turns: list[int] = []

    def quick_but_flooded() -> None:
        turns.append(len(collected))
        timeline.count += 10_000

    keeper._timer.timeout.connect(quick_but_flooded)  # noqa: SLF001 - after each look
    timeline.count += 10_000
    collected.clear()  # it was quiet until now
    qtbot.waitUntil(lambda: len(turns) >= 3)
    assert collected == []


def test_a_look_walks_what_is_young_and_only_a_rare_one_everything(
    keeper: Garbage, collected: list[int], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    qtbot.waitUntil(lambda: len(collected) >= 2)
    assert set(collected) == {1}
    monkeypatch.setattr(garbage, "_AT_LEAST_EVERY_S", 0.0)
    qtbot.waitUntil(lambda: 2 in collected)


def test_what_was_there_before_is_never_walked_until_the_end(keeper: Garbage) -> None:
    assert gc.get_freeze_count() > 0
    keeper.restore()
    assert gc.get_freeze_count() == 0
