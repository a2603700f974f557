"""Sound: played where Qt can, and else a note that says what to do."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QObject, Signal
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.demo.tools.results import sound
from mcp_progress_monitor.gui.results import audio
from mcp_progress_monitor.gui.results.audio import AudioView
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.wording.results import block_part


class Player(QObject):
    """Stands in for Qt's, which is not installed with the program."""

    playbackStateChanged = Signal()  # noqa: N815
    positionChanged = Signal(int)  # noqa: N815
    durationChanged = Signal(int)  # noqa: N815
    errorOccurred = Signal()  # noqa: N815

    made: list["Player"] = []  # noqa: RUF012

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.playing = False
        self.source = b""
        self.made.append(self)

    def setAudioOutput(self, output: QObject) -> None:
        assert output.parent() is self.parent()

    def setSourceDevice(self, device: Any, _name: Any) -> None:
        self.source = bytes(device.readAll().data())

    def isPlaying(self) -> bool:
        return self.playing

    def play(self) -> None:
        self.playing = True
        self.playbackStateChanged.emit()

    def pause(self) -> None:
        self.playing = False
        self.playbackStateChanged.emit()

    stop = pause

    def position(self) -> int:
        return 250

    def duration(self) -> int:
        return 1_000

    def errorString(self) -> str:
        return "no\u202e codec"


def part(data: bytes) -> Any:
    encoded = base64.b64encode(data).decode()
    return block_part({"type": "audio", "data": encoded, "mimeType": "audio/wav"})


@pytest.fixture
def view(qtbot: QtBot, appearance: Appearance, monkeypatch: pytest.MonkeyPatch) -> AudioView:
    Player.made.clear()
    module = SimpleNamespace(QMediaPlayer=Player, QAudioOutput=QObject)
    monkeypatch.setattr(audio, "multimedia", lambda: module)
    made = AudioView(appearance)
    qtbot.addWidget(made)
    made.show()
    return made


def test_nothing_sounds_until_play_is_pressed(view: AudioView) -> None:
    view.show_part(part(sound()))
    (player,) = Player.made
    assert player.source == sound()
    assert not player.isPlaying()
    assert view.play.accessibleName() == "Play"
    view.play.click()
    assert player.isPlaying()
    assert view.play.accessibleName() == "Pause"
    player.positionChanged.emit(250)
    assert view.time.text() == "0.2 of 1.0 s"
    view.show_part(part(sound()))
    assert not player.isPlaying()


def test_a_failure_is_shown_as_plain_text(view: AudioView) -> None:
    view.show_part(part(sound()))
    Player.made[0].errorOccurred.emit()
    assert view.note.text() == "The sound cannot be played: no\\u202e codec"
    assert not view.play.isVisible()


def test_without_a_player_the_note_says_what_to_do(
    view: AudioView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audio, "multimedia", lambda: None)
    view.show_part(part(sound()))
    assert (
        view.note.text()
        == "Sounds cannot be played on this system. Save it or open it in another program."
    )
    assert not view.play.isVisible()


def test_only_known_formats_reach_a_player(view: AudioView) -> None:
    view.show_part(part(b"#EXTM3U\nhttp://a.example/x.mp3\n"))
    assert view.note.text() == "The format of the sound is not supported. Save it."
    view.show_part(block_part({"type": "audio", "data": "!", "mimeType": "audio/wav"}))
    assert view.note.text() == "The data is not valid base64."
    assert not Player.made
