"""The Job pane: header, history, ticks, request, result and attempts of one job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QStackedLayout, QTabWidget, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import EmptyNote, plain_label, set_text_colour
from mcp_progress_monitor.gui.common.json_view import JsonPage
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.jobs.attempts import AttemptsSection
from mcp_progress_monitor.gui.jobs.header import JobHeader, request_line
from mcp_progress_monitor.gui.jobs.history import HistorySection
from mcp_progress_monitor.gui.jobs.row import JobRow
from mcp_progress_monitor.gui.jobs.server_requests import ServerRequestsSection
from mcp_progress_monitor.gui.jobs.task import TaskSection
from mcp_progress_monitor.gui.jobs.ticks import TicksSection
from mcp_progress_monitor.gui.results.view import RawOf, ResultView, no_raw
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Tone
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtGui import QShowEvent

    from mcp_progress_monitor.gui.common.commands import CommandActions
    from mcp_progress_monitor.gui.common.layout import JobSection
    from mcp_progress_monitor.gui.jobs.compare import ComparisonSection
    from mcp_progress_monitor.gui.jobs.model import JobsModel
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobDetail, JobId
    from mcp_progress_monitor.tracker.tracker import Jobs

_FINDINGS: Final = "Fin&dings"
_SECOND_MS: Final = 1000
_LEAST_PAGE: Final = 60  # pixels of a page that always stay in sight


def _no_counts(_job: JobId) -> Mapping[str, int]:
    return {}


class JobPane(QWidget):
    """Shows one job; reads details only while visible, and only for the open section.

    With `rows` it shows the same snapshot as the job's row: made at another moment, rate and time
    left would differ.
    """

    automatic_limit_changed = Signal(int)
    frame_followed = Signal(object)  # the number of a frame to show in Traffic
    search_requested = Signal(object)  # text to search Traffic for
    link_clicked = Signal(str)  # the address of a link in a rendered result

    def __init__(
        self,
        appearance: Appearance,
        actions: CommandActions,
        parent: QWidget | None = None,
        rows: JobsModel | None = None,
        findings: JobSection | None = None,
        raw_of: RawOf = no_raw,
        counts_of: Callable[[JobId], Mapping[str, int]] = _no_counts,
    ) -> None:
        """`actions` are those of the job list; `findings`, if given, are a separate section.

        `raw_of` reads messages that are too large to decode; `counts_of` counts a job's findings.
        """
        super().__init__(parent)
        self._counts_of = counts_of
        self.comparison: ComparisonSection | None = None
        self._before: JobId | None = None
        """The run before the shown job, once that is over; for which job and state it counts:"""
        self._compared: tuple[JobId, bool] | None = None
        self._opens_comparison = False
        self.findings = findings
        self.commands: Final = actions
        self._appearance = appearance
        self._rows = rows
        self._raw_of = raw_of
        self._source: Jobs | None = None
        self._job: JobId | None = None
        self._request_of: JobId | None = None
        self.header = JobHeader(appearance, actions, self)
        self.tabs = QTabWidget(self)  # before its pages: Tab goes from its bar to them
        self.header.add_corner(self.tabs)
        self.history = HistorySection(appearance, self)
        self.ticks = TicksSection(appearance, self)
        self.request = JsonPage(appearance, "Request as a tree", self)
        self._request_line = plain_label(self)
        set_text_colour(self._request_line, appearance, Tone.MUTED)
        self.request_page = QWidget(self)
        self._usual: QWidget | None = None
        """The section to go back to after a failed job, whose result comes first."""
        self.result = ResultView(appearance, actions.commands, self, raw_of)
        self.attempts = AttemptsSection(actions, self)
        self.server_requests = ServerRequestsSection(self)
        self.task = TaskSection(appearance, self)
        self._add_sections()
        self._second = QTimer(self)
        self._second.setInterval(_SECOND_MS)
        self._second.setTimerType(Qt.TimerType.PreciseTimer)  # clocks that skip no second
        self._second.timeout.connect(self._refresh)
        if rows is not None:
            rows.second_passed.connect(self._refresh)
        self._pages = self._lay_out()
        self.attempts.limit_changed.connect(self.automatic_limit_changed)
        for section in (self.history, self.ticks, self.attempts, self.server_requests, self.task):
            section.frame_followed.connect(self.frame_followed)
        self.result.link_clicked.connect(self.link_clicked)
        for view in (self.request, self.result):
            view.search_requested.connect(self.search_requested)

    def set_source(self, source: Jobs) -> None:
        """Read the jobs from `source`."""
        self._source = source
        self._request_of = self._compared = None
        self.show_job(None)

    @property
    def job(self) -> JobId | None:
        """The shown job; None if there is none."""
        return self._job

    @Slot(object)
    def show_job(self, job: JobId | None) -> None:
        """Show `job` from now on; None shows none."""
        if job != self._job:
            self._job = job
            self._opens_comparison = False
            self._open_result_of_failed()
        if self.findings is not None:
            self.findings.show_job(job)
        self._refresh()

    def open_comparison(self) -> None:
        """Open the comparison with the run before, if there is one, as soon as it is made."""
        self._opens_comparison = True
        self._refresh()

    def _open_result_of_failed(self) -> None:
        """Open *Result* of a job that failed, and the section before it for the next job."""
        if self._source is None or self._job is None:
            return
        job = self._source.snapshot(self._job)
        if job is not None and job.state is JobState.FAILED:
            usual = self._usual or self.tabs.currentWidget()
            self.tabs.setCurrentWidget(self.result)
            self._usual = usual
        elif job is not None and self._usual is not None:
            self.tabs.setCurrentWidget(self._usual)
            self._usual = None

    @Slot(object)
    def apply(self, changes: ChangeSet) -> None:
        """Apply changes of the job (`Feed.jobs_changed`)."""
        if self._job is None:
            return
        if self._job in changes.removed:
            self.show_job(None)
        elif self._job in changes.progressed:
            self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with changes while hidden."""
        super().showEvent(event)
        self._refresh()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._appearance.follow(QGuiApplication.palette())

    def _add_sections(self) -> None:
        tabs = self.tabs
        tabs.setDocumentMode(True)
        tabs.setAccessibleName("Sections of the job")
        tabs.addTab(self.history, "&Progress")
        tabs.addTab(self.ticks, "&Ticks")
        parts = (self._request_line, (self.request, 1))
        in_column(*parts, of=self.request_page, margins=0, spacing=0)
        self._request_line.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        tabs.addTab(self.request_page, "Re&quest")
        tabs.addTab(self.result, "Resu&lt")
        tabs.addTab(self.attempts, "&Attempts")
        tabs.addTab(self.server_requests, "Quest&ions")
        tabs.addTab(self.task, "Tas&k")
        if self.findings is not None:
            tabs.addTab(self.findings, _FINDINGS)
            self.findings.counted.connect(self._on_findings_counted)
        tabs.currentChanged.connect(self._on_section_chosen)

    def _lay_out(self) -> QStackedLayout:
        story = QWidget(self)
        in_column(self.header, (self.tabs, 1), of=story, margins=0, spacing=0)
        # If there is little room the pages shrink, not the header: its buttons stay complete.
        self.tabs.setMinimumHeight(self.tabs.tabBar().sizeHint().height() + _LEAST_PAGE)
        nothing = EmptyNote("Select a job to see its details", self._appearance, self)
        pages = QStackedLayout(self)
        pages.addWidget(nothing)
        pages.addWidget(story)
        return pages

    @Slot()
    def _refresh(self) -> None:
        if not self.isVisible():
            self._second.stop()
            return
        detail = None
        if self._source is not None and self._job is not None:
            detail = self._source.detail(self._job)
        row = None if self._rows is None or self._job is None else self._rows.row(self._job)
        if detail is not None and row is not None:
            detail = detail._replace(snapshot=row.job)
        self._pages.setCurrentIndex(0 if detail is None else 1)
        if detail is None:
            self._second.stop()
            return
        self.header.show_row(row or JobRow(detail.snapshot, None))
        self.tabs.setTabVisible(self.tabs.indexOf(self.task), detail.snapshot.task is not None)
        self._offer_comparison(detail)
        self._show_section(detail)
        self._keep_time(detail)

    def _offer_comparison(self, detail: JobDetail) -> None:
        """Show the section of a job that is over and has a run before it."""
        job, tabs = detail.snapshot, self.tabs
        if self._compared != (job.id, job.state.is_over):
            self._compared = job.id, job.state.is_over
            source = self._source if job.state.is_over else None
            self._before = None if source is None else source.before(job.id)
        is_there = self._before is not None
        if self.comparison is None:
            if not is_there:
                return
            from mcp_progress_monitor.gui.jobs.compare import ComparisonSection  # few need it

            self.comparison = ComparisonSection(self._appearance, self)
            tabs.insertTab(tabs.indexOf(self.result) + 1, self.comparison, "Co&mpared")
        if not is_there and tabs.currentWidget() is self.comparison:
            tabs.setCurrentWidget(self.history)  # Qt would choose the next one
        tabs.setTabVisible(tabs.indexOf(self.comparison), is_there)
        # Without an empty section all of them fit a small window.
        is_empty = not (detail.children or detail.server_requests)
        is_shown = not (is_there and is_empty) or tabs.currentWidget() is self.server_requests
        tabs.setTabVisible(tabs.indexOf(self.server_requests), is_shown)
        if is_there and self._opens_comparison:
            self._opens_comparison = False
            tabs.setCurrentWidget(self.comparison)

    def _show_comparison(self, detail: JobDetail) -> None:
        before = self._before
        earlier = None if before is None or self._source is None else self._source.detail(before)
        if self.comparison is not None and before is not None and earlier is not None:
            counts = self._counts_of(before), self._counts_of(detail.snapshot.id)
            self.comparison.show_runs(earlier, detail, counts)

    def _show_section(self, detail: JobDetail) -> None:
        section = self.tabs.currentWidget()
        if isinstance(section, HistorySection | TicksSection | AttemptsSection | TaskSection):
            section.show_detail(detail)
        elif section is self.server_requests and self._source is not None:
            self.server_requests.show_detail(detail, self._source.detail)
        elif section is self.comparison:
            self._show_comparison(detail)
        elif section is self.result:
            self.result.show_result(detail.snapshot, detail.answer)
        elif section is self.request_page and self._request_of != self._job:
            self._request_of = self._job
            self._request_line.setText(request_line(detail.snapshot))
            raw = partial(self._raw_of, detail.snapshot.request)
            self.request.show_value(detail.params, raw)

    def _keep_time(self, detail: JobDetail) -> None:
        state = detail.snapshot.state
        if self._rows is not None:
            return  # their snapshot is up to date
        if state.is_over and state is not JobState.RESUMABLE:
            self._second.stop()
        elif not self._second.isActive():
            self._second.start()

    @Slot(int)
    def _on_findings_counted(self, count: int) -> None:
        if self.findings is not None:
            text = f"{_FINDINGS} ({formatting.number(count)})" if count else _FINDINGS
            self.tabs.setTabText(self.tabs.indexOf(self.findings), text)

    @Slot(int)
    def _on_section_chosen(self, _place: int) -> None:
        self._usual = None
        self._refresh()
