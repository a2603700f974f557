"""The lines of standard error: written in slices, in readable terminal colours."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from mcp_progress_monitor.formatting import clock
from mcp_progress_monitor.gui.console.lines import LINES, life_line
from mcp_progress_monitor.gui.theme import Appearance, Tone, contrast, mixed, monospaced
from mcp_progress_monitor.protocol.frames import Channel, server_name
from mcp_progress_monitor.wording.ansi import PLAIN, Style, plain, runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent

    from mcp_progress_monitor.gui.common.labels import ServerTitles
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.wording.ansi import Colour

LEAST_CONTRAST: Final = 4.5  # WCAG 2.2, 1.4.3
_STEPS: Final = 10
_DIMMED: Final = 0.45
_REMEMBERED: Final = 2_000
_SIXTEEN: Final = (
    *("#202020", "#c4282f", "#1f8a4c", "#a86a00", "#2f6fd0", "#9a3fb5", "#11808f", "#c8c8c8"),
    *("#707070", "#e5484d", "#30a46c", "#d69a1c", "#5b93ea", "#bf6bd8", "#2ba9b8", "#f4f4f4"),
)
"""Black, red, green, yellow, blue, magenta, cyan, white; then the same, brighter."""
_BOLD: Final = QFont.Weight.DemiBold


class StderrColours:
    """Caches one text format for each style and keeps the text readable in any colour."""

    def __init__(self, appearance: Appearance) -> None:
        self._appearance = appearance
        self._formats: dict[Style, QTextCharFormat] = {}

    def forget(self) -> None:
        self._formats.clear()

    def format(self, style: Style) -> QTextCharFormat:
        made = self._formats.get(style)
        if made is None:
            if len(self._formats) >= _REMEMBERED:
                self._formats.clear()
            made = self._formats[style] = self._made(style)
        return made

    def toned(self, tone: Tone) -> QTextCharFormat:
        made = QTextCharFormat()
        made.setForeground(self._appearance.colour(tone))
        return made

    def _made(self, style: Style) -> QTextCharFormat:
        ink, ground = self._pair(style)
        made = QTextCharFormat()
        made.setForeground(ink)
        if ground is not None:
            made.setBackground(ground)
        if style.is_bold:
            made.setFontWeight(_BOLD)
        made.setFontItalic(style.is_italic)
        made.setFontUnderline(style.is_underlined)
        made.setFontStrikeOut(style.is_struck)
        return made

    def _pair(self, style: Style) -> tuple[QColor, QColor | None]:
        """The text and background colours; None is the view's own background."""
        base, text = self._appearance.ground(Tone.TEXT, 0.0), self._appearance.colour(Tone.TEXT)
        ink, ground = _colour(style.foreground), _colour(style.background)
        wanted = text if ink is None else ink
        behind = base if ground is None else ground
        if style.is_reversed:
            wanted, behind = behind, wanted
            ground = behind
        if style.is_dim:
            wanted = mixed(wanted, behind, _DIMMED)
        return _readable(wanted, behind), ground


def _colour(colour: Colour | None) -> QColor | None:
    if colour is None:
        return None
    return QColor(_SIXTEEN[colour]) if isinstance(colour, int) else QColor(*colour)


def _readable(ink: QColor, ground: QColor) -> QColor:
    """`ink`, moved towards black or white until it is readable on `ground`."""
    ends = QColor("#000000"), QColor("#ffffff")
    end = max(ends, key=lambda one: contrast(one, ground))
    for step in range(_STEPS + 1):
        moved = mixed(ink, end, step / _STEPS)
        if contrast(moved, ground) >= LEAST_CONTRAST:
            return moved
    return end


SLICE: Final = 200
"""Lines inserted at once: a few milliseconds, while 10,000 take more than a tenth of a second."""
_SLICE_BYTES: Final = 32 * 1024  # the limit in bytes, for long lines: 200 of 8 KB each took 170 ms
_SLICE_PAUSE_MS: Final = 15
_NAME: Final = 24


