"""What a model is asked: the messages in order, and what is wished of the answer beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from mcp_progress_monitor import text
from mcp_progress_monitor.models.json_text import pretty
from mcp_progress_monitor.models.result_parts import PartKind
from mcp_progress_monitor.models.sampling import messages, wishes
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance, Tone, emphasised
from mcp_progress_monitor.widgets.image_view import ImageView
from mcp_progress_monitor.widgets.schema_field import plain_label, set_text_colour

if TYPE_CHECKING:
    from mcp_progress_monitor.models.result_parts import ResultPart
    from mcp_progress_monitor.protocol.facts import JsonObject

_SHOWN: Final = 20_000
"""Characters of one part; the job's request has the whole."""
_IMAGES_AT_MOST: Final = 8
_THUMBNAIL: Final = 160  # pixels


class ConversationView(QScrollArea):
    """Plain text and thumbnails from top to bottom; roles in words."""

    def __init__(
        self, params: JsonObject, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._images = 0
        page = QWidget(self)
        self._column = QVBoxLayout(page)
        self._column.setContentsMargins(GAP, GAP_S, GAP, GAP_S)
        self._column.setSpacing(GAP_S)
        for message in messages(params):
            self._add_heading(message.role or self.tr("Message"))
            for part in message.parts:
                self._add_part(part)
        for name, words in wishes(params):
            self._add_heading(name)
            self._add_words(words, Tone.TEXT)
        self._column.addStretch(1)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("What the model is asked"))

    def words(self) -> str:
        """All that is written here, in order."""
        return "\n".join(label.text() for label in self.findChildren(QLabel))

    def _add_heading(self, words: str) -> None:
        label = plain_label(self, words)
        label.setFont(emphasised(label.font()))
        set_text_colour(label, self._appearance, Tone.MUTED)
        self._column.addWidget(label)

    def _add_part(self, part: ResultPart) -> None:
        if part.kind is PartKind.IMAGE:
            self._add_image(part.value)
            return
        is_text = part.kind is PartKind.TEXT
        words = part.value if is_text else f"{part.title}\n{pretty(part.value)}"
        self._add_words(words, Tone.BAD if part.is_error else Tone.TEXT)

    def _add_words(self, words: str, tone: Tone) -> None:
        shown = text.visible(text.elide(words, _SHOWN), keep_line_ends=True)
        label = plain_label(self, shown)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_text_colour(label, self._appearance, tone)
        self._column.addWidget(label)

    def _add_image(self, encoded: str) -> None:
        """A thumbnail; of the many images there may be, the first few are decoded."""
        self._images += 1
        if self._images > _IMAGES_AT_MOST:
            self._add_words(self.tr("An image more, which is not shown here."), Tone.MUTED)
            return
        view = ImageView(self._appearance, self)
        view.show_base64(encoded)
        view.shrink(_THUMBNAIL)
        view.setFixedHeight(_THUMBNAIL if not view.image.isNull() else 40)
        self._column.addWidget(view)
