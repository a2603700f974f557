"""The side of a new call: its server, what it offers, and the search for one offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtWidgets import QLineEdit, QListView, QWidget

from mcp_progress_monitor.gui.calls.offers import Offer, OfferKind, OffersModel, offers_of
from mcp_progress_monitor.gui.common.controls import QuietComboBox
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.common.tables import dress_rows
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QKeyEvent

    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_KINDS: Final = tuple(OfferKind)
_STEPS: Final = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: 10,
    Qt.Key.Key_PageUp: -10,
}
_CHORDS: Final = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.ShiftModifier
)


class SearchEdit(QLineEdit):
    """A search field whose arrow keys move through the list; Enter accepts the selection."""

    moved = Signal(int)  # the number of rows to move
    entered = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keep the arrows and Enter from the window, which would send the selected call."""
        if event.key() in _STEPS and not event.modifiers() & _CHORDS:
            self.moved.emit(_STEPS[Qt.Key(event.key())])
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.entered.emit()
        else:
            super().keyPressEvent(event)


class OfferPicker(QWidget):
    """Selects a server and one of its offers; the selection stays while it exists."""

    offer_chosen = Signal(object)  # the selected `Offer`; None if nothing matches
    server_changed = Signal()  # the selected server, or its state

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.offer: Offer | None = None
        self._servers: dict[str, ServerSnapshot] = {}
        self._remembered = ""
        self._server = QuietComboBox(self)
        self._server.setAccessibleName("Server")
        self._server.setToolTip("Choose the server to call")
        self._kind = QuietComboBox(self)
        self._kind.addItems(["Tools", "Resources", "Prompts", "Events", "Skills"])
        self._kind.setAccessibleName("What to call")
        self._kind.setToolTip("Choose whether to call a tool, read a resource or get a prompt")
        self.search: Final = SearchEdit(self)
        self.search.setPlaceholderText("Search")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search by name, title and description")
        self._offers = OffersModel(self)
        self._list = QListView(self)
        dress_rows(self._list)
        self._list.setModel(self._offers)
        self._list.setUniformItemSizes(True)
        self._list.setAccessibleName("What the server offers")
        self._list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        in_column(self._server, self._kind, self.search, (self._list, 1), of=self, margins=0)
        self._server.currentIndexChanged.connect(self._show_offers)
        self._kind.currentIndexChanged.connect(self._show_offers)
        self.search.textChanged.connect(self._on_search_changed)
        self.search.moved.connect(self._on_moved)
        self._list.selectionModel().currentChanged.connect(self._on_offer_chosen)

    @property
    def server_name(self) -> str:
        return self._server.currentText()

    @property
    def server(self) -> ServerSnapshot | None:
        """The selected server; None without any."""
        return self._servers.get(self.server_name)

    @property
    def is_connected(self) -> bool:
        return self.server is not None and self.server.state is ServerState.CONNECTED

    @property
    def kind(self) -> OfferKind:
        return _KINDS[max(0, self._kind.currentIndex())]

    @property
    def nothing_text(self) -> str:
        """The reason why no offer is selected, and what to do."""
        if not self._servers:
            return "Connect to a server, then choose what to call."
        if self._offers.unlisted_row is not None:
            return "No match. To call a name that is not listed, select it in the list."
        return (
            "This server is not connected or lists nothing of this kind. To call something "
            "it does not list, type its name into the search field."
        )

    def set_servers(self, servers: Sequence[ServerSnapshot]) -> None:
        """Set the current servers."""
        chosen = self.server_name or self._remembered
        before = self._servers.get(chosen)
        self._servers = {server.name: server for server in servers}
        self._server.blockSignals(True)
        self._server.clear()
        self._server.addItems([*self._servers])
        self._server.setCurrentIndex(max(0, self._server.findText(chosen)))
        self._server.blockSignals(False)
        is_other = before is None or self.server is None or before.name != self.server_name
        if is_other or self._has_changed(before):
            self._show_offers()
        else:
            self.server_changed.emit()

    def choose(self, server: str, method: str, name: str) -> bool:
        """Select an offer, listed or not; False if there is no such server or nothing to select."""
        row = self._server.findText(server)
        kinds = [kind.value for kind in _KINDS]
        if row < 0 or method not in kinds:
            return False
        self.search.clear()
        self._server.setCurrentIndex(row)
        self._kind.setCurrentIndex(kinds.index(method))
        offer_row = self._offers.row_of(name)
        if offer_row is None:
            self.search.setText(name)
            offer_row = self._offers.row_of(name)
        if offer_row is None:
            return False
        self._list.setCurrentIndex(self._offers.index(offer_row))
        return True

    def state(self) -> dict[str, Any]:
        return {"server": self.server_name, "kind": self._kind.currentIndex()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore saved state; invalid parts are ignored."""
        kind, server = state.get("kind"), state.get("server")
        if isinstance(kind, int) and 0 <= kind < len(_KINDS):
            self._kind.setCurrentIndex(kind)
        if isinstance(server, str):
            self._remembered = server
            self._server.setCurrentIndex(max(0, self._server.findText(server)))
        self._show_offers()

    def begin(self) -> None:
        """Prepare for the next call: clear the search, unless it names what is not listed."""
        if self.offer is None or self.offer.is_listed:
            self.search.clear()
        # Users first type a tool's name; elsewhere Enter would send the tool shown.
        self.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def _has_changed(self, before: ServerSnapshot | None) -> bool:
        """Return whether the offers changed; a removed server keeps its last ones."""
        if before is None or self.server is None or not self.is_connected:
            return False
        return offers_of(before, self.kind) != offers_of(self.server, self.kind)

    @Slot()
    def _show_offers(self) -> None:
        """Show what the server offers, with the same selection if it still exists."""
        server = self.server
        offers = offers_of(server, self.kind) if server else []
        self._offers.set_offers(offers, self.kind if server else None)
        self._select_match(keeps_offer=True)
        self.server_changed.emit()

    def _select_match(self, *, keeps_offer: bool) -> None:
        """Select the shown offer if it `keeps_offer`, or else the first listed match.

        An unlisted name is selected only by the user, who can then continue typing it.
        """
        offer, row = self.offer, None
        if keeps_offer and offer is not None:
            row = self._offers.row_of(offer.name)
            row = None if offer.is_listed and row == self._offers.unlisted_row else row
        if row is None:
            row = self._offers.matching_row
        if row is None and offer is not None and not offer.is_listed:
            row = self._offers.unlisted_row
        if row is None:
            self.offer = None
            self.offer_chosen.emit(None)
        else:
            self._list.setCurrentIndex(self._offers.index(row))

    @Slot(str)
    def _on_search_changed(self, text: str) -> None:
        """Select among the matches: what is not visible must not be sent."""
        self._offers.set_search(text)
        self._select_match(keeps_offer=not text.strip())

    @Slot(int)
    def _on_moved(self, step: int) -> None:
        last = self._offers.rowCount() - 1
        row = min(max(self._list.currentIndex().row() + step, 0), last)
        if row >= 0:
            self._list.setCurrentIndex(self._offers.index(row))

    @Slot(QModelIndex, QModelIndex)
    def _on_offer_chosen(self, current: QModelIndex, _previous: QModelIndex) -> None:
        offer = self._offers.offer(current.row()) if current.isValid() else None
        if offer is not None and offer != self.offer:
            self.offer = offer
            self.offer_chosen.emit(offer)
