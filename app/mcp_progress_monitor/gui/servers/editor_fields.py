"""Fields of the server editor: a control with its error below; masked variables and headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    mark_invalid,
    plain_label,
    plain_tip,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.layout import in_column, in_row, order_tabs
from mcp_progress_monitor.gui.servers.draft import (
    EnteredValue,
    ValueKind,
    kind_word,
    readable_secrets,
)
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class FieldBox(QWidget):
    """`control`, a hint, and this field's error."""

    def __init__(
        self, control: QWidget, appearance: Appearance, parent: QWidget, hint: str = ""
    ) -> None:
        super().__init__(parent)
        self.control = control
        self._appearance = appearance
        self._problem = plain_label(self)
        self._problem.hide()
        column = in_column(control, of=self, margins=0, spacing=2)
        if hint:
            about = plain_label(self, hint)
            set_text_colour(about, appearance, Tone.MUTED)
            column.addWidget(about)
        column.addWidget(self._problem)
        self.setFocusProxy(control)

    @property
    def problem(self) -> str:
        """The shown error."""
        return self._problem.text()

    def show_problem(self, words: str) -> None:
        """Show an error, also to screen readers; empty removes it."""
        self._problem.setText(visible(words, keep_line_ends=True))
        self._problem.setVisible(bool(words))
        set_text_colour(self._problem, self._appearance, Tone.BAD)
        mark_invalid(self.control, self._appearance, is_wrong=bool(words))
        self.control.setAccessibleDescription(words)


class EditorPage(QScrollArea):
    """A page of fields by name; scrolls when the window is small."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.appearance = appearance
        self.fields: dict[str, FieldBox] = {}
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.inner = QWidget(self)
        self.form = QFormLayout(self.inner)
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        self.form.setContentsMargins(GAP_L, GAP_L, GAP_L, GAP_L)
        self.form.setSpacing(GAP)
        self._line = QLineEdit(self)
        self._line.hide()
        self.setWidget(self.inner)

    def add(self, name: str, label: str, control: QWidget, hint: str = "") -> FieldBox:
        """Add a field; its label's mnemonic leads to it, and names it if it has no name."""
        box = FieldBox(control, self.appearance, self.inner, hint)
        if not control.accessibleName():
            control.setAccessibleName(label.replace("&", ""))
        words = QLabel(label, self.inner)
        words.setTextFormat(Qt.TextFormat.PlainText)
        words.setBuddy(control)
        # Aligned with the control's first line.
        words.setFixedHeight(self._line.sizeHint().height())
        words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        self.form.addRow(words, box)
        self.fields[name] = box
        return box

    def show_problems(self, problems: Mapping[str, str]) -> QWidget | None:
        """Show each error at its field; returns the first control with one."""
        first = None
        for name, box in self.fields.items():
            words = problems.get(name, "")
            box.show_problem(words)
            if words and first is None:
                first = box.control
        return first


_MOST: Final = 500  # most rows; a file with more is not edited here
_KINDS: Final = tuple(ValueKind)


class ValueRow(QWidget):
    """One variable or header: name, source of its value, and the value or its name there.

    A secret in the keyring is never read: its line is empty, and typed text replaces it.
    """

    changed = Signal()
    remove_requested = Signal()

    def __init__(
        self, value: EnteredValue, appearance: Appearance, parent: QWidget, *, is_named: bool = True
    ) -> None:
        super().__init__(parent)
        self._was = value
        self._appearance = appearance
        self._shows = False
        self.name = QLineEdit(value.name, self)
        self.kind = self._make_kind(value)
        self.value = QLineEdit(self)
        self.value.setText("" if value.kind is ValueKind.KEYRING else value.value)
        self._scheme = QLabel(value.scheme.strip(), self)
        self._scheme.setVisible(bool(value.scheme))
        self.remove = QToolButton(self)
        self.remove.setIcon(appearance.icon("remove"))
        self.remove.setAutoRaise(True)
        self.remove.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._problem = plain_label(self)
        self._problem.hide()
        self._lay_out()
        self.name.setVisible(is_named)
        self.remove.setVisible(is_named)
        self.name.textChanged.connect(self._on_changed)
        self.value.textChanged.connect(self._on_changed)
        self.kind.currentIndexChanged.connect(self._on_changed)
        self.remove.clicked.connect(self.remove_requested)
        self._show_kind()

    @property
    def problem(self) -> str:
        """The shown error."""
        return self._problem.text()

    def entered(self) -> EnteredValue:
        """The row's content."""
        kind, typed, name = self._kind(), self.value.text(), self.name.text().strip()
        if kind is not ValueKind.KEYRING:
            typed = typed.strip() if kind is ValueKind.ENVIRONMENT else typed
            return EnteredValue(name, kind, typed, self._was.scheme)
        kept = self._was.value if self._was.kind is kind else ""
        return EnteredValue(name, kind, kept, self._was.scheme, typed or None)

    def show_value(self, *, is_shown: bool) -> None:
        self._shows = is_shown
        is_plain = is_shown or self._kind() is ValueKind.ENVIRONMENT
        mode = QLineEdit.EchoMode
        self.value.setEchoMode(mode.Normal if is_plain else mode.Password)

    def show_problem(self, words: str) -> None:
        """Show the row's error."""
        self._problem.setText(words)
        self._problem.setVisible(bool(words))
        set_text_colour(self._problem, self._appearance, Tone.BAD)
        wrong = self.value if self.name.text().strip() else self.name
        for line in (self.name, self.value):
            mark_invalid(line, self._appearance, is_wrong=bool(words) and line is wrong)
            line.setAccessibleDescription(words)

    def _make_kind(self, value: EnteredValue) -> QComboBox:
        box = QuietComboBox(self)
        box.addItems([kind_word(kind) for kind in _KINDS])
        box.setCurrentIndex(_KINDS.index(value.kind))
        return box

    def _lay_out(self) -> None:
        row = in_row(
            (self.name, 3), self.kind, self._scheme, (self.value, 4), self.remove, spacing=GAP_S
        )
        in_column(row, self._problem, of=self, margins=0, spacing=2)

    def _kind(self) -> ValueKind:
        return _KINDS[self.kind.currentIndex()]

    def _show_kind(self) -> None:
        kind = self._kind()
        is_kept = kind is ValueKind.KEYRING and self._was.kind is kind and bool(self._was.value)
        hints = {
            ValueKind.TEXT: "value",
            ValueKind.ENVIRONMENT: "variable name",
            ValueKind.KEYRING: "saved; type to replace it" if is_kept else "secret",
        }
        self.value.setPlaceholderText(hints[kind])
        name = one_line(self.name.text(), 60) or "new row"
        self.name.setAccessibleName("Name")
        self.kind.setAccessibleName(f"Source of the value of {name}")
        self.value.setAccessibleName(f"{name}: {hints[kind]}")
        self.remove.setAccessibleName(f"Remove {name}")
        self.remove.setToolTip(plain_tip(f"Remove {name}"))
        self.show_value(is_shown=self._shows)

    @Slot()
    def _on_changed(self) -> None:
        self._show_kind()
        self.changed.emit()


