"""The columns of Traffic: which are shown, and how wide, in the available room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QByteArray, QObject, Qt, Slot
from PySide6.QtWidgets import QMenu

from mcp_progress_monitor.gui.common.tables import FlatHeader
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QTableView

FIRST: Final = {
    TrafficColumn.TIME: 12,
    TrafficColumn.DELTA: 8,
    TrafficColumn.DIRECTION: 2,
    TrafficColumn.SERVER: 9,
    TrafficColumn.KIND: 10,
    TrafficColumn.METHOD: 22,
    TrafficColumn.KEY: 12,
    TrafficColumn.SUMMARY: 28,
    TrafficColumn.SIZE: 8,
    TrafficColumn.DURATION: 10,
    TrafficColumn.NUMBER: 9,
}
"""Characters in each column if there is room; the summary takes the remainder as well."""

_MOST_OF_SERVER: Final = 24
_WIDER: Final = ((TrafficColumn.KEY, 24), (TrafficColumn.METHOD, 28))
_EASY_SUMMARY: Final = 70
"""What columns grow to, in characters, where that leaves so many to the summary."""
_OPTIONAL: Final = frozenset({TrafficColumn.NUMBER})  # what is shown only to those who choose it

_STEPS: Final = (
    (TrafficColumn.SIZE, 0),
    (TrafficColumn.DURATION, 8),
    (TrafficColumn.DELTA, 0),
    (TrafficColumn.METHOD, 12),
    (TrafficColumn.KIND, 10),
    (TrafficColumn.SERVER, 8),
    (TrafficColumn.KEY, 9),
    (TrafficColumn.DURATION, 0),
    (TrafficColumn.SUMMARY, 22),
    (TrafficColumn.METHOD, 0),
    (TrafficColumn.SERVER, 0),
    (TrafficColumn.SUMMARY, 12),
)
"""What shrinks first if there is less room, to how many characters; 0 hides the column.

The arrow shows the direction, the kind most of a method, and the details size and delta.
"""


def fitted(
    room: int,
    width_of: Callable[[int], int],
    own: Mapping[TrafficColumn, int],
    hidden: Collection[TrafficColumn],
    shown: Collection[TrafficColumn],
    server: int = 0,
) -> dict[TrafficColumn, int]:
    """The width of every column for `room` pixels, 0 for hidden ones.

    `own` widths are kept as the user made them, `hidden` columns stay away, and of those `shown`
    none is left out. `width_of` is the width of so many characters, `server` how many the longest
    server has.
    """
    left_out = {*hidden, *(_OPTIONAL - set(shown))}
    widest = max(FIRST[TrafficColumn.SERVER], min(server, _MOST_OF_SERVER))
    wanted = {**FIRST, TrafficColumn.SERVER: widest}
    widths = {
        column: 0 if column in left_out else own.get(column, width_of(characters))
        for column, characters in wanted.items()
    }
    for column, characters in _STEPS:
        if sum(widths.values()) <= room:
            break
        is_fixed = column in own or (column in shown and not characters)
        if widths[column] and not is_fixed:
            widths[column] = width_of(characters) if characters else 0
    left = room - sum(widths.values())
    for column, characters in _WIDER:
        more = width_of(characters) - widths[column]
        is_easy = widths[TrafficColumn.SUMMARY] + left - more >= width_of(_EASY_SUMMARY)
        if widths[column] and column not in own and is_easy:
            widths[column] += more
            left -= more
    widths[TrafficColumn.SUMMARY] += max(0, left)
    return widths


class TrafficColumns(QObject):
    """Fits the columns of `view` to its width, except those that the user has resized."""

    def __init__(
        self, view: QTableView, width_of: Callable[[int], int], longest_server: Callable[[], int]
    ) -> None:
        super().__init__(view)
        self._view = view
        self._width_of = width_of
        self._longest_server = longest_server
        self._own: dict[TrafficColumn, int] = {}
        self._hidden: set[TrafficColumn] = set()
        self._shown: set[TrafficColumn] = set()
        self._is_fitting = False
        header = FlatHeader(view)
        view.setHorizontalHeader(header)
        header.setMinimumSectionSize(1)
        header.setSectionsMovable(True)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._on_menu_requested)
        header.sectionResized.connect(self._on_section_resized)

    @Slot()
    def fit(self) -> None:
        """Set every column's width for the current room."""
        if self._is_fitting:
            return
        self._is_fitting = True
        room = self._view.viewport().width()
        server = self._longest_server()
        widths = fitted(room, self._width_of, self._own, self._hidden, self._shown, server)
        for column, width in widths.items():
            self._view.setColumnHidden(column, not width)
            if width:
                self._view.setColumnWidth(column, width)
        self._is_fitting = False

    def state(self) -> dict[str, Any]:
        """The state to save, as JSON values: order of the columns, and the user's widths."""
        header = self._view.horizontalHeader().saveState().toBase64().toStdString()
        return {
            "header": header,
            "widths": {column.name: width for column, width in self._own.items()},
            "hidden": sorted(column.name for column in self._hidden),
            "shown": sorted(column.name for column in self._shown),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore saved state; invalid parts are ignored."""
        header, widths = state.get("header"), state.get("widths")
        if isinstance(header, str):
            self._is_fitting = True
            raw = QByteArray.fromBase64(QByteArray(header.encode(errors="replace")))
            self._view.horizontalHeader().restoreState(raw)
            self._is_fitting = False
        named = widths if isinstance(widths, dict) else {}
        self._own = {
            TrafficColumn[name]: min(width, 4_000)
            for name, width in named.items()
            if name in TrafficColumn.__members__ and isinstance(width, int) and width > 0
        }
        self._hidden = _columns(state.get("hidden")) - {TrafficColumn.SUMMARY}
        self._shown = _columns(state.get("shown"))
        self.fit()

    @Slot(int, int, int)
    def _on_section_resized(self, section: int, _old: int, new: int) -> None:
        if self._is_fitting or not new:
            return
        if section != TrafficColumn.SUMMARY:
            self._own[TrafficColumn(section)] = new
            self.fit()

    @Slot(object)
    def _on_menu_requested(self, point: QPoint) -> None:
        menu = QMenu(self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for column in TrafficColumn:
            title = self._view.model().headerData(column, Qt.Orientation.Horizontal)
            action = menu.addAction(str(title))
            action.setData(int(column))
            action.setCheckable(True)
            action.setChecked(not self._view.isColumnHidden(column))
            action.setEnabled(column is not TrafficColumn.SUMMARY)
        menu.addSeparator()
        menu.addAction("Fit columns to width")
        menu.triggered.connect(self._on_column_chosen)
        menu.popup(self._view.horizontalHeader().mapToGlobal(point))

    @Slot(object)
    def _on_column_chosen(self, action: QAction) -> None:
        if not action.isCheckable():
            self._own.clear()
            self._hidden.clear()
            self._shown.clear()
        else:
            column = TrafficColumn(action.data())
            to, out_of = self._shown, self._hidden
            if not action.isChecked():
                to, out_of = out_of, to
            to.add(column)
            out_of.discard(column)
        self.fit()


def _columns(names: object) -> set[TrafficColumn]:
    found = names if isinstance(names, list) else []
    return {TrafficColumn[name] for name in found if name in TrafficColumn.__members__}
