"""When the life of a window's program beats, and what ends it."""

from __future__ import annotations

import gc
import os
import signal
import weakref
from typing import TYPE_CHECKING

import anyio
import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.shell.lifetime import Lifetime
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QApplication

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class _Beats:
    """Counts beats, as somebody does who may be gone before the last of them."""

    def __init__(self, life: Lifetime) -> None:
        self.count = 0
        self.came = anyio.Event()
        life.beat.connect(self._on_beat)

    def _on_beat(self) -> None:
        self.count += 1
        self.came.set()


async def test_it_beats_until_somebody_quits_and_never_after(qapp: QApplication) -> None:
    owner, window = QObject(), QWidget()
    life = Lifetime(qapp, owner)
    beats = _Beats(life)
    async with anyio.create_task_group() as group:
        life.show(window)
        group.start_soon(life.last)
        with anyio.fail_after(PATIENCE_S):
            await beats.came.wait()
        life.quit()
    seen = beats.count
    await anyio.sleep(0.6)  # two beats and more
    assert beats.count == seen
    window.deleteLater()
    owner.deleteLater()


@pytest.mark.skipif(os.name != "posix", reason="no signals of this kind")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it(qapp: QApplication, number: signal.Signals) -> None:
    owner, window = QObject(), QWidget()
    life = Lifetime(qapp, owner)
    life.show(window)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(life.last)
            await life.ready.wait()
            os.kill(os.getpid(), number)
    assert life.exit_code == 0
    window.deleteLater()
    owner.deleteLater()


async def test_a_signal_after_it_is_gone_does_nothing(qapp: QApplication) -> None:
    owner, window = QObject(), QWidget()
    life = Lifetime(qapp, owner)
    life.show(window)
    life.quit()
    await life.last()
    gone = weakref.ref(life)
    del life, owner
    gc.collect()
    assert gone() is None
    signal.raise_signal(signal.SIGINT)
    window.deleteLater()
