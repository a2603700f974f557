"""Traffic as rows: every frame of a timeline, appended in batches, filtered in slices."""

from __future__ import annotations

import bisect
import collections
import time
from array import array
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QModelIndex, QObject, Qt, QTimer, Signal, Slot

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.findings.finding import joined
from mcp_progress_monitor.gui.common.labels import ServerTitles
from mcp_progress_monitor.gui.traffic.cells import (
    HEADERS,
    RIGHT_ALIGNED,
    TrafficCells,
    TrafficColumn,
)
from mcp_progress_monitor.gui.traffic.folds import FoldedRows, Taken
from mcp_progress_monitor.gui.traffic.rows import PlaceRows, without
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.recording.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from PySide6.QtCore import QPersistentModelIndex

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.findings.finding import Finding
    from mcp_progress_monitor.gui.traffic.filtering import TrafficSearch
    from mcp_progress_monitor.gui.traffic.rows import SparseRange
    from mcp_progress_monitor.protocol.frames import FrameKind
    from mcp_progress_monitor.recording.timeline import Timeline

CAPACITY: Final = 200_000  # marks whose findings are kept; the timeline knows of every mark


class TrafficFindings:
    """Findings by frame number.

    Numbers are added in ascending order, and the oldest are dropped: with their frames, or beyond
    `capacity`.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._found: dict[int, tuple[Finding, ...]] = {}
        # A dictionary finds its first key more slowly with each deleted one.
        self._order: collections.deque[int] = collections.deque()

    def __len__(self) -> int:
        return len(self._found)

    def of(self, number: int) -> tuple[Finding, ...]:
        """The findings of the frame with that number."""
        return self._found.get(number, ())

    def add(self, marked: Mapping[int, tuple[Finding, ...]]) -> None:
        self._order.extend(number for number in marked if number not in self._found)
        self._found.update(marked)
        while len(self._order) > self._capacity:
            del self._found[self._order.popleft()]

    def forget_before(self, number: int) -> None:
        """Drop the findings of older frames."""
        while self._order and self._order[0] < number:
            del self._found[self._order.popleft()]


class TrafficNotes(QObject):
    """The user's marks and notes; every change is emitted, and saved if there is a file."""

    changed = Signal()  # marks or notes changed; rows are to be repainted
    error_found = Signal(object)
    """The `ErrorDetails` of notes that cannot be read or saved; emitted once for each."""

    def __init__(self, path: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._notes = Notes(path)
        self._reported: ErrorDetails | None = None

    @property
    def error(self) -> ErrorDetails | None:
        """Why notes are only in memory; None without an error."""
        return self._notes.error

    def open(self, path: Path | None) -> None:
        """Open the notes at `path` unless they are open, and add those made until now."""
        if path == self._path:
            return
        self._path = path
        before, self._notes = self._notes, Notes(path)
        for number in before.numbers:
            if before.is_marked(number):
                self._notes.set_marked([number], is_marked=True)
            if before.note(number):
                self._notes.set_note(number, before.note(number))
        self._announce()

    def is_marked(self, number: int) -> bool:
        return self._notes.is_marked(number)

    def note(self, number: int) -> str:
        """The note on the frame with that number; empty without one."""
        return self._notes.note(number)

    def after(self, number: int) -> int | None:
        return self._notes.after(number)

    def before(self, number: int) -> int | None:
        return self._notes.before(number)

    def toggle(self, numbers: Sequence[int]) -> None:
        """Mark frames; remove the marks if all of them are marked."""
        are_marked = all(self.is_marked(number) for number in numbers)
        self._notes.set_marked(numbers, is_marked=not are_marked)
        self._announce()

    def set_note(self, number: int, text: str) -> None:
        """Set the note on a frame; an empty one removes it."""
        if text != self.note(number):
            self._notes.set_note(number, text)
            self._announce()

    def _announce(self) -> None:
        self.changed.emit()
        error = self._notes.error
        if error is not None and error != self._reported:
            self.error_found.emit(error)
        self._reported = error


_LOOKED_AT: Final = 200  # connections whose names the width of their column is made for

SLICE_S: Final = 0.004  # longest uninterrupted search, so that painting and typing can proceed

_SLICE_PAUSE_MS: Final = 1
_FOLDED_AT_ONCE: Final = 2_048  # messages folded between two looks at the clock: a millisecond

FOLDED: Final = "▸ "
OPENED: Final = "▾ "
"""Prefix of the summary of a folded row."""

_SHOWN_EVERY_S: Final = 0.05  # how often rows are added during a search: each time costs a repaint


class TrafficModel(PlaceRows):
    """Frames of a `Timeline` as rows; one call of `refresh` per batch, nothing per frame.

    Rows change only in `refresh`, during a search and while ticks are folded: the timeline may be
    far ahead while the pane is hidden. Pausing fixes an end, clearing a beginning. Bytes are read
    by `TrafficCells`, for painted rows.
    """

    KIND = Qt.ItemDataRole.UserRole + 2  # the row's `FrameKind`
    MARK = Qt.ItemDataRole.UserRole + 3  # the finding of the row's message as text

    waiting_changed = Signal(object)
    """The number of frames since the view was paused; 0 if it is not."""
    search_changed = Signal(object)  # the number of frames still to be searched

    def __init__(
        self,
        timeline: Timeline,
        requests_of: Callable[[int], Collection[int]],
        titles: ServerTitles | None = None,
        parent: QObject | None = None,
    ) -> None:
        """Show all of `timeline`; `requests_of` returns the requests of a job, for filters."""
        super().__init__(timeline, parent)
        self.titles: Final = titles or ServerTitles(self)
        self.titles.changed.connect(self._on_titles_changed)
        self._requests_of = requests_of
        self._cells = TrafficCells(timeline, self.titles)
        self._marks = TrafficFindings()
        self._notes: TrafficNotes | None = None
        self._filter = TrafficFilter()
        self._finding: TrafficSearch | None = None
        self._columns = timeline.columns
        self._gone = timeline.first
        self._end = timeline.end
        self._floor = 0
        self._gap = timeline.gap
        self._rows = without(self._gone, self._end, self._gap)
        self._folds_ticks = False
        self._unfolded: Sequence[int] = array("q")
        """Search results that are not folded yet."""
        self._folded_to = 0
        self._dropped = self._gap
        self._is_paused = False
        self._is_watched = True
        self._shown_at = 0.0
        self._slices = QTimer(self)
        self._slices.setSingleShot(True)
        self._slices.setInterval(_SLICE_PAUSE_MS)
        self._slices.timeout.connect(self._catch_up)

    @property
    def filter(self) -> TrafficFilter:
        """The filter in force."""
        return self._filter

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @property
    def waiting(self) -> int:
        """The number of frames since the view was paused."""
        return self.timeline.end - self._end if self._is_paused else 0

    @property
    def hidden(self) -> int:
        """The number of existing frames that `clear_view` hides."""
        floor = min(self._floor, self._end)
        return max(0, floor - self._gone - max(0, min(floor, self._gap.stop) - self._gap.start))

    @property
    def total(self) -> int:
        """How many rows there would be without a filter."""
        return len(self._range(max(self._gone, self._floor)))

    @property
    def unsearched(self) -> int:
        """The number of frames still to be searched."""
        left = self._finding.left(self._gone, self._end) if self._finding else 0
        return left + len(self._unfolded)

    @property
    def undecided(self) -> int:
        """How many texts the filter's regular expressions took too long for."""
        return self._finding.undecided if self._finding else 0

    @Slot()
    def refresh(self) -> None:
        """Update the rows for changes of the timeline since the last time.

        Does nothing while the pane is hidden.
        """
        if not self._is_watched:
            return
        if self.timeline.columns is not self._columns:
            self._restart()
        first, gap = self.timeline.first, self.timeline.gap
        if (first, gap) != (self._gone, self._gap):
            self._gone, self._gap = first, gap
            self._marks.forget_before(self.timeline.number(first))
        if self._is_paused:
            self.waiting_changed.emit(self.waiting)
        else:
            self._end = self.timeline.end
        self._catch_up()

    @Slot(bool)
    def set_watched(self, is_watched: bool) -> None:
        """Follow the timeline only while the rows are visible; catch up when they are shown."""
        self._is_watched = is_watched
        self.refresh()

    @Slot(object)
    def mark(self, marked: Mapping[int, tuple[Finding, ...]]) -> None:
        """Add the findings of newer frames, by number (`Feed.frames_marked`)."""
        self._marks.add(marked)

    def set_notes(self, notes: TrafficNotes) -> None:
        """Set the marks and notes that are shown on rows."""
        self._notes = notes
        notes.changed.connect(self._on_notes_changed)

    def set_filter(self, wanted: TrafficFilter) -> None:
        """Show only what `wanted` matches; rows appear as they are found.

        Raises:
            FilterError: the filter's text is invalid; the rows stay as they were.
        """
        if wanted != self._filter:
            self._show_from(wanted, self._floor)

    @Slot(bool)
    def set_folded(self, folded: bool) -> None:
        """Fold the ticks of a request, unless the filter asks for what is in them."""
        if folded is not self._folds_ticks:
            self._folds_ticks = folded
            self._show_from(self._filter, self._floor)

    def set_paused(self, paused: bool) -> None:
        """Freeze the view, or show what arrived meanwhile."""
        if paused == self._is_paused:
            return
        self._is_paused = paused
        self.refresh()
        self.waiting_changed.emit(self.waiting)

    @Slot()
    def clear_view(self) -> None:
        """Hide all current rows; nothing is deleted, see `show_all`."""
        self._show_from(self._filter, self._end)

    @Slot()
    def show_all(self) -> None:
        self._show_from(self._filter, 0)

    def row_of_number(self, number: int) -> int | None:
        """The row of the frame with that number, unfolded; None if it is gone or not shown."""
        place = self.timeline.place_of(number)
        return None if place is None else self.reveal(place)

    def kind(self, row: int) -> FrameKind | None:
        """The kind of a row's frame."""
        return self._cells.kind(self._rows[row]) if 0 <= row < len(self._rows) else None

    def is_expected(self, row: int) -> bool:
        """Return whether a row's frame is an error that our own request provokes."""
        return 0 <= row < len(self._rows) and self._cells.is_expected(self._rows[row])

    def mark_of(self, row: int) -> str:
        """The finding of a row's frame as text; empty without one."""
        if not 0 <= row < len(self._rows):
            return ""
        found = self.findings_of(row)
        if not found and self.timeline.is_marked(self._rows[row]):
            return "violates a rule that is no longer in memory"
        return joined(found)

    def findings_of(self, row: int) -> tuple[Finding, ...]:
        """The known findings of a row's frame."""
        is_row = 0 <= row < len(self._rows) and len(self._marks) > 0
        return self._marks.of(self.timeline.number(self._rows[row])) if is_row else ()

    def is_marked(self, row: int) -> bool:
        """Return whether the user marked a row's frame, or one folded into it."""
        notes = self._notes
        return notes is not None and any(map(notes.is_marked, self._numbers(row)))

    def note_of(self, row: int) -> str:
        """The note on a row's frame, or on one folded into it; empty without one."""
        texts = [] if self._notes is None else map(self._notes.note, self._numbers(row))
        return next(filter(None, texts), "")

    def text(self, row: int, column: int) -> str:
        """The text of one cell; empty if the frame is gone."""
        if not 0 <= row < len(self._rows):
            return ""
        place, fold = self._rows[row], self.fold_at(row)
        if column == TrafficColumn.DELTA:
            above = self.fold_at(row - 1) if row else None
            before = self._rows[row - 1] if row else place
            if above is not None and not above.is_open:
                before = above.last_before(place)
            return self._cells.delta(place, before) if row else ""
        if fold is None or column not in {TrafficColumn.SUMMARY, TrafficColumn.SIZE}:
            return self._cells.text(place, column)
        if fold.is_open:
            sign = OPENED if column == TrafficColumn.SUMMARY else ""
            return sign + self._cells.text(place, column)
        if column == TrafficColumn.SIZE:
            return ""
        return FOLDED + self._cells.ticks(place, fold.places[-1], len(fold.places))

    def between_s(self, first: int, last: int) -> float:
        """The seconds from one existing row to another."""
        places = self._rows[first], self.last_place(last)
        one, other = map(self.timeline.columns.locate, places)
        return 0.0 if one is None or other is None else other[0].ats[other[1]] - one[0].ats[one[1]]

    def tip(self, row: int, column: int) -> str:
        """Return the text that a cell elides; empty for most."""
        return self._cells.tip(self._rows[row], column) if 0 <= row < len(self._rows) else ""

    def longest_server(self) -> int:
        """Characters of the longest server that is shown, of those that came last."""
        sources = self._columns.sources
        newest = range(len(sources), max(0, len(sources) - _LOOKED_AT), -1)
        found = (sources.value(number) for number in newest)
        names = {server_name(source.connection) for source in found if source is not None}
        return max((len(self.titles.text(name)) for name in names), default=0)

    def line(self, row: int) -> str:
        """A row as one line, with tabs between its cells; its finding comes last."""
        cells = [self.text(row, column) for column in TrafficColumn]
        return "\t".join([*cells, *filter(None, [self.mark_of(row)])])

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(TrafficColumn)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = 0) -> Any:
        """A cell's text, or a row's kind or finding."""
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(index.row(), index.column())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(index.row(), index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in RIGHT_ALIGNED:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == self.MARK:
            return self.mark_of(index.row())
        return self.kind(index.row()) if role == self.KIND else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """A column's title, and its meaning as the tool tip."""
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(HEADERS):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section][0]
        return HEADERS[section][1] if role == Qt.ItemDataRole.ToolTipRole else None

    def _spoken(self, row: int, column: int) -> str:
        text = self.text(row, column)
        if column != TrafficColumn.SUMMARY:
            return text
        text = text.replace(FOLDED, "Folded: ", 1).replace(OPENED, "Unfolded: ", 1)
        mark, note = self.mark_of(row), self.note_of(row)
        signs = ["Marked"] if self.is_marked(row) else []
        if note:
            signs.append(f"Note: {note}")
        if mark:
            signs.append(f"Finding: {mark}")
        return ". ".join([*signs, text])

    def _numbers(self, row: int) -> Iterator[int]:
        """The numbers of the messages with marks or notes that a row holds."""
        if not 0 <= row < len(self._rows) or self._notes is None:
            return
        first, fold = self.timeline.number(self._rows[row]), self.fold_at(row)
        last = self.timeline.number(self.last_place(row))
        number = self._notes.after(first - 1)
        while number is not None and number <= last:
            place = self.timeline.place_of(number)
            if place is not None and (number == first or (fold and fold.holds(place))):
                yield number
            number = self._notes.after(number)

    def _restart(self) -> None:
        """Start again at place 0: a replay was restarted."""
        self._columns = self.timeline.columns
        self._gone, self._end = self.timeline.first, self.timeline.end
        self._gap = self.timeline.gap
        self._cells.forget()
        self._marks = TrafficFindings()
        self._show_from(self._filter, 0)

    def _show_from(self, wanted: TrafficFilter, floor: int) -> None:
        """Rebuild the rows for a changed filter or beginning."""
        first = max(self._gone, floor)
        finding = None
        if not wanted.shows_all:
            from mcp_progress_monitor.gui.traffic.filtering import TrafficSearch  # not at startup

            finding = TrafficSearch(wanted, self.timeline, self._requests_of, first)
        is_folded = self._folds_ticks and (finding is None or not finding.asks_for_ticks)
        self.beginResetModel()
        self._filter, self._floor, self._finding = wanted, floor, finding
        self._folded = FoldedRows(self.timeline) if is_folded else None
        self._unfolded, self._folded_to = array("q"), first
        if self._folded is not None:
            self._rows = self._folded.rows
        else:
            self._rows = self._range(first) if finding is None else array("q")
        self._shown_at = 0.0
        self.endResetModel()
        self._catch_up()

    @Slot()
    def _catch_up(self) -> None:
        """Synchronise the rows with the timeline: drop what is gone, add what is new."""
        if self._rows and self._rows[0] < self._gone:
            self._drop(0, self._gone, self._gap)
        if self._gap != self._dropped:
            self._dropped = self._gap
            self._drop(self._gap.start, self._gap.stop, self._gap)
        if self._finding is not None:
            self._search_slice(self._finding)
        elif self._folded is None:
            self._add_range()
        else:
            places = self._range(max(self._gone, self._folded_to))
            done = self._fold_slice(self._folded, places)
            self._folded_to = max(self._end, self._folded_to)
            if done < len(places):
                self._folded_to = places[done]

    def _range(self, start: int) -> range | SparseRange:
        return without(start, max(start, self._end), self._gap)

    def _add_range(self) -> None:
        rows = self._range(self._rows[0] if self._rows else max(self._gone, self._floor))
        count = len(rows) - len(self._rows)
        if count > 0:
            self.beginInsertRows(QModelIndex(), len(self._rows), len(rows) - 1)
            self._rows = rows
            self.endInsertRows()

    def _search_slice(self, finding: TrafficSearch) -> None:
        finding.run(self._end, SLICE_S)
        left = finding.left(self._gone, self._end)
        if left:
            self._slices.start()
        now = time.perf_counter()
        is_due = not left or now - self._shown_at >= _SHOWN_EVERY_S
        if is_due:
            self._shown_at = now
            found = finding.take(self._gone, self._end)
            begin, end = self._gap.start, self._gap.stop
            del found[bisect.bisect_left(found, begin) : bisect.bisect_left(found, end)]
            if self._folded is None:
                self._append(found)
            else:
                self._unfolded = array("q", self._unfolded) + found
        if self._folded is not None and self._unfolded:
            self._unfolded = self._unfolded[self._fold_slice(self._folded, self._unfolded) :]
            is_due = is_due or not self._unfolded
        if is_due:
            self.search_changed.emit(self.unsearched)

    def _fold_slice(self, folded: FoldedRows, places: Sequence[int]) -> int:
        """Fold and show as many places as a slice has time for; returns how many."""
        taken, done, until = Taken.nothing(), 0, time.perf_counter() + SLICE_S
        hidden = folded.hidden
        while done < len(places):
            folded.take(places[done : done + _FOLDED_AT_ONCE], taken)
            done += _FOLDED_AT_ONCE
            if time.perf_counter() >= until:
                break
        self._show_taken(taken, folded.hidden - hidden)
        if done < len(places):
            self._slices.start()
        return done

    @Slot()
    def _on_titles_changed(self) -> None:
        self._on_column_changed(TrafficColumn.SERVER)

    @Slot()
    def _on_notes_changed(self) -> None:
        self._on_column_changed(TrafficColumn.SUMMARY)

    def _on_column_changed(self, column: TrafficColumn) -> None:
        if self._rows:
            last = self.index(len(self._rows) - 1, column)
            self.dataChanged.emit(self.index(0, column), last)
