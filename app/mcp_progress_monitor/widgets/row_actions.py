"""What can be done with a job: exactly what can work in its present state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP

from mcp_progress_monitor.models.job_texts import is_left_at_server, tr
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_CANCELLABLE: Final = frozenset({JobState.RUNNING, JobState.STALLED, JobState.NEEDS_YOU})


def is_cancellable(job: JobSnapshot) -> bool:
    """Whether `job` can be ended, or be kept from going on by itself.

    What a server asked is not ours to cancel: it is answered.
    """
    if job.sender is Side.SERVER:
        return False
    is_waiting = job.state is JobState.RESUMABLE and job.is_automatic
    is_out_of_reach = job.task is not None and not job.task.is_ours_to_cancel
    return is_waiting or (job.state in _CANCELLABLE and not is_out_of_reach)


def has_broken_stream(job: JobSnapshot) -> bool:
    """Whether the reply to `job` is due on an HTTP stream that broke at least once."""
    return job.sender is Side.CLIENT and not job.state.is_over and job.stream is not None


def is_answerable(job: JobSnapshot) -> bool:
    """Whether `job` waits for an answer of the user, or is itself the question."""
    is_question = job.sender is Side.SERVER and not job.state.is_over
    return is_question or bool(job.questions) or job.state is JobState.NEEDS_YOU


def is_resumable(job: JobSnapshot) -> bool:
    """Whether `job` can be gone on with now."""
    return job.can_resume


def may_be_picked_up(job: JobSnapshot) -> bool:
    """Whether `job` is such a task, and its server need still know it."""
    return is_left_at_server(job) and job.task is not None and job.task.ttl_left_s != 0


def is_kept(job: JobSnapshot) -> bool:
    """Whether what is needed to go on would be lost with the row of `job`."""
    return job.state is JobState.RESUMABLE or is_left_at_server(job)


def is_removable(job: JobSnapshot) -> bool:
    """Whether `job` is over and may go without anybody missing anything."""
    return job.state.is_over and not is_kept(job)


def may_go_on_by_itself(job: JobSnapshot) -> bool:
    """Whether automatic resuming of `job` can be chosen: it is ours, and not done."""
    is_waiting = job.state is JobState.RESUMABLE and (job.can_resume or job.is_automatic)
    return job.sender is Side.CLIENT and (is_waiting or not job.state.is_over)


class RowAction(NamedTuple):
    """A button in the rows of those jobs that `can_work` is true of."""

    key: str
    icon: str
    name: object  # marked for translation
    shortcut: str
    can_work: Callable[[JobSnapshot], bool]

    def words(self) -> str:
        """The action's name in the user's language."""
        return tr(str(self.name))

    def tip(self) -> str:
        """Its name with its key."""
        return f"{self.words()} ({self.shortcut})"


CANCEL: Final = RowAction(
    "cancel", "cancel", QT_TRANSLATE_NOOP("Jobs", "Cancel"), "Ctrl+.", is_cancellable
)
RESUME: Final = RowAction(
    "resume", "resume", QT_TRANSLATE_NOOP("Jobs", "Resume"), "Ctrl+R", is_resumable
)
ANSWER: Final = RowAction(
    "answer", "answer", QT_TRANSLATE_NOOP("Jobs", "Answer"), "Ctrl+Shift+A", is_answerable
)
PICK_UP: Final = RowAction(
    "pick-up", "resume", QT_TRANSLATE_NOOP("Jobs", "Pick up"), "Ctrl+Alt+P", may_be_picked_up
)
ROW_ACTIONS: Final = (ANSWER, RESUME, PICK_UP, CANCEL)


def offered(job: JobSnapshot, actions: Sequence[RowAction] = ROW_ACTIONS) -> list[RowAction]:
    """The actions that can work for `job` now."""
    return [action for action in actions if action.can_work(job)]
