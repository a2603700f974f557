"""Asks before a saved job starts a server whose definition is gone or was changed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.text import visible
from app.widgets.appearance import GAP, emphasised

if TYPE_CHECKING:
    from app.problem import Problem
    from app.sessions.definitions import ServerDefinition
    from app.tracker.snapshot import JobId

_SAVED: Final = 1
_NOW: Final = 2


class SavedServerDialog(QDialog):
    """Shows the exact saved command, folder and names of variables, beside what is there now.

    Nothing is run before the user agrees. Values of variables are secrets: never shown, but that
    one differs is said.
    """

    saved_server_agreed = Signal(object, object)
    """The saved `ServerDefinition`, to be added, and `tuple[JobId, ...]` to be gone on with."""

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
        self.tree = self._made_tree(now)
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
        self.resize(720 if now is None else 860, 300)
        cancel.setFocus()

    def add_job(self, job: JobId) -> None:
        """Let the answer be for `job` as well."""
        if job not in self._jobs:
            self._jobs.append(job)

    @Slot()
    def accept(self) -> None:
        """Hand over the saved definition and close."""
        self.saved_server_agreed.emit(self._saved, tuple(self._jobs))
        super().accept()

    def _made_tree(self, now: ServerDefinition | None) -> QTreeWidget:
        tree = QTreeWidget(self)
        titles = ["", self.tr("Saved with the job")]
        tree.setHeaderLabels(titles if now is None else [*titles, self.tr("Now")])
        tree.setAccessibleName(self.tr("What the saved definition would run"))
        tree.setRootIsDecorated(False)
        tree.setWordWrap(True)
        tree.setUniformRowHeights(False)
        tree.setSelectionBehavior(QTreeWidget.SelectionBehavior.SelectRows)
        for row in self._rows(now):
            tree.addTopLevelItem(row)
        header = tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        for column in range(_SAVED, header.count()):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        return tree

    def _rows(self, now: ServerDefinition | None) -> list[QTreeWidgetItem]:
        saved = self._words_of(self._saved)
        other = None if now is None else self._words_of(now)
        rows = []
        for label, words in saved.items():
            row = QTreeWidgetItem([label, visible(words)])
            if other is not None:
                row.setText(_NOW, visible(other[label]))
                if other[label] != words:
                    self._mark(row)
            rows.append(row)
        if now is not None and _differs_in_values(self._saved, now):
            rows.append(self._note_of_values())
        return rows

    def _mark(self, row: QTreeWidgetItem) -> None:
        """Make a row that differs stand out, in shape and in words."""
        for column in (0, _SAVED, _NOW):
            row.setFont(column, emphasised(self.font()))
        row.setText(0, self.tr("{} (differs)").format(row.text(0)))

    def _note_of_values(self) -> QTreeWidgetItem:
        changed = self.tr("other values than now")
        row = QTreeWidgetItem([self.tr("Values of variables"), changed, ""])
        self._mark(row)
        return row

    def _words_of(self, server: ServerDefinition) -> dict[str, str]:
        return {
            self.tr("Name"): server.name,
            self.tr("Command"): shlex.join([server.command, *server.args]),
            self.tr("Folder"): server.cwd or self.tr("where this program was started"),
            self.tr("Sets variables"): ", ".join(sorted(server.env)) or self.tr("none"),
            self.tr("Protocol"): server.era,
        }

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
        layout.addWidget(self.tree, 1)
        layout.addWidget(self._buttons)

    def _label(self, *parts: str) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setText(" — ".join(visible(part)[:1000] for part in parts if part))
        return label


def _differs_in_values(one: ServerDefinition, other: ServerDefinition) -> bool:
    """Whether a variable that both set has two values."""
    return any(one.env[name] != other.env[name] for name in one.env.keys() & other.env.keys())
