"""Keeps an open dialog true while jobs go on and servers change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from PySide6.QtCore import QTimer, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QDialog

_INTERVAL_MS: Final = 1000

Dialog = TypeVar("Dialog", bound="QDialog")


def watch(dialog: Dialog, look: Callable[[Dialog], bool]) -> None:
    """Call `look` each second: it updates the dialog; False closes it, as answered "no"."""
    _Watch(dialog, look).start()


class _Watch(QTimer):
    def __init__(self, dialog: QDialog, look: Callable[[Any], bool]) -> None:
        super().__init__(dialog, interval=_INTERVAL_MS)
        self._dialog = dialog
        self._look = look
        self.timeout.connect(self._on_timeout)
        dialog.finished.connect(self.stop)

    @Slot()
    def _on_timeout(self) -> None:
        if not self._look(self._dialog):
            self._dialog.reject()
