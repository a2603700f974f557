"""Runs the taps of servers with a URL for as long as the window is open, or until stopped."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal

from mcp_progress_monitor.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeAlias

    from mcp_progress_monitor.engine.url_taps import UrlTap, UrlTapOrder
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.aio import BackgroundTasks

    Key: TypeAlias = tuple[Path, tuple[str, ...]]
    """A client's file, and the keys that lead to a server in it."""


class UrlTapsController(QObject):
    """The taps by the key of their server; `addresses` has an empty one while a tap starts."""

    changed = Signal(object)  # the key of a server whose tap listens or has ended

    def __init__(
        self, parent: QObject, tasks: BackgroundTasks, report: Callable[[ErrorDetails], None]
    ) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._report = report
        self._taps: dict[Key, UrlTap] = {}
        self._next: dict[Key, UrlTapOrder] = {}  # each begins when the one before has left its port
        self.addresses: Final[dict[Key, str]] = {}

    def start(self, key: Key, order: UrlTapOrder) -> None:
        if key not in self.addresses:
            self.addresses[key] = ""
            if key in self._taps:
                self._next[key] = order
            else:
                self._begin(key, order)

    def stop(self, key: Key) -> None:
        self.addresses.pop(key, None)
        self._next.pop(key, None)
        if key in self._taps:
            self._taps[key].stop()

    def _begin(self, key: Key, order: UrlTapOrder) -> None:
        from mcp_progress_monitor.engine.url_taps import UrlTap

        tap = self._taps[key] = UrlTap(order, partial(self._on_open, key), self._report)
        self._tasks.start(f"tap of {order.name}", self._run, key, tap)

    async def _run(self, key: Key, tap: UrlTap) -> None:
        error: ErrorDetails | None = None
        try:
            await tap.run()
        except UserError as ended:
            error = ended.details
        finally:
            del self._taps[key]
            following = self._next.pop(key, None)
            if following is not None:
                self._begin(key, following)
            else:
                self.addresses.pop(key, None)
                self.changed.emit(key)
        if error is not None:
            self._report(error)

    def _on_open(self, key: Key, address: str) -> None:
        if key in self.addresses and key not in self._next:  # else it is being stopped
            self.addresses[key] = address
            self.changed.emit(key)
