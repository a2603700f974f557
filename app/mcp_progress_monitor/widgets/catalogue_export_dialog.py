"""Writing saved servers in the form of any known client: to a file or the clipboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.models.catalogue_export import ExportWish
from mcp_progress_monitor.text import count, elide, one_line, visible
from mcp_progress_monitor.widgets.appearance import GAP, GAP_L, Appearance, Tone, monospaced
from mcp_progress_monitor.widgets.schema_field import QuietComboBox, plain_label, set_text_colour
from mcp_progress_monitor.widgets.screen_fit import fit_to_screen
from mcp_progress_monitor.widgets.tab_order import order_tabs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.catalogue.clients import Client
    from mcp_progress_monitor.problem import Problem

_SHOWN: Final = 20_000
"""Characters of the text that are shown; all of it is copied and saved."""
_LEFT_OUT: Final = 20


class CatalogueExportDialog(QDialog):
    """Shows what would be written while it is chosen; the text itself is wanted by a signal."""

    text_wanted = Signal(object)
    """An `ExportWish` without a path: what it is, is to be shown."""
    export_requested = Signal(object)
    """An `ExportWish` with the path of the file to be written."""

    def __init__(
        self,
        names: Sequence[str],
        forms: Sequence[Client],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Export servers"))
        self._appearance = appearance
        self._forms = tuple(forms)
        self._text = ""
        self.servers = self._made_list(names)
        self.form = QuietComboBox(self)
        self.form.addItems([client.title for client in self._forms])
        self.form.setAccessibleName(self.tr("Form"))
        self.form.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.with_secrets = QCheckBox(self.tr("&With values of variables and headers"), self)
        self.shown = QPlainTextEdit(self)
        self.note = plain_label(self)
        self.copy = QPushButton(self.tr("&Copy"), self)
        self.save = QPushButton(self.tr("&Save as…"), self)
        self._set_up()
        self._lay_out()
        self.servers.itemChanged.connect(self._on_changed)
        self.form.currentIndexChanged.connect(self._on_changed)
        self.with_secrets.toggled.connect(self._on_changed)
        self.copy.clicked.connect(self._on_copy)
        self.save.clicked.connect(self._on_save)
        fit_to_screen(self, QSize(760, 520))
        order_tabs(self)

    def wish(self, path: Path | None = None) -> ExportWish:
        """What is chosen."""
        items = (self.servers.item(row) for row in range(self.servers.count()))
        names = tuple(
            item.data(Qt.ItemDataRole.UserRole)
            for item in items
            if item.checkState() is Qt.CheckState.Checked
        )
        client = self._forms[self.form.currentIndex()]
        return ExportWish(names, client.key, path, with_secrets=self.with_secrets.isChecked())

    def ask(self) -> None:
        """Ask for the text of what is chosen."""
        self.text_wanted.emit(self.wish())

    def show_text(self, text: str, left_out: Sequence[str]) -> None:
        """Show what would be written, and what is left out of it."""
        self._text = text
        shown = elide(visible(text, keep_line_ends=True), _SHOWN)
        self.shown.setPlainText(shown)
        words = [one_line(each) for each in left_out[:_LEFT_OUT]]
        if len(left_out) > _LEFT_OUT:
            words.append(self.tr("and {} more").format(len(left_out) - _LEFT_OUT))
        if words:
            self._say(self.tr("Left out: {}").format("; ".join(words)), Tone.WARNING)
        elif self.with_secrets.isChecked():
            self._say(self.tr("Secrets stand in it readable."), Tone.WARNING)
        else:
            self._say("", Tone.MUTED)
        for button in (self.copy, self.save):
            button.setEnabled(bool(self.wish().names))

    def show_saved(self, path: Path, kept: Path | None = None) -> None:
        """Tell that the file is written; `kept` is a copy of it as it was."""
        words = [self.tr("Saved: {}").format(visible(str(path)))]
        if kept is not None:
            was = self.tr("Servers were replaced; the file as it was: {}")
            words.append(was.format(visible(str(kept))))
        self._say("\n".join(words), Tone.GOOD)

    def show_refusal(self, problem: Problem) -> None:
        """Tell why it could not be written."""
        self._say(problem.as_text(), Tone.BAD)

    def _made_list(self, names: Sequence[str]) -> QListWidget:
        servers = QListWidget(self)
        servers.setAccessibleName(self.tr("Servers; tick those to export"))
        for name in names:
            item = QListWidgetItem(one_line(name, 100))
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked)
            servers.addItem(item)
        return servers

    def _set_up(self) -> None:
        self.shown.setReadOnly(True)
        self.shown.setTabChangesFocus(True)
        self.shown.setFont(monospaced(self.font()))
        self.shown.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.shown.setAccessibleName(self.tr("What is written"))
        self.with_secrets.setToolTip(
            self.tr("Without them, values are references to variables of the environment")
        )

    def _lay_out(self) -> None:
        label = QLabel(self.tr("&Form"), self)
        label.setBuddy(self.form)
        top = QHBoxLayout()
        top.addWidget(label)
        top.addWidget(self.form)
        top.addWidget(self.with_secrets)
        top.addStretch(1)
        middle = QHBoxLayout()
        middle.addWidget(self.servers, 1)
        middle.addWidget(self.shown, 3)
        buttons = QDialogButtonBox(self)
        for button in (self.copy, self.save):
            buttons.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
            button.setAutoDefault(False)
        buttons.addButton(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP_L, GAP_L, GAP_L, GAP_L)
        column.setSpacing(GAP)
        column.addLayout(top)
        column.addLayout(middle, 1)
        column.addWidget(self.note)
        column.addWidget(buttons)

    def _say(self, words: str, tone: Tone) -> None:
        self.note.setText(words)
        set_text_colour(self.note, self._appearance, tone)

    @Slot()
    def _on_changed(self) -> None:
        self.ask()

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        copied = count(len(self.wish().names), self.tr("server"))
        self._say(self.tr("Copied: {}").format(copied), Tone.GOOD)

    @Slot()
    def _on_save(self) -> None:
        dialog = QFileDialog(self, self.tr("Save servers as"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        is_toml = self.wish().form == "codex"
        dialog.selectFile("config.toml" if is_toml else "mcp.json")
        # What is in a file beside the servers is kept: it is written into, not over.
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)
        dialog.fileSelected.connect(self._on_file_selected)
        dialog.open()

    @Slot(str)
    def _on_file_selected(self, path: str) -> None:
        self.export_requested.emit(self.wish(Path(path)))
