"""What was not to be asked again can be asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QCheckBox, QPushButton

from mcp_progress_monitor.gui.confirmations import ConfirmationPage
from mcp_progress_monitor.gui.user_settings import ConfirmationSettings

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def test_every_question_is_listed_and_can_be_turned_off_and_on(qtbot: QtBot) -> None:
    page = ConfirmationPage(ConfirmationSettings())
    qtbot.addWidget(page)
    boxes = page.findChildren(QCheckBox)
    assert len(boxes) == len(ConfirmationSettings.defaults)
    for box in boxes:
        with qtbot.waitSignal(page.changed):
            box.click()
    assert not any(page.settings.model_dump().values())
    boxes[0].click()
    assert list(page.settings.model_dump().values()).count(True) == 1


def test_one_button_asks_about_everything_again(qtbot: QtBot) -> None:
    page = ConfirmationPage(ConfirmationSettings(quit=False, reissue=False))
    qtbot.addWidget(page)
    button = page.findChildren(QPushButton)[0]
    with qtbot.waitSignal(page.changed):
        button.click()
    assert page.settings == ConfirmationSettings()
    assert not button.isEnabled()
