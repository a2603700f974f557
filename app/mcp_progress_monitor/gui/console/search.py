"""Search in standard error: text or a regular expression, every hit marked."""

from __future__ import annotations

import bisect
import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import Slot
from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from mcp_progress_monitor.formatting import number, one_line
from mcp_progress_monitor.gui.common.controls import mark_invalid
from mcp_progress_monitor.gui.common.search import (
    MOST,
    SLICE_S,
    PlaceSearch,
    SearchTexts,
    search_button,
)
from mcp_progress_monitor.gui.key_table import give_keys
from mcp_progress_monitor.gui.theme import GAP_S, Appearance, Tone
from mcp_progress_monitor.timed_regex import BadPatternError, compiled_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.gui.console.view import StderrView

LINE_LIMIT_S: Final = 0.01
PATIENCE: Final = 20
"""So many lines may take the pattern longer than that; the rest is not searched then."""
HITS_IN_A_LINE: Final = 100


class LineFinder:
    """Finds places in lines.

    Raises:
        BadPatternError: `words` are to be a regular expression and are none.
    """

    def __init__(self, words: str, *, has_case: bool = False, is_pattern: bool = False) -> None:
        self.given_up = 0
        """How many lines the pattern took too long for: they count as without a hit."""
        self._is_pattern = is_pattern
        if is_pattern:
            self._pattern = compiled_pattern(words if has_case else f"(?i){words}")
        else:
            flags = 0 if has_case else re.IGNORECASE
            self._words = re.compile(re.escape(words), flags)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where the hits begin and end; at most `HITS_IN_A_LINE`, none of them empty."""
        if self.given_up >= PATIENCE:
            return []
        found: list[tuple[int, int]] = []
        try:
            for span in self._found(line):
                found.append(span)
                if len(found) >= HITS_IN_A_LINE:
                    break
        except TimeoutError:
            self.given_up += 1
            return []
        return found

    def _found(self, line: str) -> Iterator[tuple[int, int]]:
        if self._is_pattern:
            for hit in self._pattern.finditer(line, timeout=LINE_LIMIT_S):
                if hit.end() > hit.start():
                    yield hit.span()
        else:
            for match in self._words.finditer(line):
                yield match.span()


_LEAST_WIDTH: Final = 90


class SearchHit(NamedTuple):
    """Where a hit is: a line's ordinal, and from which character to which."""

    line: int
    begin: int
    end: int


