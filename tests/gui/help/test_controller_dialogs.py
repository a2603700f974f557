"""About and the report: versions are there to be copied, and nothing of the user's."""

from pathlib import Path

from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor import __version__
from mcp_progress_monitor.crash_reports import LOG_NAME
from mcp_progress_monitor.gui.help.controller import AboutDialog, ReportDialog, report_text


def test_the_versions_can_be_copied(qtbot: QtBot) -> None:
    dialog = AboutDialog()
    qtbot.addWidget(dialog)
    dialog.copy.click()
    copied = QGuiApplication.clipboard().text()
    for word in (__version__, "Python 3.", "PySide6 6.", "System ", "mcp 2."):
        assert word in copied


def test_a_report_has_versions_and_the_log_without_the_users_name(
    qtbot: QtBot, isolated_home: Path, data_dir: Path
) -> None:
    text = report_text(data_dir)
    assert f"MCP Progress Monitor {__version__}" in text
    assert str(isolated_home) not in text
    assert f"{data_dir.name}/{LOG_NAME}" in text.replace("\\", "/")
    assert "not written yet" in text
    (data_dir / LOG_NAME).write_text("secret", encoding="utf-8")
    text = report_text(data_dir)
    assert "has entries" in text
    assert "secret" not in text
    dialog = ReportDialog(data_dir)
    qtbot.addWidget(dialog)
    assert dialog.show_log.isEnabled()
    dialog.text.setPlainText("It broke.\n" + text)
    dialog.copy.click()
    assert QGuiApplication.clipboard().text().startswith("It broke.")
