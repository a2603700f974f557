"""The servers of all other clients in one tree: imported, watched, or both.

Nothing runs, and nothing is written before the user has seen it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QStandardItemModel
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHeaderView,
    QLabel,
    QPushButton,
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
from mcp_progress_monitor.gui.common.tables import dress_tree
from mcp_progress_monitor.gui.servers.import_inputs import ImportInputs
from mcp_progress_monitor.gui.theme import GAP, GAP_L, Appearance, Tone, emphasised
from mcp_progress_monitor.wording.clients import (
    RECORDING_IS_OFF,
    SECRETS_TEXTS,
    STATUS_TEXTS,
    SecretsAs,
    address_or_error,
    address_text,
    contains_secrets,
    detail_lines,
    error_lines,
    found_name,
    has_url,
    refusal_text,
    required_inputs,
    server_title,
    state_text,
    url_state_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.catalogue.client_servers import ClientFile, ClientRow
    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.catalogue.tap_install import ClientServer
    from mcp_progress_monitor.errors import ErrorDetails

    Key: TypeAlias = tuple[Path, tuple[str, ...]]
    """A file, and the keys that lead to a server in it."""

_ANSWER_MS: Final = 300
_SHOWN: Final = 50_000  # characters of the preview
_PATH: Final = 200
_WIDEST: Final = 260
_HIDDEN: Final = "••••"  # shown instead of a secret in a command
_NAME, _ADD, _WATCH, _WHAT = range(4)
_ABOUT: Final = (
    "Add servers here to connect them from this window. Watch them to see what their client does:"
    " the client then starts them through this program, which records everything and changes"
    " nothing."
)
_NOTHING_RUNS: Final = "Importing runs nothing: what a server runs is shown before it first starts."
_LOOKING: Final = "Looking for clients…"
_NONE: Final = "No servers of known clients were found on this computer."
_NONE_SUCH: Final = (
    "No client on this computer has this server in its configuration. These are all that were"
    " found."
)
_TICK_URL: Final = "Tick the server to start a tap for its URL."
_IS_WATCHED: Final = "This server is watched. Untick it to stop watching."
_REQUESTS: Final = (
    "Many clients ask for no progress, so servers report none. The tap then adds a token to"
    " their calls, and keeps the notifications back from them. Servers with a URL may answer such a"
    " call with a stream."
)
_SIGN_IN: Final = (
    "For servers with a URL that require a sign-in with OAuth. The tap is then the server for the"
    " client, passes its sign-in on, and records it without secrets. It applies to taps that"
    " you start from now on."
)
_TONES: Final = {
    ImportStatus.NEW: Tone.GOOD,
    ImportStatus.CHANGED: Tone.WARNING,
    ImportStatus.SAME: Tone.MUTED,
    ImportStatus.UNUSABLE: Tone.BAD,
}
_IMPORTABLE: Final = (ImportStatus.NEW, ImportStatus.CHANGED)


class ImportRequest(NamedTuple):
    """An import: the servers of a file by their names in it, with the required values."""

    path: Path
    names: tuple[str, ...]
    answers: dict[str, str]
    secrets: SecretsAs = SecretsAs.KEYRING
    client: McpClient | None = None


class WatchRequest(NamedTuple):
    """Servers to watch from now on, and servers to stop watching.

    With `requests_progress`, the new taps ask for progress where the client does not.
    """

    watch: tuple[ClientServer, ...] = ()
    stop: tuple[ClientServer, ...] = ()
    requests_progress: bool = False


class FoundClients(NamedTuple):
    """The content of the dialog: the files, and since when taps of watched servers run.

    `saved` are our own servers by name. `wanted` are servers to tick for watching; `is_missing`
    says that none is the requested one. Without `is_recorded`, recording is off.
    """

    files: Sequence[ClientFile]
    live: Mapping[Key, Sequence[float]]
    saved: Mapping[str, CatalogueEntry]
    wanted: Sequence[ClientServer] = ()
    is_missing: bool = False
    is_recorded: bool = True


class ClientsDialog(QDialog):
    """A tree of clients and their servers, with a tick to add each here and one to watch it."""

    file_chosen = Signal(object)  # the `Path` of another file to show
    answers_entered = Signal(object, object)
    """A file's path and the answers, secret ones hidden: requests its servers again."""
    import_requested = Signal(object)  # a list of `ImportRequest`s
    preview_requested = Signal(object)
    """A `WatchRequest` whose changes are to be previewed."""
    change_requested = Signal(object)
    """The `WatchRequest` whose changes the user has seen."""
    tap_requested = Signal(object, bool)
    """The key of a server with a URL, and whether a tap is to run for it."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Servers of other clients")
        self._appearance = appearance
        self._files: dict[Path, ClientFile] = {}
        self._found: set[Path] = set()  # files of clients on this computer
        self._live: Mapping[Key, Sequence[float]] = {}
        self._saved: Mapping[str, CatalogueEntry] = {}
        self._items: dict[Key, QTreeWidgetItem] = {}
        self._rows: dict[Key, ClientRow] = {}
        self._previewed = WatchRequest()
        self._column = _ADD
        self._addresses: Mapping[Key, str] = {}
        self.about = plain_label(self, _ABOUT)
        self.errors = read_only_text(self, "Errors in the files")
        self.tree = self._make_tree()
        self.details = read_only_text(self, "Details of the selected server")
        self.preview = read_only_text(self, "Changes in the files")
        self.inputs = ImportInputs(appearance, self)
        self.secrets = self._make_choice()
        self.requests_progress = QCheckBox("&Request progress where the client does not", self)
        self.requests_progress.setToolTip(plain_tip(_REQUESTS))
        self.rewrites_auth = QCheckBox("Let the client &sign in through the tap", self)
        self.rewrites_auth.setToolTip(plain_tip(_SIGN_IN))
        self.note = plain_label(self)
        self.choose = QPushButton("C&hoose file…", self, autoDefault=False)
        self.add = QPushButton("&Import", self, autoDefault=False)
        self.copy = QPushButton("Copy &address", self, autoDefault=False)
        self.copy.hide()
        self.change = QPushButton("&Change files", self, autoDefault=False)

        self._timer = QTimer(self, singleShot=True, interval=_ANSWER_MS)
        self._lay_out()
        self._connect()
        self._show_errors()
        self._enable()
        self._show_note(_LOOKING, Tone.MUTED)
        fit_to_screen(self, QSize(920, 640))
        order_tabs(self)

    # What is shown

    def show_found(self, found: FoundClients) -> None:
        """Show all servers, and tick those in `found.wanted`; what the user has ticked stays."""
        self.about.setText(_ABOUT if found.is_recorded else f"{_ABOUT}\n{RECORDING_IS_OFF}")
        chosen = {path: file for path, file in self._files.items() if path not in self._found}
        self._found = {file.path for file in found.files}
        self._files = {file.path: file for file in found.files} | chosen
        self._live, self._saved = found.live, found.saved
        self._fill(self._ticked(_ADD), self._changed_watches())
        self._tick_wanted(found)
        self._ask()

    def show_file(
        self, file: ClientFile, saved: Mapping[str, CatalogueEntry], *, is_chosen: bool
    ) -> None:
        """Show the servers of one file; tick the new ones if the user has just chosen it."""
        self._files[file.path] = file
        self._saved = saved
        adds, watches = self._ticked(_ADD), self._ticked(_WATCH)
        if is_chosen:
            rows = [row.found for row in file.rows if row.found.standing is ImportStatus.NEW]
            adds |= {(file.path, row.place): True for row in rows}
        current = self._current()
        self._fill(adds, watches)
        keys = [key for key in self._items if key[0] == file.path]
        shown = keys[0] if is_chosen and keys else current
        if shown in self._items:
            self.tree.setCurrentItem(self._items[shown], self._column)
        if is_chosen:
            self._show_note(_NOTHING_RUNS, Tone.MUTED)

    def begin(self, *, watches: bool) -> None:
        """Let the keyboard begin at the ticks for watching, or at those for adding."""
        self._column = _WATCH if watches else _ADD
        self.tree.setFocus()

    def set_keyring(self, error: ErrorDetails) -> None:
        """Report that there is no keyring, and select another place for secrets."""
        place = self.secrets.findData(SecretsAs.KEYRING.value)
        text = f"{SECRETS_TEXTS[SecretsAs.KEYRING]}: {one_line(error.what, 100)}"
        self.secrets.setItemText(place, text)
        model = self.secrets.model()
        if isinstance(model, QStandardItemModel):
            model.item(place).setEnabled(False)
        if self.secrets.currentIndex() == place:
            self.secrets.setCurrentIndex(self.secrets.findData(SecretsAs.VARIABLES.value))

    def show_preview(
        self, request: WatchRequest, lines: Sequence[str], steps: Sequence[str] = ()
    ) -> None:
        """Show the lines that would change; ignored if the selection changed meanwhile.

        `steps` are the remaining ones.
        """
        if request != self.watch_request():
            return
        self._previewed = request
        self.preview.setPlainText(elide("\n".join(map(visible, lines)), _SHOWN))
        self.preview.setVisible(bool(lines))
        if steps:
            self._show_note("After the change: " + " ".join(steps), Tone.MUTED)
        number = len(request.watch) + len(request.stop)
        self.change.setEnabled(bool(lines))
        self.change.setText(f"&Change {count(number, 'server')}" if lines else "&Change files")

    def show_refusal(self, error: ErrorDetails, *, is_of_keyring: bool = False) -> None:
        """Show why nothing can be, or was, done.

        With `is_of_keyring`, suggest another place for secrets.
        """
        self._enable()
        instead = "Alternatively, store the secrets somewhere else." if is_of_keyring else ""
        self._show_note("\n".join(filter(None, [error.as_text(), instead])), Tone.BAD)
        if is_of_keyring:
            self.secrets.setFocus()

    def show_done(self, text: str, error: ErrorDetails | None = None) -> None:
        """Show what was done, the remaining steps, and the error if a part failed."""
        failed = "" if error is None else error.as_text()
        shown = "\n".join(filter(None, (text, failed)))
        self._show_note(visible(shown, keep_line_ends=True), Tone.BAD if failed else Tone.GOOD)

    def show_addresses(self, addresses: Mapping[Key, str], changed: Key | None = None) -> None:
        """Show the addresses of the taps of servers with a URL, empty while they start.

        With `changed`, the one that has just begun or ended.
        """
        self._addresses = addresses
        self.tree.blockSignals(True)
        for key, item in self._items.items():
            if has_url(self._rows[key]):
                address = addresses.get(key)
                item.setText(_WATCH, url_state_text(address))
                item.setToolTip(_WATCH, plain_tip(address or ""))
                item.setCheckState(_WATCH, _state(is_on=address is not None))
        self.tree.blockSignals(False)
        self._show_current()
        if changed in self._items:
            row = self._rows[changed]
            text = address_text(self._files[changed[0]].client, addresses.get(changed, ""))
            self._show_note(f"{found_name(row.found)}: {text}", Tone.MUTED)

    # What is wanted

    def imports(self) -> list[ImportRequest]:
        """The servers to import, by file."""
        place = SecretsAs(self.secrets.currentData())
        files: dict[Path, list[str]] = {}
        for key in self._to_add():
            files.setdefault(key[0], []).append(found_name(self._rows[key].found))
        return [
            ImportRequest(
                path,
                tuple(names),
                self.inputs.answers(path),
                place,
                self._files[path].client if path in self._found else None,
            )
            for path, names in files.items()
        ]

    def watch_request(self) -> WatchRequest:
        """The changes requested by the check boxes."""
        changed = [(self._rows[key].tap, is_on) for key, is_on in self._changed_watches().items()]
        return WatchRequest(
            tuple(tap for tap, is_on in changed if is_on and tap is not None),
            tuple(tap for tap, is_on in changed if not is_on and tap is not None),
            self.requests_progress.isChecked(),
        )

    def _changed_watches(self) -> dict[Key, bool]:
        """The check boxes for watching that differ from the clients' files."""
        return {
            key: is_on
            for key, is_on in self._ticked(_WATCH).items()
            if not has_url(self._rows[key])
            and (tap := self._rows[key].tap) is not None
            and is_on is (tap.tap is None)
        }

    def row(self, key: Key) -> ClientRow | None:
        return self._rows.get(key)

    def tick(self, name: str, column: int, *, is_on: bool) -> None:
        """Check a server by its name, as a click does."""
        for key, item in self._items.items():
            if key[1][-1] == name:
                item.setCheckState(column, _state(is_on=is_on))

    def _to_add(self) -> list[Key]:
        return [key for key, is_on in self._ticked(_ADD).items() if is_on]

    def _ticked(self, column: int) -> dict[Key, bool]:
        """The state of each check box in a column."""
        checked = Qt.CheckState.Checked
        return {
            key: item.checkState(column) is checked
            for key, item in self._items.items()
            if item.data(column, Qt.ItemDataRole.CheckStateRole) is not None
        }

    # The tree

    def _fill(self, adds: Mapping[Key, bool], watches: Mapping[Key, bool]) -> None:
        self.tree.blockSignals(True)
        self.tree.clear()
        self._items, self._rows = {}, {}
        for file in self._files.values():
            if file.rows:
                top = self._added_file(file)
                for row in file.rows:
                    key = file.path, row.found.place
                    self._rows[key] = row
                    item = self._items[key] = self._item(row, self._live.get(key, ()))
                    top.addChild(item)
                    _set_ticks(item, row, adds.get(key), watches.get(key))
        self.tree.expandAll()
        for column in (_NAME, _ADD, _WATCH):
            self.tree.resizeColumnToContents(column)
            self.tree.setColumnWidth(column, min(self.tree.columnWidth(column) + GAP, _WIDEST))
        self.tree.blockSignals(False)
        self.show_addresses(self._addresses)
        self._recolour()
        self._show_errors()
        self._enable()

    def _added_file(self, file: ClientFile) -> QTreeWidgetItem:
        path = one_line(str(file.path), _PATH)
        item = QTreeWidgetItem([file.client.title, "", "", path])
        item.setFont(_NAME, emphasised(self.font()))
        item.setFlags(
            Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsUserCheckable
            | Qt.ItemFlag.ItemIsAutoTristate
        )
        self.tree.addTopLevelItem(item)
        return item

    def _item(self, row: ClientRow, live: Sequence[float]) -> QTreeWidgetItem:
        watched = "" if row.tap is None else one_line(state_text(row.tap, live), 200)
        cells = [
            one_line(found_name(row.found), 100) if row.tap is None else server_title(row.tap),
            STATUS_TEXTS[row.found.standing],
            watched.partition(":")[0],
            one_line(address_or_error(row.found), 300),
        ]
        item = QTreeWidgetItem(cells)
        item.setToolTip(_NAME, plain_tip(one_line(found_name(row.found), 200)))
        item.setToolTip(_WATCH, plain_tip(watched))
        return item

    def _tick_wanted(self, found: FoundClients) -> None:
        ticked = [each for each in found.wanted if each.tap is None and not each.why_not]
        self.tree.blockSignals(True)
        for each in ticked:
            self._items[each.key].setCheckState(_WATCH, Qt.CheckState.Checked)
        self.tree.blockSignals(False)
        first = found.wanted[0].key if found.wanted else next(iter(self._items), None)
        if first is not None:
            self.tree.setCurrentItem(self._items[first], self._column)
        if found.is_missing and self._files:
            self._show_note(_NONE_SUCH, Tone.WARNING)
        elif found.wanted and not ticked:
            wanted = found.wanted[0]
            text = _IS_WATCHED if wanted.tap is not None else visible(refusal_text(wanted))
            text = _TICK_URL if has_url(self._rows[wanted.key]) else text
            self._show_note(text, Tone.MUTED)
        elif self.note.text() == _LOOKING:
            self._show_note("" if self._files else _NONE, Tone.MUTED)

    @Slot()
    def _recolour(self) -> None:
        self.tree.blockSignals(True)
        for key, row in self._rows.items():
            tone = _TONES[row.found.standing]
            self._items[key].setForeground(_ADD, self._appearance.colour(tone))
        self.tree.blockSignals(False)

    def _current(self) -> Key | None:
        current = self.tree.currentItem()
        return next((key for key, item in self._items.items() if item is current), None)

    # Notes, errors, buttons

    def _show_errors(self) -> None:
        errors = [error for file in self._files.values() for error in file.errors]
        self.errors.setPlainText(error_lines(errors))
        self.errors.setVisible(bool(errors))
        self.errors.setMaximumHeight(self.errors.fontMetrics().lineSpacing() * 4 + GAP)

    def _show_note(self, text: str, tone: Tone) -> None:
        self.note.setText(text)
        self.note.setVisible(bool(text))
        set_text_colour(self.note, self._appearance, tone)

    @Slot()
    def _enable(self) -> None:
        """Show the fields of what is ticked, and the number of servers on the button."""
        is_asked_later = self.secrets.currentData() == SecretsAs.ASK.value
        keys = self._to_add()
        by_file: dict[Path, list[Key]] = {}
        for key in keys:
            by_file.setdefault(key[0], []).append(key)
        required = {
            (path, each.input.id): each
            for path, of_file in by_file.items()
            for each in required_inputs(self._rows[key].found for key in of_file)
            if not (is_asked_later and each.input.can_be_asked)
        }
        self.inputs.show_required(required)
        has_secrets = any(contains_secrets(self._rows[key].found) for key in keys)
        self.secrets.setVisible(has_secrets)
        self._secrets_label.setVisible(has_secrets)
        self.add.setEnabled(bool(keys))
        self.add.setText(f"&Import {count(len(keys), 'server')}" if keys else "&Import")
        order_tabs(self)

    def _ask(self) -> None:
        self.change.setEnabled(False)
        self.preview_requested.emit(self.watch_request())

    # Making it

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget(self)
        titles = ("Server", "Add here", "Watch", "Command or URL")
        dress_tree(tree, titles, "Servers of other clients")
        tree.header().setSectionResizeMode(_WHAT, QHeaderView.ResizeMode.Stretch)
        return tree

    def _make_choice(self) -> QComboBox:
        """Make the choice of where secrets are stored: the keyring if there is one, by default."""
        choice = QuietComboBox(self)
        for each in SecretsAs:
            choice.addItem(SECRETS_TEXTS[each], each.value)
        choice.setAccessibleName("Keep secrets")
        self._secrets_label = QLabel("&Keep secrets", self)
        self._secrets_label.setBuddy(choice)
        return choice

    def _lay_out(self) -> None:
        texts = QSplitter(Qt.Orientation.Horizontal, self, childrenCollapsible=False)
        texts.addWidget(self.details)
        texts.addWidget(self.preview)
        self.preview.hide()
        body = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False)
        body.addWidget(self.tree)
        body.addWidget(texts)
        body.setStretchFactor(0, 3)
        body.setStretchFactor(1, 2)
        page = QWidget(self)
        in_column(
            self.about,
            self.errors,
            (body, 1),
            self.inputs,
            in_row(self._secrets_label, (self.secrets, 1)),
            self.requests_progress,
            self.rewrites_auth,
            of=page,
            margins=0,
            spacing=GAP,
        )
        buttons = DialogButtons(self)
        for button in (self.choose, self.copy, self.add, self.change):
            buttons.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
        close = buttons.addButton(QDialogButtonBox.StandardButton.Close)
        close.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, GAP, GAP, GAP)
        column.setSpacing(GAP)
        column.addWidget(ScreenFit(page, QSize(2 * GAP_L, 130), self), 1)
        column.addWidget(self.note)
        column.addWidget(buttons)

    def _connect(self) -> None:
        self.tree.itemChanged.connect(self._on_ticked)
        self.tree.currentItemChanged.connect(self._show_current)
        self._appearance.changed.connect(self._recolour)
        self.requests_progress.toggled.connect(self._on_watch_changed)
        self.secrets.currentIndexChanged.connect(self._enable)
        self.choose.clicked.connect(self._on_choose)
        self.add.clicked.connect(self._on_add)
        self.change.clicked.connect(self._on_change)
        self.copy.clicked.connect(self._on_copy)
        self.inputs.changed.connect(self._timer.start)
        self._timer.timeout.connect(self._on_answers)

    @Slot(QTreeWidgetItem, int)
    def _on_ticked(self, item: QTreeWidgetItem, column: int) -> None:
        if item.parent() is None:  # it follows its servers
            return
        key = next(key for key, each in self._items.items() if each is item)
        if column == _WATCH and has_url(self._rows[key]):
            is_on = item.checkState(_WATCH) is Qt.CheckState.Checked
            self._show_note("", Tone.MUTED)
            self.tap_requested.emit(key, is_on)
        elif column == _WATCH:
            self._on_watch_changed()
        elif column == _ADD:
            self._show_note(_NOTHING_RUNS, Tone.MUTED)
            self._enable()

    @Slot()
    def _on_watch_changed(self) -> None:
        self._show_note("", Tone.MUTED)
        self._ask()

    @Slot()
    def _show_current(self) -> None:
        """Show the details of the current server, and what to do if it cannot be watched."""
        key = self._current()
        address = "" if key is None else self._addresses.get(key, "")
        self.copy.setVisible(bool(address))
        if key is None:
            self.details.clear()
            return
        row = self._rows[key]
        lines = detail_lines(row.found, self._saved)
        if has_url(row):
            lines.append(address_text(self._files[key[0]].client, address))
        elif row.tap is not None and row.tap.why_not and row.tap.tap is None:
            lines.append(f"Cannot be watched: {visible(refusal_text(row.tap))}")
        self.details.setPlainText("\n".join(lines))

    @Slot()
    def _on_add(self) -> None:
        """Request the import of ticked servers, unless a value is missing."""
        missing = self.inputs.show_missing()
        if missing is not None:
            self._show_note("Enter the values that the selected servers need.", Tone.BAD)
            missing.setFocus()
            self.inputs.ensureWidgetVisible(missing)
            return
        self.add.setEnabled(False)
        self._timer.stop()  # later rows must not replace the error
        self.import_requested.emit(self.imports())

    @Slot()
    def _on_copy(self) -> None:
        key = self._current()
        if key is not None and key in self._addresses:
            QGuiApplication.clipboard().setText(self._addresses[key])

    @Slot()
    def _on_change(self) -> None:
        self.change.setEnabled(False)
        self.change_requested.emit(self._previewed)

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
        self.file_chosen.emit(Path(path))

    @Slot()
    def _on_answers(self) -> None:
        for path in {key[0] for key in self._to_add()}:
            secrets, answers = self.inputs.secret_ids(path), self.inputs.answers(path)
            if answers:
                hidden = {id_: _HIDDEN if id_ in secrets else v for id_, v in answers.items()}
                self.answers_entered.emit(path, hidden)


def _set_ticks(
    item: QTreeWidgetItem, row: ClientRow, is_added: bool | None, is_watched: bool | None
) -> None:
    """Give an item the check boxes that apply to its server."""
    flags = item.flags() & ~Qt.ItemFlag.ItemIsUserCheckable
    if row.found.standing in _IMPORTABLE:
        flags |= Qt.ItemFlag.ItemIsUserCheckable
        item.setCheckState(_ADD, _state(is_on=bool(is_added)))
    tap = row.tap
    if tap is not None and (tap.tap is not None or not tap.why_not or has_url(row)):
        flags |= Qt.ItemFlag.ItemIsUserCheckable
        is_on = tap.tap is not None if is_watched is None else is_watched
        item.setCheckState(_WATCH, _state(is_on=is_on))
    item.setFlags(flags)


def _state(*, is_on: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
