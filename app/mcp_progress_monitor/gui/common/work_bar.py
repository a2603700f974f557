"""How far long work is, with a button that cancels it."""

from __future__ import annotations

import time
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QWidget

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.layout import in_row

_PATIENCE_S: Final = 0.3
"""Work that takes less time is not shown: there would be no time to read it."""
_STEPS: Final = 1000
_WIDTH: Final = 160
_NAME: Final = 60


class WorkBar(QWidget):
    """Appears if the work takes longer than a moment; `close` it when the work is done."""

    cancel_requested = Signal()

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        """`what` is done, such as "Saving a.csv"; it may hold a file's name."""
        super().__init__(parent)
        self.setVisible(False)
        label = QLabel(one_line(what, _NAME), self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        self._bar = QProgressBar(self)
        self._bar.setRange(0, _STEPS)
        self._bar.setFixedWidth(_WIDTH)
        self._bar.setAccessibleName(one_line(what, _NAME))
        self._cancel = QPushButton("Cancel", self)
        self._cancel.setToolTip("Stop and discard what was done so far")
        self._cancel.clicked.connect(self.cancel_requested)
        in_row(label, self._bar, self._cancel, of=self, margins=0)
        self._began_at = time.monotonic()

    @property
    def share(self) -> float:
        return self._bar.value() / _STEPS

    def show_share(self, share: float) -> None:
        self._bar.setValue(round(share * _STEPS))
        if self.isHidden() and time.monotonic() - self._began_at >= _PATIENCE_S:
            self.show()
