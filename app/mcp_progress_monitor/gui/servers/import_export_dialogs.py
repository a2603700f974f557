"""Imports servers from other programs' files: previewed, selected and saved, but not run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QStandardItemModel, QTextOption
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.catalogue.reading import ImportStatus
from mcp_progress_monitor.formatting import count, elide, one_line, visible
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    plain_label,
    plain_tip,
    read_only_text,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import (
    ScreenFit,
    fit_to_screen,
    in_column,
    in_row,
    open_dialog,
    order_tabs,
)
from mcp_progress_monitor.gui.common.tables import dress_rows, dress_tree
from mcp_progress_monitor.gui.servers.editor_pages import FieldBox
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Appearance, Tone
from mcp_progress_monitor.wording.clients import (
    SECRETS_TEXTS,
    STATUS_TEXTS,
    SecretsAs,
    address_or_error,
    contains_secrets,
    detail_lines,
    error_lines,
    found_name,
    required_inputs,
)
from mcp_progress_monitor.wording.servers import replaced_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.catalogue.client_files import FoundFile
    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.catalogue.reading import ImportRow
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.wording.clients import RequiredInput


class ServerExportRequest(NamedTuple):
    """Servers by name, the key of a client's format, and a file; without one, only the text."""

    names: tuple[str, ...]
    form: str
    path: Path | None = None
    with_secrets: bool = False


class ImportRequest(NamedTuple):
    """An import: the servers of a file by their names in it, with the required values."""

    path: Path
    names: tuple[str, ...]
    answers: dict[str, str]
    secrets: SecretsAs = SecretsAs.KEYRING


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


_ROWS_SHOWN: Final = 4
_LABEL: Final = 240
_MOST: Final = 100  # most fields; a file that needs more is imported in parts


