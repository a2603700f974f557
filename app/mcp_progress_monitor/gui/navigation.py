"""Navigation between panes, and copying: actions that need no server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QGuiApplication

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.web_pages import open_page
from mcp_progress_monitor.gui.help.controller import Help
from mcp_progress_monitor.gui.jobs import commands
from mcp_progress_monitor.gui.jobs.filter_model import JobGroup
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.user_settings import TelemetrySettings
from mcp_progress_monitor.gui.window_commands import STATISTICS
from mcp_progress_monitor.protocol.secrets import without_tokens
from mcp_progress_monitor.protocol.trace_context import parse_traceparent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.gui.jobs.filter_model import JobFilter
    from mcp_progress_monitor.gui.main_window import MainWindow
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId
    from mcp_progress_monitor.tracker.tracker import Jobs


class Navigation(QObject):
    """Connects the panes of a live or recording window; a child of the window."""

    def __init__(
        self,
        window: MainWindow,
        jobs: Jobs,
        shown: JobFilter,
        report: Callable[[ErrorDetails], None],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._jobs = jobs
        self._report = report
        window.commands.join(self)
        window.job_list.selection_changed.connect(self._on_selection_changed)
        late = window.late
        late.questions.when_made(self._join_question_panel)
        late.job.when_made(self._join_job_pane)
        late.timeline.when_made(self._join_timeline_pane)
        late.server_log.when_made(self._join_server_log_pane)
        late.stderr.when_made(self._join_stderr_pane)
        window.traffic_pane.controller.job_wanted.connect(self.open_job)
        window.job_filters.group_selected.connect(shown.set_group)
        window.filter_edit.textChanged.connect(shown.set_text)
        self._rows = shown.jobs
        self._again: JobId | None = None  # the newest call that ended, until it is shown
        self._rows.rowsInserted.connect(self._open_again)
        self._help = Help(window, window.commands, window.data_dir)

    def _join_question_panel(self) -> None:
        self._window.question_panel.job_opened.connect(self.open_job)

    def _join_job_pane(self) -> None:
        self._window.job_pane.search_requested.connect(self._on_search_requested)
        self._window.job_pane.frame_followed.connect(self._on_frame_followed)

    def _join_timeline_pane(self) -> None:
        pane = self._window.timeline_pane
        pane.traffic_requested.connect(self._on_filter_requested)
        pane.timeline.job_opened.connect(self.open_job)
        pane.timeline.job_selected.connect(self._window.job_list.select)

    def _join_server_log_pane(self) -> None:
        self._window.server_log_pane.frame_followed.connect(self._on_frame_followed)

    def _join_stderr_pane(self) -> None:
        self._window.stderr_pane.frame_opened.connect(self._on_frame_followed)

    @carries_out(commands.OPEN)
    @Slot(object)
    def open_job(self, job: JobId) -> None:
        self._window.middle.show_jobs()
        self._window.job_list.select(job)
        self._window.job_pane.show_job(job)
        self._window.open_dock("job")

    def reveal_job(self, job: JobId) -> None:
        """Open a job; what hides it in the list is cleared."""
        if not self._window.job_list.select(job):
            self._window.filter_edit.clear()
            self._window.job_filters.select(JobGroup.ALL)
        self.open_job(job)

    @Slot(object)
    def compare_again(self, job: JobId) -> None:
        """Open a job that was called again, compared with the run before, once it is listed."""
        self._again = job
        self._open_again()

    @Slot()
    def _open_again(self) -> None:
        if self._again is not None and self._rows.row_of(self._again) is not None:
            job, self._again = self._again, None
            self.reveal_job(job)
            self._window.job_pane.open_comparison()

    @Slot(object, str)
    def show_message(self, number: int, notice: str) -> None:
        """Show a message in Traffic, with a notice about it."""
        self._on_frame_followed(number)
        self._window.traffic_pane.add_notice(notice)

    @carries_out(commands.COMPARE)
    def compare(self, jobs: tuple[JobId, JobId]) -> None:
        """Compare two jobs in their current state, the earlier one first."""
        first, second = map(self._jobs.detail, sorted(jobs))
        if first is None or second is None:
            return
        from mcp_progress_monitor.gui.jobs.compare import CompareDialog  # late, like all dialogs

        dialog = CompareDialog(first, second, self._window.appearance, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.show()

    @carries_out(STATISTICS)
    def show_statistics(self) -> None:
        """Show the figures of all calls by tool."""
        from mcp_progress_monitor.gui.jobs.compare import StatisticsDialog  # idem

        dialog = StatisticsDialog(self._jobs, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.calls_wanted.connect(self.show_jobs_of)
        dialog.show()

    @carries_out(on_servers.STDERR)
    @carries_out(on_servers.WATCHED_STDERR)
    @Slot(str)
    def show_stderr(self, server: str) -> None:
        self._window.stderr_pane.choose_server(server)
        self._window.open_dock("stderr")

    @carries_out(on_servers.JOBS)
    @carries_out(on_servers.WATCHED_JOBS)
    @Slot(str)
    def show_jobs_of(self, text: str) -> None:
        """Filter the job list by the name of a server or tool."""
        self._window.middle.show_jobs()
        self._window.job_filters.select(JobGroup.ALL)
        self._window.filter_edit.setText(text)

    @carries_out(on_servers.TRAFFIC)
    @carries_out(on_servers.WATCHED_TRAFFIC)
    @Slot(str)
    def show_traffic_of(self, server: str) -> None:
        """Show the messages of a server alone."""
        from mcp_progress_monitor.filtering.language import term  # late: no start waits for it

        self._on_filter_requested(term("server", "==", server))

    @carries_out(commands.COPY_REQUEST, "request")
    @carries_out(commands.COPY_RESULT, "result")
    @carries_out(commands.COPY_TOKEN, "token")
    @carries_out(commands.COPY_TRACE, "traceparent")
    def copy(self, job: JobId, what: str) -> None:
        detail = self._jobs.detail(job)
        if detail is not None:
            QGuiApplication.clipboard().setText(copied(detail, what))

    @carries_out(commands.OPEN_TRACE)
    def open_trace(self, job: JobId) -> None:
        """Open the trace of a job in the browser, at the address that the user chose."""
        found = self._jobs.snapshot(job)
        context = None if found is None else parse_traceparent(found.traceparent)
        address = self._window.settings.of(TelemetrySettings).trace_url
        if context is None:
            return
        if not address:
            hint = "Enter it in Settings, Telemetry, such as https://…/trace/{trace_id}."
            self._report(ErrorDetails("The address of traces is not known", hint=hint))
            return
        url = address.replace("{trace_id}", f"{context.trace_id:032x}")
        error = open_page(url.replace("{span_id}", f"{context.span_id:016x}"))
        if error is not None:
            self._report(error)

    @Slot(object)
    def _on_selection_changed(self, selected: Sequence[JobId]) -> None:
        if selected and self._window.late.timeline.is_made:
            self._window.timeline_pane.timeline.set_current(selected[0])
        if selected and self._window.job_pane.job != selected[0]:
            self._window.job_pane.show_job(selected[0])

    @Slot(object)
    def _on_frame_followed(self, number: int) -> None:
        self._window.open_dock("traffic")
        self._window.traffic_pane.follow_frame(number)

    @Slot(object)
    def _on_search_requested(self, text: str) -> None:
        self._window.open_dock("traffic")
        self._window.traffic_pane.search_for(text)

    @Slot(str)
    def _on_filter_requested(self, text: str) -> None:
        self._window.open_dock("traffic")
        self._window.traffic_pane.set_filter(TrafficFilter(text=text))

    @carries_out(commands.FOLLOW)
    def follow_job(self, job: JobId) -> None:
        """Show the messages of the job; for one of an earlier run, those with its token."""
        found = self._jobs.snapshot(job)
        if found is None:
            return
        if found.request > 0:
            self._window.open_dock("traffic")
            self._window.traffic_pane.follow_job(job)
        elif found.token is not None:
            self._on_search_requested(token_text(found.token))
        else:
            what = "The messages of this job are from an earlier run of the program"
            self._report(ErrorDetails(what, found.server))


def token_text(token: object) -> str:
    """A progress token as searched for: a string unquoted, a number as JSON."""
    return token if isinstance(token, str) else json.dumps(token)


def copied(detail: JobDetail, what: str) -> str:
    """A job's request, result or token as text; resume tokens stay hidden."""
    if what == "token":
        return token_text(detail.snapshot.token)
    if what == "traceparent":
        return detail.snapshot.traceparent or ""
    if what == "request":
        request = {"method": detail.snapshot.method, "params": detail.params}
        return json.dumps(request, indent=2, ensure_ascii=False, default=str)
    answer = detail.answer
    if answer is None:
        return ""
    body = answer.error if answer.result is None else answer.result
    return json.dumps(without_tokens(body or {}), indent=2, ensure_ascii=False, default=str)
