"""The pages of the server editor: command or URL, connection, restarts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QSpinBox,
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
from mcp_progress_monitor.gui.common.layout import in_column, in_row, open_dialog, order_tabs
from mcp_progress_monitor.gui.servers.draft import (
    Draft,
    EnteredValue,
    ServerKind,
    ValueKind,
    kind_word,
    readable_secrets,
    to_ask,
    usual_name,
)
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Appearance, Tone
from mcp_progress_monitor.path_checks import here
from mcp_progress_monitor.snapshots.definitions import FileWatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.definitions import Era


class FieldBox(QWidget):
    """`control`, a hint, and this field's error."""

    def __init__(
        self, control: QWidget, appearance: Appearance, parent: QWidget, hint: str = ""
    ) -> None:
        super().__init__(parent)
        self.control = control
        self._appearance = appearance
        self._error = plain_label(self)
        self._error.hide()
        column = in_column(control, of=self, margins=0, spacing=2)
        if hint:
            about = plain_label(self, hint)
            set_text_colour(about, appearance, Tone.MUTED)
            column.addWidget(about)
        column.addWidget(self._error)
        self.setFocusProxy(control)

    @property
    def error(self) -> str:
        """The shown error."""
        return self._error.text()

    def show_error(self, text: str) -> None:
        """Show an error, also to screen readers; empty removes it."""
        self._error.setText(visible(text, keep_line_ends=True))
        self._error.setVisible(bool(text))
        set_text_colour(self._error, self._appearance, Tone.BAD)
        mark_invalid(self.control, self._appearance, is_wrong=bool(text))
        self.control.setAccessibleDescription(text)


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
        self.form = QFormLayout(
            self.inner, fieldGrowthPolicy=QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow
        )
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
        text = QLabel(
            label,
            self.inner,
            textFormat=Qt.TextFormat.PlainText,
            alignment=Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft,
        )
        text.setBuddy(control)
        # Aligned with the control's first line.
        text.setFixedHeight(self._line.sizeHint().height())
        self.form.addRow(text, box)
        self.fields[name] = box
        return box

    def show_errors(self, errors: Mapping[str, str]) -> QWidget | None:
        """Show each error at its field; returns the first control with one."""
        first = None
        for name, box in self.fields.items():
            text = errors.get(name, "")
            box.show_error(text)
            if text and first is None:
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
        is_elsewhere = value.kind in {ValueKind.KEYRING, ValueKind.ASK}
        self.value.setText("" if is_elsewhere else value.value)
        self._scheme = QLabel(value.scheme.strip(), self)
        self._scheme.setVisible(bool(value.scheme))
        self.remove = QToolButton(self, autoRaise=True)
        self.remove.setIcon(appearance.icon("remove"))
        self.remove.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._error = plain_label(self)
        self._error.hide()
        self._lay_out()
        self.name.setVisible(is_named)
        self.remove.setVisible(is_named)
        self.name.textChanged.connect(self._on_changed)
        self.value.textChanged.connect(self._on_changed)
        self.kind.currentIndexChanged.connect(self._on_changed)
        self.remove.clicked.connect(self.remove_requested)
        self._show_kind()

    @property
    def error(self) -> str:
        """The shown error."""
        return self._error.text()

    def entered(self) -> EnteredValue:
        """The row's content."""
        kind, typed, name = self._kind(), self.value.text(), self.name.text().strip()
        if kind is ValueKind.ASK:
            was = self._was._replace(name=name)
            return was if was.kind is kind else to_ask(was)
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

    def show_error(self, text: str) -> None:
        """Show the row's error."""
        self._error.setText(text)
        self._error.setVisible(bool(text))
        set_text_colour(self._error, self._appearance, Tone.BAD)
        wrong = self.value if self.name.text().strip() else self.name
        for line in (self.name, self.value):
            mark_invalid(line, self._appearance, is_wrong=bool(text) and line is wrong)
            line.setAccessibleDescription(text)

    def _make_kind(self, value: EnteredValue) -> QComboBox:
        box = QuietComboBox(self)
        sources = [kind_word(kind) for kind in _KINDS]
        box.addItems(sources)
        box.setMinimumContentsLength(max(map(len, sources)))
        box.setCurrentIndex(_KINDS.index(value.kind))
        return box

    def _lay_out(self) -> None:
        row = in_row(
            (self.name, 3), self.kind, self._scheme, (self.value, 4), self.remove, spacing=GAP_S
        )
        in_column(row, self._error, of=self, margins=0, spacing=2)

    def _kind(self) -> ValueKind:
        return _KINDS[self.kind.currentIndex()]

    def _show_kind(self) -> None:
        kind = self._kind()
        is_kept = kind is ValueKind.KEYRING and self._was.kind is kind and bool(self._was.value)
        hints = {
            ValueKind.TEXT: "value",
            ValueKind.ENVIRONMENT: "variable name",
            ValueKind.KEYRING: "saved; type to replace it" if is_kept else "secret",
            ValueKind.ASK: "asked for when connecting",
        }
        self.value.setPlaceholderText(hints[kind])
        self.value.setEnabled(kind is not ValueKind.ASK)
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
        self._keyring_error = ""
        self.add_button = QPushButton(add_words, self)
        self.bearer_button = QPushButton("&Bearer token", self)
        self.bearer_button.setToolTip("Add the header Authorization: Bearer …")
        self.bearer_button.setVisible(has_bearer)
        self.shows = QCheckBox("Show &values", self)
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
            self._remove(self._rows[-1])
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

    def set_keyring_error(self, text: str) -> None:
        """Set why there is no keyring, shown once a row needs one; empty if there is one."""
        self._keyring_error = text
        self._show_note()

    def show_errors(self, field: str, errors: Mapping[str, str]) -> QWidget | None:
        """Show each error in its row; returns the first line with one."""
        first = None
        for number, row in enumerate(self._rows):
            text = errors.get(f"{field}.{number}", "")
            row.show_error(text)
            if text and first is None:
                first = row.value if row.name.text().strip() else row.name
        return first

    def _lay_out(self) -> None:
        self._column = QVBoxLayout()
        self._column.setSpacing(GAP_S)
        buttons = in_row(self.add_button, self.bearer_button, 1, self.shows, spacing=GAP)
        in_column(self._column, self._note, buttons, of=self, margins=0, spacing=GAP_S)

    def _remove(self, row: ValueRow) -> None:
        self._rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _show_note(self) -> None:
        values = self.entered()
        notes = []
        if self._keyring_error and any(v.kind is ValueKind.KEYRING for v in values):
            notes.append(self._keyring_error)
        secrets = readable_secrets(values)
        if secrets:
            names = one_line(", ".join(secrets), 120)
            notes.append(
                f"{names} looks like a secret. As text it is readable in the catalogue file; "
                "use the keyring or an environment variable instead."
            )
        self._note.setText("\n".join(notes))
        self._note.setVisible(bool(notes))
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
            self._remove(row)
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


