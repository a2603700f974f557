"""What waits until the window is painted."""

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.deferred_startup import DeferredStartup


class Painted(QWidget):
    """Notes when it is painted, among the steps."""

    def __init__(self) -> None:
        super().__init__()
        self.story: list[str] = []

    def paintEvent(self, _event: object) -> None:
        self.story.append("painted")

    def first(self) -> None:
        self.story.append("first")

    def second(self) -> None:
        self.story.append("second")


def test_steps_are_taken_in_their_order_after_the_first_painting(qtbot: QtBot) -> None:
    window = Painted()
    qtbot.addWidget(window)
    afterwards = DeferredStartup(window)
    afterwards.take((window.first, window.second))
    window.show()

    qtbot.waitUntil(lambda: "second" in window.story)

    assert window.story[0] == "painted"
    assert [each for each in window.story if each != "painted"] == ["first", "second"]


def test_a_window_that_is_not_painted_is_not_waited_for_for_ever(qtbot: QtBot) -> None:
    window = Painted()
    qtbot.addWidget(window)
    DeferredStartup(window).take((window.first,))

    qtbot.waitUntil(lambda: window.story == ["first"])


def test_a_step_that_comes_later_is_taken_too_and_none_after_the_end(qtbot: QtBot) -> None:
    window = Painted()
    qtbot.addWidget(window)
    afterwards = DeferredStartup(window)
    window.show()
    qtbot.waitUntil(lambda: "painted" in window.story)

    afterwards.take((window.first,))
    qtbot.waitUntil(lambda: "first" in window.story)
    afterwards.take((window.second,))
    afterwards.stop()
    qtbot.wait(30)

    assert "second" not in window.story
