"""Connects pending sign-ins of servers to the bar that shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.gui.servers.sign_in import SignInBar

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.confirmations import EndGuard
    from mcp_progress_monitor.gui.main_window import MainWindow
    from mcp_progress_monitor.gui.models import Models
    from mcp_progress_monitor.gui.questions.controller import QuestionsController
    from mcp_progress_monitor.gui.theme import Appearance


class SignInController(QObject):
    """Connects the sign-ins of the engine's servers to a bar of the window; a child of it."""

    def __init__(
        self,
        window: MainWindow,
        models: Models,
        appearance: Appearance,
        end_guard: EndGuard,
        questions: QuestionsController,
    ) -> None:
        super().__init__(window)
        self._servers = models.servers
        self.bar = SignInBar(appearance, window)
        window.add_bar(self.bar)
        self.bar.open_requested.connect(questions.open_link)
        self.bar.cancel_requested.connect(end_guard.disconnect_server)
        models.feed.servers_changed.connect(self._on_servers_changed)

    @Slot()
    def _on_servers_changed(self) -> None:
        # The model's snapshots are current: fifty new ones ten times a second are expensive.
        found = (server.sign_in for server in self._servers.servers())
        self.bar.show_sign_ins([each for each in found if each is not None])
