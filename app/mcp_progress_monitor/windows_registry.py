"""The part of the Windows registry that a file association needs.

Imported only on Windows. The modules of the standard library are looked up by name, so that types
are checked on every system.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any, Final

_ASSOCIATIONS_CHANGED: Final = 0x08000000  # SHCNE_ASSOCCHANGED
_BY_ID_LIST: Final = 0  # SHCNF_IDLIST


class WindowsRegistry:
    """A `Registry` below `HKEY_CURRENT_USER`."""

    def __init__(self) -> None:
        self._winreg: Any = importlib.import_module("winreg")
        self._user = self._winreg.HKEY_CURRENT_USER

    def value(self, key: str) -> str | None:
        try:
            return str(self._winreg.QueryValue(self._user, key))
        except FileNotFoundError:
            return None

    def set_value(self, key: str, name: str, value: str) -> None:
        with self._winreg.CreateKey(self._user, key) as made:
            self._winreg.SetValueEx(made, name, 0, self._winreg.REG_SZ, value)

    def delete(self, key: str) -> bool:
        try:
            for name in self._below(key):
                self.delete(f"{key}\\{name}")
            self._winreg.DeleteKey(self._user, key)
        except FileNotFoundError:
            return False
        return True

    def delete_value(self, key: str, name: str) -> bool:
        access = self._winreg.KEY_SET_VALUE
        try:
            with self._winreg.OpenKey(self._user, key, 0, access) as found:
                self._winreg.DeleteValue(found, name)
        except FileNotFoundError:
            return False
        return True

    def announce(self) -> None:
        shell: Any = getattr(ctypes, "windll").shell32  # noqa: B009  # known on Windows alone
        shell.SHChangeNotify(_ASSOCIATIONS_CHANGED, _BY_ID_LIST, None, None)

    def _below(self, key: str) -> list[str]:
        with self._winreg.OpenKey(self._user, key) as found:
            count, _, _ = self._winreg.QueryInfoKey(found)
            return [str(self._winreg.EnumKey(found, place)) for place in range(count)]
