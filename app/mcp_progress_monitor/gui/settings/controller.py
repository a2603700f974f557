"""Opens the settings dialog, and applies its changes.

The dialog is imported when first opened, which keeps the start of the window short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio.to_thread
from PySide6.QtCore import QObject, Qt, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.main_window import MainWindow
    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.recordings.controller import RecordingsController
    from mcp_progress_monitor.gui.settings.pages import SettingsDialog, SettingsPage
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.recording.settings import RecordingSettings
    from mcp_progress_monitor.snapshots.limits import DefaultLimits

_LIMITS: Final = "settings/limits"
_OF_ROOMS: Final = (
    ("notifications", "Notifications", "state-needs-you"),
    ("confirmations", "Confirmations", "help"),
)
"""Key, title and icon of the pages of other rooms."""


class SettingsController(QObject):
    """Opens the dialog over `window`; for a recording, without the pages about live sessions."""

    forget_requested = Signal(str)  # what to forget: a name in `pages.KEPT_OF_USER`

    def __init__(
        self,
        window: MainWindow,
        preferences: Preferences,
        appearance: Appearance,
        tasks: BackgroundTasks,
        recordings: RecordingsController,
        data_dir: Path,
        engine: Engine | None = None,
        of_rooms: Mapping[str, Callable[[QWidget], QWidget]] | None = None,
    ) -> None:
        """`of_rooms` are the factories of the pages of other rooms, by key."""
        super().__init__(window)
        self._of_rooms = of_rooms or {}
        self._window = window
        self._preferences = preferences
        self._appearance = appearance
        self._tasks = tasks
        self._recordings = recordings
        self._data_dir = data_dir
        self._engine = engine
        self._dialog: SettingsDialog | None = None
        self._is_opening = False
        window.actions_.settings.triggered.connect(self.open)
        window.actions_.keys.triggered.connect(self.open_keys)
        if engine is not None:
            self._restore_limits(engine)

    @Slot()
    def open(self) -> None:
        """Open the dialog on its first page, or bring it to the front."""
        self.open_page("")

    @Slot()
    def open_keys(self) -> None:
        self.open_page("keys")

    def open_page(self, key: str) -> None:
        if self._dialog is None:
            if not self._is_opening:
                self._is_opening = True
                self._tasks.start("open the settings", self._open, key)
            return
        if key:
            self._dialog.open_page(key)
        self._dialog.raise_()
        self._dialog.activateWindow()

    async def _open(self, key: str) -> None:
        from mcp_progress_monitor.gui.settings.pages import SettingsDialog
        from mcp_progress_monitor.recording.settings import load_settings

        try:
            recording, _error = await anyio.to_thread.run_sync(load_settings, self._data_dir)
            for late in self._window.late.steps():
                late()  # create them: their commands have keys
            pages = self._pages(recording)
            dialog = self._dialog = SettingsDialog(pages, self._appearance, self._window)
        finally:
            self._is_opening = False
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.finished.connect(self._on_finished)
        dialog.open_page(key)
        dialog.open()

    def _pages(self, recording: RecordingSettings) -> Sequence[SettingsPage]:
        from mcp_progress_monitor.gui.settings.pages import SettingsPage

        live = (
            SettingsPage("general", "General", "settings", self._general),
            SettingsPage("limits", "Limits", "state-timed-out", self._limits),
        )
        return (
            *(live[:1] if self._engine is not None else ()),
            SettingsPage("appearance", "Appearance", "image", self._look),
            *(live[1:] if self._engine is not None else ()),
            *(
                SettingsPage(key, title, icon, self._of_rooms[key])
                for key, title, icon in _OF_ROOMS
                if key in self._of_rooms
            ),
            SettingsPage("recordings", "Recordings", "log", self._recording_page(recording)),
            SettingsPage("privacy", "Privacy", "watched", self._privacy),
            SettingsPage("keys", "Keys", "keyboard", self._keys),
        )

    def _general(self, parent: QWidget) -> QWidget:
        from mcp_progress_monitor.gui.settings.pages import GeneralPage

        page = GeneralPage(self._preferences, self._appearance, parent)
        page.association_requested.connect(self._recordings.ask_to_associate)
        return page

    def _look(self, parent: QWidget) -> QWidget:
        from mcp_progress_monitor.gui.settings.pages import AppearancePage

        window = self._window
        return AppearancePage(window.theme, window.text_size, self._appearance, parent)

    def _limits(self, parent: QWidget) -> QWidget:
        from mcp_progress_monitor.gui.settings.pages import LimitsPage

        assert self._engine is not None  # noqa: S101  # else there is no such page
        limits = self._engine.calls.default_limits
        attempts = self._window.job_pane.attempts.limit
        page = LimitsPage(limits, attempts.value(), self._appearance, parent)
        page.limits_changed.connect(self._on_limits_changed)
        page.attempts_changed.connect(attempts.setValue)
        return page

    def _recording_page(self, settings: RecordingSettings) -> Callable[[QWidget], QWidget]:
        def make(parent: QWidget) -> QWidget:
            from mcp_progress_monitor.gui.settings.pages import RecordingsPage

            page = RecordingsPage(settings, self._appearance, parent)
            page.settings_changed.connect(self._recordings.save_settings)
            page.list_requested.connect(self._recordings.show_recordings)
            return page

        return make

    def _privacy(self, parent: QWidget) -> QWidget:
        from mcp_progress_monitor.gui.settings.pages import PrivacyPage

        page = PrivacyPage(self._data_dir, self._preferences, self._appearance, parent)
        page.forget_requested.connect(self.forget_requested)
        page.folder_requested.connect(self._recordings.show_data_folder)
        return page

    def _keys(self, parent: QWidget) -> QWidget:
        from mcp_progress_monitor.gui.settings.keys import KeysPage

        return KeysPage(self._window.shortcuts, self._appearance, parent)

    def _restore_limits(self, engine: Engine) -> None:
        kept = self._preferences.json_of(_LIMITS)
        if kept:
            from mcp_progress_monitor.snapshots.limits import read_defaults

            engine.calls.default_limits = read_defaults(kept)

    @Slot(object)
    def _on_limits_changed(self, limits: DefaultLimits) -> None:
        if self._engine is not None:
            self._engine.calls.default_limits = limits
        self._preferences.keep_json(_LIMITS, limits._asdict())

    @Slot()
    def _on_finished(self) -> None:
        self._dialog = None
        self._preferences.save()
