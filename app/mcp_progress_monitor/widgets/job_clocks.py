"""The clocks of a running call: how long it is still waited for, with what moves that on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from mcp_progress_monitor.models.clocks import NEAR_S, limit_words
from mcp_progress_monitor.sessions.limits import Limit, Limits
from mcp_progress_monitor.widgets.appearance import GAP, GAP_L, GAP_S, Appearance, Tone
from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.call_clock import Clocks

_MINUTE_S: Final = 60
_KEYS: Final = {Limit.IDLE: "F8", Limit.TOTAL: "F9"}
_LEAST_WORDS: Final = 48
_SPARE_S: Final = 60.0
"""What is left at least on a clock that is switched on again: nobody wants the call ended by it."""


class JobClocks(QWidget):
    """Both clocks in a line; hidden while there are none, as for a job that is over or recorded."""

    extension_wanted = Signal(object)
    """`Limits` with the seconds to add to each."""
    limits_wanted = Signal(object)
    """`Limits` to hold from now on."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._limits = Limits()
        self.idle = ClockLine(Limit.IDLE, appearance, self)
        self.total = ClockLine(Limit.TOTAL, appearance, self)
        self.note = QLabel(self)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP_L)
        row.addWidget(self.idle)
        row.addWidget(self.total)
        row.addWidget(self.note, 1)
        for line in (self.idle, self.total):
            line.more_wanted.connect(self._on_more_wanted)
            line.limit_wanted.connect(self._on_limit_wanted)
        self.hide()

    def show_clocks(
        self, clocks: Clocks | None, silent_s: float = 0.0, in_all_s: float = 0.0
    ) -> None:
        """Show how much is left; what has run so far is for clocks that are switched on again."""
        self.setVisible(clocks is not None)
        if clocks is None:
            return
        self._limits = Limits(clocks.idle_s, clocks.total_s)
        self.idle.show_left(clocks.idle_s, clocks.idle_left_s, silent_s)
        self.total.show_left(clocks.total_s, clocks.total_left_s, in_all_s)
        words = self.tr("paused while a question is open") if clocks.is_suspended else ""
        self.note.setText(words)
        self.note.setToolTip(plain_tip(words))

    def forget(self) -> None:
        """Another job is shown from now on: what was switched off was not its clock."""
        self.idle.forget()
        self.total.forget()

    @Slot(object, int)
    def _on_more_wanted(self, limit: Limit, seconds: int) -> None:
        is_idle = limit is Limit.IDLE
        self.extension_wanted.emit(Limits(seconds if is_idle else 0, 0 if is_idle else seconds))

    @Slot(object, object)
    def _on_limit_wanted(self, limit: Limit, seconds: float | None) -> None:
        is_idle = limit is Limit.IDLE
        changed = {"idle_s": seconds} if is_idle else {"total_s": seconds}
        self.limits_wanted.emit(self._limits._replace(**changed))


class ClockLine(QWidget):
    """One clock: what is left in words, and buttons to add to it or to switch it off and on."""

    more_wanted = Signal(object, int)
    """`Limit` and the seconds to add."""
    limit_wanted = Signal(object, object)
    """`Limit` and its seconds from now on; None is off."""

    def __init__(self, limit: Limit, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._limit = limit
        self._appearance = appearance
        self._seconds: float | None = None
        self._before: float | None = None
        self._run_s = 0.0
        name = self.tr("idle limit") if limit is Limit.IDLE else self.tr("total limit")
        self.words = QLabel(self)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setAccessibleName(name)
        self.words.setMinimumWidth(_LEAST_WORDS)  # read in its tip where the pane is narrow
        key = _KEYS[limit]
        one, ten = self.tr("{} later by 1 minute"), self.tr("{} later by 10 minutes")
        self.one = self._button(self.tr("+1 min"), one.format(_first_large(name)), key)
        self.ten = self._button(self.tr("+10 min"), ten.format(_first_large(name)), f"Shift+{key}")
        self.off = self._button(self.tr("Off"), self.tr("No {}").format(name), f"Ctrl+{key}")
        self.off.setCheckable(True)
        self.one.clicked.connect(self._on_one_clicked)
        self.ten.clicked.connect(self._on_ten_clicked)
        self.off.clicked.connect(self._on_off_clicked)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP_S)
        row.addWidget(self.words)
        row.addSpacing(GAP - GAP_S)
        for button in (self.one, self.ten, self.off):
            row.addWidget(button)

    def show_left(self, seconds: float | None, left_s: float | None, run_s: float) -> None:
        """Show a limit of `seconds` with `left_s` of it, after it ran for `run_s`."""
        self._seconds, self._run_s = seconds, run_s
        is_on = seconds is not None
        words = limit_words(self._limit, left_s)
        if self.words.text() != words:
            self.words.setText(words)
            self.words.setToolTip(plain_tip(words))
        self._colour(Tone.WARNING if left_s is not None and left_s < NEAR_S else Tone.MUTED)
        self.one.setVisible(is_on)
        self.ten.setVisible(is_on)
        self.off.setVisible(is_on or self._before is not None)
        self.off.setChecked(not is_on)

    def forget(self) -> None:
        """Forget the limit that was switched off."""
        self._before = None

    def _button(self, words: str, tip: str, key: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(words)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setShortcut(QKeySequence(key))
        button.setAccessibleName(tip)
        native = button.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        button.setToolTip(plain_tip(f"{tip} ({native})"))
        return button

    def _colour(self, tone: Tone) -> None:
        colour, palette = self._appearance.colour(tone), self.words.palette()
        if palette.color(QPalette.ColorRole.WindowText) != colour:
            palette.setColor(QPalette.ColorRole.WindowText, colour)
            self.words.setPalette(palette)

    @Slot()
    def _on_one_clicked(self) -> None:
        self.more_wanted.emit(self._limit, _MINUTE_S)

    @Slot()
    def _on_ten_clicked(self) -> None:
        self.more_wanted.emit(self._limit, 10 * _MINUTE_S)

    @Slot(bool)
    def _on_off_clicked(self, is_off: bool) -> None:
        if is_off:
            self._before = self._seconds
            self.limit_wanted.emit(self._limit, None)
        elif self._before is not None:
            self.limit_wanted.emit(self._limit, max(self._before, self._run_s + _SPARE_S))


def _first_large(words: str) -> str:
    return words[:1].upper() + words[1:]
