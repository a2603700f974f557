"""Lazy panes: those behind others are created after the first paint or when first shown.

They and their imports would take a tenth of the time until the window is visible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QDockWidget

from mcp_progress_monitor.gui.panes import LazyPane, kept_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QMainWindow

    from mcp_progress_monitor.gui.common.commands import CommandActions
    from mcp_progress_monitor.gui.console.pane import StderrPane
    from mcp_progress_monitor.gui.findings.pane import FindingsPane
    from mcp_progress_monitor.gui.jobs.pane import JobPane
    from mcp_progress_monitor.gui.jobs.timeline import TimelinePane
    from mcp_progress_monitor.gui.models import Models
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.questions.panel import QuestionPanel
    from mcp_progress_monitor.gui.server_log.pane import ServerLogPane
    from mcp_progress_monitor.gui.theme import Appearance

_JOB_PANE_HEIGHT: Final = 200
"""Its chart may be squeezed: ten rows of jobs fit above it at the first size."""


class LazyPanes(QObject):
    """The panes behind Traffic, each created when first shown."""

    finding_opened = Signal(object)
    """The `Checked` of the Job pane whose first message is to be shown in Traffic."""

    def __init__(
        self,
        window: QMainWindow,
        models: Models,
        appearance: Appearance,
        preferences: Preferences,
        on_jobs: CommandActions,
    ) -> None:
        super().__init__(window)
        self._on_jobs = on_jobs
        self._window = window
        self._models = models
        self._appearance = appearance
        self._preferences = preferences
        self.job: Final = LazyPane(self._dock("job", "Job"), self._make_job_pane, _JOB_PANE_HEIGHT)
        self.stderr: Final = LazyPane(self._dock("stderr", "stderr"), self._make_stderr_pane)
        self.server_log: Final = LazyPane(
            self._dock("server_log", "Server log"), self._make_server_log_pane
        )
        self.findings: Final = LazyPane(
            self._dock("findings", "Findings"), self._make_findings_pane
        )
        self.questions: Final = LazyPane(
            self._dock("questions", "Questions"), self._make_question_panel
        )
        self.timeline: Final = LazyPane(
            self._dock("timeline", "Timeline"), self._make_timeline_pane
        )
        self.panes: Final[tuple[LazyPane[Any], ...]] = (
            self.job,
            self.findings,
            self.stderr,
            self.server_log,
            self.questions,
            self.timeline,
        )
        for each in self.panes:
            each.dock.visibilityChanged.connect(self._on_visibility_changed)

    def steps(self) -> tuple[Callable[[], object], ...]:
        """Steps that create one pane each, when there is time."""
        return tuple(each.pane for each in self.panes)

    def _dock(self, name: str, title: str) -> QDockWidget:
        dock = QDockWidget(title, self._window)
        dock.setObjectName(f"dock-{kept_name(name)}")
        self._window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
        return dock

    @Slot()
    def _on_visibility_changed(self) -> None:
        for each in self.panes:
            if each.is_seen:
                each.pane()

    def _make_job_pane(self) -> JobPane:
        from mcp_progress_monitor.gui.findings.view import JobFindings
        from mcp_progress_monitor.gui.jobs.pane import JobPane  # late, as all of them: see above

        findings = JobFindings(self._models.findings, self._appearance)
        pane = JobPane(
            self._appearance,
            self._on_jobs,
            self._window,
            self._models.jobs,
            findings,
            self._models.traffic.timeline.raw_of,
            self._models.findings.counts_of,
        )
        findings.jump_requested.connect(self.finding_opened)
        self._models.when_followed(lambda source: pane.set_source(source.jobs))
        pane.setMinimumHeight(_JOB_PANE_HEIGHT)
        self._models.feed.jobs_changed.connect(pane.apply)
        return pane

    def _make_timeline_pane(self) -> TimelinePane:
        from mcp_progress_monitor.gui.jobs.timeline import TimelinePane

        models = self._models
        pane = TimelinePane(models.jobs, models.shown_jobs, self._appearance, self._window)
        models.when_followed(lambda source: pane.timeline.set_source(source.jobs, source.now))
        return pane

    def _make_findings_pane(self) -> FindingsPane:
        from mcp_progress_monitor.gui.findings.pane import FindingsPane

        pane = FindingsPane(
            self._models.findings, self._appearance, self._on_jobs.commands, self._window
        )
        pane.restore(self._preferences.json_of("findings/look"))
        pane.set_watched(self.findings.is_seen)
        self.findings.dock.visibilityChanged.connect(pane.set_watched)
        return pane

    def _make_stderr_pane(self) -> StderrPane:
        from mcp_progress_monitor.gui.console.pane import StderrPane

        pane = StderrPane(self._appearance, self._window, self._models.titles)
        pane.restore(self._preferences.json_of("stderr/look"))
        return pane

    def _make_server_log_pane(self) -> ServerLogPane:
        from mcp_progress_monitor.gui.server_log.pane import ServerLogPane

        pane = ServerLogPane(self._models.server_log, self._appearance, self._window)
        pane.set_watched(self.server_log.is_seen)
        self.server_log.dock.visibilityChanged.connect(pane.set_watched)
        return pane

    def _make_question_panel(self) -> QuestionPanel:
        from mcp_progress_monitor.gui.questions.panel import QuestionPanel

        return QuestionPanel(self._models.questions, self._appearance, self._window)
