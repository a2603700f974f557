"""What the findings look like: rows in the colour of their level, and all of one in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QPalette, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTextEdit,
    QToolTip,
    QWidget,
)

from mcp_progress_monitor.formatting import visible
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.findings.model import FINDING, GRAVITY, IGNORED, LEVEL, RULE
from mcp_progress_monitor.gui.theme import (
    LEVEL_TONES,
    Appearance,
    Tone,
    emphasised,
    monospaced,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QHelpEvent
    from PySide6.QtWidgets import QAbstractItemView

    from mcp_progress_monitor.wording.findings import Section

_Index = QModelIndex | QPersistentModelIndex


class FindingDelegate(QStyledItemDelegate):
    """Paints level and rule in the colour of the level; what is ignored is muted."""

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        """Take the tone of the row."""
        super().initStyleOption(option, index)
        tone = Tone.TEXT
        if index.data(IGNORED):
            tone = Tone.MUTED
            option.font.setItalic(True)
        elif index.column() in (LEVEL, RULE):
            tone = LEVEL_TONES[index.data(GRAVITY)]
        palette = option.palette
        palette.setColor(QPalette.ColorRole.Text, self._appearance.colour(tone))
        option.palette = palette

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Show the whole sentence, as plain text."""
        finding = index.data(FINDING) if index.isValid() else None
        if event.type() is not QEvent.Type.ToolTip or finding is None:
            return super().helpEvent(event, view, option, index)
        QToolTip.showText(event.globalPos(), plain_tip(visible(finding.text)), view)
        return True


class SectionsView(QTextEdit):
    """Shows sections of text and code below each other; plain text, whatever a server wrote."""

    def __init__(self, appearance: Appearance, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._shown: tuple[str, tuple[Section, ...]] = ("", ())
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFrameShape(self.Shape.NoFrame)
        self.setAccessibleName(name)
        appearance.changed.connect(self._write)

    def show_sections(self, title: str, sections: Iterable[Section]) -> None:
        """Show these; the same ones stay as they are, with what is selected in them."""
        wanted = (title, tuple(sections))
        if wanted != self._shown:
            is_same = wanted[0] == self._shown[0]
            place = self.verticalScrollBar().value()
            self._shown = wanted
            self._write()
            self.verticalScrollBar().setValue(place if is_same else 0)

    def _write(self) -> None:
        title, sections = self._shown
        self.clear()
        plain, heading, code = QTextCharFormat(), QTextCharFormat(), QTextCharFormat()
        plain.setForeground(self._appearance.colour(Tone.TEXT))
        heading.setForeground(self._appearance.colour(Tone.MUTED))
        code.setForeground(self._appearance.colour(Tone.TEXT))
        code.setBackground(self._appearance.ground(Tone.TEXT, 0.06))
        code.setFont(monospaced(self.font()))
        bold = QTextCharFormat(plain)
        bold.setFont(emphasised(self.font()))
        cursor = QTextCursor(self.document())
        cursor.insertText(visible(title), bold)
        for section in sections:
            cursor.insertBlock()
            cursor.insertText(f"{section.heading}  ", heading)
            if section.is_code or "\n" in section.text:
                cursor.insertBlock()
            text = visible(section.text, keep_line_ends=True)
            cursor.insertText(text, code if section.is_code else plain)
        self.moveCursor(QTextCursor.MoveOperation.Start)
