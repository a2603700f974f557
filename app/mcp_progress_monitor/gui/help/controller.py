"""Opens the windows of the Help menu, which are imported when first opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot

if TYPE_CHECKING:
    from PySide6.QtWidgets import QDialog

    from mcp_progress_monitor.gui.help.manual import ManualWindow
    from mcp_progress_monitor.gui.main_window import MainWindow


class Help(QObject):
    """Handles the actions of the Help menu; a child of the window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._manual: ManualWindow | None = None
        do = window.actions_
        do.about.triggered.connect(self.show_about)
        do.report.triggered.connect(self.show_report)
        do.manual.triggered.connect(self.show_manual)

    @Slot()
    def show_about(self) -> None:
        from mcp_progress_monitor.gui.help.dialogs import AboutDialog

        _open(AboutDialog(self._window))

    @Slot()
    def show_report(self) -> None:
        from mcp_progress_monitor.gui.help.dialogs import ReportDialog

        _open(ReportDialog(self._window.data_dir, self._window))

    @Slot()
    def show_manual(self) -> None:
        """Show the manual in a window of its own, beside which one can work."""
        from mcp_progress_monitor.gui.help.manual import ManualWindow

        if self._manual is None:
            self._manual = ManualWindow(self._window)
        self._manual.show()
        self._manual.raise_()
        self._manual.activateWindow()


def _open(dialog: QDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