_ERAS: Final[tuple[Era, ...]] = ("auto", "handshake", "per-request")
_COMMAND: Final = ("command", "folder", "variables")
_URL: Final = ("url", "transport", "headers", "signs_in")
_SIGN_IN: Final = ("client_id", "client_secret", "scope")
_DAY_S: Final = 86_400


class ServerPage(EditorPage):
    """Name, kind, and the command or URL."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self.is_command = QRadioButton("Comman&d (stdio)", self)
        self.is_url = QRadioButton("&URL (HTTP)", self)
        self.name = QLineEdit(self)
        self.command = QLineEdit(self, placeholderText="python -m my_server --verbose")
        self.folder = QLineEdit(self)
        self.folder.setPlaceholderText(str(here() or ""))
        self.browse = QPushButton("Bro&wse…", self, autoDefault=False)
        self.variables = ValueTable("&Add variable", appearance, self)
        self.url = QLineEdit(self, placeholderText="https://example.com/mcp")
        self.transport = QuietComboBox(self)
        self.transport.addItems(["Streamable HTTP", "HTTP+SSE (up to 2024-11-05)"])
        self.headers = ValueTable("&Add header", appearance, self, has_bearer=True)
        self.signs_in = QCheckBox("Use &OAuth in the browser when required", self)
        self.client_id = QLineEdit(self, placeholderText="none: register automatically")
        self.client_id.setToolTip("Enter a client id or the URL of a client id metadata document")
        self.client_secret = ValueRow(Draft().client_secret, appearance, self, is_named=False)
        self.scope = QLineEdit(self, placeholderText="as the server requests")
        self.at_start = QCheckBox("Connect w&hen this program starts", self)
        self._add_fields()
        self._connect()
        self._on_changed()

    def draft(self, draft: Draft) -> Draft:
        """`draft` with the content of this page."""
        return dataclasses.replace(
            draft,
            kind=ServerKind.URL if self.is_url.isChecked() else ServerKind.COMMAND,
            name=self.name.text(),
            command=self.command.text(),
            folder=self.folder.text(),
            variables=self.variables.entered(),
            url=self.url.text(),
            is_legacy_sse=self.transport.currentIndex() == 1,
            headers=self.headers.entered(),
            signs_in=self.signs_in.isChecked(),
            client_id=self.client_id.text(),
            client_secret=self.client_secret.entered(),
            scope=self.scope.text(),
            connects_at_start=self.at_start.isChecked(),
        )

    def set_draft(self, draft: Draft) -> None:
        (self.is_url if draft.kind is ServerKind.URL else self.is_command).setChecked(True)
        self.name.setText(draft.name)
        self.command.setText(draft.command)
        self.folder.setText(draft.folder)
        self.variables.set_entered(draft.variables)
        self.url.setText(draft.url)
        self.transport.setCurrentIndex(int(draft.is_legacy_sse))
        self.headers.set_entered(draft.headers)
        self.signs_in.setChecked(draft.signs_in)
        self.client_id.setText(draft.client_id)
        self._set_secret(draft.client_secret)
        self.scope.setText(draft.scope)
        self.at_start.setChecked(draft.connects_at_start)
        self._on_changed()

    def show_errors(self, errors: Mapping[str, str]) -> QWidget | None:
        """Show each error at its field, and those of rows within them."""
        first = super().show_errors(errors)
        for field, table in (("variables", self.variables), ("headers", self.headers)):
            within = table.show_errors(field, errors)
            first = first or within
        return first

    def set_keyring_error(self, text: str) -> None:
        """Set why there is no keyring, shown where one is needed."""
        self.variables.set_keyring_error(text)
        self.headers.set_keyring_error(text)

    def _add_fields(self) -> None:
        kinds = QWidget(self)
        in_row(self.is_command, self.is_url, 1, of=kinds, margins=0, spacing=GAP)
        self.is_command.setChecked(True)
        kinds.setFocusProxy(self.is_command)
        self.add("kind", "Kind", kinds)
        self.add("name", "&Name", self.name)
        self.add("command", "&Command line", self.command)
        self.add("folder", "&Folder", self._with_button(self.folder, self.browse))
        self.add("variables", "Variables", self.variables)
        self.add("url", "U&RL", self.url)
        self.add("transport", "&Transport", self.transport)
        self.add("headers", "Headers", self.headers)
        self.add("signs_in", "Sign in", self.signs_in)
        self.add("client_id", "Client &id", self.client_id)
        self.add("client_secret", "Client secret", self.client_secret)
        self.add("scope", "Sco&pe", self.scope)
        self.add("at_start", "", self.at_start)

    def _with_button(self, line: QLineEdit, button: QPushButton) -> QWidget:
        both = QWidget(self)
        in_row((line, 1), button, of=both, margins=0)
        both.setFocusProxy(line)
        line.setAccessibleName("Folder")
        return both

    def _connect(self) -> None:
        for line in (self.name, self.command, self.folder, self.url, self.client_id, self.scope):
            line.textChanged.connect(self._on_changed)
        for box in (self.is_url, self.signs_in, self.at_start):
            box.toggled.connect(self._on_changed)
        for table in (self.variables, self.headers):
            table.changed.connect(self._on_changed)
        self.client_secret.changed.connect(self._on_changed)
        self.transport.currentIndexChanged.connect(self._on_changed)
        self.browse.clicked.connect(self._on_browse)

    def _set_secret(self, secret: EnteredValue) -> None:
        old = self.client_secret
        self.client_secret = ValueRow(secret, self.appearance, self, is_named=False)
        self.client_secret.changed.connect(self._on_changed)
        box = self.fields["client_secret"]
        layout = box.layout()
        if layout is not None:
            layout.replaceWidget(old, self.client_secret)
        box.control = self.client_secret
        box.setFocusProxy(self.client_secret)
        old.hide()
        old.deleteLater()

    @Slot()
    def _on_changed(self) -> None:
        is_url = self.is_url.isChecked()
        signs_in = is_url and self.signs_in.isChecked()
        for names, is_shown in ((_COMMAND, not is_url), (_URL, is_url), (_SIGN_IN, signs_in)):
            for name in names:
                self.form.setRowVisible(self.fields[name], is_shown)
        usual = usual_name(self.command.text(), self.url.text(), is_url=is_url)
        text = "from the URL" if is_url else "from the command"
        self.name.setPlaceholderText(usual or text)
        self.changed.emit()

    @Slot()
    def _on_browse(self) -> None:
        dialog = QFileDialog(
            self,
            "Folder to start the server in",
            self.folder.text(),
            fileMode=QFileDialog.FileMode.Directory,
        )
        dialog.fileSelected.connect(self.folder.setText)
        open_dialog(dialog)


class ConnectionPage(EditorPage):
    """Protocol, limits and keep-alive."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self.era = QuietComboBox(self)
        self.era.addItems(
            ["Detect (recommended)", "Handshake (up to 2025-11-25)", "Per request (2026-07-28)"]
        )
        self.connect_timeout = _seconds(self, least=0, most=_DAY_S)
        self.connect_timeout.setSpecialValueText("Automatic")
        self.idle = QLineEdit(self, placeholderText="30 min for tools, 1 min for other requests")
        self.total = QLineEdit(self, placeholderText="off")
        self.ping = _seconds(self, least=0, most=_DAY_S)
        self.ping.setSpecialValueText("never")
        off = "Seconds or “off”. Applies to calls without limits of their own."
        self.add("era", "&Protocol", self.era)
        self.add(
            "connect_timeout",
            "Co&nnection timeout",
            self.connect_timeout,
            (
                "From start to the end of negotiation, without the sign-in. Automatic: 15 s "
                "for a URL, up to 60 s for a command that is starting."
            ),
        )
        self.add("idle", "&Idle timeout of calls", self.idle, off)
        self.add("total", "T&otal timeout of calls", self.total, off)
        self.add(
            "ping",
            "&Keep-alive after",
            self.ping,
            (
                "Pings a silent server while calls are pending, to tell a hung server from a "
                "slow one."
            ),
        )
        for line in (self.idle, self.total):
            line.textChanged.connect(self.changed)
        for box in (self.connect_timeout, self.ping):
            box.valueChanged.connect(self.changed)
        self.era.currentIndexChanged.connect(self.changed)

    def draft(self, draft: Draft) -> Draft:
        """`draft` with the content of this page."""
        return dataclasses.replace(
            draft,
            era=_ERAS[self.era.currentIndex()],
            connect_timeout_s=self.connect_timeout.value() or None,
            idle=self.idle.text(),
            total=self.total.text(),
            ping_s=self.ping.value(),
        )

    def set_draft(self, draft: Draft) -> None:
        self.era.setCurrentIndex(_ERAS.index(draft.era))
        self.connect_timeout.setValue(draft.connect_timeout_s or 0.0)
        self.idle.setText(draft.idle)
        self.total.setText(draft.total)
        self.ping.setValue(draft.ping_s)


