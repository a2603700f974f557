"""Asks before running jobs end: on quitting, disconnecting, restarting, disabling, signing out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance, Slot

from mcp_progress_monitor.widgets.job_questions import EndAction, EndQuestion, running_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot


class EndGuard(QObject):
    """Passes on what ends no running job, and the rest once the user has agreed.

    The question is opened, never run in a loop: jobs go on while it is read. A second request for
    the same action joins the question that is open. Signals of the system do not come by here.
    """

    quit_agreed = Signal()
    disconnect_agreed = Signal(str)
    restart_agreed = Signal(str)
    disable_agreed = Signal(str, bool)
    """Always with True: enabling ends nothing."""
    sign_out_agreed = Signal(str)

    def __init__(self, parent: QWidget, monitor: Monitor) -> None:
        super().__init__(parent)
        self._parent = parent
        self._monitor = monitor
        self._open: dict[EndAction, EndQuestion] = {}

    @Slot()
    def quit(self) -> None:
        """End the program."""
        self._ask(EndAction.QUIT)

    @Slot(str)
    def disconnect_server(self, name: str) -> None:
        """Stop a server."""
        self._ask(EndAction.DISCONNECT, name)

    @Slot(str)
    def restart_server(self, name: str) -> None:
        """Stop a server and start it again."""
        self._ask(EndAction.RESTART, name)

    @Slot(str, bool)
    def set_disabled(self, name: str, is_disabled: bool) -> None:
        """Disable a server, which stops it, or enable it."""
        if is_disabled:
            self._ask(EndAction.DISABLE, name)
        else:
            self.disable_agreed.emit(name, False)

    @Slot(str)
    def sign_out(self, name: str) -> None:
        """Stop a server and forget what lets us in there."""
        self._ask(EndAction.SIGN_OUT, name)

    def running(self, server: str | None = None) -> list[JobSnapshot]:
        """The jobs that would end with the connection to `server`, or with all of them."""
        return running_jobs(map(self._monitor.snapshot, self._monitor.jobs()), server)

    def _ask(self, action: EndAction, server: str | None = None) -> None:
        jobs = self.running(server)
        if not jobs:
            self._act(action, () if server is None else (server,))
            return
        question = self._open.get(action)
        if question is None:
            question = self._open[action] = EndQuestion(action, self._parent)
            question.end_agreed.connect(self._act)
            question.finished.connect(self._on_finished)
            question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            question.add(jobs, server)
            _show_again(self._parent)
            question.open()
        else:
            question.add(jobs, server)
        question.raise_()
        question.activateWindow()

    @Slot(object, object)
    def _act(self, action: EndAction, servers: Sequence[str]) -> None:
        if action is EndAction.QUIT:
            self.quit_agreed.emit()
        for name in servers:
            if action is EndAction.DISABLE:
                self.disable_agreed.emit(name, True)
            else:
                self._by_server(action).emit(name)

    def _by_server(self, action: EndAction) -> SignalInstance:
        return {
            EndAction.DISCONNECT: self.disconnect_agreed,
            EndAction.RESTART: self.restart_agreed,
            EndAction.SIGN_OUT: self.sign_out_agreed,
        }[action]

    @Slot()
    def _on_finished(self) -> None:
        self._open = {key: each for key, each in self._open.items() if each is not self.sender()}


def _show_again(window: QWidget) -> None:
    """Bring up a minimized window, which may be closed from the task bar: it would hide this."""
    if window.isMinimized():
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
