"""A server's page: its tools, resources and prompts, with schemas and a button to call each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QStyleOptionViewItem,
    QTabBar,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.formatting import clock, count, number, one_line, visible
from mcp_progress_monitor.gui.calls.offers import Offer, OfferKind, OffersModel, offers_of
from mcp_progress_monitor.gui.common.controls import ElidedLabel, plain_tip, set_text_colour
from mcp_progress_monitor.gui.common.json_view import JsonTree
from mcp_progress_monitor.gui.common.layout import in_column, in_row, order_tabs
from mcp_progress_monitor.gui.common.side_delegate import SideDelegate
from mcp_progress_monitor.gui.common.tables import PlainTable, TitledTable
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, emphasised
from mcp_progress_monitor.protocol.messages import (
    LIST_EVENTS,
    LIST_PROMPTS,
    LIST_RESOURCES,
    LIST_SKILLS,
    LIST_TOOLS,
)
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.wording.context_cost import tokens_of, tokens_of_all
from mcp_progress_monitor.wording.jobs import part_text as event_text
from mcp_progress_monitor.wording.servers import state_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from PySide6.QtGui import QMouseEvent, QPainter

    from mcp_progress_monitor.protocol.facts import NotificationReceived
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_Index = QModelIndex | QPersistentModelIndex
_ICON: Final = QSize(14, 14)  # of a button that is as high as the others
_KINDS: Final = (
    (OfferKind.TOOL, "Tools", "tool", "new-call", LIST_TOOLS),
    (OfferKind.PROMPT, "Prompts", "prompt", "text", LIST_PROMPTS),
    (OfferKind.RESOURCE, "Resources", "resource", "log", LIST_RESOURCES),
    (OfferKind.EVENT, "Events", "event type", "log", LIST_EVENTS),
    (OfferKind.SKILL, "Skills", "skill", "text", LIST_SKILLS),
)
_ALWAYS: Final = 3  # kinds that are shown even if the server has none
_ICONS: Final = {kind: icon for kind, _title, _word, icon, _method in _KINDS}
_CALL: Final = "Call…"
_LONGEST: Final = 20_000
_WIDE_COLUMN: Final = 3  # the column that takes the remaining width
_WIDEST: Final = 200
_LATEST_TAB: Final = 2
_ARGUMENTS: Final = 500  # rows: a schema may have more properties than anyone reads


class OfferDelegate(SideDelegate):
    """A row: name, title, a line of description, and a button on the right."""

    can_call = True
    """Whether the server can be called now."""
    has_button = True
    """Whether it ever can."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        faces = self.faces(option.font)
        return QSize(160, faces.heavy.height + faces.second.height + GAP + GAP_S)

    def button(self, option: QStyleOptionViewItem) -> QRect:
        """The place of a row's button."""
        faces = self.faces(option.font)
        size = QSize(faces.first.width(_CALL) + 2 * GAP + GAP_S, faces.first.height + GAP)
        place = QRect(0, 0, size.width(), size.height())
        place.moveCenter(option.rect.center())
        place.moveRight(option.rect.right() - GAP)
        return place

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        offer: Offer = index.data(OffersModel.OFFER)
        painter.save()
        area = self.begin(painter, option, _ICONS[offer.kind], Tone.MUTED)
        faces, button = self.faces(option.font), self.button(option)
        if self.has_button:
            area.setRight(button.left() - GAP)
        top = area.top() + (area.height() - faces.heavy.height - faces.second.height) // 2
        line = QRect(area.left(), top, area.width(), faces.heavy.height)
        name = one_line(offer.name)
        self.write(painter, faces.heavy, line, name, Tone.TEXT)
        if offer.title and offer.title != offer.name:
            line.setLeft(min(line.right(), line.left() + faces.heavy.width(name) + GAP))
            self.write(painter, faces.first, line, one_line(offer.title), Tone.MUTED)
        second = QRect(area.left(), top + faces.heavy.height, area.width(), faces.second.height)
        about = one_line(offer.description) or "No description"
        self.write(painter, faces.second, second, about, Tone.MUTED)
        if self.has_button:
            self._paint_button(painter, button)
        painter.restore()

    def _paint_button(self, painter: QPainter, place: QRect) -> None:
        tone = Tone.ACCENT if self.can_call else Tone.MUTED
        painter.setPen(self._appearance.colour(tone))
        painter.setBrush(self._appearance.ground(tone, 0.10))
        painter.drawRoundedRect(place, 4, 4)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignCenter), _CALL)


