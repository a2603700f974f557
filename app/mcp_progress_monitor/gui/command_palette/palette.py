"""The palette: a field above the entries that match, best and most recently used first."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QDialog,
    QLabel,
    QLineEdit,
    QListView,
    QStyle,
    QStyleOptionViewItem,
    QWidget,
)

from mcp_progress_monitor.formatting import count
from mcp_progress_monitor.gui.common.layout import in_column, room
from mcp_progress_monitor.gui.common.side_delegate import RIGHT, SideDelegate
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone, emphasised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_WORD_START: Final = 8
_IN_A_ROW: Final = 5
_SAME_CASE: Final = 1  # only for a query in lower case
_FIRST: Final = 6
_GAP: Final = 1
_GAP_AT_MOST: Final = 10
_TRIES: Final = 12
"""Places tried for a first letter: bounds the work for long texts of servers."""


class Match(NamedTuple):
    """The quality of a match, and the places of the matched letters."""

    score: int
    places: tuple[int, ...]


def match(query: str, text: str) -> Match | None:
    """Match all words of `query` in `text`; None if any of them is missing."""
    score, places = 0, set[int]()
    folded = _folded(text)
    for word in query.split():
        found = _match_word(word, text, folded)
        if found is None:
            return None
        score += found.score
        places.update(found.places)
    return Match(score, tuple(sorted(places)))


def _folded(text: str) -> str:
    """The text in lower case, of the same length: letters that would become two are kept."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(lower if len(lower := each.lower()) == 1 else each for each in text)


def _match_word(word: str, text: str, folded: str) -> Match | None:
    wanted = _folded(word)
    best: Match | None = None
    start = folded.find(wanted[0])
    for _ in range(_TRIES):
        if start < 0:
            break
        found = _from(wanted, folded, start)
        if found is None:
            break  # not found from here on, so not later either
        rated = Match(_score(word, text, found), found)
        if best is None or rated.score > best.score:
            best = rated
        start = folded.find(wanted[0], start + 1)
    return best


def _from(wanted: str, folded: str, start: int) -> tuple[int, ...] | None:
    """The places of the letters from `start` on, at starts of words where possible."""
    places = [start]
    for at, letter in enumerate(wanted[1:], 1):
        after = places[-1] + 1
        place = folded.find(letter, after)
        if place < 0:
            return None
        if place != after:
            place = _at_word(wanted[at:], folded, place)
        places.append(place)
    return tuple(places)


def _at_word(rest: str, folded: str, place: int) -> int:
    """The first start of a word with the next letter, if the rest can still be found after it."""
    better = place
    while better >= 0 and not _is_start(folded, better):
        better = folded.find(rest[0], better + 1)
    if better < 0 or not _is_in(rest, folded, better):
        return place
    return better


def _is_in(rest: str, folded: str, place: int) -> bool:
    for letter in rest:
        place = folded.find(letter, place) + 1
        if not place:
            return False
    return True


def _is_start(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()


def _score(word: str, text: str, places: tuple[int, ...]) -> int:
    score, before = 0, -1
    for letter, place in zip(word, places, strict=False):
        is_hump = place > 0 and text[place].isupper() and text[place - 1].islower()
        if _is_start(text, place) or is_hump:
            score += _WORD_START
        if before >= 0:
            skipped = place - before - 1
            score += _IN_A_ROW if not skipped else -min(_GAP * skipped, _GAP_AT_MOST)
        score += _SAME_CASE * (letter.isupper() and text[place] == letter)
        before = place
    return score + (_FIRST if places[0] == 0 else 0)


_Index = QModelIndex | QPersistentModelIndex
_SHOWN: Final = 200
_ROWS: Final = 12
_WIDTH: Final = 620
_TOP: Final = 60
_RECENT_BONUS: Final = 6
_ENTRY: Final = int(Qt.ItemDataRole.UserRole) + 1
_PLACES: Final = _ENTRY + 1
_STEPS: Final = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: _ROWS - 1,
    Qt.Key.Key_PageUp: 1 - _ROWS,
}


