"""The status bar: connections, messages a second, what is recorded, and whether it still is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QLabel, QStatusBar, QWidget

from mcp_progress_monitor.sessions.snapshot import ServerState
from mcp_progress_monitor.text import count_in_short, number, size
from mcp_progress_monitor.widgets.appearance import Appearance, Tone, emphasised
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.schema_field import set_text_colour
from mcp_progress_monitor.widgets.still_label import StillLabel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.models.log import LogModel
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot

_WINDOW_S: Final = 2.0
"""Over how long the rate is taken: short enough to follow, long enough to be read."""


class ServersRead(Protocol):
    """What is asked of the servers; `models.servers.ServersModel` and a monitor fit."""

    def servers(self) -> Sequence[ServerSnapshot]:
        """All servers."""


class RecordingRead(Protocol):
    """What is asked of a recorder; `recording.recorder.Recorder` fits."""

    @property
    def problem(self) -> Problem | None:
        """Why recording has stopped; None while it goes on."""

    @property
    def is_recording(self) -> bool:
        """Whether frames go to the disk, not into memory only."""

    @property
    def size(self) -> int:
        """Bytes recorded."""

    @property
    def count(self) -> int:
        """Frames recorded."""


class StatusBar(QStatusBar):
    """Counts what the feed passes on; quiet when nothing happens.

    Without a recorder the messages of the log are counted.
    """

    def __init__(
        self,
        recorder: RecordingRead | None,
        servers: ServersRead,
        log: LogModel,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._recorder = recorder
        self._counted = servers
        self._appearance = appearance
        self._log = log
        self._seen = 0
        self._servers: list[str] = []
        self._dropped_jobs = 0
        self._marks: list[tuple[float, int]] = [(time.monotonic(), 0)]
        self._label = StillLabel(self)
        self._label.set_accessible_name(self.tr("Status"))
        self._warning = QLabel(self)
        self._warning.setTextFormat(Qt.TextFormat.PlainText)
        self._warning.setAccessibleName(self.tr("Recording"))
        self._warning.setFont(emphasised(self.font()))
        appearance.changed.connect(self.refresh)
        self.addWidget(self._label, 1)
        self.addPermanentWidget(self._warning)
        self._second = QTimer(self)
        self._second.setInterval(1000)
        self._second.timeout.connect(self._on_second)
        self.refresh()

    @property
    def text(self) -> str:
        """What the bar says."""
        return self._label.text()

    @property
    def warning(self) -> str:
        """What it says of messages that are not recorded; empty while they are."""
        return "" if self._warning.isHidden() else self._warning.text()

    @Slot(object)
    def count_frames(self, count: int) -> None:
        """Count so many frames."""
        self._seen += count
        if not self._second.isActive():
            self._marks = [(time.monotonic(), self._seen - count)]
            self._second.start()
            self.refresh()

    def count_dropped_jobs(self, count: int) -> None:
        """Say that so many ended jobs have left the list for newer ones."""
        if count != self._dropped_jobs:
            self._dropped_jobs = count
            self._say()

    @Slot()
    def refresh(self) -> None:
        """Say anew how things stand, with the servers counted again."""
        self._servers = self._server_parts()
        self._say()

    def _say(self) -> None:
        recorder = self._recorder
        self._label.set_text(" · ".join(self._parts(recorder)))
        why = "" if recorder is None else self._why_not(recorder)
        self._warning.setText(self.tr("Not recorded"))
        set_text_colour(self._warning, self._appearance, Tone.WARNING)
        self._warning.setToolTip(plain_tip(why))
        self._warning.setAccessibleDescription(why)
        self._warning.setVisible(bool(why))

    def rate(self) -> float:
        """Messages a second over the last two seconds."""
        now = time.monotonic()
        while len(self._marks) > 1 and now - self._marks[1][0] >= _WINDOW_S:
            del self._marks[0]
        began, count = self._marks[0]
        return (self._seen - count) / max(now - began, 1.0)

    def _parts(self, recorder: RecordingRead | None) -> list[str]:
        parts = [
            *self._servers,
            self.tr("{rate} msg/s").format(rate=number(round(self.rate()))),
            self._kept(recorder),
        ]
        if self._log.dropped:
            gone = count_in_short(self._log.dropped)
            is_on_disk = self._log.is_closed and recorder is not None and recorder.is_recording
            words = (
                self.tr("the oldest {count} are in the recording, no longer in memory")
                if is_on_disk
                else self.tr("the oldest {count} are no longer kept")
            )
            parts.append(words.format(count=gone))
        if self._dropped_jobs:
            gone = count_in_short(self._dropped_jobs)
            parts.append(self.tr("{count} older jobs only in the log").format(count=gone))
        return parts

    def _server_parts(self) -> list[str]:
        """How many servers are connected, and what the others wait for."""
        servers = self._counted.servers()
        states = [server.state for server in servers]
        connected, all_of_them = states.count(ServerState.CONNECTED), len(states)
        words = self.tr("{count} of {all} connected") if all_of_them else self.tr("0 connected")
        parts = [words.format(count=number(connected), all=number(all_of_them))]
        for count, wording in (
            (states.count(ServerState.CONNECTING), self.tr("{count} connecting")),
            (states.count(ServerState.WAITING), self.tr("{count} restarting")),
            (sum(each.sign_in is not None for each in servers), self.tr("{count} to sign in")),
        ):
            if count:
                parts.append(wording.format(count=number(count)))
        return parts

    def _kept(self, recorder: RecordingRead | None) -> str:
        if recorder is None or not (recorder.is_recording or recorder.problem):
            count = count_in_short(self._log.timeline.end)
            return self.tr("{count} messages").format(count=count)
        return self.tr("{count} recorded ({size})").format(
            count=count_in_short(recorder.count), size=size(recorder.size)
        )

    def _why_not(self, recorder: RecordingRead) -> str:
        problem = recorder.problem
        if problem is not None:
            return problem.as_text()
        if not recorder.is_recording:
            return self.tr("Recording is switched off: the newest messages are kept in memory.")
        return ""

    @Slot()
    def _on_second(self) -> None:
        self._marks.append((time.monotonic(), self._seen))
        self._say()
        if self.rate() == 0:
            self._second.stop()
