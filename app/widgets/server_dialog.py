"""Adding a stdio server: a command line, a folder, environment variables, an era."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.models.json_input import InputError
from app.models.limit_input import read_limit
from app.problem import Problem, ProblemError
from app.sessions.definitions import Era, StdioDefinition
from app.sessions.limits import Usual

if TYPE_CHECKING:
    from collections.abc import Sequence

_ERAS: Sequence[Era] = ("auto", "handshake", "per-request")


def split_command(text: str) -> list[str]:
    """The words of a command line, quoted as in a shell (on Windows: backslashes stay).

    Raises:
        ProblemError: the line is empty or a quote is not closed.
    """
    try:
        words = shlex.split(text, posix=os.name == "posix")
    except ValueError as error:
        raise ProblemError(Problem(f"This command line cannot be read: {error}")) from error
    if not words:
        raise ProblemError(Problem("Enter the command that starts the server"))
    return words if os.name == "posix" else [word.strip('"') for word in words]


def read_environment(text: str) -> dict[str, str]:
    """Variables from lines of NAME=VALUE; blank lines are skipped.

    Raises:
        ProblemError: a line has no name.
    """
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ProblemError(
                Problem(f"Environment line {number} is not NAME=VALUE", hint="Example: DEBUG=1")
            )
        variables[name.strip()] = value
    return variables


def _read_limit(line: QLineEdit) -> float | None:
    """The limit in a line as a definition has it: 0 for none, None for the usual one."""
    try:
        limit = read_limit(line.text())
    except InputError as error:
        raise ProblemError(Problem(f"{line.accessibleName()}: {error}")) from error
    return None if isinstance(limit, Usual) else limit or 0.0


class ServerDialog(QDialog):
    """Asks for a server to start; emits its definition and closes when it can be read."""

    server_add_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Connect to a command"))
        self.command = QLineEdit(self)
        self.command.setPlaceholderText("python -m my_server --verbose")
        self.command.setAccessibleName(self.tr("Command line"))
        self.name = QLineEdit(self)
        self.name.setPlaceholderText(self.tr("from the command"))
        self.name.setAccessibleName(self.tr("Name"))
        self.folder = QLineEdit(self)
        self.folder.setPlaceholderText(str(Path.cwd()))
        self.folder.setAccessibleName(self.tr("Folder"))
        self.environment = QPlainTextEdit(self)
        self.environment.setPlaceholderText("NAME=VALUE")
        self.environment.setAccessibleName(self.tr("Environment variables, one on each line"))
        self.environment.setTabChangesFocus(True)
        self.environment.setMaximumHeight(80)
        self.era = QComboBox(self)
        self.era.addItems(
            [
                self.tr("Find out (recommended)"),
                self.tr("Handshake, up to 2025-11-25"),
                self.tr("Per request, 2026-07-28"),
            ]
        )
        self.era.setAccessibleName(self.tr("Protocol era"))
        self.idle = self._limit_line(
            self.tr("Idle limit of its calls in seconds"),
            self.tr("30 min for tools, 1 min for the rest; 0 or off for none"),
        )
        self.total = self._limit_line(
            self.tr("Total limit of its calls in seconds"), self.tr("off")
        )
        self._error = QLabel(self)
        self._error.setTextFormat(Qt.TextFormat.PlainText)
        self._error.setWordWrap(True)
        self._lay_out()
        self.resize(560, self.sizeHint().height())

    def definition(self) -> StdioDefinition:
        """The definition as entered.

        Raises:
            ProblemError: a field cannot be read; says which and why.
        """
        words = split_command(self.command.text())
        folder = self.folder.text().strip()
        if folder and not Path(folder).expanduser().is_dir():
            raise ProblemError(Problem("There is no such folder", where=folder))
        return StdioDefinition(
            name=self.name.text().strip() or Path(words[0]).stem,
            command=words[0],
            args=tuple(words[1:]),
            env=read_environment(self.environment.toPlainText()),
            cwd=str(Path(folder).expanduser()) if folder else None,
            era=_ERAS[self.era.currentIndex()],
            idle_timeout_s=_read_limit(self.idle),
            total_timeout_s=_read_limit(self.total),
        )

    @Slot()
    def accept(self) -> None:
        """Emit the definition; stay open with the reason when it cannot be read."""
        try:
            definition = self.definition()
        except ProblemError as error:
            self._error.setText(error.problem.as_text())
            self._error.show()
            return
        self.server_add_requested.emit(definition)
        super().accept()

    def _limit_line(self, name: str, usual: str) -> QLineEdit:
        line = QLineEdit(self)
        line.setAccessibleName(name)
        line.setPlaceholderText(usual)
        line.setToolTip(self.tr("For calls that choose no limit of their own"))
        return line

    def _lay_out(self) -> None:
        browse = QPushButton(self.tr("&Browse…"), self)
        browse.clicked.connect(self._on_browse_clicked)
        folder = QHBoxLayout()
        folder.addWidget(self.folder, 1)
        folder.addWidget(browse)
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow(self.tr("&Command line"), self.command)
        form.addRow(self.tr("&Name"), self.name)
        # A row that is a layout gives its label no buddy: the key would do nothing.
        label = QLabel(self.tr("&Folder"), self)
        label.setBuddy(self.folder)
        form.addRow(label, folder)
        form.addRow(self.tr("&Environment"), self.environment)
        form.addRow(self.tr("&Protocol"), self.era)
        form.addRow(self.tr("&Idle limit, s"), self.idle)
        form.addRow(self.tr("&Total limit, s"), self.total)
        buttons = QDialogButtonBox(self)
        connect = buttons.addButton(self.tr("Connect"), QDialogButtonBox.ButtonRole.AcceptRole)
        connect.setDefault(True)
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(self._error)
        layout.addWidget(buttons)
        self._error.hide()

    @Slot()
    def _on_browse_clicked(self) -> None:
        dialog = QFileDialog(self, self.tr("Folder to start the server in"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self.folder.setText)
        dialog.open()
