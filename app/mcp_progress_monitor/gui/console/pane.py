"""The pane of standard error: one server or all, the search, and the lines."""

from __future__ import annotations

import bisect
import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeySequence, QTextCharFormat
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from mcp_progress_monitor.formatting import number, one_line
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    mark_invalid,
    plain_tip,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.labels import ServerTitles
from mcp_progress_monitor.gui.common.layout import in_column, order_tabs
from mcp_progress_monitor.gui.common.search import (
    MOST,
    SLICE_S,
    PlaceSearch,
    SearchTexts,
    search_button,
)
from mcp_progress_monitor.gui.console.lines import LINES, StderrLines
from mcp_progress_monitor.gui.console.view import StderrView, plain_line
from mcp_progress_monitor.gui.page_commands import STDERR_CASE, STDERR_PATTERN, STDERR_SEARCH
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.timed_regex import BadPatternError, compiled_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.gui.common.commands import Command
    from mcp_progress_monitor.protocol.frames import Frame

LINE_LIMIT_S: Final = 0.01
PATIENCE: Final = 20
"""After so many lines that take the pattern longer than that, the search stops."""
HITS_IN_A_LINE: Final = 100


class LineFinder:
    """Finds matches in lines.

    Raises:
        BadPatternError: The pattern is not a valid regular expression.
    """

    def __init__(self, text: str, *, has_case: bool = False, is_pattern: bool = False) -> None:
        self.given_up = 0
        """The number of lines that took the pattern too long; they count as without a match."""
        self._is_pattern = is_pattern
        if is_pattern:
            self._pattern = compiled_pattern(text if has_case else f"(?i){text}")
        else:
            flags = 0 if has_case else re.IGNORECASE
            self._text = re.compile(re.escape(text), flags)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """The matches as begin and end; at most `HITS_IN_A_LINE`, none of them empty."""
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
            for match in self._text.finditer(line):
                yield match.span()


_LEAST_WIDTH: Final = 90


class SearchHit(NamedTuple):
    """The place of a match: a line's ordinal, and the first and last character."""

    line: int
    begin: int
    end: int


