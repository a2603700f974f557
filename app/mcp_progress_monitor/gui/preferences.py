"""What the window remembers between starts: geometry, columns, the last arguments of each tool."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QByteArray, QSettings

if TYPE_CHECKING:
    from pathlib import Path

GENERAL: Final = "settings/general"
PRIVACY: Final = "settings/privacy"
"""Keys of what the user chose in the settings: names, each of them on unless switched off."""
_VERSION = 1
"""Of the window's layout: a state of another version is left aside."""


class Preferences:
    """Settings in one private file of the data directory."""

    def __init__(self, data_dir: Path) -> None:
        path = data_dir / "window.ini"
        with contextlib.suppress(OSError):  # what is not kept is told by `save`
            path.touch(mode=0o600)
        self._settings = QSettings(str(path), QSettings.Format.IniFormat)
        self._path = path

    @property
    def folder(self) -> Path:
        """The data directory."""
        return self._path.parent

    def bytes_of(self, key: str) -> QByteArray:
        """The bytes kept under `key`, empty when there are none."""
        value = self._settings.value(f"v{_VERSION}/{key}")
        return value if isinstance(value, QByteArray) else QByteArray()

    def keep_bytes(self, key: str, value: QByteArray) -> None:
        """Keep Qt's own state of a widget."""
        self._settings.setValue(f"v{_VERSION}/{key}", value)

    def json_of(self, key: str) -> dict[str, Any]:
        """The object kept under `key`, empty when there is none or it cannot be read."""
        text = self._settings.value(f"v{_VERSION}/{key}")
        try:
            value = json.loads(text) if isinstance(text, str) else {}
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def keep_json(self, key: str, value: dict[str, Any]) -> None:
        """Keep a small object."""
        self._settings.setValue(f"v{_VERSION}/{key}", json.dumps(value))

    def save(self) -> bool:
        """Write to disk; False when that failed (a full or read-only disk)."""
        self._settings.sync()
        if os.name == "posix":
            # QSettings writes a new file in place of the old one, with the umask's mode.
            with contextlib.suppress(OSError):  # there is none, or it is somebody else's
                self._path.chmod(0o600)
        return self._settings.status() is QSettings.Status.NoError


def is_on(preferences: Preferences, key: str, name: str) -> bool:
    """Whether a choice of the settings is on; all of them are until they are switched off."""
    return preferences.json_of(key).get(name) is not False
