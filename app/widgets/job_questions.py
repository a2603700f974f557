"""What is asked before something is lost or may be done twice; opened, never run in a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QMessageBox, QWidget

from app.models import job_texts
from app.text import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.tracker.snapshot import JobId, JobSnapshot

_NAMED_AT_MOST: Final = 5
_LONGEST_NAME: Final = 60


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


def _lines(jobs: Sequence[JobSnapshot]) -> list[str]:
    """The first few of `jobs`, and how many more there are."""
    lines = [_line(job) for job in jobs[:_NAMED_AT_MOST]]
    if len(jobs) > _NAMED_AT_MOST:
        rest = number(len(jobs) - _NAMED_AT_MOST)
        lines.append(job_texts.tr("… and {} more").format(rest))
    return lines


def _line(job: JobSnapshot) -> str:
    """A job in a line: its name, server, how far it is, how old its token."""
    name = job_texts.name(job)[:_LONGEST_NAME]
    server = job_texts.line(job.server)[:_LONGEST_NAME]
    parts = (name, server, job_texts.amount(job), job_texts.saved(job))
    return "• " + ", ".join(part for part in parts if part)
