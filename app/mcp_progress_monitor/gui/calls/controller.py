"""Opens the window for a new call, empty or filled from a job, and makes the call.

The window is imported when first opened: that is a fifth of the time until the main window is
visible.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.calls.memory import SavedCalls, forget_arguments
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.user_settings import GeneralSettings, PrivacySettings
from mcp_progress_monitor.gui.window_commands import NEW_CALL
from mcp_progress_monitor.protocol.messages import META, READ_RESOURCE
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.engine.call import CallSeries
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.calls.form import CallDialog
    from mcp_progress_monitor.gui.calls.offers import Offer
    from mcp_progress_monitor.gui.calls.server_page import ServerPage
    from mcp_progress_monitor.gui.calls.shelf import CopyForm
    from mcp_progress_monitor.gui.middle import Middle
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobId

_TITLE: Final = 60
_OPENING_MS: Final = 300  # delay between connecting a server and showing its page


class CallsController(QObject):
    """Shows the call form and sends its calls to the engine."""

    server_requested = Signal(object)
    """A tuple with the job of another client to edit; `edit` receives its call."""
    job_of_series_ended = Signal(object)
    """A `JobId` of several calls made in a row, before its end is shown."""
    series_ended = Signal(object, object)
    """The `SeriesEnd` of several calls, and the snapshots of their jobs."""

    def __init__(
        self,
        middle: Middle,
        engine: Engine,
        tasks: BackgroundTasks,
        report: Callable[[ErrorDetails], None],
        connect_server: Callable[[str], None],
        preferences: Preferences,
        appearance: Appearance,
    ) -> None:
        super().__init__(middle)
        self._middle = middle
        self._engine = engine
        self._tasks = tasks
        self._report = report
        self._connect_server = connect_server
        self._preferences = preferences
        self._appearance = appearance
        self._call: CallDialog | None = None
        self._series = 0  # the number of the newest series of calls
        self._stopped = 0  # series up to this number make no further calls
        self._page: ServerPage | None = None
        self._known: set[str] = set()
        self._new_server = ""
        self._is_unasked = False
        self._opening = QTimer(self)
        self._opening.setSingleShot(True)
        self._opening.setInterval(_OPENING_MS)
        self._opening.timeout.connect(self._on_opening_due)

    @Slot(object)
    def call_series(self, series: CallSeries) -> None:
        """Make calls one after the other, or in parallel, until all are made or it is stopped."""
        self._middle.show_jobs()
        self._series += 1
        name = f"{len(series.calls)} calls on {series.calls[0].server}"
        self._tasks.start(name, self._make_series, series, self._series)

    async def _make_series(self, series: CallSeries, number: int) -> None:
        may_start = functools.partial(self._may_start, number, len(series.calls))
        if len(series.calls) == 1:
            await self._engine.calls.make_series(series, may_start)
            return
        on_end = self.job_of_series_ended.emit
        end = await self._engine.calls.make_series(series, may_start, on_end)
        jobs = (self._engine.jobs.snapshot(job) for job in end.jobs)
        self.series_ended.emit(end, [job for job in jobs if job is not None])

    def _may_start(self, series: int, total: int, started: int) -> bool:
        """Show the progress of a series; False if it was stopped."""
        if series <= self._stopped:
            return False
        if self._call is not None and series == self._series:
            self._call.form.show_series(started, total)
        return True

    @Slot()
    def _stop_series(self) -> None:
        self._stopped = self._series

    @Slot(str, object)
    def _read_sets(self, path: str, schema: JsonObject) -> None:
        self._tasks.start("argument sets", self._show_sets, Path(path), schema)

    async def _show_sets(self, path: Path, schema: JsonObject) -> None:
        from mcp_progress_monitor.gui.calls.argument_sets import read_argument_sets

        sets = await anyio.to_thread.run_sync(read_argument_sets, path, schema)
        if self._call is not None:
            self._call.form.set_argument_sets(sets, path.name)

    @Slot(object, object, object, object)
    def _copy(
        self, form: CopyForm, server: ServerSnapshot, offer: Offer, arguments: JsonObject
    ) -> None:
        """Copy the call that the form has."""
        method, params = offer.kind.value, offer.params(arguments)
        self._copy_call(form, server, method, params, offer.schema)

    def copy_of_job(self, job: JobId, form: str) -> None:
        """Copy the call of a job as `form`: command or curl."""
        from mcp_progress_monitor.gui.calls.offers import OfferKind, offers_of
        from mcp_progress_monitor.gui.calls.shelf import CopyForm

        detail = self._engine.jobs.detail(job)
        if detail is None:
            return
        known = detail.snapshot
        if known.server not in self._engine.servers.names():
            self._report(ErrorDetails("This job's server is no longer in the list", known.server))
            return
        server = self._engine.servers.snapshot(known.server)
        params = {name: value for name, value in detail.params.items() if name != META}
        offers = offers_of(server, OfferKind(known.method))
        schema = next((each.schema for each in offers if each.name == params.get("name")), {})
        forms = {"command": CopyForm.COMMAND_LINE, "curl": CopyForm.CURL}
        self._copy_call(forms[form], server, known.method, params, schema)

    def _copy_call(
        self,
        form: CopyForm,
        server: ServerSnapshot,
        method: str,
        params: JsonObject,
        schema: JsonObject,
    ) -> None:
        from mcp_progress_monitor.exports import snippet
        from mcp_progress_monitor.gui.calls.shelf import CopyForm

        match form:
            case CopyForm.COMMAND_LINE:
                text: str | None = snippet.as_command_line(server.definition, method, params)
            case CopyForm.CURL:
                text = snippet.as_curl(server.definition, server.revision, method, params, schema)
            case CopyForm.PROGRAM:
                text = snippet.as_program(server.definition, method, params)
            case CopyForm.MESSAGE:
                text = snippet.as_message(method, params)
        if text is None:
            what = "curl can call only servers with Streamable HTTP"
            hint = "Copy the command line instead: it works with every server."
            self._report(ErrorDetails(what, server.name, hint))
        else:
            QGuiApplication.clipboard().setText(text)

    @Slot()
    def _keep_saved(self) -> None:
        """Write the saved calls immediately: they are the user's work."""
        if self._call is None:
            return
        self._preferences.keep_json("saved-calls", self._call.form.saved.state())
        if not self._preferences.save():
            what = "Saved calls could not be written to disk"
            hint = "Free some space or make the file writable, then save the call again."
            self._report(ErrorDetails(what, "window.ini in the data folder", hint))

    @carries_out(NEW_CALL)
    @Slot()
    def new_call(self) -> None:
        self._shown_call()

    @Slot(str, str, str)
    def new_call_of(self, server: str, method: str, name: str) -> None:
        """Open the call form on one tool, resource or prompt, with the cursor in its arguments."""
        form = self._shown_call().form
        if form.choose(server, method, name):
            form.enter_arguments()

    @Slot(str)
    def show_server(self, name: str) -> None:
        """Show what a server offers in the middle of the window, and move the focus there."""
        self._is_unasked = False
        self._show_page(name)
        if self._page is not None and self._page is self._middle.page:
            self._page.begins_at.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_page(self, name: str) -> None:
        if name not in self._engine.servers.names():
            return
        if self._page is None:
            from mcp_progress_monitor.gui.calls.server_page import ServerPage

            self._page = page = ServerPage(self._appearance, self._middle)
            page.back_requested.connect(self._middle.show_jobs)
            page.connect_requested.connect(self._connect_server)
            page.call_requested.connect(self.new_call_of)
        self._page.show_server(self._engine.servers.snapshot(name))
        self._middle.show_page(self._page)

    def show_new_servers(self) -> None:
        """Show what a newly connected server offers, if there are no jobs to watch.

        Not at once: its lists are being read, and the demo starts calls when it is connected.
        """
        servers = self._engine.servers.snapshots()
        up = {each.name for each in servers if each.state is ServerState.CONNECTED}
        fresh, self._known = up - self._known, up
        is_wanted = self._preferences.value(GeneralSettings.opens_page)
        if fresh and is_wanted:
            self._new_server = min(fresh)
            self._opening.start()

    def leave_page_for_jobs(self) -> None:
        """Show the jobs again instead of a page that opened automatically."""
        if self._is_unasked and self._engine.jobs.ids():
            self._is_unasked = False
            self._middle.show_jobs()

    @Slot()
    def _on_opening_due(self) -> None:
        if not self._engine.jobs.ids():
            self._is_unasked = True
            self._show_page(self._new_server)

    @Slot(object)
    def edit_and_send(self, job: JobId) -> None:
        """Open the call form with the request of a job, to be edited and sent again.

        For another client's job, once its server is connected here.
        """
        detail = self._engine.jobs.detail(job)
        if detail is None:
            return
        snapshot = detail.snapshot
        if snapshot.watched_client is not None:
            self.server_requested.emit((job,))
        else:
            self.edit(Call(snapshot.server, snapshot.method, detail.params))

    @Slot(object)
    def edit(self, call: Call) -> None:
        """Open the call form with a call; its server is or was connected."""
        arguments = call.params.get("arguments")
        self.open_call(
            call.server,
            call.method,
            str(call.params.get("uri" if call.method == READ_RESOURCE else "name", "")),
            arguments if isinstance(arguments, dict) else None,
        )

    def open_call(
        self, server: str, method: str, name: str, arguments: JsonObject | None = None
    ) -> None:
        """Open the call form on an offer with `arguments`, or report that it is gone."""
        form = self._shown_call().form
        self.refresh_servers()
        if not form.choose(server, method, name, arguments):
            self._report(
                ErrorDetails(
                    "Cannot edit this call: its server no longer offers it",
                    server,
                    "Connect the server, or re-issue the request unchanged.",
                )
            )

    @Slot()
    def refresh_servers(self) -> None:
        """Update the servers in an open form."""
        if self._call is not None:
            self._call.form.set_servers(self._engine.servers.snapshots())
        page = self._page
        if page is not None and page.server in self._engine.servers.names():
            page.show_server(self._engine.servers.snapshot(page.server))
        elif page is not None and page is self._middle.page:
            self._middle.show_jobs()

    def remembered(self) -> object:
        """Return the calls with their last arguments, as the state of a `CallMemory`."""
        form = None if self._call is None else self._call.form
        state = self._preferences.json_of("calls") if form is None else form.state()
        return state.get("arguments")

    def saved_calls(self, server: str) -> list[tuple[str, tuple[Call, ...]]]:
        """Return the calls on a server that the user saved, and those of each folder, by title.

        Streams of events are left out: they do not end, and other versions' methods.
        """
        from mcp_progress_monitor.gui.calls.offers import OfferKind, unlisted

        saved = SavedCalls()
        form = None if self._call is None else self._call.form
        kept = self._preferences.json_of("saved-calls") if form is None else form.saved.state()
        saved.restore(kept)
        ending = {kind.value for kind in OfferKind} - {OfferKind.EVENT.value}
        found: dict[str, tuple[Call, ...]] = {}
        for each in saved:
            if each.server != server or each.method not in ending:
                continue
            params = unlisted(OfferKind(each.method), each.name).params(each.arguments)
            call = (Call(server, each.method, params),)
            if each.folder:
                folder = f"All in {one_line(each.folder, _TITLE)}"
                found[folder] = (*found.get(folder, ()), *call)
            found[one_line(f"{each.folder} / {each.title}".lstrip(" /"), _TITLE)] = call
        return list(found.items())

    def close(self) -> None:
        """Close open windows, and save what was typed."""
        if self._call is not None:
            state = self._call.form.state()
            if not self._preferences.value(PrivacySettings.arguments):
                state["arguments"] = []
            self._preferences.keep_json("calls", state)
            self._call.close()

    def forget_arguments(self) -> None:
        """Forget the arguments that were sent, for all servers and tools."""
        if self._call is not None:
            self._call.form.forget_arguments()
        forget_arguments(self._preferences)

    def _shown_call(self) -> CallDialog:
        if self._call is None:
            from mcp_progress_monitor.gui.calls.form import CallDialog

            self._call = CallDialog(self._appearance, self._middle.window())
            form = self._call.form
            form.series_requested.connect(self.call_series)
            form.stop_requested.connect(self._stop_series)
            form.connect_requested.connect(self._connect_server)
            form.sets_requested.connect(self._read_sets)
            form.copy_requested.connect(self._copy)
            form.saved_changed.connect(self._keep_saved)
            self.refresh_servers()
            form.restore(self._preferences.json_of("calls"))
            form.saved.restore(self._preferences.json_of("saved-calls"))
        self._call.form.set_default_limits(self._engine.calls.default_limits)
        if not self._call.isVisible():
            self._call.form.begin()
        self._call.show()
        self._call.raise_()
        self._call.activateWindow()
        return self._call
