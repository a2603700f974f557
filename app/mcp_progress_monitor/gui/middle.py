"""The middle of the window: the jobs, the welcome page, or another page in their place."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from mcp_progress_monitor.gui.panes import first_control, has_focus


class Middle(QStackedWidget):
    """Shows one page at a time; the focus of the page before moves to it."""

    def __init__(self, welcome: QWidget, jobs: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._welcome = welcome
        self._jobs = jobs
        self.addWidget(welcome)
        self.addWidget(jobs)

    @property
    def page(self) -> QWidget:
        return self.currentWidget() or self._jobs

    @Slot()
    def show_jobs(self) -> None:
        """Show the jobs, unless there is nothing to show but the welcome page."""
        if self.page is not self._welcome:
            self.show_page(self._jobs)

    def show_first(self, *, are_any: bool) -> None:
        """Show the welcome page while there is neither a job nor a server, else the jobs.

        Another page stays as long as there is any.
        """
        if not are_any or self.page is self._welcome:
            self.show_page(self._jobs if are_any else self._welcome)

    def show_page(self, page: QWidget) -> None:
        if self.indexOf(page) < 0:
            self.addWidget(page)
        is_first = not self.window().isVisible()
        hides_focus = has_focus(self.page)
        self.setCurrentWidget(page)
        if is_first or hides_focus:
            first_control(page).setFocus()
