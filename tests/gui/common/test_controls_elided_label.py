"""The label whose text changes often."""

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLayout, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.controls import ElidedLabel


class LayoutWatch(QObject):
    """Counts how often a widget was laid out again."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.LayoutRequest
        return super().eventFilter(watched, event)


@pytest.fixture
def around(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    QHBoxLayout(widget)
    widget.resize(300, 40)
    return widget


def _layout(widget: QWidget) -> QLayout:
    layout = widget.layout()
    assert layout is not None
    return layout


def test_new_words_do_not_have_anything_laid_out_again(around: QWidget, qtbot: QtBot) -> None:
    still, usual = ElidedLabel(around), QLabel(around)
    for label in (still, usual):
        _layout(around).addWidget(label)
    around.show()
    qtbot.wait(20)
    watch = LayoutWatch(around)
    still.set_text("12 rows, 1,204 waiting")
    qtbot.wait(20)
    assert watch.count == 0
    usual.setText("12 rows, 1,204 waiting")
    qtbot.waitUntil(lambda: watch.count == 1)


def test_its_text_are_seen_in_all_of_its_room(around: QWidget, qtbot: QtBot) -> None:
    still = ElidedLabel(around)
    still.set_text("12 rows")
    _layout(around).addWidget(still)
    around.show()
    before = around.grab().toImage()
    still.set_text("13 rows")
    assert still.text() == "13 rows"
    assert around.grab().toImage() != before
    (inner,) = still.findChildren(QLabel)
    assert inner.size() == still.size()
    assert still.height() >= still.fontMetrics().height()
