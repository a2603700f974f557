"""Importing servers of other programs' files: seen first, ticked, saved, and not yet run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QStandardItemModel, QTextOption
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.catalogue.preview import Standing
from mcp_progress_monitor.models.import_words import (
    ImportWish,
    SecretsAs,
    asked_in,
    detail_lines,
    found_name,
    holds_secrets,
    problem_lines,
    secrets_words,
    standing_word,
    what_it_is,
)
from mcp_progress_monitor.text import count, one_line
from mcp_progress_monitor.widgets.appearance import GAP, GAP_L, Appearance, Tone, monospaced
from mcp_progress_monitor.widgets.import_inputs import ImportInputs
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.schema_field import QuietComboBox, plain_label, set_text_colour
from mcp_progress_monitor.widgets.screen_fit import ScreenFit, fit_to_screen
from mcp_progress_monitor.widgets.tab_order import order_tabs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcp_progress_monitor.catalogue.clients import FoundFile
    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.catalogue.preview import ImportRow
    from mcp_progress_monitor.problem import Problem

_ANSWER_MS: Final = 300
_HIDDEN: Final = "••••"
"""Stands for a secret answer where a command is shown."""
_NAME, _STANDING, _WHAT = range(3)
_TONES: Final = {
    Standing.NEW: Tone.GOOD,
    Standing.CHANGED: Tone.WARNING,
    Standing.SAME: Tone.MUTED,
    Standing.UNUSABLE: Tone.BAD,
}


class ImportDialog(QDialog):
    """Reads nothing by itself: a chosen file is wanted by a signal, and shown by a method."""

    file_chosen = Signal(object)
    """The `Path` of a file whose servers are to be shown."""
    answers_entered = Signal(object, object)
    """The file's path and the answers, secret ones hidden: what the servers are is wanted anew."""
    import_requested = Signal(object)
    """An `ImportWish`."""

    def __init__(
        self, files: Sequence[FoundFile], appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Import servers"))
        self._appearance = appearance
        self._path: Path | None = None
        self._rows: list[ImportRow] = []
        self._saved: Mapping[str, CatalogueEntry] = {}
        self.files = QuietComboBox(self)
        self.choose = QPushButton(self.tr("C&hoose file…"), self)
        self.problems = self._made_text(self.tr("What is wrong with the file"))
        self.tree = self._made_tree()
        self.inputs = ImportInputs(appearance, self)
        self.details = self._made_text(self.tr("What the chosen server is"))
        self.secrets = self._made_choice()
        self.note = plain_label(self)
        self._usual_place = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_ANSWER_MS)
        self._add_buttons()
        self._lay_out()
        self._connect()
        self.set_files(files)
        self._begin()
        fit_to_screen(self, QSize(820, 560))
        order_tabs(self)

    def set_files(self, files: Sequence[FoundFile]) -> None:
        """Offer the files that were found on this machine."""
        is_first = not self.files.isEnabled() and self.focusWidget() is self.choose
        self.files.clear()
        self.files.addItem(self.tr("Choose one of {}").format(count(len(files), "found file")))
        if not files:
            self.files.setItemText(0, self.tr("No known program's file was found here"))
        for found in files:
            words = f"{found.client.title} — {one_line(str(found.path), 200)}"
            self.files.addItem(words, str(found.path))
        self.files.setEnabled(bool(files))
        if is_first and files:  # found only now, and where one begins
            self.files.setFocus()

    def set_keyring(self, problem: Problem) -> None:
        """Tell that there is no keyring to be used, and choose another place for secrets."""
        place = self.secrets.findData(SecretsAs.KEYRING.value)
        words = self.tr("{place}: {problem}").format(
            place=secrets_words(SecretsAs.KEYRING), problem=one_line(problem.what, 100)
        )
        self.secrets.setItemText(place, words)
        model = self.secrets.model()
        if isinstance(model, QStandardItemModel):
            model.item(place).setEnabled(False)
        self._usual_place = self.secrets.findData(SecretsAs.VARIABLES.value)
        if self.secrets.currentIndex() == place:
            self.secrets.setCurrentIndex(self._usual_place)

    def open_file(self, path: Path) -> None:
        """Ask for what a file holds."""
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
        problems: Iterable[Problem],
        saved: Mapping[str, CatalogueEntry],
    ) -> None:
        """Show the servers of the file at `path`; those of another one come too late."""
        if path != self._path:
            return
        is_new = not self._rows
        ticked = None if is_new else set(self.ticked())
        current = self.tree.currentIndex().row()
        self._rows = list(rows)
        self._saved = saved
        self._fill(ticked)
        self.inputs.show_asked(asked_in(self._rows), is_new=is_new)
        self._show_problems(problem_lines(problems), are_all=not self._rows)
        self.tree.setCurrentIndex(self.tree.model().index(max(current, 0), _NAME))
        self._show_current()
        self._enable()
        order_tabs(self)

    def show_unreadable(self, path: Path, problem: Problem) -> None:
        """Tell in place why a file cannot be read."""
        if path == self._path:
            self._begin()
            self._show_problems(problem_lines([problem]), are_all=True)

    def show_refusal(self, problem: Problem, *, is_of_keyring: bool = False) -> None:
        """Tell why the import failed; with `is_of_keyring` that secrets can be kept elsewhere."""
        self._enable()
        instead = self.tr("Or choose another place for the secrets.") if is_of_keyring else ""
        self._say("\n".join(filter(None, [problem.as_text(), instead])), Tone.BAD)
        if is_of_keyring:
            self.secrets.setFocus()

    def close_imported(self) -> None:
        """Close: what was ticked is saved."""
        super().accept()

    def ticked(self) -> list[str]:
        """The names, in the file, of the ticked servers."""
        items = (self.tree.topLevelItem(row) for row in range(self.tree.topLevelItemCount()))
        return [
            found_name(row)
            for row, item in zip(self._rows, items, strict=True)
            if item is not None and item.checkState(_NAME) is Qt.CheckState.Checked
        ]

    @Slot()
    def accept(self) -> None:
        """Ask for the import of what is ticked; stay open while something is missing."""
        names = self.ticked()
        if not names or self._path is None:
            return
        missing = self.inputs.show_missing(names)
        if missing is not None:
            self._say(self.tr("Answer what the ticked servers ask for."), Tone.BAD)
            missing.setFocus()
            self.inputs.ensureWidgetVisible(missing)
            return
        self._import.setEnabled(False)
        self._timer.stop()  # or rows that come later would take a refusal's place
        chosen = SecretsAs(self.secrets.currentData())
        wish = ImportWish(self._path, tuple(names), self.inputs.answers(), chosen)
        self.import_requested.emit(wish)

    def _fill(self, ticked: set[str] | None) -> None:
        self.tree.blockSignals(True)
        self.tree.clear()
        for row in self._rows:
            self.tree.addTopLevelItem(self._item(row, ticked))
        self.tree.blockSignals(False)
        for column in (_NAME, _STANDING):
            self.tree.resizeColumnToContents(column)
            self.tree.setColumnWidth(column, min(self.tree.columnWidth(column) + GAP, 260))

    def _item(self, row: ImportRow, ticked: set[str] | None) -> QTreeWidgetItem:
        name = found_name(row)
        words = [one_line(name, 100), standing_word(row.standing), one_line(what_it_is(row), 300)]
        item = QTreeWidgetItem(words)
        item.setForeground(_STANDING, self._appearance.colour(_TONES[row.standing]))
        item.setToolTip(_NAME, plain_tip(one_line(name, 200)))
        can_be = row.standing in {Standing.NEW, Standing.CHANGED}
        flags = item.flags() & ~Qt.ItemFlag.ItemIsUserCheckable
        if can_be:
            is_ticked = row.standing is Standing.NEW if ticked is None else name in ticked
            state = Qt.CheckState.Checked if is_ticked else Qt.CheckState.Unchecked
            flags |= Qt.ItemFlag.ItemIsUserCheckable
            item.setCheckState(_NAME, state)
        item.setFlags(flags)
        return item

    def _begin(self) -> None:
        """Show no file."""
        self._rows = []
        self.tree.clear()
        self.details.clear()
        self.inputs.show_asked((), is_new=True)
        self._show_problems("", are_all=False)
        self.secrets.setCurrentIndex(self._usual_place)
        self._enable()

    def _show_problems(self, words: str, *, are_all: bool) -> None:
        """`are_all`: there is nothing but these problems to be shown."""
        self.problems.setPlainText(words)
        self.problems.setVisible(bool(words))
        self._body.setVisible(not are_all)
        lines = 40 if are_all else 4
        height = self.problems.fontMetrics().lineSpacing() * lines + GAP
        self.problems.setMaximumHeight(height)

    def _say(self, words: str, tone: Tone) -> None:
        self.note.setText(words)
        set_text_colour(self.note, self._appearance, tone)

    def _made_text(self, name: str) -> QPlainTextEdit:
        text = QPlainTextEdit(self)
        text.setReadOnly(True)
        text.setTabChangesFocus(True)
        text.setFont(monospaced(self.font()))
        text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        text.setAccessibleName(name)
        return text

    def _made_choice(self) -> QComboBox:
        """Where secrets go; in the keyring if there is one, unless something else is chosen."""
        choice = QuietComboBox(self)
        for each in SecretsAs:
            choice.addItem(secrets_words(each), each.value)
        choice.setAccessibleName(self.tr("Keep secrets"))
        self._secrets_label = QLabel(self.tr("&Keep secrets"), self)
        self._secrets_label.setBuddy(choice)
        return choice

    def _made_tree(self) -> QTreeWidget:
        tree = QTreeWidget(self)
        tree.setHeaderLabels([self.tr("Server"), self.tr("State"), self.tr("Command or URL")])
        tree.setRootIsDecorated(False)
        tree.setUniformRowHeights(True)
        tree.setAllColumnsShowFocus(True)
        tree.header().setSectionResizeMode(_WHAT, QHeaderView.ResizeMode.Stretch)
        tree.setAccessibleName(self.tr("Servers in the file; tick those to import"))
        return tree

    def _add_buttons(self) -> None:
        self.buttons = QDialogButtonBox(self)
        self._import = QPushButton(self.tr("&Import"), self)
        self._import.setDefault(True)
        self.buttons.addButton(self._import, QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.choose.setAutoDefault(False)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        label = QLabel(self.tr("&File"), self)
        label.setBuddy(self.files)
        self.files.setAccessibleName(self.tr("File"))
        self.files.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        top.addWidget(label)
        top.addWidget(self.files, 1)
        top.addWidget(self.choose)
        secrets = QHBoxLayout()
        secrets.addWidget(self._secrets_label)
        secrets.addWidget(self.secrets, 1)
        self._body = QSplitter(Qt.Orientation.Vertical, self)
        self._body.setChildrenCollapsible(False)
        self._body.addWidget(self.tree)
        self._body.addWidget(self.details)
        self._body.setStretchFactor(0, 3)
        self._body.setStretchFactor(1, 2)
        found = QWidget(self)
        page = QVBoxLayout(found)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(GAP)
        page.addLayout(top)
        page.addWidget(self.problems)
        page.addWidget(self._body, 1)
        page.addWidget(self.inputs)
        page.addLayout(secrets)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP_L, GAP_L, GAP_L, GAP_L)
        column.setSpacing(GAP)
        column.addWidget(ScreenFit(found, QSize(2 * GAP_L, 130), self), 1)
        column.addWidget(self.note)
        column.addWidget(self.buttons)

    def _connect(self) -> None:
        self.files.activated.connect(self._on_file_chosen)
        self.choose.clicked.connect(self._on_choose)
        self.tree.itemChanged.connect(self._enable)
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
        has_secrets = any(map(holds_secrets, rows)) or bool(rows and self.inputs.secret_ids())
        self.secrets.setVisible(has_secrets)
        self._secrets_label.setVisible(has_secrets)
        self._import.setEnabled(bool(number))
        words = self.tr("&Import {}").format(count(number, "server")) if number else ""
        self._import.setText(words or self.tr("&Import"))
        self._say(
            self.tr("Nothing is run by this: what a server runs is shown before it first starts."),
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
        dialog = QFileDialog(self, self.tr("A configuration with servers"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(
            [self.tr("Configurations (*.json *.jsonc *.toml)"), self.tr("All files (*)")]
        )
        dialog.fileSelected.connect(self._on_file_selected)
        dialog.open()

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
