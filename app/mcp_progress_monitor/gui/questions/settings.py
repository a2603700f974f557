"""Settings of a server's questions: rules that answer them, and the folders it may use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args
from urllib.parse import unquote, urlsplit

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QGridLayout,
    QGroupBox,
    QHeaderView,
    QLabel,
    QPushButton,
    QScrollArea,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    plain_label,
    push_button,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.json_editor import JsonEditor
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row, open_dialog
from mcp_progress_monitor.gui.common.tables import FlatHeader, RowHover
from mcp_progress_monitor.gui.page_commands import SAVE_RULES
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone
from mcp_progress_monitor.path_checks import expanded
from mcp_progress_monitor.snapshots.settings import (
    LONGEST_DELAY_S,
    QuestionRule,
    QuestionRules,
    RuleMode,
    read_roots,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QKeyEvent
    from PySide6.QtWidgets import QLayout

    from mcp_progress_monitor.snapshots.settings import Root


class ServerSettingsDialog(QDialog):
    """A settings dialog; Escape closes it only without unsaved changes.

    A subclass lays out its controls in `page`, and saves in `save`, which returns what is wrong.
    """

    def __init__(
        self, title: str, server: str, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.server = server
        self.appearance = appearance
        self.is_changed = False
        self.setWindowTitle(f"{title}: {one_line(server, 60)}")
        self.note = plain_label(self)
        set_text_colour(self.note, appearance, Tone.BAD)
        self._buttons = DialogButtons(self)
        standard = QDialogButtonBox.StandardButton
        self._buttons.setStandardButtons(standard.Save | standard.Cancel)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        for keys in (standard.Save, standard.Cancel):
            self._buttons.button(keys).setAutoDefault(False)
        KeyAction(SAVE_RULES, self, self.accept, self._buttons.button(standard.Save))

    def lay_out(self, about: str, page: QLayout) -> None:
        text = plain_label(self, about)
        set_text_colour(text, self.appearance, Tone.MUTED)
        in_column(text, (page, 1), self.note, self._buttons, of=self, spacing=GAP)

    def save(self) -> str:
        """Emit the settings; returns the error, empty if they are valid."""
        raise NotImplementedError

    @Slot()
    def accept(self) -> None:
        """Save and close; stay open and show an error."""
        wrong = self.save()
        self.note.setText(wrong)
        if not wrong:
            super().accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keep unsaved input on Escape; save on Ctrl+Enter."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.accept()
        elif event.key() == Qt.Key.Key_Escape and self.is_changed:
            self.note.setText("There are unsaved changes: choose Save or Cancel.")
        else:
            super().keyPressEvent(event)

    @Slot()
    def note_change(self) -> None:
        self.is_changed = True


_MODES: Final[tuple[RuleMode, ...]] = get_args(RuleMode)
_MODE_TEXTS: Final = {
    "ask": "Ask me",
    "decline": "Decline automatically",
    "answer": "Send a fixed answer automatically",
    "undeclared": "Do not declare this capability",
}
_KINDS: Final = (
    ("sampling", "A model response (sampling)"),
    ("form", "A form to fill in (elicitation)"),
    ("url", "A web page to open (elicitation)"),
    ("roots", "Folders it may use (roots)"),
)
_EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "sampling": {
        "role": "assistant",
        "content": {"type": "text", "text": ""},
        "model": "fixed-answer",
        "stopReason": "endTurn",
    },
    "form": {},
}
_EDITOR_HEIGHT: Final = 110


class RuleBox(QGroupBox):
    """The rule for one kind of question."""

    changed = Signal()

    def __init__(
        self, kind: str, title: str, rule: QuestionRule, appearance: Appearance, parent: QWidget
    ) -> None:
        super().__init__(title, parent)
        self.kind = kind
        self._answer = rule.answer
        self.mode = QuietComboBox(self)
        for mode in _MODES:
            self.mode.addItem(_MODE_TEXTS[mode], mode)
        self.mode.setCurrentIndex(_MODES.index(rule.mode))
        self.mode.setAccessibleName(title)
        self.delay = QDoubleSpinBox(self)
        self.delay.setRange(0.0, LONGEST_DELAY_S)
        self.delay.setDecimals(1)
        self.delay.setSuffix(" s")
        self.delay.setValue(rule.delay_s)
        self.delay.setAccessibleName(f"Delay: {title}")
        self.delay.setToolTip("Set how long to wait for your own answer")
        self._wait = QLabel("after a delay of", self)
        self.editor = JsonEditor(appearance, self, name="Fixed answer")
        self.editor.show_value(rule.answer or _EXAMPLES.get(kind, {}))
        self.editor.setFixedHeight(_EDITOR_HEIGHT)
        grid = QGridLayout(self)
        grid.setSpacing(GAP)
        grid.addWidget(self.mode, 0, 0)
        grid.addWidget(self._wait, 0, 1)
        grid.addWidget(self.delay, 0, 2)
        grid.addWidget(self.editor, 1, 0, 1, 3)
        grid.setColumnStretch(0, 1)
        self._show_needed()
        self.mode.currentIndexChanged.connect(self._on_changed)
        self.delay.valueChanged.connect(self._on_changed)
        self.editor.value_changed.connect(self._on_changed)
        self.editor.mistake_changed.connect(self._on_changed)

    def rule(self) -> QuestionRule:
        mode: RuleMode = self.mode.currentData()
        answer = self.editor.value() if self._has_editor() else self._answer
        is_waiting = mode in {"decline", "answer"}
        return QuestionRule(
            mode=mode,
            delay_s=self.delay.value() if is_waiting else 0.0,
            answer=answer if mode == "answer" else None,
        )

    def mistake(self) -> str:
        """Say why the fixed answer is not JSON; empty if it is, or none is needed."""
        self.editor.apply()
        return self.editor.mistake if self._has_editor() else ""

    def _has_editor(self) -> bool:
        """True if a fixed answer must be entered: URLs have none, folders their own settings."""
        return self.mode.currentData() == "answer" and self.kind in _EXAMPLES

    def _show_needed(self) -> None:
        self.editor.setVisible(self._has_editor())
        is_waiting = self.mode.currentData() in {"decline", "answer"}
        for each in (self._wait, self.delay):
            each.setVisible(is_waiting)

    @Slot()
    def _on_changed(self) -> None:
        self._show_needed()
        self.changed.emit()


class RulesDialog(ServerSettingsDialog):
    """One rule for each kind of question of one server."""

    rules_chosen = Signal(str, object)  # the server's name and its `QuestionRules`

    def __init__(
        self,
        server: str,
        rules: QuestionRules,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Rules for questions", server, appearance, parent)
        page = QWidget(self)
        self.boxes = {
            kind: RuleBox(kind, title, getattr(rules, kind), appearance, page)
            for kind, title in _KINDS
        }
        for box in self.boxes.values():
            box.changed.connect(self.note_change)
        in_column(*self.boxes.values(), 1, of=page, margins=0)
        area = QScrollArea(self, widgetResizable=True)
        area.setWidget(page)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.lay_out(
            (
                "Choose what happens automatically when this server asks, so that long runs "
                "continue without you. Declared capabilities change at the next connection."
            ),
            in_column(area),
        )
        fit_to_screen(self, QSize(560, 480))

    def save(self) -> str:
        for box in self.boxes.values():
            mistake = box.mistake()
            if mistake:
                return f"{box.title()}: {mistake}"
        rules = {kind: box.rule() for kind, box in self.boxes.items()}
        self.rules_chosen.emit(self.server, QuestionRules(**rules))
        return ""


def as_uri(entered: str) -> str:
    """A folder as a URI; URLs and relative paths stay unchanged."""
    if "://" in entered:
        return entered
    path = expanded(Path(entered))
    return path.as_uri() if path.is_absolute() else entered


def as_folder(uri: str) -> str:
    """A local file URI as a path if that is equivalent; otherwise the URI."""
    try:
        split = urlsplit(uri)
    except ValueError:
        return uri
    if split.scheme != "file" or split.netloc or split.query or split.fragment:
        return uri
    path = unquote(split.path)
    return path if visible(path) == path and as_uri(path) == uri else uri


class RootsDialog(ServerSettingsDialog):
    """One row for each folder, entered as a path or a file:// URL."""

    roots_chosen = Signal(str, object)  # the server's name and `tuple[Root, ...]`

    def __init__(
        self,
        server: str,
        roots: Sequence[Root],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", server, appearance, parent)
        self.setWindowTitle(f"Folders of {visible(server[:60])}")
        self.table = QTableWidget(0, 2, self)
        self.table.setHorizontalHeader(FlatHeader(self.table))
        self.table.setShowGrid(False)
        self.table.setWordWrap(False)
        RowHover(self.table)
        self.table.setHorizontalHeaderLabels(["Folder", "Name"])
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.verticalHeader().hide()
        self.table.setTabKeyNavigation(False)
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setAccessibleName("Folders that the server may use, with their names")
        for root in roots:
            self.add(as_folder(root.uri), root.name or "")
        self._add_folder = self._button("Add &folder…", self._on_add_folder)
        self._add_line = self._button("&Add row", self._on_add_line)
        self._remove = self._button("&Remove", self._on_remove)
        self.table.itemChanged.connect(self.note_change)
        buttons = in_column(self._add_folder, self._add_line, self._remove, 1)
        row = in_row((self.table, 1), buttons)
        self.lay_out(
            (
                "The server receives these folders when it asks for them, and is notified when "
                "they change. They do not limit what the server can access: the operating "
                "system does."
            ),
            row,
        )
        fit_to_screen(self, QSize(560, 320))

    def add(self, folder: str, name: str) -> None:
        row = self.table.rowCount()
        self.table.insertRow(row)
        self.table.setItem(row, 0, QTableWidgetItem(folder))
        self.table.setItem(row, 1, QTableWidgetItem(name))

    def save(self) -> str:
        found = [self._row(row) for row in range(self.table.rowCount())]
        try:
            roots = read_roots([each for each in found if each["uri"]])
        except UserError as error:
            return error.details.as_text()
        self.roots_chosen.emit(self.server, roots)
        return ""

    def _row(self, row: int) -> dict[str, str | None]:
        folder, name = (self.table.item(row, column) for column in (0, 1))
        entered = folder.text().strip() if folder is not None else ""
        called = name.text().strip() if name is not None else ""
        return {"uri": as_uri(entered) if entered else "", "name": called or None}

    def _button(self, text: str, slot: object) -> QPushButton:
        button = push_button(self, text)
        button.clicked.connect(slot)
        return button

    @Slot()
    def _on_add_folder(self) -> None:
        dialog = QFileDialog(self, "A folder that the server may use")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self._on_folder_chosen)
        open_dialog(dialog)

    @Slot(str)
    def _on_folder_chosen(self, folder: str) -> None:
        self.add(folder, Path(folder).name)
        self.note_change()

    @Slot()
    def _on_add_line(self) -> None:
        self.add("", "")
        last = self.table.model().index(self.table.rowCount() - 1, 0)
        self.table.setCurrentIndex(last)
        self.table.edit(last)

    @Slot()
    def _on_remove(self) -> None:
        rows = {index.row() for index in self.table.selectedIndexes()}
        for row in sorted(rows, reverse=True):
            self.table.removeRow(row)
        if rows:
            self.note_change()
