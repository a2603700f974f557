"""Asks before a saved job starts a server whose definition is gone or was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.models.definition_words import differs_in_values, words_of
from mcp_progress_monitor.text import visible
from mcp_progress_monitor.widgets.appearance import GAP, emphasised, monospaced
from mcp_progress_monitor.widgets.screen_fit import fit_to_screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.tracker.snapshot import JobId


class SavedServerDialog(QDialog):
    """Shows the exact saved command, folder and names of variables, beside what is there now.

    Nothing is run before the user agrees. Values of variables are secrets: never shown, but that
    one differs is said.
    """

    saved_server_agreed = Signal(object)
    """`tuple[JobId, ...]`, to be gone on with by the saved definition."""

    def __init__(
        self,
        problem: Problem,
        saved: ServerDefinition,
        now: ServerDefinition | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("The server of a saved job"))
        self._saved = saved
        self._jobs: list[JobId] = []
        self.text = self._made_text(now)
        self._buttons = QDialogButtonBox(self)
        self.use = self._buttons.addButton(
            self.tr("&Start the saved command and resume"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        cancel = self._buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        for button in (self.use, cancel):
            button.setAutoDefault(False)
        cancel.setDefault(True)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._lay_out(problem)
        fit_to_screen(self, QSize(720, 300))
        cancel.setFocus()

    def add_job(self, job: JobId) -> None:
        """Let the answer be for `job` as well."""
        if job not in self._jobs:
            self._jobs.append(job)

    @Slot()
    def accept(self) -> None:
        """Tell what was agreed to and close."""
        self.saved_server_agreed.emit(tuple(self._jobs))
        super().accept()

    def _made_text(self, now: ServerDefinition | None) -> QPlainTextEdit:
        """Everything is in sight, however long: wrapped, never cut off."""
        text = QPlainTextEdit(self)
        text.setReadOnly(True)
        text.setTabChangesFocus(True)
        text.setFont(monospaced(self.font()))
        text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        text.setAccessibleName(self.tr("What the saved definition would run"))
        text.setPlainText("\n".join(self._lines(now)))
        return text

    def _lines(self, now: ServerDefinition | None) -> Iterator[str]:
        # With the folder that each would be started in: it was saved with the job.
        others = {} if now is None else words_of(now.settled())
        for label, words in words_of(self._saved.settled()).items():
            other = others.get(label, words)
            if other == words:
                yield f"{label}: {visible(words)}"
            else:
                yield self.tr("{} differs").format(label)
                yield "    " + self.tr("saved: {}").format(visible(words))
                yield "    " + self.tr("now:   {}").format(visible(other))
        if now is not None and differs_in_values(self._saved, now):
            yield self.tr("Values of variables differ")

    def _lay_out(self, problem: Problem) -> None:
        head = self._label(problem.what, problem.where)
        head.setFont(emphasised(self.font()))
        layout = QVBoxLayout(self)
        layout.setSpacing(GAP)
        layout.addWidget(head)
        layout.addWidget(
            self._label(
                self.tr(
                    "A resume token is good for the server that gave it out. "
                    "Start only a command that you know."
                )
            )
        )
        layout.addWidget(self.text, 1)
        layout.addWidget(self._buttons)

    def _label(self, *parts: str) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setText(" — ".join(visible(part)[:1000] for part in parts if part))
        return label