class ValueTable(QWidget):
    """Rows of values, with notes about secrets among them."""

    changed = Signal()

    def __init__(
        self, add_words: str, appearance: Appearance, parent: QWidget, *, has_bearer: bool = False
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._rows: list[ValueRow] = []
        self._keyring_problem = ""
        self.add_button = QPushButton(add_words, self)
        self.bearer_button = QPushButton("&Bearer token", self)
        self.bearer_button.setToolTip("Add the header Authorization: Bearer …")
        self.bearer_button.setVisible(has_bearer)
        self.shows = QCheckBox("Sho&w values", self)
        self._note = plain_label(self)
        self._note.hide()
        for button in (self.add_button, self.bearer_button):
            button.setAutoDefault(False)
        self.add_button.clicked.connect(self._on_add)
        self.bearer_button.clicked.connect(self._on_bearer)
        self.shows.toggled.connect(self._on_shown)
        self._lay_out()
        self._show_note()
        self.setFocusProxy(self.add_button)

    def rows(self) -> list[ValueRow]:
        return list(self._rows)

    def entered(self) -> tuple[EnteredValue, ...]:
        """The rows' contents."""
        return tuple(row.entered() for row in self._rows)

    def set_entered(self, values: Iterable[EnteredValue]) -> None:
        while self._rows:
            self._take(self._rows[-1])
        for value in values:
            self.add(value)

    def add(self, value: EnteredValue) -> ValueRow:
        row = ValueRow(value, self._appearance, self)
        row.show_value(is_shown=self.shows.isChecked())
        row.changed.connect(self._on_changed)
        row.remove_requested.connect(self._on_remove)
        self._rows.append(row)
        self._column.addWidget(row)
        self._on_changed()
        return row

    def set_keyring_problem(self, words: str) -> None:
        """Set why there is no keyring, shown once a row needs one; empty if there is one."""
        self._keyring_problem = words
        self._show_note()

    def show_problems(self, field: str, problems: Mapping[str, str]) -> QWidget | None:
        """Show each error in its row; returns the first line with one."""
        first = None
        for number, row in enumerate(self._rows):
            words = problems.get(f"{field}.{number}", "")
            row.show_problem(words)
            if words and first is None:
                first = row.value if row.name.text().strip() else row.name
        return first

    def _lay_out(self) -> None:
        self._column = QVBoxLayout()
        self._column.setSpacing(GAP_S)
        buttons = in_row(self.add_button, self.bearer_button, 1, self.shows, spacing=GAP)
        in_column(self._column, self._note, buttons, of=self, margins=0, spacing=GAP_S)

    def _take(self, row: ValueRow) -> None:
        self._rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _show_note(self) -> None:
        values = self.entered()
        words = []
        if self._keyring_problem and any(v.kind is ValueKind.KEYRING for v in values):
            words.append(self._keyring_problem)
        secrets = readable_secrets(values)
        if secrets:
            names = one_line(", ".join(secrets), 120)
            words.append(
                f"{names} looks like a secret. As text it is readable in the catalogue file; "
                "use the keyring or an environment variable instead."
            )
        self._note.setText("\n".join(words))
        self._note.setVisible(bool(words))
        set_text_colour(self._note, self._appearance, Tone.WARNING)
        self.shows.setVisible(bool(values))
        self.add_button.setEnabled(len(values) < _MOST)

    @Slot()
    def _on_add(self) -> None:
        self._added(EnteredValue("")).name.setFocus()

    @Slot()
    def _on_bearer(self) -> None:
        self._added(EnteredValue("Authorization", scheme="Bearer ")).value.setFocus()

    def _added(self, value: EnteredValue) -> ValueRow:
        row = self.add(value)
        order_tabs(self.window())
        return row

    @Slot()
    def _on_remove(self) -> None:
        row = self.sender()
        if isinstance(row, ValueRow):
            self._take(row)
            self.add_button.setFocus()
            self._on_changed()

    @Slot(bool)
    def _on_shown(self, is_shown: bool) -> None:
        for row in self._rows:
            row.show_value(is_shown=is_shown)
        self.changed.emit()

    @Slot()
    def _on_changed(self) -> None:
        self._show_note()
        self.changed.emit()
