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
    """The taps by the key of their server; `addresses` has those that listen."""

    changed = Signal(object)  # the key of a server whose tap listens or has ended

    def __init__(
        self, parent: QObject, tasks: BackgroundTasks, report: Callable[[ErrorDetails], None]
    ) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._report = report
        self._taps: dict[Key, UrlTap] = {}
        self.addresses: Final[dict[Key, str]] = {}

    def start(self, key: Key, order: UrlTapOrder) -> None:
        from mcp_progress_monitor.engine.url_taps import UrlTap

        if key not in self._taps:
            tap = UrlTap(order, partial(self._on_open, key), self._report)
            self._taps[key] = tap
            self._tasks.start(f"tap of {order.name}", self._run, key, tap)

    def stop(self, key: Key) -> None:
        if key in self._taps:
            self._taps[key].stop()

    async def _run(self, key: Key, tap: UrlTap) -> None:
        error: ErrorDetails | None = None
        try:
            await tap.run()
        except UserError as ended:
            error = ended.details
        finally:
            del self._taps[key]
            self.addresses.pop(key, None)
            self.changed.emit(key)
        if error is not None:
            self._report(error)

    def _on_open(self, key: Key, address: str) -> None:
        self.addresses[key] = address
        self.changed.emit(key)
