"""Adds and edits a server, and shows what it will run or reach as it is typed."""

from __future__ import annotations

import dataclasses
import os
import shutil
import urllib.parse
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QPlainTextEdit,
    QPushButton,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.formatting import elide, one_line, visible
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import plain_label, read_only_text, set_text_colour
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, order_tabs
from mcp_progress_monitor.gui.page_commands import SAVE_SERVER
from mcp_progress_monitor.gui.servers.draft import (
    Draft,
    DraftResult,
    EditedServer,
    ServerKind,
    ValueKind,
    draft_of,
    entered,
    read_draft,
)
from mcp_progress_monitor.gui.servers.editor_pages import ConnectionPage, RestartPage, ServerPage
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.wording.approval import STARTED_IN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from PySide6.QtGui import QKeyEvent

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.snapshots.definitions import HttpDefinition, ServerDefinition

_LONGEST: Final = 4000  # characters of one value; the rest is replaced by an ellipsis
_HIDDEN: Final = "••••••"
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}


def preview_lines(definition: ServerDefinition, *, shows_values: bool = False) -> list[str]:
    """List what runs or is contacted, an item a line, in plain text; masks values unless shown."""
    if isinstance(definition, StdioDefinition):
        return list(_of_command(definition, shows_values=shows_values))
    return list(_of_url(definition, shows_values=shows_values))


def _of_command(definition: StdioDefinition, *, shows_values: bool) -> Iterator[str]:
    yield f"Runs      {_shown(definition.command)}" + _found(definition)
    for number, word in enumerate(definition.args, 1):
        yield "  word {}  {}".format(number, _shown(word) or "(empty)")
    yield f"in        {_shown(definition.cwd) if definition.cwd else STARTED_IN}"
    yield from _values("sets      ", definition.env, " = ", shows_values=shows_values)


def _found(definition: StdioDefinition) -> str:
    """Say where the program is found, as far as can be determined without running it."""
    command = definition.command
    found = shutil.which(command, path=definition.env.get("PATH"))
    if os.path.dirname(command):  # noqa: PTH120  # "./x" has one, which Path forgets
        return ""
    if found is None:
        return "   " + "(not found on PATH)"
    return "" if found == command else "   " + f"(found: {_shown(found)})"