@dataclasses.dataclass(frozen=True, slots=True)
class PaletteEntry:
    """An entry: `id` is remembered, `run` is called when it is chosen.

    `title` is matched; `detail` is shown beside it, and matched as well.
    """

    id: str
    kind: str
    title: str
    detail: str
    icon: str
    run: Callable[[], object]
    key: str = ""


class PaletteModel(QAbstractListModel):
    """The matching entries, best first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._entries: list[PaletteEntry] = []
        self._recent: dict[str, int] = {}
        self._shown: list[tuple[PaletteEntry, Match]] = []
        self._query = ""
        self.matching = 0  # the number of matches, of which the first are shown

    def set_entries(self, entries: Iterable[PaletteEntry], recent: Sequence[str]) -> None:
        """Set the entries; those in `recent`, the latest first, come before others."""
        self._entries = list(entries)
        self._recent = {name: len(recent) - place for place, name in enumerate(recent)}
        self.search(self._query)

    def add(self, entries: Iterable[PaletteEntry]) -> None:
        """Add entries that were read from a disk."""
        self._entries += entries
        self.search(self._query)

    def search(self, query: str) -> None:
        self._query = query
        found = []
        for place, entry in enumerate(self._entries):
            fit = match(query, f"{entry.kind}: {entry.title} {entry.detail}")
            if fit is not None:
                recency = self._recent.get(entry.id, 0)
                rank = fit.score + (_RECENT_BONUS if recency and query.strip() else 0)
                found.append((-rank, -recency, place, entry, fit))
        found.sort(key=lambda each: each[:3])
        self.beginResetModel()
        self.matching = len(found)
        self._shown = [(entry, fit) for *_rank, entry, fit in found[:_SHOWN]]
        self.endResetModel()

    def entry(self, row: int) -> PaletteEntry | None:
        return self._shown[row][0] if 0 <= row < len(self._shown) else None

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The title for display, all texts for screen readers, and the entry for the delegate."""
        if not index.isValid():
            return None
        entry, fit = self._shown[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(filter(None, (entry.kind, entry.title, entry.detail, entry.key)))
        return {_ENTRY: entry, _PLACES: fit.places}.get(role)


class PaletteDelegate(SideDelegate):
    """A row: icon, kind, title with the matched letters in bold, detail, and key at the right."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        return QSize(120, option.fontMetrics.height() + GAP + 4)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        entry: PaletteEntry = index.data(_ENTRY)
        painter.save()
        option.state |= QStyle.StateFlag.State_Active  # the field handles the keys
        area = self.begin(painter, option, entry.icon, Tone.MUTED)
        faces = self.faces(option.font)
        if entry.key:
            self.write(painter, faces.second, area, entry.key, Tone.MUTED, RIGHT)
            area.setRight(area.right() - faces.second.width(entry.key) - 2 * GAP)
        text = f"{entry.kind}: {entry.title} {entry.detail}"
        muted = range(len(text) - len(entry.detail), len(text))
        self._write_matched(painter, option, area, text, frozenset(index.data(_PLACES)), muted)
        painter.restore()

    def _write_matched(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        area: QRect,
        text: str,
        places: frozenset[int],
        muted: range,
    ) -> None:
        """Paint a line with the letters at `places` in bold, elided to the room."""
        plain, heavy = option.font, emphasised(option.font)
        metrics = {False: QFontMetrics(plain), True: QFontMetrics(heavy)}
        left, start, flags = area.left(), 0, int(Qt.AlignmentFlag.AlignVCenter)
        while start < len(text) and left < area.right():
            end = start
            style = (start in places, start in muted)
            while end < len(text) and (end in places, end in muted) == style:
                end += 1
            part, is_heavy = text[start:end], style[0]
            width = metrics[is_heavy].horizontalAdvance(part)
            room_left = area.right() - left
            if width > room_left:
                mode = Qt.TextElideMode.ElideRight
                part = metrics[is_heavy].elidedText(part, mode, room_left)
            painter.setFont(heavy if is_heavy else plain)
            tone = Tone.ACCENT if is_heavy else Tone.MUTED if style[1] else Tone.TEXT
            painter.setPen(self._appearance.colour(tone))
            painter.drawText(QRect(left, area.top(), room_left, area.height()), flags, part)
            left += width
            start = end


class PaletteEdit(QLineEdit):
    """The search field; its arrow keys move through the list."""

    moved = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move through the list with the arrow keys; type everything else."""
        step = _STEPS.get(Qt.Key(event.key()))
        if step is not None:
            self.moved.emit(step)
        else:
            super().keyPressEvent(event)


class Palette(QDialog):
    """Opens over the window; runs the chosen entry once it is closed."""

    chosen = Signal(object)  # the `PaletteEntry`

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setWindowTitle("Command palette")
        self._appearance = appearance
        self.edit = PaletteEdit(self)
        self.model = PaletteModel(self)
        self.list = QListView(self)
        self.status = QLabel(self, textFormat=Qt.TextFormat.PlainText)
        self._set_up(appearance)
        in_column(self.edit, self.list, self.status, of=self, margins=GAP)
        self.edit.textChanged.connect(self._on_typed)
        self.edit.moved.connect(self._on_moved)
        self.edit.returnPressed.connect(self._on_entered)
        self.list.clicked.connect(self._on_entered)
        self.model.modelReset.connect(self._on_reset)

    def open_over(self, window: QWidget) -> None:
        row = self.list.sizeHintForRow(0) or self.fontMetrics().height() + GAP + 4
        height = self.edit.sizeHint().height() + _ROWS * row + 6 * GAP
        size = QSize(min(_WIDTH, window.width() - 4 * GAP), height).boundedTo(room(window))
        self.resize(size)
        corner = QPoint((window.width() - size.width()) // 2, min(_TOP, window.height() // 10))
        self.move(window.mapToGlobal(corner))
        self.show()
        self.edit.setFocus(Qt.FocusReason.PopupFocusReason)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a frame: popups have none of their own."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setPen(self._appearance.ground(Tone.TEXT, 0.35))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def _set_up(self, appearance: Appearance) -> None:
        self.edit.setPlaceholderText("Search commands, servers, tools, jobs and recordings")
        self.edit.setAccessibleName("Search commands, servers, tools, jobs and recordings")
        self.edit.setToolTip("Type a few letters; the arrows choose, Enter runs, Esc closes")
        self.list.setModel(self.model)
        self.list.setItemDelegate(PaletteDelegate(appearance, self.list))
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setFrameShape(self.list.Shape.NoFrame)
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setEditTriggers(self.list.EditTrigger.NoEditTriggers)
        self.list.setAccessibleName("Search results")
        self.status.setAccessibleName("Number of results")

    @Slot(str)
    def _on_typed(self, text: str) -> None:
        self.model.search(text)

    @Slot()
    def _on_reset(self) -> None:
        self.list.setCurrentIndex(self.model.index(0))
        found = self.model.matching
        shown = f", the first {_SHOWN} are shown" if found > _SHOWN else ""
        self.status.setText(f"{count(found, 'match', 'matches')}{shown}" if found else "No match")

    @Slot(int)
    def _on_moved(self, step: int) -> None:
        """Wrap around for single steps, but not for pages."""
        rows = self.model.rowCount()
        row = self.list.currentIndex().row() + step
        if abs(step) > 1:
            row = min(max(row, 0), rows - 1)
        if rows:
            self.list.setCurrentIndex(self.model.index(row % rows))

    @Slot()
    def _on_entered(self) -> None:
        entry = self.model.entry(self.list.currentIndex().row())
        if entry is not None:
            self.close()
            self.chosen.emit(entry)
