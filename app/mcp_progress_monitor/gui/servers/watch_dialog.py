"""Selects which servers of other clients are watched, and previews the changes of their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QPushButton,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.formatting import count, elide, one_line, visible
from mcp_progress_monitor.gui.common.controls import (
    plain_label,
    plain_tip,
    read_only_text,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import ScreenFit, fit_to_screen, in_column, order_tabs
from mcp_progress_monitor.gui.common.tables import dress_tree
from mcp_progress_monitor.gui.theme import GAP, GAP_L, Appearance, Tone, emphasised
from mcp_progress_monitor.wording.clients import (
    RECORDING_IS_OFF,
    refusal_text,
    server_title,
    state_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_progress_monitor.catalogue.tap_install import ClientServer
    from mcp_progress_monitor.errors import ErrorDetails

_SHOWN: Final = 50_000  # characters of the preview
_PATH: Final = 200
_NAME, _STATE = range(2)
_ABOUT: Final = (
    "A watched server is started through this program, which passes everything on unchanged and"
    " records it. Tick the servers to watch. The change in the client's file is shown first."
)
_NONE: Final = "No servers of known clients were found on this computer."
_NONE_SUCH: Final = (
    "No client on this computer has this server in its configuration. These are all that were"
    " found."
)
_IS_WATCHED: Final = "This server is watched. Untick it to stop watching."
_UNCHANGED: Final = "Tick a server to see what would change in its client's file."


_REQUESTS: Final = (
    "Many clients ask for no progress, so servers report none. The tap then adds a token to"
    " their calls, and keeps the notifications back from them. Servers with a URL may answer such a"
    " call with a stream."
)


class WatchRequest(NamedTuple):
    """Servers to watch from now on, and servers to stop watching.

    With `requests_progress`, the new taps ask for progress where the client does not.
    """

    watch: tuple[ClientServer, ...] = ()
    stop: tuple[ClientServer, ...] = ()
    requests_progress: bool = False


class WatchDialog(QDialog):
    """The servers of all clients with a check box for each, and a preview."""

    preview_requested = Signal(object)
    """A `WatchRequest` whose changes are to be previewed."""
    change_requested = Signal(object)
    """The `WatchRequest` whose changes the user has seen."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Watch servers of other clients")
        self._appearance = appearance
        self._servers: list[ClientServer] = []
        self._items: list[QTreeWidgetItem] = []
        self._previewed = WatchRequest()
        self.tree = self._make_tree()
        self.preview = read_only_text(self, "Changes in the files")
        self.about = plain_label(self, _ABOUT)
        self.note = plain_label(self)
        self.requests_progress = QCheckBox("&Request progress where the client does not", self)
        self.requests_progress.setToolTip(plain_tip(_REQUESTS))
        self.change = QPushButton("&Change files", self, autoDefault=False)
        self.change.setEnabled(False)
        self._lay_out()
        self.tree.itemChanged.connect(self._on_ticked)
        self.tree.currentItemChanged.connect(self._on_current_changed)
        self.requests_progress.toggled.connect(self._on_ticked)
        self.change.clicked.connect(self._on_change)
        self._show_note("Looking for clients…", Tone.MUTED)
        fit_to_screen(self, QSize(820, 600))
        order_tabs(self)

    def show_servers(
        self,
        servers: Sequence[ClientServer],
        live: Mapping[tuple[object, ...], Sequence[float]],
        errors: Sequence[ErrorDetails],
        *,
        wanted: Sequence[ClientServer] = (),
        is_missing: bool = False,
        is_recorded: bool = True,
    ) -> None:
        """Show the servers. `wanted` are checked; `live` has since when taps of each run.

        With `is_missing`, the requested server is in none of the files. Without `is_recorded`, the
        user has turned recording off, and the window shows no session.
        """
        self.about.setText(_ABOUT if is_recorded else f"{_ABOUT}\n{RECORDING_IS_OFF}")
        self._servers = list(servers)
        self._fill(live)
        keys = {server.key for server in wanted if server.tap is None and not server.why_not}
        for item, server in zip(self._items, self._servers, strict=True):
            if server.key in keys:
                item.setCheckState(_NAME, Qt.CheckState.Checked)
        if wanted:
            places = [server.key for server in self._servers]
            self.tree.setCurrentItem(self._items[places.index(wanted[0].key)])
        unreadable = "\n".join(error.as_text() for error in errors)
        if unreadable:
            self._show_note(unreadable, Tone.WARNING)
        elif not self._servers:
            self._show_note(_NONE, Tone.MUTED)
        elif is_missing:
            self._show_note(_NONE_SUCH, Tone.WARNING)
        elif wanted and not keys:
            is_on = wanted[0].tap is not None
            self._show_note(_IS_WATCHED if is_on else visible(refusal_text(wanted[0])), Tone.MUTED)
        else:
            self._show_note("", Tone.MUTED)
        self._ask()

    def request(self) -> WatchRequest:
        """The changes requested by the check boxes."""
        watch, stop = tuple(self._ticked(is_on=True)), tuple(self._ticked(is_on=False))
        return WatchRequest(watch, stop, self.requests_progress.isChecked())

    def show_preview(
        self, request: WatchRequest, lines: Sequence[str], steps: Sequence[str] = ()
    ) -> None:
        """Show the lines that would change; ignored if the selection changed meanwhile.

        `steps` are the remaining ones.
        """
        if request != self.request():
            return
        self._previewed = request
        text = "\n".join(map(visible, lines))
        self.preview.setPlainText(elide(text, _SHOWN) if text else _UNCHANGED)
        if steps:
            self._show_note("After the change: " + " ".join(steps), Tone.MUTED)
        number = len(request.watch) + len(request.stop)
        self.change.setEnabled(bool(text))
        self.change.setText(f"&Change {count(number, 'server')}" if text else "&Change files")

    def show_refusal(self, error: ErrorDetails) -> None:
        """Show why nothing can be, or was, changed."""
        self.change.setEnabled(False)
        self._show_note(error.as_text(), Tone.BAD)

    def show_done(self, text: str, error: ErrorDetails | None = None) -> None:
        """Show what was changed, the remaining steps, and the error if any change failed."""
        failed = "" if error is None else error.as_text()
        shown = "\n".join(filter(None, (text, failed)))
        self._show_note(visible(shown, keep_line_ends=True), Tone.BAD if failed else Tone.GOOD)

    def set_ticked(self, name: str, *, is_on: bool) -> None:
        """Check a server by its name, as a click does."""
        for item, server in zip(self._items, self._servers, strict=True):
            if server.name == name:
                state = Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
                item.setCheckState(_NAME, state)

    def _ticked(self, *, is_on: bool) -> Iterator[ClientServer]:
        """The servers whose check box was changed to this state."""
        for item, server in zip(self._items, self._servers, strict=True):
            is_ticked = item.checkState(_NAME) is Qt.CheckState.Checked
            if _can_change(server) and is_ticked is is_on and is_on is (server.tap is None):
                yield server

    def _fill(self, live: Mapping[tuple[object, ...], Sequence[float]]) -> None:
        self.tree.blockSignals(True)
        self.tree.clear()
        self._items = []
        files: dict[object, QTreeWidgetItem] = {}
        for server in self._servers:
            if server.path not in files:
                files[server.path] = self._added_file(server)
            item = QTreeWidgetItem(
                [server_title(server), one_line(state_text(server, live.get(server.key, ())), 200)]
            )
            item.setToolTip(_STATE, plain_tip(refusal_text(server) if server.why_not else ""))
            if not _can_change(server):
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
            else:
                is_on = server.tap is not None
                item.setCheckState(
                    _NAME, Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
                )
            files[server.path].addChild(item)
            self._items.append(item)
        self.tree.expandAll()
        self.tree.resizeColumnToContents(_NAME)
        self.tree.blockSignals(False)

    def _added_file(self, server: ClientServer) -> QTreeWidgetItem:
        path = one_line(str(server.path), _PATH)
        item = QTreeWidgetItem([server.client.title, path])
        item.setFont(_NAME, emphasised(self.font()))
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        self.tree.addTopLevelItem(item)
        return item

    def _make_tree(self) -> QTreeWidget:
        tree = QTreeWidget(self)
        dress_tree(tree, ("Server", "State"), "Servers of other clients")
        tree.header().setSectionResizeMode(_STATE, QHeaderView.ResizeMode.Stretch)
        return tree

    def _lay_out(self) -> None:
        body = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False)
        body.addWidget(self.tree)
        body.addWidget(self.preview)
        page = QWidget(self)
        in_column(self.about, (body, 1), self.requests_progress, of=page, margins=0, spacing=GAP)
        buttons = DialogButtons(self)
        buttons.addButton(self.change, QDialogButtonBox.ButtonRole.ActionRole)
        close = buttons.addButton(QDialogButtonBox.StandardButton.Close)
        close.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, GAP, GAP, GAP)
        column.setSpacing(GAP)
        column.addWidget(ScreenFit(page, QSize(2 * GAP_L, 130), self), 1)
        column.addWidget(self.note)
        column.addWidget(buttons)

    def _show_note(self, text: str, tone: Tone) -> None:
        self.note.setText(text)
        self.note.setVisible(bool(text))
        set_text_colour(self.note, self._appearance, tone)

    def _ask(self) -> None:
        self.change.setEnabled(False)
        self.preview_requested.emit(self.request())

    @Slot()
    def _on_ticked(self) -> None:
        self._show_note("", Tone.MUTED)
        self._ask()

    @Slot(QTreeWidgetItem)
    def _on_current_changed(self, item: QTreeWidgetItem | None) -> None:
        """Explain what to do about a server that cannot be watched."""
        for each, server in zip(self._items, self._servers, strict=True):
            if each is item and server.tap is None and server.why_not:
                self._show_note(visible(refusal_text(server)), Tone.MUTED)

    @Slot()
    def _on_change(self) -> None:
        self.change.setEnabled(False)
        self.change_requested.emit(self._previewed)


def _can_change(server: ClientServer) -> bool:
    return server.tap is not None or not server.why_not
