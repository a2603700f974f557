"""The bars of a recording's window: the replay's controls, and the file with its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSlider,
    QToolButton,
    QWidget,
)

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import plain_tip, set_text_colour
from mcp_progress_monitor.gui.page_commands import (
    REPLAY_ALL,
    REPLAY_NEXT,
    REPLAY_PLAY,
    REPLAY_START,
)
from mcp_progress_monitor.gui.recordings.replay import SPEEDS, Mode, Replay
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from PySide6.QtGui import QResizeEvent

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.common.commands import Command

_STEPS: Final = 10_000  # positions of the slider: finer than its pixels

_ICON: Final = 16
_WIDE: Final = 900  # from this width on, in device-independent pixels, there is room for more text
_TIMES: Final = "\N{MULTIPLICATION SIGN}"


class ReplayBar(QWidget):
    """Controls a `Replay`. `begun_when` is the wall time of the first message."""

    def __init__(
        self,
        replay: Replay,
        begun_when: float | None,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._replay = replay
        self._begun_when = begun_when
        self._is_wide = False
        self._appearance = appearance
        self.start = self._button("Go to start", REPLAY_START)
        self.play = self._button("Play", REPLAY_PLAY)
        self.next = self._button("Step", REPLAY_NEXT)
        self.all = self._button("Show all", REPLAY_ALL)
        self.all.setCheckable(True)
        self._speeds = QButtonGroup(self)
        self.speeds = [self._speed_button(place) for place in range(len(SPEEDS))]
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.position = QLabel(self, textFormat=Qt.TextFormat.PlainText)
        self.silence = QCheckBox("Skip silence", self)
        named = {self.start: "start", self.next: "step", self.all: "all"}
        for button, icon in named.items():
            button.setIcon(appearance.icon(f"replay-{icon}"))
        self._set_up()
        self._lay_out()
        self._connect()
        self._follow()

    def _button(self, text: str, command: Command) -> QToolButton:
        button = QToolButton(self, autoRaise=True)
        button.setText(text)
        button.setAccessibleName(text)
        button.setIconSize(QSize(_ICON, _ICON))
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        KeyAction(command, self, button.click, button)
        return button

    def _speed_button(self, place: int) -> QToolButton:
        text = f"{SPEEDS[place]:.0f}{_TIMES}"
        button = QToolButton(self, autoRaise=True)
        button.setText(text)
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setAccessibleName(f"Speed {text}")
        as_fast = "Play at original speed"
        faster = f"Play at {text} the original speed"
        button.setToolTip(plain_tip(as_fast if SPEEDS[place] == 1 else faster))
        self._speeds.addButton(button, place)
        return button

    def _set_up(self) -> None:
        self.slider.setRange(0, _STEPS)
        self.slider.setSingleStep(_STEPS // 100)
        self.slider.setPageStep(_STEPS // 10)
        self.slider.setTracking(False)
        self.slider.setAccessibleName("Position in the recording")
        self.slider.setToolTip("Seek in the recording; seeking back reads it again")
        self.slider.setMinimumWidth(60)
        self.position.setAccessibleName("Playback position")
        self.position.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.silence.setToolTip("Skip long gaps between messages during playback")

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(GAP, GAP_S // 2, GAP, GAP_S // 2)
        row.setSpacing(GAP_S)
        for button in (self.start, self.play, self.next):
            row.addWidget(button)
        row.addSpacing(GAP)
        for button in (*self.speeds, self.all):
            row.addWidget(button)
        row.addSpacing(GAP)
        row.addWidget(self.slider, 1)
        row.addSpacing(GAP)
        row.addWidget(self.position)
        row.addSpacing(GAP)
        row.addWidget(self.silence)

    def _connect(self) -> None:
        replay = self._replay
        self.start.clicked.connect(replay.restart)
        self.play.clicked.connect(replay.toggle)
        self.next.clicked.connect(replay.step)
        self.all.clicked.connect(self._on_all_clicked)
        self._speeds.idClicked.connect(self._on_speed_clicked)
        self.silence.toggled.connect(replay.set_skips_silence)
        self.slider.sliderReleased.connect(self._on_slider_moved)
        self.slider.actionTriggered.connect(self._on_slider_action)
        replay.changed.connect(self._follow)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shorten the texts if there is less room; the position's tool tip has all of them."""
        super().resizeEvent(event)
        is_wide = event.size().width() >= _WIDE
        if is_wide != self._is_wide:
            self._is_wide = is_wide
            beside = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
            self.all.setToolButtonStyle(
                beside if is_wide else Qt.ToolButtonStyle.ToolButtonIconOnly
            )
            self.position.setMinimumWidth(0)
            self._show_position()

    @Slot()
    def _follow(self) -> None:
        replay = self._replay
        is_over = replay.mode is Mode.ENDED
        self._show_play(is_resuming=replay.mode not in (Mode.PAUSED, Mode.ENDED))
        self.next.setEnabled(not is_over)
        self.all.setEnabled(not is_over)
        self.all.setChecked(replay.mode in (Mode.READING, Mode.FOLLOWING))
        if replay.speed in SPEEDS:
            self.speeds[SPEEDS.index(replay.speed)].setChecked(True)
        self.silence.setChecked(replay.skips_silence)
        length_s = replay.length_s
        self.slider.setEnabled(length_s > 0)
        if not self.slider.isSliderDown() and length_s > 0:
            self.slider.setValue(round(min(replay.position_s / length_s, 1.0) * _STEPS))
        self._show_position()

    def _show_play(self, *, is_resuming: bool) -> None:
        text = "Pause" if is_resuming else "Play"
        if self.play.text() != text:
            self.play.setText(text)
            self.play.setAccessibleName(text)
        self.play.setIcon(self._appearance.icon("pause" if is_resuming else "resume"))

    def _show_position(self) -> None:
        clock, far, share = _position_text(self._replay, self._begun_when)
        whole = " · ".join(part for part in (clock, far, share) if part)
        text = whole if self._is_wide else far
        self.position.setText(text)
        self.position.setToolTip(plain_tip(whole))
        needed = self.position.fontMetrics().horizontalAdvance(text)
        if needed > self.position.minimumWidth():
            self.position.setMinimumWidth(needed)  # only grows, so that its neighbours do not move

    @Slot()
    def _on_all_clicked(self) -> None:
        """Toggle reading the whole recording."""
        if self._replay.mode in (Mode.READING, Mode.FOLLOWING):
            self._replay.pause()
        else:
            self._replay.read_all()

    @Slot(int)
    def _on_speed_clicked(self, place: int) -> None:
        self._replay.set_speed(SPEEDS[place])

    @Slot(int)
    def _on_slider_action(self, _action: int) -> None:
        """Follow keys, the wheel and clicks beside the handle; drags end in `sliderReleased`."""
        if not self.slider.isSliderDown():
            self._on_slider_moved()

    @Slot()
    def _on_slider_moved(self) -> None:
        share = self.slider.sliderPosition() / _STEPS
        self._replay.seek(share * self._replay.length_s)


