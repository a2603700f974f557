"""What can be done with a job from its row: exactly what can work in its present state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP

from app.models.job_texts import tr
from app.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.tracker.snapshot import JobSnapshot


class RowAction(NamedTuple):
    """A button in the rows of jobs in one of `states`."""

    key: str
    icon: str
    name: object  # marked for translation
    shortcut: str
    states: frozenset[JobState]

    def words(self) -> str:
        """The action's name in the user's language."""
        return tr(str(self.name))

    def tip(self) -> str:
        """Its name with its key."""
        return f"{self.words()} ({self.shortcut})"


CANCEL: Final = RowAction(
    "cancel",
    "cancel",
    QT_TRANSLATE_NOOP("Jobs", "Cancel"),
    "Ctrl+.",
    frozenset({JobState.RUNNING, JobState.STALLED, JobState.NEEDS_YOU}),
)
ROW_ACTIONS: Final = (CANCEL,)


def offered(job: JobSnapshot, actions: Sequence[RowAction] = ROW_ACTIONS) -> list[RowAction]:
    """The actions that can work for `job` now."""
    return [action for action in actions if job.state in action.states]