class OfferList(QListView):
    """The offers; a click on a row's button, or Enter, calls it."""

    call_requested = Signal(object)  # an `Offer`

    def __init__(self, model: OffersModel, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._delegate = OfferDelegate(appearance, self)
        self.setModel(model)
        self.setItemDelegate(self._delegate)
        self.setUniformItemSizes(True)
        self.setMinimumHeight(60)
        self.setMouseTracking(True)
        self.setEditTriggers(self.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(self.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("What the server offers")
        self.setToolTip("Choose what to call (Enter)")
        self.activated.connect(self._on_activated)
        appearance.changed.connect(self.viewport().update)

    def set_callable(self, *, is_callable: bool) -> None:
        """Set whether the server can be called now."""
        self._delegate.can_call = is_callable
        self.viewport().update()

    def set_read_only(self) -> None:
        """Never call anything."""
        self._delegate.has_button = self._delegate.can_call = False
        self.setToolTip("Choose what to read about")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Call the offer whose button was clicked."""
        super().mouseReleaseEvent(event)
        place = event.position().toPoint()
        index = self.indexAt(place)
        if event.button() is Qt.MouseButton.LeftButton and index.isValid():
            option = QStyleOptionViewItem()
            self.initViewItemOption(option)
            option.rect = self.visualRect(index)
            if self._delegate.has_button and self._delegate.button(option).contains(place):
                self._on_activated(index)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        offer = index.data(OffersModel.OFFER)
        if self._delegate.can_call and isinstance(offer, Offer):
            self.call_requested.emit(offer)


class TextsModel(TitledTable):
    """Rows of texts."""

    def __init__(self, titles: tuple[str, ...], parent: QWidget) -> None:
        super().__init__(titles, parent)
        self._rows: list[tuple[str, ...]] = []

    def show_rows(self, rows: Iterable[tuple[str, ...]]) -> None:
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The text of a cell; in full as its tool tip."""
        if not index.isValid():
            return None
        text = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(text, 300)
        return plain_tip(visible(text)) if role == Qt.ItemDataRole.ToolTipRole else None


def _arguments(schema: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    for name, each in list(properties.items() if isinstance(properties, dict) else ())[:_ARGUMENTS]:
        about = each if isinstance(each, dict) else {}
        kind = about.get("type", "")
        text = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
        if "enum" in about:
            text = "choice"
        described = about.get("description") or about.get("title") or ""
        yield str(name), text, "yes" if name in needed else "", str(described)


class OfferDetails(QWidget):
    """Everything known about one offer, and the button that calls it."""

    call_requested = Signal(object)

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._offer: Offer | None = None
        self.title = ElidedLabel(self)
        self.title.setFont(emphasised(self.font()))
        self.call = QPushButton("&Call…", self)
        self.call.setIcon(appearance.icon("new-call"))
        self.call.setIconSize(_ICON)
        self.description = QPlainTextEdit(self)
        self.description.setReadOnly(True)
        self.description.setTabChangesFocus(True)
        self.description.setAccessibleName("Description")
        self.arguments = TextsModel(("Name", "Type", "Required", "Description"), self)
        self.latest = TextsModel(("Received", "Event"), self)
        self._latest = PlainTable(self.latest, "Latest events", self, empty="No events yet")
        self._latest.horizontalHeader().setStretchLastSection(True)
        self._table = table = PlainTable(self.arguments, "Arguments", self)
        table.setFrameShape(table.Shape.StyledPanel)  # shows that it has the focus
        table.horizontalHeader().setStretchLastSection(True)
        self.definition = JsonTree(self)
        self.definition.setAccessibleName("Definition as JSON")
        self.tabs = QTabWidget(self)
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(table, "&Arguments")
        self.tabs.addTab(self.definition, "Sc&hema")
        self.tabs.addTab(self._latest, "&Latest events")
        for part in (self.description, table, self.definition, self._latest, self.tabs):
            part.setMinimumHeight(2 * self.fontMetrics().height())
        self.tabs.setAccessibleName("Arguments or schema")
        head = in_row((self.title, 1), self.call)
        in_column(head, (self.description, 1), (self.tabs, 3), of=self, margins=0)
        self.call.clicked.connect(self._on_clicked)

    def show_offer(self, offer: Offer | None, definition: dict[str, Any], change: str = "") -> None:
        """Show an offer; `change` is what is different since the last session."""
        self._offer = offer
        self.setVisible(offer is not None)
        if offer is None:
            return
        title = one_line(f"{offer.name}  {offer.title}" if offer.title else offer.name, 300)
        if offer.kind is OfferKind.TOOL:
            tokens = tokens_of(offer.name, offer.description, offer.schema)
            title += f"  (about {count(tokens, 'token')})"
        self.title.set_text(title)
        text = offer.description[:_LONGEST] or "The server provides no description."
        if change:
            text = f"Changed since the last session:\n{change[:_LONGEST]}\n\n{text}"
        self.description.setPlainText(visible(text, keep_line_ends=True))
        self.arguments.show_rows(_arguments(offer.schema))
        self.tabs.setTabVisible(_LATEST_TAB, offer.kind is OfferKind.EVENT)
        for column in range(_WIDE_COLUMN):
            self._table.resizeColumnToContents(column)
            self._table.setColumnWidth(column, min(_WIDEST, self._table.columnWidth(column)))
        self.definition.show_value(definition)

    def show_events(self, events: Iterable[NotificationReceived]) -> None:
        """Show the latest events, given with the oldest first, of the type that is shown."""
        name = "" if self._offer is None else self._offer.name
        ours = [fact for fact in events if fact.params.get("name") == name]
        self.latest.show_rows((clock(fact.when), event_text(fact)) for fact in reversed(ours))

    @Slot()
    def _on_clicked(self) -> None:
        if self._offer is not None:
            self.call_requested.emit(self._offer)


class ServerPage(QWidget):
    """Shows the offers of one server in the middle of the window, instead of the jobs."""

    back_requested = Signal()  # show the jobs again
    connect_requested = Signal(str)
    call_requested = Signal(str, str, str)
    """The server, the method, and the name of the tool, prompt or resource."""

    def __init__(
        self, appearance: Appearance, parent: QWidget | None = None, *, is_read_only: bool = False
    ) -> None:
        """`is_read_only` is for servers in recordings, which cannot be called."""
        super().__init__(parent)
        self._is_read_only = is_read_only
        self._appearance = appearance
        self._server: ServerSnapshot | None = None
        self._tokens = 0  # of all tools in a model's context
        self.back = QToolButton(self)
        self.name = ElidedLabel(self)
        self.state = ElidedLabel(self)
        self.connect_button = QPushButton("Co&nnect", self)
        self.instructions = ElidedLabel(self)
        self.kinds = QTabBar(self)
        self.search = QLineEdit(self)
        self.offers = OffersModel(self)
        self.list = OfferList(self.offers, appearance, self)
        self.empty = QLabel(self)
        self.details = OfferDetails(appearance, self)
        self.about = JsonTree(self)
        self._set_up()
        self._lay_out()
        self._connect()
        self.begins_at = self.list
        self.back.setIcon(appearance.icon("back"))
        self.back.setIconSize(_ICON)
        for label in self.instructions.findChildren(QLabel):
            set_text_colour(label, appearance, Tone.MUTED)

    @property
    def server(self) -> str:
        """The name of the server that is shown; empty before the first."""
        return "" if self._server is None else self._server.name

    def show_server(self, server: ServerSnapshot) -> None:
        """Show a server's current state; search and selection stay."""
        before, self._server = self._server, server
        is_other = before is None or before.name != server.name
        name = one_line(server.name, 40)
        self.name.set_text(name, name)
        if before is None or before.tools is not server.tools:
            self._tokens = tokens_of_all(server.tools)
        self.state.set_text(" · ".join(_about(server, self._tokens)))
        text = visible((server.instructions or "")[:_LONGEST], keep_line_ends=False)
        self.instructions.set_text(one_line(text, 400))
        self.instructions.setToolTip(plain_tip(text))
        self.instructions.setVisible(bool(text))
        is_up = server.state is ServerState.CONNECTED and not self._is_read_only
        self.connect_button.setVisible(not server.state.is_up and not self._is_read_only)
        self.list.set_callable(is_callable=is_up)
        self.details.call.setEnabled(is_up)
        tip = "Fill in the arguments and call it" if is_up else "The server is not connected"
        self.details.call.setToolTip(plain_tip(tip))
        if is_other:
            self.search.clear()
        is_listed_anew = (
            before is None
            or before.unlisted != server.unlisted
            or before.tool_changes != server.tool_changes
        )
        if is_other or is_listed_anew or _lists(before) != _lists(server):
            self._show_kinds(is_other=is_other)
        if before is None or before.latest_events != server.latest_events:
            self.details.show_events(server.latest_events)
        if before is None or _declared(before) != _declared(server):
            self.about.show_value(_declared(server))

    def _show_kinds(self, *, is_other: bool) -> None:
        counts = [len(found) for found in _lists(self._server)]
        unlisted = frozenset() if self._server is None else self._server.unlisted
        for place, (_kind, title, _word, _icon, method) in enumerate(_KINDS):
            title = title if method in unlisted else f"{title} {number(counts[place])}"
            self.kinds.setTabText(place, title)
            self.kinds.setTabVisible(place, counts[place] > 0 or place < _ALWAYS)
        if is_other:
            first = next((place for place, found in enumerate(counts) if found), 0)
            self.kinds.setCurrentIndex(first)
        self._show_offers()

    def _set_up(self) -> None:
        self.back.setText("Jobs")
        self.back.setAutoRaise(True)
        self.back.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.back.setAccessibleName("Back to the jobs")
        self.back.setToolTip("Show the jobs (Esc)")
        self.back.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.name.setFont(emphasised(self.font()))
        self.connect_button.setToolTip("Connect the server")
        for _kind, title, *_rest in _KINDS:
            self.kinds.addTab(title)
        self.kinds.addTab("About")
        self.about.setAccessibleName("About the server")
        if self._is_read_only:
            self.list.set_read_only()
            self.details.call.hide()
        self.kinds.setDrawBase(False)
        self.kinds.setExpanding(False)
        self.kinds.setAccessibleName("Tools, prompts, resources or the server itself")
        self.search.setPlaceholderText("Search by name and description")
        self.search.setAccessibleName("Search by name and description")
        self.search.setToolTip("Show only entries that contain all these words")
        self.search.setClearButtonEnabled(True)
        self.empty.setTextFormat(Qt.TextFormat.PlainText)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)

    def _lay_out(self) -> None:
        head = in_row(self.back, self.name, (self.state, 1), self.connect_button, spacing=GAP)
        side = QWidget(self)
        column = QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP_S)
        for widget in (self.search, self.list, self.empty):
            column.addWidget(widget, 1 if widget in (self.list, self.empty) else 0)
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(side)
        splitter.addWidget(self.details)
        splitter.setStretchFactor(0, 1)
        splitter.setStretchFactor(1, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(GAP, GAP_S, GAP, GAP)
        whole.setSpacing(GAP_S)
        whole.addLayout(head)
        whole.addWidget(self.instructions)
        whole.addWidget(self.kinds)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(splitter)
        self._pages.addWidget(self.about)
        whole.addWidget(self._pages, 1)
        order_tabs(self)

    def _connect(self) -> None:
        self.back.clicked.connect(self.back_requested)
        self.connect_button.clicked.connect(self._on_connect_clicked)
        self.kinds.currentChanged.connect(self._on_kind_chosen)
        self.search.textChanged.connect(self._on_searched)
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        self.list.call_requested.connect(self._on_call_requested)
        self.details.call_requested.connect(self._on_call_requested)

    def keyPressEvent(self, event: Any) -> None:
        """Return to the jobs on Escape; if there is a search, clear it first."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif self.search.text():
            self.search.clear()
        else:
            self.back_requested.emit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            for label in (self.name, self.details.title):
                label.setFont(emphasised(self.font()))

    @Slot()
    def _show_offers(self) -> None:
        """Show the offers of the selected kind, with the same selection if it still exists."""
        if self._server is None:
            return
        chosen = self.list.currentIndex().data(OffersModel.OFFER)
        kind = self._kind[0]
        self.offers.set_offers(offers_of(self._server, kind))
        row = self.offers.row_of(chosen.name) if isinstance(chosen, Offer) else None
        self._choose(row or 0)

    def _choose(self, row: int) -> None:
        self.list.setCurrentIndex(self.offers.index(row))
        is_any = self.offers.rowCount() > 0
        self.list.setVisible(is_any)
        self.empty.setVisible(not is_any)
        _kind, _title, word, _icon, method = self._kind
        if self.search.text():
            found = f"No {word} matches."
        elif self._server is not None and method in self._server.unlisted:
            found = f"The client has not listed the server's {word}s."
        elif self._is_read_only:
            found = f"The recording has no list of its {word}s."
        else:
            is_known = self._server is not None and self._server.state is ServerState.CONNECTED
            found = f"The server lists no {word}s." if is_known else "Not connected."
        self.empty.setText(found)
        self._on_current_changed()

    @property
    def _kind(self) -> tuple[OfferKind, str, str, str, str]:
        """The listed kind; tools, while the server itself is shown."""
        return _KINDS[max(0, self.kinds.currentIndex()) % len(_KINDS)]

    @Slot(int)
    def _on_kind_chosen(self, place: int) -> None:
        is_about = place == len(_KINDS)
        self._pages.setCurrentIndex(int(is_about))
        if not is_about:
            self._show_offers()

    @Slot(str)
    def _on_searched(self, text: str) -> None:
        self.offers.set_search(text)
        self._choose(0)

    @Slot()
    def _on_current_changed(self) -> None:
        offer = self.list.currentIndex().data(OffersModel.OFFER)
        shown = offer if isinstance(offer, Offer) else None
        self.details.show_offer(
            shown,
            {} if shown is None else self._definition(shown),
            "" if shown is None else self._change(shown),
        )
        self.details.show_events(() if self._server is None else self._server.latest_events)

    def _change(self, offer: Offer) -> str:
        """The difference of a tool since the server's last session; empty if there is none."""
        changes = () if self._server is None else self._server.tool_changes
        return dict(changes).get(offer.name, "") if offer.kind is OfferKind.TOOL else ""

    def _definition(self, offer: Offer) -> dict[str, Any]:
        """The definition of an offer as sent by the server."""
        server = self._server
        if server is None:
            return {}
        named: dict[OfferKind, dict[str, Any]] = {
            OfferKind.TOOL: {each.name: each.raw for each in server.tools},
            OfferKind.PROMPT: {each.name: each.raw for each in server.prompts},
            OfferKind.RESOURCE: {each.uri: each.raw for each in server.resources},
            OfferKind.EVENT: {each.name: each.raw for each in server.events},
            OfferKind.SKILL: {each.uri: each.raw for each in server.skills},
        }
        found: dict[str, Any] = named[offer.kind].get(offer.name, {})
        return found

    @Slot(object)
    def _on_call_requested(self, offer: Offer) -> None:
        self.call_requested.emit(self.server, offer.kind.value, offer.name)

    @Slot()
    def _on_connect_clicked(self) -> None:
        self.connect_requested.emit(self.server)


def _lists(server: ServerSnapshot | None) -> tuple[list[Offer], ...]:
    if server is None:
        return tuple([] for _ in _KINDS)
    return tuple(offers_of(server, kind) for kind, *_rest in _KINDS)


def _declared(server: ServerSnapshot) -> dict[str, Any]:
    """Return the server's declarations in protocol terms; undeclared members are omitted."""
    declared = {
        "serverInfo": server.server_info,
        "protocolVersion": server.revision,
        "capabilities": server.capabilities,
        "instructions": server.instructions,
    }
    return {name: value for name, value in declared.items() if value not in (None, {})}


def _about(server: ServerSnapshot, tokens: int) -> Iterator[str]:
    """The server's description of itself, after its state, and what its tools cost a model."""
    yield state_word(server.state)
    info = server.server_info
    own = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
    if own:
        yield one_line(own, 80)
    if server.revision:
        yield f"MCP {one_line(server.revision, 20)}"
    if server.restarts:
        yield count(server.restarts, "restart")
    if tokens:
        yield f"tools cost about {count(tokens, 'token')}"
