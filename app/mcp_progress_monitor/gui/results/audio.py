"""Sound from a server, with a player where Qt has one.

QtMultimedia belongs to an addon of PySide6 that this program does not require. Without it, a sound
can be saved or opened in another program.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt, QUrl, Slot
from PySide6.QtWidgets import QSlider, QToolButton, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import EmptyNote, plain_label, plain_tip
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.theme import GAP, GAP_L, Appearance

if TYPE_CHECKING:
    from types import ModuleType

    from mcp_progress_monitor.wording.results import ResultPart

_MOST: Final = 24_000_000  # characters of base64
_MS: Final = 1000


@functools.cache
def multimedia() -> ModuleType | None:
    """Return Qt's module for sound; None if it is not installed, or lacks a library."""
    try:
        from PySide6 import QtMultimedia
    except ImportError:
        return None
    return QtMultimedia


class AudioView(QWidget):
    """Plays one sound, or says why it cannot."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._player: Any = None
        self._data = QBuffer(self)
        self.note: Final = EmptyNote("", appearance, self)
        self.play: Final = QToolButton(self)
        self.play.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.play.clicked.connect(self._on_play_clicked)
        self.place: Final = QSlider(Qt.Orientation.Horizontal, self)
        self.place.setAccessibleName("Playback position")
        self.place.sliderMoved.connect(self._on_place_moved)
        self.time: Final = plain_label(self)
        self._controls = QWidget(self)
        in_row(
            self.play, (self.place, 3), (self.time, 1), of=self._controls, margins=0, spacing=GAP
        )
        in_column(1, self._controls, self.note, 1, of=self, margins=GAP_L)
        self._on_state_changed()

    def show_part(self, part: ResultPart) -> None:
        """Load a sound; nothing is played until the user asks for it."""
        self.stop()
        why = self._load(part)
        self._controls.setVisible(not why)
        self.note.setText(why)
        self.note.setVisible(bool(why))

    @Slot()
    def stop(self) -> None:
        if self._player is not None:
            self._player.stop()

    def _load(self, part: ResultPart) -> str:
        """Return why the sound cannot be played; empty if it can."""
        if len(part.value) > _MOST:
            return f"The sound is too large to play ({formatting.size(part.size)}). Save it."
        try:
            raw = part.content()
        except ValueError as error:
            return str(error)
        if part.suffix == "bin":
            return "The format of the sound is not supported. Save it."
        if multimedia() is None:
            return "Sounds cannot be played on this system. Save it or open it in another program."
        self._make_player()
        self._data.close()
        self._data.setData(QByteArray(raw))
        self._data.open(QIODevice.OpenModeFlag.ReadOnly)
        self._player.setSourceDevice(self._data, QUrl(f"sound.{part.suffix}"))
        return ""

    def _make_player(self) -> None:
        module = multimedia()
        if self._player is not None or module is None:
            return
        self._player = module.QMediaPlayer(self)
        self._player.setAudioOutput(module.QAudioOutput(self))
        self._player.playbackStateChanged.connect(self._on_state_changed)
        self._player.positionChanged.connect(self._on_position_changed)
        self._player.durationChanged.connect(self._on_position_changed)
        self._player.errorOccurred.connect(self._on_failed)

    @property
    def _is_playing(self) -> bool:
        return self._player is not None and self._player.isPlaying()

    @Slot()
    def _on_play_clicked(self) -> None:
        if self._is_playing:
            self._player.pause()
        elif self._player is not None:
            self._player.play()

    @Slot()
    def _on_state_changed(self) -> None:
        text, icon = ("Pause", "pause") if self._is_playing else ("Play", "resume")
        self.play.setToolTip(plain_tip(text))
        self.play.setAccessibleName(text)
        self.play.setIcon(self._appearance.icon(icon))

    @Slot()
    def _on_position_changed(self) -> None:
        at, whole = self._player.position(), self._player.duration()
        self.place.setMaximum(whole)
        self.place.setValue(at)
        self.time.setText(f"{at / _MS:.1f} of {whole / _MS:.1f} s")

    @Slot(int)
    def _on_place_moved(self, at: int) -> None:
        if self._player is not None:
            self._player.setPosition(at)

    @Slot()
    def _on_failed(self) -> None:
        text = formatting.visible(self._player.errorString())[:200]
        self._controls.hide()
        self.note.setText(f"The sound cannot be played: {text}")
        self.note.show()
