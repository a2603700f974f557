"""Ctrl+C in two steps: once asks politely, twice leaves at once, whatever goes on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Final, Self

import anyio

from mcp_progress_monitor.cli.exits import ExitCode
from mcp_progress_monitor.signal_watch import SignalWatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from mcp_progress_monitor.cli.output import Output

LAST_S: Final = 2.0
"""How long the command may take to come to its end once it is to leave at once."""
_TELL_S: Final = 0.2
"""How long servers run on meanwhile where the loop is busy."""


def _diverts_nothing() -> bool:
    return False


class Interrupts:
    """Signals as two events, for the time of a `with` block inside a running event loop.

    `polite` is set by the first Ctrl+C, `firm` by the second one or by a request to terminate.
    Signals are taken in a thread of their own (see `SignalWatch`): the loop may be busy for long,
    or wait for a reader of our output. A command that was to leave at once and has not done so
    after `LAST_S`, or at the next signal, is ended here.
    """

    def __init__(self, output: Output, end_all: Callable[[], None]) -> None:
        """`end_all` ends the servers' processes at once, in any thread, and never raises."""
        self._output = output
        self._end_all = end_all
        self._count = 0
        self._is_leaving = False
        self._told = threading.Event()
        self._left = threading.Event()
        self._signals = SignalWatch(self._on_signal)
        self.divert: Callable[[], bool] = _diverts_nothing
        """Asked at a Ctrl+C before the first that counts: whether it was for something else.

        Called in a thread.
        """
        self.polite = anyio.Event()
        self.firm = anyio.Event()

    def __enter__(self) -> Self:
        """Take the signals over."""
        self._loop = asyncio.get_running_loop()
        self._signals.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the signals back to whoever had them."""
        self._left.set()
        self._signals.__exit__(kind, error, traceback)

    def _on_signal(self, number: signal.Signals) -> None:
        if number is signal.SIGINT and not self._count and self.divert():
            return
        self._count += 1 if number is signal.SIGINT else 2
        if self._count > 1:
            self._output.hurry()
            if self._is_leaving or self._output.is_stuck:
                self._leave()
            self._is_leaving = True
            threading.Thread(target=self._leave_late, name="leaving", daemon=True).start()
        with contextlib.suppress(RuntimeError):  # the loop is over: the command has come to its end
            self._loop.call_soon_threadsafe(self._tell)
        if self._is_leaving:
            # The loop is to know first: or it takes the servers' ends for theirs.
            self._told.wait(_TELL_S)
            self._end_all()

    def _tell(self) -> None:
        self.polite.set()
        if self._is_leaving:
            self.firm.set()
            self._told.set()

    def _leave_late(self) -> None:
        """Leave unless the command comes to its end in time."""
        if not self._left.wait(LAST_S):
            self._leave()

    def _leave(self) -> None:
        """End here and now: the main thread does not come to it."""
        self._end_all()
        _show_cursor()
        os._exit(ExitCode.CANCELLED)


def _show_cursor() -> None:
    """Give the terminal its cursor back, which drawing bars had hidden."""
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h\n")
