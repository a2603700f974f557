"""State of the window between starts: geometry, columns, the last arguments of each tool."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Final, TypeVar

from PySide6.QtCore import QByteArray, QSettings

from mcp_progress_monitor import private_file
from mcp_progress_monitor.path_checks import PathKind, path_kind

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.gui.setting_rows import Setting

T = TypeVar("T")

KEYS: Final = "keys"  # key of the user's own keys, by the names of their commands
_FILE: Final = ".json"
_VERSION = 1  # of the window's layout: a state of another version is left aside


class Preferences:
    """Settings in one private file of the data directory."""

    def __init__(self, data_dir: Path, *, keeps_layout: bool = True) -> None:
        """Without `keeps_layout` the saved layout is neither read nor overwritten."""
        path = data_dir / "window.ini"
        with contextlib.suppress(OSError):  # `save` reports it
            path.touch(mode=0o600)
        self._settings = QSettings(str(path), QSettings.Format.IniFormat)
        self._path = path
        self._keeps_layout = keeps_layout

    def reset_layout(self) -> None:
        """Forget the layout of the window, of any version; settings stay."""
        for key in self._settings.allKeys():
            _, _, name = key.partition("/")
            if _is_layout(name) or isinstance(self._settings.value(key), QByteArray):
                self._settings.remove(key)

    @property
    def folder(self) -> Path:
        return self._path.parent

    def bytes_of(self, key: str) -> QByteArray:
        value = self._settings.value(f"v{_VERSION}/{key}") if self._keeps_layout else None
        return value if isinstance(value, QByteArray) else QByteArray()

    def keep_bytes(self, key: str, value: QByteArray) -> None:
        """Save Qt's state of a widget."""
        if self._keeps_layout:
            self._settings.setValue(f"v{_VERSION}/{key}", value)

    def json_of(self, key: str) -> dict[str, Any]:
        """The object saved under `key`; empty if there is none or it cannot be read.

        A key that ends in `.json` is a file of its own, which programs without Qt read as well.
        """
        if key.endswith(_FILE):
            return self._read_file(self.folder / key)
        is_read = self._keeps_layout or not _is_layout(key)
        text = self._settings.value(f"v{_VERSION}/{key}") if is_read else None
        try:
            value = json.loads(text) if isinstance(text, str) else {}
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @staticmethod
    def _read_file(path: Path) -> dict[str, Any]:
        try:
            value = json.loads(path.read_bytes()) if path_kind(path) is PathKind.FILE else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def keep_json(self, key: str, value: dict[str, Any]) -> None:
        if key.endswith(_FILE):
            with contextlib.suppress(OSError):  # as settings are not saved on a full disk
                private_file.put(self.folder / key, json.dumps(value, indent=2).encode() + b"\n")
            return
        if self._keeps_layout or not _is_layout(key):
            self._settings.setValue(f"v{_VERSION}/{key}", json.dumps(value))

    def value(self, setting: Setting[T]) -> T:
        """The saved value of a setting, or its default."""
        return setting.kept(self.json_of)

    def keep_setting(self, setting: Setting[T], value: T) -> None:
        key, name = setting.place
        self.keep_json(key, {**self.json_of(key), name: setting.written(value)})

    def save(self) -> bool:
        """Write to disk; False if that failed (a full or read-only disk)."""
        self._settings.sync()
        if os.name == "posix":
            # QSettings replaces the file by a new one, with the umask's mode.
            with contextlib.suppress(OSError):  # missing, or owned by another user
                self._path.chmod(0o600)
        return self._settings.status() is QSettings.Status.NoError


def _is_layout(key: str) -> bool:
    """Return whether an object under `key` is part of the layout, as all of Qt's own states are."""
    return key.endswith("/look") or key.startswith("mini/")