def _of_url(definition: HttpDefinition, *, shows_values: bool) -> Iterator[str]:
    method = "GET " if definition.transport == "sse" else "POST"
    yield f"Asks      {method} {_shown(definition.address)}"
    yield from _values("sends     ", definition.headers, ": ", shows_values=shows_values)
    if definition.auth == "oauth":
        yield "signs in with OAuth in your browser when the server requires it"
    parts = urllib.parse.urlsplit(definition.url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        yield "Note      http:// is not encrypted: others on the network can read everything."


def _values(
    label: str, values: Mapping[str, str], between: str, *, shows_values: bool
) -> Iterator[str]:
    for name, written in values.items():
        yield label + _shown(name) + between + _value(name, written, shows_values=shows_values)
        label = " " * len(label)


def _value(name: str, written: str, *, shows_values: bool) -> str:
    """A value; for a reference, what it refers to."""
    value = entered(name, written)
    scheme = visible(value.scheme)
    if value.kind is ValueKind.ENVIRONMENT:
        return scheme + f"(environment variable {_shown(value.value)})"
    if value.kind is ValueKind.KEYRING:
        return scheme + f"(from the keyring: {_shown(value.value)})"
    if value.kind is ValueKind.ASK:
        return scheme + f"(asked for at each connection: {_shown(value.value)})"
    if not value.value:
        return scheme + "(empty)"
    return scheme + (_shown(value.value) if shows_values else _HIDDEN)


def _shown(text: str) -> str:
    return elide(visible(text), _LONGEST)


_PREVIEW_MS: Final = 150
_PREVIEW_LINES: Final = 9


class ServerEditor(QDialog):
    """A dialog to add or edit a server.

    Errors are shown at their fields, and nothing is saved before all is valid. The dialog stays
    open until `close_saved`: secrets and a file have to be written first, which may fail.
    """

    save_requested = Signal(object)  # an `EditedServer`

    def __init__(
        self,
        appearance: Appearance,
        parent: QWidget | None = None,
        *,
        draft: Draft | None = None,
        entry: CatalogueEntry | None = None,
        names: Collection[str] = (),
    ) -> None:
        """Edit `entry`, or add a server that begins as `draft`.

        `names` are those of the other servers.
        """
        super().__init__(parent)
        self._appearance = appearance
        self._entry = entry
        self._names = frozenset(names)
        self._has_keyring = True
        self._has_tried = False
        self._is_saving = False
        self._refusal = ""
        self.handed_over: EditedServer | None = None  # the last entry that was to be saved
        self.setWindowTitle("Add server" if entry is None else f"Edit {one_line(entry.name, 60)}")
        self.server = ServerPage(appearance, self)
        self.connection = ConnectionPage(appearance, self)
        self.restart = RestartPage(appearance, self)
        self.tabs = QTabWidget(self)
        self.preview = self._make_preview()
        self.note = plain_label(self)
        self.note.hide()
        self._timer = QTimer(self, singleShot=True, interval=_PREVIEW_MS)
        self._timer.timeout.connect(self._show_reading)
        self._add_buttons()
        self._lay_out()
        self._begun = draft_of(entry) if entry is not None else draft or Draft()
        for page in (self.server, self.connection, self.restart):
            page.set_draft(self._begun)
            page.changed.connect(self._on_changed)
        self._begun = self.draft()
        self._show_reading()
        fit_to_screen(self, QSize(680, 560))
        order_tabs(self)
        is_url = self._begun.kind is ServerKind.URL
        (self.server.url if is_url else self.server.command).setFocus()

    @property
    def server_name(self) -> str:
        """The name of the edited server, before changes; empty while one is added."""
        return "" if self._entry is None else self._entry.name

    def draft(self) -> Draft:
        draft = self.server.draft(Draft())
        return self.restart.draft(self.connection.draft(draft))

    def reading(self) -> DraftResult:
        """The current fields as a definition, or their errors."""
        base = self._entry.definition if self._entry is not None else None
        return read_draft(self.draft(), base, self._names, has_keyring=self._has_keyring)

    def set_keyring(self, error: ErrorDetails | None) -> None:
        self._has_keyring = error is None
        self.server.set_keyring_error("" if error is None else error.as_text())
        self._timer.start()  # an unrelated saving error stays visible

    @Slot()
    def close_saved(self) -> None:
        """Close: the entry was saved."""
        super().accept()

    def show_refusal(self, error: ErrorDetails) -> None:
        """Show why saving failed; the input is kept."""
        self._is_saving = False
        self._refusal = error.as_text()
        self._show_note(self._refusal, Tone.BAD)
        self._enable()

    @Slot()
    def accept(self) -> None:
        """Save the input and connect; if there are errors, stay open."""
        self._save(is_to_connect=True)

    @Slot()
    def save_only(self) -> None:
        """Save the input without connecting."""
        self._save(is_to_connect=False)

    @Slot()
    def reject(self) -> None:
        """Close, unless saving is in progress."""
        if not self._is_saving:
            super().reject()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keep the input on Escape."""
        if event.key() == Qt.Key.Key_Escape and self.draft() != self._begun:
            self._show_note("There are unsaved changes: choose Save or Cancel.", Tone.BAD)
        else:
            super().keyPressEvent(event)

    def _save(self, *, is_to_connect: bool) -> None:
        if self._is_saving:
            return
        self._has_tried = True
        self._refusal = ""
        self._timer.stop()
        reading = self._show_reading()
        if reading.definition is None:
            self._focus_first_error(reading)
            return
        self._is_saving = True
        self._enable()
        draft = self.draft()
        old = self._entry or CatalogueEntry(reading.definition)
        entry = dataclasses.replace(
            old, definition=reading.definition, connects_at_start=draft.connects_at_start
        )
        edited = EditedServer(entry, reading.secrets, self.server_name, is_to_connect)
        self.handed_over = edited
        self.save_requested.emit(edited)

    def _show_reading(self) -> DraftResult:
        """Show what would run; errors only after the first attempt to save."""
        reading = self.reading()
        errors = reading.errors if self._has_tried else {}
        for page in (self.server, self.connection, self.restart):
            page.show_errors(errors)
        self._mark_tabs(errors)
        if self._has_tried and reading.errors:
            count = len(reading.errors)
            text = "1 field needs fixing" if count == 1 else ""
            self._show_note(text or f"{count} fields need fixing", Tone.BAD)
        else:
            self._show_note(self._refusal, Tone.BAD)
        self._show_preview(reading)
        return reading

    def _show_preview(self, reading: DraftResult) -> None:
        if reading.definition is None:
            hint = "What will run or be contacted is shown here once the fields are valid."
            first = next(iter(reading.errors.values()), "")
            lines = [hint, visible(first)] if self._has_tried else [hint]
        else:
            table = self.server.variables
            if self.server.is_url.isChecked():
                table = self.server.headers
            lines = preview_lines(reading.definition, shows_values=table.shows.isChecked())
        text = "\n".join(lines)
        if text != self.preview.toPlainText():
            self.preview.setPlainText(text)

    def _mark_tabs(self, errors: dict[str, str]) -> None:
        for place, page in enumerate((self.server, self.connection, self.restart)):
            fields = {name.partition(".")[0] for name in errors}
            is_wrong = bool(fields & page.fields.keys())
            icon = self._appearance.icon("warning", Tone.BAD)
            self.tabs.setTabIcon(place, icon if is_wrong else QIcon())

    def _focus_first_error(self, reading: DraftResult) -> None:
        for page in (self.server, self.connection, self.restart):
            first = page.show_errors(reading.errors)
            if first is not None:
                self.tabs.setCurrentWidget(page)
                first.setFocus()
                page.ensureWidgetVisible(first)
                return

    def _show_note(self, text: str, tone: Tone) -> None:
        self.note.setText(visible(text, keep_line_ends=True))
        self.note.setVisible(bool(text))
        set_text_colour(self.note, self._appearance, tone)

    def _make_preview(self) -> QPlainTextEdit:
        preview = read_only_text(self, "Exactly what will run or be contacted")
        line = preview.fontMetrics().lineSpacing()
        preview.setMinimumHeight(line * 3 + 2 * GAP)
        preview.setMaximumHeight(line * _PREVIEW_LINES + 2 * GAP)
        return preview

    def _add_buttons(self) -> None:
        role = QDialogButtonBox.ButtonRole
        self.buttons = DialogButtons(self)
        self.connect_button = QPushButton("Sav&e and connect", self)
        self.save_button = QPushButton("&Save", self, autoDefault=False)
        self.buttons.addButton(self.save_button, role.AcceptRole)
        self.buttons.addButton(self.connect_button, role.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.connect_button.setDefault(True)
        self.connect_button.clicked.connect(self.accept)
        self.save_button.clicked.connect(self.save_only)
        self.buttons.rejected.connect(self.reject)
        KeyAction(SAVE_SERVER, self, self.accept, self.connect_button)

    def _lay_out(self) -> None:
        self.tabs.addTab(self.server, "Server")
        self.tabs.addTab(self.connection, "Connection")
        self.tabs.addTab(self.restart, "Restart")
        for pages in (self.tabs, self.tabs.tabBar()):
            pages.setAccessibleName("Pages")
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, GAP, GAP, GAP)
        column.setSpacing(GAP)
        column.addWidget(self.tabs, 3)
        column.addWidget(self.preview, 1)
        column.addWidget(self.note)
        column.addWidget(self.buttons)

    def _enable(self) -> None:
        for button in self.buttons.buttons():
            button.setEnabled(not self._is_saving)

    @Slot()
    def _on_changed(self) -> None:
        self._refusal = ""
        self._timer.start()
