"""Ctrl+C in two steps: once asks politely, twice leaves at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any, Self

import anyio

from app.cli.exits import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

    from app.cli.output import Output

_LEAVING = ("SIGTERM", "SIGHUP", "SIGBREAK")
"""Signals that leave no time for a second one: the first of them leaves at once."""


def _diverts_nothing() -> bool:
    return False


class Interrupts:
    """Signals as two events, for the time of a `with` block inside a running event loop.

    `polite` is set by the first Ctrl+C, `firm` by the second one or by a request to terminate.
    Plain handlers instead of the event loop's, because those do not exist on Windows and cannot
    act while the loop waits for a reader of our output; then `end_all` is called from the handler
    and the program ends there.
    """

    def __init__(self, output: Output, end_all: Callable[[], None]) -> None:
        """`end_all` ends the servers' processes at once and neither blocks nor raises."""
        self._output = output
        self._end_all = end_all
        self._count = 0
        self._previous: dict[signal.Signals, Any] = {}
        self.divert: Callable[[], bool] = _diverts_nothing
        """Asked at a Ctrl+C before the first that counts: whether it was for something else.

        Called from a signal handler.
        """
        self.polite = anyio.Event()
        self.firm = anyio.Event()

    def __enter__(self) -> Self:
        """Take the signals over."""
        self._loop = asyncio.get_running_loop()
        names = [name for name in ("SIGINT", *_LEAVING) if hasattr(signal, name)]
        for number in (signal.Signals[name] for name in names):
            # What our starter ignores (nohup, a shell's background) stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the signals back to whoever had them."""
        for number, handler in self._previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and not self._count and self.divert():
            return
        self._count += 1 if number == signal.SIGINT else 2
        if self._count > 1:
            self._output.hurry()
        if self._count > 1 and (self._output.is_stuck or self.firm.is_set()):
            # The loop cannot run: its thread is here, in a write that nobody reads.
            self._end_all()
            _show_cursor()
            os._exit(ExitCode.CANCELLED)
        self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self.polite.set()
        if self._count > 1:
            self._end_all()
            self.firm.set()


def _show_cursor() -> None:
    """Give the terminal its cursor back, which drawing bars had hidden."""
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h\n")
