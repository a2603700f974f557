"""Asks which files restart a server when they are saved, and what is then called again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from mcp_progress_monitor.engine.save_loops import SavePlan
from mcp_progress_monitor.engine.source_files import MOST_FILES
from mcp_progress_monitor.formatting import count, number, one_line
from mcp_progress_monitor.gui.common.controls import QuietComboBox, plain_label, set_text_colour
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row
from mcp_progress_monitor.gui.theme import GAP_S, Appearance, Tone
from mcp_progress_monitor.protocol.messages import CALL_TOOL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_progress_monitor.engine.call import Call
    from mcp_progress_monitor.snapshots.definitions import FileWatch
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_ABOUT: Final = (
    "When a file is saved, the server is restarted as soon as none of its jobs is running, and is"
    " called again. The result is compared with the run before."
)
_NAME: Final = 60
_NAMED: Final = 3
_TYPING_MS: Final = 300


class SaveDialog(QDialog):
    """Shows what would be watched, and warns of tools that may change or delete data."""

    count_requested = Signal(object)
    """A `FileWatch` whose files are to be counted for `show_count`."""
    plan_accepted = Signal(str, object)
    """The name of the server, and the `SavePlan`."""

    def __init__(
        self,
        server: ServerSnapshot,
        files: FileWatch,
        saved: Iterable[tuple[str, tuple[Call, ...]]],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        """`saved` are the user's calls on the server, each set with its title."""
        super().__init__(parent)
        self.setWindowTitle(f"Restart on save: {one_line(server.name, _NAME)}")
        self.server = server
        self._files = files
        self._appearance = appearance
        self.paths = QLineEdit(os.pathsep.join(files.paths), self)
        self.paths.setPlaceholderText("the folder of the server's source files")
        self._choose = QPushButton("C&hoose…", self, autoDefault=False)
        self._choose.setToolTip("Choose a folder")
        self.found = plain_label(self, "Counting files…")
        self.again = QuietComboBox(self)
        self.again.setAccessibleName("Call again")
        self.again.addItem("The last call", None)
        for title, calls in saved:
            self.again.addItem(title, calls)
        self.again.addItem("Nothing, only restart", ())
        self.warning = plain_label(self)
        set_text_colour(self.warning, appearance, Tone.WARNING)
        buttons = DialogButtons(QDialogButtonBox.StandardButton.Cancel, self)
        self.watch = buttons.addButton("&Watch", QDialogButtonBox.ButtonRole.AcceptRole)
        form = QFormLayout()
        label = QLabel("&Files in", self)
        label.setBuddy(self.paths)
        form.addRow(label, in_row((self.paths, 1), self._choose, margins=0, spacing=GAP_S))
        form.addRow("", self.found)
        form.addRow("Call &again", self.again)
        in_column(plain_label(self, _ABOUT), form, self.warning, 1, buttons, of=self)
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._typing.timeout.connect(self.count)
        self.paths.textChanged.connect(self._on_typed)
        self._choose.clicked.connect(self._on_choose)
        self.again.currentIndexChanged.connect(self._warn)
        buttons.accepted.connect(self._on_accepted)
        buttons.rejected.connect(self.reject)
        self.watch.setEnabled(False)
        self._warn()
        fit_to_screen(self, QSize(560, 260))

    @property
    def files(self) -> FileWatch:
        """The files to watch, as entered."""
        paths = (path.strip() for path in self.paths.text().split(os.pathsep))
        return self._files.model_copy(update={"paths": tuple(filter(None, paths))})

    @Slot()
    def count(self) -> None:
        """Ask how many files there are."""
        self.count_requested.emit(self.files)

    def show_count(self, files: FileWatch, found: int) -> None:
        """Show how many files are watched; more than `MOST_FILES` are not."""
        if files != self.files:
            return  # it was changed meanwhile
        is_too_many = found > MOST_FILES
        self.watch.setEnabled(0 < found <= MOST_FILES)
        set_text_colour(self.found, self._appearance, Tone.MUTED if found else Tone.WARNING)
        if is_too_many:
            what = f"More than {number(MOST_FILES)} files. Choose a smaller folder."
            set_text_colour(self.found, self._appearance, Tone.WARNING)
        elif found:
            what = f"{count(found, 'source file')}"
        else:
            what = "No source files found. Choose the folder that you edit."
        self.found.setText(what)

    @Slot()
    def _warn(self) -> None:
        """Name the tools that would be called again although that may destroy something."""
        calls: tuple[Call, ...] | None = self.again.currentData()
        listed = {tool.name: tool.may_destroy for tool in self.server.tools}
        names = listed if calls is None else dict.fromkeys(map(_tool_of, calls))
        # Nothing is known of a tool that is not listed: the protocol assumes that it may.
        risky = [name for name in names if name is not None and listed.get(name, True)]
        self.warning.setText(_warning(risky) if risky else "")
        self.warning.setVisible(bool(risky))

    @Slot()
    def _on_typed(self) -> None:
        self.watch.setEnabled(False)
        self._typing.start()

    @Slot()
    def _on_choose(self) -> None:
        begin = next(iter(self.files.paths), "")
        dialog = QFileDialog(self, "Folder to watch", begin)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.paths.setText)
        dialog.open()

    @Slot()
    def _on_accepted(self) -> None:
        self.plan_accepted.emit(self.server.name, SavePlan(self.files, self.again.currentData()))
        self.accept()


def _tool_of(call: Call) -> str | None:
    return str(call.params.get("name")) if call.method == CALL_TOOL else None


def _warning(tools: Iterable[str]) -> str:
    names = [one_line(tool, _NAME) for tool in tools]
    more = f" and {number(len(names) - _NAMED)} more" if len(names) > _NAMED else ""
    return (
        "Tools that are not declared read-only may change or delete data at each save:"
        f" {', '.join(names[:_NAMED])}{more}."
    )
