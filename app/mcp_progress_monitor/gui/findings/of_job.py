"""The findings of one job, as a section of its pane: the same rows as in the Findings pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import QStackedLayout, QWidget

from mcp_progress_monitor.gui.common.controls import EmptyNote
from mcp_progress_monitor.gui.common.layout import JobSection
from mcp_progress_monitor.gui.findings.groups import FindingsFilter
from mcp_progress_monitor.gui.findings.model import FINDING, JOB, SERVER
from mcp_progress_monitor.gui.findings.view import FindingTree

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.findings.model import FindingsModel
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.tracker.snapshot import JobId


class JobFindings(JobSection):
    """Lists what is wrong with a job; without what the user ignores."""

    jump_requested = Signal(object)  # the `Checked` whose first message is to be shown in Traffic

    def __init__(
        self, model: FindingsModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._job: JobId | None = None
        self.shown = FindingsFilter(model, self)
        self.tree = FindingTree(self.shown, appearance, self, without=(SERVER, JOB))
        self.tree.setAccessibleName("Findings of the job")
        self.tree.setToolTip("Show the first message in Traffic (Enter)")
        self.empty = EmptyNote("No findings for this job", appearance, self)
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.tree)
        self.tree.activated.connect(self._on_activated)
        model.badges_changed.connect(self._count)
        self.show_job(None)

    def show_job(self, job: JobId | None) -> None:
        if job is not None:
            self.shown.set_job(job)
        self._job = job
        self._count()

    @Slot()
    def _count(self) -> None:
        count = 0 if self._job is None else self.shown.count
        self._pages.setCurrentWidget(self.tree if count else self.empty)
        self.counted.emit(count)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        finding = index.data(FINDING)
        if finding is not None:
            self.jump_requested.emit(finding)
