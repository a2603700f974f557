"""Cancels, resumes, retries and forgets jobs, after asking for confirmation where needed.

The dialogs are imported when first opened, which keeps the start of the window short.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec

import anyio
from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.engine.call import AutoResume
from mcp_progress_monitor.engine.origins import ServerChangedError, WatchedServerError
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.formatting import count
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.dialog_watch import watch
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.jobs import commands
from mcp_progress_monitor.gui.jobs.commands import is_kept, is_removable
from mcp_progress_monitor.gui.window_commands import REMOVE_FINISHED
from mcp_progress_monitor.snapshots.limits import Limit, Limits
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.common.commands import Command
    from mcp_progress_monitor.gui.confirmations import ForgetQuestion, ReissueQuestion
    from mcp_progress_monitor.gui.jobs.model import JobsModel
    from mcp_progress_monitor.gui.servers.consent import SavedServerDialog
    from mcp_progress_monitor.gui.undo import UndoOffer
    from mcp_progress_monitor.gui.user_settings import UserSettings
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.tracker.snapshot import JobId

P = ParamSpec("P")

_LONGEST_NAME: Final = 60
_MINUTE_S: Final = 60.0


class JobsController(QObject):
    """Turns actions on jobs into engine requests and reports each error once."""

    server_requested = Signal(object, object)
    """A `JobId` and its `ServerChangedError`: the user has to confirm what would be started."""
    approval_requested = Signal(object, object, object)
    """A `JobId` of another client, its `Origin`, and the slot to call once approved."""
    edit_ready = Signal(object)
    """The `Call` of a job of another client, whose server is connected here."""

    def __init__(
        self,
        engine: Engine,
        tasks: BackgroundTasks,
        report: Callable[[ErrorDetails], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._tasks = tasks
        self._report = report
        self._limit = AutoResume().limit

    @carries_out(commands.CANCEL)
    def cancel(self, jobs: Iterable[JobId]) -> None:
        self._tasks.start_each("cancel job", self._engine.calls.cancel, jobs)

    @carries_out(commands.RECONNECT)
    def reconnect_streams(self, jobs: Iterable[JobId]) -> None:
        """Reconnect the HTTP streams that carry the replies to `jobs`."""
        for job in jobs:
            self._run_reported(self._engine.calls.reconnect_stream, job)

    @carries_out(commands.IDLE_CLOCK.one, Limits(idle_s=_MINUTE_S))
    @carries_out(commands.IDLE_CLOCK.ten, Limits(idle_s=10 * _MINUTE_S))
    @carries_out(commands.TOTAL_CLOCK.one, Limits(total_s=_MINUTE_S))
    @carries_out(commands.TOTAL_CLOCK.ten, Limits(total_s=10 * _MINUTE_S))
    def extend(self, job: JobId, step: Limits) -> None:
        """Extend the limits of a job by the seconds in `step`."""
        self._run_reported(
            self._engine.calls.extend, job, idle_s=step.idle_s or 0, total_s=step.total_s or 0
        )

    @carries_out(commands.IDLE_CLOCK.off, Limit.IDLE)
    @carries_out(commands.TOTAL_CLOCK.off, Limit.TOTAL)
    def turn_off(self, job: JobId, is_off: bool, limit: Limit) -> None:
        """Turn a limit of a running job off, or on again."""
        self._run_reported(self._engine.calls.turn_limit, job, limit, is_on=not is_off)

    def _run_reported(self, work: Callable[P, None], *given: P.args, **named: P.kwargs) -> None:
        """Do quick work; report its error."""
        try:
            work(*given, **named)
        except UserError as error:
            self._report(error.details)

    def remove(self, jobs: Iterable[JobId]) -> None:
        """Remove jobs that are over from the list."""
        self._engine.jobs.remove(jobs)

    def finished(self) -> list[JobId]:
        """All jobs that are over, except resumable ones."""
        found = (self._engine.jobs.snapshot(job) for job in self._engine.jobs.ids())
        return [job.id for job in found if job is not None and is_removable(job)]

    @Slot(int)
    def set_limit(self, attempts: int) -> None:
        self._limit = attempts
        for job in self._engine.jobs.ids():
            found = self._engine.jobs.snapshot(job)
            if found is not None and found.is_automatic:
                self.set_automatic((job,), is_wanted=True)

    @carries_out(commands.RESUME)
    @Slot(object)
    def resume(self, jobs: Iterable[JobId]) -> None:
        """Resume `jobs` where they stopped, all in parallel."""
        self._tasks.start_each("resume job", self._resume, jobs)

    @carries_out(commands.PICK_UP)
    def pick_up(self, jobs: Iterable[JobId]) -> None:
        """Follow tasks that were left on their servers."""
        self._tasks.start_each("pick up job", self._pick_up, jobs)

    @carries_out(commands.AUTOMATIC)
    def set_automatic(self, jobs: Iterable[JobId], is_wanted: bool) -> None:
        """Switch automatic resuming of `jobs` on or off."""
        for job in jobs:
            limit = AutoResume(limit=self._limit) if is_wanted else None
            self._run_reported(self._engine.resumer.set_automatic, job, limit)

    @Slot(object)
    def reissue(self, jobs: Iterable[JobId]) -> None:
        """Send the complete requests of `jobs` again, as new jobs."""
        self._tasks.start_each("re-issue job", self._reissue, jobs)

    @Slot(object)
    def edit(self, jobs: Iterable[JobId]) -> None:
        """Connect the servers of other clients' `jobs` here, to edit their requests."""
        for job in jobs:
            self._tasks.start(f"edit job {job}", self._edit, job)

    @Slot(object)
    def forget(self, jobs: Iterable[JobId]) -> None:
        """Delete the saved data of `jobs`, and their rows."""
        self._tasks.start("forget jobs", self._forget, tuple(jobs))

    async def _forget(self, jobs: Iterable[JobId]) -> None:
        with anyio.CancelScope(shield=True):  # complete it even while closing
            await self._engine.jobs.forget(jobs)

    @Slot(object)
    def resume_as_saved(self, jobs: Iterable[JobId]) -> None:
        """Resume `jobs` on their saved servers, which the user approved."""
        for job in jobs:
            self._tasks.start(f"resume job {job} as saved", self._resume_as_saved, job)

    async def _resume(self, job: JobId) -> None:
        found = self._engine.jobs.snapshot(job)
        is_task = found is not None and found.can_resume_here and found.task is not None
        try:
            if is_task:
                await self._engine.tasks.pick_up(job)
            else:
                await self._engine.resumer.resume(job)
        except ServerChangedError as changed:
            self.server_requested.emit(job, changed)
        except WatchedServerError as error:
            self.approval_requested.emit(job, error.origin, self.resume)

    async def _reissue(self, job: JobId) -> None:
        """No token binds a new job to the old server: the user may prefer the current one."""
        try:
            await self._engine.calls.reissue(job)
        except ServerChangedError as changed:
            hint = (
                "Edit and re-issue the request, or restore the server's earlier definition and "
                "connect it."
            )
            raise UserError(changed.details._replace(hint=hint)) from changed
        except WatchedServerError as error:
            self.approval_requested.emit(job, error.origin, self.reissue)

    async def _edit(self, job: JobId) -> None:
        try:
            self.edit_ready.emit(await self._engine.calls.reach(job))
        except WatchedServerError as error:
            self.approval_requested.emit(job, error.origin, self.edit)

    async def _pick_up(self, job: JobId) -> None:
        try:
            await self._engine.tasks.pick_up(job)
        except ServerChangedError as changed:
            self.server_requested.emit(job, changed)

    async def _resume_as_saved(self, job: JobId) -> None:
        if self._engine.tasks.can_pick_up(job):
            await self._engine.tasks.pick_up(job, use_saved_definition=True)
        else:
            await self._engine.resumer.resume(job, use_saved_definition=True)


