"""The status bar: connections, messages a second, messages kept, and what is gone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QLabel, QStatusBar, QWidget

from app.sessions.snapshot import ServerState
from app.text import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.models.log import LogModel
    from app.monitor import Monitor
    from app.protocol.frame import Frame

_WINDOW_S: Final = 2.0
"""Over how long the rate is taken: short enough to follow, long enough to be read."""


class StatusBar(QStatusBar):
    """Counts what the feed passes on; quiet when nothing happens."""

    def __init__(self, monitor: Monitor, log: LogModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._monitor = monitor
        self._log = log
        self._seen = 0
        self._marks: list[tuple[float, int]] = [(time.monotonic(), 0)]
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setAccessibleName(self.tr("Status"))
        self.addWidget(self._label, 1)
        self._second = QTimer(self)
        self._second.setInterval(1000)
        self._second.timeout.connect(self._on_second)
        self.refresh()

    @property
    def text(self) -> str:
        """What the bar says."""
        return self._label.text()

    @Slot(object)
    def add_frames(self, frames: Sequence[Frame]) -> None:
        """Count `frames`."""
        self._seen += len(frames)
        if not self._second.isActive():
            self._marks = [(time.monotonic(), self._seen - len(frames))]
            self._second.start()
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Say anew how things stand."""
        self._label.setText(" · ".join(self._parts()))

    def rate(self) -> float:
        """Messages a second over the last two seconds."""
        now = time.monotonic()
        while len(self._marks) > 1 and now - self._marks[1][0] >= _WINDOW_S:
            del self._marks[0]
        began, count = self._marks[0]
        return (self._seen - count) / max(now - began, 1.0)

    def _parts(self) -> list[str]:
        connected = sum(server.state is ServerState.CONNECTED for server in self._monitor.servers())
        parts = [
            self.tr("%n connected", "", connected).replace("%n", str(connected)),
            self.tr("{rate} msg/s").format(rate=number(round(self.rate()))),
            self.tr("{count} messages").format(count=number(self._seen)),
        ]
        if self._log.dropped:
            parts.append(
                self.tr("the oldest {count} are no longer in memory").format(
                    count=number(self._log.dropped)
                )
            )
        return parts

    @Slot()
    def _on_second(self) -> None:
        self._marks.append((time.monotonic(), self._seen))
        self.refresh()
        if self.rate() == 0:
            self._second.stop()
