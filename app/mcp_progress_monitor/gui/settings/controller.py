"""Opens the settings dialog, and saves what is chosen there.

The dialog is imported when first opened, which keeps the start of the window short.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread
from PySide6.QtCore import QObject, Qt, Signal, Slot

from mcp_progress_monitor.gui.common.commands import carries_out
from mcp_progress_monitor.gui.user_settings import SECTIONS, RecordingChoices
from mcp_progress_monitor.gui.window_commands import KEYS, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.common.commands import Commands
    from mcp_progress_monitor.gui.setting_rows import Section
    from mcp_progress_monitor.gui.settings.dialog import SettingsDialog
    from mcp_progress_monitor.gui.shortcuts import Shortcuts
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.gui.user_settings import UserSettings


class SettingsController(QObject):
    """Opens the dialog over `window`; for a recording, without the pages about live sessions."""

    pressed = Signal(str)  # the name of a button, as it is declared
    recording_chosen = Signal(object)  # `RecordingChoices`

    def __init__(
        self,
        window: QWidget,
        commands: Commands,
        settings: UserSettings,
        appearance: Appearance,
        tasks: BackgroundTasks,
        data_dir: Path,
        shortcuts: Callable[[], Shortcuts],
        engine: Engine | None = None,
    ) -> None:
        """`shortcuts` are asked for when their page is shown."""
        super().__init__(window)
        self._window = window
        self._settings = settings
        self._appearance = appearance
        self._tasks = tasks
        self._data_dir = data_dir
        self._shortcuts = shortcuts
        self._engine = engine
        self._recording = RecordingChoices()
        self._dialog: SettingsDialog | None = None
        self._is_opening = False
        self._wanted = ""
        commands.join(self)

    @carries_out(SETTINGS)
    def open(self) -> None:
        """Open the dialog on its first page, or bring it to the front."""
        self.open_page("")

    @carries_out(KEYS)
    def open_keys(self) -> None:
        self.open_page("keys")

    @property
    def sections(self) -> list[type[Section]]:
        """The sections with a page: for a recording, without those about live sessions."""
        return [each for each in SECTIONS if self._engine is not None or not each.is_live]

    @Slot(str, str)
    def open_setting(self, key: str, name: str) -> None:
        """Open the page of a setting, with the focus on its control."""
        self._wanted = name
        self.open_page(key)

    def open_page(self, key: str) -> None:
        if self._dialog is None:
            if not self._is_opening:
                self._is_opening = True
                self._tasks.start("open the settings", self._open, key)
            return
        self._show_page(self._dialog, key)
        self._dialog.raise_()
        self._dialog.activateWindow()

    def _show_page(self, dialog: SettingsDialog, key: str) -> None:
        name, self._wanted = self._wanted, ""
        if name:
            dialog.show_setting(key, name)
        elif key:
            dialog.open_page(key)

    async def _open(self, key: str) -> None:
        from mcp_progress_monitor.gui.settings.dialog import SettingsDialog, SettingsPage
        from mcp_progress_monitor.recording.settings import load_settings

        try:
            recording, _error = await anyio.to_thread.run_sync(load_settings, self._data_dir)
            self._recording = RecordingChoices.taken_from(recording)
            pages = [
                SettingsPage(each.key, each.title, each.icon, partial(self._page, each))
                for each in self.sections
            ]
            pages.append(SettingsPage("keys", "Keys", "keyboard", self._keys))
            dialog = self._dialog = SettingsDialog(pages, self._appearance, self._window)
        finally:
            self._is_opening = False
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.finished.connect(self._on_finished)
        dialog.open()
        self._show_page(dialog, key)

    def _page(self, section: type[Section], parent: QWidget) -> QWidget:
        from mcp_progress_monitor.gui.common.settings_form import SettingsForm

        is_ours = section is not RecordingChoices
        page = SettingsForm(
            self._settings.of(section) if is_ours else self._recording,
            self._appearance,
            parent,
            () if self._engine is None else self._engine.servers.names(),
            {"folder": str(self._data_dir)},
        )
        page.chosen.connect(self._settings.replace if is_ours else self.recording_chosen)
        page.pressed.connect(self.pressed)
        self._settings.changed.connect(page.show_values)
        return page

    def _keys(self, parent: QWidget) -> QWidget:
        from mcp_progress_monitor.gui.settings.keys import KeysPage

        return KeysPage(self._shortcuts(), self._appearance, parent)

    @Slot()
    def _on_finished(self) -> None:
        self._dialog = None
