"""Signals that end the program, handled in a separate thread."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from typing import TYPE_CHECKING, Any, Final, Self

import anyio
import anyio.from_thread
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

INTERRUPT: Final = "SIGINT"
ENDING: Final = ("SIGTERM", "SIGHUP", "SIGBREAK")
"""Requests to end: from the system, another program, or a terminal that was closed."""


class SignalWatch:
    """Passes signals that end a program to `on_signal`, called in a thread.

    A context manager, to be entered in the main thread. Signals that the program's starter ignores
    (`nohup`, a shell's background) stay ignored.
    """

    def __init__(self, on_signal: Callable[[signal.Signals], None]) -> None:
        self._on_signal = on_signal
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._previous_fd = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        names = [name for name in (INTERRUPT, *ENDING) if hasattr(signal, name)]
        for number in (signal.Signals[name] for name in names):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, _do_nothing)
        threading.Thread(target=self._watch, name="signals", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        signal.set_wakeup_fd(self._previous_fd)
        self._writer.close()  # ends the thread

    def _watch(self) -> None:
        with self._reader:
            while numbers := self._reader.recv(64):
                for number in numbers:
                    if number in self._previous:
                        self._on_signal(signal.Signals(number))


@contextlib.contextmanager
def stop_on_signal() -> Iterator[anyio.Event]:
    """An event of the running loop that is set by any of these signals."""
    stop, token = anyio.Event(), current_token()

    def on_signal(_number: object) -> None:
        anyio.from_thread.run_sync(stop.set, token=token)

    with SignalWatch(on_signal):
        yield stop


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Python's handler; without one, the handler in C would not be called."""
