"""The status bar of a recording: how many messages, jobs and servers have been shown so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QLabel, QStatusBar, QWidget

from mcp_progress_monitor import text
from mcp_progress_monitor.models.replay import Mode

if TYPE_CHECKING:
    from mcp_progress_monitor.models.replay import Replay
    from mcp_progress_monitor.playback.playback import Playback


class RecordingStatus(QStatusBar):
    """Follows `replay`."""

    def __init__(self, playback: Playback, replay: Replay, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._playback = playback
        self._replay = replay
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setAccessibleName(self.tr("Status"))
        self.addWidget(self._label, 1)
        replay.changed.connect(self.refresh)
        self.refresh()

    @property
    def text(self) -> str:
        """What the bar says."""
        return self._label.text()

    @Slot()
    def refresh(self) -> None:
        """Say anew how things stand."""
        shown = self._playback
        parts = (
            self._mode(),
            text.count(shown.timeline.end, "message"),
            text.count(len(shown.jobs()), "job"),
            text.count(len(shown.servers()), "server"),
        )
        self._label.setText(" · ".join(parts))

    def _mode(self) -> str:
        share = f"{self._replay.progress * 100:.0f} %"
        words = {
            Mode.READING: self.tr("Reading, {share}").format(share=share),
            Mode.SEEKING: self.tr("Going there"),
            Mode.PLAYING: self.tr("Playing"),
            Mode.PAUSED: self.tr("Paused"),
            Mode.ENDED: self.tr("All of it is shown"),
        }
        return words[self._replay.mode]
