"""What is asked before something is lost or may be done twice; opened, never run in a loop."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QMessageBox, QWidget

from mcp_progress_monitor.models import job_texts
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.text import count, number, one_line
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_NAMED_AT_MOST: Final = 5
_LONGEST_NAME: Final = 60
_RUNNING: Final = frozenset({JobState.RUNNING, JobState.STALLED, JobState.NEEDS_YOU})
"""A job that is being cancelled is missed by nobody."""


class EndAction(enum.Enum):
    """What the user does that ends running jobs; each has one question."""

    QUIT = "quit"
    DISCONNECT = "disconnect"
    RESTART = "restart"
    DISABLE = "disable"
    SIGN_OUT = "sign-out"


_END_WORDS: Final = {
    # title, question about one server, about several, button
    EndAction.QUIT: (
        QT_TRANSLATE_NOOP("Jobs", "Quit"),
        QT_TRANSLATE_NOOP("Jobs", "Quit and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "Quit and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "&Quit"),
    ),
    EndAction.DISCONNECT: (
        QT_TRANSLATE_NOOP("Jobs", "Disconnect"),
        QT_TRANSLATE_NOOP("Jobs", "Disconnect {server} and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "Disconnect {servers} servers and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "&Disconnect"),
    ),
    EndAction.RESTART: (
        QT_TRANSLATE_NOOP("Jobs", "Restart"),
        QT_TRANSLATE_NOOP("Jobs", "Restart {server} and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "Restart {servers} servers and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "&Restart"),
    ),
    EndAction.DISABLE: (
        QT_TRANSLATE_NOOP("Jobs", "Disable"),
        QT_TRANSLATE_NOOP("Jobs", "Disable {server} and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "Disable {servers} servers and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "&Disable"),
    ),
    EndAction.SIGN_OUT: (
        QT_TRANSLATE_NOOP("Jobs", "Sign out"),
        QT_TRANSLATE_NOOP("Jobs", "Sign out of {server} and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "Sign out of {servers} servers and end {jobs}?"),
        QT_TRANSLATE_NOOP("Jobs", "Sign &out"),
    ),
}


def running_jobs(
    jobs: Iterable[JobSnapshot | None], server: str | None = None
) -> list[JobSnapshot]:
    """Our own requests among `jobs` that a lost connection would end; those of one `server`."""
    return [
        job
        for job in jobs
        if job is not None
        and job.state in _RUNNING
        and job.sender is Side.CLIENT
        and (job.task is None or job.task.is_followed)
        and server in {None, job.server}
    ]


def end_lines(jobs: Sequence[JobSnapshot]) -> list[str]:
    """What becomes of `jobs` when their connection ends: what is lost, what can be resumed."""
    tasks = [job for job in jobs if job.task is not None]
    saved = [job for job in jobs if job.task is None and job.chain is not None]
    lost = [job for job in jobs if job.task is None and job.chain is None]
    parts = (
        (job_texts.tr("Lost, because no resume token is saved:"), lost),
        (job_texts.tr("Can be resumed from the saved token:"), saved),
        (job_texts.tr("Tasks, can be picked up if the server keeps them:"), tasks),
    )
    lines: list[str] = []
    left = _NAMED_AT_MOST
    for title, found in parts:
        if found:
            lines += [title, *_lines(found, left)]
            left = max(1, left - len(found))
    return lines


class EndQuestion(QMessageBox):
    """Asks before running jobs end: once for each action, however many servers it is about."""

    end_agreed = Signal(object, object)
    """The `EndAction`, and the names of the servers as `tuple[str, ...]`; none for quitting."""

    def __init__(self, action: EndAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.action: Final = action
        self._servers: tuple[str, ...] = ()
        self._jobs: dict[JobId, JobSnapshot] = {}
        title, _one, _several, button = _END_WORDS[action]
        self.setIcon(self.Icon.Warning)
        self.setWindowTitle(job_texts.tr(str(title)))
        self.setTextFormat(Qt.TextFormat.PlainText)
        end = self.addButton(job_texts.tr(str(button)), self.ButtonRole.AcceptRole)
        end.setAutoDefault(False)
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self.accepted.connect(self._on_accepted)

    def add(self, jobs: Iterable[JobSnapshot], server: str | None = None) -> None:
        """Ask about `jobs` as well; `server` is the one that the action is about."""
        self._jobs.update((job.id, job) for job in jobs)
        if server is not None and server not in self._servers:
            self._servers += (server,)
        found = list(self._jobs.values())
        _title, one, several, _button = _END_WORDS[self.action]
        words = job_texts.tr(str(several if len(self._servers) > 1 else one))
        self.setText(
            words.format(
                server=one_line("".join(self._servers[:1]), _LONGEST_NAME),
                servers=number(len(self._servers)),
                jobs=count(len(found), job_texts.tr("running job")),
            )
        )
        self.setInformativeText("\n".join(end_lines(found)))

    @Slot()
    def _on_accepted(self) -> None:
        self.end_agreed.emit(self.action, self._servers)


class ForgetQuestion(QMessageBox):
    """Asks whether to delete what is kept of jobs, saying what is lost."""

    forget_agreed = Signal(object)
    """`tuple[JobId, ...]`."""

    def __init__(self, jobs: Sequence[JobSnapshot], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._jobs: tuple[JobId, ...] = tuple(job.id for job in jobs)
        self.setIcon(self.Icon.Warning)
        self.setWindowTitle(self.tr("Forget"))
        self.setTextFormat(Qt.TextFormat.PlainText)
        count = number(len(jobs))
        self.setText(
            self.tr("Forget this resumable job?")
            if len(jobs) == 1
            else self.tr("Forget {} resumable jobs?").format(count)
        )
        self.setInformativeText("\n".join([*_lines(jobs), "", self._loss(len(jobs))]))
        forget = self.addButton(self.tr("&Forget"), self.ButtonRole.AcceptRole)
        forget.setAutoDefault(False)
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self.accepted.connect(self._on_accepted)

    def _loss(self, count: int) -> str:
        if count == 1:
            return self.tr(
                "Its resume token is deleted for good: what it has done so far cannot be gone on "
                "with. The server is not told."
            )
        return self.tr(
            "Their resume tokens are deleted for good: what they have done so far cannot be gone "
            "on with. The servers are not told."
        )

    @Slot()
    def _on_accepted(self) -> None:
        self.forget_agreed.emit(self._jobs)


class ReissueQuestion(QMessageBox):
    """Asks whether to send requests again from the start, and whether to ask so again."""

    reissue_agreed = Signal(object, bool)
    """`tuple[JobId, ...]`, and whether to ask next time as well."""

    def __init__(self, jobs: Sequence[JobSnapshot], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._jobs: tuple[JobId, ...] = tuple(job.id for job in jobs)
        self.setIcon(self.Icon.Warning)
        self.setWindowTitle(self.tr("Re-issue"))
        self.setTextFormat(Qt.TextFormat.PlainText)
        count = number(len(jobs))
        self.setText(
            self.tr("Send the whole request again, from the start?")
            if len(jobs) == 1
            else self.tr("Send {} whole requests again, from the start?").format(count)
        )
        self.setInformativeText("\n".join([*_lines(jobs), "", *self._warnings(jobs)]))
        self.addButton(self.tr("&Re-issue"), self.ButtonRole.AcceptRole)
        # Enter, pressed too soon, must not run work twice.
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self.never_again = QCheckBox(self.tr("&Don't ask again"), self)
        self.setCheckBox(self.never_again)
        self.accepted.connect(self._on_accepted)

    def _warnings(self, jobs: Sequence[JobSnapshot]) -> list[str]:
        is_one, can_resume = len(jobs) == 1, sum(job.can_resume for job in jobs)
        words = [
            self.tr(
                "The server cannot know that it is the same request: work that was done already "
                "may run twice."
            )
            if is_one
            else self.tr(
                "The servers cannot know that they are the same requests: work that was done "
                "already may run twice."
            )
        ]
        if can_resume and is_one:
            words.append(self.tr("Resume goes on where this job stopped."))
        elif can_resume:
            resumable = self.tr("Resume goes on where {} of these jobs stopped.")
            words.append(resumable.format(number(can_resume)))
        return words

    @Slot()
    def _on_accepted(self) -> None:
        self.reissue_agreed.emit(self._jobs, not self.never_again.isChecked())


def _lines(jobs: Sequence[JobSnapshot], most: int = _NAMED_AT_MOST) -> list[str]:
    """The first few of `jobs`, and how many more there are."""
    lines = [_line(job) for job in jobs[:most]]
    if len(jobs) > most:
        rest = number(len(jobs) - most)
        lines.append(job_texts.tr("… and {} more").format(rest))
    return lines


def _line(job: JobSnapshot) -> str:
    """A job in a line: its name, server, how far it is, how old its token."""
    name = job_texts.name(job)[:_LONGEST_NAME]
    server = job_texts.line(job.server)[:_LONGEST_NAME]
    parts = (name, server, job_texts.amount(job), job_texts.saved(job))
    return "• " + ", ".join(part for part in parts if part)
