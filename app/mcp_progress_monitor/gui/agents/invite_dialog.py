"""Chooses the client of an agent and the servers that it may read, and shows the entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE
from mcp_progress_monitor.engine.agent_entry import AgentEntry, clients_first
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.gui.common.controls import (
    plain_label,
    plain_tip,
    push_button,
    read_only_text,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import (
    ScreenFit,
    fit_to_screen,
    in_column,
    in_row,
    order_tabs,
)
from mcp_progress_monitor.gui.common.tables import dress_tree
from mcp_progress_monitor.gui.theme import GAP, GAP_L, Appearance, Tone, emphasised

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.engine.agent_entry import ReadableServer
    from mcp_progress_monitor.errors import ErrorDetails

_NAME, _WHERE = range(2)
_ABOUT: Final = (
    "The agent in the client that you choose can then read the jobs, messages and findings of the"
    " ticked servers, and of no others. Servers > Agents shows what it read, and can turn it off."
)
_ACTS: Final = (
    "The agent may start the servers that you approved, call their tools and resume jobs. You are"
    " asked before each action, in the agent's client, and every action is recorded."
)
_ALL: Final = "All servers"
_ALSO_LATER: Final = "including those added later"
_NONE: Final = "Tick the servers that the agent may read."
_NOT_HERE: Final = "No configuration of {client} was found. Copy the entry into it yourself."


class InviteRequest(NamedTuple):
    """The entry to be added to a client's file at `path`."""

    client: McpClient
    path: Path
    entry: AgentEntry


