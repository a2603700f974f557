"""Asks for the secrets of a server that is being connected; they are kept in memory alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.gui.common.layout import open_dialog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtWidgets import QWidget


class SecretsController(QObject):
    """Opens a dialog over the window for each server that needs secrets, one at a time."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent
        self._closed = anyio.Event()

    async def ask(self, server: str, names: Sequence[str]) -> Mapping[str, str] | None:
        """Ask for secrets by name; None if the user cancels."""
        from mcp_progress_monitor.gui.servers.secret_dialog import SecretDialog  # seldom needed

        dialog = SecretDialog(server, names, self._parent)
        self._closed = anyio.Event()
        dialog.finished.connect(self._on_finished)
        open_dialog(dialog)
        try:
            await self._closed.wait()
        finally:
            if not self._closed.is_set():  # the program is closing
                dialog.reject()
        return dialog.secrets

    @Slot()
    def _on_finished(self) -> None:
        self._closed.set()
