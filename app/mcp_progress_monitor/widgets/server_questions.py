"""What is asked before a server is removed; opened, never run in a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QMessageBox, QWidget

from mcp_progress_monitor.text import count, one_line
from mcp_progress_monitor.widgets.job_questions import end_lines
from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_LONGEST_NAME = 60
_NAMES_SHOWN = 10


class RemoveQuestion(QMessageBox):
    """Asks whether to remove a server, saying what is lost."""

    remove_agreed = Signal(str, object)
    """The server's name, and a tuple of the secrets in the keyring that are to go with it."""

    def __init__(
        self,
        server: str,
        running: Sequence[JobSnapshot],
        parent: QWidget | None = None,
        *,
        is_saved: bool,
        secrets: Sequence[str] = (),
    ) -> None:
        """`secrets` are those that the keyring has for this server alone, by name."""
        super().__init__(parent)
        self._server = server
        self._secrets = tuple(secrets)
        self._box: QCheckBox | None = None
        self.setIcon(self.Icon.Warning)
        self.setWindowTitle(self.tr("Remove a server"))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(self.tr("Remove {}?").format(one_line(server, _LONGEST_NAME)))
        self.setInformativeText(self._loss(running, is_saved=is_saved))
        remove = self.addButton(self.tr("&Remove"), self.ButtonRole.AcceptRole)
        remove.setAutoDefault(False)
        self.setDefaultButton(self.addButton(self.StandardButton.Cancel))
        self.accepted.connect(self._on_accepted)
        if secrets:
            self._offer_secrets()

    def _offer_secrets(self) -> None:
        """Not ticked: a key that was shown once may be nowhere else."""
        number = count(len(self._secrets), self.tr("secret"))
        words = self.tr("&Delete its {} from the system's keyring, too").format(number)
        box = QCheckBox(words, self)
        names = [one_line(name, _LONGEST_NAME) for name in self._secrets]
        more = len(names) - _NAMES_SHOWN
        shown = names[:_NAMES_SHOWN] + ([self.tr("and {} more").format(more)] if more > 0 else [])
        intro = self.tr("No other saved server refers to:")
        box.setToolTip(plain_tip("\n".join([intro, *shown])))
        self.setCheckBox(box)
        self._box = box

    def _loss(self, running: Sequence[JobSnapshot], *, is_saved: bool) -> str:
        lines = []
        if running:
            jobs = count(len(running), self.tr("running job"))
            lines += [self.tr("It is disconnected, which ends {}.").format(jobs)]
            lines += end_lines(running)
        if is_saved:
            lines.append(self.tr("Its settings are deleted. Its jobs and messages stay."))
        return "\n".join(lines)

    @Slot()
    def _on_accepted(self) -> None:
        are_unwanted = self._box is not None and self._box.isChecked()
        self.remove_agreed.emit(self._server, self._secrets if are_unwanted else ())