class InviteDialog(QDialog):
    """The clients, the servers with a check box for each, and the entry."""

    add_requested = Signal(object)
    """An `InviteRequest` whose entry the user has seen."""

    def __init__(
        self, data_dir: Path | None, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        """`data_dir` has the recordings; None for the default folder."""
        super().__init__(parent)
        self.setWindowTitle("Let an agent read")
        self._data_dir = data_dir
        self._appearance = appearance
        self._files: Mapping[str, Path] = {}
        self._clients: list[McpClient] = []
        self.about = plain_label(self, _ABOUT)
        self.clients = QComboBox(self)
        self.tree = QTreeWidget(self)
        dress_tree(self.tree, ("Server", "Known from"), "Servers that the agent may read")
        self.tree.setRootIsDecorated(False)
        self.tree.header().setSectionResizeMode(_WHERE, QHeaderView.ResizeMode.Stretch)
        self._all = QTreeWidgetItem([_ALL, _ALSO_LATER])
        self._items: list[QTreeWidgetItem] = []
        self.acts = QCheckBox("Also let it act &on servers that I approved", self)
        self.acts.setToolTip(plain_tip(_ACTS))
        self.entry = read_only_text(self, "Entry for the client's configuration")
        self.entry.setPlaceholderText(_NONE)
        self.copy = push_button(self, "&Copy entry")
        self.line = QLineEdit(self, readOnly=True)
        self.copy_line = push_button(self, "Cop&y line")
        self.note = plain_label(self)
        self.add = QPushButton("&Add", self, autoDefault=False)
        self._lay_out()
        self._connect()
        self._show_note("Looking for clients…", Tone.MUTED)
        fit_to_screen(self, QSize(720, 600))
        order_tabs(self)

    def show_choices(
        self,
        files: Mapping[str, Path],
        servers: Sequence[ReadableServer],
        wanted: Collection[str] = (),
    ) -> None:
        """Show the clients and servers. Those `wanted` are checked, else those of the project."""
        self._files = files
        self._clients = clients_first(files)
        self._fill_clients()
        self._fill_servers(servers, wanted)
        self._show_note("", Tone.MUTED)
        self._refresh()

    def request(self) -> InviteRequest | None:
        """The entry as it is shown; None without a server or a file to write it to."""
        client, chosen = self._client(), self._chosen()
        path = None if client is None else self._files.get(client.key)
        if client is None or path is None or chosen is None:
            return None
        return InviteRequest(client, path, chosen)

    def set_ticked(self, name: str, *, is_on: bool) -> None:
        """Check a server by its name, or all of them by `""`, as a click does."""
        for item in self._items if name else [self._all]:
            if name in {"", item.data(_NAME, Qt.ItemDataRole.UserRole)}:
                item.setCheckState(_NAME, _checked(is_on))

    def choose_client(self, key: str) -> None:
        """Choose a client by its key, as a click does."""
        self.clients.setCurrentIndex([each.key for each in self._clients].index(key))

    def show_refusal(self, error: ErrorDetails) -> None:
        """Show why the entry was not added."""
        self.add.setEnabled(True)
        self._show_note(visible(error.as_text(), keep_line_ends=True), Tone.BAD)

    def show_done(self, text: str) -> None:
        """Show where the entry was added, and the next step."""
        self._show_note(visible(text, keep_line_ends=True), Tone.GOOD)

    def _client(self) -> McpClient | None:
        at = self.clients.currentIndex()
        return self._clients[at] if 0 <= at < len(self._clients) else None

    def _chosen(self) -> AgentEntry | None:
        """The entry for the checked servers; None without any."""
        acts = self.acts.isChecked()
        if self._all.checkState(_NAME) is Qt.CheckState.Checked:
            return AgentEntry((), self._data_dir, acts)
        names = tuple(
            str(item.data(_NAME, Qt.ItemDataRole.UserRole))
            for item in self._items
            if item.checkState(_NAME) is Qt.CheckState.Checked
        )
        return AgentEntry(names, self._data_dir, acts) if names else None

    def _fill_clients(self) -> None:
        before = self._client()
        self.clients.blockSignals(True)
        self.clients.clear()
        for client in self._clients:
            path = self._files.get(client.key)
            self.clients.addItem(client.title if path else f"{client.title} (not found here)")
            tip = plain_tip(one_line(str(path), 300) if path else "")
            self.clients.setItemData(self.clients.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self.clients.setCurrentIndex(self._clients.index(before) if before in self._clients else 0)
        self.clients.blockSignals(False)

    def _fill_servers(self, servers: Sequence[ReadableServer], wanted: Collection[str]) -> None:
        self.tree.blockSignals(True)
        self._items = []
        for server in servers:
            where = one_line(server.where)
            item = QTreeWidgetItem(
                [one_line(server.name), f"{where}, of this project" if server.is_here else where]
            )
            item.setData(_NAME, Qt.ItemDataRole.UserRole, server.name)
            is_wanted = server.name in wanted if wanted else server.is_here
            item.setCheckState(_NAME, _checked(is_wanted))
            self._items.append(item)
        self.tree.addTopLevelItems(self._items)
        self.tree.resizeColumnToContents(_NAME)
        self.tree.setCurrentItem(self._items[0] if self._items else self._all)
        self.tree.blockSignals(False)

    def _lay_out(self) -> None:
        self._all.setFont(_NAME, emphasised(self.font()))
        self._all.setCheckState(_NAME, Qt.CheckState.Unchecked)
        self.tree.addTopLevelItem(self._all)
        label = QLabel("C&lient:", self)
        label.setBuddy(self.clients)
        self.clients.setAccessibleName("Client")
        self.line.setFont(self.entry.font())
        self.line.setAccessibleName("Terminal command")
        below = QWidget(self)
        copying = in_column(self.copy, 1)
        in_row((self.entry, 1), copying, of=below, margins=0, spacing=GAP)
        body = QSplitter(Qt.Orientation.Vertical, self, childrenCollapsible=False)
        body.addWidget(self.tree)
        body.addWidget(below)
        page = QWidget(self)
        in_column(
            in_row(label, (self.clients, 1)),
            (body, 1),
            self.acts,
            in_row((self.line, 1), self.copy_line),
            of=page,
            margins=0,
            spacing=GAP,
        )
        buttons = DialogButtons(self)
        buttons.addButton(self.add, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        # Texts that wrap stay outside: with them, a page is as high as its parts would like.
        whole = ScreenFit(page, QSize(2 * GAP_L, 170), self)
        in_column(self.about, (whole, 1), self.note, buttons, of=self, spacing=GAP)

    def _connect(self) -> None:
        self.clients.currentIndexChanged.connect(self._on_changed)
        self.tree.itemChanged.connect(self._on_changed)
        self.acts.toggled.connect(self._on_acts)
        self.copy.clicked.connect(self._on_copy)
        self.copy_line.clicked.connect(self._on_copy_line)
        self.add.clicked.connect(self._on_add)

    def _refresh(self) -> None:
        """Show the entry of what is chosen now."""
        client, chosen = self._client(), self._chosen()
        is_all = self._all.checkState(_NAME) is Qt.CheckState.Checked
        for item in self._items:
            item.setDisabled(is_all)
        text = chosen.text(client) if client is not None and chosen is not None else ""
        self.entry.setPlainText(visible(text, keep_line_ends=True))
        self.copy.setEnabled(bool(text))
        self.line.setText(visible(chosen.line) if chosen is not None else "")
        self.line.setCursorPosition(0)
        for control in (self.line, self.copy_line):
            control.setVisible(client is CLAUDE_CODE)
        self.copy_line.setEnabled(bool(text))
        title = "" if client is None else client.title
        self.add.setText(f"&Add to {title}" if title else "&Add")
        self.add.setEnabled(self.request() is not None)
        if client is not None and client.key not in self._files:
            self._show_note(_NOT_HERE.format(client=title), Tone.MUTED)

    def _show_note(self, text: str, tone: Tone) -> None:
        self.note.setText(text)
        self.note.setVisible(bool(text))
        set_text_colour(self.note, self._appearance, tone)

    @Slot()
    def _on_changed(self) -> None:
        self._show_note("", Tone.MUTED)
        self.tree.blockSignals(True)  # a row that is disabled has changed, too
        self._refresh()
        self.tree.blockSignals(False)

    @Slot(bool)
    def _on_acts(self, is_on: bool) -> None:
        self._on_changed()
        if is_on:
            self._show_note(_ACTS, Tone.WARNING)

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.entry.toPlainText())

    @Slot()
    def _on_copy_line(self) -> None:
        chosen = self._chosen()
        if chosen is not None:
            QGuiApplication.clipboard().setText(chosen.line)

    @Slot()
    def _on_add(self) -> None:
        request = self.request()
        if request is not None:
            self.add.setEnabled(False)
            self.add_requested.emit(request)


def _checked(is_on: bool) -> Qt.CheckState:  # the one thing it is about
    return Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
