"""A job's reply, part by part: texts, images, structured values, errors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QLabel,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QStackedWidget,
    QWidget,
)

from mcp_progress_monitor.gui.common.image_view import ImageView
from mcp_progress_monitor.gui.common.json_view import JsonPage
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.common.raw_view import RawView
from mcp_progress_monitor.gui.common.tables import dress_rows
from mcp_progress_monitor.gui.theme import GAP_L, Appearance, Tone
from mcp_progress_monitor.wording.content import PartKind, ResultPart, parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import RequestAnswered
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


RawOf: TypeAlias = "Callable[[int], bytes | None]"
"""Returns the bytes of the message with a number; None if it is gone."""


def no_raw(_number: int) -> None:
    return None


class ResultView(QWidget):
    """The parts on the left, the selected one on the right; only that one is decoded."""

    search_requested = Signal(object)  # text to search Traffic for

    def __init__(
        self, appearance: Appearance, parent: QWidget | None = None, raw_of: RawOf = no_raw
    ) -> None:
        super().__init__(parent)
        self._raw_of = raw_of
        self._appearance = appearance
        self._answer: RequestAnswered | None = None
        self._parts: list[ResultPart] = []
        self.list = QListWidget(self)
        dress_rows(self.list)
        self.list.setFrameShape(self.list.Shape.NoFrame)
        side = self.fontMetrics().height()
        self.list.setSpacing(1)
        self.list.setIconSize(QSize(side, side))
        self.list.setAccessibleName("Parts of the result")
        self.list.currentRowChanged.connect(self._on_part_chosen)
        self._note = QLabel(self)
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._note.setWordWrap(True)
        self._note.setMargin(GAP_L)
        self._note.setBackgroundRole(QPalette.ColorRole.Base)
        self._note.setAutoFillBackground(True)
        self.text = RawView(appearance, self)
        self.image = ImageView(appearance, self)
        self.tree = JsonPage(appearance, "Result as a tree", self)
        self.tree.search_requested.connect(self.search_requested)
        self._shown = QStackedWidget(self)
        for view in (self._note, self.text, self.image, self.tree):
            self._shown.addWidget(view)
        self._lay_out()

    def show_result(self, job: JobSnapshot, answer: RequestAnswered | None) -> None:
        """Show `answer`, or why there is none; does nothing if it is already shown."""
        if answer is not None and answer is self._answer:
            return
        self._answer = answer
        self._parts = [] if answer is None else parts(answer)
        self.list.setVisible(len(self._parts) > 1)
        self._fill()
        if answer is None:
            self._note.setText(self._why_none(job))
            self._shown.setCurrentWidget(self._note)
        else:
            self.list.setCurrentRow(0)

    @property
    def note(self) -> str:
        """Why there is no result."""
        return self._note.text()

    def _lay_out(self) -> None:
        halves = QSplitter(self)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self.list)
        halves.addWidget(self._shown)
        halves.setStretchFactor(1, 1)
        halves.setSizes([170, 600])
        in_column(halves, of=self, margins=0)

    def _fill(self) -> None:
        self.list.clear()
        icons = {PartKind.TEXT: "text", PartKind.IMAGE: "image", PartKind.JSON: "json"}
        for part in self._parts:
            icon = self._appearance.icon(icons[part.kind], Tone.MUTED)
            if part.is_error:
                icon = self._appearance.icon("state-failed", Tone.BAD)
            item = QListWidgetItem(icon, part.title)
            self.list.addItem(item)

    def _why_none(self, job: JobSnapshot) -> str:
        if not job.state.is_over:
            return "No reply yet."
        return "The job ended without a reply."

    @Slot(int)
    def _on_part_chosen(self, row: int) -> None:
        if not 0 <= row < len(self._parts):
            return
        part = self._parts[row]
        if part.kind is PartKind.TEXT:
            self.text.show_bytes(part.value.encode("utf-8", "surrogatepass"), keep_lines=True)
            self._shown.setCurrentWidget(self.text)
        elif part.kind is PartKind.IMAGE:
            self.image.show_base64(part.value)
            self._shown.setCurrentWidget(self.image)
        else:
            answer = self._answer
            number = 0 if answer is None else answer.number
            self.tree.show_value(part.value, partial(self._raw_of, number))
            self._shown.setCurrentWidget(self.tree)
