"""Reports of failures are offered once, read before they are given away, and can be deleted."""

from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.crash_bar import CrashBar, CrashReportDialog, offer_reports
from mcp_progress_monitor.gui.preferences import Preferences


def press(part: QWidget, text: str) -> None:
    found = part.findChildren(QPushButton)
    next(each for each in found if text in each.text().replace("&", "")).click()


def test_new_reports_are_offered_once(qtbot: QtBot, data_dir: Path) -> None:
    window = QWidget()
    column = QVBoxLayout(window)
    qtbot.addWidget(window)
    preferences = Preferences(data_dir)
    assert offer_reports(window, data_dir, preferences) is None
    (data_dir / "defect-20260101T000000.log").write_text("first")
    (data_dir / "defect-20260101T000000-1.log").write_text("second \x1b")
    bar = offer_reports(window, data_dir, preferences)
    assert bar is not None
    column.addWidget(bar)
    window.show()
    press(bar, "Show report")
    (dialog,) = window.findChildren(CrashReportDialog)
    assert dialog.text.toPlainText() == "second \\x1b"
    assert not bar.isVisible()
    assert offer_reports(window, data_dir, Preferences(data_dir)) is None
    (data_dir / "defect-20260102T000000.log").write_text("third")
    assert offer_reports(window, data_dir, Preferences(data_dir)) is not None


def test_a_report_can_be_copied_and_deleted(qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "defect-1.log"
    path.write_text("what happened")
    dialog = CrashReportDialog(path)
    qtbot.addWidget(dialog)
    dialog.open()
    press(dialog, "Copy")
    assert QGuiApplication.clipboard().text() == "what happened"
    press(dialog, "Delete")
    assert not path.exists()
    assert not dialog.isVisible()


def test_a_report_that_is_gone_is_said_to_be(qtbot: QtBot, tmp_path: Path) -> None:
    dialog = CrashReportDialog(tmp_path / "defect-1.log")
    qtbot.addWidget(dialog)
    assert "Cannot read" in dialog.text.toPlainText()


def test_dismissed_it_keeps_the_reports(qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "defect-1.log"
    path.touch()
    owner = QWidget()
    qtbot.addWidget(owner)
    bar = CrashBar([path], owner)
    owner.show()
    press(bar, "Dismiss")
    assert not bar.isVisible()
    assert path.exists()
