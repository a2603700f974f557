"""A widget on its own, on the screen."""

from typing import TypeVar

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

_Widget = TypeVar("_Widget", bound=QWidget)


def expose(qtbot: QtBot, widget: _Widget, width: int = 0, height: int = 0) -> _Widget:
    """Show a widget until the test ends, and wait until it is on the screen."""
    qtbot.addWidget(widget)
    if width:
        widget.resize(width, height)
    with qtbot.waitExposed(widget):
        widget.show()
    return widget