class RestartPage(EditorPage):
    """Reconnecting when the server ends, and restarting when its files change."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self.restarts = QCheckBox("Re&connect automatically when it ends", self)
        self.limit = QSpinBox(self, suffix=" times in a row")
        self.limit.setRange(1, 1000)
        self.first = _seconds(self, least=0, most=_DAY_S)
        self.longest = _seconds(self, least=0, most=_DAY_S)
        self.watches = QCheckBox("&Restart when its files change", self)
        self.paths = QPlainTextEdit(
            self, placeholderText="its folder and the files in its arguments", tabChangesFocus=True
        )
        self.paths.setFixedHeight(self.paths.fontMetrics().lineSpacing() * 4 + GAP)
        self.patterns = QLineEdit(self)
        self.patterns.setPlaceholderText(" ".join(FileWatch().patterns))
        doubles = "Doubles each time, up to the longest delay."
        self.add("restarts", "", self.restarts)
        self.add("restart_limit", "At &most", self.limit)
        self.add("first_delay", "&First delay", self.first, doubles)
        self.add("longest_delay", "&Longest delay", self.longest)
        self.add("watches", "", self.watches)
        self.add(
            "paths",
            "Files and f&olders",
            self.paths,
            "One per line; folders include everything in them.",
        )
        self.add(
            "patterns",
            "File &name patterns",
            self.patterns,
            "Patterns such as *.py, separated by spaces.",
        )
        self._connect()
        self._enable()

    def draft(self, draft: Draft) -> Draft:
        """`draft` with the content of this page."""
        lines = self.paths.toPlainText().splitlines()
        return dataclasses.replace(
            draft,
            restarts=self.restarts.isChecked(),
            restart_limit=self.limit.value(),
            first_delay_s=self.first.value(),
            longest_delay_s=self.longest.value(),
            watches=self.watches.isChecked(),
            watch_paths=tuple(line.strip() for line in lines if line.strip()),
            patterns=tuple(self.patterns.text().split()),
        )

    def set_draft(self, draft: Draft) -> None:
        self.restarts.setChecked(draft.restarts)
        self.limit.setValue(draft.restart_limit)
        self.first.setValue(draft.first_delay_s)
        self.longest.setValue(draft.longest_delay_s)
        self.watches.setChecked(draft.watches)
        self.paths.setPlainText("\n".join(draft.watch_paths))
        usual = FileWatch().patterns
        self.patterns.setText("" if draft.patterns == usual else " ".join(draft.patterns))

    def _connect(self) -> None:
        for box in (self.restarts, self.watches):
            box.toggled.connect(self._enable)
        for number in (self.limit, self.first, self.longest):
            number.valueChanged.connect(self.changed)
        self.paths.textChanged.connect(self.changed)
        self.patterns.textChanged.connect(self.changed)

    @Slot()
    def _enable(self) -> None:
        for control in (self.limit, self.first, self.longest):
            control.setEnabled(self.restarts.isChecked())
        for line in (self.paths, self.patterns):
            line.setEnabled(self.watches.isChecked())
        self.changed.emit()


def _seconds(parent: QWidget, *, least: float, most: float) -> QDoubleSpinBox:
    box = QDoubleSpinBox(parent, decimals=1, suffix=" s")
    box.setRange(least, most)
    return box
