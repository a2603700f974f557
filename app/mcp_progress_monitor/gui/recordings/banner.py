"""A line above a recording: its file, date, length, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from PySide6.QtGui import QResizeEvent

    from mcp_progress_monitor.errors import ErrorDetails

_ICON: Final = 16


class RecordingBanner(QWidget):
    """Names the recording and shows its first error; the button shows all errors."""

    problems_opened = Signal(object)  # `tuple[ErrorDetails, ...]`: the user wants to read them

    def __init__(self, path: Path, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._appearance = appearance
        self._problems: tuple[ErrorDetails, ...] = ()
        self._said = ""
        self._icon = QLabel(self)
        self._file = self._label("Recording")
        self._warning = QLabel(self)
        self._what = self._label("Errors in the recording")
        self.details = QPushButton(self)
        self.details.setToolTip("Show the errors in this recording")
        self.details.clicked.connect(self._on_details_clicked)
        self._lay_out()
        self.show_problems(())
        self._recolour()
        appearance.changed.connect(self._recolour)

    def show_facts(self, begun_when: float | None, length_s: float, size: int) -> None:
        """Show the file's name with its date, its length and its size in bytes."""
        self._said = " · ".join(
            (
                formatting.one_line(self._path.name),
                "date unknown" if begun_when is None else _date(begun_when),
                formatting.duration(length_s),
                formatting.size(size),
                "read-only",
            )
        )
        self._file.setToolTip(plain_tip(formatting.one_line(str(self._path), 1000)))
        self._elide()

    def show_problems(self, problems: Sequence[ErrorDetails]) -> None:
        """Show errors; hidden without any."""
        self._problems = tuple(problems)
        for part in (self._warning, self._what, self.details):
            part.setVisible(bool(problems))
        more = len(problems) - 1
        self.details.setText("Details" if more < 1 else f"Details ({more} more)")
        self._elide()

    @property
    def problems(self) -> tuple[ErrorDetails, ...]:
        return self._problems

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _label(self, name: str) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAccessibleDescription(name)
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        label.setMinimumWidth(40)
        return label

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(GAP, GAP_S, GAP, GAP_S // 2)
        row.setSpacing(GAP_S)
        row.addWidget(self._icon)
        row.addWidget(self._file, 3)
        row.addWidget(self._warning)
        row.addWidget(self._what, 2)
        row.addWidget(self.details)

    def _elide(self) -> None:
        _put(self._file, self._said, Qt.TextElideMode.ElideMiddle)
        what = formatting.one_line(self._problems[0].what) if self._problems else ""
        _put(self._what, what, Qt.TextElideMode.ElideRight)
        self._what.setToolTip(plain_tip(what))

    @Slot()
    def _recolour(self) -> None:
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(self._appearance.pixmap("log", Tone.MUTED, _ICON, ratio))
        self._warning.setPixmap(self._appearance.pixmap("warning", Tone.WARNING, _ICON, ratio))
        palette = self._what.palette()
        colour = self._appearance.colour(Tone.WARNING)
        palette.setColor(QPalette.ColorRole.WindowText, colour)
        self._what.setPalette(palette)

    @Slot()
    def _on_details_clicked(self) -> None:
        self.problems_opened.emit(self._problems)


def _put(label: QLabel, words: str, mode: Qt.TextElideMode) -> None:
    label.setText(label.fontMetrics().elidedText(words, mode, label.width()))
    label.setAccessibleDescription(words)


def _date(when: float) -> str:
    """Date and time of day, in whole seconds."""
    return formatting.date_and_clock(when)[:19]
