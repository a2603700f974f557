"""A program with its window for the length of a test, and waiting for what Qt tells nobody."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

import anyio
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget

from tests.patience import PATIENCE_S


def application() -> QApplication:
    """The application of all tests of the window."""
    found = QApplication.instance()
    assert isinstance(found, QApplication)
    return found


class Runnable(Protocol):
    """What every program with a window has."""

    @property
    def window(self) -> QWidget:
        """The window, once it is ready."""

    @property
    def ready(self) -> anyio.Event:
        """Set when the window is up."""

    async def run(self) -> int:
        """Show the window until `quit`."""

    def quit(self) -> None:
        """End the program."""


_Program = TypeVar("_Program", bound=Runnable)


@asynccontextmanager
async def until_quit(program: _Program) -> AsyncIterator[_Program]:
    """A program that is up, until the block ends."""
    async with anyio.create_task_group() as group:
        group.start_soon(program.run)
        with anyio.fail_after(PATIENCE_S):
            await program.ready.wait()
        try:
            yield program
        finally:
            program.quit()
    # Now, not whenever Python's collector comes by: that may be within another thread's step.
    for each in (program.window, program):
        assert isinstance(each, QObject)
        each.deleteLater()
        QCoreApplication.sendPostedEvents(each, QEvent.Type.DeferredDelete)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    with anyio.fail_after(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110  # what Qt shows raises no event here
            await anyio.sleep(0.02)
