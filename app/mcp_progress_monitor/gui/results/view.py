"""A job's reply, part by part: each can be looked at, copied, saved and, if harmless, opened."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeAlias

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QWidget,
)

from mcp_progress_monitor.gui.common.commands import CommandActions, CommandButton
from mcp_progress_monitor.gui.common.controls import ElidedLabel
from mcp_progress_monitor.gui.common.image_view import ImageView
from mcp_progress_monitor.gui.common.json_view import JsonPage
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.common.raw_view import RawView
from mcp_progress_monitor.gui.common.tables import RowKeys, dress_rows
from mcp_progress_monitor.gui.results.audio import AudioView
from mcp_progress_monitor.gui.results.commands import RESULT_COMMANDS, ShownPart
from mcp_progress_monitor.gui.results.markdown import MarkdownView, may_be_rendered
from mcp_progress_monitor.gui.results.table import COLUMNS, ROWS, RowsTable
from mcp_progress_monitor.gui.theme import GAP, GAP_L, GAP_S, Appearance, Tone
from mcp_progress_monitor.protocol.large_reply import is_outlined, with_content
from mcp_progress_monitor.wording.results import PartKind, ResultPart, content_parts, parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent

    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered
    from mcp_progress_monitor.protocol.outline import Slices
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


RawOf: TypeAlias = "Callable[[int], bytes | None]"
"""Returns the bytes of the message with a number; None if it is gone."""
_SLICE_S: Final = 0.008


def no_raw(_number: int) -> None:
    return None


class ResultView(QWidget):
    """The parts on the left, the selected one on the right; only that one is decoded."""

    search_requested = Signal(object)  # text to search Traffic for
    link_clicked = Signal(str)  # the address of a link in a rendered text

    def __init__(
        self,
        appearance: Appearance,
        commands: Commands,
        parent: QWidget | None = None,
        raw_of: RawOf = no_raw,
    ) -> None:
        super().__init__(parent)
        self._raw_of = raw_of
        self._appearance = appearance
        self._answer: RequestAnswered | None = None
        self._raw: bytes | None = None
        self._is_raw_read = False
        self._server = ""
        self._parts: list[ResultPart] = []
        self._reading: Slices[JsonObject] | None = None
        self._slices = QTimer(self, interval=0)
        self._slices.timeout.connect(self._read_slice)
        self.list = QListWidget(self)
        self.on_parts: Final = CommandActions(
            RESULT_COMMANDS, commands, self.list, appearance, self._chosen
        )
        self._menu = QMenu(self)
        self._set_up_list()
        self._note = QLabel(self)
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._note.setWordWrap(True)
        self._note.setMargin(GAP_L)
        self._note.setBackgroundRole(QPalette.ColorRole.Base)
        self._note.setAutoFillBackground(True)
        self.text = RawView(appearance, self)
        self.rendered = MarkdownView(appearance, self)
        self.rendered.link_clicked.connect(self.link_clicked)
        self.image = ImageView(appearance, self)
        self.audio = AudioView(appearance, self)
        self.table = RowsTable(self)
        self.tree = JsonPage(appearance, "Result as a tree", self)
        self.tree.search_requested.connect(self.search_requested)
        self._shown = QStackedWidget(self)
        pages = (self._note, self.text, self.rendered, self.image, self.audio, self.table)
        for view in (*pages, self.tree):
            self._shown.addWidget(view)
        self.about: Final = ElidedLabel(self)
        self.about.describe("Type and size")
        self.markdown: Final = self._make_render_button()
        self.buttons: Final = {
            each.id: CommandButton(each, self.on_parts, self) for each in RESULT_COMMANDS
        }
        self._lay_out()

    def show_result(self, job: JobSnapshot, answer: RequestAnswered | None) -> None:
        """Show `answer`, or why there is none; does nothing if it is already shown."""
        if answer is not None and answer is self._answer:
            return
        self._answer = answer
        self._server = job.server
        self._reading = self._raw = None
        self._is_raw_read = False
        self._slices.stop()
        self._show_parts([] if answer is None else parts(answer))
        if answer is None:
            self._note.setText(self._why_none(job))
            self._shown.setCurrentWidget(self._note)
        elif answer.result is not None and is_outlined(answer.result):
            self._read_content(answer.result)

    @property
    def note(self) -> str:
        """Return the reason why there is no result."""
        return self._note.text()

    @property
    def is_reading(self) -> bool:
        """True while the content of a large reply is being read."""
        return self._reading is not None

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop the sound: its controls are gone."""
        super().hideEvent(event)
        self.audio.stop()

    def _set_up_list(self) -> None:
        dress_rows(self.list)
        self.list.setFrameShape(self.list.Shape.NoFrame)
        side = self.fontMetrics().height()
        self.list.setSpacing(1)
        self.list.setIconSize(QSize(side, side))
        self.list.setAccessibleName("Parts of the result")
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        RowKeys(self.list)
        self.list.customContextMenuRequested.connect(self._on_menu_requested)
        self.list.currentRowChanged.connect(self._on_part_chosen)

    def _make_render_button(self) -> QToolButton:
        button = QToolButton(self)
        button.setText("Rendered")
        button.setToolTip("Render the text as Markdown; nothing is fetched")
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.toggled.connect(self._on_rendered)
        return button

    def _lay_out(self) -> None:
        right = QWidget(self)
        self._bar = QWidget(right)
        row = (GAP, GAP_S, GAP_S, GAP_S)
        buttons = (self.markdown, *self.buttons.values())
        in_row((self.about, 1), *buttons, of=self._bar, margins=row, spacing=GAP_S)
        in_column(self._bar, (self._shown, 1), of=right, margins=0, spacing=0)
        halves = QSplitter(self)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self.list)
        halves.addWidget(right)
        halves.setStretchFactor(1, 1)
        halves.setSizes([170, 600])
        in_column(halves, of=self, margins=0)

    def _show_parts(self, found: list[ResultPart]) -> None:
        self._parts = found
        self.list.setVisible(len(found) > 1)
        self._bar.setVisible(bool(found))
        self.list.clear()
        for part in found:
            icon = self._appearance.icon(_ICONS[part.kind], Tone.MUTED)
            if part.is_error:
                icon = self._appearance.icon("state-failed", Tone.BAD)
            self.list.addItem(QListWidgetItem(icon, part.title))
        if found:
            self.list.setCurrentRow(0)

    def _why_none(self, job: JobSnapshot) -> str:
        if not job.state.is_over:
            return "No reply yet."
        return "The job ended without a reply."

    def _chosen(self) -> list[ShownPart]:
        row = self.list.currentRow()
        found = self._parts[row : row + 1] if row >= 0 else []
        return [ShownPart(part, self._server) for part in found]

    # Large replies

    def _raw_reply(self) -> bytes | None:
        """The bytes of the reply, which are read once."""
        if self._answer is not None and not self._is_raw_read:
            self._is_raw_read = True
            self._raw = self._raw_of(self._answer.number)
        return self._raw

    def _read_content(self, result: JsonObject) -> None:
        raw = self._raw_reply()
        if raw is not None:
            self._reading = with_content(result, raw)
            self._slices.start()

    @Slot()
    def _read_slice(self) -> None:
        """Read on for some milliseconds; show the parts when all are read."""
        deadline = time.perf_counter() + _SLICE_S
        try:
            while self._reading is not None and time.perf_counter() < deadline:
                next(self._reading)
        except StopIteration as stop:
            self._reading = None
            if self._answer is not None:
                whole = self._parts[-1:]  # its tree stays an outline, above the bytes
                self._show_parts([*content_parts(stop.value), *whole])
        if self._reading is None:
            self._slices.stop()

    # The chosen part

    @Slot(int)
    def _on_part_chosen(self, row: int) -> None:
        self.audio.stop()
        if not 0 <= row < len(self._parts):
            return
        part = self._parts[row]
        self.markdown.setVisible(part.is_prose and may_be_rendered(part.value))
        self.about.set_text(_about(part))
        for button in self.buttons.values():
            button.show_for(ShownPart(part, self._server))
        self.on_parts.refresh()
        self._show_part(part)

    def _show_part(self, part: ResultPart) -> None:
        page: QWidget = self.text
        if part.kind is PartKind.IMAGE:
            self.image.show_base64(part.value)
            page = self.image
        elif part.kind is PartKind.AUDIO:
            self.audio.show_part(part)
            page = self.audio
        elif part.kind is PartKind.TABLE:
            self.table.show_rows(part.value)
            page = self.table
        elif part.kind is PartKind.JSON:
            self.tree.show_value(part.value, self._raw_reply)
            page = self.tree
        elif self.markdown.isChecked() and not self.markdown.isHidden():
            self.rendered.show_markdown(part.value)
            page = self.rendered
        else:
            self._show_text(part)
        self._shown.setCurrentWidget(page)

    def _show_text(self, part: ResultPart) -> None:
        """Show a text, or the bytes of what is none, as far as these can be decoded."""
        if part.kind is PartKind.DATA:
            try:
                self.text.show_bytes(part.content())
            except ValueError as error:
                self.text.show_bytes(str(error).encode())
        else:
            self.text.show_bytes(part.value.encode("utf-8", "surrogatepass"), keep_lines=True)

    @Slot(bool)
    def _on_rendered(self, _is_on: bool) -> None:
        for shown in self._chosen():
            self._show_part(shown.part)

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        self.on_parts.fill(self._menu, [RESULT_COMMANDS])
        self._menu.popup(self.list.viewport().mapToGlobal(place))


_ICONS: Final = {
    PartKind.TEXT: "text",
    PartKind.IMAGE: "image",
    PartKind.AUDIO: "sound",
    PartKind.TABLE: "table",
    PartKind.LINK: "link",
    PartKind.DATA: "data",
    PartKind.JSON: "json",
}


def _about(part: ResultPart) -> str:
    """Type and size of a part, and what of a table is not shown."""
    if part.kind is not PartKind.TABLE or (
        len(part.value) <= ROWS and max(map(len, part.value), default=0) <= COLUMNS
    ):
        return part.about
    return f"{part.about}, shown up to {ROWS:,} rows and {COLUMNS} columns"
