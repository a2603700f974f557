"""The status bar: connections, messages per second, and the state of the recording."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QLabel, QStatusBar, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.formatting import count_in_short, number, size
from mcp_progress_monitor.gui.common.controls import ElidedLabel, plain_tip, set_text_colour
from mcp_progress_monitor.gui.theme import Appearance, Tone, emphasised
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.wording.servers import on_save_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.gui.servers.model import ServersModel
    from mcp_progress_monitor.recording.recorder import Recorder
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.snapshots.watched import WatchedSnapshot

_WINDOW_S: Final = 2.0
"""Interval for the rate: short enough to follow, long enough to be read."""


class StatusBar(QStatusBar):
    """Counts the feed's messages; idle if nothing arrives.

    Without a recorder the messages in memory are counted.
    """

    def __init__(
        self,
        recorder: Recorder | None,
        servers: ServersModel,
        timeline: Timeline,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._recorder = recorder
        self._counted = servers
        self._watched: Callable[[], Sequence[WatchedSnapshot]] = tuple
        self._agents = 0
        self._appearance = appearance
        self._timeline = timeline
        self._seen = 0
        self._servers: list[str] = []
        self._dropped_jobs = 0
        self._telemetry = ""
        self._findings = 0
        self._marks: list[tuple[float, int]] = [(time.monotonic(), 0)]
        self._label = ElidedLabel(self)
        self._label.describe("Status")
        self._warning = QLabel(self)
        self._warning.setTextFormat(Qt.TextFormat.PlainText)
        self._warning.setAccessibleDescription("Recording")
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
        return self._label.text()

    @property
    def warning(self) -> str:
        """The warning about unrecorded messages; empty if all are recorded."""
        return "" if self._warning.isHidden() else self._warning.text()

    @Slot(object)
    def count_frames(self, count: int) -> None:
        self._seen += count
        if not self._second.isActive():
            self._marks = [(time.monotonic(), self._seen - count)]
            self._second.start()
            self.refresh()

    def count_dropped_jobs(self, count: int) -> None:
        if count != self._dropped_jobs:
            self._dropped_jobs = count
            self._say()

    def count_watched(self, watched: Callable[[], Sequence[WatchedSnapshot]]) -> None:
        self._watched = watched

    def count_agents(self, agents: int) -> None:
        if agents != self._agents:
            self._agents = agents
            self.refresh()

    def show_telemetry(self, text: str) -> None:
        """Show the state of the telemetry; empty while none is sent."""
        if text != self._telemetry:
            self._telemetry = text
            self._say()

    @Slot()
    def refresh(self) -> None:
        self._servers = self._server_parts()
        self._say()

    def _say(self) -> None:
        recorder = self._recorder
        self._label.set_text(" · ".join(self._parts(recorder)))
        why = "" if recorder is None else self._why_not(recorder)
        self._warning.setText("Not recorded")
        set_text_colour(self._warning, self._appearance, Tone.WARNING)
        self._warning.setToolTip(plain_tip(why))
        self._warning.setAccessibleDescription(why)
        self._warning.setVisible(bool(why))

    def count_findings(self, findings: int) -> None:
        if findings != self._findings:
            self._findings = findings
            self._say()

    def rate(self) -> float:
        """Messages per second over the last two seconds."""
        now = time.monotonic()
        while len(self._marks) > 1 and now - self._marks[1][0] >= _WINDOW_S:
            del self._marks[0]
        began, count = self._marks[0]
        return (self._seen - count) / max(now - began, 1.0)

    def _parts(self, recorder: Recorder | None) -> list[str]:
        parts = [*self._servers, f"{number(round(self.rate()))} msg/s", self._kept(recorder)]
        if self._timeline.dropped:
            gone = count_in_short(self._timeline.dropped)
            is_on_disk = self._timeline.is_closed and recorder is not None and recorder.is_recording
            text = (
                "the oldest {count} are only in the recording"
                if is_on_disk
                else "the oldest {count} were dropped"
            )
            parts.append(text.format(count=gone))
        if self._findings:
            parts.append(formatting.count(self._findings, "finding"))
        if self._dropped_jobs:
            gone = count_in_short(self._dropped_jobs)
            parts.append(f"{gone} older jobs only in Traffic")
        if self._telemetry:
            parts.append(self._telemetry)
        return parts

    def _server_parts(self) -> list[str]:
        """Say how many servers are connected, and what the others wait for."""
        servers = self._counted.servers()
        states = [server.state for server in servers]
        connected, all_of_them = states.count(ServerState.CONNECTED), len(states)
        text = "{count} of {all} connected" if all_of_them else "0 connected"
        parts = [text.format(count=number(connected), all=number(all_of_them))]
        watched = sum(each.is_live for each in self._watched())
        for count, wording in (
            (watched, "{count} watched"),
            (states.count(ServerState.CONNECTING), "{count} connecting"),
            (states.count(ServerState.WAITING), "{count} restarting"),
            (sum(each.sign_in is not None for each in servers), "{count} need sign-in"),
        ):
            if count:
                parts.append(wording.format(count=number(count)))
        on_save = [text for each in servers if (text := on_save_text(each))]
        if on_save:
            parts.append(on_save[0] if len(on_save) == 1 else f"{len(on_save)} restart on save")
        if self._agents:
            parts.append(f"{formatting.count(self._agents, 'agent')} connected")
        return parts

    def _kept(self, recorder: Recorder | None) -> str:
        if recorder is None or not (recorder.is_recording or recorder.error):
            count = count_in_short(self._timeline.end)
            return f"{count} messages"
        return f"{count_in_short(recorder.count)} recorded ({size(recorder.size)})"

    def _why_not(self, recorder: Recorder) -> str:
        error = recorder.error
        if error is not None:
            return error.as_text()
        if not recorder.is_recording:
            return "Recording is off: only the newest messages are kept in memory."
        return ""

    @Slot()
    def _on_second(self) -> None:
        self._marks.append((time.monotonic(), self._seen))
        self._say()
        if self.rate() == 0:
            self._second.stop()
