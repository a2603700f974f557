"""What can be wished of tasks that run at servers: the part of a monitor for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.protocol.task_requests import TaskOffer
from mcp_progress_monitor.sessions.connect_failure import not_connected
from mcp_progress_monitor.sessions.limits import USUAL, chosen_limits, usual_limits
from mcp_progress_monitor.sessions.task_listing import list_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.calls import Outcome
    from mcp_progress_monitor.protocol.task_state import TaskView
    from mcp_progress_monitor.resuming.following import Following
    from mcp_progress_monitor.sessions.limits import LimitChoice
    from mcp_progress_monitor.sessions.manager import Manager
    from mcp_progress_monitor.store.tasks import SavedTaskId
    from mcp_progress_monitor.tracker.snapshot import JobId


class TaskWishes:
    """Tasks by job and by server."""

    def __init__(self, following: Following, manager: Manager) -> None:
        """Wishes to `following`."""
        self._following = following
        self._manager = manager

    def can_pick_up(self, job: JobId) -> bool:
        """Whether a job is a task that may go on at its server while nobody hears of it."""
        return self._following.can_pick_up(job)

    async def pick_up(self, job: JobId, *, use_saved_definition: bool = False) -> Outcome:
        """Go on with a task that was left at its server, and wait for its end.

        The server is connected first if need be. Tasks are picked up by themselves when their
        server is connected.

        Raises:
            ServerChangedError: the server is defined otherwise now; `use_saved_definition` has it
                started as it was.
            ProblemError: the job is no such task, is followed already, here or in another program,
                has expired, or its server cannot be reached.
        """
        return await self._following.pick_up(job, use_saved_definition=use_saved_definition)

    async def follow_task(
        self,
        server: str,
        view: TaskView,
        idle_timeout_s: LimitChoice = USUAL,
        total_timeout_s: LimitChoice = USUAL,
    ) -> Outcome:
        """Follow a task that no call of ours began to its end; giving up leaves it as it is.

        `view` is what the server has just answered to `tasks/get`. The limits are those of a tool.
        `ProblemError` when the server is not connected, or the task is followed already.
        """
        definition = self._manager.snapshot(server).definition
        usual = usual_limits("tools/call", definition)
        limits = chosen_limits(idle_timeout_s, total_timeout_s, usual)
        return await self._following.follow(server, view, limits)

    def leave_tasks_alone(self) -> None:
        """Pick up no task by itself from now on, only those that are asked for.

        For a front end that shows no others: an end that nobody sees would be lost.
        """
        self._following.picks_up_alone = False

    def saved_task(self, job: JobId) -> SavedTaskId | None:
        """What names a job's task for good; None once its end is known, or if it is not saved."""
        return self._following.saved_id(job)

    def find_task(self, saved: SavedTaskId) -> JobId | None:
        """The job of a saved task; None when there is none (any more)."""
        return self._following.find(saved)

    async def list_tasks(self, server: str) -> Sequence[TaskView]:
        """All tasks that a connected server of 2025-11-25 knows, also those of other clients.

        `ProblemError` when it is not connected, offers no list, or refuses it.
        """
        connection, snapshot = self._manager.connection(server), self._manager.snapshot(server)
        offer = TaskOffer.of(snapshot.revision or "", snapshot.capabilities)
        try:
            return await list_tasks(connection, offer)
        except anyio.ClosedResourceError as error:
            raise ProblemError(not_connected(server)) from error

    def task_job(self, server: str, task: str) -> JobId | None:
        """The job whose task has that id at a server; None when it is none of ours."""
        return self._following.task_job(server, task)

    def leave_tasks(self) -> None:
        """The program is about to close: giving up a call leaves its task at the server."""
        self._following.close()