def _position_text(replay: Replay, begun_when: float | None) -> tuple[str, str, str]:
    """The recorded time of day, the position, and how much has been read."""
    clock = "" if begun_when is None else formatting.clock(begun_when + replay.position_s)[:8]
    far = f"{formatting.duration(replay.position_s)} / {formatting.duration(replay.length_s)}"
    share = f"{replay.progress * 100:.0f} %" if replay.progress < 1 else ""
    return clock, far, share


_BANNER_ICON: Final = 16


class RecordingBanner(QWidget):
    """Names the recording and shows its first error; the button shows all errors."""

    errors_opened = Signal(object)  # `tuple[ErrorDetails, ...]`: the user wants to read them

    def __init__(self, path: Path, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._appearance = appearance
        self.errors: tuple[ErrorDetails, ...] = ()
        self._said = ""
        self._icon = QLabel(self)
        self._file = self._label("Recording")
        self._warning = QLabel(self)
        self._what = self._label("Errors in the recording")
        self.details = QPushButton(self)
        self.details.setToolTip("Show the errors in this recording")
        self.details.clicked.connect(self._on_details_clicked)
        self._lay_out()
        self.show_errors(())
        self._recolour()
        appearance.changed.connect(self._recolour)

    def show_facts(self, begun_when: float | None, length_s: float, size: int) -> None:
        """Show the file's name with its date, its length and its size in bytes."""
        self._said = " · ".join(
            (
                formatting.one_line(self._path.name),
                "date unknown"
                if begun_when is None
                else formatting.date_and_clock(begun_when)[:19],
                formatting.duration(length_s),
                formatting.size(size),
                "read-only",
            )
        )
        self._file.setToolTip(plain_tip(formatting.one_line(str(self._path), 1000)))
        self._elide()

    def show_errors(self, errors: Sequence[ErrorDetails]) -> None:
        """Show errors; hidden without any."""
        self.errors = tuple(errors)
        for part in (self._warning, self._what, self.details):
            part.setVisible(bool(errors))
        more = len(errors) - 1
        self.details.setText("Details" if more < 1 else f"Details ({more} more)")
        self._elide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _label(self, name: str) -> QLabel:
        label = QLabel(self, textFormat=Qt.TextFormat.PlainText)
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
        what = formatting.one_line(self.errors[0].what) if self.errors else ""
        _put(self._what, what, Qt.TextElideMode.ElideRight)
        self._what.setToolTip(plain_tip(what))

    @Slot()
    def _recolour(self) -> None:
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(self._appearance.pixmap("log", Tone.MUTED, _BANNER_ICON, ratio))
        self._warning.setPixmap(
            self._appearance.pixmap("warning", Tone.WARNING, _BANNER_ICON, ratio)
        )
        set_text_colour(self._what, self._appearance, Tone.WARNING)

    @Slot()
    def _on_details_clicked(self) -> None:
        self.errors_opened.emit(self.errors)


def _put(label: QLabel, text: str, mode: Qt.TextElideMode) -> None:
    label.setText(label.fontMetrics().elidedText(text, mode, label.width()))
    label.setAccessibleDescription(text)