class ImportInputs(QScrollArea):
    """Fields for required values; secrets are masked."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._required: dict[str, RequiredInput] = {}
        self._boxes: dict[str, FieldBox] = {}
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAccessibleName("Values the servers need")
        self.changed.connect(self._on_changed)
        self._clear()

    @property
    def required(self) -> tuple[RequiredInput, ...]:
        return tuple(self._required.values())

    def field(self, name: str) -> QWidget:
        """The control for the value `name`."""
        return self._boxes[name].control

    def show_required(self, required: Iterable[RequiredInput], *, is_new: bool) -> None:
        """Ask also for `required`; with `is_new`, for nothing else, and forget all answers."""
        if is_new:
            self._clear()
        for each in required:
            if each.input.id not in self._required and len(self._required) < _MOST:
                self._required[each.input.id] = each
                self._add(each)
        self.setVisible(bool(self._required))
        self._fit()

    def answers(self) -> dict[str, str]:
        """The entered values, by id."""
        given = {name: _answer(box.control) for name, box in self._boxes.items()}
        return {name: answer for name, answer in given.items() if answer}

    def secret_ids(self) -> set[str]:
        return {each.input.id for each in self.required if each.input.is_secret}

    def show_missing(self, servers: Sequence[str], place: SecretsAs) -> QWidget | None:
        """Mark missing values of `servers`; returns the first such control.

        Secrets that are asked for at each connection are not missing.
        """
        first = None
        answers = self.answers()
        for name, required in self._required.items():
            wanted = [each for each in required.servers if each in servers]
            if place is SecretsAs.ASK and required.input.can_be_asked:
                wanted = []
            is_missing = bool(wanted) and name not in answers
            text = "{} needs this" if len(wanted) == 1 else "{} need this"
            text = text.format(one_line(", ".join(wanted), 80))
            self._boxes[name].show_error(text if is_missing else "")
            if is_missing and first is None:
                first = self._boxes[name].control
        self._fit()
        return first

    @Slot()
    def _on_changed(self) -> None:
        """Remove the marks of fields that are filled in."""
        answers = self.answers()
        answered = [box for name, box in self._boxes.items() if box.error and name in answers]
        for box in answered:
            box.show_error("")
        if answered:
            self._fit()

    def _clear(self) -> None:
        self._required.clear()
        self._boxes.clear()
        inner = QWidget(self)
        self._form = QFormLayout(
            inner, fieldGrowthPolicy=QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow
        )
        self._form.setContentsMargins(0, 0, GAP_S, 0)
        self._form.setSpacing(GAP_S)
        self.setWidget(inner)

    def _add(self, required: RequiredInput) -> None:
        described = one_line(required.input.description or required.input.id, 120)
        control = self._made(required)
        control.setAccessibleName(described)
        control.setToolTip(plain_tip(one_line(required.input.id, 120)))
        hint = ""
        if required.input.is_secret and required.input.stands_as_text:
            hint = "Part of a command or URL: readable in the catalogue file."
        box = FieldBox(control, self._appearance, self, hint)
        label = QLabel(self, textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        label.setText(described)
        label.setFixedWidth(min(label.fontMetrics().horizontalAdvance(described) + GAP, _LABEL))
        self._boxes[required.input.id] = box
        self._form.addRow(label, box)

    def _made(self, required: RequiredInput) -> QWidget:
        if required.input.choices:
            box = QuietComboBox(self)
            box.setEditable(True)
            box.addItems([each[:1000] for each in required.input.choices[:_MOST]])
            box.setCurrentText(required.input.default or "")
            box.currentTextChanged.connect(self.changed)
            return box
        line = QLineEdit(required.input.default or "", self)
        if required.input.is_secret:
            line.setEchoMode(QLineEdit.EchoMode.Password)
        line.textChanged.connect(self.changed)
        return line

    def _fit(self) -> None:
        inner = self.widget()
        if inner is not None:
            line = self.fontMetrics().lineSpacing() + 2 * GAP
            most = line * _ROWS_SHOWN
            self.setFixedHeight(min(inner.sizeHint().height() + GAP_S, most))


def _answer(control: QWidget) -> str:
    if isinstance(control, QComboBox):
        return control.currentText()
    return control.text() if isinstance(control, QLineEdit) else ""


_ANSWER_MS: Final = 300
_HIDDEN: Final = "••••"  # shown instead of a secret in a command
_NAME, _STANDING, _WHAT = range(3)
_TONES: Final = {
    ImportStatus.NEW: Tone.GOOD,
    ImportStatus.CHANGED: Tone.WARNING,
    ImportStatus.SAME: Tone.MUTED,
    ImportStatus.UNUSABLE: Tone.BAD,
}


class ImportDialog(QDialog):
    """The import dialog; requests a file by a signal, and shows it by a method."""

    file_chosen = Signal(object)  # the `Path` of a file whose servers are to be shown
    answers_entered = Signal(object, object)
    """The file's path and the answers, secret ones hidden: requests the list of servers again."""
    import_requested = Signal(object)  # an `ImportRequest`

    def __init__(
        self, files: Sequence[FoundFile], appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Import servers")
        self._appearance = appearance
        self._path: Path | None = None
        self._rows: list[ImportRow] = []
        self._saved: Mapping[str, CatalogueEntry] = {}
        self.files = QuietComboBox(self)
        self.choose = QPushButton("C&hoose file…", self, autoDefault=False)
        self.errors = read_only_text(self, "Errors in the file")
        self.tree = self._make_tree()
        self.inputs = ImportInputs(appearance, self)
        self.details = read_only_text(self, "Details of the selected server")
        self.secrets = self._make_choice()
        self.note = plain_label(self)
        self._usual_place = 0
        self._timer = QTimer(self, singleShot=True, interval=_ANSWER_MS)
        self._add_buttons()
        self._lay_out()
        self._connect()
        self.set_files(files)
        self._begin()
        fit_to_screen(self, QSize(820, 560))
        order_tabs(self)

    def set_files(self, files: Sequence[FoundFile]) -> None:
        """Set the files that were found on this computer."""
        is_first = not self.files.isEnabled() and self.focusWidget() is self.choose
        self.files.clear()
        self.files.addItem("Choose one of {}".format(count(len(files), "found file")))
        if not files:
            self.files.setItemText(0, "No configuration file found")
        for found in files:
            text = f"{found.client.title} — {one_line(str(found.path), 200)}"
            self.files.addItem(text, str(found.path))
        self.files.setEnabled(bool(files))
        if is_first and files:  # found only now: begin with one
            self.files.setFocus()

    def set_keyring(self, error: ErrorDetails) -> None:
        """Report that there is no keyring, and select another place for secrets."""
        place = self.secrets.findData(SecretsAs.KEYRING.value)
        text = f"{SECRETS_TEXTS[SecretsAs.KEYRING]}: {one_line(error.what, 100)}"
        self.secrets.setItemText(place, text)
        model = self.secrets.model()
        if isinstance(model, QStandardItemModel):
            model.item(place).setEnabled(False)
        self._usual_place = self.secrets.findData(SecretsAs.VARIABLES.value)
        if self.secrets.currentIndex() == place:
            self.secrets.setCurrentIndex(self._usual_place)

    def open_file(self, path: Path) -> None:
        """Request the servers of a file."""
        self._path = path
        place = self.files.findData(str(path))
        if place < 0:
            self.files.addItem(one_line(str(path), 200), str(path))
            self.files.setEnabled(True)
            place = self.files.count() - 1
        self.files.setCurrentIndex(place)
        self._begin()
        self.file_chosen.emit(path)

    def show_rows(
        self,
        path: Path,
        rows: Iterable[ImportRow],
        errors: Iterable[ErrorDetails],
        saved: Mapping[str, CatalogueEntry],
    ) -> None:
        """Show the servers of the file at `path`; ignored if another one was selected."""
        if path != self._path:
            return
        is_new = not self._rows
        ticked = None if is_new else set(self.ticked())
        current = self.tree.currentIndex().row()
        self._rows = list(rows)
        self._saved = saved
        self._fill(ticked)
        self.inputs.show_required(required_inputs(self._rows), is_new=is_new)
        self._show_errors(error_lines(errors), are_all=not self._rows)
        self.tree.setCurrentIndex(self.tree.model().index(max(current, 0), _NAME))
        self._show_current()
        self._enable()
        order_tabs(self)

    def show_unreadable(self, path: Path, error: ErrorDetails) -> None:
        """Show why a file cannot be read."""
        if path == self._path:
            self._begin()
            self._show_errors(error_lines([error]), are_all=True)

    def show_refusal(self, error: ErrorDetails, *, is_of_keyring: bool = False) -> None:
        """Show why the import failed; with `is_of_keyring`, suggest another place for secrets."""
        self._enable()
        instead = "Alternatively, store the secrets somewhere else." if is_of_keyring else ""
        self._show_note("\n".join(filter(None, [error.as_text(), instead])), Tone.BAD)
        if is_of_keyring:
            self.secrets.setFocus()

    def close_imported(self) -> None:
        """Close: the checked servers were saved."""
        super().accept()

    def ticked(self) -> list[str]:
        """The names, in the file, of the checked servers."""
        items = (self.tree.topLevelItem(row) for row in range(self.tree.topLevelItemCount()))
        return [
            found_name(row)
            for row, item in zip(self._rows, items, strict=True)
            if item is not None and item.checkState(_NAME) is Qt.CheckState.Checked
        ]

    @Slot()
    def accept(self) -> None:
        """Request the import of checked servers; stay open while something is missing."""
        names = self.ticked()
        if not names or self._path is None:
            return
        chosen = SecretsAs(self.secrets.currentData())
        missing = self.inputs.show_missing(names, chosen)
        if missing is not None:
            self._show_note("Enter the values that the selected servers need.", Tone.BAD)
            missing.setFocus()
            self.inputs.ensureWidgetVisible(missing)
            return
        self._import.setEnabled(False)
        self._timer.stop()  # later rows must not replace the error
        request = ImportRequest(self._path, tuple(names), self.inputs.answers(), chosen)
        self.import_requested.emit(request)

    def _fill(self, ticked: set[str] | None) -> None:
        self.tree.blockSignals(True)
        self.tree.clear()
        for row in self._rows:
            self.tree.addTopLevelItem(self._item(row, ticked))
        self.tree.blockSignals(False)
        self._recolour()
        for column in (_NAME, _STANDING):
            self.tree.resizeColumnToContents(column)
            self.tree.setColumnWidth(column, min(self.tree.columnWidth(column) + GAP, 260))

    @Slot()
    def _recolour(self) -> None:
        self.tree.blockSignals(True)
        for place, row in enumerate(self._rows):
            item = self.tree.topLevelItem(place)
            if item is not None:
                item.setForeground(_STANDING, self._appearance.colour(_TONES[row.standing]))
        self.tree.blockSignals(False)

    def _item(self, row: ImportRow, ticked: set[str] | None) -> QTreeWidgetItem:
        name = found_name(row)
        cells = [
            one_line(name, 100),
            STATUS_TEXTS[row.standing],
            one_line(address_or_error(row), 300),
        ]
        item = QTreeWidgetItem(cells)
        item.setToolTip(_NAME, plain_tip(one_line(name, 200)))
        can_be = row.standing in {ImportStatus.NEW, ImportStatus.CHANGED}
        flags = item.flags() & ~Qt.ItemFlag.ItemIsUserCheckable
        if can_be:
            is_ticked = row.standing is ImportStatus.NEW if ticked is None else name in ticked
            state = Qt.CheckState.Checked if is_ticked else Qt.CheckState.Unchecked
            flags |= Qt.ItemFlag.ItemIsUserCheckable
            item.setCheckState(_NAME, state)
        item.setFlags(flags)
        return item

    def _begin(self) -> None:
        self._rows = []
        self.tree.clear()
        self.details.clear()
        self.inputs.show_required((), is_new=True)
        self._show_errors("", are_all=False)
        self.secrets.setCurrentIndex(self._usual_place)
        self._enable()

    def _show_errors(self, text: str, *, are_all: bool) -> None:
        """`are_all`: there is nothing to show but these errors."""
        self.errors.setPlainText(text)
        self.errors.setVisible(bool(text))
        self._body.setVisible(not are_all)
        lines = 40 if are_all else 4
        height = self.errors.fontMetrics().lineSpacing() * lines + GAP
        self.errors.setMaximumHeight(height)

    def _show_note(self, text: str, tone: Tone) -> None:
        self.note.setText(text)
        set_text_colour(self.note, self._appearance, tone)

    def _make_choice(self) -> QComboBox:
        """Make the choice of where secrets are stored: the keyring if there is one, by default."""
        choice = QuietComboBox(self)
        for each in SecretsAs:
            choice.addItem(SECRETS_TEXTS[each], each.value)
        choice.setAccessibleName("Keep secrets")
        self._secrets_label = QLabel("&Keep secrets", self)
        self._secrets_label.setBuddy(choice)
        return choice

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget(self)
        dress_tree(tree, ("Server", "State", "Command or URL"), "Servers to import")
        tree.setRootIsDecorated(False)
        tree.header().setSectionResizeMode(_WHAT, QHeaderView.ResizeMode.Stretch)
        return tree

    def _add_buttons(self) -> None:
        self.buttons = DialogButtons(self)
        self._import = QPushButton("&Import", self)
        self._import.setDefault(True)
        self.buttons.addButton(self._import, QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        label = QLabel("&File", self)
        label.setBuddy(self.files)
        self.files.setAccessibleName("File")
        self.files.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        top.addWidget(label)
        top.addWidget(self.files, 1)
        top.addWidget(self.choose)
        secrets = in_row(self._secrets_label, (self.secrets, 1))
        self._body = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False)
        self._body.addWidget(self.tree)
        self._body.addWidget(self.details)
        self._body.setStretchFactor(0, 3)
        self._body.setStretchFactor(1, 2)
        found = QWidget(self)
        page = QVBoxLayout(found)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(GAP)
        page.addLayout(top)
        page.addWidget(self.errors)
        page.addWidget(self._body, 1)
        page.addWidget(self.inputs)
        page.addLayout(secrets)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, GAP, GAP, GAP)
        column.setSpacing(GAP)
        column.addWidget(ScreenFit(found, QSize(2 * GAP_L, 130), self), 1)
        column.addWidget(self.note)
        column.addWidget(self.buttons)

    def _connect(self) -> None:
        self.files.activated.connect(self._on_file_chosen)
        self.choose.clicked.connect(self._on_choose)
        self.tree.itemChanged.connect(self._enable)
        self._appearance.changed.connect(self._recolour)
        self.tree.currentItemChanged.connect(self._show_current)
        self.secrets.currentIndexChanged.connect(self._enable)
        self.inputs.changed.connect(self._timer.start)
        self._timer.timeout.connect(self._on_answers)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)

    @Slot()
    def _enable(self) -> None:
        ticked = set(self.ticked())
        number = len(ticked)
        rows = [row for row in self._rows if found_name(row) in ticked]
        has_secrets = any(map(contains_secrets, rows)) or bool(rows and self.inputs.secret_ids())
        self.secrets.setVisible(has_secrets)
        self._secrets_label.setVisible(has_secrets)
        self._import.setEnabled(bool(number))
        text = "&Import {}".format(count(number, "server")) if number else ""
        self._import.setText(text or "&Import")
        self._show_note(
            "Importing runs nothing: what a server runs is shown before it first starts.",
            Tone.MUTED,
        )

    @Slot()
    def _show_current(self) -> None:
        place = self.tree.currentIndex().row()
        is_there = 0 <= place < len(self._rows)
        lines = detail_lines(self._rows[place], self._saved) if is_there else []
        self.details.setPlainText("\n".join(lines))

    @Slot(int)
    def _on_file_chosen(self, place: int) -> None:
        path = self.files.itemData(place)
        if isinstance(path, str):
            self.open_file(Path(path))

    @Slot()
    def _on_choose(self) -> None:
        dialog = QFileDialog(
            self, "Choose a configuration file", fileMode=QFileDialog.FileMode.ExistingFile
        )
        dialog.setNameFilters(["Configurations (*.json *.jsonc *.toml)", "All files (*)"])
        dialog.fileSelected.connect(self._on_file_selected)
        open_dialog(dialog)

    @Slot(str)
    def _on_file_selected(self, path: str) -> None:
        self.open_file(Path(path))

    @Slot()
    def _on_answers(self) -> None:
        if self._path is not None and self._rows:
            secrets = self.inputs.secret_ids()
            answers = self.inputs.answers()
            hidden = {key: _HIDDEN if key in secrets else value for key, value in answers.items()}
            self.answers_entered.emit(self._path, hidden)
