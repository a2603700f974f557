"""Long work shows how far it is, and can be cancelled; short work shows nothing."""

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common import work_bar
from mcp_progress_monitor.gui.common.work_bar import WorkBar


def test_it_appears_only_when_the_work_takes_long(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = WorkBar("Saving a.csv")
    qtbot.addWidget(bar)
    bar.show_share(0.25)
    assert bar.isHidden()

    monkeypatch.setattr(work_bar, "_PATIENCE_S", 0.0)
    bar.show_share(0.5)
    assert bar.isVisible()
    assert bar.share == 0.5


def test_its_button_cancels(qtbot: QtBot) -> None:
    bar = WorkBar("Saving <b>a.csv")
    qtbot.addWidget(bar)
    with qtbot.waitSignal(bar.cancel_requested):
        bar.findChildren(QPushButton)[0].click()