class JobRemoval(QObject):
    """Removes jobs with undo: rows disappear at once, the rest once it is final.

    Hides the rows of `model`, and lets `jobs` remove them once `offer` has ended.
    """

    def __init__(
        self, model: JobsModel, jobs: JobsController, offer: UndoOffer, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._jobs = jobs
        self._offer = offer

    @Slot(object)
    def remove(self, jobs: Iterable[JobId]) -> None:
        """Remove jobs that are over from the list."""
        self._take(jobs, "Removed", self._jobs.remove)

    @carries_out(REMOVE_FINISHED)
    @Slot()
    def remove_finished(self) -> None:
        """Remove all jobs that are over from the list, except resumable ones."""
        self._take(self._jobs.finished(), "Removed", self._jobs.remove)

    @Slot(object)
    def forget(self, jobs: Iterable[JobId]) -> None:
        """Delete the saved data of `jobs`, and their rows."""
        self._take(jobs, "Forgot", self._jobs.forget)

    def _take(
        self, jobs: Iterable[JobId], done: str, finish: Callable[[tuple[JobId, ...]], None]
    ) -> None:
        found = [job for job in map(self._model.snapshot, jobs) if job is not None]
        over = tuple(job.id for job in found if job.state.is_over)
        if not over:
            return
        named = next(job for job in found if job.id == over[0])
        name = job_texts.name(named)
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}…"
        what = name if len(over) == 1 else count(len(over), "job")
        # Settle the earlier offer first, so that it neither restores rows nor removes them twice.
        self._offer.offer(
            f"{done} {what}.", partial(self._model.show_again, over), partial(finish, over)
        )
        self._model.hide(over)


