"""Callbacks that are ready run in order, a slice at a time, with Qt's events in between."""

import asyncio
import time
from collections.abc import Callable, Iterator

import anyio
import anyio.lowlevel
import pytest
from PySide6.QtCore import QCoreApplication, QTimer
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui import aio
from mcp_progress_monitor.gui.aio import ReadyQueue


class _Queued:
    """A queue with callbacks that write down that they ran."""

    def __init__(self) -> None:
        self.queue = ReadyQueue()
        self.ran: list[object] = []
        self.loop = asyncio.new_event_loop()  # a handle wants one, and does nothing with it

    def add(self, callback: Callable[..., object], *args: object) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self.loop)
        self.queue.add(handle)
        return handle

    def note(self, *arguments: object) -> None:
        for word in arguments:
            self.add(self.ran.append, word)

    def close(self) -> None:
        self.queue.close()
        self.loop.close()


@pytest.fixture
def queued() -> Iterator[_Queued]:
    made = _Queued()
    yield made
    made.close()


def test_callbacks_run_in_the_order_they_came(queued: _Queued, qtbot: QtBot) -> None:
    queued.note(*range(100))
    qtbot.waitUntil(lambda: len(queued.ran) >= 100)
    assert queued.ran == list(range(100))


def test_what_a_callback_adds_runs_in_a_later_turn(queued: _Queued, qtbot: QtBot) -> None:
    turns: list[tuple[str, int]] = []
    timer_event = queued.queue.timerEvent
    count = 0

    def counted(event: object) -> None:
        nonlocal count
        count += 1
        timer_event(event)  # type: ignore[arg-type]

    def first() -> None:
        turns.append(("first", count))
        queued.add(lambda: turns.append(("added", count)))

    queued.queue.timerEvent = counted  # type: ignore[method-assign]
    queued.add(first)
    queued.add(lambda: turns.append(("second", count)))
    qtbot.waitUntil(lambda: len(turns) == 3)
    assert turns == [("first", 1), ("second", 1), ("added", 2)]


def test_qt_comes_in_between_when_a_slice_is_over(
    queued: _Queued, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aio, "SLICE_S", 0.0)
    QTimer.singleShot(0, queued.queue, lambda: queued.ran.append("Qt"))
    queued.note(*range(5))
    qtbot.waitUntil(lambda: len(queued.ran) == 6)
    assert queued.ran.index("Qt") < 5
    assert [each for each in queued.ran if each != "Qt"] == list(range(5))


@pytest.mark.parametrize(
    ("step_ms", "window_ms", "first", "usual"),
    [(1, 0, 8, 8), (1, 5, 3, 8), (1, 500, 2, 8), (5, 0, 1, 1), (3, 0, 2, 2)],
)
def test_a_slice_ends_before_it_is_too_long_and_earlier_after_work_of_the_window(
    queued: _Queued,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    step_ms: int,
    window_ms: int,
    first: int,
    usual: int,
) -> None:
    spent_ms, turns = [0], [0]
    monkeypatch.setattr(time, "thread_time", lambda: spent_ms[0] / 1000.01)
    timer_event = queued.queue.timerEvent

    def counted(event: object) -> None:
        turns.append(0)
        timer_event(event)  # type: ignore[arg-type]

    def works() -> None:
        spent_ms[0] += step_ms
        turns[-1] += 1

    queued.queue.timerEvent = counted  # type: ignore[method-assign]
    queued.add(works)
    qtbot.waitUntil(lambda: sum(turns) == 1)
    spent_ms[0] += window_ms
    for _ in range(20):
        queued.add(works)
    qtbot.waitUntil(lambda: sum(turns) == 21)
    assert turns[2:4] == [first, usual]


def test_a_loop_of_qts_within_a_callback_serves_the_rest(queued: _Queued, qtbot: QtBot) -> None:
    def nests() -> None:
        QCoreApplication.processEvents()
        queued.ran.append("nested is over")

    queued.add(nests)
    queued.note("rest")
    qtbot.waitUntil(lambda: len(queued.ran) == 2)
    assert queued.ran == ["rest", "nested is over"]


def test_what_was_cancelled_or_closed_is_not_run(queued: _Queued, qtbot: QtBot) -> None:
    queued.add(queued.ran.append, "cancelled").cancel()
    queued.note("last")
    qtbot.waitUntil(lambda: bool(queued.ran))
    queued.note("too late")
    queued.queue.close()
    queued.note("later still")
    qtbot.wait(20)
    assert queued.ran == ["last"]


def test_nothing_wakes_the_loop_when_nothing_is_ready(queued: _Queued, qtbot: QtBot) -> None:
    queued.note("all")
    qtbot.waitUntil(lambda: bool(queued.ran))
    assert queued.queue._timer == 0  # noqa: SLF001  # an idle window must not spin


def test_the_time_that_callbacks_take_is_counted(queued: _Queued, qtbot: QtBot) -> None:
    queued.add(time.sleep, 0.02)  # by the clock alone
    queued.add(_work, 0.01)
    queued.note("done")
    qtbot.waitUntil(lambda: queued.ran == ["done"])
    wall, thread = queued.queue.taken
    assert wall >= 0.03
    assert 0.01 <= thread <= wall


def _work(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_without_a_loop_no_callback_took_time() -> None:
    assert aio.time_taken_by_tasks() == (0.0, 0.0)


@pytest.mark.anyio
async def test_the_running_loop_says_how_long_its_callbacks_took() -> None:
    before = aio.time_taken_by_tasks()
    await anyio.lowlevel.checkpoint()
    _work(0.005)
    await anyio.sleep(0.001)
    assert aio.time_taken_by_tasks().thread >= before.thread + 0.005


def test_no_callback_for_later_runs_before_its_time(queued: _Queued, qtbot: QtBot) -> None:
    early: list[float] = []
    delays = [number * 0.0013 for number in range(1, 60)]
    for delay in delays:
        due = time.monotonic() + delay
        note = lambda due=due: early.append(due - time.monotonic())  # noqa: E731
        queued.queue.add_later(asyncio.Handle(note, (), queued.loop), delay)
    qtbot.waitUntil(lambda: len(early) == len(delays))
    assert max(early) <= 0
