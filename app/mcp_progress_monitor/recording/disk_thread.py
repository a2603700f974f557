"""A thread for work on disk that nobody waits for at the end of the program."""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")


class Order:
    """One piece of work, and what came of it."""

    def __init__(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.work = work
        self.arguments = arguments
        loop: Any = current_token().native_token
        # Not `anyio.from_thread`: it waits for the loop, which may be waiting for this thread.
        self._tell_soon = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
        self.done = anyio.Event()
        """For the loop; set a moment after the work is done."""
        self.is_done = threading.Event()
        self.result: Any = None
        self.error: Exception | None = None

    def fulfil(self) -> None:
        """Do the work and tell the loop, if it is still there."""
        try:
            self.result = self.work(*self.arguments)
        except Exception as error:  # noqa: BLE001  # raised again where the work was ordered
            self.error = error
        self.is_done.set()
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            self._tell_soon(self.done.set)


class DiskThread:
    """Does one thing after the other in a thread, which begins with the first.

    `anyio.to_thread` would do, but Python waits for its threads before it exits: a network drive
    that has gone would keep the program from ending.
    """

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def do(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """Have `work` done; cancelling leaves it to itself."""
        order = self.begin(work, *arguments)
        await order.done.wait()
        if order.error is not None:
            raise order.error
        result: _Result = order.result
        return result

    def begin(self, work: Callable[..., Any], *arguments: Any) -> Order:
        """Have `work` done after what was begun before; called on the loop."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="recording", daemon=True)
            self._thread.start()
        order = Order(work, arguments)
        self._orders.put(order)
        return order

    def end(self) -> None:
        """Let the thread end after what it has to do."""
        self._orders.put(None)

    def _serve(self) -> None:
        while (order := self._orders.get()) is not None:
            order.fulfil()
            del order