class JobDialogs(QObject):
    """Opens the confirmations for jobs and passes confirmed actions on."""

    def __init__(
        self,
        parent: QWidget,
        engine: Engine,
        resuming: JobsController,
        removal: JobRemoval,
        settings: UserSettings,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._engine = engine
        self._resuming = resuming
        self._removal = removal
        self._settings = settings
        self._servers: dict[str, SavedServerDialog] = {}
        resuming.server_requested.connect(self.ask_for_server)

    @carries_out(commands.REMOVE)
    def remove(self, jobs: Iterable[JobId]) -> None:
        """Remove jobs that are over; ask first about those whose resume tokens would be lost."""
        found = [job for job in map(self._engine.jobs.snapshot, jobs) if job is not None]
        removable = [job.id for job in found if is_removable(job)]
        if removable:
            self._removal.remove(removable)
        self.ask_to_forget(job.id for job in found if is_kept(job))

    @carries_out(commands.FORGET)
    def ask_to_forget(self, jobs: Iterable[JobId]) -> None:
        """Ask before deleting the resume tokens of `jobs`."""
        found = [job for job in map(self._engine.jobs.snapshot, jobs) if job is not None]
        if not found:
            return
        if self._settings.is_asked("forget"):
            from mcp_progress_monitor.gui.confirmations import ForgetQuestion

            question = ForgetQuestion(found, self._parent)
            watch(question, self._is_to_forget)
            question.forget_confirmed.connect(self._on_forget_confirmed)
            open_dialog(question)
        else:
            self._removal.forget([job.id for job in found])

    @carries_out(commands.REISSUE)
    def ask_to_reissue(self, jobs: Iterable[JobId]) -> None:
        """Warn once for all of `jobs` that work may be done twice, if warnings are on."""
        found = [job for job in map(self._engine.jobs.snapshot, jobs) if job is not None]
        if not found:
            return
        if self._settings.is_asked("reissue"):
            from mcp_progress_monitor.gui.confirmations import ReissueQuestion

            question = ReissueQuestion(found, self._parent)
            watch(question, self._is_to_reissue)
            question.reissue_confirmed.connect(self._on_reissue_agreed)
            open_dialog(question)
        else:
            self._resuming.reissue(tuple(job.id for job in found))

    def _is_to_forget(self, question: ForgetQuestion) -> bool:
        return self._keep(question, commands.FORGET)

    def _is_to_reissue(self, question: ReissueQuestion) -> bool:
        return self._keep(question, commands.REISSUE)

    def _keep(self, question: ForgetQuestion | ReissueQuestion, command: Command) -> bool:
        """Leave jobs out of a question to which its command does not apply any more."""
        jobs = map(self._engine.jobs.snapshot, question.jobs)
        left = [job for job in jobs if job is not None and command.applies(job)]
        question.keep(left)
        return bool(left)

    @Slot(object, object)
    def ask_for_server(self, job: JobId, changed: ServerChangedError) -> None:
        """Show what a saved job would start; one question for all jobs with the same definition."""
        key = changed.definition.fingerprint
        dialog = self._servers.get(key)
        if dialog is None:
            from mcp_progress_monitor.gui.servers.consent import SavedServerDialog

            now = self._definition_now(changed.definition.name)
            dialog = SavedServerDialog(changed.details, changed.definition, now, self._parent)
            dialog.saved_server_approved.connect(self._resuming.resume_as_saved)
            dialog.finished.connect(self._on_server_answered)
            self._servers[key] = dialog
            watch(dialog, self._is_to_resume)
            open_dialog(dialog)
        dialog.add_job(job)

    def _is_to_resume(self, dialog: SavedServerDialog) -> bool:
        """Keep a question up to date; False once none of its jobs can be resumed."""
        found = map(self._engine.jobs.snapshot, dialog.jobs)
        left = [
            job.id
            for job in found
            if job is not None and (commands.is_resumable(job) or commands.may_be_picked_up(job))
        ]
        dialog.keep(left, self._definition_now(dialog.server))
        return bool(left)

    def _definition_now(self, name: str) -> ServerDefinition | None:
        found = (
            server.definition for server in self._engine.servers.snapshots() if server.name == name
        )
        return next(found, None)

    @Slot(object, bool)
    def _on_reissue_agreed(self, jobs: Iterable[JobId], is_asked: bool) -> None:
        if not is_asked:
            self._settings.stop_asking("reissue")
        self._resuming.reissue(jobs)

    @Slot(object, bool)
    def _on_forget_confirmed(self, jobs: Iterable[JobId], is_asked: bool) -> None:
        if not is_asked:
            self._settings.stop_asking("forget")
        self._removal.forget(jobs)

    @Slot()
    def _on_server_answered(self) -> None:
        self._servers = {key: d for key, d in self._servers.items() if d is not self.sender()}