class StderrSearch(PlaceSearch):
    """Searches lines in slices, including new ones, with case and regular expression options."""

    def __init__(self, view: StderrView, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(view, _text(), STDERR_SEARCH, appearance, parent)
        self._view = view
        self._places: list[SearchHit] = []
        self._finder: LineFinder | None = None
        self._next_line = 0
        self._wrong = ""
        self.case = self._choice("Aa", STDERR_CASE, parent)
        self.pattern = self._choice(".*", STDERR_PATTERN, parent)
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
        text = self.field.text()
        has_case, is_pattern = self.case.isChecked(), self.pattern.isChecked()
        try:
            found = LineFinder(text, has_case=has_case, is_pattern=is_pattern) if text else None
        except BadPatternError as error:
            found, self._wrong = None, one_line(str(error), 80)
        self._finder = found
        mark_invalid(self.field, self._appearance, is_wrong=bool(self._wrong))
        self._search_slice()

    def _choice(self, text: str, command: Command, pane: QWidget) -> QToolButton:
        button = search_button(command.title, self)
        button.setText(text)
        button.setCheckable(True)
        KeyAction(command, pane, button.click, button)
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
        """Go to the first match in sight or below, as soon as it is known."""
        top, _bottom = self._view.lines_in_sight()
        near = bisect.bisect_left(self._places, SearchHit(top, 0, 0))
        if near < len(self._places) or not self._slices.isActive():
            self._go(near if near < len(self._places) else len(self._places) - 1)

    def _go(self, to: int) -> None:
        at, gone = self._at, self._forget_gone()
        if not self._places:
            return
        if 0 <= at < gone:  # the current match is gone: continue from the first one left
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
        """Drop matches in lines that are gone; returns their number."""
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
        text = self._wrong
        if self._finder is not None and not text:
            text = "searching…" if self._slices.isActive() else "no matches"
        self._show(count, text, number(count) + ("+" if count >= MOST else ""))
        if self._finder is not None and self._finder.given_up >= PATIENCE:
            self.count.setText("search stopped: pattern too slow")

    @Slot()
    def _on_grown(self) -> None:
        if self._finder is not None:
            self._slices.start()


def _text() -> SearchTexts:
    return SearchTexts(inside="Search", name="Search standard error", tip="Search standard error")


_NAME: Final = 40


class StderrPane(QWidget):
    """Shows the newest 10,000 lines of one server or of all; Traffic has every line in full.

    The lines of every server are kept when another one is selected or the view is cleared.
    Connections that open or close have a line of their own.
    """

    frame_opened = Signal(object)  # the number of a line's frame, to be shown in Traffic
    save_requested = Signal()  # the shown lines are to be saved; see `plain_text`

    def __init__(
        self,
        appearance: Appearance,
        parent: QWidget | None = None,
        titles: ServerTitles | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._titles = titles or ServerTitles(self)
        self._titles.changed.connect(self._on_titles_changed)
        self._lines = StderrLines()
        self.server: str | None = None
        self._cleared = -1
        self._unseen = 0
        self.text = StderrView(appearance, self._titles, self)
        self.search = StderrSearch(self.text, appearance, self)
        self.server_choice = QuietComboBox(self)
        self.times = self._button("Time", "Show the time of each line", "")
        self.clear_button = self._button(
            "Clear", "Hide the current lines without deleting them", "clear"
        )
        self.save = self._button("Save", "Save the visible lines as a text file", "save")
        self.jump = self._button("", "Jump to the newest line and follow new ones (End)", "")
        self.state_label = QLabel(self, textFormat=Qt.TextFormat.PlainText)
        self._menu = QMenu(self)
        self._set_up()
        self._lay_out()
        order_tabs(self)
        self.begins_at = self.text
        self._connect()
        self.jump.setIcon(self._appearance.icon("follow", Tone.ACCENT))
        set_text_colour(self.state_label, self._appearance, Tone.MUTED)
        self._show_servers()

    @Slot(object)
    def add_frames(self, frames: Sequence[Frame]) -> None:
        """Add lines and connection events (`Feed.stderr_added`)."""
        known = self.server_choice.count()
        added = self._lines.add(frames)
        if not added:
            return
        if len(self._lines.servers) + 1 != known:
            self._show_servers()
        if self.server is not None:
            start = f"{self.server}#"
            added = [each for each in added if each.connection.startswith(start)]
        if not self.text.is_at_end:
            self._unseen += len(added)
        self.text.add_lines(added)
        self._show_state()

    @Slot(object)
    def choose_server(self, name: str | None) -> None:
        if name != self.server:
            self.server = name
            self._show_servers()
            self._rebuild()

    @Slot()
    def clear(self) -> None:
        self._lines.clear()
        self._cleared = -1
        self._show_servers()
        self._rebuild()

    def plain_text(self) -> Callable[[], str]:
        """The shown text without colours, as a function that may run in any thread."""
        has_times, titles = self.times.isChecked(), None if self.server else self._titles
        lines = self._lines.lines(self.server, self._cleared)

        def text() -> str:
            plain = (plain_line(line, has_times=has_times, titles=titles) for line in lines)
            return "".join(f"{each}\n" for each in plain)

        return text

    def state(self) -> dict[str, Any]:
        return {**self.search.state(), "server": self.server, "times": self.times.isChecked()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore saved state; invalid parts are ignored."""
        self.search.restore(state)
        self.times.setChecked(state.get("times") is not False)
        server = state.get("server")
        self.choose_server(server if isinstance(server, str) else None)

    def _button(self, text: str, tip: str, icon: str) -> QToolButton:
        button = QToolButton(self, autoRaise=True)
        button.setText(text)
        button.setToolTip(plain_tip(tip))
        button.setAccessibleName(text or tip)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if icon:
            button.setIcon(self._appearance.icon(icon))
        return button

    def _set_up(self) -> None:
        self.text.setAccessibleName("Standard error")
        self.text.setPlaceholderText("No output on standard error yet.")
        self.text.setToolTip("")
        self.text.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        kept = f"The newest {number(LINES)} lines of each server are kept"
        self.state_label.setToolTip(plain_tip(f"{kept}; Traffic has all of them"))
        self.server_choice.setAccessibleName("Server whose standard error is shown")
        self.server_choice.setToolTip("Show the lines of one server or of all servers")
        self.times.setCheckable(True)
        self.times.setChecked(True)
        self.jump.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.jump.hide()
        self._open = QAction("Show in &Traffic", self)
        self._copy = QAction("&Copy", self, shortcutContext=Qt.ShortcutContext.WidgetShortcut)
        self._copy.setShortcut(QKeySequence.StandardKey.Copy)
        self._all = QAction("Select &all", self)
        self._menu.addActions([self._open, self._copy, self._all])

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        head.setSpacing(GAP_S)
        head.addWidget(self.server_choice)
        head.addWidget(self.times)
        head.addWidget(self.search, 1)
        for part in (self.state_label, self.jump, self.clear_button, self.save):
            head.addWidget(part)
        in_column(head, (self.text, 1), of=self, margins=0, spacing=0)

    def _connect(self) -> None:
        self.server_choice.activated.connect(self._on_server_chosen)
        self.times.toggled.connect(self._rebuild)
        self.clear_button.clicked.connect(self._on_clear)
        self.save.clicked.connect(self.save_requested)
        self.jump.clicked.connect(self._on_jump)
        self.text.frame_opened.connect(self.frame_opened)
        self.text.customContextMenuRequested.connect(self._on_menu_requested)
        self.text.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._open.triggered.connect(self.text.open_line)
        self._copy.triggered.connect(self.text.copy)
        self._all.triggered.connect(self.text.selectAll)
        self._appearance.changed.connect(self.text.recolour)

    def _show_servers(self) -> None:
        choice = self.server_choice
        names = sorted({*self._lines.servers, *([self.server] if self.server else [])})
        choice.clear()
        choice.addItem("All servers", None)
        for name in names:
            choice.addItem(self._titles.text(name), name)
        choice.setCurrentIndex(choice.findData(self.server))

    @Slot()
    def _on_titles_changed(self) -> None:
        self._show_servers()
        self._rebuild()

    @Slot()
    def _rebuild(self) -> None:
        self._unseen = 0
        self.text.has_times = self.times.isChecked()
        self.text.has_names = self.server is None
        self.text.show_lines(self._lines.lines(self.server, self._cleared))
        self._show_state()

    def _show_state(self) -> None:
        gone = self._lines.gone(self.server)
        text = f"{number(gone)} older dropped" if gone else ""
        is_cleared = self._cleared >= 0
        self.state_label.setText(text)
        self.clear_button.setText("Show all" if is_cleared else "Clear")
        style = Qt.ToolButtonStyle
        shown = style.ToolButtonTextBesideIcon if is_cleared else style.ToolButtonIconOnly
        self.clear_button.setToolButtonStyle(shown)
        self.clear_button.setToolTip(
            "Show the cleared lines again"
            if is_cleared
            else "Hide the current lines without deleting them"
        )
        self._show_jump()

    def _show_jump(self) -> None:
        new = f"{number(self._unseen)} new"
        self.jump.setText(new if self._unseen else "Newest")
        self.jump.setVisible(not self.text.is_at_end)

    @Slot(int)
    def _on_server_chosen(self, place: int) -> None:
        self.choose_server(self.server_choice.itemData(place))

    @Slot()
    def _on_clear(self) -> None:
        self._cleared = -1 if self._cleared >= 0 else self._lines.newest()
        self._rebuild()

    @Slot()
    def _on_jump(self) -> None:
        self.text.follow()
        self.text.setFocus()

    @Slot()
    def _on_scrolled(self) -> None:
        if self.text.is_at_end:
            self._unseen = 0
        self._show_jump()

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        cursor = self.text.textCursor()
        if not cursor.hasSelection():
            self.text.setTextCursor(self.text.cursorForPosition(place))
        self._copy.setEnabled(cursor.hasSelection())
        self._menu.popup(self.text.viewport().mapToGlobal(place))
