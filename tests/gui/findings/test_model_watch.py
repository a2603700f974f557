"""The judge behind the window: the same findings as `check`, a slice at a time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.updates import Listeners, Update
from mcp_progress_monitor.gui.feed import Throttle
from mcp_progress_monitor.gui.findings import model as watching
from mcp_progress_monitor.gui.findings.model import FindingsModel, FindingsWatch
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from tests.golden_sessions import FOLDER, Golden, call, recording
from tests.unit.checking.sessions import check_file, summary
from tests.unit.recording.written import Written

GOLDEN = (
    *("PROG-3", "PROG-6", "PROG-9", "CAN-1", "JR-2", "TSK-5", "SCHEMA-1", "HDR-1"),
    *("CLI-1", "CLI-3", "RSM-1", "END-1", "DEP-1", "OUT-1", "MRT-1"),
)


def read(watch: FindingsWatch, playback: Playback) -> None:
    watch.follow(playback)
    while playback.advance(0.05):
        pass
    watch.finish()


@pytest.mark.parametrize("kind", ["broken", "near"])
@pytest.mark.parametrize("rule", GOLDEN)
def test_the_window_finds_what_check_finds(qtbot: QtBot, rule: str, kind: str) -> None:
    path = FOLDER / f"{rule}.{kind}.mcprec"
    model = FindingsModel()
    read(model.watch, Playback(path))
    model.watch.publish()
    expected = check_file(path)
    key = lambda each: (each[0], each[3] or 0)  # noqa: E731
    assert sorted(summary(list(model.watch.results)), key=key) == sorted(summary(expected), key=key)
    assert model.rowCount() == len(expected)
    if kind == "broken":
        assert rule in {model.finding(row).rule for row in range(model.rowCount())}


def test_a_restart_forgets_and_finds_again(qtbot: QtBot) -> None:
    model, playback = FindingsModel(), Playback(FOLDER / "PROG-3.broken.mcprec")
    read(model.watch, playback)
    assert model.rowCount() == 1
    playback.restart()
    model.watch.restart()
    assert (model.rowCount(), model.total, dict(model.job_badges)) == (0, None, {})
    while playback.advance(0.05):
        pass
    model.watch.finish()
    assert model.rowCount() == 1


class OneJob:
    """Jobs that know no request."""

    def job_of(self, _request: int) -> None:
        return None


class FakeSource:
    """Publishes what a test makes."""

    def __init__(self) -> None:
        self.listeners = Listeners()
        self.jobs = OneJob()
        self.later_s = 0.0
        self.newest = 0.0

    def now(self) -> float:
        return self.newest + self.later_s

    def subscribe(self, listener: Callable[[Update], None]) -> Callable[[], None]:
        return self.listeners.add(listener)


def updates_of(path: Path) -> list[Update]:
    found: list[Update] = []
    playback = Playback(path)
    playback.subscribe(found.append)
    while playback.advance(0.05):
        pass
    return found


def test_findings_are_published_together_and_not_for_each_update(qtbot: QtBot) -> None:
    source, model = FakeSource(), FindingsModel()
    published: list[int] = []
    model.watch.changed.connect(lambda changed: published.append(len(changed)))
    model.watch.follow(source)
    for update in updates_of(FOLDER / "PROG-3.broken.mcprec"):
        source.listeners.publish(update)
    assert published == []
    qtbot.waitUntil(lambda: bool(published), timeout=10_000)
    assert published == [1]


def test_findings_wait_while_a_flood_leaves_the_window_no_time(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def postpone(_throttle: object, now: object) -> bool:
        asked.append(now)
        return len(asked) < 3

    monkeypatch.setattr(Throttle, "postpone", postpone)
    source, model = FakeSource(), FindingsModel()
    model.watch.follow(source)
    for update in updates_of(FOLDER / "PROG-3.broken.mcprec"):
        source.listeners.publish(update)
    qtbot.waitUntil(lambda: model.rowCount() == 1, timeout=10_000)
    assert len(asked) == 3


def test_a_silence_is_found_while_it_lasts(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_PASSING_MS", 20)
    monkeypatch.setattr(watching, "_LATER_MS", 5)
    steps = [call(2, "a")]
    path = tmp_path / "silent.mcprec"
    path.write_bytes(recording(Golden("", "2025-11-25", steps, []), steps))
    source, model = FakeSource(), FindingsModel()
    model.watch.follow(source)
    for update in updates_of(path):
        source.newest = max((source.newest, *(frame.at for frame in update.frames)))
        source.listeners.publish(update)
    source.later_s = 50.0
    qtbot.wait(60)
    assert model.rowCount() == 0
    source.later_s = 70.0
    qtbot.waitUntil(lambda: model.rowCount() == 1, timeout=10_000)
    assert model.finding(0).rule == "PROG-18"
    model.watch.detach()


def test_very_many_findings_are_published_in_parts(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_MOST_AT_ONCE", 2)
    made = Written()
    for number in range(5):
        made.line(Channel.RECEIVED, b"not JSON", float(number), connection=f"s{number}#1")
    model = FindingsModel()
    published: list[int] = []
    model.watch.changed.connect(lambda changed: published.append(len(changed)))
    read(model.watch, Playback(made.save(tmp_path / "many.mcprec")))
    qtbot.waitUntil(lambda: model.rowCount() == 5, timeout=10_000)
    assert published == [2, 2, 1]


def test_nothing_is_published_and_no_timer_runs_while_all_is_well(qtbot: QtBot) -> None:
    source, model = FakeSource(), FindingsModel()
    published: list[int] = []
    model.watch.changed.connect(lambda changed: published.append(len(changed)))
    model.watch.follow(source)
    for update in updates_of(FOLDER / "PROG-3.near.mcprec"):
        source.listeners.publish(update)
    qtbot.waitUntil(lambda: model.watch.is_idle, timeout=10_000)
    assert published == []


def test_after_detaching_nothing_is_judged(qtbot: QtBot) -> None:
    source, model = FakeSource(), FindingsModel()
    model.watch.follow(source)
    model.watch.detach()
    for update in updates_of(FOLDER / "PROG-3.broken.mcprec"):
        source.listeners.publish(update)
    model.watch.publish()
    assert model.rowCount() == 0
