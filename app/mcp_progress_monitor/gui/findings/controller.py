"""Connects findings with their messages and jobs; remembers which are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from mcp_progress_monitor.formatting import number
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.findings import commands as on_findings
from mcp_progress_monitor.gui.window_commands import BACK, NEXT_MESSAGE, PREVIOUS_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.checking.report import ReportedResult
    from mcp_progress_monitor.gui.common.commands import CommandActions
    from mcp_progress_monitor.gui.findings.model import FindingsModel, Ignored
    from mcp_progress_monitor.gui.findings.pane import FindingsPane
    from mcp_progress_monitor.gui.panes import LazyPane
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.tracker.snapshot import JobId

_KEPT: Final = "findings/ignored"
_MOST_IGNORED: Final = 500
_WAYS: Final = ((NEXT_MESSAGE, "next"), (PREVIOUS_MESSAGE, "previous"), (BACK, "back"))


class FindingsController(QObject):
    """Connects the Findings pane to the jobs and the settings, and asks for messages."""

    counted = Signal(int)  # the number of findings that are not ignored
    message_requested = Signal(object, str)  # the number of a frame, and a notice about it

    def __init__(
        self,
        pane: LazyPane[FindingsPane],
        do: CommandActions,
        model: FindingsModel,
        timeline: Timeline,
        preferences: Preferences,
        open_job: Callable[[JobId], object],
    ) -> None:
        super().__init__(pane.dock)
        self._pane = pane
        self._model = model
        self._timeline = timeline
        self._preferences = preferences
        self._open_job = open_job
        self._do = do
        self._finding: ReportedResult | None = None
        self._at = 0
        do.commands.join(self)
        model.set_ignored(_read(preferences.json_of(_KEPT).get("ignored")))
        model.badges_changed.connect(self._on_badges_changed)
        pane.when_made(self._join_pane)
        self._on_badges_changed()

    @carries_out(on_findings.OPEN)
    @Slot(object)
    def jump(self, finding: ReportedResult) -> None:
        self._finding, self._at = finding, 0
        self._show()

    @Slot(str)
    def show_of_server(self, server: str) -> None:
        from mcp_progress_monitor.filtering.expressions import quoted  # late: not needed at startup

        self._list(f"server == {quoted(server)}")

    def show_of_job(self, job: JobId) -> None:
        self._list(f"job == {job}")

    def _list(self, text: str) -> None:
        self._pane.open().set_filter(text)

    def _join_pane(self) -> None:
        self._pane.pane().ignored_changed.connect(self._on_ignored_changed)

    @carries_out(NEXT_MESSAGE)
    def _next(self) -> None:
        self._step(1)

    @carries_out(PREVIOUS_MESSAGE)
    def _previous(self) -> None:
        self._step(-1)

    @carries_out(BACK)
    def _back(self) -> None:
        pane = self._pane.open()
        if self._finding is not None:
            pane.select(self._finding)
        pane.tree.setFocus()

    def _step(self, by: int) -> None:
        """Show the next or previous message; without a finding, start with the selected one."""
        if self._finding is not None:
            self._at = max(0, min(self._at + by, len(_frames(self._finding)) - 1))
            self._show()
        elif (finding := self._pane.pane().current()) is not None:
            self.jump(finding)

    def _show(self) -> None:
        finding = self._newest()
        if finding is None:
            return
        frames = _frames(finding)
        place = f"{number(self._at + 1)} of {number(len(frames))}"
        if finding.times > len(frames):
            place = f"{place} ({number(finding.times)} in all)"
        ways = ", ".join(f"{self._do.key_of(each)} {way}".strip() for each, way in _WAYS)
        notice = f"{finding.rule}: {finding.text}. Message {place}. {ways}"
        self.message_requested.emit(frames[self._at], notice)

    def _newest(self) -> ReportedResult | None:
        """The finding's newest state: it may have occurred in more messages."""
        known = self._finding
        if known is not None:
            newest = self._model.find(known)
            self._finding = known if newest is None else newest
        return self._finding

    @Slot()
    def _on_badges_changed(self) -> None:
        if not self._model.rowCount():
            self._finding = None
        total = self._model.total
        text = "Findings"
        title = text if total is None else f"{text} ({total.text})"
        self._pane.dock.setWindowTitle(title)
        self.counted.emit(0 if total is None else total.total)

    @Slot(object)
    def _on_ignored_changed(self, ignored: tuple[Ignored, ...]) -> None:
        kept = ignored[-_MOST_IGNORED:]
        self._preferences.keep_json(_KEPT, {"ignored": [list(each) for each in kept]})
        self._model.set_ignored(kept)

    @carries_out(on_findings.JOB)
    def _show_job(self, finding: ReportedResult) -> None:
        if finding.job is not None:
            self._open_job(finding.job)

    @carries_out(on_findings.ISSUE)
    def copy_issue(self, finding: ReportedResult) -> None:
        """Copy a finding as the text of an issue, without secrets."""
        from mcp_progress_monitor.exports.issues import issue_text  # late: not needed at startup
        from mcp_progress_monitor.exports.redaction import Redaction

        place = self._timeline.place_of(finding.frames[0])
        frame = None if place is None else self._timeline.frame(place)
        QGuiApplication.clipboard().setText(issue_text(finding, frame, Redaction()))


def _frames(finding: ReportedResult) -> tuple[int, ...]:
    """The messages of a finding that can be shown: those that are kept, and the last one."""
    frames = finding.frames
    return frames if finding.last in frames else (*frames, finding.last)


def _read(kept: object) -> list[Ignored]:
    """The rules ignored in the last run; invalid entries are dropped."""
    pairs = kept if isinstance(kept, list) else []
    return [
        (pair[0], pair[1])
        for pair in pairs[:_MOST_IGNORED]
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, str) for p in pair)
    ]
