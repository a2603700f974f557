"""Imports another program's file in a thread, and shows the progress if that takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.gui.common.work_bar import WorkBar
from mcp_progress_monitor.imports.convert import convert

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QCloseEvent

    from mcp_progress_monitor.gui.lifetime import Lifetime
    from mcp_progress_monitor.imports.convert import ImportForm

_LOOK_S: Final = 0.1
_MARGIN: Final = 12


class _StoppedError(Exception):
    """The user cancelled the import."""


class _ImportWindow(WorkBar):
    """A window while there is no other; closing it cancels."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"Importing {path.name}")
        self.setWindowTitle(path.name)
        self.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Cancel; the window closes once the thread has stopped."""
        self.cancel_requested.emit()
        event.ignore()


class _Import:
    """One import: what the thread has read, and whether to continue."""

    def __init__(self) -> None:
        self.share = 0.0
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True

    def note(self, share: float) -> None:
        """Called in the thread."""
        self.share = share
        if self.is_stopped:
            raise _StoppedError


async def import_file(path: Path, form: ImportForm, target: Path, life: Lifetime) -> bool:
    """Create the recording `target`; False if the user cancels or quits.

    Raises:
        UserError: as for `convert`.
    """
    work, window = _Import(), _ImportWindow(path)
    window.cancel_requested.connect(work.stop)
    problem: UserError | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_show, window, work, life)
        try:
            await anyio.to_thread.run_sync(convert, path, form, target, work.note)
        except _StoppedError:
            work.stop()
        except UserError as error:
            problem = error
        group.cancel_scope.cancel()
    window.hide()
    window.deleteLater()
    if problem is not None:
        raise problem
    return not work.is_stopped


async def _show(window: WorkBar, work: _Import, life: Lifetime) -> None:
    while True:
        window.show_share(work.share)
        if life.is_over:
            work.stop()
        await anyio.sleep(_LOOK_S)
