"""Exports the saved servers in a client's format, previewed before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QWidget,
)

from mcp_progress_monitor.formatting import count, elide, one_line, visible
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    plain_label,
    read_only_text,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import (
    fit_to_screen,
    in_column,
    in_row,
    open_dialog,
    order_tabs,
)
from mcp_progress_monitor.gui.common.tables import dress_rows
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone
from mcp_progress_monitor.wording.servers import replaced_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.errors import ErrorDetails


class ServerExportRequest(NamedTuple):
    """Servers by name, the key of a client's format, and a file; without one, only the text."""

    names: tuple[str, ...]
    form: str
    path: Path | None = None
    with_secrets: bool = False


_SHOWN: Final = 20_000  # characters of the text that are shown; copying and saving use all of it
_LEFT_OUT: Final = 20


class ServerExportDialog(QDialog):
    """Chooses servers and format with a preview; requests the text by a signal."""

    text_requested = Signal(object)
    """A `ServerExportRequest` without a path, to be previewed."""
    export_requested = Signal(object)
    """A `ServerExportRequest` with the path of the file to write."""

    def __init__(
        self,
        names: Sequence[str],
        forms: Sequence[McpClient],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export servers")
        self._appearance = appearance
        self._forms = tuple(forms)
        self._text = ""
        self.servers = self._make_list(names)
        self.form = QuietComboBox(self)
        self.form.addItems([client.title for client in self._forms])
        self.form.setAccessibleName("Format")
        self.form.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.with_secrets = QCheckBox("&Include values of variables and headers", self)
        self.shown = read_only_text(self, "Preview", QTextOption.WrapMode.NoWrap)
        self.note = plain_label(self)
        self.copy = QPushButton("&Copy", self)
        self.save = QPushButton("&Save as…", self)
        self.with_secrets.setToolTip(
            "Include the values; otherwise they are references to environment variables"
        )
        self._lay_out()
        self.servers.itemChanged.connect(self.ask)
        self.form.currentIndexChanged.connect(self.ask)
        self.with_secrets.toggled.connect(self.ask)
        self.copy.clicked.connect(self._on_copy)
        self.save.clicked.connect(self._on_save)
        fit_to_screen(self, QSize(760, 520))
        order_tabs(self)

    def request(self, path: Path | None = None) -> ServerExportRequest:
        """The current selection."""
        items = (self.servers.item(row) for row in range(self.servers.count()))
        names = tuple(
            item.data(Qt.ItemDataRole.UserRole)
            for item in items
            if item.checkState() is Qt.CheckState.Checked
        )
        client = self._forms[self.form.currentIndex()]
        return ServerExportRequest(
            names, client.key, path, with_secrets=self.with_secrets.isChecked()
        )

    @Slot()
    def ask(self) -> None:
        """Request the text of the current selection."""
        self.text_requested.emit(self.request())

    def show_text(self, text: str, left_out: Sequence[str]) -> None:
        """Show what would be written, and what is left out."""
        self._text = text
        shown = elide(visible(text, keep_line_ends=True), _SHOWN)
        self.shown.setPlainText(shown)
        omitted = [one_line(each) for each in left_out[:_LEFT_OUT]]
        if len(left_out) > _LEFT_OUT:
            omitted.append(f"and {len(left_out) - _LEFT_OUT} more")
        if omitted:
            self._show_note("Omitted: {}".format("; ".join(omitted)), Tone.WARNING)
        elif self.with_secrets.isChecked():
            self._show_note("Contains secrets in plain text.", Tone.WARNING)
        else:
            self._show_note("", Tone.MUTED)
        for button in (self.copy, self.save):
            button.setEnabled(bool(self.request().names))

    def show_saved(self, path: Path, kept: Path | None = None) -> None:
        """Report that the file was written; `kept` is a copy of the previous one."""
        lines = [f"Saved: {visible(str(path))}"]
        if kept is not None:
            lines.append(replaced_text(kept))
        self._show_note("\n".join(lines), Tone.GOOD)

    def show_refusal(self, error: ErrorDetails) -> None:
        """Show why it could not be written."""
        self._show_note(error.as_text(), Tone.BAD)

    def _make_list(self, names: Sequence[str]) -> QListWidget:
        servers = QListWidget(self)
        dress_rows(servers)
        servers.setAccessibleName("Servers to export")
        for name in names:
            item = QListWidgetItem(one_line(name, 100))
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked)
            servers.addItem(item)
        return servers

    def _lay_out(self) -> None:
        label = QLabel("&Format", self)
        label.setBuddy(self.form)
        top = in_row(label, self.form, self.with_secrets, 1)
        middle = in_row((self.servers, 1), (self.shown, 3))
        buttons = DialogButtons(self)
        for button in (self.copy, self.save):
            buttons.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
            button.setAutoDefault(False)
        buttons.addButton(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        in_column(top, (middle, 1), self.note, buttons, of=self, spacing=GAP)

    def _show_note(self, text: str, tone: Tone) -> None:
        self.note.setText(text)
        set_text_colour(self.note, self._appearance, tone)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        copied = count(len(self.request().names), "server")
        self._show_note(f"Copied: {copied}", Tone.GOOD)

    @Slot()
    def _on_save(self) -> None:
        dialog = QFileDialog(self, "Save servers as", acceptMode=QFileDialog.AcceptMode.AcceptSave)
        is_toml = self.request().form == "codex"
        dialog.selectFile("config.toml" if is_toml else "mcp.json")
        # Other content of an existing file is kept: it is updated, not overwritten.
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)
        dialog.fileSelected.connect(self._on_file_selected)
        open_dialog(dialog)

    @Slot(str)
    def _on_file_selected(self, path: str) -> None:
        self.export_requested.emit(self.request(Path(path)))