class StderrView(QPlainTextEdit):
    """The newest 10,000 lines; follows the end while the end is visible.

    Lines are queued and inserted in slices, only while the view is visible: a flood costs a hidden
    pane almost nothing. A line's colours carry over to the next line of the same connection, as in
    a terminal.
    """

    painted = Signal()
    grown = Signal()  # lines were inserted
    emptied = Signal()
    frame_opened = Signal(object)  # the number of a line's frame: double click or Enter

    def __init__(self, appearance: Appearance, titles: ServerTitles, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._titles = titles
        self._colours = StderrColours(appearance)
        self._waiting: collections.deque[Frame] = collections.deque(maxlen=LINES)
        self._written: collections.deque[Frame] = collections.deque(maxlen=LINES)
        self._styles: dict[str, Style] = {}
        self._count = 0
        self.has_times = True
        self.has_names = True
        self._slices = QTimer(self, interval=_SLICE_PAUSE_MS)
        self._slices.timeout.connect(self._on_slice_due)
        self._set_up()
        self.painted.connect(self._write_if_seen)
        self._follows, self._is_writing = True, False
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.verticalScrollBar().rangeChanged.connect(self._on_room_changed)

    @property
    def unwritten(self) -> int:
        return len(self._waiting)

    @property
    def first(self) -> int:
        """The ordinal of the first line; lines are counted since the last `show_lines`."""
        return self._count - len(self._written)

    @property
    def line_count(self) -> int:
        return len(self._written)

    @property
    def is_at_end(self) -> bool:
        """True if the last line is visible."""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum()

    def show_lines(self, lines: Iterable[Frame]) -> None:
        self._restart()
        self._waiting.clear()
        self.add_lines(lines)

    def add_lines(self, lines: Iterable[Frame]) -> None:
        self._waiting.extend(lines)
        self._write_if_seen()

    def line(self, ordinal: int) -> str:
        """The text of a line; empty when it is gone."""
        return self.document().findBlockByNumber(ordinal - self.first).text()

    def number_of(self, block: int) -> int | None:
        """The frame number of a line, counted from the first one present."""
        return self._written[block].number if 0 <= block < len(self._written) else None

    def cursor_to(self, ordinal: int, begin: int, end: int) -> QTextCursor:
        block = self.document().findBlockByNumber(ordinal - self.first)
        cursor = QTextCursor(block)
        if block.isValid():
            cursor.setPosition(block.position() + begin)
            cursor.setPosition(block.position() + end, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def lines_in_sight(self) -> tuple[int, int]:
        top = self.firstVisibleBlock().blockNumber()
        high = self.cursorForPosition(self.viewport().rect().bottomLeft()).blockNumber()
        return self.first + top, self.first + high

    def mark(self, places: Sequence[tuple[QTextCursor, QTextCharFormat]]) -> None:
        marked = []
        for cursor, form in places:
            selection = QTextEdit.ExtraSelection()
            selection.cursor, selection.format = cursor, form
            marked.append(selection)
        self.setExtraSelections(marked)

    @Slot()
    def follow(self) -> None:
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    @Slot()
    def recolour(self) -> None:
        self._colours.forget()
        self.show_lines([*self._written, *self._waiting])

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint and emit `painted`: nothing else tells that a pane has come to the front."""
        super().paintEvent(event)
        self.painted.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Open the line's frame; the word is selected as usual."""
        super().mouseDoubleClickEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self.open_line()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open the frame of the current line on Enter."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_line()
        else:
            super().keyPressEvent(event)

    @Slot()
    def open_line(self) -> None:
        number = self.number_of(self.textCursor().blockNumber())
        if number is not None:
            self.frame_opened.emit(number)

    def _set_up(self) -> None:
        self.setReadOnly(True)
        self.setMaximumBlockCount(LINES)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(monospaced(self.font()))
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )

    def _restart(self) -> None:
        self.clear()
        self._written.clear()
        self._styles.clear()
        self._count = 0
        self.emptied.emit()

    @Slot()
    def _write_if_seen(self) -> None:
        """Start inserting queued lines if any part is visible: a pane behind another tab is not."""
        if self._waiting and not self.viewport().visibleRegion().isEmpty():
            self._slices.start()

    @Slot()
    def _on_scrolled(self) -> None:
        self._follows = self.is_at_end

    @Slot()
    def _on_room_changed(self) -> None:
        """Stay at the end when the scroll bar or the pane's height takes lines away."""
        if self._follows and not self._is_writing:
            self.follow()

    @Slot()
    def _on_slice_due(self) -> None:
        if len(self._waiting) >= LINES and self._written:
            self._restart()  # none of its lines would remain
        lines: list[Frame] = []
        room = _SLICE_BYTES
        while self._waiting and len(lines) < SLICE and room > 0:
            lines.append(self._waiting.popleft())
            room -= len(lines[-1].raw)
        if lines:
            self._write(lines)
        if not self._waiting or self.viewport().visibleRegion().isEmpty():
            self._slices.stop()

    def _write(self, lines: Sequence[Frame]) -> None:
        was_at_end, bar = self.is_at_end, self.verticalScrollBar()
        surplus = max(0, len(self._written) + len(lines) - LINES)
        place = bar.value() - surplus
        self._is_writing = True
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        for frame in lines:
            if self._written:
                cursor.insertBlock()
            self._written.append(frame)
            self._write_line(cursor, frame)
        cursor.endEditBlock()
        self._count += len(lines)
        self._is_writing = False
        bar.setValue(bar.maximum() if was_at_end else max(0, place))
        self._follows = was_at_end
        self.grown.emit()

    def _write_line(self, cursor: QTextCursor, frame: Frame) -> None:
        muted = self._colours.toned(Tone.MUTED)
        if frame.channel is Channel.EVENT:
            self._styles.pop(frame.connection, None)
            line = life_line(frame)
            own = self._colours.toned(Tone.BAD) if line.is_bad else muted
            room = " " * len(f"{clock(frame.when)}  ") if self.has_times else ""
            name = self._name(frame) if self.has_names else ""
            cursor.insertText(f"{room}{name}{line.text}", own)
            return
        cursor.insertText(self._head(frame), muted)
        style = self._styles.get(frame.connection, PLAIN)
        found, style = runs(_text(frame), style)
        self._styles[frame.connection] = style
        for run in found:
            cursor.insertText(run.text, self._colours.format(run.style))

    def _head(self, frame: Frame) -> str:
        time = f"{clock(frame.when)}  " if self.has_times else ""
        return f"{time}{self._name(frame)}" if self.has_names else time

    def _name(self, frame: Frame) -> str:
        return f"{self._titles.text(server_name(frame.connection))}  "


def plain_line(frame: Frame, *, has_times: bool, titles: ServerTitles | None) -> str:
    """A line as it is saved: without colours; with `titles`, the server is named."""
    name = "" if titles is None else f"{titles.text(server_name(frame.connection))}  "
    if frame.channel is Channel.EVENT:
        return f"{name}{life_line(frame).text}"
    time = f"{clock(frame.when)}  " if has_times else ""
    return f"{time}{name}{plain(_text(frame))}"


def _text(frame: Frame) -> str:
    return frame.raw.decode(errors="backslashreplace")
