"""The windows of the Help menu: manual, About, and the bug report."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Final

import PySide6
from PySide6.QtCore import QObject, QSize, Qt, QUrl, Slot, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication, QIcon
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from mcp_progress_monitor import __version__, bundle, paths
from mcp_progress_monitor.crash_reports import LOG_NAME
from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.common.controls import plain_label, push_button
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import (
    fit_to_screen,
    in_column,
    in_row,
    open_dialog,
    order_tabs,
)
from mcp_progress_monitor.gui.theme import GAP, GAP_L, emphasised
from mcp_progress_monitor.gui.window_commands import ABOUT, MANUAL, REPORT_DEFECT
from mcp_progress_monitor.path_checks import home, is_there

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.help.manual import ManualWindow


class Help(QObject):
    """Handles the actions of the Help menu; a child of the window."""

    def __init__(self, window: QWidget, commands: Commands, data_dir: Path) -> None:
        super().__init__(window)
        self._window = window
        self._data_dir = data_dir
        self._manual: ManualWindow | None = None
        commands.join(self)

    @carries_out(ABOUT)
    def show_about(self) -> None:
        open_dialog(AboutDialog(self._window))

    @carries_out(REPORT_DEFECT)
    def show_report(self) -> None:
        open_dialog(ReportDialog(self._data_dir, self._window))

    @carries_out(MANUAL)
    def show_manual(self) -> None:
        """Show the manual in a separate window."""
        from mcp_progress_monitor.gui.help.manual import ManualWindow

        if self._manual is None:
            self._manual = ManualWindow(self._window)
        self._manual.show()
        self._manual.raise_()
        self._manual.activateWindow()


_LIBRARIES: Final = ("mcp", "anyio", "httpx2", "pydantic", "qasync")


def versions() -> list[str]:
    """Versions of the program and what it runs on, one a line; nothing about the user."""
    lines = [
        f"MCP Progress Monitor {__version__}{' (bundle)' if bundle.is_bundled() else ''}",
        f"Python {platform.python_version()}, {platform.python_implementation()}",
        f"Qt {qVersion()}, PySide6 {PySide6.__version__}, {QGuiApplication.platformName()}",
        f"System {platform.system()} {platform.release()}, {platform.machine()}",
    ]
    scale = QGuiApplication.primaryScreen()
    if scale is not None:
        size = scale.size()
        ratio = scale.devicePixelRatio()
        lines.append(f"Screen {size.width()} x {size.height()} at {ratio:g}x")
    lines.append("Libraries " + ", ".join(filter(None, map(_version, _LIBRARIES))))
    return lines


def _version(library: str) -> str:
    import importlib.metadata  # late: 10 ms and a megabyte that only reports need

    try:
        return f"{library} {importlib.metadata.version(library)}"
    except importlib.metadata.PackageNotFoundError:  # as in a bundle
        return ""


def report_text(data_dir: Path) -> str:
    """The template of a bug report: questions, then versions."""
    log = data_dir / LOG_NAME
    state = "has entries" if is_there(log) else "not written yet"
    lines = [
        "What I did:",
        "",
        "What I expected:",
        "",
        "What happened instead:",
        "",
        "",
        *versions(),
        f"Log {_without_home(log)} ({state}; read it before you attach it)",
    ]
    return "\n".join(lines)


def _without_home(path: Path) -> str:
    """A path with the home folder abbreviated."""
    own = home()
    if own is not None and path.is_relative_to(own):
        return str("~" / path.relative_to(own))
    return str(path)


class AboutDialog(QDialog):
    """Shows what this program is; its versions can be copied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("About MCP Progress Monitor")
        icon = QLabel(self, alignment=Qt.AlignmentFlag.AlignTop)
        icon.setPixmap(QIcon(str(paths.resource("icons/app.svg"))).pixmap(QSize(48, 48)))
        title = QLabel(f"MCP Progress Monitor {__version__}", self)
        title.setFont(emphasised(title.font()))
        about = plain_label(
            self,
            "Shows every MCP request with a progress token as a live row and records every "
            "message. Licensed under Apache-2.0.",
        )
        self.versions = _text_box("Versions", "\n".join(versions()), self)
        self.versions.setReadOnly(True)
        self.versions.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        buttons, self.copy = _buttons(self, "&Copy versions", "Copy the versions as text")
        self.copy.clicked.connect(self._on_copy)
        text = in_column(title, about, spacing=GAP)
        top = in_row(icon, (text, 1), spacing=GAP_L)
        in_column(top, (self.versions, 1), buttons, of=self, spacing=GAP_L)
        fit_to_screen(self, QSize(480, 340))
        order_tabs(self)
        buttons.button(QDialogButtonBox.StandardButton.Close).setFocus()

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.versions.toPlainText())
        self.copy.setText("Copied")


class ReportDialog(QDialog):
    """A prepared bug report to copy; nothing is sent."""

    def __init__(self, data_dir: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Report a bug")
        self._log = data_dir / LOG_NAME
        intro = plain_label(
            self,
            "Describe what happened, then copy the text into an issue where you got this program. "
            "It contains no servers, arguments or messages. Nothing is sent automatically.",
        )
        self.text = _text_box("Report", report_text(data_dir), self)
        buttons, self.copy = _buttons(self, "&Copy report", "Copy the whole report")
        self.copy.clicked.connect(self._on_copy)
        self.show_log = push_button(self, "Show &log", "Open the log")
        self.show_log.setEnabled(is_there(self._log))
        self.show_log.clicked.connect(self._on_show_log)
        buttons.addButton(self.show_log, QDialogButtonBox.ButtonRole.ActionRole)
        in_column(intro, (self.text, 1), buttons, of=self, spacing=GAP)
        fit_to_screen(self, QSize(600, 440))
        order_tabs(self)
        self.text.setFocus()

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        self.copy.setText("Copied")

    @Slot()
    def _on_show_log(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._log)))


def _text_box(name: str, text: str, parent: QWidget) -> QPlainTextEdit:
    box = QPlainTextEdit(text, parent, tabChangesFocus=True)
    box.setAccessibleName(name)
    return box


def _buttons(parent: QDialog, text: str, tip: str) -> tuple[QDialogButtonBox, QPushButton]:
    box = DialogButtons(QDialogButtonBox.StandardButton.Close, parent)
    box.rejected.connect(parent.reject)
    button = push_button(parent, text, tip)
    box.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
    return box, button