class StderrSearch(PlaceSearch):
    """Searches lines in slices, including new ones, with case and regular expression options."""

    def __init__(self, view: StderrView, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(view, _words(), "stderr.", appearance, parent)
        self._view = view
        self._places: list[SearchHit] = []
        self._finder: LineFinder | None = None
        self._next_line = 0
        self._wrong = ""
        self.case = self._choice("Match case (Alt+C)", "Aa", "stderr.case")
        self.pattern = self._choice("Use regular expression (Alt+R)", ".*", "stderr.pattern")
        self._lay_out()
        self._connect()
        self._show_count()

    def state(self) -> dict[str, Any]:
        return {"case": self.case.isChecked(), "pattern": self.pattern.isChecked()}

    def restore(self, state: dict[str, Any]) -> None:
        self.case.setChecked(state.get("case") is True)
        self.pattern.setChecked(state.get("pattern") is True)

    @Slot()
    def begin(self) -> None:
        self._places = []
        self._at = -1
        self._next_line = self._view.first
        self._wrong = ""
        words = self.field.text()
        has_case, is_pattern = self.case.isChecked(), self.pattern.isChecked()
        try:
            found = LineFinder(words, has_case=has_case, is_pattern=is_pattern) if words else None
        except BadPatternError as error:
            found, self._wrong = None, one_line(str(error), 80)
        self._finder = found
        mark_invalid(self.field, self._appearance, is_wrong=bool(self._wrong))
        self._search_slice()

    def _choice(self, tip: str, words: str, command: str) -> QToolButton:
        button = search_button(tip, self)
        button.setText(words)
        button.setCheckable(True)
        give_keys(button, command)
        return button

    def _lay_out(self) -> None:
        self.field.setMinimumWidth(_LEAST_WIDTH)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP_S)
        row.addWidget(self.field, 1)
        for part in (self.case, self.pattern, self._previous, self._next, self.count):
            row.addWidget(part)

    def _connect(self) -> None:
        self.case.toggled.connect(self.begin)
        self.pattern.toggled.connect(self.begin)
        self._view.emptied.connect(self.begin)
        self._view.grown.connect(self._on_grown)
        self._view.verticalScrollBar().valueChanged.connect(self._mark)
        self._appearance.changed.connect(self._mark)

    def _search_slice(self) -> None:
        deadline = time.perf_counter() + SLICE_S
        last = self._view.first + self._view.line_count
        self._next_line = max(self._next_line, self._view.first)
        while self._finder is not None and self._next_line < last and len(self._places) < MOST:
            line = self._next_line
            spans = self._finder.spans(self._view.line(line))
            self._places += [SearchHit(line, *span) for span in spans]
            self._next_line += 1
            if time.perf_counter() >= deadline:
                break
        is_done = self._finder is None or self._next_line >= last or len(self._places) >= MOST
        if is_done:
            self._slices.stop()
        else:
            self._slices.start()
        if self._at < 0 and self._places:
            self._go_near()
        self._mark()
        self._show_count()

    def _go_near(self) -> None:
        """Go to the first place that is in sight or below, as soon as it is known."""
        top, _bottom = self._view.lines_in_sight()
        near = bisect.bisect_left(self._places, SearchHit(top, 0, 0))
        if near < len(self._places) or not self._slices.isActive():
            self._go(near if near < len(self._places) else len(self._places) - 1)

    def _go(self, to: int) -> None:
        at, gone = self._at, self._forget_gone()
        if not self._places:
            return
        if 0 <= at < gone:  # where one was is gone as well: on from the first place that is left
            to = 0 if to > at else -1
        else:
            to -= gone
        self._at = to % len(self._places)
        cursor = self._view.cursor_to(*self._places[self._at])
        cursor.setPosition(cursor.selectionStart())
        self._view.setTextCursor(cursor)
        self._view.centerCursor()
        self._mark()
        self._show_count()

    def _forget_gone(self) -> int:
        """Leave out places in lines that are not there any more; how many there were."""
        gone = bisect.bisect_left(self._places, SearchHit(self._view.first, 0, 0))
        del self._places[:gone]
        self._at = max(-1, self._at - gone)
        return gone

    @Slot()
    def _mark(self) -> None:
        if not self._places:
            self._view.mark([])
            return
        top, bottom = self._view.lines_in_sight()
        first = bisect.bisect_left(self._places, SearchHit(top, 0, 0))
        last = bisect.bisect_left(self._places, SearchHit(bottom + 1, 0, 0))
        every, chosen = QTextCharFormat(), QTextCharFormat()
        every.setBackground(self._appearance.ground(Tone.WARNING, 0.30))
        every.setForeground(self._appearance.colour(Tone.TEXT))
        chosen.setBackground(self._appearance.colour(Tone.ACCENT))
        chosen.setForeground(self._appearance.ground(Tone.TEXT, 0.0))
        self._view.mark(
            [
                (self._view.cursor_to(*self._places[at]), chosen if at == self._at else every)
                for at in range(first, last)
            ]
        )

    def _show_count(self) -> None:
        count = len(self._places)
        words = self._wrong
        if self._finder is not None and not words:
            words = "searching…" if self._slices.isActive() else "no matches"
        self._show(count, words, number(count) + ("+" if count >= MOST else ""))
        if self._finder is not None and self._finder.given_up >= PATIENCE:
            self.count.setText("search stopped: pattern too slow")

    @Slot()
    def _on_grown(self) -> None:
        if self._finder is not None:
            self._slices.start()


def _words() -> SearchTexts:
    return SearchTexts(
        inside="Search",
        name="Search standard error",
        tip=("Search standard error; F3 goes to the next match, Shift+F3 to the previous (Ctrl+F)"),
        previous="Go to the previous match (Shift+F3)",
        next="Go to the next match (F3)",
    )
