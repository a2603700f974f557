"""A main window without a program behind it, for tests of what is in it from the beginning."""

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.models import Models
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.status_bar import StatusBar
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource
from tests.gui.exposure import expose
from tests.job_stand_ins import FakeJobs, job, resumable


def window_on(qtbot: QtBot, folder: Path) -> MainWindow:
    """A window with three jobs, shown; what it remembers is in `folder`."""
    parts = QObject()
    appearance = Appearance(QWidget().palette(), resource("icons"), parts)
    engine = Engine()
    models = Models(engine.timeline, parts)
    models.follow(engine)
    models.jobs.set_source(FakeJobs(job(id=1), resumable(2), resumable(3)))
    status = StatusBar(None, models.servers, models.traffic.timeline, appearance)
    window = MainWindow(models, status, appearance, Preferences(folder))
    parts.setParent(window)
    window.middle.show_first(are_any=True)
    expose(qtbot, window)
    window.activateWindow()
    return window
